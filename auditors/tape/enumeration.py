"""The exact law of what a mechanism returns, by running it on every answer its generator may give.

The mechanism is given a generator that answers each finite draw with one of its outcomes, in turn,
and remembers which it gave: a run is the path of its answers, and its probability the product of
theirs, as a fraction. Paths are followed from the likeliest on, so what is left when the runs are
used up is as little as can be; it is told as the tail. Uniforms have no value: they are compared,
see `uniforms`. Any other draw is continuous or unbounded, and ends the enumeration with its name.

Three things would make a law that is not the mechanism's, and are refused: answers that lead
elsewhere when they are given again (randomness from somewhere else, or memory), global generators
that were drawn from behind the tape, and outputs that are no values, so that equal ones differ.
"""

import heapq
import itertools
import math
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from time import monotonic, process_time
from types import FrameType, ModuleType
from typing import Any, NoReturn, SupportsIndex, SupportsInt, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.special import gammaln, xlog1py, xlogy

from ...mechanisms.model import Database, Output
from ..errors import ContractError
from ..outputs.encoding import told
from ..outputs.outputs import Outputs
from ..sampling.calls import described, single_call
from ..sampling.captured import bare, captured
from ..workers import Worker
from ..workers.children import aside
from ..workers.door import copied
from ..workers.streams import globals_held, prime_globals, restore_globals, untouched
from .generator import Drawn, Given
from .uniforms import ONE, ZERO, Uniform, Uniforms, exact

FLOOR = 1e-16
"""Paths that are less likely are not followed: doubles in the code are not known more exactly."""
TAIL = Fraction(1, 10**10)
"""Probability that may be left when the runs are used up."""
LONGEST = 2000
"""Answers of one run."""
MOST_OUTCOMES = 20_000
"""Outcomes of one draw."""
EARLY = 32
"""Runs after which the pace tells whether the rest can be reached."""
OFTEN = 8
"""Of so many first runs the calls are counted, which takes three times as long as a run, and then
of the runs whose number is a power of two: a run between them counts as the last of these."""
BITS = 128
"""What the fractions of a run cost grows with the square of their length: at so many bits they
count as one call. (At 53,000 bits a run takes 30 milliseconds, nearly all of it to reduce them.)"""
REPEATED = 8
"""Paths that are followed again at the end, beside the first."""
JUDGED = 2
"""Databases, those of the pair, of which these are followed once more, each in a process of its
own: what a mechanism remembers leads all later paths where the first one led."""
Sizes = SupportsIndex | Sequence[SupportsIndex] | None
"""What numpy takes as a size."""
Seed = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | None
Followed = tuple[int, tuple[int, ...], bytes]
"""A database, a path and what it returned."""
ALONE = 1 << 32
"""Numbers of these runs begin here, above those of an enumeration."""


class Stopped(BaseException):
    """Ends a run; no handler of the mechanism's own takes it for its business."""


class NotEnumerable(Exception):
    """The law is not found in this way; the words say why."""


@dataclass(frozen=True)
class Laws:
    """The laws of several databases over the outputs that any of them gives.

    `outputs` are different from each other; `chances[d][i]` is the probability of output i under
    database d, and `tails[d]` that of the paths of d that were not followed to their end.
    """

    outputs: Outputs
    chances: tuple[tuple[Fraction, ...], ...]
    tails: tuple[Fraction, ...]
    runs: int
    some: tuple[Followed, ...] = ()
    """Paths to be followed again, each alone."""

    def __reduce__(self) -> tuple[object, ...]:
        """What workers send: whole numbers in place of fractions."""
        chances = [[one.as_integer_ratio() for one in law] for law in self.chances]
        tails = [one.as_integer_ratio() for one in self.tails]
        return _laws, (self.outputs, chances, tails, self.runs, self.some)


