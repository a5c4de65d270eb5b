"""Theorems on interior points, by the exponential mechanism and by recursion."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, inf

import numpy as np

from ..accounting.composition import Spending, spends
from ..model import (
    Array,
    Database,
    EqualityClaim,
    Histogram,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Output,
    Parameter,
    PrivacyClaim,
    Record,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    ThresholdClaim,
    number,
    whole,
)
from .interior_point import (
    SOURCE,
    balanced_points,
    depth,
    depth_scores,
    failures_added,
    interior_point_mechanism,
    lopsided_points,
    not_interior,
    partitions,
    points_needed,
    points_promised,
    rec_concave_law,
    rec_concave_mechanism,
    stable_choice,
    stable_choice_law,
    step_budget,
    terraced_points,
)

EPSILON = number(1.0, 0.05, 10, "epsilon, in nats")
BETA = number(0.1, 1e-3, 0.5, "chance of failure")
RECURSIVE = "Beimel, Nissim and Stemmer (2013)"


def _grid(default: int, low: int) -> Parameter:
    within = Interval(low=low, high=2**20, integer=True)
    return Parameter(default=default, within=within, meaning="number of places of the grid")


def _privacy(*, epsilon: float, grid: int, points: int) -> Mechanism:
    return interior_point_mechanism(
        points=points, grid=grid, epsilon=epsilon, identifier="PAC-IP-EM"
    )


def _threshold(*, epsilon: float, grid: int, beta: float) -> ThresholdClaim:
    def instance(points: int) -> tuple[Callable[..., Output], list[int]]:
        made = interior_point_mechanism(points=points, grid=grid, epsilon=epsilon)
        return made.run, balanced_points(points, grid)

    return ThresholdClaim(
        trust_rows=True,
        needed=points_needed(grid=grid, epsilon=epsilon, beta=beta),
        instance=instance,
        loss=not_interior,
        level=0.5,
        beta=beta,
    )


def _failure(build: Callable[..., Mechanism], **parameters: float) -> Subject:
    """What the mechanism claims to find, on its hard databases of so many points."""
    made = build(**parameters)
    return Subject(claim=made.claims[1], mechanism=made)


def _facts_margin(case: InvariantCase) -> float:
    """The facts about the depth of places that both algorithms stand on."""
    first = np.array(case["points"])
    second = first.copy()
    second[0] = case["other"]
    scores, moved = (depth_scores(points, grid=16) for points in (first, second))
    places = np.arange(16)
    inside = (places >= first.min()) & (places <= first.max())
    peak = int(np.argmax(scores))
    rises = np.diff(scores)
    return float(
        min(
            0 if ((scores >= 1) == inside).all() else -1,
            scores.max() - ceil(len(first) / 2),
            1 - np.abs(scores - moved).max(),
            min(rises[:peak], default=0),
            min(-rises[peak:], default=0),
        )
    )


def _facts() -> InvariantClaim:
    place = Interval(low=0, high=15, integer=True)
    return InvariantClaim(
        cases=Record(fields={"points": Rows(row=place, min_size=1, max_size=12), "other": place}),
        margin=_facts_margin,
        examples=({"points": [3] * 5 + [4] * 5, "other": 15}, {"points": [0], "other": 15}),
    )


def _recursive(*, epsilon: float, delta: float, grid: int, points: int) -> Mechanism:
    return rec_concave_mechanism(
        points=points, grid=grid, epsilon=epsilon, delta=delta, identifier="PAC-IP-REC"
    )


def _levels_law(*, points: int, grid: int, epsilon: float, delta: float, base: int) -> Subject:
    made = rec_concave_mechanism(points=points, grid=grid, epsilon=epsilon, delta=delta, base=base)

    def drawn(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        law = rec_concave_law(database, grid=grid, epsilon=epsilon, delta=delta, base=base)
        return rng.choice(law.outcomes, p=np.exp(law.log_probabilities), size=size)

    databases = (lopsided_points(points, grid)[0], terraced_points(points, grid))
    return Subject(claim=EqualityClaim(other=drawn, databases=databases), mechanism=made)


def _recursive_threshold(*, epsilon: float, delta: float, grid: int, beta: float) -> ThresholdClaim:
    def instance(points: int) -> tuple[Callable[..., Output], list[int]]:
        made = rec_concave_mechanism(points=points, grid=grid, epsilon=epsilon, delta=delta)
        return made.run, terraced_points(points, grid)

    return ThresholdClaim(
        trust_rows=True,
        needed=points_promised(grid=grid, epsilon=epsilon, delta=delta, beta=beta),
        instance=instance,
        loss=not_interior,
        level=0.5,
        beta=beta,
    )


def _enough_points() -> InvariantClaim:
    """The chance that is left at the promised number of points, by the sum of all failures."""

    def margin(case: InvariantCase) -> float:
        given = {name: case[name] for name in ("grid", "epsilon")} | {
            "delta": 10 ** -case["digits"]
        }
        points = points_promised(beta=case["beta"], **given)
        return case["beta"] - failures_added(points=points, **given)

    return InvariantClaim(
        cases=Record(
            fields={
                "grid": Interval(low=33, high=2**20, integer=True),
                "epsilon": Interval(low=0.1, high=10),
                "digits": Interval(low=0.4, high=12),
                "beta": Interval(low=1e-3, high=0.5),
            }
        ),
        margin=margin,
        examples=(
            {"grid": 33, "epsilon": 1.0, "digits": 0.4, "beta": 0.1},
            {"grid": 1000, "epsilon": 1.0, "digits": 6.0, "beta": 0.1},
        ),
    )


def _steps_spend(*, epsilon: float, delta: float, grid: int) -> IdentityClaim:
    def shares() -> list[Spending]:
        step, stable = step_budget(grid, epsilon, delta)
        levels = depth(grid)
        # Deltas add up as epsilons do; theirs are told in parts of epsilon.
        choices = [stable / delta * epsilon] * 2 * levels
        return [Spending(pure=[step] * (3 * levels + 1)), Spending(pure=choices)]

    return spends(shares, epsilon=epsilon)


def _choice(*, epsilon: float, delta: float, records: int) -> Mechanism:
    claim = PrivacyClaim(
        epsilon=epsilon,
        delta=delta,
        relation=Relation.REPLACE_ONE,
        identifier="PAC-IP-CHOOSE",
        reference=RECURSIVE,
    )
    return Mechanism(
        trust_rows=True,
        name="stable-choice",
        run=partial(stable_choice, epsilon=epsilon, delta=delta),
        databases=Histogram(bins=2, total=records),
        claims=(claim,),
        law=partial(stable_choice_law, epsilon=epsilon, delta=delta),
    )


def _blocks_margin(case: InvariantCase) -> float:
    """How far a place is from the borders of one of the two partitions, and the blocks' length.

    A place 2 K or more from every border has all good scores about it in its block; blocks of
    8 K at most leave 16 K candidates.
    """
    scale, length = 2 ** case["power"], 2 ** (case["power"] + case["more"])
    place = case["place"] % length
    distances, longest = [], 0
    for starts in partitions(length, scale):
        borders = starts[1:]
        # A border lies between two places, before the first of a block.
        away = np.where(borders > place, borders - 1 - place, place - borders)
        distances.append(min([*away.tolist(), inf]))
        longest = max(longest, int(np.diff(np.append(starts, length)).max()))
    return min(max(distances) + 1 - 2 * scale, 8 * scale - longest)


def _blocks() -> InvariantClaim:
    def whole_from(low: int, high: int) -> Interval:
        return Interval(low=low, high=high, integer=True)

    fields = {
        "power": whole_from(0, 6),
        "more": whole_from(0, 7),
        "place": whole_from(0, 2**13 - 1),
    }
    return InvariantClaim(
        cases=Record(fields=fields),
        margin=_blocks_margin,
        # The first place of a block of one partition is in the middle of one of the other.
        examples=tuple({"power": 1, "more": 5, "place": place} for place in (8, 15, 16, 23)),
    )


DELTA = number(1e-3, 1e-12, 0.4, "delta")

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PAC-IP-DEF",
        statement="Depth is at least 1 exactly at interior points, reaches half of the points, is "
        "quasi-concave, and moves by at most 1.",
        reference=SOURCE,
        subject=_facts,
    ),
    Theorem(
        identifier="PAC-IP-EM",
        statement="The exponential mechanism over depths is epsilon-DP when a point is replaced.",
        reference=SOURCE,
        subject=_privacy,
        parameters={
            "epsilon": EPSILON,
            "grid": _grid(6, 2),
            "points": whole(4, 1, 100, "points m"),
        },
    ),
    Theorem(
        identifier="PAC-IP-EM-UTILITY",
        statement="From (4/epsilon) ln((|D|-1)/beta) points on, it fails with probability <= beta.",
        reference=SOURCE,
        subject=_threshold,
        parameters={"epsilon": EPSILON, "grid": _grid(64, 3), "beta": BETA},
    ),
    Theorem(
        identifier="PAC-IP-EM-FAILURE",
        statement="m points fail with chance (|D| - 1) exp(-epsilon ceil(m / 2) / 2) at most",
        reference=SOURCE,
        subject=partial(_failure, interior_point_mechanism),
        parameters={
            # An odd number of points and a large epsilon: one place has hardly any rival.
            "epsilon": replace(EPSILON, default=4.0),
            "grid": _grid(64, 3),
            "points": whole(7, 1, 1000, "points m"),
        },
    ),
    Theorem(
        identifier="PAC-IP-REC-FAILURE",
        statement="at one level of recursion m points, p = m / 2 and q = p / 4, fail with chance S "
        "(exp(-(q - bar) e / 2) / 4 + 8 exp(-(p / 2 + q) e / 2)) at most, S the number of scales",
        reference=f"{RECURSIVE}, with constants",
        subject=partial(_failure, rec_concave_mechanism),
        parameters={
            "epsilon": EPSILON,
            "delta": Parameter(default=1e-6, within=DELTA.within, meaning=DELTA.meaning),
            "grid": _grid(1000, 33),
            "points": whole(1110, 1, 10_000, "points m"),
        },
    ),
    Theorem(
        identifier="PAC-IP-REC",
        slow=True,
        statement="RecConcave with (epsilon/(3N+1), delta/(2N)) a step is (epsilon, delta)-DP.",
        reference=RECURSIVE,
        subject=_recursive,
        parameters={
            "epsilon": Parameter(default=4.0, within=EPSILON.within, meaning=EPSILON.meaning),
            "delta": DELTA,
            "grid": _grid(64, 33),
            "points": whole(41, 1, 10_000, "points m"),
        },
    ),
    Theorem(
        identifier="PAC-IP-REC-LAW",
        slow=True,
        statement="Levels that are not the first owe 3/4 of their promise to the one above: runs "
        "of two levels have the law that is worked out level by level.",
        reference=RECURSIVE,
        subject=_levels_law,
        parameters={
            "epsilon": Parameter(default=8.0, within=EPSILON.within, meaning=EPSILON.meaning),
            "delta": DELTA,
            "grid": _grid(1000, 33),
            "points": whole(41, 6, 10_000, "points m"),
            "base": whole(6, 4, 32, "size of problems that are not halved any more"),
        },
    ),
    Theorem(
        identifier="PAC-IP-REC-POINTS",
        statement="At 8^N times its three thresholds the failures of RecConcave add up to beta.",
        reference=RECURSIVE,
        subject=_enough_points,
    ),
    Theorem(
        identifier="PAC-IP-REC-SPENT",
        statement="3N + 1 steps lose just epsilon, and 2N choices just delta.",
        reference=RECURSIVE,
        subject=_steps_spend,
        parameters={
            "epsilon": EPSILON,
            "delta": DELTA,
            "grid": _grid(1000, 33),
        },
    ),
    Theorem(
        identifier="PAC-IP-CHOOSE",
        statement="The best is named, if it leads by 2 + (2/epsilon) ln(1/(2 delta)) after noise, "
        "(epsilon, delta)-privately.",
        reference=RECURSIVE,
        subject=_choice,
        parameters={
            "epsilon": Parameter(default=0.8, within=EPSILON.within, meaning=EPSILON.meaning),
            "delta": Parameter(default=0.02, within=DELTA.within, meaning=DELTA.meaning),
            "records": whole(20, 2, 100, "records in all"),
        },
        weak="the loss is in delta: counts 11 and 9 name the first with probability delta, and "
        "counts 9 and 11 never do; at the bound's epsilon the exact delta is the stated one",
    ),
    Theorem(
        identifier="PAC-IP-REC-BLOCKS",
        statement="Every place is 2 K places from the borders of one of the two partitions into "
        "blocks of at most 8 K.",
        reference=RECURSIVE,
        subject=_blocks,
    ),
    Theorem(
        identifier="PAC-IP-REC-UTILITY",
        statement="From 8^N times its three thresholds on, RecConcave fails with probability "
        "<= beta.",
        reference=RECURSIVE,
        subject=_recursive_threshold,
        parameters={
            "epsilon": EPSILON,
            "delta": Parameter(default=1e-6, within=DELTA.within, meaning=DELTA.meaning),
            "grid": _grid(1000, 33),
            "beta": BETA,
        },
        weak="no instance can: by PAC-IP-REC-FAILURE, which reaches a quarter of its bound, so "
        "many points fail with chance 5e-6 at most; 1110 points are promised beta there",
    ),
)
