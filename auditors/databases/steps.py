"""The relations of neighbours: what one step of each does to a database, and how many lie between.

A relation is one class here and its row of `STEPS`. Wherever pairs are made or measured, the class
is asked. A step takes one record away, brings one, or both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...mechanisms.model import Database, Pair, Relation, Rows
from ..errors import InvalidArgument
from .records import Records, records

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


class AddRemove:
    """A step adds a record or removes one."""

    keeps_places = False
    """Whether there are as many records as before, each in its place: then a database of a single
    record has neighbours, and the same records in another order are others."""

    def between(self, gone: int, come: int) -> int | None:
        """Steps that take so many records away and bring so many; None where none do."""
        return gone + come

    def instead(self, others: Sequence[Any]) -> list[list[Any]]:
        """What may stand where records come: nothing here, or any one of the others."""
        return [[]]

    def inside(self, domain: Rows, distance: int) -> Rows:
        """The lists of the domain that so many edits do not lead out of."""
        return replace(domain, max_size=domain.max_size - distance)

    def edit(self, made: list[object], rows: "SearchStrategy[object]", draw: "DrawFn") -> None:
        """Make one step in a list."""
        from hypothesis import strategies as st

        made.insert(draw(st.integers(0, len(made))), draw(rows))

    def pairs(
        self, databases: "SearchStrategy[Database]", distance: int, sizes: Sequence[int]
    ) -> "SearchStrategy[Pair]":
        """Pairs of the user's own databases, of which some have these `sizes`."""
        return removed(databases, distance, _least_size(sizes, distance))

    def chosen(
        self, draw: "DrawFn", rank: "SearchStrategy[int]", count: int
    ) -> tuple[Sequence[int], bool]:
        """For `of_table`: ranks of rows that take the place of others, and whether rows come."""
        from hypothesis import strategies as st

        return (), draw(st.booleans())

    def of_table(
        self, whole: Records, rest: list[int], places: list[int], others: list[int], come: bool
    ) -> Pair:
        """A pair of the rows of a table in `rest` and at the places where something changes."""
        kept = sorted([*rest, *places])
        database = whole.pick(kept)
        if come:
            return Pair(database, whole.pick([*kept, *places]))
        return Pair(whole.pick(rest), database)


class ReplaceOne:
    """A step replaces a record."""

    keeps_places = True

    def between(self, gone: int, come: int) -> int | None:
        """Steps that take so many records away and bring so many; None where none do."""
        return gone if gone == come else None

    def instead(self, others: Sequence[Any]) -> list[list[Any]]:
        """What may stand where records come: any one of the others."""
        return [[one] for one in others]

    def inside(self, domain: Rows, distance: int) -> Rows:
        """The lists of the domain that have a record to be replaced."""
        return replace(domain, min_size=max(1, domain.min_size))

    def edit(self, made: list[object], rows: "SearchStrategy[object]", draw: "DrawFn") -> None:
        """Make one step in a list."""
        from hypothesis import strategies as st

        made[draw(st.integers(0, len(made) - 1))] = draw(rows)

    def pairs(
        self, databases: "SearchStrategy[Database]", distance: int, sizes: Sequence[int]
    ) -> "SearchStrategy[Pair]":
        """Pairs of the user's own databases, whatever their sizes."""
        return replaced(databases, distance)

    def chosen(
        self, draw: "DrawFn", rank: "SearchStrategy[int]", count: int
    ) -> tuple[Sequence[int], bool]:
        """For `of_table`: ranks of rows that take the place of others, and whether rows come."""
        return [draw(rank) for _ in range(count)], False

    def of_table(
        self, whole: Records, rest: list[int], places: list[int], others: list[int], come: bool
    ) -> Pair:
        """A pair of the rows of a table in `rest` and at the places where something changes."""
        kept = sorted([*rest, *places])
        database = whole.pick(kept)
        other = whole if len(kept) == len(whole) else records_of(database)
        for place, new in zip(places, others, strict=True):
            other = records_of(other.exchanged(kept.index(place), whole.rows[new]))
        return Pair(database, other.pick(range(len(kept))))


