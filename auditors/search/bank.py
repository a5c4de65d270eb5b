"""Rows to build databases of, in the choices that make them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .choices import Elements, Example, ExampleChoice
from .dictionary import runs
from .scout import Seen, records_in, sides_of
from .suggestions import MARKS, Suggestions, far, mark, marks, simplest
from .tries import Tries

MOST = 40
OTHERS = 10
"""Places kept for rows that hold no constant."""

Row = tuple[Any, ...]


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
        found += [*marked[: MOST - OTHERS], *others]
        unique = {marks(row): row for row in found}
        return list(unique.values())[:MOST]

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


def _rows_of(seen: Seen, count: int) -> list[Any]:
    for side in sides_of(seen.pair):
        if length_of(side) == count:
            try:
                return list(side)
            except TypeError:
                return []
    return []


def _leaves(value: object) -> Iterator[Any]:
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
