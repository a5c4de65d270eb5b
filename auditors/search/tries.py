"""Examples made from choices and looked at, each once, and which of them showed something new."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from random import Random

from ...mechanisms.model import Pair
from .choices import ChoiceSpace, Example, Suggest
from .scout import Scout, Seen
from .suggestions import marks

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
        self._tried: set[object] = set()
        self._best = [0.0] * 4

    def try_(self, choices: Sequence[object]) -> Seen | None:
        """The example of these choices, looked at; None if there is none, or it is no new pair."""
        return self._visit(self.space.made(choices)) if self._is_new(choices) else None

    def again(self, choices: Sequence[object]) -> Seen | None:
        """The example of these choices, also where they were tried before."""
        self._tried.add(marks(choices))
        return self._visit(self.space.made(choices))

    def at_random(self, random: Random, suggest: Suggest, most: int) -> Iterator[Seen | None]:
        """Examples at random, looked at."""
        yield from self._together(self.space.random(random, suggest) for _ in range(most))

    def all_of(self, proposals: Iterable[Sequence[object]], most: int) -> None:
        """The examples of the first of many proposals; nothing is made twice."""
        for _ in self._together(
            self.space.made(choices) for choices in islice(proposals, most) if self._is_new(choices)
        ):
            pass

    def each_of(self, proposals: Iterable[Sequence[object]]) -> Iterator[Seen | None]:
        """The examples of all proposals, also where they were tried before."""
        yield from self._together(map(self.space.made, proposals))

    def _is_new(self, choices: Sequence[object]) -> bool:
        key = marks(choices)
        if key in self._tried:
            return False
        self._tried.add(key)
        return True

    def _together(self, made: Iterable[Example | None]) -> Iterator[Seen | None]:
        """Look at examples, those of several asked of the mechanism together."""
        left = iter(made)
        while some := self._next(left):
            self.scout.ahead([one.value for one in some if one and isinstance(one.value, Pair)])
            yield from map(self._visit, some)

    def _next(self, made: Iterator[Example | None]) -> list[Example | None]:
        most = self.scout.together
        if most > 1 and self.scout.sampler.seeded:
            return self.space.at_once(made, most)
        # Proposals may ask for draws, and a mechanism that draws its own randomness needs it.
        return list(islice(made, most))

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
        return sorted(self.examples(), key=lambda seen: (choices_made(seen), seen.size))

    def shapes(self, most: int) -> list[Example]:
        """The smallest examples of different shape."""
        found: dict[tuple[str, ...], Seen] = {}
        for seen in self.by_size():
            shape = tuple(kind for kind, *_ in seen.example.made) if seen.example else ()
            found.setdefault(shape, seen)
        return [seen.example for seen in list(found.values())[:most] if seen.example is not None]

    def inside(self) -> list[Example]:
        """The smallest example with a collection, not an empty one, inside another."""
        found = (seen.example for seen in self.by_size())
        return list(islice((one for one in found if one is not None and one.inner is not None), 1))

    def longest(self, most: int) -> list[Example]:
        """The examples of most choices."""
        order = sorted(self.examples(), key=lambda seen: -choices_made(seen))
        return [seen.example for seen in order[:most] if seen.example is not None]


def choices_made(seen: Seen) -> int:
    """How many choices made a pair; none made a template."""
    return len(seen.example.made) if seen.example is not None else 0
