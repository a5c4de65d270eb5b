"""Where to cut an ordered family of events: two rules, and the bound they aim at.

A family is a nested sequence of events; the counts of each on the cut sample are known. The aim
is the lower bound that the event will give at the size of the test, never a fixed tail mass.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Feature
from .events import Event, HalfLine
from .smoothing import NO_WALK, log_ratios, smooth_counts

Floats = NDArray[np.float64]

TAU = 2.0
"""Standard errors by which a smaller cut must beat a larger one."""
FEWEST_SLICES = 8
"""Slices that a line is fitted through, at least."""
FEWEST_HITS = 12
"""Draws of both sides in a slice that tells something."""
FIRST_SLICE = 0.7
"""Where the middle of the outermost slice is taken to lie, in widths of the next one."""
FITS = 1.6
"""Squared distance from a line, in variances of its slices, beyond which it is none."""
SLOPES = np.array([0.0, 0.4, 0.6, 0.8, 1.0, 1.25])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Nested events, smallest first; `hits` has shape (2 folds, 2 sides, cuts), likelier first.

    `feature` is the one column that all its events are about.
    `sizes` are the draws of (fold, side). `scores` is the mean score of what each cut adds when
    scores are log-likelihood ratios, else None. `simplicity` is smaller for events
    that take fewer words.
    """

    reversed: bool
    hits: NDArray[np.int64]
    sizes: NDArray[np.int64]
    event: Callable[[int], Event]
    feature: Feature | None = None
    scores: Floats | None = None
    simplicity: int = 0


@dataclass(frozen=True, slots=True)
class Aim:
    """The test to come: its draws a side, delta and the quantile of its level."""

    trials: int
    delta: float
    quantile: float


def predicted_bound(x: Floats, y: Floats, sizes: Floats, aim: Aim) -> tuple[Floats, Floats]:
    """(bound foreseen, log-ratio foreseen) for x and y hits; -inf where p <= delta."""
    p, q = x / sizes[0], np.minimum((y + 1) / sizes[1], 1.0)
    excess = p - aim.delta
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / q), -np.inf)
        variance = p * (1 - p) / np.maximum(excess, 1e-300) ** 2 + (1 - q) / q
        bound = ratio - aim.quantile * np.sqrt(np.maximum(variance, 0) / aim.trials)
    return np.where(excess > 0, bound, -np.inf), ratio


def lepski(x: Floats, y: Floats, sizes: Floats, aim: Aim) -> int:
    """The largest cut that no smaller one beats by more than TAU standard errors.

    The standard error is that of the difference of two nested cuts, Lepski (1990).
    """
    bound, _ = predicted_bound(x, y, sizes, aim)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = x / np.maximum(x - aim.delta * sizes[0], 1e-9) ** 2
        noise = first + 1 / np.maximum(y, 1)
        spread = TAU * np.sqrt(np.maximum(noise[:, None] - noise[None, :], 0))
        beaten = (bound[:, None] - spread > bound[None, :]) & _smaller(len(x))
    good = np.flatnonzero(~beaten.any(axis=0) & np.isfinite(bound))
    return int(good[-1]) if len(good) else int(np.argmax(bound))


def _smaller(size: int) -> NDArray[np.bool_]:
    return np.arange(size)[:, None] < np.arange(size)[None, :]


def straight(family: Family) -> Floats | None:
    """The log-ratio of each slice as a line in the threshold of half-lines; None if none fits."""
    size = family.hits.shape[-1]
    if size < FEWEST_SLICES or not isinstance(family.event(0), HalfLine):
        return None
    ends = [family.event(cut) for cut in range(size)]
    thresholds = np.array([end.threshold for end in ends if isinstance(end, HalfLine)])
    if len(thresholds) < size or not np.isfinite(thresholds).all():
        return None
    # Neither the sum of two doubles nor the square of one need be a double.
    thresholds = np.ldexp(thresholds, -int(np.frexp(thresholds)[1].max()))
    slices = np.diff(family.hits.sum(axis=0).astype(float), prepend=0, axis=-1)
    ratio, noise = log_ratios(*slices)
    # The first slice has no other end.
    places = np.concatenate([thresholds[:1], (thresholds[1:] + thresholds[:-1]) / 2])
    places[0] += FIRST_SLICE * (thresholds[0] - thresholds[1])
    told = slices.sum(axis=0) >= FEWEST_HITS
    if told.sum() < FEWEST_SLICES:
        return None
    weight = told / noise
    places = places - np.average(places, weights=weight)
    steep = (weight * places * ratio).sum() / max((weight * places**2).sum(), 1e-300)
    line = np.average(ratio, weights=weight) + steep * places
    misfit = (weight * (ratio - line) ** 2).sum() / (told.sum() - 2)
    return line if misfit < FITS else None


def smoothed(hits: Floats, scores: Floats | None) -> Floats:
    """Hits of shape (..., 2 sides, cuts) as a smooth curve of log-ratios foresees them.

    The log-ratio of each slice between cuts is a slope times the score plus a random walk; slope
    and step are those of largest marginal likelihood, so the curve borrows the shape of a score
    that is a log-likelihood ratio where the counts are few.
    """
    slices = np.diff(hits, prepend=0, axis=-1)
    a, b = slices[..., 0, :], slices[..., 1, :]
    curve = smooth_counts(a, b, scores, SLOPES if scores is not None else NO_WALK)
    share = 1 / (1 + np.exp(-curve))
    total = a + b
    return np.cumsum(np.stack([total * share, total * (1 - share)], axis=-2), axis=-1)
