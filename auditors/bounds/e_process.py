"""Evidence that may be looked at after every batch: e-values with predictable alternatives.

An e-value has expectation at most 1 under the null whatever the past was, so the product over
disjoint batches exceeds 1 / alpha at any time with probability at most alpha (Ville 1939). Each
one here is the likelihood ratio of a foreseen alternative against its reverse information
projection on the null, the point of the null nearest in Kullback-Leibler divergence (Grunwald,
de Heide and Koolen; for two samples Turner, Ly and Grunwald, arXiv 2106.02693). Everything
foreseen must come from earlier batches. A certificate that bounds the expectation from above,
rounding of the projection included, is subtracted from every logarithm (natural).
"""

from collections.abc import Sequence
from math import exp, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidArgument

__all__ = [
    "event_log_es",
    "mix_log_wealth",
    "multi_bin_log_e",
    "nearest_bins",
    "nearest_rates",
    "shrunk_rates",
    "single_event_log_e",
]

_HALVINGS = 200
_STEEPEST = 200.0
_LARGEST_EPSILON = 600.0


def single_event_log_e(
    hits: tuple[int, int],
    trials: tuple[int, int],
    rates: tuple[float, float],
    *,
    epsilon: float,
    delta: float = 0.0,
) -> float:
    """Log e-value of one batch for the null p <= exp(epsilon) q + delta of one event.

    `hits` and `trials` of the two sides, the one bounded from above first; `rates` the foreseen
    (p, q), moved inside (0, 1) if need be. 0 when they do not contradict the null.
    """
    (x, y), (n, m) = hits, trials
    if not (0 <= x <= n and 0 <= y <= m):
        raise InvalidArgument(
            f"expected 0 <= hits <= trials, got hits={hits} and trials={trials}; count the event "
            "on the draws of this batch"
        )
    if n == 0 or m == 0 or delta >= 1 or not all(0 <= rate <= 1 for rate in rates):
        return 0.0
    least = 1 / (4 * (n + m))
    p1, q1 = (min(max(rate, least), 1 - least) for rate in rates)
    p0, q0 = nearest_rates((p1, q1), trials, epsilon=epsilon, delta=delta)
    if (p0, q0) == (p1, q1):
        return 0.0
    gain = (
        x * log1p((p1 - p0) / p0)
        + (n - x) * log1p((p0 - p1) / (1 - p0))
        + y * log1p((q1 - q0) / q0)
        + (m - y) * log1p((q0 - q1) / (1 - q0))
    )
    return gain - _excess((p1, q1), (p0, q0), trials, epsilon, delta)


def event_log_es(
    hits: tuple[int, int],
    trials: tuple[int, int],
    rates: ArrayLike,
    nulls: ArrayLike,
) -> NDArray[np.float64]:
    """`single_event_log_e` for E pairs of foreseen rates and G nulls at once, of shape (E, G).

    `rates` has shape (E, 2), `nulls` holds (epsilon, delta) in shape (G, 2).
    """
    (x, y), (n, m) = hits, trials
    foreseen, null = np.asarray(rates, dtype=np.float64), np.asarray(nulls, dtype=np.float64)
    found = np.zeros((len(foreseen), len(null)))
    if n == 0 or m == 0:
        return found
    least = 1 / (4 * (n + m))
    inside = np.clip(foreseen, least, 1 - least)
    ratios, deltas = np.exp(np.minimum(null[:, 0], _LARGEST_EPSILON)), null[:, 1]
    p1, q1 = (np.broadcast_to(inside[:, [side]], found.shape) for side in (0, 1))
    possible = np.all((foreseen >= 0) & (foreseen <= 1), axis=1, keepdims=True)
    usable = possible & (deltas < 1)
    chosen = usable & (p1 > ratios * q1 + deltas)
    if not chosen.any():
        return found
    ratio, delta = (np.broadcast_to(part, found.shape)[chosen] for part in (ratios, deltas))
    p1, q1 = p1[chosen], q1[chosen]
    low, high = q1.copy(), (p1 - delta) / ratio
    for _ in range(_HALVINGS):
        q = (low + high) / 2
        p = ratio * q + delta
        slope = n * ratio * (p - p1) / (p * (1 - p)) + m * (q - q1) / (q * (1 - q))
        moves = (low < q) & (q < high)
        if not moves.any():
            break
        low, high = np.where(moves & (slope < 0), q, low), np.where(moves & (slope >= 0), q, high)
    q0 = (low + high) / 2
    p0 = ratio * q0 + delta
    gain = (
        x * np.log1p((p1 - p0) / p0)
        + (n - x) * np.log1p((p0 - p1) / (1 - p0))
        + y * np.log1p((q1 - q0) / q0)
        + (m - y) * np.log1p((q0 - q1) / (1 - q0))
    )
    # The certificate of `_excess`, at the corners of every null.
    u, v = n * (p1 - p0) / (p0 * (1 - p0)), m * (q1 - q0) / (q0 * (1 - q0))
    corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (delta, 0.0), (1.0, (1 - delta) / ratio)]
    excess = np.max([u * (p - p0) + v * (q - q0) for p, q in corners], axis=0)
    found[chosen] = gain - np.maximum(excess, 0.0)
    return found


