"""Theorems on interior points, by the exponential mechanism and by recursion."""

from math import ceil
from typing import Any

import numpy as np

from ..model import (
    Interval,
    InvariantClaim,
    Mechanism,
    Parameter,
    Record,
    Rows,
    Theorem,
    ThresholdClaim,
    number,
    whole,
)
from .interior_point import (
    SOURCE,
    balanced_points,
    depth_scores,
    interior_point_mechanism,
    not_interior,
    points_needed,
)
from .rec_concave import points_promised, rec_concave_mechanism

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
    def instance(points: int) -> tuple[Any, list[int]]:
        made = interior_point_mechanism(points=points, grid=grid, epsilon=epsilon)
        return made.run, balanced_points(points, grid)

    return ThresholdClaim(
        needed=points_needed(grid=grid, epsilon=epsilon, beta=beta),
        instance=instance,
        loss=not_interior,
        level=0.5,
        beta=beta,
    )


def _facts_margin(case: Any) -> float:
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
        cases=Record(fields={"points": Rows(row=place, least=1, most=12), "other": place}),
        margin=_facts_margin,
        examples=({"points": [3] * 5 + [4] * 5, "other": 15}, {"points": [0], "other": 15}),
    )


def _recursive(*, epsilon: float, delta: float, grid: int, points: int) -> Mechanism:
    return rec_concave_mechanism(
        points=points, grid=grid, epsilon=epsilon, delta=delta, identifier="PAC-IP-REC"
    )


def _recursive_threshold(*, epsilon: float, delta: float, grid: int, beta: float) -> ThresholdClaim:
    def instance(points: int) -> tuple[Any, list[int]]:
        made = rec_concave_mechanism(points=points, grid=grid, epsilon=epsilon, delta=delta)
        return made.run, balanced_points(points, grid)

    return ThresholdClaim(
        needed=points_promised(grid=grid, epsilon=epsilon, delta=delta, beta=beta),
        instance=instance,
        loss=not_interior,
        level=0.5,
        beta=beta,
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
        weak="three steps have their worst case on different scores, each with constants to spare; "
        "PAC-IP-EM-UTILITY reaches the bound of the step that is the exponential mechanism",
    ),
)
