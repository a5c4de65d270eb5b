"""Exact tests of any trade-off claim without a nuisance: by ranks of scores, and by guesses.

**Ranks.** Two sides have scores. The k-th largest of m scores of one side is the threshold, with k
fixed beforehand, and x of the n scores of the other lie above it. Whatever the law of a score, the
probability q of the first side above its own k-th largest score is at most a Beta(k, m - k + 1)
variable, whose law is known; given the threshold, x is binomial with a probability that a claim p
<= f(q) bounds by f(q). So the chance of x or more under the claim is one integral,

    p-value = E P[Bin(n, f(B)) >= x],    B ~ Beta(k, m - k + 1),

for every increasing f: epsilon and delta, mu, rho, a Renyi bound, a curve. It is bounded from
above by a sum over cells of B, and f by the least of its lines, each rounded outwards. The proofs,
and why all refuted f are refuted together at one alpha, are in `docs/statistics.md`, section 1a.

**Guesses** are about which canaries were in the data of one run. Each of m canaries was put in by a
fair coin of its own. After one run somebody guesses about g of
them, g fixed beforehand, and is right about v. Two tests, both exact, with proofs in the papers:

* `epsilon_p_value` (Steinke, Nasr and Jagielski, 2023, theorem 5.2): under (epsilon, delta) the
  number of right guesses is, but for delta, below a binomial with chance 1 / (1 + e^-epsilon);
* `refutes` (Mahloujifar, Melis and Chaudhuri, 2024, algorithm 3) for any claim p <= f(q), through
  the least q that f allows for a p.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, betaincinv, ndtr

from ...mechanisms.model import Curve, GaussianCurve, grouped_line
from .two_sample import Floats, at_distance, at_least

Whole = NDArray[np.int64]
Lines = tuple[Floats, Floats]
"""Slopes and intercepts: f(q) is at most slope q + intercept, for each of them."""
Family = Callable[[float], Lines]
"""The lines of the claim with this parameter; a larger parameter claims less."""
STEP, REACH = 0.04, 8.5
"""Nodes of the integral over a normal scale: their distance, and how far they reach."""
_NODES = ndtr(np.arange(-REACH, REACH + STEP / 2, STEP))
"""The nodes as probabilities: the cells of B end at its quantiles at these."""
_MASS = np.diff(_NODES, prepend=0.0, append=1.0)
"""The probability of each cell of B, the two beyond the outermost nodes among them."""
_OUTWARDS = 1 + 1e-9
"""Factor by which a tail is raised, so that its rounding accuses nobody."""
_TOUCHES = tuple(
    np.concatenate([[0.97, 0.9, 0.8, 0.7, 0.6], 0.5 * 1.4 ** -np.arange(60.0)]).tolist()
)
"""Probabilities at which lines of a curve are taken: down to 1e-9."""
HALVINGS = 18
"""Halvings of the parameter: it is known to 4e-6 of its interval."""
LEAST = 1e-4
"""The smallest parameter that a refutation is looked for at."""
MOST = 1e4
"""Beyond it the parameter is told as infinite."""
NORMAL = NormalDist()
Inverse = Callable[[float], float]
"""At most the q with p = f(q): what a claim leaves to the other side."""
INWARDS = 1 - 1e-12
"""Factor by which a bound on a chance is lowered, so that its rounding accuses nobody."""
CLOSE = 1e-12
"""Two sums of chances this close are equal: they differ by rounding."""


# Ranks. ------------------------------------------------------------------------------------------


def of_epsilon(delta: float, distance: int = 1) -> Family:
    """Claims of (epsilon, delta), with epsilon as the parameter, for so many steps."""

    def lines(epsilon: float) -> Lines:
        total, slack = at_distance(epsilon, delta, distance)
        return np.exp([min(total, 600.0)]), np.array([slack])

    return lines


def of_curve(curve: Curve, distance: int = 1) -> Family:
    """Claims of the family of a curve, with its `size` as the parameter, for so many steps."""
    return lambda size: _lines(curve.scaled(size), distance)


@lru_cache(maxsize=1024)
def _lines(curve: Curve, distance: int) -> Lines:
    found = np.array([grouped_line(curve, q, distance) for q in _TOUCHES])
    return np.exp(np.minimum(found[:, 0], 600.0)), found[:, 1]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tests side by side: `hits` of `trials` scores lie above the `ranks`-th of `others`."""

    hits: Whole
    trials: Whole
    ranks: Whole
    others: Whole

    def __len__(self) -> int:
        return len(self.hits)

    def only(self, chosen: NDArray[np.bool_]) -> "Ranked":
        """Some of the tests."""
        return Ranked(*(part[chosen] for part in self._parts()))

    def _parts(self) -> tuple[Whole, Whole, Whole, Whole]:
        return self.hits, self.trials, self.ranks, self.others

    def p_values(self, lines: Lines) -> Floats:
        """For each test an upper bound of the p-value of p <= f(q), f the least of the lines."""
        most = _allowed(self._chances(), lines)
        most = np.concatenate([most, np.ones((len(self), 1))], axis=1)
        x, n = self.hits[:, None], self.trials[:, None]
        tails = at_least(x, n, most)
        return np.minimum(tails @ _MASS * _OUTWARDS, 1.0)

    def _chances(self) -> Floats:
        """Quantiles of B, a row for each test, rounded up."""
        pairs = zip(self.ranks.tolist(), self.others.tolist(), strict=True)
        return np.array([_quantiles(rank, size) for rank, size in pairs])

    def needed(self, levels: Floats, lines: Lines) -> Whole:
        """The least hits with which each test would refute; more than there are trials for none."""
        low, high = np.zeros_like(self.hits), self.trials + 1
        while (high - low > 1).any():
            middle = (low + high) // 2
            tried = Ranked(middle, *self._parts()[1:])
            enough = (tried.p_values(lines) <= levels) & (middle > 0)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def powers(self, needed: Whole, lines: Lines) -> Floats:
        """Chance of at least so many hits if the truth is f itself, bounded from below."""
        least = np.concatenate([np.zeros((len(self), 1)), self._chances() / _OUTWARDS**2], axis=1)
        x, n = needed[:, None], self.trials[:, None]
        tails = at_least(x, n, _allowed(least, lines))
        return np.where(needed <= self.trials, tails @ _MASS, 0.0)


