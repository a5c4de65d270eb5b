"""Projections onto closed convex sets, all about the origin, applied to the last axis."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..model import Array

SHORT = 16

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