def nearest_rates(
    rates: tuple[float, float], trials: tuple[int, int], *, epsilon: float, delta: float = 0.0
) -> tuple[float, float]:
    """The (p0, q0) of the null nearest to `rates`: least n KL(p1 | p0) + m KL(q1 | q0).

    It lies on the line p = exp(epsilon) q + delta, where the divergence is convex in q.
    """
    (p1, q1), (n, m) = rates, trials
    ratio = exp(min(epsilon, _LARGEST_EPSILON))
    if p1 <= ratio * q1 + delta:
        return rates
    low, high = q1, (p1 - delta) / ratio
    for _ in range(_HALVINGS):
        q = (low + high) / 2
        p = ratio * q + delta
        slope = n * ratio * (p - p1) / (p * (1 - p)) + m * (q - q1) / (q * (1 - q))
        if not low < q < high:
            break
        low, high = (q, high) if slope < 0 else (low, q)
    q = (low + high) / 2
    return ratio * q + delta, q


def _excess(
    rates: tuple[float, float],
    nearest: tuple[float, float],
    trials: tuple[int, int],
    epsilon: float,
    delta: float,
) -> float:
    """An upper bound, over the whole null hypothesis, of log E[e]; 0 up to rounding.

    log E e = n ln(1 + u (p - p0)) + m ln(1 + v (q - q0)) is at most n u (p - p0) + m v (q - q0),
    which is linear, so largest at a corner of the null.
    """
    (p1, q1), (p0, q0), (n, m) = rates, nearest, trials
    u, v = (p1 - p0) / (p0 * (1 - p0)), (q1 - q0) / (q0 * (1 - q0))
    corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (delta, 0.0)]
    corners.append((1.0, (1 - delta) * exp(-epsilon)))
    return max(0.0, *(n * u * (p - p0) + m * v * (q - q0) for p, q in corners))


