"""Projected gradient descent, with the bounds of its analysis.

As in Stemmer, lecture notes on differential privacy, lecture 10, with the constants made explicit;
the analysis is that of Zinkevich (2003). A convex function L is minimised over a closed convex
set of diameter R, on which its gradients have norm at most G.
"""

from collections.abc import Callable, Iterator
from math import sqrt

import numpy as np

from .._checks import require_positive
from ..model import Array
from .projections import Projection

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
