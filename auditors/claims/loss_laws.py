"""Exact privacy loss of two known laws: epsilon, and delta(epsilon) bounded from both sides.

The loss ln(p / q) of an output drawn from p decides everything: the smallest pure epsilon is its
largest value (over both orders), and the hockey-stick divergence is
delta(epsilon) = E[max(0, 1 - exp(epsilon - loss))], with 1 where the loss is infinite.

Independent parts add their losses, and delta only rises when losses do. So each part is rounded to
a grid, once up, for an upper bound of delta, and once down, for a lower bound, and the parts are
convolved term by term, all terms positive, so that rounding errors stay relative. The grid fits the
two atoms of Laplace noise, which then are not rounded at all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, erfc, exp, expm1, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from ...mechanisms.model import FiniteLaw, GaussianLaw, LaplaceLaw, Law, LossLaw, ProductLaw
from ..errors import HarnessError

GRID = 8000
"""Steps of the grid from zero loss to the largest."""
RELATIVE = 1e-9
"""More than the rounding of any sum or convolution here."""
HALVINGS = 60
"""Halvings of an epsilon, at most; it is known to 1e-12 before."""
FAR = 9.0
"""Standard deviations of a normal loss beyond which lies less than 2e-19."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LaplaceShift:
    """Laplace noise whose centres are `size` scales apart."""

    size: float


@dataclass(frozen=True, slots=True)
class GaussianShift:
    """Gaussian noise whose centres are `size` standard deviations apart."""

    size: float


Loss = LossLaw | LaplaceShift | GaussianShift


def losses_of(first: Law, second: Law) -> list[Loss]:
    """The loss of each independent part, outputs drawn from the first law."""
    match first, second:
        case FiniteLaw(), FiniteLaw():
            return [_finite(first, second)]
        case LaplaceLaw(), LaplaceLaw() if first.scale == second.scale:
            gaps = np.abs(np.ravel(first.centres) - np.ravel(second.centres)) / first.scale
            return [LaplaceShift(float(gap)) for gap in gaps if gap > 0]
        case GaussianLaw(), GaussianLaw() if first.scale == second.scale:
            moved = np.ravel(first.centres) - np.ravel(second.centres)
            length = float(np.sqrt(np.sum(moved**2))) / first.scale
            return [GaussianShift(length)] if length > 0 else []
        case ProductLaw(), ProductLaw() if len(first.parts) == len(second.parts):
            pairs = zip(first.parts, second.parts, strict=True)
            return [loss for one, two in pairs for loss in losses_of(one, two)]
    raise HarnessError(
        "the exact laws of two neighbouring databases are not comparable: they must be of the "
        "same kind, with the same outcomes or scale"
    )


def _finite(first: FiniteLaw, second: FiniteLaw) -> LossLaw:
    p = np.asarray(first.log_probabilities, dtype=float)
    q = np.asarray(second.log_probabilities, dtype=float)
    same = np.shape(first.outcomes) == np.shape(second.outcomes) and p.shape == q.shape
    if not same or not np.array_equal(first.outcomes, second.outcomes):
        raise HarnessError(
            "two exact laws list different outcomes; the same entries must come in the same order "
            "for every database"
        )
    for log_probabilities in (p, q):
        if abs(float(np.exp(log_probabilities).sum()) - 1) > 1e-9:
            raise HarnessError("the probabilities of an exact law do not add up to 1")
    alive = p > -inf
    both = alive & (q > -inf)
    return LossLaw(
        losses=p[both] - q[both],
        probabilities=np.exp(p[both]),
        infinite=float(np.exp(p[alive & ~both]).sum()),
    )


def epsilon_of(parts: list[Loss]) -> float:
    """The largest possible loss in this order."""
    return float(sum(_largest(part) for part in parts))


def _largest(part: Loss) -> float:
    if isinstance(part, LaplaceShift):
        return part.size
    if isinstance(part, GaussianShift) or part.infinite > 0:
        return inf
    losses = np.asarray(part.losses, dtype=float)
    return float(losses[np.asarray(part.probabilities) > 0].max(initial=-inf))


def delta_bounds(parts: list[Loss], epsilon: float) -> tuple[float, float]:
    """Lower and upper bound of the hockey-stick divergence at `epsilon`, in this order."""
    return delta_curve(parts, (epsilon,))[0]


def delta_curve(parts: list[Loss], epsilons: Sequence[float]) -> list[tuple[float, float]]:
    """The bounds of `delta_bounds` at each of `epsilons`, from one sum of the parts."""
    if not parts:
        return [(0.0, 0.0)] * len(epsilons)
    if len(parts) == 1:
        deltas = [_delta(parts[0], epsilon) for epsilon in epsilons]
        return [(delta * (1 - RELATIVE), min(1.0, delta * (1 + RELATIVE))) for delta in deltas]
    largest = epsilon_of(parts)
    if largest <= min(epsilons) * (1 - RELATIVE):
        return [(0.0, 0.0)] * len(epsilons)
    down, up = (_convolved(parts, up=way) for way in (False, True))
    return [
        (0.0, 0.0)
        if largest <= epsilon * (1 - RELATIVE)
        else (
            _tail(*down, epsilon) * (1 - RELATIVE),
            min(1.0, _tail(*up, epsilon) * (1 + RELATIVE)),
        )
        for epsilon in epsilons
    ]


