"""Projections and descents on chosen data, how near they come to their bounds, and pictures.

A case for a lemma on projections is a record. `point` is the point to project, in units of the
set's radius. The point of the set is `inside` itself where the set is a box of that half width;
where it is a ball it lies in the direction of `inside`, `share` of the way from the centre to the
edge.

A case for a descent is a record of a loss ("linear" or "distance"), the rows, the start and a point
of the set to compare with. The set is a ball whose radius is half the diameter; a start or point
outside it is first projected onto it. Rows and points are lists of numbers in [-1, 1], in units of
the radius. The pictures show the excess loss against the number of steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TypedDict, Unpack

import numpy as np

from ..model import (
    Array,
    Axis,
    Choices,
    ExpectationClaim,
    Interval,
    InvariantCase,
    Plot,
    Record,
    Rows,
    Series,
    Subject,
)
from .gradient_descent import (
    DISTANCE,
    LINEAR,
    Loss,
    Projection,
    balanced_step_size,
    directions,
    excess_bound,
    norms,
    onto_ball,
    onto_box,
    point_rows,
    progress_bound,
    projected_gradient_descent,
)

FAR = 3.0
ROUNDING = 1e-12


def set_domain(*, dimension: int) -> Record:
    """Cases in `dimension` coordinates, some points in the sets and some outside."""
    return Record(
        fields={
            "point": Rows(row=Interval(low=-FAR, high=FAR), min_size=dimension, max_size=dimension),
            "inside": Rows(row=Interval(low=-1, high=1), min_size=dimension, max_size=dimension),
            "share": Interval(low=0, high=1),
        }
    )


def set_edges(*, dimension: int) -> tuple[dict[str, object], ...]:
    """Cases at the middle, near it, at the edge and outside, with points on either side."""
    return tuple(
        {"point": [at] * dimension, "inside": [way] * dimension, "share": share}
        for at in (0.0, 0.1, 1.0, FAR)
        for way in (-1.0, 1.0)
        for share in (0.0, 1.0)
    )


def projection_margin(case: InvariantCase, *, radius: float) -> float:
    """Minus the worst of what breaks P P x = P x, P x in the set, <x - P x, w - P x> <= 0."""
    margins = []
    for project, point, inside, size in _sets(case, radius):
        nearest = project(point)
        margins += [
            -float(norms(project(nearest) - nearest)),
            radius * (1 + ROUNDING) - float(size(nearest)),
            -float((point - nearest) @ (inside - nearest)),
        ]
    return min(margins)


def nonexpansive_margin(
    case: InvariantCase, *, radius: float, only: Projection | None = None
) -> float:
    """||x - w|| - ||P x - w||, for the set where it is least; `only` projects instead if given."""
    return min(
        float(norms(point - inside) - norms((only or project)(point) - inside))
        for project, point, inside, _ in _sets(case, radius)
    )


def _sets(
    case: InvariantCase, radius: float
) -> Iterator[tuple[Projection, Array, Array, Projection]]:
    """Of the ball and of the box: the projection, a point, one of the set, and the gauge."""
    point = radius * np.asarray(case["point"], dtype=float)
    inside = np.asarray(case["inside"], dtype=float)
    within = case["share"] * radius * directions(inside)
    yield partial(onto_ball, radius=radius), point, within, norms
    yield partial(onto_box, half_width=radius), point, radius * inside, lambda p: np.abs(p).max()


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


class Setting(TypedDict, total=False):
    """What of a descent is not as it is analysed."""

    step_size: float | None
    projection: Projection | None
    sign: float


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


def progress_margin(
    case: InvariantCase,
    *,
    diameter: float,
    lipschitz: float,
    steps: int,
    **setting: Unpack[Setting],
) -> float:
    """Over all steps, the least of the bound on the progress minus the excess at that step."""
    run = descent(case, diameter=diameter, lipschitz=lipschitz, steps=steps, **setting)
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
    **setting: Unpack[Setting],
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


def contained_margin(
    case: InvariantCase,
    *,
    diameter: float,
    lipschitz: float,
    steps: int,
    **setting: Unpack[Setting],
) -> float:
    """Half the diameter minus the norm of the point farthest out."""
    run = descent(case, diameter=diameter, lipschitz=lipschitz, steps=steps, **setting)
    return float(diameter / 2 - norms(run.points).max())


def shrinking_margin(
    case: InvariantCase,
    *,
    diameter: float,
    lipschitz: float,
    steps: int,
    **setting: Unpack[Setting],
) -> float:
    """The least drop, in any step, of the excess and of the squared distance from the target."""
    run = descent(case, diameter=diameter, lipschitz=lipschitz, steps=steps, **setting)
    excess = run.value(run.points)
    apart = norms(run.points - run.target) ** 2
    return float(min((series[:-1] - series[1:]).min(initial=inf) for series in (excess, apart)))


STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 25, 36, 50, 70, 100)
LEAST = 1e-4
"""An excess below this is drawn at the lower edge."""


def excess_plot(
    most: int,
    *,
    dimension: int,
    diameter: float,
    lipschitz: float,
    steps: int,
    step_size: float | None = None,
    bound: Callable[..., float] = excess_bound,
    with_start: bool = True,
) -> Plot:
    """The largest excess over the hand-made cases at each number of steps up to `most`.

    The parameters are those of `excess_margin`; `steps` plays no part.
    """
    cases, counts = far_starts(dimension=dimension), [count for count in STEPS if count <= most]
    allowed = np.array(
        [
            bound(
                diameter=diameter,
                square_norm=lipschitz**2,
                step_size=step_size
                or balanced_step_size(diameter=diameter, lipschitz=lipschitz, steps=count),
                steps=count,
            )
            for count in counts
        ]
    )
    margin = partial(
        excess_margin,
        diameter=diameter,
        lipschitz=lipschitz,
        step_size=step_size,
        bound=bound,
        with_start=with_start,
    )
    margins = [min(margin(case, steps=count) for case in cases) for count in counts]
    excess, x = allowed - margins, np.array(counts)
    worst = [int(np.argmin(margins))] if min(margins) < -1e-9 else []
    return _plot(
        f"The excess of the average over the minimum, the worst of {len(cases)} hand-made cases "
        "at each T; it may not be above the bound.",
        Series(meaning="bound", x=x, y=allowed),
        Series(
            meaning="measured", x=x, y=np.maximum(excess, LEAST), style="marked",
            label="worst hand-made case",
        ),
        Series(meaning="counterexample", x=x[worst], y=excess[worst]),
    )  # fmt: skip


def mean_excess_plot(subject: Callable[[int], Subject], counts: Sequence[int]) -> Plot:
    """The mean excess at several numbers of steps, to be measured, and the bound.

    `subject(steps)` is the noisy descent of so many steps, with the claim about its excess.
    """
    means: dict[float, Subject] = {steps: subject(steps) for steps in counts}
    return _plot(
        "The mean excess of the average over the minimum at each T, step size and noise chosen "
        "for it; it may not be above the bound.",
        Series(
            meaning="bound",
            x=np.array(counts),
            y=np.array([_bound(one) for one in means.values()]),
        ),
        means=means,
    )


def _bound(subject: Subject) -> float:
    assert isinstance(subject.claim, ExpectationClaim)
    return subject.claim.bound


def _plot(caption: str, *series: Series, means: Mapping[float, Subject] | None = None) -> Plot:
    return Plot(
        key="excess",
        title="Excess loss and steps",
        caption=caption,
        x=Axis(label="steps T", log=True),
        y=Axis(label="excess loss of the average", log=True),
        series=series,
        means=means or {},
    )
