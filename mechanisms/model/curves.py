"""Privacy as a curve: promises that bound every event by an increasing concave function.

P[M(D) in E] <= f(P[M(D') in E]) for every event E is the trade-off form of a promise (Dong, Roth
and Su, 2022). A concave f lies below each of its supporting lines, and so every curve promises
p <= exp(epsilon) q + delta for a family of (epsilon, delta); together they say what f says. Each
curve here hands out such lines, rounded outwards: what a line promises is never more than what the
curve does, so who refutes the line has refuted the curve.

`line(q)` touches f near q; `scaled(size)` is the curve of the same family with another parameter,
and the curves of a family grow with it. `size` is the parameter claimed: mu, rho, or for curves
that are given by several numbers the factor 1 that multiplies every epsilon.

An accountant's word is a curve too: `points_of` asks it for epsilon at many deltas.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from inspect import isroutine
from math import erfc, exp, expm1, inf, isfinite, isnan, log, log1p, sqrt
from numbers import Real
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

NORMAL = NormalDist()
OUTWARDS = 1e-13
"""More than rounding can take from the delta of a line that is worked out."""
ORDERS = 1 + np.geomspace(1e-3, 1e3, 73)
"""Orders of Renyi divergence at which a bound for all orders is used: fewer promise less."""
LEAST = 1e-9
"""A part of the size claimed below which none is looked for."""
MOMENTS = (1.0, 1.5, 2.0, 4.0, 8.0)
"""Orders at which a rho bounds a moment that is bet on."""
MOST_MOMENTS = 6
"""Orders of a Renyi curve that are bet on; of more, evenly spread ones with both ends."""
STEEP = 27.0
"""A line with a larger epsilon touches its curve below 1e-12."""
LARGEST_LOG = 20.0
"""Moments with a larger logarithm are left to events: no sample shows them."""
Line = tuple[float, float]
"""(epsilon, delta): p <= exp(epsilon) q + delta."""


class Moment(NamedTuple):
    """E_Q phi(dP/dQ) <= `bound` in both orders of P and Q, but for parts of probability `delta`.

    phi(t) = t^order, or t ln t - t + 1 for order 1, whose expectation is the KL divergence.
    """

    order: float
    bound: float
    delta: float


@dataclass(frozen=True, slots=True)
class GaussianCurve:
    """mu-Gaussian differential privacy: f(q) = Phi(Phi^-1(q) + mu) (Dong, Roth and Su, 2022)."""

    parameter: ClassVar[str] = "mu"
    mu: float

    def __post_init__(self) -> None:
        """Reject a mu that is none."""
        _require_positive(mu=self.mu)

    @property
    def size(self) -> float:
        """The mu."""
        return float(self.mu)

    def line(self, q: float) -> Line:
        """The tangent at q."""
        z = NORMAL.inv_cdf(q)
        epsilon = -self.mu * (z + self.mu / 2)
        return epsilon, _outwards(_normal_cdf(z + self.mu) - exp(epsilon) * _normal_cdf(z))

    def scaled(self, size: float) -> "GaussianCurve":
        """Another mu."""
        return GaussianCurve(size)

    def to_json(self) -> Mapping[str, object]:
        """The mu."""
        return {"mu": self.mu}

    def __str__(self) -> str:
        """In a few words."""
        return f"mu {self.mu:g}"


@dataclass(frozen=True, slots=True)
class RenyiCurve:
    """Renyi differential privacy at one or several (alpha, epsilon) (Mironov, 2017).

    An event makes two Bernoulli laws, whose divergence of order alpha is at most epsilon, since
    processing makes it no larger: exp((alpha - 1) epsilon) bounds a convex function of (p, q).
    """

    parameter: ClassVar[str] = "factor"
    bounds: tuple[tuple[float, float], ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Reject orders and divergences that are none."""
        if not self.bounds:
            raise ValueError("renyi takes one or several (alpha, epsilon), got none")
        for alpha, epsilon in self.bounds:
            if not (_is_number(alpha) and 1 < alpha < inf):
                raise ValueError(f"the order alpha must be finite and above 1, got {alpha!r}")
            _require_positive(epsilon=epsilon)
        _require_positive(factor=self.factor)

    @property
    def size(self) -> float:
        """The factor of every epsilon."""
        return self.factor

    def line(self, q: float) -> Line:
        """The line at q of the order that allows least there."""
        orders, divergences = np.array(self.bounds, dtype=float).T
        return renyi_line(q, orders, self.factor * divergences)

    def scaled(self, size: float) -> "RenyiCurve":
        """Every epsilon times `size`."""
        return replace(self, factor=size)

    def to_json(self) -> Mapping[str, object]:
        """The orders and their epsilons."""
        return {"renyi": [[alpha, epsilon * self.factor] for alpha, epsilon in self.bounds]}

    def __str__(self) -> str:
        """In a few words."""
        told = (f"epsilon {self.factor * e:g} at order {a:g}" for a, e in self.bounds)
        return f"Renyi {', '.join(told)}"


