"""The way down from the pair that was found to the smallest one that still refutes."""

from collections.abc import Callable
from random import Random
from typing import Any

from ..databases.neighbours import Source
from ..outputs.encoding import canonical
from ..results import Pair
from .choices import Choice, choice_space
from .hunt import Found
from .probe import Shift, shift
from .scout import Scout, Seen

__all__ = ["shrink"]

CANDIDATES = 600
"""Pairs that may be made on the way down; most are turned away without being asked about."""
PART = 0.5
"""Part of the found pair's score that a smaller pair must have to be asked about."""


def shrink(
    source: Source,
    found: Found,
    refutes: Callable[[Pair], bool],
    *,
    seed: int,
    most: int = 60,
) -> Pair:
    """The smallest pair that still refutes, going down from `found` by simpler choices.

    `refutes` must be a function of the pair and is asked at most `most` times: only about pairs
    that are smaller than the smallest known, and whose frozen run shows at least half of what
    the found pair's shows. Without frozen runs every smaller pair is asked about.
    """
    descent = _Descent(found, refutes, most)
    descent.from_templates(source)
    space = choice_space(source.strategy)
    start = found.seen.example if found.seen is not None else None
    if space is None or descent.scout is None:
        return descent.smallest
    if start is None:
        # A template that the strategy was not seen to yield: start from what most resembles it.
        start = descent.like_it()
    if start is None:
        return descent.smallest
    choices = list(start.choices)
    _Down(space, descent).run(choices, Random(seed))
    return descent.smallest


