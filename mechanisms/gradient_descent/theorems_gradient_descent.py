"""Projected gradient descent: the progress of a step, the excess loss, and the lemmas they rest on.

The lemmas are about projections, and about gradients of one loss and of neighbours.
"""

from collections.abc import Callable
from functools import partial
from math import hypot
from typing import TypedDict, Unpack

import numpy as np

from ..model import (
    Array,
    Choices,
    Interval,
    InvariantCase,
    InvariantClaim,
    Parameter,
    Plot,
    Record,
    Remarks,
    Row,
    Rows,
    Theorem,
    number,
    whole,
)
from .gradient_cases import (
    LOSSES,
    descent_domain,
    excess_margin,
    excess_plot,
    far_starts,
    nonexpansive_margin,
    printed_bound,
    progress_margin,
    projection_margin,
    set_domain,
    set_edges,
    shrinking_margin,
)
from .gradient_descent import SOURCE, directions, norms, point_rows

About = tuple[Row, Callable[[InvariantCase], float], tuple[object, ...]]
"""Of a statement: its cases, its margin, and the cases tried first."""


class PrintedExcess(TypedDict):
    """How a bound on the excess is read, as `excess_margin` takes it."""

    lipschitz: float
    bound: Callable[..., float]
    with_start: bool


PRINTED: PrintedExcess = {"lipschitz": 1.0, "bound": printed_bound, "with_start": False}
"""The printed bound with the printed average, for losses that are 1-Lipschitz."""
DIAMETER = number(2.0, 0.1, 20, "R, of the set")


def _steps(default: int, low: int, high: int) -> Parameter:
    return whole(default, low, high, "T")


def _step_size(default: float, low: float, high: float) -> Parameter:
    return number(default, low, high, "eta")


def _on_descents(
    margin: Callable[..., float], dimension: int, steps: int, **setting: object
) -> About:
    return (
        descent_domain(dimension=dimension),
        partial(margin, steps=steps, **setting),
        far_starts(dimension=dimension),
    )


def _shrinking(steps: int, step_size: float) -> About:
    def margin(case: InvariantCase) -> float:
        centre = [case["centre"]]
        whole = {"loss": "distance", "rows": [centre], "target": centre, "start": [case["start"]]}
        return shrinking_margin(
            whole, diameter=2.0, lipschitz=1.0, steps=steps, step_size=step_size
        )

    fields: dict[str, Row] = {
        "centre": Interval(low=-1, high=1),
        "start": Interval(low=-1, high=1),
    }
    return Record(fields=fields), margin, ({"centre": 0.3, "start": -1.0},)


LIPSCHITZ = number(1.0, 0.1, 10, "G, of the loss")
STEP = 0.01
"""How far a difference quotient reaches."""


def dimensions(default: int) -> Parameter:
    """The dimension d of the space, 1 to 8."""
    return whole(default, 1, 8, "d")


def invariant_theorem(
    identifier: str,
    statement: str,
    parameters: dict[str, Parameter],
    about: Callable[..., About],
    plot: Callable[..., Plot] | None = None,
    **rest: Unpack[Remarks],
) -> Theorem:
    """A statement about all cases; `about(**parameters)` says which these are."""

    def subject(**chosen: float) -> InvariantClaim:
        cases, margin, examples = about(**chosen)
        return InvariantClaim(cases=cases, margin=margin, examples=examples)

    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        subject=subject,
        parameters=parameters,
        plot=plot,
        **rest,
    )


def _on_sets(margin: Callable[..., float], dimension: int, radius: float) -> About:
    return (
        set_domain(dimension=dimension),
        partial(margin, radius=radius),
        set_edges(dimension=dimension),
    )


def _polarisation(dimension: int) -> About:
    vector = Rows(row=Interval(low=-3, high=3), min_size=dimension, max_size=dimension)

    def margin(case: InvariantCase) -> float:
        one, two = (np.asarray(case[name], dtype=float) for name in ("one", "two"))
        squares = [float(norms(v)) ** 2 for v in (one, two, one - two)]
        return -abs(float(one @ two) - (squares[0] + squares[1] - squares[2]) / 2)

    ones = [1.0] * dimension
    return Record(fields={"one": vector, "two": vector}), margin, ({"one": ones, "two": ones},)


def _slope(case: InvariantCase, lipschitz: float) -> tuple[Array, Callable[[Array], float]]:
    """The gradient at the case's point, and the loss at any point."""
    loss, rows = LOSSES[case["loss"]], np.asarray(case["rows"], dtype=float)
    slope = lipschitz * loss.gradient(rows)(np.asarray(case["point"], dtype=float))
    return slope, lambda weights: lipschitz * float(loss.value(weights, rows))


def _gradient_norm(dimension: int, lipschitz: float) -> About:
    point = point_rows(dimension)

    def margin(case: InvariantCase) -> float:
        slope, value = _slope(case, lipschitz)
        length = float(norms(slope))
        # As in the proof: uphill a convex function rises at least as fast as its gradient says,
        # and a Lipschitz one no faster than G.
        here = np.asarray(case["point"], dtype=float)
        rise = (value(here + STEP * directions(slope)) - value(here)) / STEP
        return min(lipschitz - rise, rise - length)

    origin = [0.0] * dimension
    unit = [1.0, *origin[1:]]
    examples = tuple(
        {"loss": n, "rows": [unit], "point": p} for n in LOSSES for p in (origin, unit)
    )
    fields: dict[str, Row] = {
        "loss": Choices(values=tuple(LOSSES)),
        "rows": Rows(row=point, min_size=1, max_size=4),
        "point": point,
    }
    return Record(fields=fields), margin, examples


