"""Laws of the privacy loss, and of the Laplace noise that causes it: what proofs rest on.

The loss of an output x is ln(p(x) / q(x)), in nats, where p is the law of the outputs on one
database and q on a neighbour; its law is that of the loss of an output drawn from p. It says how
(epsilon, delta) hold and how they compose. Then: how far Laplace noise reaches, and the log-sum
inequality.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import exp, expm1, fsum, inf, log

import numpy as np

from .._checks import require_positive
from ..model import Array, FiniteLaw, LossLaw

MOST_LOSSES = 2**22
"""Losses of two parts that are added pair by pair: some 100 MB of numbers."""
SAME = 1e-13
"""Losses this close, relative to the largest, are one loss that was rounded differently."""


def loss_of(law: FiniteLaw, neighbour: FiniteLaw) -> LossLaw:
    """Law of the privacy loss of an output drawn from `law`, against `neighbour`.

    The two laws list the same outcomes in the same order.
    """
    possible = law.log_probabilities > -inf
    own, other = law.log_probabilities[possible], neighbour.log_probabilities[possible]
    finite = other > -inf
    return LossLaw(
        losses=own[finite] - other[finite],
        probabilities=np.exp(own[finite]),
        infinite=fsum(np.exp(own[~finite])),
    )


def compose_losses(laws: Iterable[LossLaw]) -> LossLaw:
    """Law of the privacy loss of independent mechanisms together: the sum of their losses.

    Equal sums are merged, so that equal mechanisms stay cheap. Raises ValueError where more than
    2**22 different sums are left.
    """
    nothing = LossLaw(losses=np.zeros(1), probabilities=np.ones(1))
    return reduce(_sum_of_two, laws, nothing)


def discrete_laplace_loss(shift: int, scale: float) -> LossLaw:
    """Law of the privacy loss of whole-number Laplace noise, the answers `shift` steps apart.

    The noise is k steps with probability proportional to exp(-|k| / scale); the loss is the same
    in both orders.
    """
    require_positive(scale=scale)
    shift = abs(shift)
    if shift == 0:
        return LossLaw(losses=np.zeros(1), probabilities=np.ones(1))
    between = np.arange(1, shift)
    # Noise at most 0, strictly between the two centres, and at or beyond the other.
    inside = -expm1(-1 / scale) * np.exp(-between / scale)
    return LossLaw(
        losses=np.concatenate([[shift], shift - 2 * between, [-shift]]) / scale,
        probabilities=np.concatenate([[1.0], inside, [exp(-shift / scale)]])
        / (1 + exp(-1 / scale)),
    )


def hockey_stick(law: LossLaw, level: float) -> float:
    """Hockey-stick divergence at `level` nats: the largest P[E] - exp(level) Q[E] of an event E.

    For these two databases, in this order, it is the smallest delta for which
    (level, delta)-differential privacy holds.
    """
    above = law.losses > level
    excess = law.probabilities[above] * -np.expm1(level - law.losses[above])
    return float(excess.sum()) + law.infinite


def renyi_divergence(law: LossLaw, order: float) -> float:
    """Renyi divergence of the given order, above 1, in nats: at most rho * order under rho-zCDP.

    It is ln E[exp((order - 1) loss)] / (order - 1), infinite where the loss can be.
    Source: Mironov (2017), Definition 3.
    """
    if not order > 1:
        raise ValueError(f"order must be above 1, got {order}")
    if law.infinite > 0:
        return inf
    exponents = (order - 1) * law.losses
    highest = exponents.max()
    scaled = fsum(law.probabilities * np.exp(exponents - highest))
    return (log(scaled) + float(highest)) / (order - 1)


def laplace_hockey_stick(level: float, shift: float) -> float:
    """Hockey-stick divergence of two Laplace laws of one scale, `shift` scales apart.

    It is 1 - exp(-(shift - level) / 2) for -shift <= level <= shift, 0 above and
    1 - exp(level) below: the smallest delta at epsilon = `level`.
    """
    require_positive(shift=shift)
    if level < -shift:
        return -expm1(level)
    return max(0.0, 1 - exp((level - shift) / 2))


def _sum_of_two(one: LossLaw, two: LossLaw) -> LossLaw:
    if one.losses.size * two.losses.size > MOST_LOSSES:
        raise ValueError(
            f"{one.losses.size} times {two.losses.size} losses are more than {MOST_LOSSES}"
        )
    losses, probabilities = _merged(
        np.add.outer(one.losses, two.losses).ravel(),
        np.multiply.outer(one.probabilities, two.probabilities).ravel(),
    )
    infinite = one.infinite + two.infinite - one.infinite * two.infinite
    return LossLaw(losses=losses, probabilities=probabilities, infinite=infinite)


def _merged(losses: Array, probabilities: Array) -> tuple[Array, Array]:
    """The losses in order, those that differ by rounding only taken as the largest of them."""
    order = np.argsort(losses, kind="stable")
    losses, probabilities = losses[order], probabilities[order]
    if not losses.size:
        return losses, probabilities
    width = SAME * np.abs(losses[[0, -1]]).max()
    last = np.append(np.diff(losses) > width, True)
    first = np.append(0, np.flatnonzero(last)[:-1] + 1)
    return losses[last], np.add.reduceat(probabilities, first)


def laplace_tail(threshold: float, scale: float) -> float:
    """P[|noise| > threshold] of Laplace noise: exp(-threshold / scale), half of it on each side.

    `threshold` is at least 0. Source: Dwork and Roth (2014), Fact 3.7.
    """
    require_positive(scale=scale)
    if not threshold >= 0:
        raise ValueError(f"threshold must be at least 0, got {threshold}")
    return exp(-threshold / scale)


def log_laplace_cdf(points: Array) -> Array:
    """Log of the distribution function of Laplace noise of scale 1; log-survival at -points."""
    tail = np.exp(-np.abs(points)) / 2
    return np.where(points < 0, points - log(2), np.log1p(-tail))


def laplace_difference_tail(threshold: float, scale: float) -> float:
    """P[first - second > threshold] of two independent Laplace noises of one scale.

    It is (2 + t) exp(-t) / 4 with t = threshold / scale, at least 0.
    """
    return laplace_tail(threshold, scale) * (2 + threshold / scale) / 4


def least_distance(chance: Callable[[float], float], most: float) -> float:
    """The smallest distance, up to 700, at which a falling `chance` is `most` at most."""
    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(middle) <= most else (middle, high)
    return high


def log_sum_gap(first: Sequence[float], second: Sequence[float]) -> float:
    """Sum of a ln(a / b) less A ln(A / B), at least 0; A and B are the sums of all a and b.

    The numbers are at least 0; 0 ln(0 / b) is 0 and a ln(a / 0) infinite.
    Source: Cover and Thomas (2006), Theorem 2.7.1.
    """
    parts = fsum(_relative(a, b) for a, b in zip(first, second, strict=True))
    return parts if parts == inf else parts - _relative(fsum(first), fsum(second))


def _relative(a: float, b: float) -> float:
    if a == 0:
        return 0.0
    # Quotients of very small numbers overflow, differences of their logarithms do not.
    return a * (log(a) - log(b)) if b > 0 else inf
