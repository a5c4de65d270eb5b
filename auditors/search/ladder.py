"""Copies of a row and rows all different, ever more of them, with bisection where outputs bend.

A leak from a size on, or at a value among thousands that no constant names, shows as a bend of the
output along a ladder of databases; halving finds the rung, and so the row, that does it.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from .bank import Bank, Row, ends_of, length_of, listed, shortest
from .choices import Example, ExampleChoice
from .corners import halfway
from .scout import Seen, sides_of
from .suggestions import ENUMERATED, anything, sortable
from .tries import Tries

LARGEST = 1024
"""Rows of the longest database tried where the strategy sets no limit."""
COPIES = 7
FEW_COPIES = (3, 5)
"""Rungs beside the powers of two."""
MANY_OTHERS = (1, 4, 10, 18, 28)
MANY = 18
MOST_DIFFERENT = 120
SWEEPS = 30
MOST_SWEPT = 64
MOST_NAMED = 8


def base_of(tries: Tries) -> tuple[Example, int] | None:
    """The smallest example with a collection of as many elements as a side has rows."""
    return next((found for seen in tries.by_size() if (found := listed(seen)) is not None), None)


class Ladder:
    """Databases built row by row from the choices of one base example."""

    def __init__(self, tries: Tries, bank: Bank, random: Random, base: tuple[Example, int]) -> None:
        """Nothing is made yet; `base` is an example and the place of its collection of rows."""
        self.tries, self.random = tries, random
        self.base, place = base
        self.block = self.base.blocks[place]
        self.bank = bank.rows(self.block, self.base)
        start, end = self.block.elements[0] if self.block.elements else (0, 0)
        self.ends = ends_of(self.base.choices[start:end])
        """The row of the least values and that of the greatest."""
        self.largest = LARGEST
        whole = dict.fromkeys(c for c in bank.constants if type(c) is int and 1 < c <= LARGEST)
        self.named = [size for c in list(whole)[:MOST_NAMED] for size in (c, c + 1)]
        """Sizes that the mechanism's code may compare with, and the next."""

    def run(self, most: int) -> None:
        """All steps, as long as fewer than `most` examples were made by them."""
        start = self.tries.made
        for step in self._steps():
            if self.tries.made - start >= most:
                return
            step()

    def _steps(self) -> Iterator[Any]:
        """What to try, in order; each step visits a few examples."""
        bank = self.bank
        marked = [row for row in bank[1:] if row not in self.ends]
        yield lambda: self._together([*bank[:1], *marked[:8]])
        for row in dict.fromkeys((bank[0], *self.ends)):
            yield lambda row=row: self._alike(row)
            yield lambda row=row: self._climb([row], row)
        yield lambda: self._climb(self._different(), None)
        yield lambda: self._climb(self.ends, self.ends[1])
        yield self._twice
        for count in (3, 5, 8):
            yield lambda count=count: self._sorted(count)
        for row in marked[:COPIES]:
            yield lambda row=row: self._climb([row], row)
        for _ in range(SWEEPS):
            yield self._sweep
        for row in bank[:4]:
            yield lambda row=row: self._odd(row)

    def _make(self, rows: Sequence[Row], change: Row | None = None) -> Seen | None:
        return self.tries.try_(self._choices(rows, change))

    def _choices(self, rows: Sequence[Row], change: Row | None) -> list[object]:
        """The choices of these rows, of which `change`, if there is one, comes or goes."""
        plain = choices = self.base.with_elements(self.block, rows)
        start = len(choices) - len(self._tail())
        if change is not None:
            choices = self._changed(choices, start, change)
        if choices == plain and change is not None and len(rows) > 1:
            # No row is chosen beside the database: the place says which of its rows goes, the last.
            whole = [type(value) is int for value in choices]
            choices = [
                len(rows) - 1 if place >= start and whole[place] else value
                for place, value in enumerate(choices)
            ]
        return choices

    def _tail(self) -> tuple[ExampleChoice, ...]:
        return self.base.choices[self.block.end[0] :]

    def _changed(self, choices: list[object], start: int, change: Row) -> list[object]:
        """The same with `change` as the row that comes or goes, where the tail chooses a row."""
        tail = self._tail()
        a, b = self.block.elements[0]
        for skipped in (0, 1):
            template = self.base.choices[a + skipped : b]
            for at in range(len(tail) - len(template) + 1 if template else 0):
                part = tail[at : at + len(template)]
                if all(one.alike(two) for one, two in zip(part, template, strict=True)):
                    end = start + at + len(template)
                    return [*choices[: start + at], *change[skipped:], *choices[end:]]
        return choices

    def _together(self, rows: Sequence[Row]) -> None:
        """Two rows in one database, each as the one that changes."""
        for index, one in enumerate(rows):
            for two in rows[:index]:
                self._make([one, two], one)
                self._make([two, one], two)

    def _different(self) -> list[Row]:
        """All rows of the bank, and rows at random where they can be made up."""
        random = self.random
        a, b = self.block.elements[0]
        template = self.base.choices[a:b]
        rows = list(self.bank)
        while len(rows) < MOST_DIFFERENT:
            rows.append(tuple(anything(choice, random) for choice in template))
        return rows

    def _climb(self, rows: Sequence[Row], change: Row | None) -> None:
        """1, 2, 4, ... rows, the largest number, and what lies between where behaviour differs."""
        rungs: dict[int, Seen] = {}
        count = 1
        while count <= self.largest:
            made = self._rung(rows, change, count)
            if made is None:
                break
            if shortest(made) < count - 1:
                self.largest = min(self.largest, max(map(length_of, sides_of(made.pair))))
                break
            rungs[count] = made
            count *= 2
        ends = (self.largest, self.largest - 1) if self.largest < LARGEST else ()
        for count in (*ends, *(size for size in self.named if size < self.largest)):
            made = self._rung(rows, change, count)
            if made is not None:
                rungs[count] = made
        places = sorted(rungs)
        gaps = [(self._jump(rungs[a], rungs[b], b - a), a, b)
                for a, b in pairwise(places) if b - a > 1]  # fmt: skip
        for jump, low, high in sorted(gaps, reverse=True)[:2]:
            if jump > 1:
                self._bisect(rows, change, rungs, low, high)

    def _rung(self, rows: Sequence[Row], change: Row | None, count: int) -> Seen | None:
        if count < 1:
            return None
        made = [rows[index % len(rows)] for index in range(count)]
        if change is None and len(rows) > 1:
            change = rows[count % len(rows)]
        return self.tries.again(self._choices(made, change))

    def _jump(self, one: Seen, two: Seen, steps: int) -> float:
        """How far behaviour at two rungs is from a straight line, over what is usual."""
        probes = self.tries.scout.probes
        if not self.tries.scout.sampler.seeded or one.noise != two.noise:
            return 0.0
        a, b = probes[one.key[0], one.noise], probes[two.key[0], two.noise]
        if a.numbers.shape != b.numbers.shape or a.paths != b.paths:
            return math.inf
        if not a.numbers.size:
            return 0.0
        slopes = []
        for seen in (one, two):
            near, far = (probes[side, seen.noise] for side in seen.key)
            if near.numbers.shape != far.numbers.shape or near.paths != far.paths:
                return math.inf
            sign = 1 if len(seen.key[1]) >= len(seen.key[0]) else -1
            slopes.append(sign * _middle(far.numbers - near.numbers))
        noise = np.maximum(np.nan_to_num(a.spread), np.nan_to_num(b.spread)) + 1e-12
        moved = _middle(b.numbers - a.numbers)
        straight = steps * (slopes[0] + slopes[1]) / 2
        room = 2 * noise + 0.05 * steps * np.maximum(*np.abs(slopes))
        bent = np.abs(moved - straight) / room
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.nan_to_num(np.abs(np.log(a.spread / b.spread)), posinf=50.0) / 0.1
        turned = np.abs(slopes[0] - slopes[1]) / (noise + 0.05 * np.maximum(*np.abs(slopes)))
        return float(max(bent.max(), spread.max(), turned.max()))

    def _bisect(
        self, rows: Sequence[Row], change: Row | None, rungs: dict[int, Seen], low: int, high: int
    ) -> None:
        while high - low > 1:
            middle = (low + high) // 2
            made = self._rung(rows, change, middle)
            if made is None:
                return
            rungs[middle] = made
            below = self._jump(rungs[low], made, middle - low)
            above = self._jump(made, rungs[high], high - middle)
            low, high = (low, middle) if below >= above else (middle, high)

    def _odd(self, row: Row) -> None:
        """One odd row among copies of another."""
        for other in self.bank[:6]:
            if other != row:
                for count in (2, 5):
                    self._make([other, *[row] * count], row)
                    self._make([other, *[row] * count], other)

    def _alike(self, row: Row) -> None:
        """Few copies of a row, and two of it after many of another."""
        for count in FEW_COPIES:
            self._rung([row], row, count)
        others = [other for other in (self.bank[0], *self.bank[3:4]) if other != row][:1]
        for count in (*MANY_OTHERS, *self.named):
            if others and count + 2 <= self.largest:
                self._make([*(others * count), row, row], row)

    def _twice(self) -> None:
        """Two of a row beside many of the least or of the greatest: it is the extreme one then.

        It is the one halfway, which most limits of such a value permit.
        """
        start, end = self.block.elements[0]
        row = tuple(halfway(choice) for choice in self.base.choices[start:end])
        for other in self.ends:
            if other != row and MANY + 2 <= self.largest:
                self._make([*([other] * MANY), row, row], row)

    def _sorted(self, count: int) -> None:
        rows = sorted(self._different()[:count], key=lambda row: tuple(map(sortable, row)))
        self._make(rows)
        self._make(rows[::-1])
        self._make([*rows, *rows[::-1]])

    def _sweep(self) -> None:
        """Many rows at random in one database; where it bends, the one that does it by halving.

        So hundreds of values cost a few dozen runs, for leaks at a value that no constant names.
        """
        random = self.random
        a, b = self.block.elements[0]
        template = self.base.choices[a:b]
        count = min(self.largest, MOST_SWEPT)
        if count < 4 or not any(choice.size() > ENUMERATED for choice in template):
            return
        rows = [tuple(anything(choice, random) for choice in template) for _ in range(count)]
        ends = {place: self._rung(rows, None, place) for place in (1, count)}
        rungs = {place: seen for place, seen in ends.items() if seen is not None}
        if len(rungs) == 2 and self._jump(rungs[1], rungs[count], count - 1) > 1:
            self._bisect(rows, None, rungs, 1, count)


def _middle(moves: Any) -> Any:
    with np.errstate(invalid="ignore"):
        whole = np.nan_to_num(moves)
    return np.median(whole, axis=0)