def smallest_epsilon(parts: list[Loss], delta: float) -> float:
    """The smallest epsilon >= 0 whose delta in this order is certainly at most `delta`."""
    if not parts:
        return 0.0
    sum_of_all = None if len(parts) == 1 else _convolved(parts, up=True)

    def holds(epsilon: float) -> bool:
        at = _delta(parts[0], epsilon) if sum_of_all is None else _tail(*sum_of_all, epsilon)
        return at * (1 + RELATIVE) <= delta

    low, top = 0.0, epsilon_of(parts)
    if holds(0.0):
        return 0.0
    if top == inf:
        top = 1.0
        while not holds(top):
            top *= 2
            if top > 1e4:
                return inf
    for _ in range(HALVINGS):
        middle = (low + top) / 2
        if top - low < 1e-12:
            break
        low, top = (low, middle) if holds(middle) else (middle, top)
    return top


def _delta(part: Loss, epsilon: float) -> float:
    if isinstance(part, LaplaceShift):
        # For 0 <= epsilon <= size; the likelihood ratio is flat outside the two centres.
        return max(0.0, -expm1(-(part.size - epsilon) / 2))
    if isinstance(part, GaussianShift):
        # Balle and Wang (2018), Theorem 8.
        near, far = part.size / 2 - epsilon / part.size, part.size / 2 + epsilon / part.size
        excess = erfc(-near / sqrt(2)) - exp(epsilon + float(log_ndtr(-far)) + log(2))
        return max(0.0, excess / 2)
    losses = np.asarray(part.losses, dtype=float)
    chances = np.asarray(part.probabilities, dtype=float)
    return _tail(losses, chances, part.infinite, epsilon)


def _tail(losses: Floats, chances: Floats, infinite: float, epsilon: float) -> float:
    above = losses > epsilon
    return infinite + float((chances[above] * -np.expm1(epsilon - losses[above])).sum())


def _convolved(parts: list[Loss], *, up: bool) -> tuple[Floats, Floats, float]:
    """(losses, probabilities, infinite mass) of the sum, every part rounded one way."""
    # Laplace shifts of one size are one part many times over.
    count = Counter(part.size for part in parts if isinstance(part, LaplaceShift))
    tables = [part for part in parts if isinstance(part, LossLaw)]
    normal = sqrt(sum(part.size**2 for part in parts if isinstance(part, GaussianShift)))
    if normal:
        # Independent normal losses are one; what lies far out is taken for infinite.
        tables.append(_normal_loss(normal, up=up))
    step = _step(tables, count)
    start, mass, alive = 0, np.ones(1), 1.0
    for part in tables:
        losses, chances = np.asarray(part.losses), np.asarray(part.probabilities)
        offset, table = _rounded(losses, chances, step, up=up)
        start, mass = start + offset, np.convolve(mass, table)
        alive *= 1 - part.infinite
    for size, number in count.items():
        offset, table = _rounded_shift(size, step, up=up)
        start, mass = start + number * offset, np.convolve(mass, _power(table, number))
    # A hair more, the same way, for the rounding of the grid itself.
    hair = 1e-11 if up else -1e-11
    grid = np.asarray(start + np.arange(len(mass)), dtype=np.float64) * step + hair
    return grid, mass, 1 - alive


def _normal_loss(size: float, *, up: bool) -> LossLaw:
    """The loss of a Gaussian shift, N(size^2 / 2, size^2), each value rounded to a fine grid."""
    grid = size * (size / 2 + np.linspace(-FAR, FAR, GRID + 1))
    below = ndtr((grid / size) - size / 2)
    chances = np.diff(below)
    rest = float(ndtr(-FAR))
    losses = grid[1:] if up else grid[:-1]
    return LossLaw(losses=losses, probabilities=chances, infinite=rest if up else 0.0)


def _step(tables: list[LossLaw], count: Counter[float]) -> float:
    sizes = [abs(part.losses).max(initial=0) for part in tables]
    whole = sum(sizes) + sum(size * number for size, number in count.items())
    step = max(whole / GRID, 1e-12)
    if count:
        largest = max(count)
        step = largest / max(1, ceil(largest / step))
    return float(step)


def _rounded(losses: Floats, chances: Floats, step: float, *, up: bool) -> tuple[int, Floats]:
    if not len(losses):
        return 0, np.zeros(1)
    exact = losses / step
    places = (np.ceil(exact - 1e-9) if up else np.floor(exact + 1e-9)).astype(np.int64)
    start = int(places.min())
    return start, np.bincount(places - start, weights=chances).astype(np.float64)


def _rounded_shift(size: float, step: float, *, up: bool) -> tuple[int, Floats]:
    """The loss of one Laplace coordinate: -size, in between with density, and size, rounded.

    P[loss <= x] is exp((x - size) / 2) / 2 from -size up to size, where it jumps to 1.
    """
    last = ceil(size / step - 1e-9)
    grid = np.arange(-last, last + 1) * step
    within = np.exp((np.clip(grid, -size, size) - size) / 2) / 2
    hair = 1e-9 * step
    if up:
        # What lies after one place and not after the next goes to the next.
        at_most = np.where(grid < -size - hair, 0.0, np.where(grid < size - hair, within, 1.0))
        return -last, np.diff(at_most, prepend=0.0)
    # What lies from one place to before the next goes to the first of them.
    before = np.where(grid <= -size + hair, 0.0, np.where(grid <= size + hair, within, 1.0))
    return -last, np.diff(before, append=1.0)


def _power(table: Floats, number: int) -> Floats:
    made, square = np.ones(1), table
    while number:
        if number & 1:
            made = np.convolve(made, square)
        number >>= 1
        if number:
            square = np.convolve(square, square)
    return made