Step = AddRemove | ReplaceOne
STEPS: Mapping[Relation, Step] = {
    Relation.ADD_REMOVE: AddRemove(),
    Relation.REPLACE_ONE: ReplaceOne(),
}
"""By relation, in the order in which a pair's relation is guessed."""


def step_of(relation: Relation) -> Step:
    """The step of a relation; InvalidArgument for one that is only declared."""
    if relation is Relation.DECLARED:
        raise InvalidArgument(
            'relation="declared" says that given pairs are neighbours, so it needs a strategy of '
            "Pair or pair=; neighbours of other databases are made by "
            f"{' or '.join(one.value for one in STEPS)}",
            keywords=("relation", "pair"),
        )
    return STEPS[relation]


def _least_size(sizes: Sequence[int], distance: int) -> int:
    """The smallest size seen, below which removing records would leave the user's domain."""
    if not max(sizes):
        raise InvalidArgument(
            "none of the databases has a record, so none has a neighbour; give a strategy that "
            "makes databases with records",
            keywords=("databases",),
        )
    if max(sizes) < min(sizes) + distance:
        raise InvalidArgument(
            f"the databases all have {_between(min(sizes), max(sizes))} records, so none has an "
            'add-remove neighbour among them; use relation="replace-one", the domain Histogram '
            "for counts, or a strategy of Pair",
            keywords=("relation",),
        )
    return min(sizes)


def _between(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def removed(
    databases: "SearchStrategy[Database]", distance: int, least: int = 0, by: str | None = None
) -> "SearchStrategy[Pair]":
    """Databases beside what is left of them, which has at least `least` records."""
    from hypothesis import strategies as st

    # Made once: what a filter rewrites of a strategy costs as much as an example.
    enough = databases.filter(lambda made: _size(made) >= distance + least)

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        database = draw(enough)
        whole = records_of(database)
        left = list(range(len(whole)))
        for _ in range(distance):
            chosen = left[draw(_below(len(left)))] if left else None
            if chosen is None:
                break
            gone = {chosen}
            if by is not None:
                user = _entry(whole.rows[chosen], by)
                gone = {place for place in left if _entry(whole.rows[place], by) == user}
            left = [place for place in left if place not in gone]
        return Pair(whole.pick(left), database)

    return pairs()


def replaced(
    databases: "SearchStrategy[Database]", distance: int, cell: bool = False
) -> "SearchStrategy[Pair]":
    """Databases beside themselves with other records, or cells, of other databases in them."""
    from hypothesis import strategies as st

    some = databases.filter(lambda made: _size(made) > 0)

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        database = draw(databases)
        whole = records(database)
        if whole is None:
            return Pair(database, draw(databases))
        other = database
        for _ in range(distance if len(whole) else 0):
            source = records_of(draw(some))
            row = source.rows[draw(_below(len(source)))]
            place = draw(_below(len(whole)))
            column = draw(st.sampled_from(whole.cells)) if cell and whole.cells else None
            other = records_of(other).exchanged(place, row, column)
        return Pair(database, other)

    return pairs()


@lru_cache(maxsize=256)
def _below(size: int) -> "SearchStrategy[int]":
    """The places of so many records."""
    from hypothesis import strategies as st

    return st.integers(0, size - 1)


def records_of(database: Database) -> Records:
    """The records of a database; InvalidArgument where it has none."""
    found = records(database)
    if found is None:
        raise InvalidArgument(
            f"a database of type {type(database).__name__} has no records to add, remove or "
            "replace; give a strategy of Pair instead"
        )
    return found


def _size(database: Database) -> int:
    # Asked of every example, and a list may be long.
    return len(database) if type(database) is list else len(records_of(database))


def _entry(row: Any, name: str) -> object:
    """The entry of a record in a column, to tell whose record it is."""
    try:
        found = row[name]
    except (TypeError, IndexError, KeyError, ValueError):
        found = getattr(row, name, None)
        if found is None:
            raise InvalidArgument(
                f"by={name!r} names no column or field of the records, which look like {row!r:.80}",
                keywords=("by",),
            ) from None
    if type(found).__name__ == "Series":
        found = found.to_list()[0]
    return found
