"""An exact two-sample test of P[first] <= exp(epsilon) P[second] + delta for one event.

With x hits in n draws of one side and y hits in m draws of the other, and q the unknown
probability on the second side, the two binomial tails at (p0(q), q), p0(q) = exp(epsilon) q +
delta, become normal scores z_a (of x being so large) and z_b (of y being so small), which are
added with weights that are functions of q and never of the data. The statistic is the minimum
over q in a Clopper-Pearson box (Berger and Boos 1994), taken cell by cell on a lattice that
depends on (n, m, epsilon, delta) only, so it is a rigorous minimum. `docs/statistics.md` has the
proof that it exceeds the normal quantile of 1 - (level - beta) with probability at most `level`
for every n, m and every (p, q) in the null: there is no approximation.

Everywhere `hits` = (x, y) and `trials` = (n, m), the first entry for the side whose probability
is bounded from above by the null, epsilon is in nats and `beta` is the error spent on the box.

Inverting the test gives a lower bound on epsilon, over a grid fixed before the data. The nulls
"epsilon is enough" are nested: one that holds at epsilon holds at every larger one. The bound is
the last point of the *initial* rejected segment of the grid, so a bound above the truth needs a
wrong rejection at one particular point, the first one at or above the truth. Nothing is assumed
about the verdicts in between, which need not be monotone. Nearly all points of the grid are
certified many at a time, by rigorous lower bounds of the statistic over a whole block of epsilons;
only those next to the bound need the statistic itself, so the result is that of evaluating every
point.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import asin, exp, expm1, inf, log, pi, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtri

from ..errors import InvalidArgument

Floats = NDArray[np.float64]
CELL = 0.02
"""Lattice step in units of the standard deviation of either binomial."""
CLOSE = 1e-15
"""Lattice edges closer than this are one."""
_CAP = 37.0
"""The largest normal score: a tail that underflowed counts as this strong and no stronger."""
_CELLS = 32
"""Coarse cells that a range of q, and one of p, is cut into; a short block has four times as
many."""
_LARGEST_IN_BLOCK = 20.0
"""Nats; a block beyond it has no bound."""
TIE = 1e-9
"""By how much a statistic must pass its threshold, so that rounding decides no tie."""
_LARGEST_EPSILON = 600.0
"""Nats; its exponential is still a double, and no draws can show so much."""
_FEW = 300
"""Lattice cells that are worked out one by one; of more, coarse pieces come first."""
BOX_PART = 50
"""The test spends this part of its level, a fiftieth, on the confidence box where nobody says
another `beta`, and the rest on the statistic."""
STEP = 0.001
"""Grid step in nats; COARSE_STEP from FINE_UP_TO on, where a thousandth is of no interest."""
FINE_UP_TO = 2.0
"""Nats from which on the grid is coarse."""
COARSE_STEP = 0.005
"""Grid step in nats from FINE_UP_TO on."""
_LARGEST = 10.0
"""Nats; the grid ends at ln(trials) or here, since draws cannot show more than ln(trials)."""
_MARGIN = 1.0
"""Nats by which the grid goes beyond what draws can show."""


# Binomial tails, exact and as normal scores, and limits by Clopper and Pearson. ------------------


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


# Lower bounds of the statistic over a block of epsilons. -----------------------------------------


def lower_bound_z(
    hits: tuple[int, int],
    trials: tuple[int, int],
    box: Box,
    *,
    epsilons: tuple[float, float],
    deltas: tuple[float, float],
    step: float = CELL,
    cells: int = _CELLS,
) -> float:
    """A number that Z is not below at any epsilon in a block, at the cost of a few dozen tails.

    `epsilons` and `deltas` are the ends of the block (delta may grow with epsilon) and `box` the
    confidence box of the counts. Infinite when the box misses the null in the whole block.
    """
    knots = coarse_knots(trials, box, epsilons[1], deltas[1], step, cells)
    if knots.size == 0:
        return inf
    return float(bounds(hits, trials, box, knots, epsilons, deltas, step).min())


def cells_for(points: int) -> int:
    """How fine a bound over so many grid points is worth: short blocks lie near the verdict."""
    return 4 * _CELLS if points <= 8 else _CELLS


def span(
    trials: tuple[int, int], box: Box, epsilon: float, delta: float, step: float
) -> tuple[float, float] | None:
    """The least and the largest angle asin sqrt q that `coarse_knots` have; None where it is empty.

    No cell of width at most `widest` can meet the box then.
    """
    slack, ratio = widest(trials[1], step), exp(epsilon)
    start = angle(max(box.q_low, (box.p_low - delta) / ratio)) - slack
    end = angle(box.q_high) + slack
    return None if start > end - slack else (max(start, 0.0), min(end, pi / 2))


def coarse_knots(
    trials: tuple[int, int],
    box: Box,
    epsilon: float,
    delta: float,
    step: float,
    cells: int = _CELLS,
) -> Floats:
    """Angles asin sqrt q that cover every lattice cell in use, even in q's angle and in p0's."""
    ends, ratio = span(trials, box, epsilon, delta, step), exp(epsilon)
    if ends is None:
        return np.empty(0)
    start, end = ends
    low, high = angle(ratio * sin(start) ** 2 + delta), angle(ratio * sin(end) ** 2 + delta)
    of_p = (np.sin(np.linspace(low, high, cells + 1)[1:-1]) ** 2 - delta) / ratio
    of_p = np.arcsin(np.sqrt(np.clip(of_p, 0, 1)))
    of_q = np.linspace(start, end, cells + 1)
    return np.unique(np.concatenate([of_q, of_p[(of_p > start) & (of_p < end)]]))


def bounds(
    hits: tuple[int, int],
    trials: tuple[int, int],
    box: Box,
    knots: Floats,
    epsilons: tuple[float, float],
    deltas: tuple[float, float],
    step: float,
) -> Floats:
    """For each coarse cell, what no lattice cell with its middle there is below in the block.

    Such a cell reaches at most one fine width beyond the coarse one. z_a falls and z_b grows
    with q, and p0 grows with q, epsilon and delta: so both scores are bounded by their values at
    the ends, and the weights (sin t, cos t) have t in an interval (`least_mix`). The coarse
    cells may depend on the data: they only bound Z, they do not define it.
    """
    if deltas[1] >= 1 or epsilons[1] > _LARGEST_IN_BLOCK or hits[0] == 0 or hits[1] == trials[1]:
        return np.full(knots.size - 1, -inf)
    slack = widest(trials[1], step)
    low_ratio, ratio = exp(epsilons[0]), exp(epsilons[1])
    left, right = np.sin(knots[:-1]) ** 2, np.sin(knots[1:]) ** 2
    bottom = np.sin(np.maximum(knots[:-1] - slack, knots[0])) ** 2
    top = ratio * np.sin(np.minimum(knots[1:] + slack, knots[-1])) ** 2 + deltas[1]
    above = score_above(hits[0], trials[0], np.minimum(top, min(1 - CLOSE, box.p_high)))
    below = score_below(hits[1], trials[1], np.maximum(bottom, CLOSE))
    least_p, most_p = _variances(low_ratio * left + deltas[0], ratio * right + deltas[1])
    least_q, most_q = _variances(left, right)
    first = np.arctan2(np.sqrt(least_p / trials[0]), ratio * np.sqrt(most_q / trials[1]))
    last = np.arctan2(np.sqrt(most_p / trials[0]), low_ratio * np.sqrt(least_q / trials[1]))
    first[top >= 1 - CLOSE] = 0
    last[bottom == 0] = pi / 2
    bound = least_mix(above, below, first, last)
    bound[(bottom == 0) & (top >= 1 - CLOSE)] = -inf
    return bound


def _variances(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Least and greatest p (1 - p) for p between `low` and `high`, both clipped at 1."""
    low, high = np.minimum(low, 1), np.minimum(high, 1)
    ends = low * (1 - low), high * (1 - high)
    most = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*ends))
    return np.minimum(*ends), most


