"""Confidence bounds for a mean: by betting where the variable is bounded, and by Catoni's sum.

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

from math import inf, isfinite, log, sqrt

import numpy as np
from numpy.typing import NDArray

RATES = (0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7)
"""Shares of the wealth that the experts bet; all start with the same wealth."""
HALVINGS = 50
"""Halvings of an interval in which a bound is looked for, at most; twice as many by Catoni."""

Floats = NDArray[np.float64]


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
