"""What a run could have refuted, had the search proposed the right event.

Sampling that finds nothing proves nothing; these numbers say what it would have found. They
are statements about one event that is handed to the test, at the stated power.
"""

from collections.abc import Callable
from math import ceil, exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, betaincinv, gammaln, ndtri, xlog1py, xlogy

from ..bounds.binomial_tails import CELL, Floats, confidence_box
from ..bounds.two_sample import TIE, at_distance, threshold, z_in_box
from ..errors import InvalidArgument

__all__ = [
    "detectable_epsilon",
    "detectable_probability",
]

_BETA_SHARE = 50
_COARSE = 0.1  # a coarser lattice than the test's own only makes the answer larger
_NORMAL_FROM = 50.0
_NODES = 6
_TAIL = 4.5
_HALVINGS = 40


def detectable_epsilon(
    rate: tuple[float, float],
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    distance: int = 1,
    power: float = 0.9,
    rough: bool = False,
) -> float:
    """Smallest true base epsilon (nats) that an event of this size would have refuted.

    The event has probability q = `rate[1]` on the second side (`rate[0]` is not used) and all
    that epsilon_1 allows, exp(k epsilon_1) q + delta_k(epsilon_1), on the first. The answer is
    the smallest epsilon_1 at which the test of the claim (`epsilon`, `delta`), on `trials` draws
    of the two sides at `level`, rejects with probability `power`. From the normal form of the
    test where 50 hits and misses are expected, else from its rejection region; always from the
    normal form, which may be too small, when a `rough` answer will do. Infinite when even an event
    certain on the first side would pass.
    """
    q = rate[1]
    _check(trials, level, power)
    if not 0 <= q <= 1:
        raise InvalidArgument(f"rate must hold two probabilities, got {rate!r}")
    null = at_distance(epsilon, delta, distance)
    if _null_probability(null, q) >= 1:
        return inf
    probability = _normal_probability(q, trials, null, level, power)
    n, m = trials
    if not rough and min(n * probability, n * (1 - probability), m * q, m * (1 - q)) < _NORMAL_FROM:
        probability = _exact_probability(q, trials, null, level, power)
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


def _normal_probability(
    q: float, trials: tuple[int, int], null: tuple[float, float], level: float, power: float
) -> float:
    """Smallest p refuted with the given power by the normal form of the test; 2 if none."""
    (n, m), ratio, limit = trials, exp(min(null[0], 300.0)), _null_probability(null, q)
    needed, margin = threshold(level, level / _BETA_SHARE), float(ndtri(power))

    def detected(p: float) -> bool:
        # The statistic is least for a q between the true one and where p would be allowed.
        spreads = []
        for nuisance in (q, min((p - null[1]) / ratio, 1.0)):
            allowed = min(_null_probability(null, nuisance), 1.0)
            spreads.append(allowed * (1 - allowed) / n + ratio**2 * nuisance * (1 - nuisance) / m)
        actual = sqrt(p * (1 - p) / n + ratio**2 * q * (1 - q) / m)
        return p - limit >= needed * sqrt(sum(spreads) / 2) + margin * actual

    if not detected(1.0):
        return 2.0
    return _first(detected, limit, 1.0)


def _exact_probability(
    q: float, trials: tuple[int, int], null: tuple[float, float], level: float, power: float
) -> float:
    """Smallest p refuted with the given power, by summing over both binomials; 2 if none.

    For each y the test rejects from some x on, a bound that grows with y. It is computed at a
    few y that span the likely ones and interpolated, rounded up, in between.
    """
    n, m = trials
    centre, reach = m * q, _TAIL * sqrt(m * q * (1 - q)) + _TAIL
    y = np.arange(max(0, int(centre - reach)), min(m, ceil(centre + reach)) + 1)
    if y.size > 4000:  # probabilities of neighbouring y are equal enough to be sampled
        y = np.unique(np.linspace(y[0], y[-1], 4000).astype(int))
    chance = _binomial(y, m, q)
    nodes = np.unique(np.linspace(y[0], y[-1], min(_NODES, y.size)).astype(int))
    limits: list[int] = []
    for node in nodes.tolist():
        limits.append(
            _least_hits(
                node, trials, null, level, at_least=limits[-1] if limits else 0, step=_COARSE
            )
        )
    needed = np.ceil(np.interp(y, nodes, np.asarray(limits, dtype=float)))
    possible = needed <= n

    def detected(p: float) -> bool:
        return float(chance[possible] @ bdtrc(needed[possible] - 1, n, p)) >= power

    return _first(detected, 0.0, 1.0) if detected(1.0) else 2.0


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
    """Least x, from `at_least` on, for which the test rejects; n + 1 when there is none."""
    share = level / _BETA_SHARE
    needed = threshold(level, share) + TIE
    (n, m), (epsilon, delta) = trials, null

    def rejected(x: int) -> bool:
        box = confidence_box((x, y), trials, share)
        z = z_in_box((x, y), trials, box, epsilon=epsilon, delta=delta, step=step)
        return z >= needed

    low, stride = max(at_least, int(n * min(_null_probability(null, y / m), 1.0))) - 1, 1
    while low + stride <= n and not rejected(low + stride):
        low, stride = low + stride, 2 * stride
    high = min(low + stride, n + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high


def detectable_probability(
    trials: tuple[int, int],
    *,
    epsilon: float,
    delta: float,
    level: float,
    learnt_on: int,
    distance: int = 1,
    needed: int = 7,
    power: float = 0.9,
) -> float:
    """Smallest probability of an output impossible on the other side that would be refuted.

    It must be refuted with probability `power` from `trials` draws, and be seen `needed` times
    among the `learnt_on` draws that suggest the event with the same probability. Infinite when
    no probability will do.
    """
    _check(trials, level, power)
    null = at_distance(epsilon, delta, distance)
    if null[1] >= 1:
        return inf
    hits = _least_hits(0, trials, null, level)
    if hits > trials[0] or needed > learnt_on:
        return inf
    refuted = betaincinv(hits, trials[0] - hits + 1, power)
    seen = betaincinv(needed, learnt_on - needed + 1, power) if needed > 0 else 0.0
    return float(max(refuted, seen))
