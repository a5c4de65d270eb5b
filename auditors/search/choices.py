"""Examples of a strategy as the sequence of choices that made them, to change and make again.

A changed sequence is run through the user's own strategy, so that every database that comes out is
one the strategy can yield: filters, maps and composites included. Hypothesis does not publish
choices; everything that knows how it keeps them is in this file, and `choice_space` returns None
where a version of it keeps them otherwise. The hunt then falls back on Hypothesis's own search.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Value = bool | int | float | str | bytes
Suggest = Callable[["ExampleChoice"], Value | None]
"""A value to answer a choice with, or None to leave it to Hypothesis."""
Inner = Any
"""What Hypothesis hands about inside itself; it does not publish the types of that."""
Limits = Mapping[str, Inner]
"""What a choice may be, by the names that Hypothesis gives it, such as min_value."""
Made = tuple[str, Value, Limits]
"""Kind, value and limits of a choice that was made."""
REMEMBERED = 4096
"""Strategies that need not be looked at again; those that a composite makes are new each time."""


@dataclass(frozen=True, slots=True)
class ExampleChoice:
    """One choice: its kind (integer, float, string, bytes, boolean), value and what is allowed."""

    kind: str
    value: Any
    constraints: Limits

    def permits(self, value: object) -> bool:
        """Whether the strategy could have made this choice."""
        return _permits(self.kind, value, self.constraints)

    def ends(self) -> list[Value]:
        """The extreme values that are permitted, the least first."""
        lows, highs = _ends(self.kind, self.constraints)
        return [value for value in (*lows, *highs) if self.permits(value)]

    def size(self) -> float:
        """How many values a whole-number choice has."""
        low, high = self.constraints.get("min_value"), self.constraints.get("max_value")
        if self.kind == "boolean":
            return 2
        if self.kind != "integer" or low is None or high is None:
            return math.inf
        return high - low + 1

    def alike(self, other: "ExampleChoice") -> bool:
        """Whether the two choose among the same values."""
        return self.kind == other.kind and _same(self.constraints, other.constraints)


def _same(one: Mapping[str, object], two: Mapping[str, object]) -> bool:
    return one.keys() == two.keys() and all(
        one[key] is two[key] or one[key] == two[key] for key in one
    )


@dataclass(frozen=True, slots=True)
class Elements:
    """The choices of a collection: where each element starts and ends, and what closes it."""

    elements: tuple[tuple[int, int], ...]
    end: tuple[int, int]

    @property
    def start(self) -> int:
        """The place of the first choice."""
        return self.elements[0][0] if self.elements else self.end[0]


@dataclass(frozen=True, eq=False)
class Example:
    """What a strategy made of a sequence of choices.

    Most examples are looked at once, so what the search asks of few of them is put together when it
    is asked for.
    """

    value: object
    made: Sequence[Made]
    spans: "Sequence[_Span]"

    @cached_property
    def choices(self) -> tuple[ExampleChoice, ...]:
        """The choices made, in order."""
        return tuple(ExampleChoice(*one) for one in self.made)

    @cached_property
    def blocks(self) -> tuple[Elements, ...]:
        """The collections in it, in the order they were drawn."""
        return tuple(_blocks(self.spans))

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The values chosen, in order."""
        return tuple([value for _, value, _ in self.made])

    @cached_property
    def inner(self) -> Elements | None:
        """The first collection with an element that stands inside an element of another one."""
        rows = [row for block in self.blocks for row in block.elements]
        for block in self.blocks:
            if block.elements and any(a <= block.start and block.end[1] <= b for a, b in rows
                                      if (a, b) not in block.elements):  # fmt: skip
                return block
        return None

    def with_elements(self, block: Elements, elements: Sequence[Sequence[object]]) -> list[object]:
        """The choices with other elements in a collection."""
        values = self.values
        made = [value for element in elements for value in element]
        return [*values[: block.start], *made, *values[block.end[0] :]]


def with_a_row(examples: Sequence[Example]) -> list[Example]:
    """The examples with a collection that is not empty."""
    return [one for one in examples if any(block.elements for block in one.blocks)]