class _Descent:
    """Which pairs are known to refute, each asked about once."""

    def __init__(self, found: Found, refutes: Callable[[Pair], bool], most: int) -> None:
        self.smallest = found.pair
        self.size = _size(found.pair)
        self.known: dict[bytes, bool] = {_key(found.pair): True}
        self.refutes, self.left = refutes, most
        self.scout: Scout | None = found.scout
        self.goal: Shift | None = None
        if found.seen is not None and self.scout is not None and self.scout.sampler.seeded:
            self.goal = found.seen.shift
        self.axis = self._axis()

    def _axis(self) -> int:
        """The score by which the found pair stands out most from the others."""
        if self.goal is None or self.scout is None:
            return 0
        others = list(self.scout.seen.values())
        excess = []
        for index, value in enumerate(self.goal):
            usual = sorted(seen.shift[index] for seen in others)[len(others) // 2]
            excess.append(value / (usual + 0.05))
        return excess.index(max(excess))

    def promising(self, pair: Pair) -> bool:
        """Whether a frozen run shows enough of what the found pair showed."""
        if self.goal is None or self.scout is None or max(self.goal) <= 0:
            return True
        key = (canonical(pair.database), canonical(pair.neighbour))
        if key[0] == key[1]:
            return False
        sides = [
            self.scout.probe(side, encoded)
            for side, encoded in zip((pair.database, pair.neighbour), key, strict=True)
        ]
        return shift(*sides)[self.axis] >= PART * self.goal[self.axis]

    def ask(self, pair: Pair) -> bool:
        """Whether a pair refutes, remembered; it becomes the smallest if it is smaller."""
        key, size = _key(pair), _size(pair)
        if key not in self.known:
            if self.left <= 0 or size >= self.size or not self.promising(pair):
                return False
            self.left -= 1
            self.known[key] = self.refutes(pair)
        if self.known[key] and size < self.size:
            self.smallest, self.size = pair, size
        return self.known[key]

    def from_templates(self, source: Source) -> None:
        """Ask about the smaller templates, the smallest first, until one refutes."""
        for pair in sorted(source.templates, key=_size):
            if _size(pair) >= self.size or self.ask(pair):
                return

    def like_it(self) -> Any:
        """The smallest example that the strategy made, that shows as much and refutes."""
        if self.goal is None or self.scout is None:
            return None
        wanted = PART * self.goal[self.axis]
        able = [
            seen
            for seen in self.scout.seen.values()
            if seen.example is not None and seen.shift[self.axis] >= wanted and max(seen.shift) > 0
        ]
        for seen in sorted(able, key=lambda seen: _size(seen.pair))[:3]:
            if self._refutes(seen):
                return seen.example
        return None

    def _refutes(self, seen: Seen) -> bool:
        key = _key(seen.pair)
        if key not in self.known and self.left > 0:
            self.left -= 1
            self.known[key] = self.refutes(seen.pair)
        if self.known.get(key) and _size(seen.pair) < self.size:
            self.smallest, self.size = seen.pair, _size(seen.pair)
        return self.known.get(key, False)


class _Down:
    """Simpler choices as long as the pair they make refutes."""

    def __init__(self, space: Any, descent: _Descent) -> None:
        self.space, self.descent, self.made = space, descent, 0
        self.tried: set[Any] = set()

    def run(self, choices: list[Choice], random: Random) -> None:
        """Fewer rows, then fewer choices, then simpler ones, until nothing helps."""
        improved = True
        while improved and self.made < CANDIDATES and self.descent.left > 0:
            improved = False
            for step in (self._fewer, self._without, self._simpler, self._lower):
                after = step(choices)
                if after is not None:
                    choices, improved = after, True

    def _attempt(self, values: list[Any]) -> list[Choice] | None:
        key = tuple((type(v).__name__, repr(v)) for v in values)
        if key in self.tried or self.made >= CANDIDATES:
            return None
        self.tried.add(key)
        self.made += 1
        example = self.space.made(values)
        if example is None or not isinstance(example.value, Pair):
            return None
        size = self.descent.size
        if self.descent.ask(example.value) and self.descent.size < size:
            return list(example.choices)
        return None

    def _fewer(self, choices: list[Choice]) -> list[Choice] | None:
        """Without some elements of a collection: half of them, a quarter, one."""
        found = None
        example = self.space.made([choice.value for choice in choices])
        place = 0
        while example is not None and place < len(example.blocks):
            block = example.blocks[place]
            step = len(block.elements)
            while step > 0:
                start = 0
                while start < len(block.elements):
                    kept = [
                        example.values[a:b]
                        for index, (a, b) in enumerate(block.elements)
                        if not start <= index < start + step
                    ]
                    after = self._attempt(example.with_elements(block, kept))
                    if after is None:
                        # Which row changes is chosen by its place, and the places moved.
                        moved = example.with_elements(block, kept)
                        tail = len(example.choices) - block.end[0]
                        for at in range(len(moved) - tail, len(moved)):
                            if type(moved[at]) is int and moved[at] > start:
                                moved[at] = max(start, moved[at] - step)
                        after = self._attempt(moved)
                    if after is None:
                        start += step
                        continue
                    found = after
                    example = self.space.made([choice.value for choice in after])
                    if example is None or place >= len(example.blocks):
                        return found
                    block = example.blocks[place]
                step //= 2
            place += 1
        return found

    def _without(self, choices: list[Choice]) -> list[Choice] | None:
        """Without the choices from some place on: they become the simplest."""
        values = [choice.value for choice in choices]
        for kept in dict.fromkeys((0, len(values) // 4, len(values) // 2, 3 * len(values) // 4)):
            after = self._attempt(values[:kept])
            if after is not None:
                return after
        return None

    def _simpler(self, choices: list[Choice]) -> list[Choice] | None:
        """Each choice at a simple value; equal ones together first."""
        found = None
        groups: dict[Any, list[int]] = {}
        for place, choice in enumerate(choices):
            if choice.kind != "boolean":
                groups.setdefault((choice.kind, repr(choice.value)), []).append(place)
        places = [group for group in groups.values() if len(group) > 1]
        places += [[place] for group in groups.values() for place in group]
        for group in places:
            if max(group) >= len(choices):
                continue
            for value in _simple_values(choices[group[0]]):
                values = [choice.value for choice in choices]
                for place in group:
                    values[place] = value
                after = self._attempt(values)
                if after is not None:
                    choices = found = after
                    break
        return found

    def _lower(self, choices: list[Choice]) -> list[Choice] | None:
        """Whole numbers halfway to the simplest, again and again."""
        found = None
        for place in range(len(choices)):
            while place < len(choices) and choices[place].kind == "integer":
                choice = choices[place]
                goal = _simple_values(choice)[:1]
                if not goal or abs(choice.value - goal[0]) < 2:
                    break
                values = [other.value for other in choices]
                values[place] = goal[0] + (choice.value - goal[0]) // 2
                after = self._attempt(values)
                if after is None:
                    values[place] = choice.value - (1 if choice.value > goal[0] else -1)
                    after = self._attempt(values)
                    if after is None:
                        break
                choices = found = after
        return found


def _simple_values(choice: Choice) -> list[Any]:
    """Values simpler than the choice's own, the simplest first: 0, an end, fewer digits."""
    old = choice.value
    match choice.kind:
        case "integer":
            low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
            values = [0, 1, *(end for end in (low, high) if end is not None)]
            found = [v for v in values if choice.permits(v)]
            return found[: found.index(old)] if old in found else found
        case "float":
            if old != old:
                return [0.0] if choice.permits(0.0) else []
            low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
            values = [0.0, 1.0, low, high, -1.0]
            if abs(old) < 1e15:
                values += [float(round(old, digits)) for digits in (0, 1, 2, 3)]
            found = [v for v in dict.fromkeys(values) if v is not None and choice.permits(v)]
            finite = [v for v in found if abs(v) != float("inf")]
            return finite[: finite.index(old)] if old in finite else finite
        case "string":
            found = ["", old[: len(old) // 2], old[:-1], "a" * len(old)]
            return [v for v in dict.fromkeys(found) if v != old and choice.permits(v)]
    return []


def _key(pair: Pair) -> bytes:
    return canonical((pair.database, pair.neighbour))


def _size(pair: Pair) -> tuple[int, bytes]:
    key = _key(pair)
    return len(key), key
