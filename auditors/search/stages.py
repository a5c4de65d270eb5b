"""Which examples to look at: changes of choices that random generation makes too seldom.

Each stage proposes sequences of choices; what comes out of them is whatever the user's strategy
makes of these choices. Nothing here knows a mechanism, and nothing decides anything.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, product
from random import Random
from typing import Any

import numpy as np

from ..results import Pair
from .choices import Block, Choice, ChoiceSpace, Example
from .scout import Scout, Seen

__all__ = ["Stages"]

RANDOM = 120
SUGGESTED = 0.3
"""Share of the random choices that are answered with an end or a constant."""
SMALL = 12
ENUMERATED = 128
"""Values of one choice up to which all are tried."""
MOST_BANK = 40
LARGEST = 1024
"""Rows of the longest database tried where the strategy sets no limit."""
STALE = 150
STALE_RANDOM = 50
MARKS = 24
COPIES = 7
MOST_JOINT = 6
SWEEPS = 30
MOST_SWEPT = 64

Row = tuple[Any, ...]


class Stages:
    """The stages of a hunt over the choices of one strategy, all random numbers from one seed."""

    def __init__(
        self, space: ChoiceSpace, scout: Scout, constants: Sequence[Any], seed: int
    ) -> None:
        self.space, self.scout, self.constants = space, scout, constants
        self.random = Random(f"dpwitness pairs {seed}")
        self.tried: set[Any] = set()
        self.made = 0
        self.best = [0.0] * 4
        self.telling: list[Seen] = []
        """Examples that showed something new when they were made."""
        self.permitted: dict[Any, list[Any]] = {}
        self.banks: dict[tuple[str, ...], list[Row]] = {}
        self.marks = {_mark(value) for value in constants}

    def run(self) -> None:
        """All stages; Enough and Gross of the scout end them."""
        examples = self.scout.plan.examples
        self._random(RANDOM // 3)
        smallest = self._shapes(4)
        self._all(self._corners(smallest), int(0.15 * examples))
        self._all(self._dictionary(smallest), int(0.3 * examples))
        self._all(self._enumerated(smallest), examples // 4)
        self._random(RANDOM - RANDOM // 3)
        self._ladder(int(0.4 * examples))
        self._evolve(examples)

    # --- making examples ----------------------------------------------------------------------

    def _try(self, choices: Sequence[Any]) -> Seen | None:
        """The example of these choices, looked at; None where there is none or it is no pair."""
        key = tuple(map(_mark, choices))
        if key in self.tried:
            return None
        self.tried.add(key)
        return self._visit(self.space.made(choices))

    def _visit(self, example: Example | None) -> Seen | None:
        self.made += 1
        if example is None or not isinstance(example.value, Pair):
            return None
        before = len(self.scout.seen)
        seen = self.scout.visit(example.value, example)
        if seen is None:
            return None
        if seen.example is None:
            # A template that the strategy can yield too can be changed and shrunk from now on.
            seen.example = example
        if len(self.scout.seen) > before:
            better = [
                new > 1.05 * old + 0.05 for new, old in zip(seen.shift, self.best, strict=True)
            ]
            if any(better):
                self.best = [max(pair) for pair in zip(seen.shift, self.best, strict=True)]
                self.telling.append(seen)
        return seen

    def _all(self, proposals: Iterable[Sequence[Any]], most: int) -> None:
        for choices in islice(proposals, most):
            self._try(choices)

    def _random(self, most: int) -> None:
        """Examples at random, fewer where nothing new comes any more."""
        stale = 0
        for _ in range(most):
            before = len(self.scout.seen)
            self._visit(self.space.random(self.random, self._suggest))
            stale = 0 if len(self.scout.seen) > before else stale + 1
            if stale >= STALE_RANDOM:
                return

    def _suggest(self, choice: Choice) -> Any:
        if choice.kind == "boolean" or self.random.random() > SUGGESTED:
            return None
        values = self._values(choice)
        return self.random.choice(values) if values else None

    def _values(self, choice: Choice) -> list[Any]:
        """What may be worth choosing: all values where they are few, else constants and ends."""
        key = (choice.kind, tuple((name, _mark(v)) for name, v in choice.constraints.items()))
        if key not in self.permitted:
            if choice.size() <= SMALL:
                low = choice.constraints.get("min_value", 0)
                found = list(range(low, low + int(choice.size())))
            else:
                found = [*self._fitting(choice), *choice.ends()]
            self.permitted[key] = list({_mark(value): value for value in found}.values())
        return self.permitted[key]

    def _fitting(self, choice: Choice) -> list[Any]:
        """The constants that a choice permits, each first as it is, then its surroundings."""
        found = [
            value
            for constant in self.constants
            for value in _as_choice(constant, choice.kind)
            if choice.permits(value)
        ]
        near = [
            value
            for constant in self.constants
            for value in _surroundings(constant, choice.kind)
            if choice.permits(value)
        ]
        return list({_mark(value): value for value in [*found, *near]}.values())

    def _examples(self) -> list[Seen]:
        return [seen for seen in self.scout.seen.values() if seen.example is not None]

    def _shapes(self, most: int) -> list[Example]:
        """The smallest examples of different shape."""
        found: dict[tuple[str, ...], Seen] = {}
        order = sorted(self._examples(), key=lambda seen: (len(_choices(seen)), seen.size))
        for seen in order:
            shape = tuple(choice.kind for choice in _choices(seen))
            found.setdefault(shape, seen)
        return [seen.example for seen in list(found.values())[:most] if seen.example is not None]

    # --- few choices, and choices at their ends -----------------------------------------------

    def _enumerated(self, examples: list[Example]) -> Iterator[list[Any]]:
        """Every value of choices that have few, one at a time; all together where that is few."""
        for example in examples[:1]:
            sizes = [choice.size() for choice in example.choices]
            if math.prod(sizes) <= 2 * ENUMERATED:
                ranges = [_range(choice) for choice in example.choices]
                yield from (list(values) for values in product(*ranges))
        for example in examples[:2]:
            for place, choice in enumerate(example.choices):
                if choice.kind == "integer" and 2 < choice.size() <= ENUMERATED:
                    yield from (_with(example, {place: value}) for value in _range(choice))

    def _corners(self, examples: list[Example]) -> Iterator[list[Any]]:
        """Like choices at their ends: all, all but one, half, every other; and what is beside."""
        proposals = [self._corners_of(example) for example in [*self._longest(2), *examples]]
        yield from _in_turn(proposals)

    def _longest(self, most: int) -> list[Example]:
        order = sorted(self._examples(), key=lambda seen: -len(_choices(seen)))
        return [seen.example for seen in order[:most] if seen.example is not None]

    def _corners_of(self, example: Example) -> Iterator[list[Any]]:
        groups: list[list[int]] = []
        for place, choice in enumerate(example.choices):
            if choice.kind == "boolean":
                continue
            for group in groups:
                if example.choices[group[0]].alike(choice):
                    group.append(place)
                    break
            else:
                groups.append([place])
        many = [group for group in groups if len(group) >= 3]
        few = [place for group in groups if len(group) < 3 for place in group]
        if not many:
            yield from self._corners_of_few(example, few)
            return
        beside = [self._few_values(example.choices[place], 4) for place in few[:3]]
        for pattern in ("all", "one", "half", "turn", "last"):
            for others in islice(product(*beside), 12):
                for ends in (1, -1):
                    changes = dict(zip(few, others, strict=False))
                    for group in many:
                        values = self._far(example.choices[group[0]])[::ends]
                        changes |= _pattern(group, values, pattern)
                    yield _with(example, changes)

    def _corners_of_few(self, example: Example, places: list[int]) -> Iterator[list[Any]]:
        """A few numbers: all combinations of what they may be, the extremes first."""
        values = [self._few_values(example.choices[place], 9) for place in places[:4]]
        combined = sorted(product(*(enumerate(few) for few in values)), key=_depth)
        for chosen in combined:
            yield _with(example, {p: v for p, (_, v) in zip(places, chosen, strict=False)})

    def _far(self, choice: Choice) -> list[Any]:
        """The least and the greatest value of a choice."""
        if choice.kind == "integer" and choice.size() < math.inf:
            return [choice.constraints["min_value"], choice.constraints["max_value"]]
        ends = [value for value in choice.ends() if value == value]  # not NaN
        return [ends[0], ends[-1]] if ends else [choice.value, choice.value]

    def _few_values(self, choice: Choice, most: int) -> list[Any]:
        """The ends first, then 0, what is special, and constants."""
        if choice.kind == "integer" and choice.size() <= most:
            return _range(choice)
        ends = choice.ends()
        far = self._far(choice)
        found = {_mark(value): value for value in [*far, *ends, *self._fitting(choice)]}
        return list(found.values())[:most]

    # --- constants ----------------------------------------------------------------------------

    def _dictionary(self, examples: list[Example]) -> Iterator[list[Any]]:
        """Constants that stand together in the code, in choices that do; then each alone."""
        one_row = [e for e in examples if any(block.elements for block in e.blocks)]
        yield from _in_turn(
            [
                _in_turn([self._runs(example) for example in examples]),
                _in_turn([self._singles(example) for example in examples]),
                _in_turn([self._joint(example) for example in one_row[:1]]),
            ]
        )

    def _joint(self, example: Example) -> Iterator[list[Any]]:
        """A constant or an end in one choice of a row, with every value of the row's small ones.

        So a condition on several columns of one row is met, where one of them is chosen by an
        index that no constant names.
        """
        for block in [block for block in example.blocks if block.elements][:1]:
            for start, end in block.elements[:1]:
                row = range(start, end)
                small = [p for p in row if _few_ways(example.choices[p]) and p != start] + [
                    p for p in (start,) if example.choices[p].kind == "integer"
                    and _few_ways(example.choices[p])
                ]  # fmt: skip
                large = [p for p in row if example.choices[p].kind != "boolean" and p not in small]
                ways = [_range(example.choices[place]) for place in small[:3]]
                combined = list(islice(product(*ways), 2 * MARKS)) if small else []
                for position in range(MOST_JOINT):
                    for place in large:
                        choice = example.choices[place]
                        exact = [v for c in self.constants for v in _as_choice(c, choice.kind)]
                        more = [v for c in self.constants for v in _surroundings(c, choice.kind)]
                        values = [v for v in [*exact, *self._far(choice), *more]
                                  if choice.permits(v)]  # fmt: skip
                        values = list({_mark(v): v for v in values}.values())
                        if position < len(values):
                            for chosen in combined:
                                changes = dict(zip(small, chosen, strict=False))
                                yield _with(example, {**changes, place: values[position]})

    def _runs(self, example: Example) -> Iterator[list[Any]]:
        places = [p for p, choice in enumerate(example.choices) if choice.kind != "boolean"]
        for length in (5, 4, 3, 2):
            for start in range(len(self.constants) - length + 1):
                values = self.constants[start : start + length]
                for first in range(len(places) - length + 1):
                    chosen = places[first : first + length]
                    fitted = [
                        next(
                            (v for v in _as_choice(value, example.choices[p].kind)
                             if example.choices[p].permits(v)), None,
                        )
                        for value, p in zip(values, chosen, strict=True)
                    ]  # fmt: skip
                    if all(value is not None for value in fitted):
                        yield _with(example, dict(zip(chosen, fitted, strict=True)))

    def _singles(self, example: Example) -> Iterator[list[Any]]:
        for place, choice in enumerate(example.choices):
            if choice.kind != "boolean":
                for value in self._fitting(choice)[:MARKS]:
                    yield _with(example, {place: value})

    # --- rows ---------------------------------------------------------------------------------

    def _ladder(self, most: int) -> None:
        """Copies of a row and rows all different, ever more of them, with bisection."""
        start = self.made
        base = self._base()
        if base is None:
            return
        rows = Rows(self, *base)
        for step in rows.steps():
            if self.made - start >= most:
                return
            step()

    def _base(self) -> tuple[Example, int] | None:
        """The smallest example with a collection of as many elements as a side has rows."""
        order = sorted(self._examples(), key=lambda seen: (len(_choices(seen)), seen.size))
        for seen in order:
            found = _listed(seen)
            if found is not None:
                return found
        return None

    # --- evolution ----------------------------------------------------------------------------

    def _evolve(self, most: int) -> None:
        """Change the examples that stood out, as long as something new comes of it."""
        stale = 0
        while self.made < most and stale < STALE:
            parents = self._parents()
            if not parents:
                return
            parent = self.random.choice(parents)
            choices = self._mutated(parent)
            told, known = len(self.telling), len(self.scout.seen)
            self._try(choices)
            self.made += 1 if known == len(self.scout.seen) else 0
            stale = 0 if len(self.telling) > told else stale + 1

    def _parents(self) -> list[Seen]:
        examples = self._examples()
        best = [
            seen
            for index in range(4)
            for seen in sorted(examples, key=lambda seen: -seen.shift[index])[:6]
        ]
        return [*best, *self.telling[-12:]]

    def _mutated(self, parent: Seen) -> list[Any]:
        example = parent.example
        assert example is not None
        choices = list(example.values)
        for _ in range(self.random.choice((1, 1, 2))):
            listed = _listed(parent)
            if listed is not None and self.random.random() < 0.4:
                changed = self._other_rows(*listed)
                if changed is not None:
                    return changed
            choices = self._other_value(example, choices)
        return choices

    def _other_value(self, example: Example, choices: list[Any]) -> list[Any]:
        places = [p for p, c in enumerate(example.choices) if c.kind in ("integer", "float")]
        other = [p for p, c in enumerate(example.choices) if c.kind in ("string", "bytes")]
        if not places and not other:
            return choices
        place = self.random.choice(places + other)
        choice = example.choices[place]
        way = self.random.randrange(6) if place in places else 0
        old = choices[place]
        values = self._values(choice)
        value: Any = old
        if way <= 1 and values:
            value = self.random.choice(values)
        elif way == 2:
            value = choices[self.random.choice([p for p in places if p < len(choices)] or [place])]
        elif way == 3:
            value = old + type(old)(self.random.choice((-2, -1, 1, 2)))
        elif way == 4 and choice.kind == "integer" and choice.size() < math.inf:
            value = self.random.randint(
                choice.constraints["min_value"], choice.constraints["max_value"]
            )
        elif way == 5:
            value = self._towards_a_sum(example, choices, place)
        if choice.permits(value):
            choices[place] = value
        return choices

    def _towards_a_sum(self, example: Example, choices: list[Any], place: int) -> Any:
        """What would make the sum, or the mean, of the like numbers equal to a constant."""
        choice = example.choices[place]
        alike = [p for p, c in enumerate(example.choices) if c.alike(choice)]
        numbers = [c for c in self.constants if type(c) in (int, float)]
        if not numbers:
            return choices[place]
        goal = self.random.choice(numbers) + self.random.choice((0, 0, 1, -1))
        times = self.random.choice((1, 1, len(alike), max(1, len(alike) - 1)))
        rest = sum(choices[p] for p in alike if p != place)
        value = goal * times - rest
        if not math.isfinite(value):
            return choices[place]
        return int(value) if choice.kind == "integer" else float(value)

    def _other_rows(self, example: Example, place: int) -> list[Any] | None:
        block = example.blocks[place]
        rows = [tuple(example.values[a:b]) for a, b in block.elements]
        if not rows:
            return None
        bank = self.bank(block, example)
        way = self.random.randrange(8)
        at = self.random.randrange(len(rows))
        new = self.random.choice(bank) if bank else rows[at]
        match way:
            case 0:
                rows[at:at] = [rows[at]] * self.random.choice((1, 2, 4, 8, 16))
            case 1:
                del rows[at]
            case 2:
                rows.insert(at, new)
            case 3:
                rows[at] = new
            case 4:
                rows = [rows[at]] * len(rows)
            case 5:
                self.random.shuffle(rows)
            case 6 | 7:
                rows.sort(key=lambda row: tuple(map(_sortable, row)), reverse=way == 7)
        return example.with_elements(block, rows)

    def bank(self, block: Block, example: Example) -> list[Row]:
        """Rows to build databases of: the simplest, the extremes, those with a constant."""
        if not block.elements:
            return []
        a, b = block.elements[0]
        template = example.choices[a:b]
        shape = tuple(choice.kind for choice in template)
        if shape not in self.banks:
            self.banks[shape] = self._bank(template, tuple(example.values[a:b]))
        return self.banks[shape]

    def _bank(self, template: tuple[Choice, ...], first: Row) -> list[Row]:
        found = [first]
        found.append(tuple(_simplest(choice) for choice in template))
        found += [tuple(_end(choice, end, self) for choice in template) for end in (0, 1)]
        marked: list[Row] = []
        others: list[Row] = []
        for seen in self._examples():
            listed = _listed(seen)
            if listed is None:
                continue
            one, place = listed
            rows = _rows_of(seen, len(one.blocks[place].elements))
            for (start, end), row in zip(one.blocks[place].elements, rows, strict=False):
                if end - start != len(template):
                    continue
                telling = any(_mark(leaf) in self.marks for leaf in _leaves(row))
                (marked if telling else others).append(tuple(one.values[start:end]))
        for run in self._runs_in(template):
            marked.append(run)
        for place, choice in enumerate(template):
            if choice.kind == "boolean":
                continue
            for value in self._fitting(choice)[:MARKS]:
                marked.append((*found[0][:place], value, *found[0][place + 1 :]))
        found += marked[: MOST_BANK - 10]
        found += others
        unique = {tuple(map(_mark, row)): row for row in found}
        return list(unique.values())[:MOST_BANK]

    def _runs_in(self, template: tuple[Choice, ...]) -> Iterator[Row]:
        one = Example(None, template, None)
        for choices in self._runs(one):
            yield tuple(choices)


class Rows:
    """Databases built row by row from the choices of one base example."""

    def __init__(self, stages: Stages, base: Example, place: int) -> None:
        self.stages, self.base = stages, base
        self.block = base.blocks[place]
        self.bank = stages.bank(self.block, base)
        self.largest = LARGEST

    def steps(self) -> Iterator[Any]:
        """What to try, in order; each step visits a few examples."""
        bank = self.bank
        marked = bank[4:]
        yield lambda: self._together([*bank[:1], *marked[:8]])
        for row in (bank[0], *bank[2:4]):
            yield lambda row=row: self._climb([row], row)
        yield lambda: self._climb(self._different(), None)
        for count in (3, 5, 8):
            yield lambda count=count: self._sorted(count)
        for row in marked[:COPIES]:
            yield lambda row=row: self._climb([row], row)
        for _ in range(SWEEPS):
            yield self._sweep
        for row in bank[:4]:
            yield lambda row=row: self._odd(row)

    def _make(self, rows: Sequence[Row], change: Row | None = None) -> Seen | None:
        choices = self.base.with_elements(self.block, rows)
        if change is not None:
            choices = self._changed(choices, len(choices) - len(self._tail()), change)
        return self.stages._try(choices)

    def _tail(self) -> tuple[Choice, ...]:
        return self.base.choices[self.block.end[0] :]

    def _changed(self, choices: list[Any], start: int, change: Row) -> list[Any]:
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
        random = self.stages.random
        a, b = self.block.elements[0]
        template = self.base.choices[a:b]
        rows = list(self.bank)
        while len(rows) < 3 * MOST_BANK:
            rows.append(tuple(_anything(choice, random) for choice in template))
        return rows

    def _climb(self, rows: Sequence[Row], change: Row | None) -> None:
        """1, 2, 4, ... rows, the largest number, and what lies between where behaviour differs."""
        rungs: dict[int, Seen] = {}
        count = 1
        while count <= self.largest:
            made = self._rung(rows, change, count)
            if made is None:
                break
            if _length(made) < count - 1:
                self.largest = min(self.largest, max(map(_length_of, _sides(made))))
                break
            rungs[count] = made
            count *= 2
        for count in (self.largest, self.largest - 1) if self.largest < LARGEST else ():
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
        plain = choices = self.base.with_elements(self.block, made)
        start = len(choices) - len(self._tail())
        if change is not None:
            choices = self._changed(choices, start, change)
        if choices == plain and len(rows) > 1:
            # No row is chosen beside the database: the place says which of its rows goes, the last.
            whole = [type(value) is int for value in choices]
            choices = [
                count - 1 if place >= start and whole[place] else value
                for place, value in enumerate(choices)
            ]
        key = tuple(map(_mark, choices))
        if key in self.stages.tried:
            example = self.stages.space.made(choices)
            return None if example is None else self.stages._visit(example)
        return self.stages._try(choices)

    def _jump(self, one: Seen, two: Seen, steps: int) -> float:
        """How far behaviour at two rungs is from a straight line, over what is usual."""
        probes = self.stages.scout.probes
        if not self.stages.scout.sampler.seeded:
            return 0.0
        a, b = probes[one.key[0]], probes[two.key[0]]
        if a.numbers.shape != b.numbers.shape or a.paths != b.paths:
            return math.inf
        if not a.numbers.size:
            return 0.0
        slopes = []
        for seen in (one, two):
            near, far = probes[seen.key[0]], probes[seen.key[1]]
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

    def _sorted(self, count: int) -> None:
        rows = sorted(self._different()[:count], key=lambda row: tuple(map(_sortable, row)))
        self._make(rows)
        self._make(rows[::-1])
        self._make([*rows, *rows[::-1]])

    def _sweep(self) -> None:
        """Many rows at random in one database; where it bends, the one that does it by halving.

        So hundreds of values cost a few dozen runs, for leaks at a value that no constant names.
        """
        random = self.stages.random
        a, b = self.block.elements[0]
        template = self.base.choices[a:b]
        count = min(self.largest, MOST_SWEPT)
        if count < 4 or not any(choice.size() > ENUMERATED for choice in template):
            return
        rows = [tuple(_anything(choice, random) for choice in template) for _ in range(count)]
        ends = {place: self._rung(rows, None, place) for place in (1, count)}
        rungs = {place: seen for place, seen in ends.items() if seen is not None}
        if len(rungs) == 2 and self._jump(rungs[1], rungs[count], count - 1) > 1:
            self._bisect(rows, None, rungs, 1, count)


# --- small helpers -------------------------------------------------------------------------------


def _mark(value: Any) -> Any:
    """Equal for values that are the same to the last bit and type."""
    return (type(value).__name__, repr(value))


def _choices(seen: Seen) -> tuple[Choice, ...]:
    return seen.example.choices if seen.example is not None else ()


def _sides(seen: Seen) -> tuple[Any, Any]:
    return seen.pair.database, seen.pair.neighbour


def _length_of(database: Any) -> int:
    known = hasattr(database, "__len__") and not isinstance(database, (str, bytes))
    return len(database) if known else 0


def _length(seen: Seen) -> int:
    return min(map(_length_of, _sides(seen)))


def _listed(seen: Seen) -> tuple[Example, int] | None:
    """The example with the place of the collection whose elements are a side's rows."""
    if seen.listed is None and seen.example is not None:
        sizes = {_length_of(side) for side in _sides(seen)} - {0}
        for place, block in enumerate(seen.example.blocks if sizes else ()):
            if block.elements and len(block.elements) in sizes:
                seen.listed = seen.example, place
                break
    return seen.listed


