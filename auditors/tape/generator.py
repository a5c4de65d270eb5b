"""The seam: a numpy Generator that answers every question from one place, `asked`.

The tapes of `held` draw and remember; `Playing` gives what it is told, as plain numbers. All are
`numpy.random.Generator`s, so code that looks at the type meets what it expects. `through` leads
the functions of `numpy.random` and of `random` to a tape as well.

Beside it stand the log densities of what a generator draws, as far as the held tape moves it. Each
takes values and the parameters of numpy's method of that name, broadcast; it gives -inf outside
the support. What is not here is replayed as it was drawn, and only if its parameters are equal.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

Floats = NDArray[np.float64]
Drawn = Any
"""What a question is answered with: a number, an array of them, or what else numpy gives."""
Given = Any
"""What the mechanism hands to numpy: a number, an array, or what else numpy takes."""
Draw = Callable[[np.random.Generator], Drawn]
Parameters = tuple[NDArray[Any], ...]
Size = int | tuple[int, ...] | None
Numbers = Floats | float
Wholes = NDArray[np.int64] | int
Places = NDArray[np.intp]
"""Numbers of draws in the value of a call; one alone if they are of one number."""
Place = tuple[str, int]
"""A file and a line of it."""
OTHER = frozenset({
    "bytes", "chisquare", "dirichlet", "f", "hypergeometric", "logseries", "multinomial",
    "multivariate_hypergeometric", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "pareto", "permuted", "power", "rayleigh",
    "triangular", "vonmises", "wald", "weibull", "zipf",
})  # fmt: skip
"""Methods whose values are given again as they are, if their arguments are equal."""


def _laplace(x: Floats, loc: Floats, scale: Floats) -> Floats:
    return -np.abs(x - loc) / scale - np.log(2 * scale)


def _normal(x: Floats, loc: Floats, scale: Floats) -> Floats:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale)


def _gumbel(x: Floats, loc: Floats, scale: Floats) -> Floats:
    z = (x - loc) / scale
    return -z - np.exp(-z) - np.log(scale)


def _logistic(x: Floats, loc: Floats, scale: Floats) -> Floats:
    z = np.abs(x - loc) / scale
    return -z - 2 * np.log1p(np.exp(-z)) - np.log(scale)


def _exponential(x: Floats, scale: Floats) -> Floats:
    return np.where(x >= 0, -x / scale - np.log(scale), -np.inf)


def _gamma(x: Floats, shape: Floats, scale: Floats) -> Floats:
    inside = xlogy(shape - 1, x / scale) - x / scale - gammaln(shape) - np.log(scale)
    return np.where(x > 0, inside, -np.inf)


def _beta(x: Floats, a: Floats, b: Floats) -> Floats:
    inside = xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)
    return np.where((x > 0) & (x < 1), inside, -np.inf)


def _uniform(x: Floats, low: Floats, high: Floats) -> Floats:
    return np.where((x >= low) & (x <= high), -np.log(high - low), -np.inf)


def _standard_cauchy(x: Floats) -> Floats:
    return -np.log1p(x**2)


def _standard_t(x: Floats, df: Floats) -> Floats:
    scale = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(df) / 2
    return scale - (df + 1) / 2 * np.log1p(x**2 / df)


def _whole(x: Floats, inside: NDArray[np.bool_], value: NDArray[np.floating]) -> Floats:
    return np.where(inside & (x == np.floor(x)), value, -np.inf)


def _integers(x: Floats, low: Floats, high: Floats) -> Floats:
    return _whole(x, (x >= low) & (x < high), -np.log(high - low))


def _geometric(x: Floats, p: Floats) -> Floats:
    return _whole(x, x >= 1, xlog1py(x - 1, -p) + np.log(p))


def _poisson(x: Floats, lam: Floats) -> Floats:
    return _whole(x, x >= 0, xlogy(x, lam) - lam - gammaln(x + 1))


def _binomial(x: Floats, n: Floats, p: Floats) -> Floats:
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return _whole(x, (x >= 0) & (x <= n), ways + xlogy(x, p) + xlog1py(n - x, -p))


LOG_DENSITY: dict[str, Callable[..., Floats]] = {
    "laplace": _laplace, "normal": _normal, "gumbel": _gumbel, "logistic": _logistic,
    "exponential": _exponential, "gamma": _gamma, "beta": _beta, "uniform": _uniform,
    "standard_cauchy": _standard_cauchy, "standard_t": _standard_t, "integers": _integers,
    "geometric": _geometric, "poisson": _poisson, "binomial": _binomial,
}  # fmt: skip

PARAMETERS: dict[str, tuple[tuple[str, float | None], ...]] = {
    "laplace": (("loc", 0.0), ("scale", 1.0)), "normal": (("loc", 0.0), ("scale", 1.0)),
    "gumbel": (("loc", 0.0), ("scale", 1.0)), "logistic": (("loc", 0.0), ("scale", 1.0)),
    "exponential": (("scale", 1.0),), "gamma": (("shape", None), ("scale", 1.0)),
    "beta": (("a", None), ("b", None)), "uniform": (("low", 0.0), ("high", 1.0)),
    "standard_cauchy": (), "standard_t": (("df", None),), "geometric": (("p", None),),
    "poisson": (("lam", 1.0),), "binomial": (("n", None), ("p", None)),
}  # fmt: skip
"""Names and defaults of the parameters that stand before `size`."""

WHOLE = frozenset({"integers", "geometric", "poisson", "binomial"})
"""Laws of whole numbers."""
UNITS = {
    "standard_normal": ("normal", (0.0, 1.0)), "standard_exponential": ("exponential", (1.0,)),
    "random": ("uniform", (0.0, 1.0)),
}  # fmt: skip
"""Methods that draw another's law with fixed parameters."""


