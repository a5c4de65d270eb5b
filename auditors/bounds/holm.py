"""Exact tests of P[bad event] <= beta at several levels at once, with planned early looks.

Everything here is about counts: of n draws, how many had each bad event.

**Theorem.** Let the bounds beta_i, the look sizes n_1 < n_2 < .. < n_K and the shares
a_1 + .. + a_K = alpha be fixed before the draws. At look k let p_i = P[Bin(n_k, beta_i) >= x_i]
with x_i hits of event i among the first n_k draws, and let Holm's procedure at level a_k reject.
The probability that any look rejects any true claim P[E_i] <= beta_i is at most alpha.

*Proof.* Binomial tails grow with the chance of a hit, so under a true claim
P[p_i <= u] <= P_{beta_i}[P[Bin(n_k, beta_i) >= X] <= u] <= u. Holm's procedure needs nothing but
that of each true claim, whatever the dependence among them: its family-wise error is at most a_k.
Add over the looks. The same draws may serve at many looks and for nested events, and it does not
matter which look was the last one made. ∎

Intervals are Clopper-Pearson at error a_k / (number of rows) at the look k where drawing
stopped. All of them, at all looks, hold together except with probability alpha, so they stay valid
when the draws themselves decide at which look to stop.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .binomial_tails import at_least, clopper_pearson

FIRST = 1000
"""Draws before the first look, at least: fewer refute little."""
LAST_SHARE = 0.75
"""Part of alpha for the last look; the early ones share the rest evenly."""


@dataclass(frozen=True, slots=True)
class PlannedLook:
    """After `draws` draws in all, spend `level` of alpha."""

    draws: int
    level: float


def looks(draws: int, alpha: float, first: int = FIRST) -> tuple[PlannedLook, ...]:
    """Doubling looks up to `draws`, the first not before `first`; the last gets 3/4 of alpha."""
    if draws < 1 or not 0 < alpha < 1:
        raise InvalidArgument(
            f"expected draws >= 1 and alpha in (0, 1), got draws={draws} and alpha={alpha}"
        )
    sizes = [draws]
    while sizes[0] >= 2 * first:
        sizes.insert(0, (sizes[0] + 1) // 2)
    early = len(sizes) - 1
    last = LAST_SHARE * alpha if early else alpha
    levels = [(alpha - last) / early] * early + [last] if early else [last]
    return tuple(PlannedLook(size, level) for size, level in zip(sizes, levels, strict=True))


def p_values(hits: Sequence[int], draws: int, betas: Sequence[float]) -> NDArray[np.float64]:
    """P[Bin(draws, beta) >= hits] for each row, exactly."""
    beta = np.asarray(betas, dtype=float)
    if not ((beta > 0) & (beta < 1)).all():
        raise InvalidArgument(f"levels must be between 0 and 1, got {list(betas)}")
    return at_least(hits, draws, beta)


def rejected(
    hits: Sequence[int], draws: int, betas: Sequence[float], level: float
) -> NDArray[np.bool_]:
    """Which rows Holm's procedure rejects, with family-wise error at most `level`."""
    p = p_values(hits, draws, betas)
    # The level must be passed with a hair to spare, so that rounding decides no tie.
    level *= 1 - 1e-9
    order = np.argsort(p, kind="stable")
    below = p[order] <= level / np.arange(len(p), 0, -1)
    # Holm (1979): from the smallest p-value on, until the first that is not small enough.
    decided = np.zeros(len(p), dtype=bool)
    decided[order] = np.logical_and.accumulate(below)
    return decided


def intervals(hits: Sequence[int], draws: int, error: float) -> list[tuple[float, float]]:
    """Two-sided Clopper-Pearson limits, wrong anywhere with probability at most `error`."""
    low, high = clopper_pearson(hits, draws, error / len(hits) / 2)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def detectable(draws: int, beta: float, level: float, power: float = 0.9) -> float:
    """The smallest probability of a bad event that is rejected with chance `power` at `level`."""
    low, high = 0, draws + 1
    while low < high:
        middle = (low + high) // 2
        if p_values([middle], draws, [beta])[0] <= level:
            high = middle
        else:
            low = middle + 1
    return float(clopper_pearson(low, draws, power)[0]) if low <= draws else 1.0
