"""Privacy claims checked exactly, from known laws, on every pair of a small universe.

`Mechanism.law` or `Mechanism.privacy_loss` gives the loss of each pair. The pairs are all pairs of
the universe the domain yields, some hand-made larger ones, and any the caller adds. "Proved" is
about those pairs and no others; "refuted" comes with the worst of them.

**Two laws.** The loss ln(p / q) of an output drawn from p decides everything: the smallest pure
epsilon is its largest value (over both orders), and the hockey-stick divergence is delta(epsilon) =
E[max(0, 1 - exp(epsilon - loss))], with 1 where the loss is infinite.

Independent parts add their losses, and delta only rises when losses do. So each part is rounded to
a grid, once up, for an upper bound of delta, and once down, for a lower bound, and the parts are
convolved term by term, all terms positive, so that rounding errors stay relative. The grid fits the
two atoms of Laplace noise, which then are not rounded at all.

**Whole curves** are the least mu, rho or factor that holds on one pair. mu of Gaussian shifts is
the length of the shift in scales. rho and Renyi are divergences, which add up over independent
parts: of the losses of a finite law by their sum, of Laplace noise with centres t scales apart ln(a
/ (2a - 1) e^((a-1) t) + (a - 1) / (2a - 1) e^(-a t)) / (a - 1) (Mironov, 2017, table II), of
Gaussian noise a t^2 / 2. rho is asked at the orders ORDERS. Any other curve, several steps and a
rho with delta are asked at their lines: a curve says p <= e^epsilon q + delta for each.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil, erfc, exp, expm1, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from ...mechanisms.model import (
    ORDERS,
    ConcentratedCurve,
    Curve,
    Database,
    FiniteLaw,
    GaussianCurve,
    GaussianLaw,
    Histogram,
    LaplaceLaw,
    Law,
    LossLaw,
    Mechanism,
    NotListable,
    Pair,
    PointsCurve,
    PrivacyClaim,
    ProductLaw,
    RenyiCurve,
    Rows,
    Value,
    lines_of,
)
from ..bounds.two_sample import at_distance
from ..databases.domains import MOST, universe
from ..databases.neighbours import pair_source
from ..errors import HarnessError
from ..outputs.encoding import canonical, show
from ..results.results import Verdict

GRID = 8000
"""Steps of the grid from zero loss to the largest."""
RELATIVE = 1e-9
"""More than the rounding of any sum or convolution here."""
HALVINGS = 60
"""Halvings of an epsilon, at most; it is known to 1e-12 before."""
FAR = 9.0
"""Standard deviations of a normal loss beyond which lies less than 2e-19."""
Floats = NDArray[np.float64]
CURVE_HALVINGS = 40
"""Halvings of the parameter, at most; it is known to 1e-10 of itself before."""
CLOSE = 1e-12
"""Part of an allowed delta by which rounding may pass it."""
MOST_TIMES = 1e3
"""Times the parameter claimed: beyond it the least one is told as infinite."""
TOLERANCE = 1e-9
"""Nats, or part of a delta, by which rounding may pass the claim."""
HAND_MADE = 40
"""Hand-made pairs of the domain that are judged beside the universe, at most."""


# The loss of two laws. ---------------------------------------------------------------------------


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
            return [_loss_of(first, second)]
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


def _loss_of(first: FiniteLaw, second: FiniteLaw) -> LossLaw:
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


# Whole curves. -----------------------------------------------------------------------------------


def size_bounds(parts: list[Loss], curve: Curve, distance: int) -> tuple[float, float]:
    """The least parameter of the curve that holds in this order, where it is asked (`asked_at`).

    Twice: by losses rounded down to a grid and up, where they are rounded at all. What holds
    everywhere is at least the first.
    """
    shifts = [part.size for part in parts if isinstance(part, GaussianShift)]
    match curve:
        case GaussianCurve() if len(shifts) == len(parts):
            found = sqrt(sum(size**2 for size in shifts)) / distance
            return found, found
        case ConcentratedCurve(delta=0) if distance == 1:
            found = max((divergence(parts, a) / a for a in ORDERS.tolist()), default=0.0)
            return found, found
        case RenyiCurve() if distance == 1:
            found = max(divergence(parts, a) / e for a, e in curve.bounds)
            return found, found
        case PointsCurve() if distance == 1:
            least = [(smallest_epsilon(parts, delta), e) for e, delta in curve.points]
            found = max(one / e if e else (0.0 if one == 0 else np.inf) for one, e in least)
            return found, found
    return _by_lines(parts, curve, distance, 0), _by_lines(parts, curve, distance, 1)


def asked_at(curve: Curve, distance: int) -> str:
    """Where a curve was asked that has more orders or points than can be; "" if at all of them."""
    match curve:
        case ConcentratedCurve(delta=0) if distance == 1:
            return f"at {len(ORDERS)} orders from {ORDERS[0]:g} to {ORDERS[-1]:g}"
        case RenyiCurve() | PointsCurve() if distance == 1:
            return ""
    return f"at {len(lines_of(curve, distance))} points of the curve"


def divergence(parts: list[Loss], order: float) -> float:
    """The Renyi divergence of independent parts."""
    return float(sum(_divergence(part, order) for part in parts))


def _divergence(part: Loss, a: float) -> float:
    match part:
        case GaussianShift(size=t):
            return a * t * t / 2
        case LaplaceShift(size=t):
            terms = log(a / (2 * a - 1)) + (a - 1) * t, log((a - 1) / (2 * a - 1)) - a * t
            return float(np.logaddexp(*terms)) / (a - 1)
        case LossLaw():
            if part.infinite > 0:
                return np.inf
            chances = np.asarray(part.probabilities, dtype=float)
            seen = chances > 0
            powers = np.log(chances[seen]) + (a - 1) * np.asarray(part.losses, dtype=float)[seen]
            return max(float(np.logaddexp.reduce(powers)) / (a - 1), 0.0)


def _by_lines(parts: list[Loss], curve: Curve, distance: int, end: int) -> float:
    """The least parameter whose lines are all above the lower or upper bounds of delta."""

    def holds(size: float) -> bool:
        lines = lines_of(curve.scaled(size), distance)
        deltas = delta_curve(parts, [epsilon for epsilon, _ in lines])
        allowed = [delta for _, delta in lines]
        return all(
            found[end] <= most * (1 + CLOSE) for found, most in zip(deltas, allowed, strict=True)
        )

    low, high = 0.0, curve.size
    while not holds(high):
        low, high = high, 2 * high
        if high > MOST_TIMES * curve.size:
            return np.inf
    for _ in range(CURVE_HALVINGS):
        middle = (low + high) / 2 if low else high / exp(1)
        if high - low < 1e-10 * high or high < 1e-6 * curve.size:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# All pairs of a small universe. ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPrivacy:
    """The worst pair in its worse order, and the one that draws tell most of.

    They differ where the largest loss is that of an output which nearly never comes. `epsilon`
    is the smallest that holds at the claim's delta on all pairs and `delta` bounds the largest
    delta at the claim's epsilon from both sides, for the claim's distance (not of a single step).
    `rows` are (database, neighbour, epsilon or delta) of the worst pairs. Of a curve `size` bounds
    the least parameter that holds on all pairs, mu, rho or a factor, from both sides, and is that
    of the rows; epsilon and delta are those of the claim's point.
    """

    verdict: Verdict
    epsilon: float
    delta: tuple[float, float]
    pair: Pair
    telling: Pair
    scope: str
    rows: tuple[tuple[str, str, float], ...]
    size: tuple[float, float] | None = None


def exact_privacy(
    mechanism: Mechanism,
    claim: PrivacyClaim,
    *,
    pairs: tuple[Pair, ...] = (),
    most: int = MOST,
) -> ExactPrivacy | None:
    """Check the claim on all pairs of a small universe and on `pairs`; None without a law.

    The law is believed here; who draws compares the draws with it.
    """
    if mechanism.law is None and mechanism.privacy_loss is None:
        return None
    judged, scope = _pairs(mechanism, claim, pairs, most)
    if not judged:
        return None
    laws = _Laws(mechanism)
    if claim.curve is not None:
        return _exact_curve(laws, claim, claim.curve, judged, scope)
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    scored = []
    deltas: list[tuple[float, float]] = []
    for pair in judged:
        for turned in (pair, pair.reversed()):
            parts = laws.losses(turned)
            if delta == 0:
                scored.append((epsilon_of(parts), turned, parts))
            else:
                deltas.append(laws.deltas(parts, epsilon))
                scored.append((deltas[-1][0], turned, parts))
    # The first of equals, which is the smallest.
    value, pair, parts = max(scored, key=lambda one: one[0])
    bounds = laws.deltas(parts, epsilon)
    if delta == 0:
        least = value
        verdict = Verdict.REFUTED if value > epsilon + TOLERANCE else Verdict.PROVED
    else:
        # With the verdict's slack: a delta that is just the stated one is enough.
        enough = delta * (1 + TOLERANCE)
        least = smallest_epsilon(parts, enough)
        if value == 0:
            # No pair needs delta at the claimed epsilon, which does not tell the worst of them.
            for _, turned, others in scored:
                if delta_bounds(others, least)[0] > enough:
                    pair, least = turned, smallest_epsilon(others, enough)
        verdict = _verdict(deltas, delta)
    rows = sorted(scored, key=lambda one: -one[0])[:10]
    telling = pair
    if delta == 0:
        # How often an event happens beyond what a loss of this size allows; of a true claim, beyond
        # half of it.
        beyond = epsilon if verdict is Verdict.REFUTED else epsilon / 2
        telling = max(scored, key=lambda one: laws.deltas(one[2], beyond)[0])[1]
    return ExactPrivacy(
        verdict=verdict,
        epsilon=least,
        delta=bounds,
        pair=pair,
        telling=telling,
        scope=scope,
        rows=tuple((show(p.database), show(p.neighbour), value) for value, p, _ in rows),
    )


def _exact_curve(
    laws: "_Laws", claim: PrivacyClaim, curve: Curve, judged: list[Pair], scope: str
) -> ExactPrivacy:
    """A whole curve on every pair: the least parameter that holds, against the one claimed."""
    known: dict[tuple[bytes, ...], tuple[float, float]] = {}
    scored: list[tuple[tuple[float, float], Pair]] = []
    for turned in (way for pair in judged for way in (pair, pair.reversed())):
        parts = laws.losses(turned)
        key = tuple(sorted(_named(part) for part in parts))
        if key not in known:
            known[key] = size_bounds(parts, curve, claim.distance) if parts else (0.0, 0.0)
        scored.append((known[key], turned))
    # The first of equals, which is the smallest.
    (low, _), pair = max(scored, key=lambda one: one[0])
    most = max(upper for (_, upper), _ in scored)
    slack = curve.size * (1 + TOLERANCE)
    verdict = Verdict.INCONCLUSIVE
    if low > slack:
        verdict = Verdict.REFUTED
    elif most <= slack:
        verdict = Verdict.PROVED
    parts = laws.losses(pair)
    rows = sorted(scored, key=lambda one: -one[0][0])[:10]
    return ExactPrivacy(
        verdict=verdict,
        epsilon=smallest_epsilon(parts, claim.delta) if claim.delta else epsilon_of(parts),
        delta=laws.deltas(parts, claim.epsilon),
        pair=pair,
        telling=pair,
        scope=scope + (f", {asked}" if (asked := asked_at(curve, claim.distance)) else ""),
        rows=tuple((show(p.database), show(p.neighbour), value) for (value, _), p in rows),
        size=(low, most),
    )


def _verdict(bounds: list[tuple[float, float]], delta: float) -> Verdict:
    slack = delta * (1 + TOLERANCE)
    if max(low for low, _ in bounds) > slack:
        return Verdict.REFUTED
    if max(high for _, high in bounds) <= slack * (1 + TOLERANCE):
        return Verdict.PROVED
    return Verdict.INCONCLUSIVE


def pair_losses(mechanism: Mechanism, pair: Pair) -> list[Loss] | None:
    """The exact losses of one pair in its order; None without a law that can be listed."""
    if mechanism.law is None and mechanism.privacy_loss is None:
        return None
    try:
        return _Laws(mechanism).losses(pair)
    except NotListable:
        return None


class _Laws:
    """Laws of databases, each computed once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.known: dict[bytes, Law] = {}
        # Pairs share their databases, so most are the very object seen before; it is kept here.
        self.seen: dict[int, tuple[Database, Law]] = {}
        self.summed: dict[tuple[float, tuple[bytes, ...]], tuple[float, float]] = {}

    def law(self, database: Database) -> Law:
        if id(database) not in self.seen:
            key = canonical(database)
            if key not in self.known and self.mechanism.law is not None:
                self.known[key] = self.mechanism.law(database)
            self.seen[id(database)] = database, self.known[key]
        return self.seen[id(database)][1]

    def losses(self, pair: Pair) -> list[Loss]:
        if self.mechanism.privacy_loss is not None:
            return [self.mechanism.privacy_loss(pair.database, pair.neighbour)]
        return losses_of(self.law(pair.database), self.law(pair.neighbour))

    def deltas(self, parts: list[Loss], epsilon: float) -> tuple[float, float]:
        """Bounds of delta at `epsilon`; equal losses are summed once."""
        key = epsilon, tuple(sorted(_named(part) for part in parts))
        if key not in self.summed:
            self.summed[key] = delta_bounds(parts, epsilon)
        return self.summed[key]


