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
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, pi, sin, sqrt

import numpy as np
from scipy.special import ndtri

from ..errors import InvalidArgument
from .binomial_tails import (
    CELL,
    CLOSE,
    Box,
    Floats,
    angle,
    confidence_box,
    score_above,
    score_below,
    stops,
    widest,
)
from .block_bound import bounds, cells_for, coarse_knots, lower_bound_z, span
from .grid import STEP, epsilon_grid, initial_segment

TIE = 1e-9
"""By how much a statistic must pass its threshold, so that rounding decides no tie."""
_LARGEST_EPSILON = 600.0
"""Nats; its exponential is still a double, and no draws can show so much."""
_FEW = 300
"""Lattice cells that are worked out one by one; of more, coarse pieces come first."""


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
    share = level / 50 if beta is None else beta
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
    share = level / 50 if beta is None else beta
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