def _laws(
    outputs: Outputs,
    chances: Sequence[Sequence[tuple[int, int]]],
    tails: Sequence[tuple[int, int]],
    runs: int,
    some: tuple[Followed, ...],
) -> Laws:
    laws = tuple(tuple(Fraction(*one) for one in law) for law in chances)
    return Laws(outputs, laws, tuple(Fraction(*one) for one in tails), runs, some)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: after so many runs of all databases together, calls, or CPU seconds.

    Calls are those of Python functions, the mechanism's and the tape's, and of what is written in
    C, .16 to .43 microseconds each, and long fractions count as calls too. Where nobody asked for a
    law they decide, since what is found must not depend on how busy the machine is; seconds only
    stop what hides long work in few calls. A mechanism that waits uses none of these, so `until` is
    a moment of `time.monotonic`.
    """

    runs: int
    calls: float = math.inf
    seconds: float = math.inf
    until: float = math.inf


@dataclass(frozen=True, slots=True)
class Quotient:
    """A probability as a quotient that is not reduced, which would take most of the time."""

    top: int = 1
    bottom: int = 1

    def times(self, chance: Fraction) -> "Quotient":
        """A part of it."""
        return Quotient(self.top * chance.numerator, self.bottom * chance.denominator)

    def __float__(self) -> float:
        return self.top / self.bottom

    def equals(self, other: "Quotient") -> bool:
        """Whether both are the same number."""
        return self.top * other.bottom == other.top * self.bottom


def _sum(shares: Iterable[Quotient]) -> Fraction:
    """Their sum, exactly; those of one denominator are added first."""
    tops: dict[int, int] = {}
    for share in shares:
        tops[share.bottom] = tops.get(share.bottom, 0) + share.top
    return sum((Fraction(top, bottom) for bottom, top in tops.items()), ZERO)


class Tape:
    """The answers of one run: those of `prefix`, then the likeliest of each draw.

    `chance` is the probability of the prefix, where it is known; it is worked out again where not.
    """

    def __init__(self, prefix: Sequence[int], chance: Quotient | None = None) -> None:
        self.prefix, self.known = prefix, chance is not None
        self.path: list[int] = []
        self.chance = chance or Quotient()
        self.left: list[tuple[Quotient, int, int]] = []
        """What could have been answered instead, as far as it is worth following: (probability of
        the path, place, answer)."""
        self.reason, self.cut = "", False
        self.uniforms = Uniforms(self)

    def choose(self, count: int, chances: Callable[[], Sequence[Fraction]]) -> int:
        """The answer to a question with so many possible ones."""
        if self.reason or self.cut:
            raise Stopped
        if count > MOST_OUTCOMES:
            self.refuse(f"one draw has {count:,} outcomes")
        place = len(self.path)
        if place < len(self.prefix):
            answer = self.prefix[place]
            if answer >= count:
                self.refuse(OTHERWISE)
            if not self.known:
                self.chance = self.chance.times(chances()[answer])
        else:
            every = chances()
            sizes = list(map(float, every))
            answer = max(range(count), key=sizes.__getitem__)
            worth = FLOOR / float(self.chance)
            self.left += [
                (self.chance.times(every[other]), place, other)
                for other, size in enumerate(sizes)
                if size >= worth and other != answer
            ]
            self.chance = self.chance.times(every[answer])
        self.path.append(answer)
        if float(self.chance) < FLOOR or len(self.path) >= LONGEST:
            self.end()
        return answer

    def end(self) -> NoReturn:
        """Follow this path no further."""
        self.cut = True
        raise Stopped

    def refuse(self, what: str) -> NoReturn:
        """End the enumeration."""
        self.reason = self.reason or (what if what == OTHERWISE else f"{what}{_place()}")
        raise Stopped


T = TypeVar("T")
OTHERWISE = (
    "the same answers led elsewhere when they were given again: it draws randomness from elsewhere "
    "than its generator, or remembers earlier calls"
)


def _place() -> str:
    """Where the mechanism asked: its innermost line that is not numpy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _once.__code__:
        name = str(frame.f_globals.get("__name__", ""))
        ours = name.startswith("dpwitness.auditors")
        if not ours and name.partition(".")[0] not in ("numpy", "random", "copy"):
            return f" ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"
        frame = frame.f_back
    return ""


# --- the face of a generator -----------------------------------------------------------------


def _shape(size: Any) -> tuple[int, ...]:
    return (int(size),) if np.ndim(size) == 0 else tuple(map(int, size))


def _chance(p: object) -> Fraction:
    found = exact(p)
    if found is None or not 0 <= found <= 1:
        raise ValueError("p < 0, p > 1 or p is NaN")
    return found


# Runs ask the same again and again.


@lru_cache
def _even(count: int) -> tuple[Fraction, ...]:
    return (Fraction(1, count),) * count


@lru_cache
def _binomial(count: int, p: Fraction) -> tuple[Fraction, ...]:
    if count < 64:
        return tuple(math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1))
    # Most are never followed, and their numerators are long: only the likely ones are worked out.
    one, two = p.as_integer_ratio()
    k = np.arange(count + 1)
    log = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    likely = log + xlogy(k, float(p)) + xlog1py(count - k, -float(p)) >= math.log(FLOOR / 2)
    whole = two**count
    return tuple(
        Fraction(math.comb(count, k) * one**k * (two - one) ** (count - k), whole) if much else ZERO
        for k, much in enumerate(likely.tolist())
    )


