"""Convex losses with their gradients, averaged over the rows of a database.

Points have shape (..., d), rows (n, d), values (...) and gradients (..., d). Both losses are
1-Lipschitz on the whole space; a caller scales them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import table_of_numbers
from ..model import Array, Database, Interval, Product
from .projections import UNIT_BALL, directions, norms, onto_ball

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
    total: Any = 0.0
    for gaps, times in _gaps(np.asarray(weights), distinct, counts):
        total = total + norms(gaps) @ times
    return total / len(rows)


def _distance_gradient(rows: Array) -> Gradient:
    distinct, counts = np.unique(rows, axis=0, return_counts=True)

    def gradient(weights: Array) -> Array:
        total: Any = 0.0
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
