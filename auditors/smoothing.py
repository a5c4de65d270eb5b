"""Log-ratios of many small counts, smoothed by Gaussian processes on a line.

All models are Markov, so that their precision matrices are tridiagonal and one sweep of
Gaussian elimination (Thomas' algorithm) solves for all hyperparameters at once. The strength of
the smoothing is the one of largest marginal likelihood.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_ratios", "smooth_curve", "smooth_tables"]

Floats = NDArray[np.float64]

_SLOPES = np.array([0.4, 0.6, 0.8, 1.0, 1.25])
_STEPS = np.array([3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0])
_LEVEL = 1e-3
_SIZES = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
_LENGTHS = np.array([0.02, 0.1, 0.4, 1.5])


def log_ratios(
    first: NDArray[Any], second: NDArray[Any], totals: tuple[Any, Any]
) -> tuple[Floats, Floats]:
    """Log-ratio of the rates and its variance, from counts of any shape."""
    a, b = first + 0.5, second + 0.5
    return np.log(a / b * (totals[1] / totals[0])), 1 / a + 1 / b


def _solve(diagonal: Floats, beside: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solution and log determinant; the first axis is that of the equations."""
    count = len(diagonal)
    pivot, target = diagonal.copy(), right.copy()
    for k in range(1, count):
        factor = beside[k - 1] / pivot[k - 1]
        pivot[k] -= factor * beside[k - 1]
        target[k] -= factor * target[k - 1]
    target[-1] /= pivot[-1]
    for k in range(count - 2, -1, -1):
        target[k] = (target[k] - beside[k] * target[k + 1]) / pivot[k]
    return target, np.log(pivot).sum(axis=0)


def smooth_curve(ratios: Floats, variances: Floats, means: Floats | None) -> Floats:
    """Smoothed log-ratios along an ordered list of slices; arrays of shape (slices, curves).

    Model: ratio = slope * mean + a random walk + noise. `means` are the mean scores of the
    slices where the score is itself a log-likelihood ratio, else None and the slope is 0.
    """
    slices, curves = ratios.shape
    slopes = np.zeros(1) if means is None else np.concatenate([[0.0], _SLOPES])
    trend = np.zeros_like(ratios) if means is None else means
    residual = ratios[:, :, None, None] - slopes[:, None] * trend[:, :, None, None]
    precision = np.broadcast_to(1 / variances[:, :, None, None], residual.shape)
    stiff = np.broadcast_to(_STEPS**-2.0, (curves, len(slopes), len(_STEPS)))
    shape = (slices, curves, len(slopes), len(_STEPS))
    diagonal = np.broadcast_to(precision, shape).copy()
    diagonal[0] += _LEVEL
    diagonal[1:] += stiff
    diagonal[:-1] += stiff
    beside = np.broadcast_to(-stiff, (max(0, slices - 1), *stiff.shape))
    right = np.broadcast_to(precision * residual, shape)
    walk, log_determinant = _solve(diagonal, beside, right)
    fit = (precision * residual * (residual - walk)).sum(axis=0)
    evidence = (slices - 1) * np.log(stiff) - log_determinant - fit
    best = evidence.reshape(curves, -1).argmax(axis=1)
    rows = np.arange(curves)
    slope = slopes[best // len(_STEPS)]
    chosen = walk.reshape(slices, curves, -1)[:, rows, best]
    return slope * trend + chosen


def smooth_tables(
    ratios: Floats, variances: Floats, places: Floats, *, shared: bool = False
) -> Floats:
    """Smoothed log-ratios of the bins of several tables; arrays of shape (bins, tables).

    A bin without counts has infinite variance. `places` in [0, 1], rising along the first axis,
    say how near two bins are. Prior: a stationary Ornstein-Uhlenbeck process of mean zero; its
    size and length are chosen for each table, or once for all when `shared`.
    """
    gaps = np.diff(places, axis=0)[:, :, None] / _LENGTHS
    memory = np.concatenate([np.exp(-gaps), np.zeros((len(gaps), places.shape[1], 1))], axis=2)
    memory = np.minimum(memory, 1 - 1e-9)[:, :, :, None]
    inside = 1 / (1 - memory**2)
    size = _SIZES**-2.0
    shape = (len(ratios), ratios.shape[1], len(_LENGTHS) + 1, len(_SIZES))
    prior = np.ones(shape)
    prior[1:] += inside - 1
    prior[:-1] += inside - 1
    precision = (1 / variances)[:, :, None, None]
    right = np.broadcast_to(precision * ratios[:, :, None, None], shape)
    smooth, log_determinant = _solve(prior * size + precision, -memory * inside * size, right)
    gained = (right * smooth).sum(axis=0)
    # log det of the prior precision: one factor size for each bin, one 1 / (1 - memory^2) a gap.
    prior_determinant = len(ratios) * np.log(size) + np.log(inside).sum(axis=0)
    evidence = prior_determinant - log_determinant + gained
    if shared:
        evidence = np.broadcast_to(evidence.sum(axis=0, keepdims=True), evidence.shape)
    best = evidence.reshape(evidence.shape[0], -1).argmax(axis=1)
    return smooth.reshape(*smooth.shape[:2], -1)[:, np.arange(len(best)), best]