@dataclass(frozen=True, slots=True)
class ConcentratedCurve:
    """rho-zero-concentrated differential privacy, delta-approximate (Bun and Steinke, 2016).

    D_alpha <= rho alpha for every alpha > 1; with `delta` between the two laws without a part of
    probability at most delta on either side.
    """

    parameter: ClassVar[str] = "rho"
    rho: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Reject numbers outside their range."""
        _require_positive(rho=self.rho)
        if not (_is_number(self.delta) and 0 <= self.delta < 1):
            raise ValueError(f"delta must be in [0, 1), got {self.delta!r}")

    @property
    def size(self) -> float:
        """The rho."""
        return float(self.rho)

    def line(self, q: float) -> Line:
        """The line at q of the order that allows least there.

        With delta: p <= delta + (1 - delta) p' and q >= (1 - delta) q' for the laws without the
        part left out, so p' <= e^epsilon q' + d gives p <= e^epsilon q + delta + (1 - delta) d.
        """
        inner = min(q / (1 - self.delta), (1 + q) / 2)
        epsilon, delta = renyi_line(inner, ORDERS, self.rho * ORDERS)
        return epsilon, min(self.delta + (1 - self.delta) * delta, 1.0)

    def scaled(self, size: float) -> "ConcentratedCurve":
        """Another rho."""
        return replace(self, rho=size)

    def to_json(self) -> Mapping[str, object]:
        """The rho, and delta if there is one."""
        return {"rho": self.rho, **({"delta": self.delta} if self.delta else {})}

    def __str__(self) -> str:
        """In a few words."""
        return f"rho {self.rho:g}" + (f", delta {self.delta:g}" if self.delta else "")


@dataclass(frozen=True, slots=True)
class PointsCurve:
    """All of several (epsilon, delta) at once: f is the least of their lines."""

    parameter: ClassVar[str] = "factor"
    points: tuple[Line, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Reject points that are none."""
        if not self.points:
            raise ValueError("a curve takes one or several (epsilon, delta), got none")
        for epsilon, delta in self.points:
            if not (_is_number(epsilon) and 0 <= epsilon < inf):
                raise ValueError(f"epsilon must be finite and at least 0 (nats), got {epsilon!r}")
            if not (_is_number(delta) and 0 <= delta < 1):
                raise ValueError(f"delta must be in [0, 1), got {delta!r}")
        _require_positive(factor=self.factor)

    @property
    def size(self) -> float:
        """The factor of every epsilon."""
        return self.factor

    def line(self, q: float) -> Line:
        """The line that allows least at q."""
        lines = [(self.factor * epsilon, delta) for epsilon, delta in self.points]
        return min(lines, key=lambda one: exp(min(one[0], 600.0)) * q + one[1])

    def scaled(self, size: float) -> "PointsCurve":
        """Every epsilon times `size`."""
        return replace(self, factor=size)

    def to_json(self) -> Mapping[str, object]:
        """The points."""
        return {"points": [[self.factor * epsilon, delta] for epsilon, delta in self.points]}

    def __str__(self) -> str:
        """In a few words."""
        if len(self.points) > 3:
            return f"the curve of {len(self.points)} points"
        told = (f"epsilon {self.factor * e:g} at delta {d:g}" for e, d in self.points)
        return f"the curve of {', '.join(told)}"


