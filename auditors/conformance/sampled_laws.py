"""Laws of one number that samples are held against, by their distribution functions or as text.

A law answers two questions for any x, P(X <= x) and P(X < x), each with a lower and an upper
bound. For named laws the two bounds agree; a sum of laws is bracketed from both sides on a fine
partition, so that a test which uses the bound in its own disfavour stays valid.

A law can be written as text, such as "discrete-laplace(20) + discrete-laplace(20)". The text is
read as an expression and walked; nothing in it is ever run. A law is a name with numbers, a sum or
a difference of independent laws, a number times a law or a law plus a number, or a mixture:
mix(0.9, laplace(1), 0.1, gaussian(5)). A name after "scipy." is a distribution of scipy.stats with
its own arguments.
"""

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import erf, exp, expm1, inf, isfinite, sqrt
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgument

Floats = NDArray[np.float64]
Bracket = tuple[Floats, Floats]

SLACK = 1e-12
"""Absolute error allowed to the floating-point arithmetic behind any probability."""
CELLS = 4096
"""Cells of the law that a sum is bracketed on."""
FAR = 1e-15
"""Probability left outside on either side where a law is cut off."""
MOST_ATOMS = 1 << 18
"""Values of a discrete law that are listed, at most."""
MOST_TEXT = 2000
"""Characters of the text of a law."""
MOST_NODES = 200
"""Parts of the expression of a law."""


class SampledLaw(Protocol):
    """A law on numbers; `lattice` is (start, step) if it sits on start + step * integers."""

    @property
    def lattice(self) -> tuple[float, float] | None:
        """Where its atoms can lie, None for a law with other values."""

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X <= x)."""

    def below(self, x: Floats) -> Bracket:
        """Bounds on P(X < x)."""

    def quantile(self, share: float) -> float:
        """A number with about this much probability below; used to choose cells, never to test."""


def _exactly(values: Floats) -> Bracket:
    return np.clip(values - SLACK, 0, 1), np.clip(values + SLACK, 0, 1)


def _bisected(law: SampledLaw, share: float, start: float) -> float:
    low, high, width = start, start, 1.0
    while law.up_to(np.array([low]))[0][0] > share and width < 1e300:
        low, width = low - width, 2 * width
    width = 1.0
    while law.up_to(np.array([high]))[1][0] < share and width < 1e300:
        high, width = high + width, 2 * width
    while high - low > 1e-4 * (1 + min(abs(low), abs(high))):
        middle = low + (high - low) / 2
        if law.up_to(np.array([middle]))[0][0] < share:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Continuous:
    """A law given by its continuous distribution function."""

    cdf: Callable[[Floats], Floats]
    middle: float = 0.0

    lattice = None

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X <= x)."""
        return _exactly(np.asarray(self.cdf(x), dtype=np.float64))

    below = up_to

    def quantile(self, share: float) -> float:
        """Found by halving."""
        return _bisected(self, share, self.middle)