# The test. ---------------------------------------------------------------------------------------


def at_distance(epsilon: float, delta: float, distance: int) -> tuple[float, float]:
    """What (epsilon, delta) for one step promises for two databases `distance` steps apart.

    Group privacy: (k epsilon, delta (exp(k epsilon) - 1) / (exp(epsilon) - 1)), at epsilon = 0
    the limit (0, k delta); a delta of 1 or more is returned as 1, which promises nothing.
    """
    total = distance * epsilon
    if delta == 0 or distance == 1:
        return total, min(delta, 1.0)
    if total > _LARGEST_EPSILON:
        return total, 1.0
    growth = expm1(total) / expm1(epsilon) if epsilon > 0 else float(distance)
    return total, min(delta * growth, 1.0)


def threshold(level: float, beta: float) -> float:
    """The z a one-shot statistic must reach when `beta` of `level` was spent on the box."""
    if not 0 < beta < level < 1:
        raise InvalidArgument(
            f"expected 0 < beta < level < 1, got level={level!r} and beta={beta!r}; "
            "leave beta out to use the default"
        )
    return float(-ndtri(level - beta))


def z_in_box(
    hits: tuple[int, int],
    trials: tuple[int, int],
    box: Box,
    *,
    epsilon: float,
    delta: float,
    step: float = CELL,
) -> float:
    """`z_statistic` for a confidence box that is already known."""
    if delta >= 1 or epsilon > _LARGEST_EPSILON:
        return -inf
    ends = span(trials, box, epsilon, delta, step)
    if ends is None:
        return inf
    cells = _Cells(hits, trials, box, epsilon, delta, step)
    if cells.number(*ends) <= _FEW:
        return cells.least(*ends)
    knots = coarse_knots(trials, box, epsilon, delta, step)
    # Visit only stretches of q that may hold the minimum: it is exact all the same.
    bound = bounds(hits, trials, box, knots, (epsilon, epsilon), (delta, delta), step)
    guess = int(bound.argmin())
    best = cells.least(knots[guess], knots[guess + 1])
    keep = np.concatenate([[False], bound < best + TIE, [False]])
    turns = np.flatnonzero(keep[1:] != keep[:-1])
    if turns.size and cells.number(knots[turns[0]], knots[turns[-1]]) <= 4 * _FEW:
        turns = turns[[0, -1]]
    for first, last in zip(turns[::2], turns[1::2], strict=True):
        best = min(best, cells.least(knots[first], knots[last]))
    return best


