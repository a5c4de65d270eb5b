"""A table that somebody has, and its neighbours: rows taken out, replaced or added.

What a mechanism leaks of a real table, it leaks of few of its rows (see `telling`). They
come first. A neighbour holds nothing that the table does not: a row that comes or takes another's
place is a copy of one of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from ...mechanisms.model import Database, Pair, Relation
from ..errors import InvalidArgument
from .records import Records, records
from .telling import told_first

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

MOST_TEMPLATES = 32
"""Pairs made from the first records in the order of a table, at most."""
FEWEST = 2
"""Records of a table: one stays and one changes."""
PARTS = ((1, inf), (2, 400), (4, 100))
"""Beside the rows that change stand all others, a half of them or at most so many, a quarter, none.

The fewer there are, the more surely the rows that change are the only ones of their kind."""


@dataclass(frozen=True, eq=False)
class TableDomain:
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
    table: TableDomain, relation: Relation, distance: int, constants: Sequence[Any] = ()
) -> tuple[tuple[Pair, ...], "SearchStrategy[Pair]"]:
    """Pairs with the most telling rows of the table, and a strategy of all pairs.

    Rows that the constants of a mechanism's code speak of are telling too. Raises InvalidArgument
    where the table is too small for the distance.
    """
    from hypothesis import strategies as st

    whole = _of(table.rows)
    if len(whole) <= distance:
        raise InvalidArgument(
            f"the table has {len(whole)} records, and {distance} of them are to change; give a "
            "larger table or a smaller distance"
        )
    order = telling_rows(table, constants)
    parts = [int(min(len(order) // share, most)) for share, most in PARTS] + [0]
    # A long table stands there whole where its most telling rows change, and in parts elsewhere.
    part = st.integers(int(len(order) > 2 * parts[1] + 1), len(parts) - 1)
    first = st.integers(0, (len(order) - 1).bit_length())
    # As often among the first two as among all: what tells is tried far more than what does not.
    rank = first.flatmap(lambda bits: st.integers(0, min(2**bits, len(order)) - 1))

    def pair(ranks: Sequence[int], others: Sequence[int], most: int, added: bool) -> Pair:
        places = [order[one] for one in ranks]
        rest = _left(order, set(places), most)
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
        return pair(ranks, others, parts[draw(part)], added)

    last = len(order) - 1
    templates = []
    for start in range(min(MOST_TEMPLATES, len(order) - distance)):
        ranks = [*range(start, start + distance)]
        templates += [pair(ranks, [last] * distance, most, added=False) for most in parts]
    return tuple(templates), pairs()


def _left(order: Sequence[int], gone: set[int], most: int) -> list[int]:
    """The places beside those that change, in the order of the table; the most ordinary rows."""
    left = [place for place in reversed(order) if place not in gone]
    return sorted(left[:most])


def _of(database: Database) -> Records:
    found = records(database)
    assert found is not None
    return found


def telling_rows(table: TableDomain, constants: Sequence[Any] = ()) -> list[int]:
    """The places of all rows: those that stand out first, column by column in turn."""
    whole = _of(table.rows)
    return told_first(_columns(table.rows, whole), whole.rows, constants)


def is_frame(rows: Any) -> bool:
    """Whether this is one table of pandas or polars."""
    library = type(rows).__module__.partition(".")[0]
    return library in ("pandas", "polars") and type(rows).__name__ == "DataFrame"


def _columns(rows: Any, whole: Records) -> list[list[object]]:
    """The entries of each column; of rows without columns, the rows."""
    if is_frame(rows):
        if hasattr(rows, "get_columns"):
            return [list(column) for column in rows.get_columns()]
        return [list(rows.iloc[:, place]) for place in range(rows.shape[1])]
    first = whole.rows[0]
    if whole.cells:
        return [[row[cell] for row in whole.rows] for cell in whole.cells]
    if isinstance(first, (list, tuple)) and len(set(map(len, whole.rows))) == 1:
        return [list(column) for column in zip(*whole.rows, strict=True)]
    return [list(whole.rows)]