@dataclass(frozen=True)
class LatticeAtoms:
    """Finitely many atoms on a lattice: probability[i] at start + i * step; the rest is tails.

    `missing` bounds the probability that the list leaves out.
    """

    start: float
    step: float
    probabilities: Floats
    missing: float = 0.0

    @property
    def lattice(self) -> tuple[float, float]:
        """Start and step."""
        return self.start, self.step

    @cached_property
    def points(self) -> Floats:
        """Where the atoms are."""
        places = np.arange(len(self.probabilities), dtype=np.float64)
        return np.asarray(self.start + self.step * places, dtype=np.float64)

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.probabilities)])

    def _bracket(self, x: Floats, side: str) -> Bracket:
        # Half a step of room, so that rounding in start + i * step moves no atom across x.
        room = 1e-6 * self.step * (1 if side == "right" else -1)
        places = np.searchsorted(self.points, np.asarray(x) + room, side=side)  # type: ignore[call-overload]
        sums = self._sums[places]
        return np.clip(sums - SLACK, 0, 1), np.clip(sums + self.missing + SLACK, 0, 1)

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X <= x)."""
        return self._bracket(x, "right")

    def below(self, x: Floats) -> Bracket:
        """Bounds on P(X < x)."""
        return self._bracket(x, "left")

    def quantile(self, share: float) -> float:
        """The atom at which this much is reached."""
        place = int(np.searchsorted(self._sums[1:], share))
        return float(self.points[min(place, len(self.points) - 1)])


@dataclass(frozen=True)
class Moved:
    """scale * X + shift; scale may be negative."""

    law: SampledLaw
    scale: float
    shift: float

    @property
    def lattice(self) -> tuple[float, float] | None:
        """That of X, moved."""
        if self.law.lattice is None:
            return None
        start, step = self.law.lattice
        return self.scale * start + self.shift, abs(self.scale) * step

    def _mapped(self, x: Floats, strict: bool) -> Bracket:
        inner = (np.asarray(x, dtype=float) - self.shift) / self.scale
        if self.scale > 0:
            return self.law.below(inner) if strict else self.law.up_to(inner)
        low, high = self.law.up_to(inner) if strict else self.law.below(inner)
        return 1 - high, 1 - low

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X <= x)."""
        return self._mapped(x, strict=False)

    def below(self, x: Floats) -> Bracket:
        """Bounds on P(X < x)."""
        return self._mapped(x, strict=True)

    def quantile(self, share: float) -> float:
        """That of X, moved."""
        inner = self.law.quantile(share if self.scale > 0 else 1 - share)
        return self.scale * inner + self.shift