Curve = GaussianCurve | RenyiCurve | ConcentratedCurve | PointsCurve


def renyi_line(q: float, orders: object, divergences: object) -> Line:
    """A line above every p with D_alpha(p || q) <= its bound, at the order that allows least at q.

    G(p, q) = p^a q^(1-a) + (1-p)^a (1-q)^(1-a) = exp((a - 1) D_a) is convex in both. With p_0 from
    halving, so that nothing rests on how near it came, every (p, q) with G <= c has
    G_0 + G_p (p - p_0) + G_q (q - q_0) <= c: that is the line.
    """
    orders, divergences = np.asarray(orders, dtype=float), np.asarray(divergences, dtype=float)
    low, high = np.full(orders.shape, q), np.ones(orders.shape)
    for _ in range(36):
        middle = (low + high) / 2
        # ln of G, from its larger term.
        one = orders * np.log(middle) + (1 - orders) * log(q)
        two = orders * np.log1p(-np.minimum(middle, 1 - 1e-16)) + (1 - orders) * log1p(-q)
        within = np.logaddexp(one, two) <= (orders - 1) * divergences
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    least = int(np.argmin(high))
    a, bound = float(orders[least]), float(divergences[least])
    p = min(float(high[least]), 1 - 1e-12)
    if p <= q:
        return 0.0, 1.0
    # Everything divided by (p / q)^(a - 1).
    ratio, other = p / q, (1 - p) / (1 - q)
    rest = -expm1((a - 1) * (log(other) - log(ratio)))  # 1 - (other / ratio)^(a - 1)
    slope = (a - 1) * (ratio - (1 - rest) * other) / (a * rest)
    # Beyond e^700 the order allows all, and so does the line.
    left = exp(min((a - 1) * (bound - log(ratio)), 700.0)) - p - (1 - p) * (1 - rest)
    return log(slope), _outwards(p + left / (a * rest) - slope * q)


def grouped_line(curve: Curve, q: float, steps: int) -> Line:
    """The line for databases `steps` steps apart: f applied `steps` times, line after line."""
    epsilon, delta, at = 0.0, 0.0, q
    for _ in range(steps):
        one, extra = curve.line(min(at, 1 - 1e-9))
        epsilon, delta = epsilon + one, exp(min(one, 600.0)) * delta + extra
        at = min(exp(min(one, 600.0)) * at + extra, 1 - 1e-9)
    return epsilon, min(delta, 1.0)


@lru_cache(maxsize=256)
def moments_of(curve: Curve, steps: int = 1) -> tuple[Moment, ...]:
    """Moments of the likelihood ratio that a curve bounds, for databases `steps` steps apart.

    mu promises rho = mu^2 / 2, and k steps k^2 times the rho (Bun and Steinke, 2016). A divergence
    grows with its order, so that of order 1 is at most the rho. None for points, nor for several
    steps of Renyi or of a rho with delta.
    """
    delta, orders = 0.0, [(order, order) for order in MOMENTS]
    match curve:
        case GaussianCurve():
            times = (steps * curve.mu) ** 2 / 2
        case ConcentratedCurve() if steps == 1 or not curve.delta:
            times, delta = steps**2 * curve.rho, float(curve.delta)
        case RenyiCurve() if steps == 1:
            known = sorted(set(curve.bounds))
            places = np.unique(np.linspace(0, len(known) - 1, MOST_MOMENTS).round().astype(int))
            times, orders = curve.factor, [known[place] for place in places]
        case _:
            return ()
    found = ((float(a), float(times * e)) for a, e in orders)
    return tuple(
        Moment(a, (e if a == 1 else exp((a - 1) * e)) * (1 + OUTWARDS), delta)
        for a, e in found
        if (a - 1) * e <= LARGEST_LOG
    )


TOUCHES = tuple((0.5 * 1.2 ** -np.arange(73)).round(9).tolist())
"""Probabilities at which lines of a curve are looked at, a fixed list: .5 down to 1e-6."""
RARE = tuple((10.0 ** -np.arange(7.0, 250.0, 3.0)).tolist())
"""The same of a curve that allows nearly all at each of these, such as rho 50."""


