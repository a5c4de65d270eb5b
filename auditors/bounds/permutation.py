"""Are two samples of cell counts from one law? A permutation test, and how far apart they may be.

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
"""

from math import ceil, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from .binomial_tails import clopper_pearson

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
