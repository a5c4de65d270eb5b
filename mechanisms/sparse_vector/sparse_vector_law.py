"""Exact probabilities of sparse-vector transcripts: one integral over the threshold's noise.

Given the noise of the threshold the queries are independent, so the probability of a transcript
is the integral of a Laplace density times Laplace distribution functions. Between the points
where these have a kink the integrand is analytic and Gauss-Legendre quadrature is exact to
rounding. Everything is in logarithms: far in the tails 1 - F is lost by subtraction.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from math import ceil, comb, exp, inf, log, log1p

import numpy as np

from .._checks import require_listable
from ..accounting.tails import log_laplace_cdf
from ..model import Array

# Kinds of an answer: below the threshold, above it, and none because the run had ended.
BELOW = 0
ABOVE = 1
HALTED = 2

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)

# Beyond the last kink the integrand falls by a factor e per scale of the threshold's noise.
REACH = 45.0

# Numbers held at a time.
PIECE = 2**21


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
    """Every transcript of `queries` answers that ends at the `positives`-th ABOVE, one a row.

    In the order of their rows. Raises NotListable where they are too many.
    """
    most = int(min(positives, queries))
    require_listable(sum(comb(queries, k) for k in range(most + 1)) * queries, "answers")
    rows = []
    for number in range(most + 1):
        for places in combinations(range(queries), number):
            row = np.zeros(queries, dtype=np.int64)
            row[list(places)] = ABOVE
            if number == positives:
                row[places[-1] + 1 :] = HALTED
            rows.append(row)
    return np.array(sorted(rows, key=tuple))


def log_transcripts(
    kinds: Array,
    margins: Sequence[float],
    *,
    threshold_scale: float,
    query_scale: float,
    positives: float,
) -> Array:
    """Log-probability of each transcript, a row of `kinds`; -inf for one that no run can give.

    `margins` are query value minus threshold. At every node the integrand of a transcript is that
    of all its answers BELOW, a running sum that transcripts share, and what each ABOVE changes.
    """
    above, over = kinds == ABOVE, kinds == HALTED
    before = np.cumsum(above, axis=1) - above
    possible = ((before >= positives) == over).all(axis=1)
    logs = np.full(len(kinds), -inf)
    if query_scale == 0:
        values = np.asarray(margins)
        for place in np.flatnonzero(possible):
            low, high = values[kinds[place] == BELOW], values[above[place]]
            logs[place] = log_bits(low.tolist(), high.tolist(), threshold_scale=threshold_scale,
                                   query_scale=0)  # fmt: skip
        return logs
    edges = _panels([0.0, *margins], threshold_scale, query_scale, inf)
    half = np.diff(edges)[:, None] / 2
    noise = ((edges[:-1, None] + half) + half * NODES).ravel()
    start = np.log(half * WEIGHTS).ravel() - np.abs(noise) / threshold_scale
    start -= log(2 * threshold_scale)
    answered = (~over).sum(axis=1)[possible]
    # The places of ABOVE, one column for each, and beyond them a place that changes nothing.
    order = np.argsort(~above[possible], axis=1, kind="stable")
    many = above[possible].sum(axis=1)
    places = [np.where(many > j, order[:, j], len(margins)) for j in range(many.max(initial=0))]
    centres, found = np.asarray(margins)[:, None], logs[possible]
    for part in np.array_split(np.arange(noise.size), len(kinds) * noise.size // PIECE + 1):
        scores = (noise[part] - centres) / query_scale
        below, changes = np.zeros((2, len(margins) + 1, part.size))
        np.cumsum(log_laplace_cdf(scores), axis=0, out=below[1:])
        changes[:-1] = log_laplace_cdf(-scores) - log_laplace_cdf(scores)
        terms = below[answered] + start[part]
        for columns in places:
            terms += changes[columns]
        top = terms.max(axis=1, initial=-inf)
        found = np.logaddexp(found, top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))
    logs[possible] = found
    return logs


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