def _rows_of(seen: Seen, count: int) -> list[Any]:
    for side in _sides(seen):
        if _length_of(side) == count:
            try:
                return list(side)
            except TypeError:
                return []
    return []


def _leaves(value: Any) -> Iterator[Any]:
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


def _range(choice: Choice) -> list[Any]:
    if choice.kind == "boolean":
        return [False, True]
    low = choice.constraints["min_value"]
    return list(range(low, low + int(choice.size())))


def _few_ways(choice: Choice) -> bool:
    """Whether a choice has few values; one to go on or stop is none of these."""
    if choice.kind == "boolean":
        return choice.constraints.get("p") == 0.5
    return choice.kind == "integer" and 2 <= choice.size() <= SMALL


def _with(example: Example, changes: dict[int, Any]) -> list[Any]:
    values = list(example.values)
    for place, value in changes.items():
        values[place] = value
    return values


def _pattern(group: list[int], ends: list[Any], pattern: str) -> dict[int, Any]:
    low, high = ends
    count = len(group)
    match pattern:
        case "all":
            values = [high] * count
        case "one":
            values = [high] + [low] * (count - 1)
        case "last":
            values = [low] * (count - 1) + [high]
        case "half":
            values = [low] * (count // 2) + [high] * (count - count // 2)
        case _:
            values = [ends[place % 2] for place in range(count)]
    return dict(zip(group, values, strict=True))


def _depth(chosen: tuple[tuple[int, Any], ...]) -> tuple[int, int]:
    places = [place for place, _ in chosen]
    return max(places, default=0), sum(places)


def _in_turn(proposals: list[Iterator[list[Any]]]) -> Iterator[list[Any]]:
    """One of each in turn until all have ended."""
    while proposals:
        left = []
        for one in proposals:
            found = next(one, None)
            if found is not None:
                yield found
                left.append(one)
        proposals = left


def _as_choice(constant: Any, kind: str) -> list[Any]:
    """A constant as a value of the kind, if it can be one."""
    if kind == "integer" and isinstance(constant, (int, float)) and math.isfinite(constant):
        whole = int(constant)
        return [whole] if whole == constant else [math.floor(constant), math.ceil(constant)]
    if kind == "float" and isinstance(constant, (int, float)):
        try:
            return [float(constant)]
        except OverflowError:
            return []
    if (kind == "string" and isinstance(constant, str)) or (
        kind == "bytes" and isinstance(constant, bytes)
    ):
        return [constant]
    return []


def _surroundings(constant: Any, kind: str) -> list[Any]:
    """A little more, a little less, and the negative of a constant."""
    found: list[Any] = []
    for value in _as_choice(constant, kind):
        if kind == "integer":
            found += [value + 1, value - 1, -value]
        elif kind == "float":
            found += [math.nextafter(value, math.inf), math.nextafter(value, -math.inf)]
            found += [value + 1, value - 1, -value]
    return found


def _simplest(choice: Choice) -> Any:
    """0, False or an empty text where permitted, else the choice as it is."""
    for value in ({"integer": 0, "float": 0.0, "string": ""}.get(choice.kind), choice.value):
        if value is not None and choice.kind != "boolean" and choice.permits(value):
            return value
    return choice.value


def _end(choice: Choice, end: int, stages: Stages) -> Any:
    if choice.kind == "boolean":
        return choice.value
    return stages._far(choice)[end]


def _anything(choice: Choice, random: Random) -> Any:
    if choice.kind == "integer" and choice.size() < math.inf:
        return random.randint(choice.constraints["min_value"], choice.constraints["max_value"])
    if choice.kind == "float":
        low, high = choice.constraints["min_value"], choice.constraints["max_value"]
        if math.isfinite(low) and math.isfinite(high):
            value = random.uniform(low, high)
            return value if choice.permits(value) else choice.value
    return choice.value


def _sortable(value: Any) -> tuple[str, Any]:
    kind = "number" if isinstance(value, (bool, int, float)) else type(value).__name__
    return kind, 0 if value != value else value


def _middle(moves: Any) -> Any:
    with np.errstate(invalid="ignore"):
        whole = np.nan_to_num(moves)
    return np.median(whole, axis=0)
