"""Projected gradient descent: the sets, the losses, the steps, and the bounds of its analysis.

As in Stemmer, lecture notes on differential privacy, lecture 10, with the constants made explicit;
the analysis is that of Zinkevich (2003). A convex function L is minimised over a closed convex set
of diameter R, on which its gradients have norm at most G.

Projections are onto closed convex sets about the origin, along the last axis. Losses are averaged
over the rows of a database: points have shape (..., d), rows (n, d), values (...) and gradients
(..., d). Both losses are 1-Lipschitz on the whole space; a caller scales them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from .._checks import require_positive, table_of_numbers
from ..model import Array, Database, Interval, Product

SHORT = 16
"""Coordinates up to which their squares are added one after the other, which is several times
faster."""
Projection = Callable[[Array], Array]
"""Points of shape (..., d) to the nearest points of a set."""


def norms(points: Array) -> Array:
    """Euclidean norms along the last axis: shape (..., d) to (...)."""
    points = np.asarray(points, dtype=float)
    if points.shape[-1] > SHORT:
        return np.sqrt(np.einsum("...i,...i->...", points, points))
    # One coordinate at a time: a reduction over a short last axis is several times slower.
    squares = sum(points[..., place] ** 2 for place in range(points.shape[-1]))
    return np.sqrt(squares)


def directions(points: Array) -> Array:
    """Unit vectors along the points, shape (..., d); 0 for points of norm below 1e-150."""
    lengths = norms(points)[..., None]
    # The squares of smaller numbers underflow and lose the norm.
    vanish = lengths < 1e-150
    return np.where(vanish, 0.0, points / np.where(vanish, 1.0, lengths))


def onto_ball(points: Array, *, radius: float) -> Array:
    """The nearest points of norm at most `radius`: longer ones are cut down to it."""
    excess = np.maximum(norms(points) / radius, 1.0)
    return points / excess[..., None]


def onto_box(points: Array, *, half_width: float) -> Array:
    """The nearest points of [-half_width, half_width]^d: every coordinate is clipped."""
    return np.clip(points, -half_width, half_width)


UNIT_BALL: Projection = partial(onto_ball, radius=1.0)
BLOCK = 2**18
"""Numbers held at a time, so that they stay in the cache."""
Gradient = Callable[[Array], Array]
"""Gradients at points, shape (..., d) to the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss l(w; x), convex and 1-Lipschitz in w.

    `value(weights, rows)` is its average over the rows, at points; `gradient(rows)` is the
    gradient of that average, a function of points. `minimiser(row, radius)` is a point of the ball
    of that radius where the loss is least, when all rows are that one row. A row has `columns`
    numbers, by default as many as a point: features and a label have one more.
    """

    name: str
    value: Callable[[Array, Array], Array]
    gradient: Callable[[Array], Gradient]
    minimiser: Callable[[Array, float], Array]
    columns: int | None = None


def as_points(database: Database, dimension: int) -> Array:
    """The rows as an array of shape (n, dimension); no rows are fine.

    Raises ValueError on rows of another length and on numbers that are not finite.
    """
    return table_of_numbers(database, columns=dimension, what="row").astype(float)


def point_rows(dimension: int, reach: float = 1.0) -> Product:
    """The domain of rows of `dimension` numbers in [-reach, reach]."""
    return Product(parts=(Interval(low=-reach, high=reach),) * dimension)


def _linear_slope(rows: Array) -> Array:
    # Only rows of norm at most 1 make -<w, x> a 1-Lipschitz function of w.
    return -UNIT_BALL(rows).mean(axis=0)


def _linear_value(weights: Array, rows: Array) -> Array:
    return np.asarray(weights) @ _linear_slope(rows)


def _linear_gradient(rows: Array) -> Gradient:
    slope = _linear_slope(rows)
    return lambda weights: np.broadcast_to(slope, np.shape(weights))


def _along(row: Array, radius: float) -> Array:
    return radius * directions(row)


def _distance_value(weights: Array, rows: Array) -> Array:
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    total = np.zeros(())
    for gaps, times in _gaps(np.asarray(weights), distinct, counts):
        total = total + norms(gaps) @ times
    return total / len(rows)


def _distance_gradient(rows: Array) -> Gradient:
    distinct, counts = np.unique(rows, axis=0, return_counts=True)

    def gradient(weights: Array) -> Array:
        total = np.zeros(())
        for gaps, times in _gaps(np.asarray(weights), distinct, counts):
            # At the kink 0 is one of the subgradients.
            total = total + times @ directions(gaps)
        return total / len(rows)

    return gradient


def _gaps(weights: Array, rows: Array, counts: Array) -> Iterator[tuple[Array, Array]]:
    """Points less rows, shape (..., k, d), and how often each row occurs, in blocks of k rows."""
    block = max(1, BLOCK // max(weights.size, 1))
    for start in range(0, len(rows), block):
        here = slice(start, start + block)
        yield weights[..., None, :] - rows[here], counts[here].astype(float)


LINEAR = Loss(
    name="-<w, x>, rows longer than 1 cut down to length 1",
    value=_linear_value,
    gradient=_linear_gradient,
    minimiser=_along,
)
DISTANCE = Loss(
    name="||w - x||",
    value=_distance_value,
    gradient=_distance_gradient,
    minimiser=lambda row, radius: onto_ball(row, radius=radius),
)
SOURCE = "Stemmer, lecture notes on differential privacy, lecture 10"


def projected_gradient_descent(
    gradient: Callable[[Array], Array],
    *,
    start: Array,
    step_size: float,
    steps: int,
    projection: Projection,
) -> Array:
    """The points w_0 = start and w_t = projection(w_(t-1) - step_size gradient(w_(t-1))).

    The algorithm's answer is the average of w_1, ..., w_steps; that of w_0, ..., w_(steps-1) is
    as good. Returns floats of shape (steps + 1, ..., d). Raises ValueError on a step size or a
    number of steps that is not positive.
    """
    require_positive(step_size=step_size, steps=steps)
    first = np.asarray(start, dtype=float)
    path = descend(gradient, start=first, step_size=step_size, steps=steps, projection=projection)
    return np.stack([first, *(weights for _, weights in path)])


def descend(
    gradient: Callable[[Array], Array],
    *,
    start: Array,
    step_size: float,
    steps: int,
    projection: Projection,
) -> Iterator[tuple[Array, Array]]:
    """The gradient of every step of the descent, and the point it leads to."""
    weights = start
    for _ in range(steps):
        slope = gradient(weights)
        weights = projection(weights - step_size * slope)
        yield slope, weights


def balanced_step_size(*, diameter: float, lipschitz: float, steps: int) -> float:
    """R / (G sqrt(T)), which makes the two terms of `excess_bound` equal."""
    return diameter / (lipschitz * sqrt(steps))


def excess_bound(*, diameter: float, square_norm: float, step_size: float, steps: int) -> float:
    """Bound (eta / 2) G^2 + R^2 / (2 eta T) on the excess of the average point.

    `square_norm` is G^2, or the mean squared norm of noisy gradients, which bounds the expected
    excess then. With the balanced step size it is R G / sqrt(T).
    """
    return step_size / 2 * square_norm + diameter**2 / (2 * step_size * steps)


def progress_bound(*, step_size: float, square_norm: Array, before: Array, after: Array) -> Array:
    """Bound on L(w_t) - L(w) for any w of the set, w_t of one step, whatever the step does.

    It is (eta / 2) ||g||^2 + (before - after) / (2 eta) with g the gradient used and `before` and
    `after` the squared distances of w_t and w_(t+1) from w.
    """
    return step_size / 2 * square_norm + (before - after) / (2 * step_size)
