"""Uniform numbers that have no value yet: comparing one with something asks the tape for an answer.

A uniform on [0, 1) is known to lie in an interval, and above some other uniforms. Each comparison
has an exact probability given what is known, a ratio of two volumes; the tape answers it, and the
uniform is known better. Nothing else can be done with one but shifting, scaling and rounding it:
whatever needs its value itself is refused, since that makes the outputs continuous.

A uniform is a real number here, not a multiple of 2^-53.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from numbers import Rational
from typing import NoReturn, Protocol

import numpy as np

MOST_ORDERED = 8
"""Uniforms that may be ordered among each other: the work grows as 3 to this power."""
MOST_CELLS = 20_000
"""Values that rounding one uniform may give."""

ONE, ZERO = Fraction(1), Fraction(0)
"""The ends of what a uniform may be, as exact numbers."""


class Answers(Protocol):
    """Who answers: the tape."""

    def choose(self, count: int, chances: Callable[[], Sequence[Fraction]]) -> int:
        """Which of `count` things happens; their probabilities are worked out if they are new."""

    def refuse(self, what: str) -> NoReturn:
        """End the enumeration: `what` was asked for."""


class Uniforms:
    """All uniforms of one run: the interval of each, and which are known to lie above which."""

    def __init__(self, tape: Answers) -> None:
        self.tape = tape
        self.low: list[Fraction] = []
        self.high: list[Fraction] = []
        self.above: list[set[int]] = []

    def new(self) -> "Uniform":
        """One more."""
        self.low.append(ZERO)
        self.high.append(ONE)
        self.above.append(set())
        return Uniform(self, len(self.low) - 1, ONE, ZERO)

    def cell(self, root: int, cuts: Sequence[Fraction]) -> int:
        """How many of the ascending `cuts` the uniform lies above; asks the tape."""
        low, high = self.low[root], self.high[root]
        inside = [cut for cut in cuts if low < cut < high]
        before = sum(cut <= low for cut in cuts)
        if not inside:
            return before
        ends = [low, *inside, high]

        def chances() -> Sequence[Fraction]:
            group = self._group(root)
            if len(group) == 1:
                return [(b - a) / (high - low) for a, b in pairwise(ends)]
            parts = []
            for self.low[root], self.high[root] in pairwise(ends):
                parts.append(self._volume(group))
            self.low[root], self.high[root] = low, high
            whole = sum(parts)
            return [part / whole for part in parts]

        place = self.tape.choose(len(ends) - 1, chances)
        self.low[root], self.high[root] = ends[place], ends[place + 1]
        return before + place

    def below(self, one: int, other: int) -> bool:
        """Whether a uniform lies below another one; asks the tape."""
        if self.high[one] <= self.low[other] or self.high[other] <= self.low[one]:
            return self.high[one] <= self.low[other]

        def chances() -> Sequence[Fraction]:
            group = sorted({*self._group(one), *self._group(other)})
            whole, known = self._volume(group), other in self.above[one]
            self.above[one].add(other)
            chance = self._volume(group) / whole
            if not known:
                self.above[one].discard(other)
            return chance, 1 - chance

        yes = self.tape.choose(2, chances) == 0
        (self.above[one] if yes else self.above[other]).add(other if yes else one)
        return yes

    def _group(self, root: int) -> list[int]:
        """The uniforms that are tied to this one by what is known of their order, itself among."""
        found, left = {root}, [root]
        while left:
            one = left.pop()
            near = self.above[one] | {o for o, up in enumerate(self.above) if one in up}
            left += near - found
            found |= near
        return sorted(found)

    def _volume(self, group: Sequence[int]) -> Fraction:
        """The probability that these uniforms lie in their intervals and in their order.

        From left to right over the cells between all ends of intervals: `filled` has the volume of
        each set of uniforms that lie in the cells so far. Those that share a cell of width w fill
        w^k e / k! of it, with e the number of their orders that keep what is known.
        """
        count = len(group)
        if count > MOST_ORDERED:
            self.tape.refuse(f"it orders more than {MOST_ORDERED} uniforms")
        places = {root: place for place, root in enumerate(group)}
        below = [
            sum(1 << places[o] for o in group if root in self.above[o]) for root in group
        ]  # fmt: skip
        ends = sorted({end for root in group for end in (self.low[root], self.high[root])})

        @cache
        def orders(chosen: int) -> int:
            if not chosen:
                return 1
            last = (one for one in range(count) if chosen >> one & 1)
            # Whoever comes last lies below none of the others.
            return sum(
                orders(chosen ^ 1 << one)
                for one in last
                if not any(chosen >> o & 1 and below[o] >> one & 1 for o in range(count))
            )

        filled = {0: ONE}
        for a, b in pairwise(ends):
            fits = [
                i for i, root in enumerate(group) if self.low[root] <= a and b <= self.high[root]
            ]
            after: dict[int, Fraction] = {}
            for done, volume in filled.items():
                free = [one for one in fits if not done >> one & 1]
                for size in range(len(free) + 1):
                    share = volume * (b - a) ** size / math.factorial(size)
                    for some in combinations(free, size):
                        chosen = sum(1 << one for one in some)
                        if all(below[one] & ~(done | chosen) == 0 for one in some):
                            key = done | chosen
                            after[key] = after.get(key, ZERO) + share * orders(chosen)
            filled = after
        return filled.get((1 << count) - 1, ZERO)


def exact(number: object) -> Fraction | None:
    """A number as the fraction it is; None for infinities, NaN and what is no number."""
    if type(number) is float:  # nearly always
        return Fraction(number) if math.isfinite(number) else None
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, (bool, int, float, Rational, Decimal)):
        return Fraction(number) if math.isfinite(number) else None
    return None


def _compared(strictly: str) -> Callable[["Uniform", object], bool]:
    def compare(self: "Uniform", other: object) -> bool:
        return self._compare(other, less=strictly == "<")

    return compare


class Uniform:
    """`scale` times a uniform on [0, 1), plus `shift`."""

    __slots__ = ("_all", "_root", "_scale", "_shift")

    def __init__(self, every: Uniforms, root: int, scale: Fraction, shift: Fraction) -> None:
        self._all, self._root, self._scale, self._shift = every, root, scale, shift

    __lt__ = __le__ = _compared("<")
    __gt__ = __ge__ = _compared(">")

    def _compare(self, other: object, *, less: bool) -> bool:
        if isinstance(other, Uniform):
            return self._against(other) is less
        number = exact(other)
        if number is None:
            if isinstance(other, (float, np.floating)):
                return not math.isnan(other) and (other > 0) is less
            return NotImplemented  # an array compares its items with this one
        if self._scale == 0:
            return self._shift < number if less else self._shift > number
        plain = self._scale == 1 and not self._shift
        cut = number if plain else (number - self._shift) / self._scale
        return (self._all.cell(self._root, (cut,)) == 0) is (less is (self._scale > 0))

    def _against(self, other: "Uniform") -> bool:
        """Whether this one is the smaller."""
        if self._root == other._root:
            rest = Uniform(
                self._all, self._root, self._scale - other._scale, self._shift - other._shift
            )
            return bool(rest < 0)
        if (self._scale, self._shift) == (other._scale, other._shift) and self._scale != 0:
            below = self._all.below(self._root, other._root)
            return below is (self._scale > 0)
        (_, mine), (theirs, _) = self._ends(), other._ends()
        if mine <= theirs:
            return True
        (mine, _), (_, theirs) = self._ends(), other._ends()
        if theirs <= mine:
            return False
        self._all.tape.refuse("it compares uniforms of different ranges")

    def _ends(self) -> tuple[Fraction, Fraction]:
        ends = (self._all.low[self._root], self._all.high[self._root])
        one, two = (self._scale * end + self._shift for end in ends)
        return min(one, two), max(one, two)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Uniform):
            mine = (self._root, self._scale, self._shift)
            return mine == (other._root, other._scale, other._shift)
        return False if exact(other) is not None else NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __bool__(self) -> bool:
        return self._scale != 0 or self._shift != 0

    def _moved(self, scale: Fraction, shift: Fraction) -> "Uniform":
        return Uniform(self._all, self._root, self._scale * scale, self._shift * scale + shift)

    def _with(self, other: object, made: Callable[[Fraction], "Uniform"]) -> "Uniform":
        if isinstance(other, Uniform) or (
            isinstance(other, (float, np.floating)) and not math.isfinite(other)
        ):
            self._all.tape.refuse("it adds or multiplies uniforms")
        number = exact(other)
        return NotImplemented if number is None else made(number)

    def __add__(self, other: object) -> "Uniform":
        return self._with(other, lambda number: self._moved(ONE, number))

    __radd__ = __add__

    def __sub__(self, other: object) -> "Uniform":
        return self._with(other, lambda number: self._moved(ONE, -number))

    def __rsub__(self, other: object) -> "Uniform":
        return self._with(other, lambda number: self._moved(-ONE, number))

    def __mul__(self, other: object) -> "Uniform":
        return self._with(other, lambda number: self._moved(number, ZERO))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "Uniform":
        return self._with(other, lambda number: self._moved(ONE / number, ZERO))

    def __neg__(self) -> "Uniform":
        return self._moved(-ONE, ZERO)

    def __pos__(self) -> "Uniform":
        return self

    def __abs__(self) -> "Uniform":
        return -self if self < 0 else self

    def __floor__(self) -> int:
        low, high = self._ends()
        first, last = math.floor(low), math.ceil(high) - 1
        if last - first > MOST_CELLS:
            self._all.tape.refuse(f"it rounds a uniform to one of {last - first + 1:,} values")
        if first >= last or self._scale == 0:
            return first
        steps = [(Fraction(n) - self._shift) / self._scale for n in range(first + 1, last + 1)]
        place = self._all.cell(self._root, sorted(steps))
        return first + place if self._scale > 0 else last - place

    def __ceil__(self) -> int:
        return self.__floor__() + 1

    def __trunc__(self) -> int:
        return self.__ceil__() if self < 0 else self.__floor__()

    __int__ = __trunc__

    def __round__(self, digits: int | None = None) -> float:
        ten = Fraction(10) ** (digits or 0)
        whole = self._moved(ten, Fraction(1, 2)).__floor__()
        return whole if digits is None else float(whole / ten)

    def __floordiv__(self, other: object) -> int:
        return self._with(other, lambda number: self._moved(ONE / number, ZERO)).__floor__()

    def __mod__(self, other: object) -> "Uniform":
        return self._with(
            other,
            lambda number: self._moved(ONE, -number * self._moved(ONE / number, ZERO).__floor__()),
        )

    def _valued(self, *_: object, **__: object) -> NoReturn:
        self._all.tape.refuse("it uses the value of a uniform")

    __float__ = __complex__ = __index__ = __hash__ = _valued
    __str__ = __repr__ = __format__ = _valued
    __pow__ = __rpow__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _valued
    __copy__ = __deepcopy__ = __reduce_ex__ = _valued

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._valued()