@lru_cache
def _geometric(count: int, p: Fraction) -> tuple[Fraction, ...]:
    rest = 1 - p
    return (*(p * rest**k for k in range(count)), rest**count)


@lru_cache
def _weights(p: tuple[float, ...], count: int) -> tuple[Fraction, ...]:
    found = [exact(one) for one in p]
    if len(found) != count:
        raise ValueError("'a' and 'p' must have same size")
    known = [one for one in found if one is not None and one >= 0]
    total = sum(known, ZERO)
    if len(known) < count or abs(total - 1) > Fraction(1, 10**7):
        raise ValueError("probabilities do not sum to 1, or are negative or NaN")
    return tuple(one / total for one in known)


class Enumerated(np.random.Generator):
    """numpy's Generator to the mechanism; its answers are those of a tape.

    Below it is a generator of bits, as numpy demands, from which nobody draws who asks by methods.
    It is another in each run, so whoever draws from it past the tape (unbound methods of numpy's
    class, native code) finds that the same answers lead elsewhere when they are given again.
    """

    def __init__(self, tape: Tape, run: int) -> None:
        super().__init__(np.random.PCG64(run))
        self.tape, self.run = tape, run

    # What draws several at once calls one of these for each.

    def one_of(self, count: int) -> int:
        """One of `count` things that are equally likely, by its place."""
        return self.tape.choose(count, lambda: _even(count)) if count > 1 else 0

    def _binomial(self, n: SupportsInt, p: object) -> int:
        count, chance = int(n), _chance(p)
        if count < 0:
            raise ValueError("n < 0")
        return self.tape.choose(count + 1, lambda: _binomial(count, chance))

    def _geometric(self, p: object) -> int:
        chance = _chance(p)
        if not chance:
            raise ValueError("p <= 0, p > 1 or p contains NaNs")
        count = 1
        if chance < 1:
            count += int(math.log(FLOOR) / math.log1p(-float(chance)))
        found = self.tape.choose(count + 1, lambda: _geometric(count, chance))
        return found + 1 if found < count else self.tape.end()

    def _hypergeometric(self, ngood: SupportsInt, nbad: SupportsInt, nsample: SupportsInt) -> int:
        good, bad, sample = int(ngood), int(nbad), int(nsample)
        if min(good, bad, sample) < 0 or sample > good + bad:
            raise ValueError("ngood, nbad and nsample must be >= 0, nsample <= ngood + nbad")
        every = math.comb(good + bad, sample)
        return self.tape.choose(
            sample + 1,
            lambda: [
                Fraction(math.comb(good, k) * math.comb(bad, sample - k), every)
                for k in range(sample + 1)
            ],
        )

    def _each(
        self, draw: Callable[..., Drawn], size: object, *given: object, kind: Any = None
    ) -> Drawn:
        """`draw` of the parameters for each entry of a result of this size, as numpy shapes it."""
        parts = [np.asarray(one) for one in given]
        shape = np.broadcast_shapes(*(part.shape for part in parts))
        if size is None and shape == ():
            found = draw(*given)
            return found if kind is None else np.dtype(kind).type(found)
        shape = shape if size is None else _shape(size)
        columns = [np.broadcast_to(part, shape).ravel() for part in parts]
        made = [draw(*row) for row in zip(*columns, strict=True)] if parts else [
            draw() for _ in range(math.prod(shape))
        ]  # fmt: skip
        if made and isinstance(made[0], Uniform):
            if shape == ():
                return made[0]
            held = np.empty(len(made), dtype=object)
            held[:] = made
            return held.reshape(shape)
        return np.array(made, dtype=kind or np.int64).reshape(shape)

    # The methods of numpy's Generator; their signatures are numpy's.

    def random(
        self, size: Sizes = None, dtype: DTypeLike = np.float64, out: object = None
    ) -> Drawn:
        """Uniforms without values."""
        if out is not None:
            self.tape.refuse("it fills an array of its own (out=)")
        return self._each(self.tape.uniforms.new, size)

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Sizes = None) -> Drawn:
        """Uniforms without values, scaled and shifted."""

        def one(low: object, high: object) -> Uniform:
            ends = exact(low), exact(high)
            if ends[0] is None or ends[1] is None:
                raise OverflowError("Range exceeds valid bounds")
            return self.tape.uniforms.new() * (ends[1] - ends[0]) + ends[0]

        return self._each(one, size, low, high)

    def integers(
        self, low: object, high: object = None, size: object = None, dtype: object = np.int64,
        endpoint: bool = False,
    ) -> Drawn:  # fmt: skip
        """Whole numbers of a range."""
        if high is None:
            low, high = 0, low

        def one(low: SupportsInt, high: SupportsInt) -> int:
            count = int(high) - int(low) + bool(endpoint)
            if count < 1:
                raise ValueError("low > high" if endpoint else "low >= high")
            return int(low) + self.one_of(count)

        return self._each(one, size, low, high, kind=dtype)

    def choice(
        self, a: Given, size: Sizes = None, replace: bool = True, p: ArrayLike | None = None,
        axis: int = 0, shuffle: bool = True,
    ) -> Drawn:  # fmt: skip
        """Items, with or without putting them back."""
        whole = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(a)
        count = whole.shape[axis]
        shape = () if size is None else _shape(size)
        wanted = math.prod(shape)
        if wanted and not count:
            raise ValueError("a cannot be empty unless no samples are taken")
        weights = (
            _even(count)
            if p is None
            else _weights(tuple(np.asarray(p, dtype=float).tolist()), count)
        )
        left = list(range(count))
        if not replace:
            if sum(weight > 0 for weight in weights) < wanted:
                raise ValueError("Cannot take a larger sample than population when replace=False")
            if wanted > 1 and not shuffle:
                self.tape.refuse("the order of choice(shuffle=False) is numpy's own")
        chosen = []
        for _ in range(wanted):

            def chances() -> Sequence[Fraction]:
                total = ONE if replace else sum((weights[place] for place in left), ZERO)
                return [weights[place] / total for place in left]

            answer = self.tape.choose(len(left), chances)
            chosen.append(left[answer])
            if not replace:
                left.pop(answer)
        if size is None:
            # As numpy: an item of an array of its own, and not of the list that was given.
            item = whole.take(chosen[0], axis=axis)
            return int(item) if np.ndim(a) == 0 else item
        moved = whole.take(chosen, axis=axis)
        return moved.reshape(*whole.shape[:axis], *shape, *whole.shape[axis + 1 :])

    def _order(self, count: int) -> list[int]:
        left = list(range(count))
        return [left.pop(self.one_of(len(left))) for _ in range(count)]

    def permutation(self, x: Given, axis: int = 0) -> Drawn:
        """A copy in any order."""
        whole = np.arange(int(x)) if np.ndim(x) == 0 else np.asarray(x)
        return whole.take(self._order(whole.shape[axis]), axis=axis)

    def permuted(self, x: Given, *, axis: int | None = None, out: object = None) -> Drawn:
        """A copy whose items are in any order, all together or along each line of an axis."""
        if out is not None:
            self.tape.refuse("it fills an array of its own (out=)")
        whole = np.array(x)
        if axis is None:
            return whole.ravel()[self._order(whole.size)].reshape(whole.shape)
        lines = np.moveaxis(whole, axis, -1)
        for place in np.ndindex(lines.shape[:-1]):
            lines[place] = lines[place][self._order(lines.shape[-1])]
        return whole

    def shuffle(self, x: Given, axis: int = 0) -> None:
        """Bring the items into any order."""
        if isinstance(x, np.ndarray):
            x[...] = x.take(self._order(x.shape[axis]), axis=axis)
        else:
            x[:] = [x[place] for place in self._order(len(x))]

    def binomial(self, n: ArrayLike, p: ArrayLike, size: Sizes = None) -> Drawn:
        """How many of n happen."""
        return self._each(self._binomial, size, n, p)

    def geometric(self, p: ArrayLike, size: Sizes = None) -> Drawn:
        """When the first happens; the far ones are cut off."""
        return self._each(self._geometric, size, p)

    def hypergeometric(
        self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: Sizes = None
    ) -> Drawn:
        """How many of a sample are good."""
        return self._each(self._hypergeometric, size, ngood, nbad, nsample)

    def multinomial(self, n: ArrayLike, pvals: ArrayLike, size: Sizes = None) -> Drawn:
        """How many of n fall to each."""
        table = np.asarray(pvals, dtype=float)
        shape = np.broadcast_shapes(np.shape(n), table.shape[:-1])
        shape = shape if size is None else _shape(size)
        counts = np.broadcast_to(n, shape).ravel()
        rows = np.broadcast_to(table, (*shape, table.shape[-1])).reshape(-1, table.shape[-1])
        made = [self._multinomial(int(a), b) for a, b in zip(counts, rows, strict=True)]
        return np.array(made, dtype=np.int64).reshape(*shape, table.shape[-1])

    def _multinomial(self, count: int, pvals: Iterable[object]) -> list[int]:
        parts = [_chance(p) for p in pvals]
        if sum(parts[:-1], ZERO) > 1 + Fraction(1, 10**9):
            raise ValueError("sum(pvals[:-1]) > 1.0")
        # numpy's: the last takes what the others leave, whatever is said of it.
        left, rest, found = count, ONE, []
        for part in parts[:-1]:
            got = self._binomial(left, min(part / rest, ONE)) if rest > 0 and left else 0
            found.append(got)
            left, rest = left - got, rest - part
        return [*found, left]

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Generators with answers of the same tape."""
        return [Enumerated(self.tape, self.run) for _ in range(n_children)]

    @property
    def bit_generator(self) -> NoReturn:
        """Nobody may draw past the tape."""
        self.tape.refuse("it asks for the bits of the generator")

    def __reduce__(self) -> NoReturn:
        self.tape.refuse("it copies the generator")

    __copy__ = __reduce__

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.tape.refuse("it copies the generator")


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Enumerated, *_: object, **__: object) -> NoReturn:
        self.tape.refuse(f"{name} is no finite draw")

    return refuse


for _name in dir(np.random.Generator):
    # What numpy has, or will have, and is not answered above draws past the tape.
    if not _name.startswith("_") and _name not in vars(Enumerated):
        setattr(Enumerated, _name, _refusing(_name))


# --- the global generators of random and numpy ----------------------------------------------

LEGACY = {"random_sample": "random", "ranf": "random", "sample": "random"}
SAME = ("random", "uniform", "choice", "permutation", "shuffle", "binomial", "geometric",
        "multinomial", "hypergeometric")  # fmt: skip


class _Global:
    """The functions of `random` and of `numpy.random`, answered by the tape while a run goes on."""

    def __init__(self) -> None:
        self.rng: Enumerated | None = None

    def _answers(self) -> Iterator[tuple[ModuleType, str, Callable[..., object]]]:
        """(module, name, what answers in its place)."""
        for module in (np.random, random):
            for name in module.__all__:
                if name[0].islower() and name != "default_rng":
                    yield module, name, self._refusing(f"{module.__name__}.{name}")
        for name in SAME:
            yield np.random, name, self._passing(name)
        for name, known in LEGACY.items():
            yield np.random, name, self._passing(known)
        yield np.random, "rand", lambda *shape: self._now.random(shape or None)
        yield np.random, "randint", self._randint
        yield random, "random", lambda: self._now.random()
        yield random, "uniform", lambda a, b: self._now.uniform(a, b)
        yield random, "randint", lambda a, b: int(self._now.integers(a, b, endpoint=True))
        yield random, "randrange", self._randrange
        yield random, "getrandbits", lambda k: int(self._now.integers(1 << k))
        yield random, "choice", lambda seq: seq[self._now.one_of(len(seq))]
        yield random, "choices", self._choices
        yield random, "sample", self._sample
        yield random, "shuffle", lambda x: self._now.shuffle(x)
        if hasattr(random, "binomialvariate"):
            yield random, "binomialvariate", lambda n=1, p=0.5: self._now.binomial(n, p)

    @property
    def _now(self) -> Enumerated:
        assert self.rng is not None
        return self.rng

    def _passing(self, name: str) -> Callable[..., object]:
        return lambda *given, **named: getattr(self._now, name)(*given, **named)

    def _refusing(self, name: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: self._now.tape.refuse(f"{name} is no finite draw")

    def _randint(
        self, low: object, high: object = None, size: object = None, dtype: object = int
    ) -> object:
        return self._now.integers(low, high, size=size, dtype=dtype)

    def _randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        every = range(start) if stop is None else range(start, stop, step)
        if not every:
            raise ValueError(f"empty range in randrange{(start, stop, step)}")
        return every[self._now.one_of(len(every))]

    def _choices(
        self, population: Sequence[T], weights: Sequence[float] | None = None, *,
        cum_weights: Sequence[float] | None = None, k: int = 1,
    ) -> list[T]:  # fmt: skip
        if cum_weights is not None:
            weights = [b - a for a, b in pairwise([0, *cum_weights])]
        parts = [exact(w) or ZERO for w in weights or [1] * len(population)]
        chances = [part / sum(parts) for part in parts]
        return [population[self._now.tape.choose(len(chances), lambda: chances)] for _ in range(k)]

    def _sample(
        self, population: Sequence[T], k: int, *, counts: Sequence[int] | None = None
    ) -> list[T]:
        if counts is not None:
            population = [one for one, n in zip(population, counts, strict=True) for _ in range(n)]
        left = list(range(len(population)))
        if not 0 <= k <= len(left):
            raise ValueError("Sample larger than population or is negative")
        return [population[left.pop(self._now.one_of(len(left)))] for _ in range(k)]

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Put what answers in place of the modules' own; a generator must be given a seed."""
        own: dict[tuple[int, str], tuple[ModuleType, str, Callable[..., object]]] = {}

        def instead(
            known: Callable[..., object], ours: Callable[..., object]
        ) -> Callable[..., object]:
            def answer(*given: object, **named: object) -> object:
                return (known if self.rng is None else ours)(*given, **named)

            return answer

        def default_rng(seed: Seed = None) -> np.random.Generator:
            if seed is None:
                self._now.tape.refuse("it makes a generator with a seed of its own")
            return made(seed)

        held, made = globals_held(), np.random.default_rng
        try:
            for module, name, ours in (*self._answers(), (np.random, "default_rng", default_rng)):
                _, _, known = own.setdefault(
                    (id(module), name), (module, name, getattr(module, name))
                )
                setattr(module, name, instead(known, ours))
            yield
        finally:
            for module, name, known in own.values():
                setattr(module, name, known)
            restore_globals(held)


