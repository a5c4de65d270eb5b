"""Binomial tails, exact and as normal scores, and the limits of Clopper and Pearson."""

from dataclasses import dataclass
from math import asin, inf, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtri

from ..errors import InvalidArgument

Floats = NDArray[np.float64]

CELL = 0.02
"""Lattice step in units of the standard deviation of either binomial."""
CLOSE = 1e-15
"""Lattice edges closer than this are one."""
_CAP = 37.0  # an underflowed tail counts as this strong and no stronger


@dataclass(frozen=True, slots=True)
class Box:
    """Limits that hold (p, q) except with probability beta, from `confidence_box`."""

    p_low: float
    p_high: float
    q_low: float
    q_high: float


def confidence_box(hits: tuple[int, int], trials: tuple[int, int], beta: float) -> Box:
    """Four one-sided Clopper-Pearson limits, each wrong with probability at most beta / 4."""
    for count, size in zip(hits, trials, strict=True):
        if not 0 <= count <= size or size < 1:
            raise InvalidArgument(
                f"expected 0 <= hits <= trials and trials >= 1, got hits={hits} and "
                f"trials={trials}; count the event on a positive number of draws"
            )
    if not 0 < beta < 1:
        raise InvalidArgument(f"beta must be in (0, 1), got {beta!r}; use a share of the level")
    (p_low, p_high), (q_low, q_high) = (
        map(float, clopper_pearson(count, size, beta / 4))
        for count, size in zip(hits, trials, strict=True)
    )
    return Box(p_low, p_high, q_low, q_high)


def clopper_pearson(hits: ArrayLike, trials: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Limits of a probability from below and above, each wrong with probability at most `level`.

    Clopper and Pearson (1934), for hits in so many trials; arrays are taken entry by entry.
    """
    x, n = np.asarray(hits, dtype=float), np.asarray(trials, dtype=float)
    misses = n - x
    low = np.where(x > 0, betaincinv(np.maximum(x, 1), misses + 1, level), 0.0)
    high = np.where(misses > 0, 1 - betaincinv(np.maximum(misses, 1), x + 1, level), 1.0)
    return low, high


def at_least(hits: ArrayLike, trials: ArrayLike, p: ArrayLike) -> Floats:
    """P[Bin(trials, p) >= hits], exactly; arrays are taken entry by entry."""
    x, n = np.asarray(hits, dtype=float), np.asarray(trials, dtype=float)
    each = np.asarray(p, dtype=float)
    inside = betainc(np.clip(x, 1, np.maximum(n, 1)), np.maximum(n - x, 0) + 1, each)
    return np.where(x <= 0, 1.0, np.where(x <= n, inside, 0.0))


def at_most(hits: ArrayLike, trials: ArrayLike, p: ArrayLike) -> Floats:
    """P[Bin(trials, p) <= hits], exactly: so many misses or more."""
    return at_least(np.subtract(trials, hits), trials, 1 - np.asarray(p, dtype=float))


def _score(first: int, second: int, chance: Floats, rest: Floats) -> Floats:
    """-Phi^-1 of the beta tail at `chance` = 1 - `rest`, always from the smaller tail."""
    if first == 0:
        return np.full(chance.shape, -inf)
    tail = betainc(first, second, chance)
    score = -ndtri(tail)
    large = tail > 0.5
    if large.any():
        score[large] = ndtri(betainc(second, first, rest[large]))
    return np.minimum(score, _CAP)


def score_above(hits: int, trials: int, p: Floats) -> Floats:
    """The z of seeing at least `hits` when each draw hits with probability p; decreasing in p."""
    return _score(hits, trials - hits + 1, p, 1 - p)


def score_below(hits: int, trials: int, q: Floats) -> Floats:
    """The z of seeing at most `hits` when each draw hits with probability q; increasing in q."""
    return _score(trials - hits, hits + 1, 1 - q, q)


def angle(probability: float) -> float:
    """The arc sine of its root: a proportion has constant variance on this scale."""
    return asin(sqrt(min(max(probability, 0.0), 1.0)))


def stops(low: float, high: float, trials: int, step: float) -> Floats:
    """Points sin^2(i step / (2 sqrt(trials))) that cover [low, high], two more on each side."""
    scale = 2 * sqrt(trials) / step
    first = max(0, int(scale * angle(low)) - 2)
    last = int(scale * angle(high)) + 4
    return np.sin(np.minimum(np.arange(first, last) / scale, pi / 2)) ** 2


def widest(trials: int, step: float) -> float:
    """No lattice cell is wider than this in asin sqrt q; the addend is for dropped edges."""
    return step / (2 * sqrt(trials)) + 4e-8


def least_mix(above: Floats, below: Floats, first: Floats, last: Floats) -> Floats:
    """The least sin(t) above + cos(t) below for t in [first, last], within [0, pi / 2].

    When a score is positive the mix is concave in t or monotone, so least at an end; when
    neither is, it is least where (sin t, cos t) is as parallel to the scores as t may be.
    """
    above, below = np.maximum(above, -1e300), np.maximum(below, -1e300)
    ends = [np.sin(turn) * above + np.cos(turn) * below for turn in (first, last)]
    turn = np.clip(np.arctan2(-above, -below), first, last)
    inside = np.sin(turn) * above + np.cos(turn) * below
    return np.where((above <= 0) & (below <= 0), inside, np.minimum(*ends))
