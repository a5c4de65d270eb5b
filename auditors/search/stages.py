"""Which examples to look at: changes of choices that random generation makes too seldom.

Each stage proposes sequences of choices; what comes out of them is whatever the user's strategy
makes of these choices. Nothing here knows a mechanism, and nothing decides anything. The stages
take the plain proposals first. A `Ladder` then builds copies of a row and rows all different, ever
more of them: a leak from a size on, or at a value among thousands that no constant names, shows as
a bend of the output along a ladder of databases, and halving finds the rung, and so the row, that
does it. The `Evolution` changes the examples that stood out, as long as something new comes of it.
Both take their rows from a `Bank`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from itertools import islice, pairwise
from random import Random

import numpy as np

from .choices import ChoiceSpace, Elements, Example, ExampleChoice, Value
from .probe import Floats
from .proposals import (
    MOST_LISTS,
    conjunctions,
    corners,
    dictionary,
    enumerated,
    exhausted,
    halfway,
    inner,
    patterned,
    regrouped,
    repeated,
    runs,
    shaped,
)
from .scout import Enough, Gross, Scout, Seen, Tries, records_in, sides_of
from .suggestions import (
    ENUMERATED,
    MARKS,
    Suggestions,
    anything,
    far,
    in_turn,
    mark,
    marks,
    simplest,
    sortable,
)

RANDOM, FIRST = 120, 40
"""Examples at random in all, and those before anything else."""
SUGGESTED = 0.3
"""Share of the random choices that are answered with an end or a constant."""
STALE_RANDOM = 50
"""Examples at random in a row that bring no new pair, after which no more are made."""
SHAPES = 4
"""Different shapes of which the smallest example is changed by the stages."""
PATTERNED = 60
"""Pairs made of patterns of like choices."""
CLIMBING = 2
"""The chunk of shared noise by which a climb is judged."""
STALE_CLIMB = 40
"""Changes in a row that do not help, after which a climb ends."""
GROUPS = 0.7
"""Share of the changes of a climb that are to like choices together."""
BANKED, OTHERS = 40, 10
"""Rows of each shape in a bank, and places among them kept for rows that hold no constant."""
LARGEST = 1024
"""Rows of the longest database tried where the strategy sets no limit."""
COPIES = 7
"""Rows with a constant of the code of which copies are made, ever more of them."""
FEW_COPIES = (3, 5)
"""Rungs beside the powers of two."""
MANY_OTHERS = (1, 4, 10, 18, 28)
"""Copies of another row that stand before two copies of a row."""
MANY = 18
"""Copies of the least row, or of the greatest, that stand before two rows from halfway between."""
MOST_DIFFERENT = 120
"""Different rows of which a ladder is built: those of the bank, filled up at random."""
SWEEPS, MOST_SWEPT = 30, 64
"""Sweeps of a ladder, as far as its examples go, and rows at random of each. 9 of 10 seeds find a
value that the code names by its hash alone (docs/decisions.md, 2026-11-28)."""
MOST_NAMED = 8
"""Whole numbers of the code that are tried as sizes of a database, each with the next."""
STALE = 150
"""Examples without anything new after which evolution ends."""
PARENTS, LATEST = 6, 12
"""Pairs that evolution changes: the best by each of four scores, and the latest telling ones."""
WHOLE_ROWS = 0.4
"""Share of the changes by evolution that are to whole rows."""
Row = tuple[object, ...]


class Stages:
    """The stages of a hunt over the choices of one strategy, all random numbers from one seed."""

    def __init__(
        self, space: ChoiceSpace, scout: Scout, constants: Sequence[object], seed: int
    ) -> None:
        """Nothing is looked at yet; `constants` are those of the mechanism's code."""
        self.examples = scout.plan.examples
        self.random = Random(f"dpwitness pairs {seed}")
        self.tries = Tries(space, scout)
        self.suggestions = Suggestions(constants)
        self.bank = Bank(self.tries, self.suggestions)
        self.evolution = Evolution(self.tries, self.suggestions, self.bank, self.random)
        self.patterned: list[Seen] = []
        """Pairs whose like choices follow a pattern, the plainest first."""

    def run(self) -> None:
        """All stages; Enough and Gross of the scout end them."""
        tries, suggestions = self.tries, self.suggestions
        self._random(FIRST)
        smallest = tries.shapes(SHAPES)
        far = [*tries.longest(2), *smallest]
        tries.all_of(exhausted(tries.space, smallest), MOST_LISTS)
        tries.all_of(corners(suggestions, far), int(0.15 * self.examples))
        self._patterns(tries.longest(1) or smallest)
        tries.all_of(dictionary(suggestions, smallest), int(0.3 * self.examples))
        tries.all_of(shaped(suggestions, smallest), int(0.15 * self.examples))
        tries.all_of(repeated(suggestions, smallest), int(0.07 * self.examples))
        tries.all_of(inner(suggestions, tries.inside()), int(0.07 * self.examples))
        together = conjunctions(suggestions, tries.space, smallest)
        tries.all_of(together, int(0.15 * self.examples))
        tries.all_of(enumerated(smallest), self.examples // 4)
        self._random(RANDOM - FIRST)
        # The smallest example with a collection of as many elements as a side has rows.
        found = (listed(seen) for seen in tries.by_size())
        base = next((one for one in found if one is not None), None)
        if base is not None:
            Ladder(tries, self.bank, self.random, base).run(int(0.4 * self.examples))
        self.evolution.run(self.examples)

    def _patterns(self, examples: list[Example]) -> None:
        """Groups of like choices all alike, one against the rest, half and half."""
        proposals = islice(in_turn([patterned(one) for one in examples]), PATTERNED)
        for seen in self.tries.each_of(proposals):
            if seen is not None and seen not in self.patterned:
                self.patterned.append(seen)

    def climbed(self, start: Seen, trials: int, draws: int, most: int) -> Seen:
        """The pair that promises most, by changes of a pair as long as they help.

        Changes are judged by `draws` outputs a side that all share their noise; the climb ends
        after `most` outputs or when change after change has not helped.
        """
        scout, tries = self.tries.scout, self.tries
        stop, best, stale = scout.left() - most, start, 0
        if most < 4 * draws:
            return start
        held = scout.promised(start, CLIMBING, draws, trials)
        tried = {id(start)}
        while stale < STALE_CLIMB and scout.left() > max(stop, 4 * draws):
            choices = self._changed(best)
            if choices is None or scout.out_of_time():
                break
            stale += 1
            try:
                seen = tries.again(choices)
            except Enough:
                break
            except Gross as gross:
                return gross.seen
            if seen is None or id(seen) in tried or scout.left() < 2 * draws:
                continue
            tried.add(id(seen))
            promised = scout.promised(seen, CLIMBING, draws, trials)
            if promised > held:
                best, held, stale = seen, promised, 0
        return best

    def _changed(self, seen: Seen) -> list[object] | None:
        """One change: of a group of like choices, of a part of it, or any that evolution makes."""
        if seen.example is None or not seen.example.choices:
            return None
        if self.random.random() < GROUPS:
            changed = regrouped(seen.example, self.random)
            if changed is not None:
                return changed
        return self.evolution.mutated(seen)

    def _random(self, most: int) -> None:
        """Examples at random, fewer where nothing new comes any more."""
        stale, known = 0, self.tries.known
        for _ in self.tries.at_random(self.random, self._suggest, most):
            stale = 0 if self.tries.known > known else stale + 1
            known = self.tries.known
            if stale >= STALE_RANDOM:
                return

    def _suggest(self, choice: ExampleChoice) -> Value | None:
        if choice.kind == "boolean" or self.random.random() > SUGGESTED:
            return None
        values = self.suggestions.values(choice)
        return self.random.choice(values) if values else None


class Bank:
    """Rows of each shape, collected once."""

    def __init__(self, tries: Tries, suggestions: Suggestions) -> None:
        """Nothing is collected yet."""
        self._tries, self._suggestions = tries, suggestions
        self.constants = suggestions.constants
        self._rows: dict[tuple[str, ...], list[Row]] = {}

    def rows(self, block: Elements, example: Example) -> list[Row]:
        """The simplest, the extremes, those with a constant, others that were seen."""
        if not block.elements:
            return []
        a, b = block.elements[0]
        template = example.choices[a:b]
        shape = tuple(choice.kind for choice in template)
        if shape not in self._rows:
            self._rows[shape] = self._collected(template, tuple(example.values[a:b]))
        return self._rows[shape]

    def _collected(self, template: tuple[ExampleChoice, ...], first: Row) -> list[Row]:
        found = [first, tuple(simplest(choice) for choice in template)]
        found += ends_of(template)
        marked, others = self._met(len(template))
        alone = Example(None, [(c.kind, c.value, c.constraints) for c in template], ())
        marked += [tuple(run) for run in runs(self._suggestions, alone)]
        for place, choice in enumerate(template):
            if choice.kind == "boolean":
                continue
            for value in self._suggestions.fitting(choice)[:MARKS]:
                marked.append((*first[:place], value, *first[place + 1 :]))
        found += [*marked[: BANKED - OTHERS], *others]
        unique = {marks(row): row for row in found}
        return list(unique.values())[:BANKED]

    def _met(self, width: int) -> tuple[list[Row], list[Row]]:
        """Rows of generated examples: those that hold a constant of the code, and the others."""
        marked: list[Row] = []
        others: list[Row] = []
        for seen in self._tries.examples():
            found = listed(seen)
            if found is None:
                continue
            one, place = found
            elements = one.blocks[place].elements
            for (start, end), row in zip(elements, _rows_of(seen, len(elements)), strict=False):
                if end - start != width:
                    continue
                telling = any(mark(leaf) in self._suggestions.marks for leaf in _leaves(row))
                (marked if telling else others).append(tuple(one.values[start:end]))
        return marked, others


def ends_of(template: Sequence[ExampleChoice]) -> list[Row]:
    """The row of the least values that its choices permit, and that of the greatest."""
    return [tuple(_end(choice, end) for choice in template) for end in (0, 1)]


def listed(seen: Seen) -> tuple[Example, int] | None:
    """The example with the place of the collection whose elements are a side's rows."""
    if seen.listed is None and seen.example is not None:
        sizes = {length_of(side) for side in sides_of(seen.pair)} - {0}
        for place, block in enumerate(seen.example.blocks if sizes else ()):
            if block.elements and len(block.elements) in sizes:
                seen.listed = seen.example, place
                break
    return seen.listed


def length_of(database: object) -> int:
    """The rows of a database; 0 where it has none or is a text."""
    return 0 if isinstance(database, (str, bytes)) else records_in(database) or 0


def shortest(seen: Seen) -> int:
    """The rows of the smaller side of a pair."""
    return min(map(length_of, sides_of(seen.pair)))


def _rows_of(seen: Seen, count: int) -> list[object]:
    for side in sides_of(seen.pair):
        if length_of(side) == count:
            try:
                return list(side)
            except TypeError:
                return []
    return []


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, np.generic):
        yield value.item()
    elif not isinstance(value, np.ndarray):
        yield value


