"""A table that somebody has, and its neighbours: rows taken out, replaced or added.

What a mechanism leaks of a real table, it leaks of few of its rows: the largest and smallest
numbers, holders of rare categories, rows with something missing, rows that stand there twice. They
come first. A neighbour holds nothing that the table does not: a row that comes or takes another's
place is a copy of one of its own.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ...mechanisms.model import Relation
from ..errors import InvalidArgument
from ..results.results import Pair
from .records import Records, records, said

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

MOST_TEMPLATES = 24
FEWEST = 2
SHARES = (1, 2, 0, 8)
"""What is left of the table beside the rows that change: all, a half, nothing, an eighth."""


@dataclass(frozen=True, eq=False)
class Table:
    """The databases are this table, and what is left of it without some of its rows.

    `rows` is anything that has records: a list of dicts, a table of pandas or polars.
    """

    rows: Any

    def __post_init__(self) -> None:
        """Refuse what has no records, or fewer than two."""
        found = records(self.rows)
        if found is None or len(found) < FEWEST:
            size = "no" if found is None else str(len(found))
            raise InvalidArgument(
                f"a table of databases needs at least {FEWEST} records, and this "
                f"{type(self.rows).__name__} has {size}"
            )


def table_pairs(
    table: Table, relation: Relation, distance: int
) -> tuple[tuple[Pair, ...], "SearchStrategy[Pair]"]:
    """Pairs of the whole table with its most telling rows, and a strategy of all pairs.

    Raises InvalidArgument where the table is too small for the distance.
    """
    from hypothesis import strategies as st

    whole = _of(table.rows)
    if len(whole) <= distance:
        raise InvalidArgument(
            f"the table has {len(whole)} records, and {distance} of them are to change; give a "
            "larger table or a smaller distance"
        )
    order = telling_rows(table)
    rank, share = st.integers(0, len(order) - 1), st.integers(0, len(SHARES) - 1)

    def pair(ranks: Sequence[int], others: Sequence[int], share: int, added: bool) -> Pair:
        places = [order[one] for one in ranks]
        rest = _left(order, set(places), SHARES[share])
        kept = sorted([*rest, *places])
        database = whole.pick(kept)
        if relation is Relation.ADD_REMOVE:
            return Pair(
                *(
                    (database, whole.pick([*kept, *places]))
                    if added
                    else (whole.pick(rest), database)
                )
            )
        other = whole if len(kept) == len(whole) else _of(database)
        for place, new in zip(places, others, strict=True):
            other = _of(other.exchanged(kept.index(place), whole.rows[order[new]]))
        return Pair(database, other.pick(range(len(kept))))

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        ranks = [draw(rank)]
        while len(ranks) < distance:
            free = [one for one in range(len(order)) if one not in ranks]
            ranks.append(free[draw(st.integers(0, len(free) - 1))])
        others = [draw(rank) for _ in ranks] if relation is Relation.REPLACE_ONE else []
        added = relation is Relation.ADD_REMOVE and draw(st.booleans())
        return pair(ranks, others, draw(share), added)

    last = len(order) - 1
    templates = []
    for first in range(0, min(MOST_TEMPLATES, len(order) - distance)):
        ranks = [*range(first, first + distance)]
        for share_ in (0, 2):
            templates.append(pair(ranks, [last] * distance, share_, added=False))
    return tuple(templates), pairs()


def _left(order: Sequence[int], gone: set[int], share: int) -> list[int]:
    """The places beside those that change, in the order of the table; the most ordinary rows."""
    left = [place for place in reversed(order) if place not in gone]
    return sorted(left[: len(left) // share] if share else [])


def _of(database: Any) -> Records:
    found = records(database)
    assert found is not None
    return found


def telling_rows(table: Table) -> list[int]:
    """The places of all rows: those that stand out first, column by column in turn."""
    whole = _of(table.rows)
    columns = _columns(table.rows, whole)
    ranked = [_missing_first(column) for column in columns]
    ranked += [order for column in columns if (order := _far_first(column))]
    ranked += [order for column in columns if (order := _rare_first(column))]
    ranked.append(_repeated([said(row) for row in whole.rows]))
    found: dict[int, None] = {}
    for turn in zip_longest(*ranked):
        found.update(dict.fromkeys(place for place in turn if place is not None))
    found.update(dict.fromkeys(range(len(whole))))
    return list(found)


def is_frame(rows: Any) -> bool:
    """Whether this is one table of pandas or polars."""
    library = type(rows).__module__.partition(".")[0]
    return library in ("pandas", "polars") and type(rows).__name__ == "DataFrame"


def _columns(rows: Any, whole: Records) -> list[list[Any]]:
    """The entries of each column; of rows without columns, the rows."""
    if is_frame(rows):
        return [list(rows[name]) for name in rows.columns]
    first = whole.rows[0]
    if whole.cells:
        return [[row[cell] for row in whole.rows] for cell in whole.cells]
    if isinstance(first, (list, tuple)) and len(set(map(len, whole.rows))) == 1:
        return [list(column) for column in zip(*whole.rows, strict=True)]
    return [list(whole.rows)]


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _missing_first(column: list[Any]) -> list[int]:
    return [place for place, value in enumerate(column) if _is_missing(value)]


def _far_first(column: list[Any]) -> list[int]:
    """Numbers from both ends inwards."""
    numbers = [
        (float(value), place)
        for place, value in enumerate(column)
        if hasattr(value, "__float__") and not isinstance(value, bool) and not _is_missing(value)
    ]
    ordered = [place for _, place in sorted(numbers)]
    both = zip(reversed(ordered), ordered, strict=True)
    return list(dict.fromkeys(place for pair in both for place in pair))


def _rare_first(column: list[Any]) -> list[int]:
    """Texts and other labels, the rarest first."""
    labels = [
        (place, value)
        for place, value in enumerate(column)
        if not isinstance(value, (int, float)) and not _is_missing(value)
    ]
    if not labels:
        return []
    times = Counter(map(repr, (value for _, value in labels)))
    return [place for place, value in sorted(labels, key=lambda one: times[repr(one[1])])]


def _repeated(rows: Sequence[bytes]) -> list[int]:
    """Rows that stand there more than once, one of each."""
    times = Counter(rows)
    first = {row: place for place, row in reversed(list(enumerate(rows)))}
    return sorted(first[row] for row, count in times.items() if count > 1)
