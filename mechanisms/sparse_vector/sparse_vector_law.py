"""Exact probabilities of sparse-vector transcripts: one integral over the threshold's noise.

Given the noise of the threshold the queries are independent, so the probability of a transcript
is the integral of a Laplace density times Laplace distribution functions. Between the points
where these have a kink the integrand is analytic and Gauss-Legendre quadrature is exact to
rounding. Everything is in logarithms: far in the tails 1 - F is lost by subtraction.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, exp, inf, log, log1p

import numpy as np

from ..accounting.tails import log_laplace_cdf
from ..model import Array

# Kinds of an answer: below the threshold, above it, and none because the run had ended.
BELOW = 0
ABOVE = 1
HALTED = 2

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)

# Beyond the last kink the integrand falls by a factor e per scale of the threshold's noise.
REACH = 45.0


def log_bits(
    below: Sequence[float],
    above: Sequence[float],
    *,
    threshold_scale: float,
    query_scale: float,
    limit: float = inf,
) -> float:
    """Log-probability that the queries `below` stay below the noisy threshold and `above` reach it.

    Both hold query value minus threshold. The threshold has Laplace noise of `threshold_scale`,
    common to all, and every query its own of `query_scale`, which may be 0. With `limit` the
    event is also that the threshold's noise is at most `limit`.
    """
    if query_scale == 0:
        low, high = max(below, default=-inf), min([*above, limit])
        return _log_between(low / threshold_scale, high / threshold_scale)
    edges = _panels([0.0, *below, *above], threshold_scale, query_scale, limit)
    half = np.diff(edges)[:, None] / 2
    noise = (edges[:-1, None] + half) + half * NODES
    logs = np.log(half * WEIGHTS) - np.abs(noise) / threshold_scale - log(2 * threshold_scale)
    # Queries that are asked again have the same margin.
    for margin, times in Counter(below).items():
        logs = logs + times * log_laplace_cdf((noise - margin) / query_scale)
    for margin, times in Counter(above).items():
        logs = logs + times * log_laplace_cdf((margin - noise) / query_scale)
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))


def transcripts(queries: int, positives: float) -> Array:
    """Every transcript of `queries` answers that ends at the `positives`-th ABOVE, one a row."""
    return np.array(list(_continued((), queries, positives)), dtype=np.int64)


def _continued(start: tuple[int, ...], queries: int, positives: float) -> Iterator[tuple[int, ...]]:
    if start.count(ABOVE) == positives or len(start) == queries:
        yield start + (HALTED,) * (queries - len(start))
        return
    for kind in (BELOW, ABOVE):
        yield from _continued((*start, kind), queries, positives)


def _panels(
    kinks: Sequence[float], threshold_scale: float, query_scale: float, limit: float
) -> Array:
    """Edges of short panels with every kink among them, wide enough for all but e^-45."""
    kinks = sorted({kink for kink in kinks if kink < limit})
    reach = REACH * threshold_scale
    last = kinks[-1] + reach if kinks else limit
    marks = [(kinks[0] if kinks else limit) - reach, *kinks, min(last, limit)]
    width = 2 * min(threshold_scale, query_scale)
    pieces = []
    for low, high in pairwise(marks):
        if high > low:
            count = ceil((high - low) / width)
            pieces.append(low + np.arange(count) * ((high - low) / count))
    return np.concatenate([*pieces, marks[-1:]])


def _log_between(low: float, high: float) -> float:
    """Log-probability that Laplace noise of scale 1 lies in (low, high]."""
    if high <= low:
        return -inf
    if high <= 0:
        return high - log(2) + log1p(-exp(low - high))
    if low >= 0:
        return -low - log(2) + log1p(-exp(low - high))
    return log1p(-(exp(low) + exp(-high)) / 2)
