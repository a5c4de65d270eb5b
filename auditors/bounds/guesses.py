"""Guesses about which canaries were in the data of one run, against any claim about one canary.

Each of m canaries was put in by a fair coin of its own. After one run somebody guesses about g of
them, g fixed beforehand, and is right about v. Two tests, both exact, with proofs in the papers:

* `epsilon_p_value` (Steinke, Nasr and Jagielski, 2023, theorem 5.2): under (epsilon, delta) the
  number of right guesses is, but for delta, below a binomial with chance 1 / (1 + e^-epsilon);
* `refutes` (Mahloujifar, Melis and Chaudhuri, 2024, algorithm 3) for any claim p <= f(q), through
  the least q that f allows for a p.
"""

from collections.abc import Callable
from math import exp
from statistics import NormalDist

import numpy as np
from scipy.special import bdtrc

from ...mechanisms.model import Curve, GaussianCurve
from .ranks import Family, of_curve

NORMAL = NormalDist()
Inverse = Callable[[float], float]
"""At most the q with p = f(q): what a claim leaves to the other side."""
INWARDS = 1 - 1e-12
"""Factor by which a bound on a chance is lowered, so that its rounding accuses nobody."""
CLOSE = 1e-12
"""Two sums of chances this close are equal: they differ by rounding."""


def epsilon_p_value(
    canaries: int, guesses: int, right: int, *, epsilon: float, delta: float
) -> float:
    """An upper bound of the p-value of (epsilon, delta); it grows with epsilon.

    beta + c max_i P[v - i <= W < v] / i with W binomial, beta = P[W >= v] and c = 2 m delta; the
    terms with i < c are replaced by c P[W >= v - i] / i, which is more and grows with epsilon.
    """
    if right <= 0:
        return 1.0
    chance = 1 / (1 + exp(-epsilon))
    beta = float(bdtrc(right - 1, guesses, chance))
    if delta == 0:
        return beta
    i = np.arange(1, right + 1)
    above = np.where(i < right, bdtrc(np.maximum(right - i - 1, 0), guesses, chance), 1.0)
    c = 2 * canaries * delta
    found = np.maximum(1 - c / i, 0) * beta + (c / i) * above
    return min(1.0, float(found.max()))


def refutes(canaries: int, guesses: int, right: int, inverse: Inverse, level: float) -> bool:
    """Whether so many right guesses refute a claim about one canary at `level`.

    If they came with a probability above `level`, those that are right and those that are wrong
    would add up to more than the share of the canaries that is guessed.
    """
    r, h = level * right / canaries, level * (guesses - right) / canaries
    for i in range(right - 1, -1, -1):
        new = max(h, inverse(r))
        if new <= h:
            break
        r, h = min(r + i / (guesses - i) * (new - h), 1.0), new
    return r + h > guesses / canaries + CLOSE


def inverse_of(curve: Curve, distance: int = 1) -> Inverse:
    """The inverse of a curve, rounded down: exactly for mu, by the lines of any other."""
    if isinstance(curve, GaussianCurve):
        shift = curve.mu * distance

        def gaussian(p: float) -> float:
            if not 0 < p < 1:
                return float(p >= 1)
            return NORMAL.cdf(NORMAL.inv_cdf(p) - shift) * INWARDS

        return gaussian
    return inverse_by_lines(of_curve(curve, distance), curve.size)


def inverse_by_lines(family: Family, size: float) -> Inverse:
    """The largest q that some line, or its complement in the other order, demands for p."""
    slopes, intercepts = family(size)

    def demanded(p: float) -> float:
        most = max(
            float(((p - intercepts) / slopes).max()),
            float((1 - (slopes * (1 - p) + intercepts)).max()),
        )
        return max(most, 0.0) * INWARDS

    return demanded


def largest(refuted: Callable[[float], bool], least: float, most: float = 1e3) -> float:
    """The largest parameter found refuted, to a thousandth; `least` where that is not refuted.

    What is refuted must be refuted for all that is smaller, as it is by both tests above.
    """
    low, high = least, max(2 * least, 0.5)
    if not refuted(max(low, 1e-6)):
        return low
    while high < most and refuted(high):
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