def shrunk_rates(
    first: ArrayLike, second: ArrayLike, strength: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Foreseen bin probabilities (P, Q) from past counts of K bins, with one bin more.

    Both sides are drawn towards their pooled frequencies by `strength` pseudo-counts a bin. The
    last bin is for outputs never seen before: without it they would have no e-value.
    """
    counts = np.array([first, second], dtype=np.float64)
    counts = np.concatenate([counts, np.zeros((2, 1))], axis=1)
    bins = counts.shape[1]
    pooled = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * bins)
    totals = counts.sum(axis=1, keepdims=True)
    p, q = (counts + strength * bins * pooled) / (totals + strength * bins)
    return p, q


def multi_bin_log_e(
    first: ArrayLike,
    second: ArrayLike,
    rates_first: ArrayLike,
    rates_second: ArrayLike,
    *,
    epsilon: float,
) -> float:
    """Log e-value of one batch for pure epsilon-DP of a binned output, both directions at once.

    `first` and `second` are the counts of the two sides over the same K bins; the foreseen
    probabilities must be positive and include a bin for whatever was never seen. The null is
    exp(-epsilon) <= P_k / Q_k <= exp(epsilon) for every bin.
    """
    counts = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    p_hat = np.asarray(rates_first, dtype=np.float64)
    q_hat = np.asarray(rates_second, dtype=np.float64)
    if len({part.shape for part in (*counts, p_hat, q_hat)}) != 1:
        raise InvalidArgument(
            f"expected counts and foreseen rates over the same bins, got {counts[0].size}, "
            f"{counts[1].size}, {p_hat.size} and {q_hat.size} bins; add the catch-all bin"
        )
    if not (p_hat.min(initial=1) > 0 and q_hat.min(initial=1) > 0):
        raise InvalidArgument(
            "every bin needs a positive foreseen probability on both sides; use shrunk_rates"
        )
    n, m = float(counts[0].sum()), float(counts[1].sum())
    if n == 0 or m == 0 or epsilon > _LARGEST_EPSILON:
        return 0.0
    p_hat, q_hat = p_hat / p_hat.sum(), q_hat / q_hat.sum()
    p, q, mu, nu = nearest_bins(p_hat, q_hat, (n, m), epsilon)
    gain = counts[0] @ np.log(p_hat / p) + counts[1] @ np.log(q_hat / q)
    slope_p, slope_q, ratio = n * p_hat / p, m * q_hat / q, exp(epsilon)
    upper, lower = np.maximum(slope_p - mu, 0), np.maximum(slope_q - nu, 0)
    upper, lower = np.where(upper * q >= lower * p, (upper, 0 * lower), (0 * upper, lower))
    # Lagrangian bound of n (sum P_k p_hat_k / p_k - 1) + the same for Q, over all of the null.
    excess = (
        (mu + nu - n - m)
        + (slope_p - mu - upper + ratio * lower).max()
        + (slope_q - nu - lower + ratio * upper).max()
    )
    return float(gain - max(0.0, excess))


def nearest_bins(
    p_hat: NDArray[Any], q_hat: NDArray[Any], trials: tuple[float, float], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """The (P, Q) of the null nearest to (p_hat, q_hat) and the multipliers (mu, nu) of the sums.

    Karush-Kuhn-Tucker: mu + nu = n + m, and given mu every bin has a closed form, on the upper
    edge, the lower edge or inside. sum P - sum Q falls with mu and is 0 at the solution.
    """
    n, m = trials
    a, b, ratio = n * p_hat, m * q_hat, exp(epsilon)
    # Bisect on log(mu / nu): either may be tiny and both need all their digits.
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mu, nu = (n + m) / (1 + exp(-middle)), (n + m) / (1 + exp(middle))
        p, q = _bins(a, b, mu, nu, ratio)
        if not low < middle < high:
            break
        low, high = (middle, high) if p.sum() > q.sum() else (low, middle)
    return p, q, mu, nu


def _bins(
    a: NDArray[Any], b: NDArray[Any], mu: float, nu: float, ratio: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    above, below = a * nu > ratio * b * mu, ratio * a * nu < b * mu
    upper, lower = ratio * (a + b) / (mu * ratio + nu), (a + b) / (mu + nu * ratio)
    p = np.where(above, upper, np.where(below, lower, a / mu))
    q = np.where(above, upper / ratio, np.where(below, ratio * lower, b / nu))
    return p, q


def mix_log_wealth(log_wealths: Sequence[float]) -> float:
    """Log of the average wealth of experts fixed beforehand; natural logarithms, never NaN."""
    if len(log_wealths) == 0:
        raise InvalidArgument("expected the log wealth of at least one expert, got none")
    best = max(log_wealths)
    if best in (inf, -inf):
        return best
    return best + log(sum(exp(wealth - best) for wealth in log_wealths) / len(log_wealths))
