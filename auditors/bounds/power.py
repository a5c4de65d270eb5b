"""The looks at one event, planned before its draws, and what a run could have refuted by them.

A plan says how many draws a side each look has and what level it spends. Sampling that finds
nothing proves nothing; the numbers of power say what it would have found, had the search proposed
the right event. They are statements about one event that is handed to the test, at the stated
power.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, exp, inf, isfinite, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, gammaln, ndtr, ndtri, xlog1py, xlogy

from ..errors import InvalidArgument
from .two_sample import (
    BOX_PART,
    CELL,
    TIE,
    Floats,
    at_distance,
    confidence_box,
    threshold,
    z_in_box,
)

Plan = tuple[tuple[int, float], ...]
"""Looks: draws a side in all when it is made, and its level."""
EARLY = ((0.25, 0.15), (0.5, 0.2), (1.0, 0.35), (2.0, 0.3))
"""Looks of an early attempt: parts of the draws foreseen, and of its error probability."""
LAST = ((0.125, 0.05), (0.25, 0.1), (0.5, 0.15), (1.0, 0.7))
"""Looks of a last attempt that may well end sooner: parts of all its draws."""
_COARSE = 0.1
"""Lattice step, in standard deviations of either binomial: one that is coarser than the test's own
only makes the answer larger."""
_MOST_Y = 4000
"""Hits of the second side whose probabilities are worked out one by one."""
_TAIL = 4.5
"""Standard deviations on either side within which hits of the second side are followed."""
_BEND = 50
"""Nodes are put at squares up to this one, squared, where the boundary of the test bends."""
_HALVINGS = 40
"""Halvings of an interval, at least: a root is known to 1e-12 of it."""
_FOLLOWED = 8
"""Steps along the slope before the interval is halved."""
_GRID = 600
"""Points, over 24 deviations, on which the law of a statistic is followed from look to look."""
_MOST_EXCESS = 12.0
"""Nats above the claim beyond which what is detected is told as infinite."""
_DIGITS = 1e-4
"""Part of itself to which an epsilon is found."""


# Looks. ------------------------------------------------------------------------------------------


def early_looks(draws: float, level: float) -> Plan:
    """Four looks that double, up to twice the draws foreseen."""
    sizes = [max(1, ceil(part * draws)) for part, _ in EARLY]
    return _plan(sizes, [share * level for _, share in EARLY])


def last_looks(draws: int, level: float, *, sooner: bool) -> Plan:
    """One look at all draws, or four where it may well be over `sooner`."""
    if not sooner:
        return ((draws, level),)
    sizes = [max(1, int(part * draws)) for part, _ in LAST]
    return _plan(sizes, [share * level for _, share in LAST])


def _plan(sizes: list[int], levels: list[float]) -> Plan:
    """Looks of growing size; one that would repeat a size is left out, its level unspent."""
    merged = {size: level for size, level in zip(sizes, levels, strict=True)}
    return tuple(sorted(merged.items()))


# Power. ------------------------------------------------------------------------------------------


def detectable_epsilon(
    rate: tuple[float, float],
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    distance: int = 1,
    power: float = 0.9,
) -> float:
    """Smallest true base epsilon (nats) that an event of this size would have refuted.

    The event has probability q = `rate[1]` on the second side (`rate[0]` is not used) and all
    that epsilon_1 allows, exp(k epsilon_1) q + delta_k(epsilon_1), on the first. The answer is
    the smallest epsilon_1 at which the test of the claim (`epsilon`, `delta`), on `trials` draws
    of the two sides at `level`, rejects with probability `power`, by both binomials summed over the
    rejection region of the test. Infinite when even an event certain on the first side would pass.
    """
    q = rate[1]
    _check(trials, level, power)
    if not 0 <= q <= 1:
        raise InvalidArgument(f"rate must hold two probabilities, got {rate!r}")
    null = at_distance(epsilon, delta, distance)
    if _null_probability(null, q) >= 1:
        return inf
    region = _Region(trials, null, level)

    def detected(p: float) -> bool:
        return region.chance(p, q) >= power

    probability = _first(detected, 0.0, 1.0) if detected(1.0) else 2.0
    return _epsilon_of(probability, q, delta, distance)


def _check(trials: tuple[int, int], level: float, power: float) -> None:
    if min(trials) < 1 or not (0 < level < 1 and 0 < power < 1):
        raise InvalidArgument(
            f"expected positive trials and level and power in (0, 1), got trials={trials}, "
            f"level={level!r} and power={power!r}"
        )


def _null_probability(null: tuple[float, float], q: float) -> float:
    epsilon, delta = null
    return q * exp(min(epsilon, 600.0)) + delta


def _epsilon_of(p: float, q: float, delta: float, distance: int) -> float:
    """The base epsilon at which the null's limit at q is p; infinite if none, or p > 1."""
    if not p <= 1:
        return inf
    if distance == 1 or delta == 0:
        return log((p - delta) / q) / distance if q > 0 else inf

    def beyond(epsilon: float) -> bool:
        return _null_probability(at_distance(epsilon, delta, distance), q) >= p

    high = 600.0 / distance
    return _first(beyond, 0.0, high) if beyond(high) else inf


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that is monotone and holds at `high` begins to hold."""
    for _ in range(_HALVINGS + 20):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class _Region:
    """The rejection region of one test: for each y the least x that rejects, a bound that grows.

    It is computed at a few y that span the likely ones and interpolated, rounded up, in between.
    """

    def __init__(self, trials: tuple[int, int], null: tuple[float, float], level: float) -> None:
        """Nothing is computed yet."""
        self.trials, self.null, self.level = trials, null, level
        self._limits: dict[int, int] = {}

    def chance(self, p: float, q: float) -> float:
        """Probability that the test rejects when the sides' probabilities are p and q."""
        n, m = self.trials
        reach = _TAIL * sqrt(m * q * (1 - q)) + _TAIL
        y = np.arange(max(0, int(m * q - reach)), min(m, ceil(m * q + reach)) + 1)
        if y.size > _MOST_Y:  # probabilities of neighbouring y are equal enough to be sampled
            y = np.unique(np.linspace(y[0], y[-1], _MOST_Y).astype(int))
        needed = self._needed(y)
        possible = needed <= n
        return float(_binomial(y, m, q)[possible] @ bdtrc(needed[possible] - 1, n, p))

    def _needed(self, y: NDArray[np.int_]) -> Floats:
        limits = []
        nodes = self._nodes(int(y[0]), int(y[-1]))
        for node in nodes:
            if node not in self._limits:
                at_least = max((x for known, x in self._limits.items() if known < node), default=0)
                self._limits[node] = _least_hits(
                    node, self.trials, self.null, self.level, at_least=at_least, step=_COARSE
                )
            limits.append(self._limits[node])
        return np.ceil(np.interp(y, nodes, np.asarray(limits, dtype=float)))

    def _nodes(self, first: int, last: int) -> list[int]:
        """Some y that span the stretch, from a lattice that regions of neighbouring q share.

        Its steps are about two standard deviations of y, and finer where the null's p nears 1,
        since the bound bends there.
        """
        (n, m), (epsilon, delta) = self.trials, self.null
        low, high = int(sqrt(first)), int(sqrt(last)) + 1
        nodes = {min(root * root, m) for root in range(low, high + 1)}
        start, end = min(nodes), max(nodes)
        for root in (*range(_BEND // 4), *range(_BEND // 4, _BEND, 2)):
            near = int((1 - delta - root * root / n) * m * exp(-min(epsilon, 600.0)))
            if start < near < end:
                nodes.add(near)
        return sorted(nodes)


def _binomial(y: NDArray[np.int_], m: int, q: float) -> Floats:
    """Probabilities of y hits in m draws, made to add up to 1 over the y given."""
    log_chance = gammaln(m + 1) - gammaln(y + 1) - gammaln(m - y + 1)
    log_chance = log_chance + xlogy(y, q) + xlog1py(m - y, -q)
    chance = np.exp(log_chance - log_chance.max())
    return chance / chance.sum()


def _least_hits(
    y: int,
    trials: tuple[int, int],
    null: tuple[float, float],
    level: float,
    *,
    at_least: int = 0,
    step: float = CELL,
) -> int:
    """Least x, from `at_least` on, for which the test rejects; n + 1 when there is none.

    The search begins where the normal form of the test rejects and follows the statistic, which
    grows almost evenly with x, to its threshold; where that takes long it halves what is left.
    """
    share = level / BOX_PART
    needed = threshold(level, share) + TIE
    (n, m), (epsilon, delta) = trials, null

    def missing(x: int) -> float:
        box = confidence_box((x, y), trials, share)
        return needed - z_in_box((x, y), trials, box, epsilon=epsilon, delta=delta, step=step)

    allowed = min(_null_probability(null, y / m), 1.0)
    noise = exp(min(epsilon, 300.0)) * sqrt(y * (1 - y / m)) * n / m
    hits_a_z = sqrt(n * allowed * (1 - allowed) + noise * noise)
    low, high = max(at_least, int(n * allowed)) - 1, n + 1
    where, before, lacked, tried = n * allowed + needed * hits_a_z, 0, inf, 0
    while high - low > 1:
        follow = tried < _FOLLOWED and isfinite(where)
        x = min(max(ceil(where), low + 1), high - 1) if follow else (low + high) // 2
        lacks = missing(x)
        low, high = (low, x) if lacks <= 0 else (x, high)
        if tried and isfinite(lacked) and (x - before) * (lacked - lacks) > 0:
            hits_a_z = (x - before) / (lacked - lacks)
        where, before, lacked, tried = x + lacks * hits_a_z, x, lacks, tried + 1
    return high


def power_of(
    rates: tuple[float, float], trials: tuple[int, int], *, null: tuple[float, float], level: float
) -> float:
    """The chance that the test of `null`, (epsilon, delta) in all, refutes an event of these rates.

    By both binomials summed over the rejection region of the test.
    """
    return _Region(trials, null, level).chance(*rates)


def other_probability(p: float, epsilon: float, *, delta: float, distance: int) -> float:
    """The least probability of an event that (epsilon, delta) allows where the other side has p."""
    total, group_delta = at_distance(epsilon, delta, distance)
    return max(p - group_delta, 0.0) * exp(-min(total, 600.0))


@lru_cache(maxsize=64)
def refutable_epsilon(
    p: float,
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    distance: int = 1,
    power: float = 0.9,
) -> float:
    """Smallest true base epsilon (nats) refuted by an event of probability p on the first side.

    The second side gives it with the `other_probability` of epsilon_1. The answer is the
    smallest epsilon_1 at which the test of the claim rejects with probability `power`, by the exact
    sums of `detectable_epsilon`; infinite when none up to 12 nats above the claim does.
    """
    _check(trials, level, power)
    null = at_distance(epsilon, delta, distance)
    region = _Region(trials, null, level)

    def other(true: float) -> float:
        return other_probability(p, true, delta=delta, distance=distance)

    def detected(true: float) -> bool:
        return region.chance(p, other(true)) >= power

    if null[1] >= p or region.chance(p, 0.0) < power:
        return inf
    # The normal form of the test says about where to look.
    q = max(other(epsilon), 1e-300)
    spread = p * (1 - p) / (p - null[1]) ** 2 / trials[0] + (1 - q) / q / trials[1]
    excess = (float(ndtri(power)) - float(ndtri(level))) * sqrt(spread) / distance
    low, high = epsilon, epsilon + max(excess, 1e-6)
    while not detected(high):
        low, high = high, epsilon + 1.5 * (high - epsilon)
        if high > epsilon + _MOST_EXCESS:
            return inf
    while high - low > _DIGITS * high:
        middle = (low + high) / 2
        low, high = (low, middle) if detected(middle) else (middle, high)
    return high


@lru_cache(maxsize=64)
def one_look_level(plan: tuple[tuple[float, float], ...], power: float = 0.9) -> float:
    """The level at which one look at all draws has the power of these looks, where that is `power`.

    `plan` lists (draws, level) of looks at cumulative counts of one event; counting ends when a
    look rejects. From the normal limit of the counts, which depends on no rates: the density of
    paths without drift that have not been rejected, Armitage, McPherson and Rowe (1969), carries to
    any drift by its likelihood ratio.
    """
    if len(plan) == 1:
        return float(plan[0][1])
    draws, levels = np.array(plan, dtype=float).T
    times, needed = draws / draws[-1], -ndtri(levels)
    width = 24.0 / _GRID
    grid = width * np.arange(-_GRID // 2, _GRID // 2 + 1)
    distance = (grid[:, None] - grid[None, :]) ** 2
    density, before, rejected = np.zeros(0), 0.0, []
    for time, least in zip(times, needed, strict=True):
        spread = time - before
        if before:
            density = np.exp(-distance / (2 * spread)) @ density * width
        else:
            density = np.exp(-(grid**2) / (2 * spread))
        density /= sqrt(2 * pi * spread)
        beyond = np.clip((grid - least * sqrt(time)) / width + 0.5, 0, 1)
        rejected.append(density * beyond * width)
        density, before = density * (1 - beyond), time

    def chance(drift: float) -> float:
        return sum(
            float(paths @ np.exp(drift * grid - drift * drift * time / 2))
            for paths, time in zip(rejected, times, strict=True)
        )

    drift = _first(lambda d: chance(d) >= power, 0.0, 10.0)
    return float(ndtr(float(ndtri(power)) - drift))


def detectable_probability(
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    noticed: Callable[[float], float],
    distance: int = 1,
    power: float = 0.9,
) -> float:
    """Smallest probability of an output impossible on the other side that would be refuted.

    `noticed` is the probability, given that of the output, that the draws that teach suggest the
    event; these are not the `trials` draws of a side that count it. Both steps together succeed
    with probability `power`. Infinite when no probability will do.
    """
    _check(trials, level, power)
    null = at_distance(epsilon, delta, distance)
    if null[1] >= 1:
        return inf
    hits = _least_hits(0, trials, null, level)

    def refuted(p: float) -> bool:
        return float(bdtrc(hits - 1, trials[0], p)) * noticed(p) >= power

    if hits > trials[0] or not refuted(1.0):
        return inf
    low, high = -40.0, 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(exp(middle)) else (middle, high)
    return exp(high)