@lru_cache(maxsize=1024)
def _quantiles(rank: int, size: int) -> Floats:
    return np.minimum(betaincinv(rank, size - rank + 1, _NODES) * _OUTWARDS, 1.0)


def _allowed(q: Floats, lines: Lines) -> Floats:
    """The least of the lines at each q, at most 1."""
    found = np.ones_like(q)
    for slope, intercept in zip(*lines, strict=True):
        np.minimum(found, slope * q + intercept, out=found)
    return found


def largest_refuted(
    tests: Ranked, levels: Floats, family: Family, halvings: int = HALVINGS
) -> tuple[float, int]:
    """The largest parameter found refuted by a test at its level, and which test; (0, -1) for none.

    Every parameter that is returned was refuted itself, so that nothing rests on monotony.
    """
    left = np.flatnonzero(levels > 0)

    def refuting(size: float) -> Whole:
        some = tests.only(np.isin(np.arange(len(tests)), left))
        return left[some.p_values(family(size)) <= levels[left]]

    low, high = 0.0, LEAST
    while (found := refuting(high)).size:
        left, low, high = found, high, max(2 * high, 0.1)
        if low >= MOST:
            return low, int(left[0])
    if not low:
        return 0.0, -1
    for _ in range(halvings):
        middle = (low + high) / 2
        found = refuting(middle)
        if found.size:
            left, low = found, middle
        else:
            high = middle
    return low, int(left[0])


def detectable(
    tests: Ranked, levels: Floats, claimed: float, family: Family, power: float
) -> float:
    """The least parameter whose claim, kept exactly, a test refutes `claimed` with this chance.

    Infinite if none does.
    """
    needed = tests.needed(levels, family(claimed))

    def seen(size: float) -> bool:
        return bool((tests.powers(needed, family(size)) >= power).any())

    low, high = claimed, 2 * max(claimed, 0.05)
    while not seen(high):
        low, high = high, 2 * high
        if high > MOST:
            return float("inf")
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


# Guesses. ----------------------------------------------------------------------------------------


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
