"""Examples made from choices and looked at, each once, and which of them showed something new."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any

from ..results.results import Pair
from .choices import Choice, ChoiceSpace, Example, Suggest
from .scout import Scout, Seen
from .suggestions import mark

NEWS = (1.05, 0.05)
"""A score is new if it is so many times the largest so far, and so much more."""


class Tries:
    """What was tried of one strategy, and what came of it."""

    def __init__(self, space: ChoiceSpace, scout: Scout) -> None:
        """Nothing is tried yet."""
        self.space, self.scout = space, scout
        self.made = 0
        self.telling: list[Seen] = []
        """Examples that showed something new when they were made."""
        self._tried: set[Any] = set()
        self._best = [0.0] * 4

    def try_(self, choices: Sequence[Any]) -> Seen | None:
        """The example of these choices, looked at; None if there is none, or it is no new pair."""
        key = tuple(map(mark, choices))
        if key in self._tried:
            return None
        self._tried.add(key)
        return self._visit(self.space.made(choices))

    def again(self, choices: Sequence[Any]) -> Seen | None:
        """The example of these choices, also where they were tried before."""
        if tuple(map(mark, choices)) not in self._tried:
            return self.try_(choices)
        return self._visit(self.space.made(choices))

    def at_random(self, random: Random, suggest: Suggest) -> Seen | None:
        """An example at random, looked at."""
        return self._visit(self.space.random(random, suggest))

    def all_of(self, proposals: Iterable[Sequence[Any]], most: int) -> None:
        """The examples of the first of many proposals."""
        for choices in islice(proposals, most):
            self.try_(choices)

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
            factor, more = NEWS
            both = list(zip(seen.shift, self._best, strict=True))
            if any(new > factor * old + more for new, old in both):
                self._best = [max(pair) for pair in both]
                self.telling.append(seen)
        return seen

    @property
    def known(self) -> int:
        """Different pairs seen."""
        return len(self.scout.seen)

    def examples(self) -> list[Seen]:
        """The pairs that the strategy was seen to yield."""
        return [seen for seen in self.scout.seen.values() if seen.example is not None]

    def by_size(self) -> list[Seen]:
        """The same, those of fewest choices first."""
        return sorted(self.examples(), key=lambda seen: (len(choices_of(seen)), seen.size))

    def shapes(self, most: int) -> list[Example]:
        """The smallest examples of different shape."""
        found: dict[tuple[str, ...], Seen] = {}
        for seen in self.by_size():
            shape = tuple(choice.kind for choice in choices_of(seen))
            found.setdefault(shape, seen)
        return [seen.example for seen in list(found.values())[:most] if seen.example is not None]

    def longest(self, most: int) -> list[Example]:
        """The examples of most choices."""
        order = sorted(self.examples(), key=lambda seen: -len(choices_of(seen)))
        return [seen.example for seen in order[:most] if seen.example is not None]


def choices_of(seen: Seen) -> tuple[Choice, ...]:
    """The choices that made a pair; none for a template."""
    return seen.example.choices if seen.example is not None else ()


def in_turn(proposals: list[Iterator[list[Any]]]) -> Iterator[list[Any]]:
    """One of each in turn until all have ended."""
    while proposals:
        left = []
        for one in proposals:
            found = next(one, None)
            if found is not None:
                yield found
                left.append(one)
        proposals = left