def _on_a_segment(slope: float) -> About:
    """f(w) = along w_1 + across w_2 on the segment [-1, 1] x {0}."""
    fields: dict[str, Row] = {
        "along": Interval(low=-1, high=1),
        "across": Interval(low=-slope, high=slope),
    }
    return (
        Record(fields=fields),
        lambda case: abs(case["along"]) - hypot(case["along"], case["across"]),
        ({"along": 0.0, "across": slope},),
    )


def _neighbours(dimension: int) -> tuple[Row, tuple[object, ...]]:
    point = point_rows(dimension)
    fields: dict[str, Row] = {
        "loss": Choices(values=tuple(LOSSES)),
        "shared": Rows(row=point, min_size=0, max_size=4),
        "before": point,
        "after": point,
        "point": point,
    }
    origin = [0.0] * dimension
    ends = {"before": [1.0, *origin[1:]], "after": [-1.0, *origin[1:]], "point": origin}
    shared: tuple[object, ...] = ([], [ends["before"]] * 3)
    examples = tuple({"loss": n, "shared": rows, **ends} for n in LOSSES for rows in shared)
    return Record(fields=fields), examples


def _both_slopes(case: InvariantCase, lipschitz: float) -> tuple[Array, Array]:
    slopes = [
        _slope({**case, "rows": [*case["shared"], case[last]]}, lipschitz)[0]
        for last in ("before", "after")
    ]
    return slopes[0], slopes[1]


def _sensitivity(dimension: int, lipschitz: float) -> About:
    def margin(case: InvariantCase) -> float:
        one, two = _both_slopes(case, lipschitz)
        return 2 * lipschitz / (len(case["shared"]) + 1) - float(norms(one - two))

    cases, examples = _neighbours(dimension)
    return cases, margin, examples


def _norm_for_sensitivity(dimension: int, lipschitz: float) -> About:
    def margin(case: InvariantCase) -> float:
        one, _ = _both_slopes(case, lipschitz)
        return 2 * lipschitz / (len(case["shared"]) + 1) - float(norms(one))

    cases, examples = _neighbours(dimension)
    return cases, margin, examples


SETS = {
    "dimension": dimensions(2),
    "radius": number(1.0, 0.1, 10, "of the sets"),
}
SPACE = {"dimension": dimensions(2), "lipschitz": LIPSCHITZ}


THEOREMS: tuple[Theorem, ...] = (
    invariant_theorem(
        "GD-L3",
        "L(w_t) - L(w) <= (eta / 2) ||g||^2 + (||w_t - w||^2 - ||w_(t+1) - w||^2) / (2 eta)",
        {
            "dimension": dimensions(2),
            "diameter": DIAMETER,
            "lipschitz": LIPSCHITZ,
            "steps": _steps(4, 1, 100),
            "step_size": _step_size(0.5, 0.05, 5),
        },
        partial(_on_descents, progress_margin),
    ),
    invariant_theorem(
        "GD-T1",
        "L(average) - L(w*) <= R G / sqrt(T) with step size R / (G sqrt(T))",
        {
            "dimension": dimensions(1),
            "diameter": DIAMETER,
            "lipschitz": LIPSCHITZ,
            "steps": _steps(4, 1, 100),
        },
        partial(_on_descents, excess_margin),
        plot=partial(excess_plot, 100),
    ),
    invariant_theorem(
        "ERR-GD-2",
        "L(average) - L(w*) <= (eta / 2) G^2 + R / (2 eta T)",
        {
            "dimension": dimensions(1),
            "diameter": number(8.0, 7, 20, "R"),
            "steps": _steps(4, 1, 8),
            "step_size": _step_size(1.0, 0.5, 2),
        },
        partial(_on_descents, excess_margin, **PRINTED),
        plot=partial(excess_plot, 8, **PRINTED),
        corrected="GD-T1",
        remark="||w_1 - w*||^2 is at most R^2, not R",
    ),
    invariant_theorem(
        "ERR-GD-6",
        "in every step both the excess and the distance from the minimum shrink",
        {"steps": _steps(4, 3, 100), "step_size": _step_size(1.0, 0.9, 1.6)},
        _shrinking,
        corrected="GD-L3",
        remark="a step can overshoot the minimum; only averages over the steps shrink",
    ),
    invariant_theorem(
        "GD-PROJ",
        "the projection P x lies in the set, P P x = P x, and <x - P x, w - P x> <= 0 in the set",
        SETS,
        partial(_on_sets, projection_margin),
    ),
    invariant_theorem(
        "GD-L1",
        "where a function is G-Lipschitz around a point its gradient there has norm at most G",
        SPACE,
        _gradient_norm,
    ),
    invariant_theorem(
        "GD-L2",
        "projecting onto a convex set brings no point farther from one of the set",
        SETS,
        partial(_on_sets, nonexpansive_margin),
    ),
    invariant_theorem(
        "GD-POLAR",
        "<a, b> = (||a||^2 + ||b||^2 - ||a - b||^2) / 2",
        {"dimension": dimensions(3)},
        _polarisation,
    ),
    invariant_theorem(
        "GD-SENS",
        "replacing one of n rows moves the gradient by at most 2 G / n",
        SPACE,
        _sensitivity,
    ),
    invariant_theorem(
        "ERR-GD-1",
        "where a function is G-Lipschitz on the set its gradient has norm at most G",
        {"slope": number(100.0, 1, 1000, "across C")},
        _on_a_segment,
        corrected="GD-L1",
        remark="a set without interior says nothing of the slope across it",
    ),
    invariant_theorem(
        "ERR-GD-4",
        "the norm of the gradient is at most 2 G / n",
        SPACE,
        _norm_for_sensitivity,
        corrected="GD-SENS",
        remark="that is how far it moves between neighbours; its norm can be G",
    ),
)
