"""How far Laplace noise reaches, and the log-sum inequality: facts that utility proofs rest on."""

from collections.abc import Callable, Sequence
from math import exp, fsum, inf, log

import numpy as np

from .._checks import require_positive
from ..model import Array


def laplace_tail(threshold: float, scale: float) -> float:
    """P[|noise| > threshold] of Laplace noise: exp(-threshold / scale), half of it on each side.

    `threshold` is at least 0. Source: Dwork and Roth (2014), Fact 3.7.
    """
    require_positive(scale=scale)
    if not threshold >= 0:
        raise ValueError(f"threshold must be at least 0, got {threshold}")
    return exp(-threshold / scale)


def log_laplace_cdf(points: Array) -> Array:
    """Log of the distribution function of Laplace noise of scale 1; log-survival at -points."""
    tail = np.exp(-np.abs(points)) / 2
    return np.where(points < 0, points - log(2), np.log1p(-tail))


def laplace_difference_tail(threshold: float, scale: float) -> float:
    """P[first - second > threshold] of two independent Laplace noises of one scale.

    It is (2 + t) exp(-t) / 4 with t = threshold / scale, at least 0.
    """
    return laplace_tail(threshold, scale) * (2 + threshold / scale) / 4


def least_distance(chance: Callable[[float], float], most: float) -> float:
    """The smallest distance, up to 700, at which a falling `chance` is `most` at most."""
    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) <= most else (middle, high)
    return high


def log_sum_gap(first: Sequence[float], second: Sequence[float]) -> float:
    """Sum of a ln(a / b) less A ln(A / B), at least 0; A and B are the sums of all a and b.

    The numbers are at least 0; 0 ln(0 / b) is 0 and a ln(a / 0) infinite.
    Source: Cover and Thomas (2006), Theorem 2.7.1.
    """
    parts = fsum(_relative(a, b) for a, b in zip(first, second, strict=True))
    return parts if parts == inf else parts - _relative(fsum(first), fsum(second))


def _relative(a: float, b: float) -> float:
    if a == 0:
        return 0.0
    # Quotients of very small numbers overflow, differences of their logarithms do not.
    return a * (log(a) - log(b)) if b > 0 else inf
