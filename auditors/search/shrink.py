"""The way down from the pair that was found to the smallest one that still refutes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ...mechanisms.model import Pair
from ..databases.neighbours import Source
from ..outputs.encoding import canonical
from .choices import ChoiceSpace, Example, ExampleChoice, Value, choice_space
from .probe import Shift, shift
from .scout import Found, Scout, Seen, key_of
from .suggestions import marks

CANDIDATES = 600
"""Pairs that may be made on the way down; most are turned away without being asked about."""
ALIKE, PART = 0.95, 0.5
"""Parts of the found pair's score: a pair that has the first is supposed to refute, without being
asked about, and one below the second is not asked about, at first.

To ask about a pair costs hundreds of draws, thousands if it hardly breaks the claim, and after a
cheap refutation few are left. Taking away what both databases share often leaves the score as it
was, so the way down begins with supposing. Of eight sums of up to 20 records that 100 to 200 draws
a side refuted, six were shown with 4 to 20 records when each step was asked about."""
FEW_BETWEEN = 12
"""Whole numbers between a value and the simplest one up to which all are tried."""


def shrink(
    source: Source,
    found: Found,
    refutes: Callable[[Pair], bool],
    *,
    most: int = 60,
    late: Callable[[], bool] = lambda: False,
) -> tuple[Pair, ...]:
    """Ever smaller pairs that still refute, going down from `found`, which is the last of them.

    The smallest comes first; the way leads over simpler choices of the strategy.

    `refutes` must be a function of the pair and is asked at most `most` times: first about the
    smallest pair whose frozen run shows as much as the found pair's, then about pairs that are
    smaller than the smallest known and show at least half as much. Where these lead no further,
    those are asked about too that show at least half of what the claim allows: the smallest pair
    that breaks a claim of 1 may show 2 where the worst shows 5. Without frozen runs every smaller
    pair is asked about. Once it is `late` nothing more is run.
    """
    descent = _Descent(found, refutes, most, late)
    space = choice_space(source.strategy)
    if space is None or descent.scout is None:
        descent.from_templates(source)
        return descent.way
    start = found.seen.example if found.seen is not None else None
    choices: list[ExampleChoice] = list(start.choices) if start is not None else []
    if choices and descent.goal is not None:
        with descent.supposed():
            lower = _Down(space, descent).run(choices)
        if descent.way[0] is not found.pair and descent.confirm():
            choices = lower
    down = _Down(space, descent)
    while True:
        descent.from_templates(source)
        if not choices:
            # A template that the strategy was not seen to yield: start from what most resembles it.
            start = descent.like_it()
            choices = list(start.choices) if start is not None else []
        if choices:
            choices = down.again(choices)
        if not descent.relax():
            return descent.way


class _Descent:
    """Which pairs are known to refute, each asked about once."""

    def __init__(
        self,
        found: Found,
        refutes: Callable[[Pair], bool],
        most: int,
        late: Callable[[], bool],
    ) -> None:
        self.way: tuple[Pair, ...] = (found.pair,)
        self.size = _size(found.pair)
        self.known: dict[bytes, bool] = {_key(found.pair): True}
        self.refutes, self.left, self.most, self.late = refutes, most, most, late
        self.noise = found.seen.noise if found.seen is not None else 0
        self.scout: Scout | None = found.scout
        self.goal: Shift | None = None
        if found.seen is not None and self.scout is not None and self.scout.sampler.seeded:
            self.goal = found.seen.shift
        self.axis = self._axis()
        self.wanted = PART * self.goal[self.axis] if self.goal is not None else 0.0

    def relax(self) -> bool:
        """Ask from now on about all that show half of the claim; False where that is no less."""
        if self.scout is None or self.goal is None:
            return False
        claimed = PART * self.scout.epsilon
        fewer, self.wanted = claimed < self.wanted, min(claimed, self.wanted)
        return fewer

    @contextmanager
    def supposed(self) -> Iterator[None]:
        """Pairs that show as much as the found one are taken to refute, and nothing is asked."""
        asked, wanted = self.refutes, self.wanted
        self.refutes = lambda pair: True
        self.wanted, self.left = wanted * ALIKE / PART, self.left + CANDIDATES
        try:
            yield
        finally:
            self.refutes, self.wanted, self.left = asked, wanted, self.most

    def confirm(self) -> bool:
        """Ask about the smallest pair that was supposed to refute; nothing else stays supposed."""
        small, *_, found = self.way
        self.way, self.size, self.known = (found,), _size(found), {_key(found): True}
        return self.ask(small)

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
        key = key_of(pair)
        if key[0] == key[1]:
            return False
        sides = [
            self.scout.probe(side, encoded, self.noise)
            for side, encoded in zip((pair.database, pair.neighbour), key, strict=True)
        ]
        return shift(*sides)[self.axis] >= max(self.wanted, 1e-9)

    def ask(self, pair: Pair) -> bool:
        """Whether a pair refutes, remembered; it becomes the smallest if it is smaller."""
        key, size = _key(pair), _size(pair)
        if key not in self.known:
            if self.left <= 0 or size >= self.size or self.late() or not self.promising(pair):
                return False
            self.left -= 1
            self.known[key] = self.refutes(pair)
        if self.known[key] and size < self.size:
            self.way, self.size = (pair, *self.way), size
        return self.known[key]

    def from_templates(self, source: Source) -> None:
        """Ask about the smaller templates, the smallest first, until one refutes."""
        for pair in sorted(source.templates, key=_size):
            if _size(pair) >= self.size or self.ask(pair):
                return

    def like_it(self) -> Example | None:
        """The smallest example that the strategy made, that shows as much and refutes."""
        if self.goal is None or self.scout is None:
            return None
        able = [
            seen
            for seen in self.scout.seen.values()
            if seen.example is not None
            and max(seen.shift) > 0
            and seen.shift[self.axis] >= self.wanted
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
            self.way, self.size = (seen.pair, *self.way), _size(seen.pair)
        return self.known.get(key, False)


class _Down:
    """Simpler choices as long as the pair they make refutes."""

    def __init__(self, space: ChoiceSpace, descent: _Descent) -> None:
        self.space, self.descent, self.made = space, descent, 0
        self.tried: set[object] = set()

    def again(self, choices: list[ExampleChoice]) -> list[ExampleChoice]:
        """The same from here on, with those that were turned away tried once more."""
        self.tried.clear()
        self.made = 0
        return self.run(choices)

    def run(self, choices: list[ExampleChoice]) -> list[ExampleChoice]:
        """Fewer rows, then fewer choices, then simpler ones, until nothing helps."""
        improved = True
        while improved and self.made < CANDIDATES and self.descent.left > 0:
            improved = False
            for step in (self._fewer, self._without, self._simpler, self._lower):
                after = step(choices)
                if after is not None:
                    choices, improved = after, True
        return choices

    def _attempt(self, values: Sequence[object]) -> list[ExampleChoice] | None:
        key = marks(values)
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

    def _fewer(self, choices: list[ExampleChoice]) -> list[ExampleChoice] | None:
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
                            index = moved[at]
                            if type(index) is int and index > start:
                                moved[at] = max(start, index - step)
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

    def _without(self, choices: list[ExampleChoice]) -> list[ExampleChoice] | None:
        """Without the choices from some place on: they become the simplest."""
        values = [choice.value for choice in choices]
        for kept in dict.fromkeys((0, len(values) // 4, len(values) // 2, 3 * len(values) // 4)):
            after = self._attempt(values[:kept])
            if after is not None:
                return after
        return None

    def _simpler(self, choices: list[ExampleChoice]) -> list[ExampleChoice] | None:
        """Each choice at a simple value; equal ones together first."""
        found = None
        groups: dict[tuple[str, str], list[int]] = {}
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

    def _lower(self, choices: list[ExampleChoice]) -> list[ExampleChoice] | None:
        """Each whole number as near to the simplest one as it can be: by halving, then one by one.

        Halving ends on a number next to one that does not refute; where the numbers between it and
        the simplest are few, all are tried, for what refutes may have gaps.
        """
        found = None
        for place in range(len(choices)):
            for step in (self._halved, self._stepped):
                after = step(choices, place) if place < len(choices) else None
                if after is not None:
                    choices = found = after
        return found

    def _halved(self, choices: list[ExampleChoice], place: int) -> list[ExampleChoice] | None:
        found, span = None, _span(choices[place])
        while span is not None and abs(span[1] - span[0]) > 1:
            low, high = span
            middle = low + (high - low) // 2
            after = self._put(choices, place, middle)
            if after is None:
                span = middle, high
                continue
            choices = found = after
            left = _span(choices[place]) if place < len(choices) else None
            span = (low, left[1]) if left is not None and left[1] == middle else None
        return found

    def _stepped(self, choices: list[ExampleChoice], place: int) -> list[ExampleChoice] | None:
        span = _span(choices[place])
        if span is None or abs(span[1] - span[0]) > FEW_BETWEEN:
            return None
        low, high = span
        for value in range(low, high, 1 if high > low else -1):
            after = self._put(choices, place, value)
            if after is not None:
                return after
        return None

    def _put(
        self, choices: list[ExampleChoice], place: int, value: int
    ) -> list[ExampleChoice] | None:
        values = [choice.value for choice in choices]
        values[place] = type(choices[place].value)(value)
        return self._attempt(values) if choices[place].permits(values[place]) else None


def _span(choice: ExampleChoice) -> tuple[int, int] | None:
    """The simplest value and the one chosen, where both are whole numbers and differ."""
    simple = _simple_values(choice)[:1]
    if choice.kind not in ("integer", "float") or not simple:
        return None
    ends = [*simple, choice.value]
    if choice.kind == "float" and not all(float(end).is_integer() for end in ends):
        return None
    if ends[0] == ends[1]:
        return None
    return int(ends[0]), int(ends[1])


def _simple_values(choice: ExampleChoice) -> list[Value]:
    """Values simpler than the choice's own, the simplest first: 0, an end, fewer digits."""
    old = choice.value
    match choice.kind:
        case "integer":
            low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
            ends = [end for end in (low, high) if end is not None]
            values = [0, 1, -old, *sorted(ends, key=abs)]
            values = [v for v in values if v != -old or old < 0]
            found = [v for v in values if choice.permits(v)]
            return found[: found.index(old)] if old in found else found
        case "float":
            if old != old:
                return [0.0] if choice.permits(0.0) else []
            low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
            ends = sorted((end for end in (low, high) if end is not None), key=abs)
            values = [0.0, 1.0, *ends, -1.0]
            if abs(old) < 1e15:
                values += [float(round(old, digits)) for digits in (0, 1, 2, 3)]
            found = [v for v in dict.fromkeys(values) if choice.permits(v)]
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