@lru_cache(maxsize=256)
def lines_of(curve: Curve, steps: int = 1) -> tuple[Line, ...]:
    """The lines of a curve that an audit may judge, the flattest first; never empty.

    A line with epsilon below 0 is left out: it is that of the complement in the other order.
    """
    for touches in (TOUCHES, RARE):
        found = [grouped_line(curve, q, steps) for q in touches]
        kept = [(float(e), float(d)) for e, d in found if e >= 0 and 0 <= d < 1 and isfinite(e)]
        if kept:
            return tuple(dict.fromkeys(kept))
    raise ValueError(f"{curve} promises nothing that draws could refute")


@lru_cache(maxsize=256)
def size_lower(curve: Curve, epsilon: float, delta: float, steps: int = 1) -> float:
    """The parameter below which the curve denies what was shown: more than `epsilon` at `delta`.

    Who keeps a curve of the family keeps each of its lines. The curves that have a line with no
    larger epsilon and no larger delta are contradicted; the result is the end of these, rounded
    down, and 0 if there are none.
    """
    if epsilon < 0:
        return 0.0

    def denied(size: float) -> bool:
        one = curve.scaled(size)
        first, last = (1e-12, 0.5) if epsilon < STEEP else (RARE[-1], RARE[0])
        # The slope falls with q: the steepest line that is flat enough, by halving of ln q.
        for _ in range(18):
            middle = exp((log(first) + log(last)) / 2)
            steep = grouped_line(one, middle, steps)[0] > epsilon
            first, last = (middle, last) if steep else (first, middle)
        # At the size claimed the line that was judged is one of these.
        known = (last, *TOUCHES, *RARE) if size == curve.size else (last,)
        lines = (grouped_line(one, at, steps) for at in known)
        return any(e <= epsilon and d <= delta for e, d in lines)

    low, high = 0.0, curve.size
    while high < 1e3 * curve.size and denied(high):
        low, high = high, 1.5 * high
    while high - low > 1e-4 * high and high > LEAST * curve.size:
        middle = (low + high) / 2
        low, high = (middle, high) if denied(middle) else (low, middle)
    return low


@lru_cache(maxsize=256)
def size_upper(curve: Curve, p: float, q: float, steps: int = 1) -> float:
    """A parameter from which on the curve allows an event p on one side and q on the other.

    By a line that touches it near q, rounded up; infinite if q is hardly above 0, or if no curve
    of the family up to 1e6 times this one does.
    """
    if q < 1e-12:
        return inf
    at = min(q, 1 - 1e-9)

    def allows(size: float) -> bool:
        epsilon, delta = grouped_line(curve.scaled(size), at, steps)
        return p <= exp(min(epsilon, 600.0)) * q + delta

    low, high = 0.0, curve.size
    while not allows(high):
        low, high = high, 2 * high
        if high > 1e6 * curve.size:
            return inf
    while high - low > 1e-3 * high and high > LEAST * curve.size:
        middle = (low + high) / 2
        low, high = (low, middle) if allows(middle) else (middle, high)
    return high


def curve_of(
    *,
    mu: float | None = None,
    rho: float | None = None,
    renyi: object = None,
    points: object = None,
    delta: float | None = None,
) -> Curve | None:
    """The one curve that was stated; None for none. Raises ValueError for several or a bad one.

    `points` are (epsilon, delta), or an accountant that tells them (`accountants`).
    """
    stated = [name for name, value in (("mu", mu), ("rho", rho), ("renyi", renyi),
              ("curve", points)) if value is not None]  # fmt: skip
    if len(stated) > 1:
        raise ValueError(f"one claim is one curve; give {' or '.join(stated)}")
    if delta is not None and stated and rho is None:
        raise ValueError(f"delta goes with epsilon or rho, and not with {stated[0]}")
    if mu is not None:
        return GaussianCurve(mu)
    if rho is not None:
        return ConcentratedCurve(rho, delta or 0.0)
    if renyi is not None:
        return RenyiCurve(_pairs(renyi, "renyi", "(alpha, epsilon)"))
    if points is not None:
        known = points_of(points)
        return PointsCurve(_pairs(points if known is None else known, "curve", "(epsilon, delta)"))
    return None


