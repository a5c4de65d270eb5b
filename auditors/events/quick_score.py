"""A cheap score of how badly a pair of databases seems to violate a claim, to rank pairs by.

It must say something on a few dozen draws, where an event cannot be learnt with any care: one
feature at a time is cut into few bins, and the ends of the range and of the order of log-ratios
are tried. Every score is measured on draws that did not choose its event.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column
from ..outputs.outputs import Outputs
from ..outputs.questions import questions
from .bins import MOST_LABELS

BINS = 32
"""Bins of a feature, at most."""
FEWEST_BINS = 6
"""Bins of a feature, at least."""
DRAWS_A_BIN = 24
"""Draws of both sides for a bin: those of fewer would be sorted by luck."""
MOST_FEATURES = 40
"""Features that are looked at."""
PARTS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""The claim and the parts of it that a pair may come near to."""
LUCK = 1.5
"""Standard deviations that are not taken for an excess."""
HINT = 0.1
"""Part of what is still luck that counts, so that pairs without an excess are ranked too."""
FEWEST = 12
"""Draws a side below which nothing is said."""

Floats = NDArray[np.float64]


def quick_score(first: Outputs, second: Outputs, *, epsilon: float, delta: float) -> float:
    """Excess p - exp(epsilon) q - delta of a chosen event, over its standard deviation per draw.

    The event, of either direction, is chosen on the draws of even place and measured on the odd
    ones, and the other way round, and the mean of both is taken. An excess that luck explains
    counts as none; then how clearly events exceed parts of epsilon, weighed lightly, tells the
    pairs that come close to the claim from those that look alike. Smooth enough to steer a
    search, and decides nothing.
    """
    size = min(len(first), len(second))
    if size < FEWEST:
        return 0.0
    ratios = np.exp(np.minimum(np.array(PARTS) * epsilon, 50.0))
    features = questions(first[:100], second[:100])[:MOST_FEATURES]
    every = [_binned(first.column(feature), second.column(feature)) for feature in features]
    told = [counts for counts in every if counts.shape[2] > 1]
    if not told:
        return 0.0
    chosen, measured = _excess(told, ratios, delta)
    best = chosen.argmax(axis=0)[None]
    found, *weaker = np.take_along_axis(measured, best, axis=0)[0].mean(axis=0).tolist()
    luck = LUCK / sqrt(size)
    beyond = max(found - luck, 0.0) + min(found + luck, 0.0)
    return float(beyond + HINT * sum(min(max(value, 0.0), 2 * luck) for value in weaker))


def _binned(first: Column, second: Column) -> Floats:
    """Counts of shape (parity, side, bins): numbers in order, NaN, then one for each label."""
    values = [np.asarray(column.values, dtype=np.float64) for column in (first, second)]
    pooled = np.concatenate(values)
    numbers = np.sort(pooled[~np.isnan(pooled)])
    edges = np.zeros(0)
    if len(numbers):
        # Bins of a few draws would be sorted by luck alone.
        bins = min(BINS, max(FEWEST_BINS, len(pooled) // DRAWS_A_BIN))
        marks = _distinct(numbers[np.arange(1, bins) * len(numbers) // bins])
        edges = _distinct(np.column_stack([marks, np.nextafter(marks, np.inf)]).ravel())
    nan = len(edges) + 1
    names = list(dict.fromkeys((*first.names, *second.names)))[:MOST_LABELS]
    places = {name: nan + 1 + i for i, name in enumerate(names)}
    counts = np.zeros((2, 2, nan + 1 + len(names)))
    for side, column in enumerate((first, second)):
        codes = np.searchsorted(edges, values[side], side="right")
        codes[np.isnan(values[side])] = nan
        codes = column.replaced(codes, places, nan)
        for parity in (0, 1):
            counts[parity, side] = np.bincount(codes[parity::2], minlength=counts.shape[2])
    return counts[:, :, counts.sum(axis=(0, 1)) > 0]


def _distinct(ordered: Floats) -> Floats:
    """The different ones of numbers in order."""
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]


def _excess(every: Sequence[Floats], ratios: Floats, delta: float) -> tuple[Floats, Floats]:
    """Excess of the best events (feature, parity, ratio), on the draws that chose and the others.

    `every` has the counts of each feature, which are filled up to as many bins.
    """
    bins = np.array([counts.shape[2] for counts in every])
    counts = np.zeros((len(every), 2, 2, bins.max()))
    for place, some in enumerate(every):
        counts[place, :, :, : bins[place]] = some
    places = np.arange(bins.max())
    a, b = counts[:, :, 0] + 0.5, counts[:, :, 1] + 0.5
    keys = np.log(a / b) / (1 + 1 / a + 1 / b)
    keys = np.where(places < bins[:, None, None], keys, np.inf)  # what fills up comes last
    order = keys.argsort(axis=-1, kind="stable")
    # For each parity its own draws, which choose, and the other's, which measure.
    halves = np.stack([counts, counts[:, ::-1]])
    hits = _hits(halves, np.broadcast_to(order[:, :, None], halves.shape))
    excess = _standardised(hits, halves.sum(axis=-1, keepdims=True), ratios, delta)
    # Both sides have four kinds of events, and of each as many as there are cuts between bins.
    cuts = np.tile(places[:-1] < bins[:, None] - 1, (1, 8))
    place = np.where(cuts[:, None], excess[:, 0], -np.inf).argmax(axis=-1)[:, None, ..., None]
    chosen, measured = np.moveaxis(np.take_along_axis(excess, place, axis=-1)[..., 0], 0, -1)
    return chosen, measured


def _hits(counts: Floats, order: NDArray[np.intp]) -> Floats:
    """Hits (..., event): both ends of the range and of the order of log-ratios, at every cut."""
    ordered = np.take_along_axis(counts, order, axis=-1)
    parts = [some.cumsum(axis=-1)[..., :-1] for some in (counts, ordered)]
    total = counts.sum(axis=-1, keepdims=True)
    return np.concatenate([*parts, *(total - part for part in parts)], axis=-1)


def _standardised(hits: Floats, sizes: Floats, ratios: Floats, delta: float) -> Floats:
    """Excess over its standard deviation (ratio, ..., event), of every event both ways round.

    `hits` has shape (..., side, event).
    """
    p = (hits + 1) / (sizes + 2)
    q = p[..., ::-1, :]
    r = ratios.reshape(-1, *[1] * p.ndim)
    excess = (p - r * q - delta) / np.sqrt(p * (1 - p) + r**2 * q * (1 - q))
    return excess.reshape(*excess.shape[:-2], -1)