def _named(part: Loss) -> bytes:
    """What tells one loss from another, in a few bytes."""
    if isinstance(part, LaplaceShift | GaussianShift):
        return repr(part).encode()
    digest = blake2b(repr(part.infinite).encode(), digest_size=16)
    for numbers in (part.losses, part.probabilities):
        digest.update(np.asarray(numbers, dtype=float).tobytes())
    return digest.digest()


def _pairs(
    mechanism: Mechanism, claim: PrivacyClaim, given: tuple[Pair, ...], most: int
) -> tuple[list[Pair], str]:
    domain, relation, distance = mechanism.databases, claim.relation, claim.distance
    found: list[Pair] = []
    scope = ""
    if isinstance(domain, Rows | Histogram | Value):
        enumerated = universe(domain, relation, distance, most)
        found, scope = list(enumerated.pairs), enumerated.scope
    if domain is not None:
        found += pair_source(domain, relation, distance, 0).templates[:HAND_MADE]
    found += [Pair(*example) for example in claim.examples]
    judged = {canonical((pair.database, pair.neighbour)): pair for pair in [*found, *given]}
    more = len(judged) - (len(enumerated.pairs) if scope else 0)
    extra = f"{more} hand-made pairs" if more > 0 else ""
    return list(judged.values()), " and ".join(filter(None, (scope, extra)))