# --- following all paths ---------------------------------------------------------------------


@dataclass(slots=True)
class _Law:
    """The law of one database as far as it is known: what each path returned."""

    values: list[Output] = field(default_factory=list)
    paths: list[Sequence[int]] = field(default_factory=list)
    chances: list[Quotient] = field(default_factory=list)
    again: list[tuple[int, Output]] = field(default_factory=list)
    """What some of them, by their places, returned another time."""
    tail: Fraction = ZERO
    runs: int = 0
    first: Sequence[int] = ()


Run = Callable[[Tape], Output]


def _once(run: Run, prefix: Sequence[int], chance: Quotient | None = None) -> tuple[Tape, Output]:
    """One run: its tape and what it returned; nothing is returned where the path was cut off."""
    tape, value = Tape(prefix, chance), None
    try:
        value = captured(bare(run(tape)))
    except Stopped:
        pass
    except ContractError as error:
        tape.reason = tape.reason or str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the mechanism raises
        if not tape.cut:
            tape.reason = tape.reason or f"a run raised {described(error)}"
    if tape.reason:
        raise NotEnumerable(tape.reason)
    return tape, value


@dataclass(slots=True)
class _Spent:
    """What the runs of all databases took: how many they were, and their calls."""

    started: float
    runs: int = 0
    calls: int = 0
    each: int = 0

    def run(
        self, run: Run, prefix: Sequence[int], chance: Quotient | None
    ) -> tuple[Tape, Output, list[Output]]:
        """One run more, see `_once`, and what the same path returned before."""
        self.runs += 1
        if self.runs > OFTEN and self.runs & (self.runs - 1):
            return *self._paid(*_once(run, prefix, chance)), []
        # Once before it counts: whatever was called earlier, caches are filled then.
        first, earlier = _once(run, prefix, chance)
        before, self.each = sys.getprofile(), 0
        sys.setprofile(self._count)
        try:
            tape, value = _once(run, prefix, chance)
        finally:
            sys.setprofile(before)
        if tape.path != first.path:
            raise NotEnumerable(OTHERWISE)
        return *self._paid(tape, value), [earlier]

    def _paid(self, tape: Tape, value: Output) -> tuple[Tape, Output]:
        self.calls += self.each + (tape.chance.bottom.bit_length() // BITS) ** 2
        return tape, value

    def _count(self, frame: FrameType, event: str, of: object) -> None:
        if event in ("call", "c_call"):
            self.each += 1

    def beyond(self, limits: Limits, times: float = 1.0) -> bool:
        """Whether so many times as much is too much."""
        seconds = process_time() - self.started
        return (
            times * self.runs > limits.runs
            or times * self.calls > limits.calls
            or times * seconds > limits.seconds
        )


def _law(run: Run, limits: Limits, spent: _Spent) -> _Law:
    law, before, begun = _Law(), replace(spent), process_time()
    covered, number = 0.0, 0
    heap: list[tuple[float, int, Quotient, Sequence[int]]] = [(-1.0, 0, Quotient(), ())]
    while heap:
        if spent.runs >= limits.runs or spent.beyond(limits) or monotonic() > limits.until:
            if 1 - _sum(law.chances) > TAIL:
                what = f"{limits.runs:,} runs" if spent.runs >= limits.runs else "the time"
                raise NotEnumerable(f"{what} did not do for all its paths")
            break
        _, _, chance, prefix = heapq.heappop(heap)
        tape, value, earlier = spent.run(run, prefix, chance)
        law.runs = spent.runs - before.runs
        law.first = law.first if law.runs > 1 else tape.path
        for share, at, other in tape.left:
            number += 1
            heapq.heappush(heap, (-float(share), number, share, [*tape.path[:at], other]))
        if not tape.cut:
            if len(tape.path) < len(prefix):
                raise NotEnumerable(OTHERWISE)
            law.again += [(len(law.values), one) for one in earlier]
            law.values.append(value)
            law.paths.append(tape.path)
            law.chances.append(tape.chance)
            covered += float(tape.chance)
        # The likeliest come first: the rest takes as many runs again, at least, for as much.
        here = law.runs
        if not here & (here - 1) and here >= EARLY:
            if here > covered * limits.runs:
                raise NotEnumerable(f"{limits.runs:,} runs would not do for all its paths")
            calls, left = spent.calls - before.calls, limits.calls - before.calls
            seconds = process_time() - begun, spent.started + limits.seconds - begun
            if calls > covered * left or seconds[0] > covered * seconds[1]:
                raise NotEnumerable("the time would not do for all its paths")
        if len(heap) > 4 * limits.runs:
            raise NotEnumerable(f"{limits.runs:,} runs would not do for all its paths")
    law.tail = 1 - _sum(law.chances)
    if law.tail < 0:
        raise NotEnumerable(OTHERWISE)
    return law


def enumerate_laws(
    worker: Worker,
    _: Sequence[Database],
    encoded: Sequence[bytes],
    sized: bool,
    exceptions: str,
    stages: Sequence[int],
    limits: Limits,
) -> Laws | str:
    """The laws of databases, or why they are not found; runs where the mechanism does.

    `stages` are the numbers of databases after which the rest may be left out, because they take
    too long or are not enumerable; without the first of them there is nothing.
    """
    globally = _Global()
    call = _calling(worker, globally, sized, exceptions)
    spent = _Spent(process_time())
    held: list[_Law] = []
    again: list[tuple[int, int, Output]] = []
    try:
        with globally.standing():
            prime_globals()
            try:
                for number, data in enumerate(encoded):
                    if number in stages:
                        # What the next stage takes, if its databases are like those so far.
                        if spent.beyond(limits, next(s for s in stages if s > number) / number):
                            break
                    run = _copying(call, data)
                    # The first path twice, before all others: that costs next to nothing.
                    path = _once(run, ())[0].path
                    law = _law(run, limits, spent)
                    if law.first != path:
                        raise NotEnumerable(OTHERWISE)
                    law.again += [(place, _again(run, law, place)) for place in _some(law)]
                    again += [(number, *one) for one in law.again]
                    held.append(law)
            except NotEnumerable as reason:
                if len(held) < stages[0]:
                    return str(reason)
            if not untouched():
                return "it draws from random or numpy.random in a way that is not followed"
        runs = sum(law.runs for law in held)
        held = held[: max(stage for stage in stages if stage <= len(held))]
        return _together(held, [one for one in again if one[0] < len(held)], runs)
    except (NotEnumerable, ContractError) as reason:
        return str(reason)


def _key(value: Output) -> bytes:
    return told(Outputs.of_list([value]).rows()[0])


def follow_alone(
    worker: Worker,
    _: Sequence[Database],
    encoded: Sequence[bytes],
    sized: bool,
    exceptions: str,
    some: Sequence[Followed],
) -> str:
    """Why these paths do not lead where they led, if they do not; runs in a fresh process."""
    globally = _Global()

    def alone(place: int, number: int, path: tuple[int, ...]) -> tuple[tuple[int, ...], bytes]:
        # Each copy of this process makes one run, and that with bits of its own.
        call = _calling(worker, globally, sized, exceptions, ALONE + place)
        tape, value = _once(_copying(call, encoded[number]), path)
        return tuple(tape.path), _key(value)

    try:
        with globally.standing():
            for place, (number, path, key) in enumerate(some):
                if aside(partial(alone, place, number, path)) != (path, key):
                    return OTHERWISE
    except (NotEnumerable, ContractError) as reason:
        return str(reason)
    return ""


def keys_anew(
    worker: Worker,
    _: Sequence[Database],
    encoded: Sequence[bytes],
    sized: bool,
    exceptions: str,
    some: Sequence[Followed],
    process: int,
) -> list[str | tuple[tuple[int, ...], bytes]]:
    """Where these paths lead, or why one cannot be taken; every other process turns the order."""
    globally = _Global()
    found: dict[int, str | tuple[tuple[int, ...], bytes]] = {}
    order = range(len(some))
    with globally.standing():
        for place in reversed(order) if process % 2 else order:
            number, path, _key_then = some[place]
            call = _calling(worker, globally, sized, exceptions, ALONE + place)
            try:
                tape, value = _once(_copying(call, encoded[number]), path)
            except NotEnumerable as reason:
                found[place] = str(reason)
                continue
            found[place] = tuple(tape.path), _key(value)
    return [found[place] for place in order]


def first_path(worker: Worker, databases: Sequence[Database], sized: bool, exceptions: str) -> str:
    """Why the mechanism cannot be enumerated, if its likeliest path tells; runs where it does."""
    globally = _Global()
    call = _calling(worker, globally, sized, exceptions)
    try:
        with globally.standing():
            _once(partial(call, databases[0]), ())
    except NotEnumerable as reason:
        return str(reason)
    return ""


def _calling(
    worker: Worker, globally: _Global, sized: bool, exceptions: str, first: int = 0
) -> Callable[[Database, Tape], Output]:
    """A single call on a database, with a generator of this tape; `first` numbers the runs."""
    single = single_call(worker.run, sized, exceptions)
    runs = itertools.count(first)

    def call(database: Database, tape: Tape) -> Output:
        worker.beat()
        globally.rng = Enumerated(tape, next(runs))
        try:
            return single(database, _Once(globally.rng), 0)  # type: ignore[arg-type]
        finally:
            globally.rng = None

    return call


def _copying(call: Callable[[Database, Tape], Output], data: bytes) -> Run:
    """Calls on a database, each on a copy of its own."""
    return lambda tape: call(copied(data), tape)


def _some(law: _Law) -> list[int]:
    """Paths that are followed once more, the first among them."""
    every = range(len(law.values))
    return sorted({*every[:1], *random.Random(len(every)).sample(every, min(REPEATED, len(every)))})


def _again(run: Run, law: _Law, place: int) -> Output:
    """What a path returns when it is followed again, with its probability worked out anew."""
    tape, value = _once(run, law.paths[place])
    if tape.path != law.paths[place] or not tape.chance.equals(law.chances[place]):
        raise NotEnumerable(OTHERWISE)
    return value


@dataclass(frozen=True, slots=True)
class _Once:
    """Stands for the stream of a single call."""

    rng: Enumerated

    def at(self, draw: int) -> Enumerated:
        """The generator."""
        return self.rng


def _together(held: Sequence[_Law], again: Sequence[tuple[int, int, Output]], runs: int) -> Laws:
    """The laws over one list of different outputs, equal ones added up."""
    values = [value for law in held for value in law.values]
    if not values:
        raise NotEnumerable("no path came to its end")
    made = Outputs.of_list([*values, *(value for *_, value in again)])
    if made.as_text:
        raise NotEnumerable(f"outputs are no values that can be compared: {made.as_text}")
    keys = [told(row) for row in made.rows()]
    starts = np.cumsum([0, *(len(law.values) for law in held)]).tolist()
    for (number, place, _), key in zip(again, keys[starts[-1] :], strict=True):
        if keys[starts[number] + place] != key:
            raise NotEnumerable(OTHERWISE)
    known: dict[bytes, int] = {}
    for place, key in enumerate(keys[: starts[-1]]):
        known.setdefault(key, place)
    numbers = {key: number for number, key in enumerate(known)}
    chances = []
    for number, law in enumerate(held):
        parts: list[list[Quotient]] = [[] for _ in known]
        for place, share in enumerate(law.chances):
            parts[numbers[keys[starts[number] + place]]].append(share)
        chances.append(tuple(map(_sum, parts)))
    return Laws(
        outputs=Outputs(made.node.take(np.array(list(known.values()))), len(known)),
        chances=tuple(chances),
        tails=tuple(law.tail for law in held),
        runs=runs,
        some=tuple(
            (number, tuple(law.paths[place]), _key(law.values[place]))
            for number, law in enumerate(held[:JUDGED])
            for place in _some(law)
        ),
    )
