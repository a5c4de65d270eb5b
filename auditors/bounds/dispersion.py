"""An e-process against draws that come in clumps.

Outputs drawn independently fall into an event independently, so that the hits of two blocks are,
given their sum, hypergeometric. Where the draws of one call share something (one noise, one
subsample, a slow drift), the blocks differ more than that. Every split of a count into two halves
is a bet: P_alternative(hits of the left half | sum) / P_hypergeometric(...), whose expectation is
at most 1 for independent draws whatever the event's probability, since it is given the sum.

The alternatives are logistic laws on the whole numbers with the hypergeometric mean and `FACTORS`
times its variance; their probabilities over the possible hits sum to at most 1. Bets on one count
use disjoint information (the two halves given their sum, then each half in turn), so their product
is a bet, and products over counts whose event was fixed before they were drawn are a
supermartingale; so is the mean of such bets on several events of one count. It is mixed over the
factors and over the count at which the clumps begin, with
weight 1/(k(k+1)) for the k-th; by Ville's inequality it ever reaches 1/level with probability at
most `level`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import exp, expm1, inf, lgamma, log, log1p, pi, sqrt

FACTORS = (2.0, 8.0, 64.0, 1024.0, 32768.0)
"""How many times the variance of independent draws the alternatives have."""


@dataclass(frozen=True, slots=True)
class Dispersion:
    """The state of the e-process: log wealth of each factor and the number of counts seen.

    Immutable; `after` gives the next state.
    """

    log_wealths: tuple[float, ...] = (-inf,) * len(FACTORS)
    counts: int = 0

    def after(
        self, hits: Sequence[int], sizes: Sequence[int], *others: Sequence[int]
    ) -> "Dispersion":
        """The state after a count whose blocks of `sizes` draws had `hits` in the event.

        `others` are the hits of more events, fixed before the same draws.
        """
        if len(hits) < 2:
            return self
        counts = self.counts + 1
        start = -log(counts * (counts + 1))
        each = [_bets(tuple(event), tuple(sizes)) for event in (hits, *others)]
        bets = [reduce(_log_sum, same) - log(len(each)) for same in zip(*each, strict=True)]
        wealths = zip(self.log_wealths, bets, strict=True)
        return Dispersion(tuple(_log_sum(old, start) + bet for old, bet in wealths), counts)

    @property
    def log_e(self) -> float:
        """Log of the e-value so far: the wealths' mean, and what is not yet staked."""
        total = -inf
        for wealth in self.log_wealths:
            total = _log_sum(total, wealth - log(len(FACTORS)))
        return _log_sum(total, -log(self.counts + 1))


def _bets(hits: tuple[int, ...], sizes: tuple[int, ...]) -> list[float]:
    """Log bets of all splits of the blocks into halves, for each factor."""
    if len(hits) < 2:
        return [0.0] * len(FACTORS)
    middle = len(hits) // 2
    left, right = slice(None, middle), slice(middle, None)
    bet = _split(sum(hits[left]), sum(hits[right]), sum(sizes[left]), sum(sizes[right]))
    deeper = (_bets(hits[half], sizes[half]) for half in (left, right))
    return [sum(parts) for parts in zip(bet, *deeper, strict=True)]


def _split(a: int, b: int, n: int, m: int) -> list[float]:
    hits = a + b
    total = n + m
    if hits in (0, total):
        return [0.0] * len(FACTORS)
    mean = hits * n / total
    variance = mean * (m / total) * (total - hits) / max(total - 1, 1)
    independent = _log_choose(n, a) + _log_choose(m, b) - _log_choose(total, hits)
    found = []
    for factor in FACTORS:
        scale = sqrt(3 * factor * variance) / pi
        found.append(
            _log_logistic((a - 0.5 - mean) / scale, (a + 0.5 - mean) / scale) - independent
        )
    return found


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _log_logistic(low: float, high: float) -> float:
    """Log of the standard logistic probability of (low, high]."""
    width = high - low
    log_width = log(width) if width < 1e-8 else log(-expm1(-width))
    return log_width - _softplus(-high) - _softplus(low)


def _softplus(x: float) -> float:
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


def _log_sum(a: float, b: float) -> float:
    if max(a, b) == -inf:
        return -inf
    return max(a, b) + log1p(exp(-abs(a - b)))
