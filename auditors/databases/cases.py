"""Cases of an invariant: how they are made up, taken apart and put together again.

A case is a value of a `Row` or a `Domain`. Its leaves are the numbers and choices in it, each with
the domain it comes from; its places are these, its lists and its histograms with a public total.
`moves` says what a place may become while a claim is attacked, `simpler` what a case may become
while it shrinks.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...mechanisms.model import (
    Asked,
    Choices,
    Domain,
    Histogram,
    Interval,
    InvariantCase,
    Product,
    Record,
    Row,
    Rows,
    Value,
)
from .domains import corners, row_strategy

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Place = tuple[int | str, ...]
Leaf = tuple[Place, Interval | Choices]
Movable = Interval | Choices | Rows | Histogram
"""What may stand at a place where one change gives another case."""

SHORT = 6
"""Items of the short lists that are tried beside those of any length."""


def case_strategy(cases: Row | Domain) -> "SearchStrategy[InvariantCase]":
    """Any case, half of the time one made of extreme values only."""
    from hypothesis import strategies as st

    match cases:
        case Asked():
            raise ValueError("cases of an invariant are made of plain values, and are no sessions")
        case Value():
            return case_strategy(cases.row)
        case Histogram(total=None):
            counts = st.integers(0, cases.max_count)
            return st.lists(counts, min_size=cases.bins, max_size=cases.bins)
        case Histogram():
            cut = st.integers(0, cases.total or 0)
            cuts = st.lists(cut, min_size=cases.bins - 1, max_size=cases.bins - 1)
            return cuts.map(lambda made: np.diff([0, *sorted(made), cases.total]).tolist())
    return row_strategy(cases) | _edges(cases)


def _edges(row: Row) -> "SearchStrategy[InvariantCase]":
    """Rows whose every number is at an end of its interval."""
    from hypothesis import strategies as st

    match row:
        case Interval():
            kind = round if row.integer else float
            return st.sampled_from([kind(row.low), kind(row.high)])
        case Choices():
            return st.sampled_from(list(row.values))
        case Record():
            return st.fixed_dictionaries({k: _edges(v) for k, v in row.fields.items()})
        case Product():
            return st.tuples(*(_edges(part) for part in row.parts)).map(list)
        case Rows():
            most = min(row.max_size, max(row.min_size, SHORT))
            short = st.lists(_edges(row.row), min_size=row.min_size, max_size=most)
            full = st.lists(_edges(row.row), min_size=row.max_size, max_size=row.max_size)
            return short | full if row.max_size <= 64 else short


def leaves(case: InvariantCase, cases: Row | Domain, place: Place = ()) -> Iterator[Leaf]:
    """The numbers and choices of a case with the domain of each.

    The counts of a histogram with a public total are no leaves: one cannot change alone.
    """
    match cases:
        case Value():
            yield from leaves(case, cases.row, place)
        case Histogram(total=None):
            for index in range(cases.bins):
                yield (*place, index), Interval(low=0, high=cases.max_count, integer=True)
        case Interval() | Choices():
            yield place, cases
        case Record():
            for name, field in cases.fields.items():
                yield from leaves(case[name], field, (*place, name))
        case Product():
            for index, part in enumerate(cases.parts):
                yield from leaves(case[index], part, (*place, index))
        case Rows():
            for index, row in enumerate(case):
                yield from leaves(row, cases.row, (*place, index))


def places(case: InvariantCase, cases: Row | Domain) -> Iterator[tuple[Place, Movable]]:
    """Where one change gives another case, with what may stand there."""
    yield from leaves(case, cases)
    yield from _lists(case, cases)
    if isinstance(cases, Histogram) and cases.total is not None:
        yield (), cases


def moves(
    case: InvariantCase, place: Place, kind: Movable, rng: np.random.Generator
) -> list[InvariantCase]:
    """What else may stand at a place.

    Both ends of an interval, a number anywhere and one near; another choice; a list without one of
    its rows or with one twice; a histogram with one, half or all records of a bin in another.
    """
    there = _at(case, place)
    match kind:
        case Choices():
            return [kind.values[int(rng.integers(len(kind.values)))]]
        case Rows():
            at = int(rng.integers(len(there))) if there else 0
            less, more = [*there[:at], *there[at + 1 :]], [*there[: at + 1], *there[at:]]
            return [new for new in (less, more) if kind.min_size <= len(new) <= kind.max_size]
        case Histogram():
            start, end = (int(rng.integers(kind.bins)) for _ in range(2))
            sizes = dict.fromkeys(size for size in (1, there[start] // 2, there[start]) if size)
            found = []
            for size in sizes if start != end and there[start] else ():
                new = list(there)
                new[start], new[end] = new[start] - size, new[end] + size
                found.append(new)
            return found
    low, high = kind.low, kind.high
    near = there + 10 ** rng.uniform(-3, 0) * (high - low) * float(rng.normal())
    made = [low, high, float(rng.uniform(low, high)), min(max(near, low), high)]
    exact: Callable[[float], float] = round if kind.integer else float
    return [other for other in dict.fromkeys(map(exact, made)) if other != there]


def replaced(case: InvariantCase, place: Place, value: InvariantCase) -> InvariantCase:
    """The case with another value at a place, sharing the rest."""
    if not place:
        return value
    copy: InvariantCase = dict(case) if isinstance(case, dict) else list(case)
    copy[place[0]] = replaced(case[place[0]], place[1:], value)
    return copy


def simpler(case: InvariantCase, cases: Row | Domain) -> Iterator[InvariantCase]:
    """Cases one step simpler, the boldest first: fewer rows, then simpler numbers and choices."""
    for place, rows in _lists(case, cases):
        found = _at(case, place)
        spare = len(found) - rows.min_size
        step = spare
        while step > 0:
            for start in range(0, len(found), step):
                kept = [*found[:start], *found[start + step :]]
                if rows.min_size <= len(kept) < len(found):
                    yield replaced(case, place, kept)
            step //= 2
    for place, leaf in leaves(case, cases):
        for value in _simpler_values(_at(case, place), leaf):
            yield replaced(case, place, value)


def _lists(
    case: InvariantCase, cases: Row | Domain, place: Place = ()
) -> Iterator[tuple[Place, Rows]]:
    match cases:
        case Value():
            yield from _lists(case, cases.row, place)
        case Record():
            for name, field in cases.fields.items():
                yield from _lists(case[name], field, (*place, name))
        case Product():
            for index, part in enumerate(cases.parts):
                yield from _lists(case[index], part, (*place, index))
        case Rows():
            yield place, cases
            for index, row in enumerate(case):
                yield from _lists(row, cases.row, (*place, index))


def _at(case: InvariantCase, place: Place) -> InvariantCase:
    for step in place:
        case = case[step]
    return case


def _simpler_values(value: InvariantCase, leaf: Interval | Choices) -> list[InvariantCase]:
    """Values that are simpler than this one: a corner, fewer digits, nearer to the simplest."""
    if isinstance(leaf, Choices):
        place = next((i for i, other in enumerate(leaf.values) if other is value), None)
        if place is None:
            place = next((i for i, other in enumerate(leaf.values) if other == value), 0)
        return list(leaf.values[:place])
    ends = corners(leaf)
    if leaf.integer:
        gap = int(value) - ends[0]
        return [ends[0] + near for near in dict.fromkeys(_nearer(gap))]
    weight = _weight(value, ends)
    digits = (round(float(value), places) for places in (0, 1, 2, 3, 6))
    nearer = [near for near in digits if leaf.low <= near <= leaf.high]
    return [near for near in dict.fromkeys([*ends, *nearer]) if _weight(near, ends) < weight]


def _nearer(gap: int) -> list[int]:
    """Whole numbers between 0 and `gap`, halving the way back to it."""
    found, step = [], gap
    while step:
        found.append(gap - step)
        step = int(step / 2)
    return found


def _weight(value: float, ends: list[float]) -> tuple[int, int, float]:
    """How complicated a number is; equal only for equal numbers or mirror images."""
    if value in ends:
        return 0, ends.index(value), 0.0
    return 1, len(repr(value)), abs(float(value) - float(ends[0]))
