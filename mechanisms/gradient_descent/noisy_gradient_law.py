"""Noise of noisy gradient descent: how much is enough, and the exact law of the noisy gradients.

Stemmer, lecture notes on differential privacy, lecture 10, with the constants made explicit.
Between neighbours, one of n records replaced, the gradient moves by at most 2 G / n. Noise of scale
b = multiplier G / n costs ||shift||^2 / (2 b^2) of zero-concentrated privacy a step.
"""

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from .._checks import require_positive
from ..accounting.composition import zcdp_root
from ..model import Array, Database, LaplaceLaw
from .losses import LINEAR, Loss, as_points
from .projections import Projection


def coordinate_multiplier(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
    """The multiplier sqrt(2 T d) / s(epsilon, delta), for T d answers of sensitivity 2 G / n.

    At most 4 sqrt(T d ln(1 / delta)) / epsilon wherever epsilon <= ln(1 / delta).
    """
    return sqrt(2 * steps * dimension) / zcdp_root(epsilon, delta)


def l2_multiplier(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
    """The multiplier sqrt(2 T) / s(epsilon, delta), for T gradients of L2 sensitivity 2 G / n.

    The dimension does not enter: the squared losses of all coordinates of a gradient add up to
    (2 / multiplier)^2.
    """
    return sqrt(2 * steps) / zcdp_root(epsilon, delta)


def noise_scale(*, multiplier: float, lipschitz: float, records: int) -> float:
    """Scale of the Laplace noise on each coordinate of a gradient: multiplier G / n.

    Raises ValueError without records and when the multiplier or G is not positive.
    """
    require_positive(multiplier=multiplier, lipschitz=lipschitz)
    if records < 1:
        raise ValueError(f"records must be at least 1, got {records}")
    return multiplier * lipschitz / records


def mean_square_norm(
    *, square_norm: float, dimension: int, scale: float, per_noise: float = 2.0
) -> float:
    """E ||g + h||^2 = ||g||^2 + 2 d b^2, independent Laplace noise of scale b in d coordinates.

    `per_noise` is the variance of noise of scale 1.
    """
    return square_norm + per_noise * dimension * scale**2


def transcript_law(
    database: Database,
    *,
    lipschitz: float,
    start: Sequence[float],
    steps: int,
    multiplier: float,
) -> LaplaceLaw:
    """Exact law of all noisy gradients of the linear loss, whose slope is the same everywhere."""
    rows = as_points(database, len(start))
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=len(rows))
    slope = lipschitz * LINEAR.gradient(rows)(np.asarray(start, dtype=float))
    return LaplaceLaw(centres=np.tile(slope, (steps, 1)), scale=scale)


def log_density(
    database: Database,
    outputs: Any,
    *,
    loss: Loss,
    lipschitz: float,
    start: Sequence[float],
    step_size: float,
    steps: int,
    multiplier: float,
    projection: Projection,
) -> Array:
    """Log-density of all noisy gradients of any loss, in nats: (..., steps, d) to shape (...)."""
    given = np.moveaxis(np.asarray(outputs, dtype=float), -2, 0)
    rows = as_points(database, loss.columns or len(start))
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=len(rows))
    weights = np.broadcast_to(np.asarray(start, dtype=float), given.shape[1:])
    exact = loss.gradient(rows)
    total = np.full(given.shape[1:-1], -steps * len(start) * log(2 * scale))
    for noisy in given:
        slope = lipschitz * exact(weights)
        total = total - np.abs(noisy - slope).sum(axis=-1) / scale
        weights = projection(weights - step_size * noisy)
    return total