class ChoiceSpace:
    """A strategy whose examples can be made from choices."""

    def __init__(self, strategy: "SearchStrategy[object]") -> None:
        self.strategy = strategy
        self._bare: dict[int, tuple[object, SearchStrategy[object]]] = {}
        self._held = False
        """Whether the global generators are held, to be put back when several examples are made."""

    def random(self, random: Random, suggest: Suggest) -> Example | None:
        """An example whose choices `suggest` may answer; None where a filter gave up."""
        given = {"provider": _provider_class(), "provider_kw": {"suggest": suggest}}
        return self._made(_data_class()(random=random, bare=self._bare, **given))

    def made(self, choices: Sequence[object]) -> Example | None:
        """The example of these choices; those not permitted or missing become the simplest."""
        from hypothesis.internal.conjecture.choice import ChoiceTemplate

        simplest = ChoiceTemplate("simplest", count=None)
        prefix = (*choices, simplest)
        return self._made(_data_class()(random=None, bare=self._bare, prefix=prefix))

    def at_once(self, made: Iterator[Example | None], most: int) -> list[Example | None]:
        """The next of some examples, which are made as they are asked for, at most so many.

        A strategy finds the global generators at the same place for every example. To hold them and
        to put them back takes longer than most examples, and is done once for all.
        """
        from hypothesis.internal.entropy import deterministic_PRNG

        with deterministic_PRNG():
            self._held = True
            try:
                return list(islice(made, most))
            finally:
                self._held = False

    def _made(self, data: Inner) -> Example | None:
        from hypothesis.control import BuildContext
        from hypothesis.errors import StopTest, UnsatisfiedAssumption
        from hypothesis.internal.entropy import deterministic_PRNG

        try:
            globally = _seeded() if self._held else deterministic_PRNG()
            with globally, BuildContext(data, wrapped_test=_nothing):
                value = data.draw(self.strategy)
        except (StopTest, UnsatisfiedAssumption):
            return None
        data.freeze()
        return Example(value, data.made, data.kept)


def _seeded() -> AbstractContextManager[None]:
    """Put the global generators, which are held, to where every example finds them."""
    from hypothesis.internal.entropy import RANDOMS_TO_MANAGE

    for generator in list(RANDOMS_TO_MANAGE.values()):
        generator.seed(0)
    return nullcontext()


def _nothing() -> None:
    """Stands for the test that Hypothesis would run."""


def choice_space(strategy: "SearchStrategy[object]") -> ChoiceSpace | None:
    """The strategy as a space of choices; None where this Hypothesis keeps none as expected."""
    return ChoiceSpace(strategy) if _understood() else None


@lru_cache(maxsize=1)
def _understood() -> bool:
    """Whether choices can be read, suggested, changed and grouped in the installed Hypothesis."""
    from hypothesis import strategies as st

    # Whatever an unknown version does differently, the answer is the same: do without.
    with suppress(Exception):
        space = ChoiceSpace(st.lists(st.integers(0, 9), max_size=5))
        seven = space.random(Random(1), lambda choice: 7 if choice.kind == "integer" else True)
        if (
            seven is None
            or not isinstance(seven.value, list)
            or set(seven.value) != {7}
            or len(seven.blocks) != 1
        ):
            return False
        block = seven.blocks[0]
        element = list(seven.values[slice(*block.elements[0])])
        element[-1] = 3
        changed = space.made(seven.with_elements(block, [element, element]))
        return changed is not None and changed.value == [3, 3]
    return False


@dataclass(slots=True)
class _Span:
    """The places of the choices of an element of a collection, or of what closes it."""

    parent: int
    """Number of the span around it, which is that of the collection."""
    start: int
    end: int = -1
    discarded: bool = False