class Parted(Exception):
    """The run asks for another draw than the one that was recorded at this number."""

    def __init__(self, number: int, words: str, places: Sequence[Place] = ()) -> None:
        super().__init__(words)
        self.number, self.places = number, tuple(places)


class Step(NamedTuple):
    """What was done to a draw under D; `threshold` is where a uniform was compared."""

    places: Places
    k: Numbers
    c: Numbers
    threshold: Floats | None = None


NOTHING: Floats = np.zeros(0)
"""Stands for the numbers of a call whose value is not followed."""
NONE: NDArray[np.bool_] = np.zeros(0, dtype=bool)
"""Stands for what of them is frozen."""


class Call:
    """One question of the mechanism and what was drawn.

    `value` has the shape that was asked for; `steps` are what the mechanism did with it, see
    `held`; `places` are the lines that asked, the innermost first.
    """

    __slots__ = ("asked", "cells", "frozen", "held", "jacobian", "met", "name", "now", "number",
                 "parameters", "places", "scalar", "shared", "steps", "value")  # fmt: skip

    def __init__(
        self, number: int, name: str, parameters: Parameters, value: Drawn, scalar: bool
    ) -> None:
        self.number, self.name, self.parameters = number, name, parameters
        self.value, self.scalar = value, scalar
        self.steps: list[Step] = []
        self.places: tuple[Place, ...] = ()
        self.met: tuple[Place, ...] = ()
        self.asked: dict[int, Floats] = {}
        self.now = self.jacobian = NOTHING
        self.frozen = NONE
        self.cells: Sequence[Floats] = ()
        self.held = self.shared = False

    def begin(self) -> None:
        """Nothing has been done to the value yet."""
        flat = np.asarray(self.value, dtype=float).ravel()
        self.now, self.jacobian = flat.copy(), np.zeros(flat.size)
        self.frozen = np.zeros(flat.size, dtype=bool)

    @property
    def moved(self) -> Drawn:
        """The value as it has become, of the type that was drawn."""
        if self.now is NOTHING or not isinstance(self.value, np.ndarray):
            return self.value
        return self.now.reshape(self.value.shape).astype(self.value.dtype)


