"""Exact sampler of whole-number Laplace noise, Canonne, Kamath and Steinke (2020), Algorithm 2.

It uses uniform whole numbers and comparisons only: no logarithm is rounded, and no draw is limited
to the 53 bits of a float. What is left between it and its law is the quality of `rng`'s bits,
which in numpy are made for simulation, not for secrets.
"""

from math import exp, expm1, log, log1p

import numpy as np

from .._checks import sample_shape
from ..model import Array, Size

# Leaves room in 64 bits for sums of noise and answers.
WIDEST = 2**50
# Draws made at a time: enough to share the cost of a call, and still in the cache.
CHUNK = 2**17


def discrete_laplace(rng: np.random.Generator, *, scale: int, size: Size = None) -> Array:
    """Draw whole numbers k with probability proportional to exp(-|k| / scale).

    `scale` is a whole number in [1, 2**50]. Returns whole numbers of shape `size`.
    """
    if scale != int(scale) or not 1 <= scale <= WIDEST:
        raise ValueError(f"scale must be a whole number in [1, 2**50], got {scale}")
    shape = sample_shape(size)
    noise = np.empty(shape, dtype=np.int64)
    flat, filled = noise.reshape(-1), 0
    while filled < flat.size:
        kept = _attempts(rng, int(scale), min(flat.size - filled, CHUNK))
        flat[filled : filled + kept.size] = kept
        filled += kept.size
    return noise[()]


def discrete_laplace_log_probability(noise: Array, scale: float) -> Array:
    """Log-probability of whole numbers under `discrete_laplace`, any shape and scale."""
    return log(-expm1(-1 / scale)) - log1p(exp(-1 / scale)) - np.abs(noise) / scale


def _attempts(rng: np.random.Generator, scale: int, count: int) -> Array:
    """What is left of `count` draws after rejection, some 0.6 of them, all independent."""
    remainder = rng.integers(scale, size=count)
    remainder = remainder[_decays(rng, remainder, scale)]
    magnitude = remainder + scale * _unit_geometric(rng, remainder.size)
    negative = rng.integers(2, size=magnitude.size, dtype=np.int8) == 1
    # Zero has one sign only, or it would be drawn twice as often as it should.
    return np.where(negative, -magnitude, magnitude)[(magnitude > 0) | ~negative]


def _decays(rng: np.random.Generator, numerators: Array, denominator: int) -> Array:
    """For each numerator, True with probability exp(-numerator / denominator), at most 1 each.

    The first k whose draw, true with probability numerator / (k denominator), is false is odd
    with exactly that probability.
    """
    alive = np.flatnonzero(rng.integers(denominator, size=numerators.size) < numerators)
    result = np.ones(numerators.size, dtype=bool)
    k = 1
    while alive.size:
        result[alive] = k % 2 == 0
        k += 1
        alive = alive[rng.integers(k * denominator, size=alive.size) < numerators[alive]]
    return result


def _unit_geometric(rng: np.random.Generator, count: int) -> Array:
    """Whole numbers v >= 0 with probability proportional to exp(-v)."""
    value = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while alive.size:
        alive = alive[_decays(rng, np.ones(alive.size, dtype=np.int64), 1)]
        value[alive] += 1
    return value
