"""Databases that are lists of rows: strategies of them, their corners and their templates."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from ...mechanisms.model import Choices, Interval, Pair, Product, Record, Relation, Row, Rows
from ..errors import InvalidArgument
from ..outputs.encoding import canonical

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

COPIES = (0, 1, 5, 20)
"""How many equal records the hand-made pairs share."""
MOST_TEMPLATES = 80
"""Hand-made pairs, at most."""


def row_strategy(row: Row) -> "SearchStrategy[Any]":
    """Any row of the domain; shrinks towards the simplest."""
    from hypothesis import strategies as st

    match row:
        case Interval(integer=True):
            return st.integers(round(row.low), round(row.high))
        case Interval():
            ends = st.sampled_from(corners(row))
            return st.floats(row.low, row.high, allow_nan=False) | ends
        case Choices():
            return st.sampled_from(list(row.values))
        case Record():
            return st.fixed_dictionaries({k: row_strategy(v) for k, v in row.fields.items()})
        case Product():
            return st.tuples(*(row_strategy(part) for part in row.parts)).map(list)
        case Rows():
            return list_strategy(row, row_strategy(row.row))


def corners(row: Row) -> list[Any]:
    """The values of a row most likely to matter, simplest first."""
    match row:
        case Interval():
            kind = round if row.integer else float
            middle = (row.low + row.high) / 2
            nearest = min(max(0.0, row.low), row.high)
            found = [kind(v) for v in (nearest, row.low, row.high, middle)]
            return list(dict.fromkeys(found))
        case Choices():
            return list(row.values[:3]) + list(row.values[3:][-1:])
        case Record():
            names = list(row.fields)
            values = [corners(row.fields[name])[:3] for name in names]
            return [dict(zip(names, made, strict=True)) for made in islice(product(*values), 6)]
        case Product():
            return _corner_lists([corners(part) for part in row.parts])
        case Rows():
            counts = sorted(
                {row.min_size, min(row.max_size, max(1, row.min_size)), min(row.max_size, 5)}
            )
            return [[value] * count for count in counts for value in corners(row.row)[:3]][:8]


def _corner_lists(values: list[list[Any]]) -> list[list[Any]]:
    """All parts at the same corner, and all at the first but one; a few of each."""
    diagonal = [[part[min(i, len(part) - 1)] for part in values] for i in range(3)]
    single = [
        [other[1] if place == changed else part[0] for place, part in enumerate(values)]
        for changed, other in enumerate(values)
        if len(other) > 1
    ]
    made = {canonical(row): row for row in [*diagonal, *single[-1:], *single[:-1]]}
    return list(made.values())[:8]


def list_strategy(domain: Rows, rows: "SearchStrategy[Any]") -> "SearchStrategy[list[Any]]":
    """Lists of anything, and long lists of few different rows.

    Every draw is a list of the domain: nothing is filtered, because Hypothesis spends itself on
    climbing among examples that a filter throws away.
    """
    from hypothesis import strategies as st

    def expand(blocks: list[tuple[Any, int]]) -> list[object]:
        made = [row for row, copies in blocks for _ in range(copies)][: domain.max_size]
        return made + made[-1:] * (domain.min_size - len(made))

    block = st.tuples(rows, st.integers(1, max(1, domain.max_size)))
    short = st.lists(rows, min_size=domain.min_size, max_size=domain.max_size)
    return short | st.lists(block, min_size=1, max_size=3).map(expand)


def edited_lists(
    rows: "SearchStrategy[Any]", relation: Relation, distance: int, domain: Rows
) -> "SearchStrategy[Pair]":
    """Pairs whose neighbour is the list after `distance` edits, both inside the domain.

    Raises InvalidArgument where the domain leaves no room for the edits.
    """
    from hypothesis import strategies as st

    if relation is Relation.ADD_REMOVE:
        smaller = replace(domain, max_size=domain.max_size - distance)
    else:
        smaller = replace(domain, min_size=max(1, domain.min_size))
    if smaller.max_size < smaller.min_size:
        raise InvalidArgument(
            f"databases of {domain.min_size} to {domain.max_size} rows have no {relation.value} "
            f"neighbours {distance} step(s) away among them; widen the domain or use another "
            "relation"
        )
    lists = list_strategy(smaller, rows)

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        database = draw(lists)
        other = list(database)
        for _ in range(distance):
            if relation is Relation.ADD_REMOVE:
                other.insert(draw(st.integers(0, len(other))), draw(rows))
            else:
                other[draw(st.integers(0, len(other) - 1))] = draw(rows)
        return Pair(database, other)

    return pairs()


def list_templates(domain: Rows, relation: Relation, distance: int) -> tuple[Pair, ...]:
    """Empty, one row, all equal, many copies, one outlier, with each corner as the change."""
    return row_templates(
        corners(domain.row), list, relation, distance, domain.min_size, domain.max_size
    )


def row_templates(
    changes: list[Any],
    build: Callable[[list[Any]], Any],
    relation: Relation,
    distance: int,
    least: int,
    most: int,
) -> tuple[Pair, ...]:
    """Copies of one of `changes` beside one more, or one replaced, of each; `build` makes them."""
    made: list[Pair] = []
    for copies in sorted({max(least, count) for count in COPIES}):
        for shared in changes if copies else changes[:1]:
            base = [shared] * copies
            for index, change in enumerate(changes):
                if relation is Relation.ADD_REMOVE:
                    made.append(Pair(build(base), build(base + [change] * distance)))
                    continue
                made.extend(
                    Pair(build(base + [before] * distance), build(base + [change] * distance))
                    for before in changes[:index]
                )
    fitting = [p for p in made if least <= len(p.database) and len(p.neighbour) <= most]
    return tuple(different(fitting)[:MOST_TEMPLATES])


def different(pairs: list[Pair]) -> list[Pair]:
    """The pairs without repetitions, in order."""
    seen = {canonical((p.database, p.neighbour)): p for p in reversed(pairs)}
    return list(reversed(seen.values()))