class Seam(np.random.Generator):
    """A Generator all of whose methods end in `asked`, which draws; `calls` are the questions."""

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)
        self.inner = np.random.Generator(bits)
        self.calls: list[Call] = []

    def __reduce__(self) -> Any:
        """A copy is a plain generator: what is drawn from it is not on the tape."""
        return np.random.Generator, (self.bit_generator,)

    def asked(self, name: str, parameters: Parameters, draw: Draw, *, scalar: bool) -> Drawn:
        """What is drawn by the law of this name; `draw` makes a plain array of it."""
        return plain_like(draw(self.inner), scalar)

    def _spawn(self, n_children: int) -> list[object]:
        """Children that draw from the same tape."""
        return [self] * n_children

    def _known(self, name: str, parameters: tuple[ArrayLike | None, ...], size: Size) -> Drawn:
        given = tuple(np.asarray(one, dtype=float) for one in parameters)
        exact = [one.astype(int) if name == "binomial" and not k else one
                 for k, one in enumerate(given)]  # fmt: skip
        scalar = size is None and not any(one.ndim for one in given)

        def draw(inner: np.random.Generator) -> Drawn:
            return np.asarray(getattr(inner, name)(*exact, size=size))

        return self.asked(name, given, draw, scalar=scalar)

    def _integers(self, low: Wholes, high: Wholes | None = None, size: Size = None,
                  dtype: DTypeLike = np.int64,
                 endpoint: bool = False) -> object:  # fmt: skip
        """As numpy's."""
        ends = (0, low) if high is None else (low, high)
        given = tuple(np.asarray(one, dtype=float) for one in (ends[0], np.add(ends[1], endpoint)))
        scalar = size is None and not any(one.ndim for one in given)

        def draw(inner: np.random.Generator) -> Drawn:
            return np.asarray(inner.integers(*ends, size=size, dtype=dtype, endpoint=endpoint))

        return self.asked("integers", given, draw, scalar=scalar)

    def _choice(
        self,
        a: ArrayLike,
        size: Size = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Drawn:
        """As numpy's; places among the choices are what is drawn."""
        plain = np.asarray(a)
        count = int(plain) if plain.ndim == 0 else plain.shape[axis]
        weights = None if p is None else np.asarray(p, dtype=float)

        def draw(inner: np.random.Generator) -> Drawn:
            return np.asarray(inner.choice(count, size, replace, weights, 0, shuffle))

        known = np.full(count, 1 / max(count, 1)) if weights is None else weights
        name = "choice" if replace or size is None else "sample"
        places = np.asarray(self.asked(name, (known,), draw, scalar=False))
        made = places if plain.ndim == 0 else np.take(plain, np.minimum(places, count - 1), axis)
        return made[()] if size is None else made

    def _permutation(self, x: ArrayLike, axis: int = 0) -> object:
        """As numpy's."""
        plain = np.asarray(x)
        count = int(plain) if plain.ndim == 0 else plain.shape[axis]
        order = self._order(count)
        return order if plain.ndim == 0 else np.take(plain, order, axis)

    def _shuffle(self, x: Given, axis: int = 0) -> None:
        """As numpy's."""
        order = self._order(np.shape(x)[axis] if isinstance(x, np.ndarray) else len(x))
        x[:] = np.take(x, order, axis) if isinstance(x, np.ndarray) else [x[i] for i in order]

    def _order(self, count: int) -> Places:
        return np.array(
            self.asked("permutation", (np.asarray(count),),
                       lambda inner: inner.permutation(count), scalar=False)
        )  # fmt: skip

    def _lognormal(
        self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: Size = None
    ) -> object:
        """As numpy's."""
        return np.exp(self._known("normal", (mean, sigma), size))

    def _standard_gamma(self, shape: ArrayLike, size: Size = None, dtype: DTypeLike = float,
                        out: Floats | None = None) -> object:  # fmt: skip
        """As numpy's, always in double precision."""
        return _into(out, self._known("gamma", (shape, 1.0), size))


def _into(out: Floats | None, made: Drawn) -> object:
    if out is None:
        return made
    out[...] = made
    return out


def _of(name: str, parameters: tuple[tuple[str, float | None], ...]) -> Callable[..., object]:
    names = [one for one, _ in parameters]

    def method(self: Seam, *given: Given, **named: Given) -> object:
        size = named.pop("size", given[len(names)] if len(given) > len(names) else None)
        named.update(zip(names, given, strict=False))
        return self._known(name, tuple(named.get(one, usual) for one, usual in parameters), size)

    return method


def _unit(law: str, parameters: tuple[float, ...]) -> Callable[..., object]:
    def method(self: Seam, size: Size = None, dtype: DTypeLike = float, method: object = None,
               out: Floats | None = None) -> object:  # fmt: skip
        size = np.shape(out) if out is not None else size
        return _into(out, self._known(law, parameters, size))

    return method


def _other(name: str) -> Callable[..., object]:
    def method(self: Seam, *given: Given, **named: Given) -> object:
        def draw(inner: np.random.Generator) -> Drawn:
            return getattr(inner, name)(*given, **named)

        key = (*map(np.asarray, given), *(np.asarray(named[one]) for one in sorted(named)))
        return self.asked(name, key, draw, scalar=False)

    return method


for _name in (
    "integers",
    "choice",
    "permutation",
    "shuffle",
    "lognormal",
    "standard_gamma",
    "spawn",
):
    setattr(Seam, _name, getattr(Seam, f"_{_name}"))
for _name, _parameters in PARAMETERS.items():
    setattr(Seam, _name, _of(_name, _parameters))
for _name, (_law, _values) in UNITS.items():
    setattr(Seam, _name, _unit(_law, _values))
for _name in OTHER:
    setattr(Seam, _name, _other(_name))


class Playing(Seam):
    """Gives the values it is told, in their order, as numpy would."""

    def __init__(
        self, bits: np.random.BitGenerator, names: Sequence[str], values: Sequence[Drawn]
    ) -> None:
        super().__init__(bits)
        self.names, self.values, self.count = names, values, 0

    def asked(self, name: str, parameters: Parameters, draw: Draw, *, scalar: bool) -> Drawn:
        """The next value; Parted if another one is asked for."""
        number, self.count = self.count, self.count + 1
        if number >= len(self.values) or self.names[number] != name:
            raise Parted(number, f"rng.{name} is asked for beyond what was recorded")
        value = self.values[number]
        return plain_like(value, scalar)


def plain_like(value: object, scalar: bool) -> object:
    """A value as numpy would return it: fresh, and a Python number if one alone was asked for."""
    if not isinstance(value, np.ndarray):
        return value
    return value.item() if scalar else value.copy()


_SAME = (
    "beta", "binomial", "choice", "exponential", "gamma", "geometric", "gumbel", "laplace",
    "logistic", "lognormal", "normal", "permutation", "poisson", "shuffle", "standard_cauchy",
    "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "uniform",
    *sorted(OTHER - {"permuted", "multivariate_hypergeometric"}),
)  # fmt: skip
"""Functions of `numpy.random` that are called as the methods of a Generator."""


def _global_numpy(tape: Seam) -> dict[str, object]:
    made = np.random.default_rng
    found: dict[str, object] = {name: getattr(tape, name) for name in _SAME}
    for name in ("random", "random_sample", "ranf", "sample"):
        found[name] = tape.random
    found["rand"] = lambda *shape: tape.random(shape or None)
    found["randn"] = lambda *shape: tape.standard_normal(shape or None)
    found["randint"] = lambda low, high=None, size=None, dtype=int: tape.integers(low, high, size)
    found["default_rng"] = lambda seed=None: tape if seed is None else made(seed)
    return found


def _global_random(tape: Seam) -> dict[str, object]:
    return {
        "random": tape.random,
        "uniform": tape.uniform,
        "gauss": lambda mu=0.0, sigma=1.0: tape.normal(mu, sigma),
        "normalvariate": lambda mu=0.0, sigma=1.0: tape.normal(mu, sigma),
        "expovariate": lambda lambd=1.0: tape.exponential(1 / lambd),
        "betavariate": tape.beta,
        "gammavariate": tape.gamma,
        "randint": lambda a, b: tape.integers(a, b, endpoint=True),
        "randrange": lambda *ends: range(*ends)[tape.integers(len(range(*ends)))],
        "choice": lambda seq: seq[tape.integers(len(seq))],
        "shuffle": tape.shuffle,
        "sample": lambda population, k: [population[i] for i in tape._order(len(population))[:k]],
        "getrandbits": lambda k: int(tape.integers(0, 2**k)),
    }


@contextmanager
def through(tape: Seam) -> Iterator[None]:
    """While this lasts the functions of numpy.random and random, called by name, ask the tape."""
    patches = [(np.random, _global_numpy(tape)), (random, _global_random(tape))]
    before = [(module, {name: getattr(module, name) for name in new}) for module, new in patches]
    try:
        for module, new in patches:
            vars(module).update(new)
        yield
    finally:
        for module, old in before:
            vars(module).update(old)


def bits_of(words: NDArray[np.uint64], draw: int) -> np.random.Philox:
    """The bits of the recorded draw of this number: a stream that no other draw uses."""
    return np.random.Philox(key=words, counter=[0, draw, 0, 0])