@dataclass(frozen=True, slots=True)
class _Cells:
    """The lattice of one test and the values of its cells."""

    hits: tuple[int, int]
    trials: tuple[int, int]
    box: Box
    epsilon: float
    delta: float
    step: float

    def number(self, start: float, end: float) -> float:
        """About how many cells lie between two angles asin sqrt q."""
        ratio, (n, m) = exp(self.epsilon), self.trials
        low, high = (angle(ratio * sin(turn) ** 2 + self.delta) for turn in (start, end))
        return 2 * (sqrt(n) * (high - low) + sqrt(m) * (end - start)) / self.step

    def edges(self, low: float, high: float) -> Floats:
        """The lattice edges that matter for q in [low, high]; cells outside are merged."""
        ratio, delta = exp(self.epsilon), self.delta
        of_q = stops(low, high, self.trials[1], self.step)
        of_p = stops(ratio * low + delta, ratio * high + delta, self.trials[0], self.step)
        of_p = (of_p - delta) / ratio
        of_p = of_p[(of_p >= 0) & (of_p <= 1)]
        edges = np.concatenate([of_q, of_p, [0, (1 - delta) / ratio, 1]])
        edges.sort()
        return edges[np.concatenate([[True], np.diff(edges) > CLOSE])]

    def least(self, start: float, end: float) -> float:
        """The least value of the cells in use whose middle has its angle in [start, end]."""
        slack = widest(self.trials[1], self.step)
        low, high = sin(start) ** 2, sin(end) ** 2
        edges = self.edges(sin(max(start - slack, 0)) ** 2, sin(min(end + slack, pi / 2)) ** 2)
        left, right = edges[:-1], edges[1:]
        top = exp(self.epsilon) * right + self.delta
        used = (
            (top >= self.box.p_low)
            & (right >= max(self.box.q_low, low))
            & (left <= min(self.box.q_high, high))
        )
        return float(self.values(left[used], right[used], top[used]).min(initial=inf))

    def values(self, left: Floats, right: Floats, top: Floats) -> Floats:
        """w1 z_a(top) + w2 z_b(left) for each cell [left, right], top = p0(right)."""
        (x, y), (n, m), ratio = self.hits, self.trials, exp(self.epsilon)
        middle = (left + right) / 2
        p = np.minimum(ratio * middle + self.delta, 1)
        weight_p, weight_q = np.sqrt(p * (1 - p) / n), ratio * np.sqrt(middle * (1 - middle) / m)
        length = np.hypot(weight_p, weight_q)
        # Where one of the two tails carries no information, all the weight goes to the other.
        full, first = top >= 1 - CLOSE, left == 0
        weight_p = np.where(full, 0, np.where(first, 1, weight_p / length))
        weight_q = np.where(full, 1, np.where(first, 0, weight_q / length))
        above = score_above(x, n, np.minimum(np.minimum(top, 1), self.box.p_high))
        below = score_below(y, m, left)
        return _times(weight_p, above) + _times(weight_q, below)


