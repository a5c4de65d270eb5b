"""Descents on chosen data from chosen points, and how far they are from breaking their bounds.

A case is a record of a loss ("linear" or "distance"), the rows, the start and a point of the set
to compare with. The set is a ball whose radius is half the diameter; a start or point outside it is
first projected onto it. Rows and points are lists of numbers in [-1, 1], in units of the radius.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ..model import Array, Choices, InvariantCase, Record, Rows
from .gradient_descent import (
    balanced_step_size,
    excess_bound,
    progress_bound,
    projected_gradient_descent,
)
from .losses import DISTANCE, LINEAR, Loss, point_rows
from .projections import Projection, norms, onto_ball

LOSSES: dict[str, Loss] = {"linear": LINEAR, "distance": DISTANCE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """One descent: points of shape (T + 1, d), and what it minimises at any points.

    `gradients` has shape (T, d), `target` is the point to compare with, shape (d,).
    """

    points: Array
    gradients: Array
    target: Array
    value: Callable[[Array], Array]
    step_size: float
    steps: int


def descent_domain(*, dimension: int) -> Record:
    """Cases in `dimension` coordinates."""
    point = point_rows(dimension)
    return Record(
        fields={
            "loss": Choices(values=tuple(LOSSES)),
            "rows": Rows(row=point, min_size=1, max_size=4),
            "start": point,
            "target": point,
        }
    )


def far_starts(*, dimension: int) -> tuple[dict[str, object], ...]:
    """Cases that start at the edge of the set, with the target far away or just beside."""
    rest = [0.0] * (dimension - 1)
    return tuple(
        {"loss": loss, "rows": [[at, *rest]], "start": [-1.0, *rest], "target": [at, *rest]}
        for loss in LOSSES
        for at in (1.0, 0.999, 0.3, -0.5, -0.999)
    )


def descent(
    case: InvariantCase,
    *,
    diameter: float,
    lipschitz: float,
    steps: int,
    step_size: float | None = None,
    projection: Projection | None = None,
    sign: float = 1.0,
) -> Descent:
    """Run a case; balanced step size and projection onto the ball unless given.

    `sign` -1 goes up instead of down.
    """
    half = diameter / 2
    ball = partial(onto_ball, radius=half)
    loss = LOSSES[case["loss"]]
    rows = half * np.asarray(case["rows"], dtype=float)
    if step_size is None:
        step_size = balanced_step_size(diameter=diameter, lipschitz=lipschitz, steps=steps)

    exact = loss.gradient(rows)

    def gradient(weights: Array) -> Array:
        return lipschitz * exact(weights)

    points = projected_gradient_descent(
        lambda weights: sign * gradient(weights),
        start=ball(half * np.asarray(case["start"], dtype=float)),
        step_size=step_size,
        steps=steps,
        projection=ball if projection is None else projection,
    )
    return Descent(
        points=points,
        gradients=gradient(points[:-1]),
        target=ball(half * np.asarray(case["target"], dtype=float)),
        value=lambda weights: lipschitz * loss.value(weights, rows),
        step_size=step_size,
        steps=steps,
    )


def progress_margin(case: InvariantCase, **setting: Any) -> float:
    """Over all steps, the least of the bound on the progress minus the excess at that step."""
    run = descent(case, **setting)
    apart = norms(run.points - run.target) ** 2
    bounds = progress_bound(
        step_size=run.step_size,
        square_norm=norms(run.gradients) ** 2,
        before=apart[:-1],
        after=apart[1:],
    )
    excess = run.value(run.points[:-1]) - run.value(run.target)
    return float((bounds - excess).min())


def excess_margin(
    case: InvariantCase,
    *,
    diameter: float,
    lipschitz: float,
    steps: int,
    bound: Callable[..., float] = excess_bound,
    with_start: bool = True,
    **setting: Any,
) -> float:
    """The bound on the excess minus that of the average of the points w_1, ..., w_T.

    `with_start` takes the worse of it and the average of w_0, ..., w_(T-1).
    """
    run = descent(case, diameter=diameter, lipschitz=lipschitz, steps=steps, **setting)
    averages = [run.points[1:].mean(axis=0)]
    if with_start:
        averages.append(run.points[:-1].mean(axis=0))
    worst = max(float(run.value(point)) for point in averages) - float(run.value(run.target))
    allowed = bound(
        diameter=diameter, square_norm=lipschitz**2, step_size=run.step_size, steps=steps
    )
    return allowed - worst


def printed_bound(*, diameter: float, square_norm: float, step_size: float, steps: int) -> float:
    """`excess_bound` with the diameter where its square belongs."""
    return step_size / 2 * square_norm + diameter / (2 * step_size * steps)


def contained_margin(case: InvariantCase, *, diameter: float, **setting: Any) -> float:
    """Half the diameter minus the norm of the point farthest out."""
    return float(diameter / 2 - norms(descent(case, diameter=diameter, **setting).points).max())


def shrinking_margin(case: InvariantCase, **setting: Any) -> float:
    """The least drop, in any step, of the excess and of the squared distance from the target."""
    run = descent(case, **setting)
    excess = run.value(run.points)
    apart = norms(run.points - run.target) ** 2
    return float(min((series[:-1] - series[1:]).min(initial=inf) for series in (excess, apart)))