@dataclass(frozen=True)
class Mixture:
    """One of several laws, with these probabilities."""

    weights: tuple[float, ...]
    laws: tuple[SampledLaw, ...]

    @property
    def lattice(self) -> tuple[float, float] | None:
        """The common lattice, if all have the same."""
        found = {law.lattice for law in self.laws}
        return found.pop() if len(found) == 1 else None

    def _mixed(self, brackets: list[Bracket]) -> Bracket:
        pairs = list(zip(self.weights, brackets, strict=True))
        return (
            np.sum([weight * low for weight, (low, _) in pairs], axis=0),
            np.sum([weight * high for weight, (_, high) in pairs], axis=0),
        )

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X <= x)."""
        return self._mixed([law.up_to(x) for law in self.laws])

    def below(self, x: Floats) -> Bracket:
        """Bounds on P(X < x)."""
        return self._mixed([law.below(x) for law in self.laws])

    def quantile(self, share: float) -> float:
        """Found by halving."""
        return _bisected(self, share, self.laws[0].quantile(0.5))


@dataclass(frozen=True)
class Sum:
    """X + Y, independent; X is cut into cells, and each end of a cell bounds the sum."""

    first: SampledLaw
    second: SampledLaw

    lattice = None

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, float]:
        """Ends of the cells of X, their probabilities, and what lies outside."""
        low, high = self.first.quantile(FAR), self.first.quantile(1 - FAR)
        inner = [self.first.quantile(share) for share in np.linspace(0.001, 0.999, 65)]
        even = np.linspace(low, high, CELLS - len(inner))
        edges = np.unique(np.concatenate([even, inner, [low, high]]))
        if isinstance(self.first, LatticeAtoms):
            return self.first.points, self.first.probabilities, self.first.missing
        sums = np.mean(self.first.up_to(edges), axis=0)
        inside = np.diff(sums)
        return edges, np.maximum(inside, 0), float(max(0.0, 1 - inside.sum())) + CELLS * SLACK

    def _summed(self, x: Floats, strict: bool) -> Bracket:
        edges, weights, outside = self._cells
        ends = (edges, edges) if len(edges) == len(weights) else (edges[1:], edges[:-1])
        ask = self.second.below if strict else self.second.up_to
        low, high = np.empty(len(x)), np.empty(len(x))
        for i, point in enumerate(np.asarray(x, dtype=float)):
            # For X in a cell, x - X lies between x - its right end and x - its left end.
            low[i] = float(weights @ ask(point - ends[0])[0])
            high[i] = float(weights @ ask(point - ends[1])[1])
        return np.clip(low - SLACK, 0, 1), np.clip(high + outside + SLACK, 0, 1)

    def up_to(self, x: Floats) -> Bracket:
        """Bounds on P(X + Y <= x)."""
        return self._summed(x, strict=False)

    def below(self, x: Floats) -> Bracket:
        """Bounds on P(X + Y < x)."""
        return self._summed(x, strict=True)

    def quantile(self, share: float) -> float:
        """Found by halving."""
        return _bisected(self, share, self.first.quantile(0.5) + self.second.quantile(0.5))


def summed(first: SampledLaw, second: SampledLaw) -> SampledLaw:
    """The law of an independent sum: exact where both sit on one lattice, else bracketed."""
    if isinstance(first, Moved) and not isinstance(second, Moved):
        return (
            Moved(summed(Moved(first.law, first.scale, 0.0), second), 1.0, first.shift)
            if (first.shift)
            else _added(first, second)
        )
    return _added(first, second)


def _added(first: SampledLaw, second: SampledLaw) -> SampledLaw:
    one, two = as_atoms(first), as_atoms(second)
    if one is not None and two is not None and np.isclose(one.step, two.step, rtol=1e-12, atol=0):
        # Direct convolution: only sums of positive terms, so every cell keeps its precision.
        probabilities = np.convolve(one.probabilities, two.probabilities)
        missing = one.missing + two.missing
        return LatticeAtoms(one.start + two.start, one.step, probabilities, missing)
    # The one with atoms is cut into them; continuous laws are cut into cells.
    return Sum(one, second) if one is not None else Sum(two, first) if two else Sum(first, second)


def as_atoms(law: SampledLaw) -> LatticeAtoms | None:
    """The law as a list of atoms, if it is one."""
    if isinstance(law, LatticeAtoms):
        return law
    if isinstance(law, Moved):
        inner = as_atoms(law.law)
        if inner is not None:
            points = law.scale * inner.points + law.shift
            step = abs(law.scale) * inner.step
            if law.scale > 0:
                return LatticeAtoms(float(points[0]), step, inner.probabilities, inner.missing)
            return LatticeAtoms(float(points[-1]), step, inner.probabilities[::-1], inner.missing)
    return None


def laplace(scale: float) -> SampledLaw:
    """Laplace noise: density exp(-|x| / scale) / (2 scale)."""

    def cdf(x: Floats) -> Floats:
        half = 0.5 * np.exp(-np.abs(x) / scale)
        return np.asarray(np.where(x < 0, half, 1 - half), dtype=np.float64)

    return Continuous(cdf)


def gaussian(sigma: float) -> SampledLaw:
    """Gaussian noise of standard deviation sigma."""
    from scipy.special import ndtr

    return Continuous(lambda x: ndtr(np.asarray(x, dtype=float) / sigma))


def uniform(low: float, high: float) -> SampledLaw:
    """Uniform on [low, high]."""
    return Continuous(lambda x: np.clip((x - low) / (high - low), 0, 1), (low + high) / 2)


def discrete_laplace(scale: float) -> SampledLaw:
    """Whole numbers with probability proportional to exp(-|k| / scale)."""
    most = _reach(int(60 * scale) + 2)
    k = np.arange(-most, most + 1)
    ratio = exp(-1 / scale)
    head = -expm1(-1 / scale) / (1 + ratio)
    return LatticeAtoms(
        float(-most), 1.0, head * np.exp(-np.abs(k) / scale), 2 * exp(-most / scale)
    )


def discrete_gaussian(sigma: float) -> SampledLaw:
    """Whole numbers with probability proportional to exp(-k^2 / (2 sigma^2))."""
    most = _reach(int(12 * sigma) + 2)
    k = np.arange(-most, most + 1)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    return LatticeAtoms(
        float(-most), 1.0, weights / weights.sum(), 1 - erf(most / (sqrt(2) * sigma))
    )


def bernoulli(p: float) -> SampledLaw:
    """1 with probability p, else 0."""
    return LatticeAtoms(0.0, 1.0, np.array([1 - p, p]))


def constant(value: float) -> SampledLaw:
    """Always this number."""
    return LatticeAtoms(value, 1.0, np.array([1.0]))


def _reach(most: int) -> int:
    if most > MOST_ATOMS:
        raise InvalidArgument(
            f"a discrete law this wide has more than {MOST_ATOMS} values; divide the samples and "
            "the scale by a common factor, or state the continuous law"
        )
    return most


def from_scipy(frozen: object, discrete: bool) -> SampledLaw:
    """A frozen distribution of scipy.stats."""
    cdf: Callable[[Floats], Floats] = frozen.cdf  # type: ignore[attr-defined]
    if not discrete:
        return Continuous(cdf, float(frozen.median()))  # type: ignore[attr-defined]
    low, high = (float(v) for v in frozen.ppf([FAR, 1 - FAR]))  # type: ignore[attr-defined]
    support = frozen.support()  # type: ignore[attr-defined]
    low, high = max(low - 1, support[0]), min(high + 1, support[1])
    if not (-inf < low <= high < inf):
        raise InvalidArgument("the law spreads too far to list its values")
    _reach(int(high - low))
    points = np.arange(low, high + 1)
    chances = np.asarray(frozen.pmf(points))  # type: ignore[attr-defined]
    return LatticeAtoms(float(low), 1.0, chances, max(0.0, 1 - float(chances.sum())))


LAWS: Mapping[str, Callable[..., SampledLaw]] = MappingProxyType({
    "laplace": laplace,
    "gaussian": gaussian,
    "normal": gaussian,
    "uniform": uniform,
    "discrete-laplace": discrete_laplace,
    "geometric-noise": discrete_laplace,
    "discrete-gaussian": discrete_gaussian,
    "bernoulli": bernoulli,
    "constant": constant,
})  # fmt: skip


def parse_law(text: str) -> SampledLaw:
    """The law that a text states; InvalidArgument with the part that is not understood."""
    if len(text) > MOST_TEXT:
        raise InvalidArgument(f"the law has {len(text)} characters; expected at most {MOST_TEXT}")
    written = text.strip()
    for name in LAWS:
        # A hyphen inside a name is no minus.
        written = written.replace(name, name.replace("-", "_"))
    try:
        tree = ast.parse(written, mode="eval").body
        count = sum(1 for _ in ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unclear(text, "it is not an expression") from None
    if count > MOST_NODES:
        raise _unclear(text, "it has too many parts")
    found = _read(tree, text)
    if not isinstance(found, float):
        return found
    raise _unclear(text, "it is a number; write constant(...) for a law that never varies")


def _unclear(text: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f'the law "{text:.120}" is not understood: {why}; expected something like '
        '"discrete-laplace(20) + discrete-laplace(20)", with '
        f"{', '.join(LAWS)}, mix(...) or scipy.NAME(...)"
    )


def _read(node: ast.expr, text: str) -> SampledLaw | float:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value) if isfinite(value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand, text)
            return -inner if isinstance(inner, float) else Moved(inner, -1.0, 0.0)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(_read(left, text), op, _read(right, text), text)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _called(function, arguments, keywords, text)
    if isinstance(node, ast.Name) and node.id in LAWS:
        raise _unclear(text, f'"{node.id}" needs its numbers, as "{node.id}(2)"')
    raise _unclear(text, f'"{ast.unparse(node)}" is neither a law nor a number')


def _combined(
    one: SampledLaw | float, op: ast.operator, two: SampledLaw | float, text: str
) -> SampledLaw | float:
    match op:
        case ast.Add() | ast.Sub():
            sign = 1.0 if isinstance(op, ast.Add) else -1.0
            if isinstance(two, float):
                return one + sign * two if isinstance(one, float) else Moved(one, 1.0, sign * two)
            if isinstance(one, float):
                return Moved(two, sign, one)
            return summed(one, two if sign > 0 else Moved(two, -1.0, 0.0))
        case ast.Mult() | ast.Div():
            if isinstance(op, ast.Div) and isinstance(two, float) and two != 0:
                two = 1 / two
            elif isinstance(op, ast.Div):
                raise _unclear(text, "a law can be divided by a number other than 0 only")
            if isinstance(one, float) and isinstance(two, float):
                return one * two
            if isinstance(one, float) or isinstance(two, float):
                number, law = (one, two) if isinstance(one, float) else (two, one)
                if number == 0:
                    raise _unclear(text, "a law times 0 never varies; write constant(0)")
                return Moved(law, number, 0.0)  # type: ignore[arg-type]
            raise _unclear(text, "the product of two laws is not one of those that can be tested")
    raise _unclear(text, "laws are joined by + and -, and scaled by * and / with a number")


def _called(
    function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword], text: str
) -> SampledLaw:
    match function:
        case ast.Name(id="mix"):
            return _mixture([_read(item, text) for item in arguments], text)
        case ast.Name(id=name) if name.replace("_", "-") in LAWS:
            make: Callable[..., Any] = LAWS[name.replace("_", "-")]
        case ast.Attribute(value=ast.Name(id="scipy" | "stats"), attr=name):
            return _scipy(name, *_numbers(arguments, keywords, text), text)
        case _:
            name = ast.unparse(function)
            close = get_close_matches(name.replace("_", "-"), LAWS, 1)
            hint = f' (did you mean "{close[0]}"?)' if close else ""
            raise _unclear(text, f'there is no law "{name}"{hint}')
    numbers, named = _numbers(arguments, keywords, text)
    label = name.replace("_", "-")
    try:
        inspect.signature(make).bind(*numbers, **named)
    except TypeError:
        wanted = ", ".join(inspect.signature(make).parameters)
        raise _unclear(text, f'"{label}" takes the numbers ({wanted})') from None
    _require(label, [*numbers, *named.values()], text)
    return make(*numbers, **named)


def _require(label: str, numbers: list[float], text: str) -> None:
    if label == "bernoulli" and not 0 <= numbers[0] <= 1:
        raise _unclear(text, "a probability lies between 0 and 1")
    if label == "uniform" and not numbers[0] < numbers[1]:
        raise _unclear(text, "uniform takes its lower end first")
    if label not in ("bernoulli", "uniform", "constant") and numbers[0] <= 0:
        raise _unclear(text, f"the scale of {label} must be positive")


def _numbers(
    arguments: list[ast.expr], keywords: list[ast.keyword], text: str
) -> tuple[list[float], dict[str, float]]:
    read = [_read(item, text) for item in arguments]
    named = {str(item.arg): _read(item.value, text) for item in keywords}
    if not all(isinstance(value, float) for value in [*read, *named.values()]):
        raise _unclear(text, "the arguments of a law are numbers")
    return read, named  # type: ignore[return-value]


def _mixture(parts: list[SampledLaw | float], text: str) -> SampledLaw:
    weights, inner = parts[::2], parts[1::2]
    if (
        not inner
        or len(weights) != len(inner)
        or not all(isinstance(weight, float) and weight >= 0 for weight in weights)
        or any(isinstance(law, float) for law in inner)
        or abs(sum(weights) - 1) > 1e-9  # type: ignore[arg-type]
    ):
        raise _unclear(text, "mix takes weights that add to 1, each followed by its law")
    return Mixture(tuple(weights), tuple(inner))  # type: ignore[arg-type]


def _scipy(name: str, numbers: list[float], named: dict[str, float], text: str) -> SampledLaw:
    # Loaded for this one use: it takes a second, and no other command waits for it.
    from scipy import stats

    made: Any = getattr(stats, name, None)
    discrete = isinstance(made, stats.rv_discrete)
    if name.startswith("_") or not (discrete or isinstance(made, stats.rv_continuous)):
        raise _unclear(text, f'scipy.stats has no distribution "{name}"')
    try:
        frozen = getattr(stats, name)(*numbers, **named)
        if not isfinite(float(frozen.median())):
            raise ValueError
    except (TypeError, ValueError):
        raise _unclear(text, f"scipy.stats.{name} does not take these numbers") from None
    return from_scipy(frozen, discrete)
