"""Evidence that may be looked at after every batch: e-values with predictable alternatives.

An e-value has expectation at most 1 under the null whatever the past was, so the product over
disjoint batches exceeds 1 / alpha at any time with probability at most alpha (Ville 1939). Each
one here is the likelihood ratio of a foreseen alternative against its reverse information
projection on the null, the point of the null nearest in Kullback-Leibler divergence (Grunwald,
de Heide and Koolen; for two samples Turner, Ly and Grunwald, arXiv 2106.02693). Everything
foreseen must come from earlier batches. A certificate that bounds the expectation from above,
rounding of the projection included, is subtracted from every logarithm (natural).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

_HALVINGS = 200
"""More than a double has bits, so that the root is exact to rounding."""
_LARGEST_EPSILON = 600.0
"""Nats; its exponential is still a double."""


def event_log_es(
    hits: tuple[int, int],
    trials: tuple[int, int],
    rates: ArrayLike,
    nulls: ArrayLike,
) -> NDArray[np.float64]:
    """Log e-values of one batch for the nulls p <= exp(epsilon) q + delta of one event.

    `hits` and `trials` of the two sides, the one bounded from above first. `rates` has the
    foreseen (p, q) in shape (E, 2), moved inside (0, 1) if need be; `nulls` holds (epsilon, delta)
    in shape (G, 2). The result has shape (E, G), and 0 where the foreseen rates are in the null.
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
    # The nearest null, of least n KL(p1 | p0) + m KL(q1 | q0), lies on p = ratio q + delta, where
    # the divergence is convex in q.
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
    # The log of the expectation at (p, q) is at most u (p - p0) + v (q - q0), which is linear and
    # so largest at a corner of the null.
    u, v = n * (p1 - p0) / (p0 * (1 - p0)), m * (q1 - q0) / (q0 * (1 - q0))
    corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (delta, 0.0), (1.0, (1 - delta) / ratio)]
    excess = np.max([u * (p - p0) + v * (q - q0) for p, q in corners], axis=0)
    found[chosen] = gain - np.maximum(excess, 0.0)
    return found