def _times(weight: Floats, score: Floats) -> Floats:
    """The product with 0 * -inf = 0."""
    return np.multiply(weight, score, out=np.zeros_like(score), where=weight > 0)


def z_statistic(
    hits: tuple[int, int],
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    beta: float,
    step: float = CELL,
) -> float:
    """The statistic Z in [-inf, inf]; large values speak against the null at (epsilon, delta).

    Under the null P[Z >= Phi^-1(1 - (level - beta))] <= level for every level above `beta`.
    Infinite when the confidence box misses the null. `step` is part of the test: choose it
    before the data. Cost: about a thousand binomial tails whatever the number of draws.
    """
    if epsilon < 0 or delta < 0:
        raise InvalidArgument(
            f"epsilon and delta must be at least 0, got epsilon={epsilon!r} and delta={delta!r}; "
            "pass the claim under test"
        )
    box = confidence_box(hits, trials, beta)
    return z_in_box(hits, trials, box, epsilon=epsilon, delta=delta, step=step)


def rejects(
    hits: tuple[int, int],
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    beta: float | None = None,
) -> bool:
    """Whether the null at (epsilon, delta) is rejected; wrong with probability <= `level`."""
    share = level / BOX_PART if beta is None else beta
    z = z_statistic(hits, trials, epsilon=epsilon, delta=delta, beta=share)
    return z >= threshold(level, share) + TIE


def normal_z(hits: tuple[int, int], trials: tuple[int, int], epsilon: float, delta: float) -> float:
    """A rough normal statistic. It orders the work and never decides anything."""
    p, q = (hits[0] + 0.25) / (trials[0] + 0.5), (hits[1] + 0.25) / (trials[1] + 0.5)
    ratio = exp(min(epsilon, 300.0))
    variance = p * (1 - p) / trials[0] + ratio * ratio * q * (1 - q) / trials[1]
    return (p - delta - ratio * q) / sqrt(variance)


def epsilon_lower(
    hits: tuple[int, int],
    trials: tuple[int, int],
    *,
    delta: float,
    level: float,
    distance: int = 1,
    beta: float | None = None,
    grid_step: float = STEP,
    also: Iterable[float] = (),
) -> float:
    """Lower bound on the base epsilon (nats), above the truth with probability <= `level`.

    The last point of the rejected initial segment of `epsilon_grid`, to which `also` adds
    points fixed before the data; -inf when epsilon = 0 is not rejected, never more than the end
    of the grid. `distance` steps separate the databases and `delta` is that of a single step.
    The bounds asked for last are kept: each look is asked for again when a result is derived.
    """
    return _epsilon_lower(
        (hits[0], hits[1]),
        (trials[0], trials[1]),
        delta,
        level,
        distance,
        beta,
        grid_step,
        tuple(also),
    )