def _blocks(spans: Sequence[_Span]) -> list[Elements]:
    """Collections in the order they were drawn; what a filter threw away is left out."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for span in spans:
        if not span.discarded:
            found[span.parent].append((span.start, span.end))
    return [Elements(tuple(places[:-1]), places[-1]) for places in found.values()]


@lru_cache(maxsize=1)
def _data_class() -> Inner:
    from hypothesis.internal.conjecture.data import MAX_DEPTH, ConjectureData
    from hypothesis.internal.conjecture.utils import ONE_FROM_MANY_LABEL
    from hypothesis.strategies._internal.lazy import unwrap_strategies

    unlabelled: object = nullcontext({})

    class Choosing(ConjectureData):
        """A record of choices without what Hypothesis keeps for reports and for shrinking.

        That is half of what an example costs.
        """

        def __init__(
            self, *, bare: "dict[int, tuple[object, SearchStrategy[object]]]", **given: Inner
        ) -> None:
            self.made: list[Made] = []
            self.kept: list[_Span] = []
            self.open: list[tuple[int, _Span | None]] = []
            self.opened = 0
            self.bare = bare
            super().__init__(**given)

        def draw(
            self, strategy: Inner, label: int | None = None, observe_as: object = None
        ) -> Inner:
            known = self.bare.get(id(strategy))
            if known is None:
                strategy.validate()
                if strategy.is_empty:
                    self.mark_invalid("nothing can be drawn")
                known = strategy, unwrap_strategies(strategy)  # type: ignore[no-untyped-call]
                if len(self.bare) < REMEMBERED:
                    self.bare[id(strategy)] = known  # it stays alive, so its number is its own
            if self.depth >= MAX_DEPTH:
                self.mark_invalid("nothing can be drawn")
            bare = known[1]
            self.start_span(bare.label if label is None else label)
            try:
                return bare.do_draw(self)
            finally:
                self.stop_span()

        def start_span(self, label: int) -> None:
            self.depth += 1
            self.opened += 1
            span = None
            if label == ONE_FROM_MANY_LABEL:
                span = _Span(self.open[-1][0] if self.open else 0, len(self.made))
                self.kept.append(span)
            self.open.append((self.opened, span))

        def stop_span(self, *, discard: bool = False) -> None:
            if self.open:
                self.depth -= 1
                span = self.open.pop()[1]
                if span is not None:
                    span.end, span.discarded = len(self.made), discard

        def track_arg_label(self, label: str) -> Inner:
            return unlabelled

        def _pop_choice(self, choice_type: Inner, constraints: Inner, *, forced: Inner) -> Inner:
            value = self.prefix[self.index]  # type: ignore[index]
            if choice_type == "integer" and type(value) is int:
                low, high = constraints["min_value"], constraints["max_value"]
                fits = (low is None or low <= value) and (high is None or value <= high)
            elif choice_type == "float" and type(value) is float:
                # Ends, zeros and what is no number are left to Hypothesis.
                fits = constraints["min_value"] < value < constraints["max_value"]
                fits = fits and abs(value) >= constraints["smallest_nonzero_magnitude"]
            else:
                fits = choice_type == "boolean" and type(value) is bool and 0 < constraints["p"] < 1
            if fits:
                self.index += 1
                return value
            return super()._pop_choice(choice_type, constraints, forced=forced)

        def _draw(
            self, choice_type: Inner, constraints: Inner, *, observe: bool, forced: Inner
        ) -> Inner:
            if not observe or self.length >= self.max_length:
                return super()._draw(choice_type, constraints, observe=observe, forced=forced)
            value: Inner = forced
            if self.prefix is not None:
                value = self._pop_choice(choice_type, constraints, forced=forced)
                value = value if forced is None else forced
            elif forced is None:
                value = getattr(self.provider, f"draw_{choice_type}")(**constraints)
            if value != value:
                # A collection of different numbers asks for one that is not the same object.
                value = float(repr(value))
            self.made.append((choice_type, value, constraints))
            self.length += len(value) if choice_type in ("string", "bytes") else 8
            return value

        def _pooled_constraints(self, _: object, constraints: object) -> Inner:
            return constraints

        def freeze(self) -> None:
            while self.open:
                self.stop_span()

    return Choosing


@lru_cache(maxsize=1)
def _provider_class() -> Inner:
    from hypothesis.internal.conjecture.providers import HypothesisProvider

    class Suggesting(HypothesisProvider):
        """Hypothesis's own choices, but for what is suggested."""

        def __init__(self, data: Inner, /, *, suggest: Suggest) -> None:
            super().__init__(data)
            self.suggest = suggest

        def _maybe_draw_constant(self, *_: object, **__: object) -> None:
            # Hypothesis takes constants from all loaded modules, which differ between runs.
            return None

        def _asked(self, kind: str, constraints: Limits, make: Callable[[], object]) -> Inner:
            found = self.suggest(ExampleChoice(kind, None, constraints))
            return make() if found is None else found

        def draw_integer(self, *args: Inner, **limits: Inner) -> Inner:
            make = super().draw_integer
            limits = {**dict(zip(("min_value", "max_value"), args, strict=False)), **limits}
            return self._asked("integer", limits, lambda: make(**limits))

        def draw_float(self, **limits: Inner) -> Inner:
            make = super().draw_float
            return self._asked("float", limits, lambda: make(**limits))

        def draw_string(self, intervals: Inner, **limits: Inner) -> Inner:
            make = super().draw_string
            whole = {"intervals": intervals, **limits}
            return self._asked("string", whole, lambda: make(intervals, **limits))

        def draw_boolean(self, p: float = 0.5) -> Inner:
            make = super().draw_boolean
            return self._asked("boolean", {"p": p}, lambda: make(p))

    return Suggesting


def _permits(kind: str, value: object, constraints: Mapping[str, object]) -> bool:
    from hypothesis.internal.conjecture.choice import choice_permitted

    kinds = {"integer": int, "float": float, "string": str, "bytes": bytes, "boolean": bool}
    if type(value) is not kinds[kind]:
        return False
    whole = dict(constraints)
    if kind == "integer":
        whole = {"min_value": None, "max_value": None, "weights": None, **whole}
    elif kind == "float":
        whole = {"min_value": -math.inf, "max_value": math.inf, "allow_nan": True, **whole}
    elif kind in ("string", "bytes"):
        whole = {"min_size": 0, "max_size": 1 << 30, **whole}
    return bool(choice_permitted(value, whole))  # type: ignore[arg-type]


def _ends(kind: str, constraints: Limits) -> tuple[list[Value], list[Value]]:
    low, high = constraints.get("min_value"), constraints.get("max_value")
    match kind:
        case "boolean":
            return [False], [True]
        case "integer":
            lows = [low] if low is not None else [-(2**63), -(10**6), -1000, -1]
            highs = [high] if high is not None else [1, 1000, 10**6, 2**63]
            return [*lows, 0], highs
        case "float":
            lows = [low if low is not None else -math.inf, -1e300, -1e6, -1.0, -0.0]
            highs = [0.0, 1.0, 1e6, 1e300, high if high is not None else math.inf, math.nan]
            return lows, highs
        case "string":
            letters = ("", "a", "A", "0", " ", "é", "\x00", "a" * 40)
            return list(letters), []
    return [b"", b"\x00"], [b"\xff"]
