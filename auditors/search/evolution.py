"""Changes of the examples that stood out, as long as something new comes of it."""

import math
from heapq import nlargest
from random import Random
from typing import Any

from .bank import Bank, listed
from .choices import Example
from .scout import Seen
from .suggestions import Suggestions, sortable
from .tries import Tries

STALE = 150
"""Examples without anything new after which it ends."""
PARENTS = 6
LATEST = 12
ROWS = 0.4
"""Share of the changes that are to whole rows."""


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

    def mutated(self, parent: Seen) -> list[Any]:
        """The choices that made a pair, with one or two changes."""
        example = parent.example
        assert example is not None
        choices = list(example.values)
        for _ in range(self._random.choice((1, 1, 2))):
            found = listed(parent)
            if found is not None and self._random.random() < ROWS:
                changed = self._other_rows(*found)
                if changed is not None:
                    return changed
            choices = self._other_value(example, choices)
        return choices

    def _other_value(self, example: Example, choices: list[Any]) -> list[object]:
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
        value: Any = old
        if way <= 1 and values:
            value = random.choice(values)
        elif way == 2:
            value = choices[random.choice([p for p in places if p < len(choices)] or [place])]
        elif way == 3:
            value = old + type(old)(random.choice((-2, -1, 1, 2)))
        elif way == 4 and choice.kind == "integer" and choice.size() < math.inf:
            value = random.randint(choice.constraints["min_value"], choice.constraints["max_value"])
        elif way == 5:
            value = self._towards_a_sum(example, choices, place)
        if choice.permits(value):
            choices[place] = value
        return choices

    def _towards_a_sum(self, example: Example, choices: list[Any], place: int) -> object:
        """What would make the sum, or the mean, of the like numbers equal to a constant."""
        choice, random = example.choices[place], self._random
        alike = [p for p, c in enumerate(example.choices) if c.alike(choice)]
        numbers = self._suggestions.numbers()
        if not numbers:
            return choices[place]
        goal = random.choice(numbers) + random.choice((0, 0, 1, -1))
        times = random.choice((1, 1, len(alike), max(1, len(alike) - 1)))
        rest = sum(choices[p] for p in alike if p != place)
        value = goal * times - rest
        if not math.isfinite(value):
            return choices[place]
        return int(value) if choice.kind == "integer" else float(value)

    def _other_rows(self, example: Example, place: int) -> list[object] | None:
        block, random = example.blocks[place], self._random
        rows = [tuple(example.values[a:b]) for a, b in block.elements]
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