def _end(choice: ExampleChoice, end: int) -> object:
    return choice.value if choice.kind == "boolean" else far(choice)[end]


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

    def _steps(self) -> Iterator[Callable[[], object]]:
        """What to try, in order; each step visits a few examples."""
        bank = self.bank
        marked = [row for row in bank[1:] if row not in self.ends]
        yield partial(self._together, [*bank[:1], *marked[:8]])
        for row in dict.fromkeys((bank[0], *self.ends)):
            yield partial(self._alike, row)
            yield partial(self._climb, [row], row)
        yield lambda: self._climb(self._different(), None)
        yield partial(self._climb, self.ends, self.ends[1])
        yield self._twice
        for count in (3, 5, 8):
            yield partial(self._sorted, count)
        for row in marked[:COPIES]:
            yield partial(self._climb, [row], row)
        for _ in range(SWEEPS):
            yield self._sweep
        for row in bank[:4]:
            yield partial(self._odd, row)

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


def _middle(moves: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        whole = np.nan_to_num(moves)
    return np.median(whole, axis=0)


class Evolution:
    """One or two changes at a time of the best pairs by each score, and of the telling ones."""

    def __init__(self, tries: Tries, suggestions: Suggestions, bank: Bank, random: Random) -> None:
        """Nothing is changed yet."""
        self._tries, self._suggestions, self._bank = tries, suggestions, bank
        self._random = random

    def run(self, most: int) -> None:
        """Until `most` examples were made in all, or nothing new comes any more."""
        tries, stale, known = self._tries, 0, -1
        parents: list[Seen] = []
        while tries.made < most and stale < STALE:
            if known != tries.known:
                parents = self._parents()
            if not parents:
                return
            choices = self.mutated(self._random.choice(parents))
            told, known = len(tries.telling), tries.known
            tries.try_(choices)
            tries.made += 1 if known == tries.known else 0
            stale = 0 if len(tries.telling) > told else stale + 1

    def _parents(self) -> list[Seen]:
        examples = self._tries.examples()
        best = [
            seen
            for index in range(4)
            for seen in nlargest(PARENTS, examples, key=lambda seen: seen.shift[index])
        ]
        return [*best, *self._tries.telling[-LATEST:]]

    def mutated(self, parent: Seen) -> list[object]:
        """The choices that made a pair, with one or two changes."""
        example = parent.example
        assert example is not None
        choices: list[object] = list(example.values)
        for _ in range(self._random.choice((1, 1, 2))):
            found = listed(parent)
            if found is not None and self._random.random() < WHOLE_ROWS:
                changed = self._other_rows(*found)
                if changed is not None:
                    return changed
            choices = self._other_value(example, choices)
        return choices

    def _other_value(self, example: Example, choices: list[object]) -> list[object]:
        places = [p for p, c in enumerate(example.choices) if c.kind in ("integer", "float")]
        other = [p for p, c in enumerate(example.choices) if c.kind in ("string", "bytes")]
        if not places and not other:
            return choices
        random = self._random
        place = random.choice(places + other)
        choice = example.choices[place]
        way = random.randrange(6) if place in places else 0
        old = choices[place]
        values = self._suggestions.values(choice)
        value: object = old
        if way <= 1 and values:
            value = random.choice(values)
        elif way == 2:
            value = choices[random.choice([p for p in places if p < len(choices)] or [place])]
        elif way == 3 and isinstance(old, (int, float)):
            value = old + type(old)(random.choice((-2, -1, 1, 2)))
        elif way == 4 and choice.kind == "integer" and choice.size() < math.inf:
            value = random.randint(choice.constraints["min_value"], choice.constraints["max_value"])
        elif way == 5:
            value = self._towards_a_sum(example, choices, place)
        if choice.permits(value):
            choices[place] = value
        return choices

    def _towards_a_sum(self, example: Example, choices: list[object], place: int) -> object:
        """What would make the sum, or the mean, of the like numbers equal to a constant."""
        choice, random = example.choices[place], self._random
        alike = [p for p, c in enumerate(example.choices) if c.alike(choice)]
        numbers = self._suggestions.numbers()
        if not numbers:
            return choices[place]
        goal = random.choice(numbers) + random.choice((0, 0, 1, -1))
        times = random.choice((1, 1, len(alike), max(1, len(alike) - 1)))
        others = (choices[p] for p in alike if p != place)
        rest = sum(one for one in others if isinstance(one, (int, float)))
        value = goal * times - rest
        if not math.isfinite(value):
            return choices[place]
        return int(value) if choice.kind == "integer" else float(value)

    def _other_rows(self, example: Example, place: int) -> list[object] | None:
        block, random = example.blocks[place], self._random
        rows: list[Row] = [tuple(example.values[a:b]) for a, b in block.elements]
        if not rows:
            return None
        bank = self._bank.rows(block, example)
        way = random.randrange(8)
        at = random.randrange(len(rows))
        new = random.choice(bank) if bank else rows[at]
        match way:
            case 0:
                rows[at:at] = [rows[at]] * random.choice((1, 2, 4, 8, 16))
            case 1:
                del rows[at]
            case 2:
                rows.insert(at, new)
            case 3:
                rows[at] = new
            case 4:
                rows = [rows[at]] * len(rows)
            case 5:
                random.shuffle(rows)
            case 6 | 7:
                rows.sort(key=lambda row: tuple(map(sortable, row)), reverse=way == 7)
        return example.with_elements(block, rows)