@lru_cache(maxsize=256)
def _epsilon_lower(
    hits: tuple[int, int],
    trials: tuple[int, int],
    delta: float,
    level: float,
    distance: int,
    beta: float | None,
    grid_step: float,
    also: tuple[float, ...],
) -> float:
    share = level / BOX_PART if beta is None else beta
    needed = threshold(level, share)
    box = confidence_box(hits, trials, share)
    grid = epsilon_grid(trials[1], distance=distance, step=grid_step, also=also).tolist()
    nulls = [at_distance(epsilon, delta, distance) for epsilon in grid]

    def rejected(i: int) -> bool:
        epsilon, delta = nulls[i]
        return z_in_box(hits, trials, box, epsilon=epsilon, delta=delta) >= needed + TIE

    def certified(i: int, j: int) -> bool:
        epsilons, deltas = zip(nulls[i], nulls[j], strict=True)
        bound = lower_bound_z(
            hits, trials, box, epsilons=epsilons, deltas=deltas, cells=cells_for(j - i)
        )
        return bound >= needed + 10 * TIE

    def likely(i: int) -> bool:
        return normal_z(hits, trials, *nulls[i]) >= needed

    count = initial_segment(len(grid), rejected, certified, likely)
    return grid[count - 1] if count else -inf


def epsilon_upper(
    hits: tuple[int, int],
    trials: tuple[int, int],
    *,
    delta: float,
    level: float,
    distance: int = 1,
) -> float:
    """An upper limit (nats, per step) of what this event loses; inf for none.

    The least epsilon at which `at_distance` allows the Clopper-Pearson limits of both sides, each
    wrong with probability at most `level` / 2. It speaks of this event only: another one may lose
    more.
    """
    box = confidence_box(hits, trials, 2 * level)

    def allows(epsilon: float) -> bool:
        total, slack = at_distance(epsilon, delta, distance)
        return box.p_high <= exp(total) * box.q_low + slack

    low, high = 0.0, _LARGEST_EPSILON / distance
    if allows(low):
        return low
    if not allows(high):
        return inf
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if allows(middle) else (middle, high)
    return high


# The grid, and how far it is rejected. -----------------------------------------------------------


def epsilon_grid(
    trials: int, *, distance: int = 1, step: float = STEP, also: Iterable[float] = ()
) -> NDArray[np.float64]:
    """Base epsilons (nats, ascending) to be tried, from 0; `also` adds points such as a claim.

    `trials` draws cannot support a log-ratio beyond log(trials), nor is one beyond 10 of
    interest: the grid ends a nat above the smaller of the two, divided by the distance.
    """
    end = (min(_LARGEST, log(max(trials, 1))) + _MARGIN) / distance
    fine = np.arange(0, min(end, FINE_UP_TO) + step, step)
    coarse = np.arange(FINE_UP_TO, end, max(step, COARSE_STEP))
    points = np.round(np.concatenate([fine, coarse]), 9)
    return np.unique(np.concatenate([points, np.asarray(tuple(also), dtype=np.float64)]))


def initial_segment(
    size: int,
    rejected: Callable[[int], bool],
    certified: Callable[[int, int], bool],
    likely: Callable[[int], bool],
) -> int:
    """How many of the points 0, 1, .. size - 1 are rejected before the first that is not.

    `rejected(i)` is the verdict at a point. `certified(i, j)` may be True only when every point
    from i to j is rejected; False says nothing. `likely(i)` is a guess of the verdict that
    decides the order of the work, never the answer.
    """
    hint, high = 0, size
    while hint < high:
        middle = (hint + high) // 2
        if likely(middle):
            hint = middle + 1
        else:
            high = middle
    done, streak, stride = 0, 0, 3 * hint // 4
    while done < size:
        if stride > 1:
            stop = min(done + stride, size)
            if certified(done, stop - 1):
                done = stop
                stride = max(3 * (hint - done) // 4, 2) if done < hint else 2 * stride
            else:
                stride //= 4
        elif rejected(done):
            done, streak = done + 1, streak + 1
            # A poor guess must not cost a fine evaluation at each of thousands of points.
            stride = 8 if streak % 4 == 0 else 1
        else:
            break
    return done
