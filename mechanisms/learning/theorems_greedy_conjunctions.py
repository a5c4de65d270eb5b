"""Theorems about learning a conjunction greedily, literal by literal, and about growth.

Growth is that of what is lost with records, of a class, and with literals, of conjunctions.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, log, sqrt
from typing import Any, TypedDict, Unpack

import numpy as np

from ..accounting.composition import Spending, bound, spends, zcdp_root
from ..model import (
    Array,
    Database,
    EqualityClaim,
    GrowthClaim,
    IdentityClaim,
    Interval,
    Output,
    PrivacyClaim,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from .finite_class import KASIVISWANATHAN, finite_class, thresholds
from .greedy_conjunctions import (
    TAKE_2,
    chosen_mistakes,
    greedy_conjunction_mechanism,
    greedy_conjunction_of_counts,
    greedy_conjunction_threshold,
    greedy_rounds,
    greedy_sample_size,
    round_privacy,
    score_shortfall,
    worst_shortfall,
)
from .greedy_invariants import (
    best_score_is_zero,
    few_negatives_left,
    few_positives_lost,
    score_sensitivity,
)
from .labelled import grid_points, labelled_counts, labelled_rows, literals_at

PRINTED = f"{TAKE_2}, as printed"
_epsilon = number(1.0, 0.05, 8.0, "privacy of the whole, in nats")
_delta = number(1e-6, 1e-12, 0.1, "the delta")
_alpha = number(0.3, 0.05, 0.45, "error allowed")
_beta = number(0.1, 0.001, 0.5, "chance of failure")


class GreedyRounds(TypedDict):
    """The parameters of the rounds."""

    dimension: int
    most_literals: int
    rounds: int
    epsilon: float


def _scores(**parameters: Unpack[GreedyRounds]) -> Subject:
    made = greedy_conjunction_mechanism(**parameters)
    return Subject(claim=made.claims[1], mechanism=made)


def _advanced(*, delta: float, **parameters: Unpack[GreedyRounds]) -> Subject:
    """The privacy claim with a pair of single records on which it is far from vacuous."""
    made = greedy_conjunction_mechanism(delta=delta, **parameters)
    point = [1] + [0] * (parameters["dimension"] - 1)
    (claim,) = (one for one in made.claims if isinstance(one, PrivacyClaim))
    return Subject(claim=replace(claim, examples=(([[*point, 1]], [[*point, 0]]),)), mechanism=made)


def _rounds_spend(
    *, dimension: int, most_literals: int, rounds: int, epsilon: float, delta: float
) -> IdentityClaim:
    def chosen(slack: float) -> Spending:
        made = greedy_conjunction_mechanism(
            dimension=dimension,
            most_literals=most_literals,
            rounds=rounds,
            epsilon=epsilon,
            delta=slack,
        )
        return Spending(ranged=[bound(made)["round_epsilon"]] * rounds, delta=slack)

    return spends(lambda: [chosen(0.0), chosen(delta)], epsilon=epsilon)


def _least_rows(
    *, dimension: int, most_literals: int, epsilon: float, alpha: float, beta: float, delta: float
) -> IdentityClaim:
    """Of the promised number of rows and one less, with delta and without, which are enough."""

    def enough(rows: int, slack: float) -> bool:
        rounds = ceil(2 * most_literals * log(rows))
        each = sqrt(8 / rounds) * zcdp_root(epsilon, slack) if slack else epsilon / rounds
        shortfall = 2 / each * log((2 * dimension + 1) * rounds / beta)
        return rows >= (rounds + 2 * most_literals) * shortfall / alpha

    def right() -> float:
        size = partial(
            greedy_sample_size,
            dimension=dimension,
            most_literals=most_literals,
            epsilon=epsilon,
            alpha=alpha,
            beta=beta,
        )
        found = [(size(delta=slack), slack) for slack in (0.0, delta)]
        return float(sum(enough(n, d) + (not enough(n - 1, d)) for n, d in found))

    return IdentityClaim(compute=right, stated=4.0)


def _same_law(**parameters: Unpack[GreedyRounds]) -> Subject:
    """The rounds run one after the other have the law that the transcripts' weights multiply to."""
    made = greedy_conjunction_mechanism(**parameters)
    law: Any = made.law
    if law is None:
        raise ValueError("too many transcripts to list; take fewer rounds or variables")

    def from_the_list(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        listed = law(database)
        return rng.choice(listed.outcomes, size=size, p=np.exp(listed.log_probabilities))

    dimension = parameters["dimension"]
    alternating = [
        (*point, i % 2) for i, point in enumerate(grid_points((2,) * dimension).tolist())
    ]
    claim = EqualityClaim(
        other=from_the_list,
        law=law,
        databases=(tuple(alternating * 3), ((1,) * (dimension + 1),) * 5),
    )
    return Subject(claim=claim, mechanism=made)


def _shortfall_without_budget(
    first: bool, *, dimension: int, most_literals: int, epsilon: float
) -> Subject:
    """The printed bound on the scores on six rows at every point; `first` looks at one round."""
    target = (grid_points((2,) * dimension)[:, :most_literals] == 1).all(axis=1)
    counts = 6 * np.stack([~target, target], axis=1).astype(np.int64)
    grid = (2,) * dimension
    made = greedy_conjunction_mechanism(
        dimension=dimension,
        most_literals=most_literals,
        rounds=greedy_rounds(most_literals, int(counts.sum())),
        epsilon=epsilon,
    )

    def shortfall(database: Database, output: Output) -> Array:
        looked_at = np.asarray(output)[..., :1] if first else output
        rows = labelled_counts(database, grid=grid)
        return worst_shortfall(rows, looked_at, most_literals=most_literals)

    claim = UtilityClaim(
        loss=shortfall,
        bound=lambda _: log(dimension) / epsilon,
        databases=(labelled_rows(counts, grid=grid),),
    )
    return Subject(claim=claim, mechanism=made)


_variables = whole(2, 1, 3, "variables")
_k = whole(1, 1, 3, "most literals of a conjunction")
_cube = {"dimension": whole(3, 1, 4, "variables"), "most_literals": replace(_k, default=2)}
_choosing = {
    "dimension": _variables,
    "most_literals": _k,
    "rounds": whole(2, 1, 3, "rounds"),
    "epsilon": _epsilon,
}
_big = {
    "dimension": whole(6, 1, 6, "variables"),
    "most_literals": replace(_k, default=2, within=Interval(low=1, high=2, integer=True)),
    "epsilon": replace(_epsilon, within=Interval(low=0.2, high=8.0)),
    "alpha": _alpha,
    "beta": _beta,
}
_costly = {
    **_big,
    "dimension": whole(20, 2, 64, "variables"),
    "most_literals": replace(_k, within=Interval(low=1, high=2, integer=True)),
}
_crowded = {
    "dimension": whole(6, 3, 7, "variables"),
    "most_literals": replace(_k, default=2, within=Interval(low=2, high=2, integer=True)),
    "epsilon": replace(_epsilon, within=Interval(low=0.5, high=1.0)),
}
_three_bounds = (
    "no instance can: an error above alpha takes Delta lost positives a round on average, or "
    "2 k ln(2 k Delta) rounds that leave too many negatives, and a round does either with chance "
    "beta / J whatever came before: (e ln(J / beta) beta / J)^J or beta^(2 k ln(2 k Delta)) in all"
)
_slack = number(2.0, 1.0, 10.0, "the shortfall Delta")
_too_small = "Each round has epsilon / J only: the bound is (2 J / epsilon) ln((2 d + 1) J / beta)"
_no_true = "No literal scores 0 when all points are positive: the constant TRUE is missing"
BETA = 0.1


def _in_records(epsilon: float, points: int) -> GrowthClaim:
    """Of `points` thresholds one is right, and every step away from it costs a record."""

    def instance(records: float) -> tuple[Callable[..., Array], Database]:
        # One record at every point, and all others where no threshold near the right one errs.
        each = [(place, int(place >= points // 2)) for place in range(points)]
        more = [(0, 0), (points - 1, 1)]
        database = each + [more[place % 2] for place in range(int(records) - points)]
        run = partial(finite_class, grid=(points,), hypotheses=thresholds(points), epsilon=epsilon)
        return run, database

    def excess(records: float, database: Database, output: Output) -> Array:
        labels = np.array(database)
        said = thresholds(points)[:, labels[:, 0]]
        return (said != labels[:, 1]).sum(axis=1)[np.asarray(output)] / records

    return GrowthClaim(
        trust_rows=True,
        points=tuple(points * factor for factor in (2, 4, 8, 16)),
        instance=instance,
        quantity=excess,
        # The tail exp(-epsilon x / 2) of what is lost beyond ln |C|, summed up.
        bound=lambda records: 2 * (log(points + 1) + 1) / (epsilon * records),
        high=lambda records: 1.0,
        grows="share of records lost",
        over="n",
    )


def _in_literals(epsilon: float, delta: float, rows: int, variables: int) -> GrowthClaim:
    """Every variable loses the same number of rows, as many as half of the choices risk."""

    def budget(most_literals: float) -> tuple[int, float]:
        rounds = greedy_rounds(int(most_literals), rows)
        return rounds, round_privacy(epsilon, rounds, delta)

    ones = np.ones((1, variables), dtype=np.int64)
    points = np.vstack([ones, ones - np.eye(variables, dtype=np.int64)])
    table = literals_at(points, constant=True)

    def instance(most_literals: float) -> tuple[Callable[..., Array], Database]:
        rounds, each = budget(most_literals)
        lost = int(2 / each * (log(variables) + 0.5))
        counts = np.zeros((variables + 1, 2), dtype=np.int64)
        counts[:, 1] = [variables * lost, *[lost] * variables]
        run = partial(
            greedy_conjunction_of_counts,
            most_literals=int(most_literals),
            rounds=rounds,
            round_epsilon=each,
            table=table,
        )
        return run, counts

    def allowed(most_literals: float) -> float:
        rounds, each = budget(most_literals)
        return (rounds + 2 * most_literals) * score_shortfall(variables, rounds, each, BETA)

    return GrowthClaim(
        trust_rows=True,
        points=(1, 2, 4),
        instance=instance,
        quantity=lambda most_literals, database, output: chosen_mistakes(database, output, table),
        bound=allowed,
        high=allowed,
        grows="rows lost",
        over="k",
        attained=False,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="CONJ-P2",
        statement="The greedy learner draws every transcript with the product of its rounds' laws",
        reference=TAKE_2,
        subject=_same_law,
        parameters={
            **_choosing,
            "most_literals": replace(_k, default=2),
            "rounds": whole(3, 1, 3, "rounds"),
            "epsilon": replace(_epsilon, default=8.0),
        },
    ),
    Theorem(
        identifier="CONJ-P2-SENS",
        statement="One record moves no score by more than 1, also after removals",
        reference=TAKE_2,
        subject=score_sensitivity,
        parameters={"dimension": _variables, "most_literals": _k},
    ),
    Theorem(
        identifier="CONJ-P2-PRIV",
        statement="J rounds with epsilon / J each are epsilon-private",
        reference=TAKE_2,
        subject=greedy_conjunction_mechanism,
        parameters=_choosing,
    ),
    Theorem(
        identifier="CONJ-P2-ADVANCED",
        statement="J rounds with sqrt(8 / J) s(epsilon, delta) each are (epsilon, delta)-private",
        reference=TAKE_2,
        subject=_advanced,
        parameters={
            **_choosing,
            "rounds": whole(4, 1, 5, "rounds"),
            "delta": replace(_delta, default=0.01),
        },
    ),
    Theorem(
        identifier="CONJ-P2-SPENT",
        statement="J rounds lose just epsilon together, with delta and without",
        reference=TAKE_2,
        subject=_rounds_spend,
        parameters={
            **_choosing,
            "rounds": whole(4, 1, 5, "rounds"),
            "delta": replace(_delta, default=0.01),
        },
    ),
    Theorem(
        identifier="CONJ-P2-OPT",
        statement="On data that a conjunction of k literals fits, the best score is 0 every round",
        reference=TAKE_2,
        subject=best_score_is_zero,
        parameters=_cube,
    ),
    Theorem(
        identifier="CONJ-P2-STEP",
        statement="P[some chosen score <= - (2 J / epsilon) ln((2 d + 1) J / beta)] <= beta",
        reference=TAKE_2,
        subject=_scores,
        parameters=_choosing,
    ),
    Theorem(
        identifier="CONJ-P2-POS",
        statement="If all chosen scores are >= -Delta, J rounds lose at most J Delta positives",
        reference=TAKE_2,
        subject=few_positives_lost,
        parameters={**_cube, "rounds": whole(3, 1, 6, "rounds"), "slack": _slack},
    ),
    Theorem(
        identifier="CONJ-P2-NEG",
        statement="If all chosen scores are >= -Delta, at most 2 k Delta negatives stay wrong",
        reference=TAKE_2,
        subject=few_negatives_left,
        parameters={**_cube, "slack": _slack},
    ),
    Theorem(
        identifier="CONJ-P2-MAIN",
        statement="n >= (J + 2 k) Delta / alpha rows, J = ceil(2 k ln n), give error <= alpha",
        reference=TAKE_2,
        subject=greedy_conjunction_threshold,
        parameters=_costly,
        weak=_three_bounds,
    ),
    Theorem(
        identifier="CONJ-P2-ADVANCED-MAIN",
        statement="With sqrt(8 / J) s a round n >= (J + 2 k) Delta / alpha rows suffice, as k**1.5",
        reference=TAKE_2,
        subject=greedy_conjunction_threshold,
        parameters={**_costly, "delta": _delta},
        weak=_three_bounds,
    ),
    Theorem(
        identifier="CONJ-P2-SIZE",
        statement="The number of rows promised is the least n >= (J + 2 k) Delta / alpha",
        reference=TAKE_2,
        subject=_least_rows,
        parameters={**_big, "delta": _delta},
    ),
    Theorem(
        identifier="CONJ-P2-DELTA-LIT",
        statement="No chosen score is below - (1/epsilon) ln d",
        reference=PRINTED,
        subject=partial(_shortfall_without_budget, False),
        parameters=_crowded,
        corrected="CONJ-P2-STEP",
        remark=_too_small,
    ),
    Theorem(
        identifier="ERR-PAC-3",
        statement="The first chosen score is not below - (1/epsilon) ln d",
        reference=PRINTED,
        subject=partial(_shortfall_without_budget, True),
        parameters=_crowded,
        corrected="CONJ-P2-STEP",
        remark=_too_small,
    ),
    Theorem(
        identifier="ERR-PAC-4",
        statement="One of the 2 d literals scores 0 in every round",
        reference=PRINTED,
        subject=partial(best_score_is_zero, constant=False),
        parameters=_cube,
        corrected="CONJ-P2-OPT",
        remark=_no_true,
    ),
    Theorem(
        identifier="ERR-PAC-4-MAIN",
        statement="Without TRUE, n >= (J + 2 k) Delta / alpha rows give error <= alpha",
        reference=PRINTED,
        subject=partial(greedy_conjunction_threshold, constant=False, spread=0),
        parameters=_big,
        corrected="CONJ-P2-MAIN",
        remark=_no_true,
    ),
    Theorem(
        identifier="PAC-EML-GROW-N",
        costly=5,
        statement="the error above the best falls as 1 / n, and is 2 (ln |C| + 1) / (epsilon n) "
        "at most on average",
        reference=f"{KASIVISWANATHAN}, Theorem 3.4",
        subject=_in_records,
        constant=2,
        parameters={
            "epsilon": number(0.5, 0.1, 2, "nats"),
            "points": whole(32, 8, 128, "places of the line"),
        },
    ),
    Theorem(
        identifier="CONJ-P2-GROW-K",
        costly=50,
        statement="rows lost, alpha n, grow no faster than k^1.5 and its logarithms with delta",
        reference=TAKE_2,
        subject=_in_literals,
        parameters={
            "epsilon": number(4.0, 0.5, 8, "nats"),
            "delta": number(0.01, 1e-6, 0.05, "of all rounds"),
            "rows": whole(20, 10, 200, "n of the rounds 2 k ln n"),
            "variables": whole(32, 16, 128, "d"),
        },
    ),
)