def curve_from_json(data: object) -> Curve:
    """The curve that `to_json` wrote; ValueError for anything else."""
    known = {"mu", "rho", "delta", "renyi", "points"}
    if not isinstance(data, Mapping) or not data.keys() <= known:
        raise ValueError(f"a curve is mu, rho, renyi or points, got {data!r:.60}")
    found = curve_of(**data)
    if found is None:
        raise ValueError(f"a curve is mu, rho, renyi or points, got {data!r:.60}")
    return found


def _pairs(given: Any, name: str, what: str) -> tuple[tuple[float, float], ...]:
    try:
        found = tuple((one, two) for one, two in given)
    except (TypeError, ValueError):
        raise ValueError(f"{name} takes one or several pairs {what}, got {given!r:.60}") from None
    if len(found) > 10_000 or not all(_is_number(n) for pair in found for n in pair):
        raise ValueError(f"{name} takes at most 10,000 pairs of numbers {what}, got {given!r:.60}")
    return tuple((float(one), float(two)) for one, two in found)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _require_positive(**given: float) -> None:
    for name, value in given.items():
        if not (_is_number(value) and 0 < value < inf):
            raise ValueError(f"{name} must be a positive finite number, got {value!r}")


def _normal_cdf(z: float) -> float:
    return erfc(-z / sqrt(2)) / 2


def _outwards(delta: float) -> float:
    return min(max(delta, 0.0) + OUTWARDS, 1.0)


DELTAS = tuple(10.0 ** (k / 2) for k in range(-20, 0))
"""Deltas at which epsilon is asked for: 1e-10, two for each power of ten, up to .32."""


def points_of(found: object) -> tuple[tuple[float, float], ...] | None:
    """The points of an accountant, an event, a distribution or a function; None for others.

    Raises ValueError if what was asked fails, answers no number, or knows no finite epsilon.
    """
    ask = _epsilon_at(found)
    if ask is None:
        return None
    name = getattr(found, "__name__", type(found).__name__)
    known = [(_number(ask, delta, name), delta) for delta in DELTAS]
    points = tuple((max(epsilon, 0.0), delta) for epsilon, delta in known if epsilon < inf)
    if not points:
        raise ValueError(f"{name} bounds epsilon at no delta; expected a finite one")
    # Of those where nothing is lost the least delta says it.
    free = [point for point in points if not point[0]]
    return (*(point for point in points if point[0]), *free[:1])


def _number(ask: Callable[[float], float], delta: float, name: str) -> float:
    """Epsilon at a delta; NaN is no bound, so it says nothing, as infinity does."""
    try:
        epsilon = float(ask(delta))
    except Exception as error:
        raise ValueError(
            f"{name} was asked for epsilon at delta {delta:.3g} and raised {type(error).__name__}: "
            f"{str(error)[:200]}; expected a finite number, or infinity if nothing is known"
        ) from error
    return inf if isnan(epsilon) else epsilon


def _epsilon_at(found: object) -> Callable[[float], float] | None:
    """Epsilon at a delta, as the object tells it."""
    for name in ("get_epsilon_for_delta", "get_epsilon"):
        if callable(ask := getattr(found, name, None)):
            told: Callable[[float], float] = ask
            return told
    if isroutine(found) or isinstance(found, partial):
        asked: Callable[[float], float] = found
        return asked
    event = getattr(found, "dp_event", found)
    if not any(one.__module__.startswith("dp_accounting.") for one in type(event).__mro__):
        return None
    pld, rdp = import_module("dp_accounting.pld"), import_module("dp_accounting.rdp")
    for accountant in (pld.PLDAccountant, rdp.RdpAccountant):
        if (made := accountant()).supports(event):
            made.compose(event)
            told = made.get_epsilon
            return told
    raise ValueError(f"no accountant of dp_accounting knows {type(event).__name__}")
