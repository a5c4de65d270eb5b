"""Are draws of one law? Whether two samples are, and whether the blocks of one sample are.

**Two samples.** A permutation test of cell counts, and how far apart the laws may be.

**Level.** Under equality the n + m draws are exchangeable, so given the pooled counts the first
side's counts are multivariate hypergeometric, and so are B simulated ones. T and T_1 .. T_B are
exchangeable, hence P[(1 + #{T_b >= T}) / (B + 1) <= u] <= u for every u, whatever the statistic and
the cells, as long as both were fixed before the draws (cells are learnt from pilot draws). ∎

A level u below about 1/B is out of its reach. There each cell, and each run of cells up to it, is
tested by Fisher's exact test: its count on the first side is hypergeometric given the pooled
counts, so twice the smaller tail is a p-value, and the smallest times the number of tests is one
for all (union bound). Which of the two is used depends on the level alone. ∎

**Equivalence.** The test proves nothing when it does not reject. Beside it stand, for the law on
the cells, TV <= TV^ + sqrt((1/n + 1/m) ln(1/alpha) / 2): the frequencies' distance TV^ has mean at
least TV (Jensen), one draw moves it by at most 1/n or 1/m, and McDiarmid's inequality does the
rest. And |ln(P_k / Q_k)| for every cell from simultaneous Clopper-Pearson limits.

**Clumps.** An e-process against draws that come in clumps.

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
from math import ceil, exp, expm1, inf, lgamma, log, log1p, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .two_sample import clopper_pearson

Counts = NDArray[np.int64]
RESOLUTION = 20
"""Permutations expected above the level: there the p-value is known to about a fifth of itself."""
MOST = 20_000
"""Permutations of one test, at most."""
BATCH = 2000
"""Permutations made at once: K numbers each are held."""
TERMS = 1000
"""Terms of a tail that are added up; the rest is bounded."""
FEWEST_ABOVE = 2
"""Permutations expected at the level, below which they cannot reject."""
FACTORS = (2.0, 8.0, 64.0, 1024.0, 32768.0)
"""How many times the variance of independent draws the alternatives have."""


# Two samples. ------------------------------------------------------------------------------------


def chi_square(first: NDArray[np.int64], pooled: Counts) -> NDArray[np.float64]:
    """Pearson's statistic of the first side's counts (..., K) given the pooled ones (K,)."""
    n = first.sum(axis=-1, keepdims=True)
    used = pooled > 0
    expected = n * (pooled[used] / pooled.sum())
    return np.asarray((((first[..., used] - expected) ** 2) / expected).sum(axis=-1))


def p_value(first: Counts, second: Counts, level: float, rng: np.random.Generator) -> float:
    """A p-value for equal laws that can reach `level`: of the chi-square by permutations.

    Below the reach of permutations it is Fisher's, over cells and runs of cells.
    """
    pooled = first + second
    pooled, kept = pooled[pooled > 0], first[pooled > 0]
    if len(pooled) < 2:
        return 1.0
    if MOST * level < FEWEST_ABOVE:
        return fisher_p_value(first, second)
    number = min(MOST, ceil(RESOLUTION / level)) - 1
    observed, reached = float(chi_square(kept, pooled)), 0
    for start in range(0, number, BATCH):
        made = rng.multivariate_hypergeometric(
            pooled, int(kept.sum()), size=min(BATCH, number - start), method="marginals"
        )
        # Equal tables must count as equal whatever the order of summation.
        reached += int(np.count_nonzero(chi_square(made, pooled) >= observed * (1 - 1e-12)))
    return (1 + reached) / (number + 1)


def fisher_p_value(first: Counts, second: Counts) -> float:
    """The smallest p-value of Fisher's test over cells and runs of cells, times their number."""
    pooled = first + second
    pooled, kept = pooled[pooled > 0], first[pooled > 0]
    if len(pooled) < 2:
        return 1.0
    hits = np.concatenate([kept, np.cumsum(kept)[1:-1]])
    among = np.concatenate([pooled, np.cumsum(pooled)[1:-1]])
    drawn, everything = int(kept.sum()), int(pooled.sum())
    tails = np.minimum(
        upper_tail(hits, among, drawn, everything),
        upper_tail(drawn - hits, everything - among, drawn, everything),
    )
    return min(1.0, float(2 * tails.min() * len(hits)))


def upper_tail(
    hits: Counts, among: Counts, drawn: int | Counts, everything: int
) -> NDArray[np.float64]:
    """P[X >= hits] for X hypergeometric: `drawn` of `everything`, `among` of which count.

    The ratios of neighbouring terms fall, so that a geometric series bounds what is left out.
    """
    misses = everything - among - drawn + hits
    log_first = (
        gammaln(among + 1) - gammaln(hits + 1) - gammaln(among - hits + 1)
        + gammaln(everything - among + 1) - gammaln(drawn - hits + 1) - gammaln(misses + 1)
        - gammaln(everything + 1) + gammaln(drawn + 1) + gammaln(everything - drawn + 1)
    )  # fmt: skip
    # From the first term that cannot be on, all are 0.
    few = 1 + int((np.minimum(among, drawn) - hits).max(initial=0))
    step = np.arange(min(TERMS, few)).reshape(-1, *[1] * hits.ndim)
    ratios = np.maximum(among - hits - step, 0) * np.maximum(drawn - hits - step, 0.0)
    ratios /= (hits + step + 1) * (misses + step + 1.0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        terms = np.cumprod(ratios, axis=0)
        rest = np.where(ratios[-1] < 1, terms[-1] * ratios[-1] / (1 - ratios[-1]), np.inf)
        found = np.exp(log_first) * (1 + terms.sum(axis=0) + rest)
    return np.where(found < 1, found, 1.0)


def total_variation_upper(first: Counts, second: Counts, alpha: float) -> tuple[float, float]:
    """The frequencies' total variation and an upper bound of the laws', on the cells."""
    n, m = int(first.sum()), int(second.sum())
    found = float(np.abs(first / n - second / m).sum()) / 2
    return found, min(1.0, found + sqrt((1 / n + 1 / m) * log(1 / alpha) / 2))


def largest_log_ratio(first: Counts, second: Counts, alpha: float) -> float:
    """An upper bound of the largest |log-ratio| over the cells, wrong with probability `alpha`.

    Cells that neither side hit say nothing and are left out: the bound is about the others.
    """
    n, m = int(first.sum()), int(second.sum())
    hit = (first + second) > 0
    share = alpha / (4 * max(1, int(hit.size)))
    x, y = first[hit].astype(float), second[hit].astype(float)
    p_low, p_high = clopper_pearson(x, n, share)
    q_low, q_high = clopper_pearson(y, m, share)
    if (p_low == 0).any() or (q_low == 0).any():
        return inf
    return float(np.maximum(np.log(p_high / q_low), np.log(q_high / p_low)).max())


# Clumps. -----------------------------------------------------------------------------------------


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
