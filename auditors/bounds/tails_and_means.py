"""Tests of a stated probability and of a stated mean, for claims that are about no pair.

**Probabilities.** P[bad event] <= beta is tested exactly, at several levels at once, with planned
early looks.

Everything here is about counts: of n draws, how many had each bad event.

Theorem. Let the bounds beta_i, the look sizes n_1 < n_2 < .. < n_K and the shares
a_1 + .. + a_K = alpha be fixed before the draws. At look k let p_i = P[Bin(n_k, beta_i) >= x_i]
with x_i hits of event i among the first n_k draws, and let Holm's procedure at level a_k reject.
The probability that any look rejects any true claim P[E_i] <= beta_i is at most alpha.

Proof. Binomial tails grow with the chance of a hit, so under a true claim
P[p_i <= u] <= P_{beta_i}[P[Bin(n_k, beta_i) >= X] <= u] <= u. Holm's procedure needs nothing but
that of each true claim, whatever the dependence among them: its family-wise error is at most a_k.
Add over the looks. The same draws may serve at many looks and for nested events, and it does not
matter which look was the last one made. ∎

Intervals are Clopper-Pearson at error a_k / (number of rows) at the look k where drawing
stopped. All of them, at all looks, hold together except with probability alpha, so they stay valid
when the draws themselves decide at which look to stop.

**Means.** Confidence bounds come by betting where the variable is bounded, and by Catoni's sum.

**Betting.** Let Y >= low surely and m > low. If E[Y] <= m, each factor
1 + r ((Y - low) / (m - low) - 1), 0 < r < 1, is at least 1 - r > 0 and has mean at most 1 given the
past. The product over draws is a non-negative supermartingale that starts at 1, and so is the
average over rates r with fixed weights: its wealth W_n(m) ever reaches 1 / alpha with
probability at most alpha (Ville 1939), whatever rule stops the drawing. Nothing is assumed about
the variance, which may be infinite. W_n(m) falls as m grows, so {m : W_n(m) >= 1 / alpha} is a
half-line, whose end is a lower confidence bound for E[Y]; it holds at all n together, and so
does the largest of the bounds seen. For Y <= high the same with high - Y gives an upper bound.

**Catoni (2012).** Let Var Y <= v, phi(t) = ln(1 + t + t^2 / 2) for t >= 0 and phi(-t) = -phi(t),
and let n and r > 0 be fixed before the draws. exp(-phi(t)) <= 1 - t + t^2 / 2, so for mu = E[Y]

    E exp(-sum phi(r (Y_i - mu))) <= (1 + r^2 v / 2)^n <= exp(n r^2 v / 2),

and by Markov sum phi(r (Y_i - mu)) < -(ln(1 / alpha) + n r^2 v / 2) has probability at most alpha.
The sum falls as mu grows: the largest m with sum phi(r (Y_i - m)) >= -(ln(1 / alpha) + n r^2 v / 2)
is an upper confidence bound. r = sqrt(2 ln(1 / alpha) / (n v)) makes it narrowest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument
from .two_sample import at_least, clopper_pearson

FIRST = 1000
"""Draws before the first look, at least: fewer refute little."""
LAST_SHARE = 0.75
"""Part of alpha for the last look; the early ones share the rest evenly."""
RATES = (0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7)
"""Shares of the wealth that the experts bet; all start with the same wealth."""
HALVINGS = 50
"""Halvings of an interval in which a bound is looked for, at most; twice as many by Catoni."""
Floats = NDArray[np.float64]


# Probabilities. ----------------------------------------------------------------------------------


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


# Means. ------------------------------------------------------------------------------------------


def log_wealth(values: Floats, mean: float, low: float, rates: tuple[float, ...] = RATES) -> float:
    """Log of the average wealth of the experts after betting against E[Y] <= `mean`."""
    return Wealth(mean, low, rates).after(values)


class Wealth:
    """The experts' wealth as draws come in, against one mean."""

    def __init__(self, mean: float, low: float, rates: tuple[float, ...] = RATES) -> None:
        self.mean, self.low, self.rates = mean, low, rates
        self.logs = [0.0] * len(rates)
        self.certain = False

    def after(self, values: Floats) -> float:
        """Log of the average wealth once these draws have been bet on too."""
        room = self.mean - self.low
        if room <= 0:
            # A mean at the lower end allows no value above it.
            self.certain |= room < 0 or bool((values > self.low).any())
            return inf if self.certain else 0.0
        excess = (values - self.low) / room - 1
        self.logs = [
            log + float(np.log1p(rate * excess).sum())
            for log, rate in zip(self.logs, self.rates, strict=True)
        ]
        return _average(self.logs)


def _average(logs: list[float]) -> float:
    best = max(logs)
    return best + log(sum(np.exp(value - best) for value in logs) / len(logs))


def betting_lower(
    values: Floats, low: float, alpha: float, rates: tuple[float, ...] = RATES
) -> float:
    """A lower bound on E[Y], above it with probability at most `alpha`, for Y >= `low`.

    Valid whatever rule stopped the draws.
    """
    needed = log(1 / alpha)
    bottom, top = low, float(values.mean())
    if not isfinite(low) or log_wealth(values, low + (top - low) * 1e-9, low, rates) < needed:
        return low
    for _ in range(HALVINGS):
        middle = (bottom + top) / 2
        if top - bottom <= 1e-6 * (top - low):
            break
        if log_wealth(values, middle, low, rates) >= needed:
            bottom = middle
        else:
            top = middle
    return bottom


def betting_upper(
    values: Floats, high: float, alpha: float, rates: tuple[float, ...] = RATES
) -> float:
    """An upper bound on E[Y], below it with probability at most `alpha`, for Y <= `high`."""
    return -betting_lower(-values, -high, alpha, rates)


def catoni_upper(values: Floats, variance: float, alpha: float) -> float:
    """An upper bound on E[Y], below it with probability at most `alpha`, for Var Y <= `variance`.

    The number of draws must have been fixed before they were made.
    """
    n = len(values)
    if variance == 0:
        return float(values.min())
    rate = sqrt(2 * log(1 / alpha) / (n * variance))
    least = -(log(1 / alpha) + n * rate**2 * variance / 2)
    # phi is between -t^2 / 2 and its mirror image: far enough out the sum has passed the limit.
    bottom = float(values.min())
    top = float(values.max()) + 4 * sqrt(variance * max(1.0, log(1 / alpha)))
    while _influence(values, top, rate) >= least:
        top += (top - bottom) + 1
    for _ in range(2 * HALVINGS):
        middle = (bottom + top) / 2
        if not bottom < middle < top:
            break
        if _influence(values, middle, rate) >= least:
            bottom = middle
        else:
            top = middle
    return top


def _influence(values: Floats, mean: float, rate: float) -> float:
    turn = rate * (values - mean)
    size = np.abs(turn)
    return float((np.sign(turn) * np.log1p(size + size**2 / 2)).sum())
