"""Pairs of neighbouring databases: where they come from.

The neighbour is always derived from the database by editing it, so a pair is neighbouring by
construction and both sides shrink together. Templates come first: random generation draws
small lists, and misses what needs many rows, a boundary value or an empty database.

Of a table that somebody has, rows are taken out, replaced or added. What a mechanism leaks of a
real table, it leaks of few of its rows (see `telling`), which come first. A neighbour holds nothing
that the table does not: a row that comes or takes another's place is a copy of one of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ...mechanisms.model import Asked, Database, Histogram, Pair, Relation, Rows, Value
from ..arguments import checked
from ..errors import InvalidArgument
from ..outputs.encoding import identity
from .distance import HISTOGRAMS, relation_of, require_neighbours
from .domains import (
    corners,
    different,
    edited_lists,
    list_templates,
    listed_pairs,
    row_strategy,
    session_pairs,
)
from .examples import harvest
from .records import SINGLE, Records, is_frame, records, said
from .steps import records_of, removed, replaced, step_of
from .telling import told_first

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

EXAMPLES = 24
"""Examples of a strategy that tell the kind and the least size of its databases; the simplest is
the first, and the search makes hundreds more."""
MOST_TEMPLATES = 32
"""Pairs made from the first records in the order of a table, at most."""
FEWEST = 2
"""Records of a table: one stays and one changes."""
PARTS = ((1, inf), (2, 400), (4, 100))
"""Beside the rows that change stand all others, a half of them or at most so many, a quarter, none.

The fewer there are, the more surely the rows that change are the only ones of their kind."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where pairs come from: a few hand-made ones first, then a strategy of many."""

    templates: tuple[Pair, ...]
    strategy: "SearchStrategy[Pair]"
    constants: tuple[object, ...] = ()
    """Those of the mechanism's code."""

    def first(self, seed: int) -> Pair:
        """A simple pair, the same for the same seed."""
        if self.templates:
            return self.templates[0]
        pair: Pair = harvest(self.strategy, seed, examples=1)[0]
        return pair


def pair_source(
    databases: object,
    relation: Relation,
    distance: int,
    seed: int,
    *,
    histogram: bool = False,
    constants: Sequence[object] = (),
) -> Source:
    """Pairs `distance` steps of `relation` apart over a Domain or a Hypothesis strategy.

    Of a table, rows that the `constants` of a mechanism's code speak of come first. A strategy that
    yields `Pair` is taken as it is, its databases lists of records or, with `histogram`, counts.
    Raises InvalidArgument when the relation has no meaning for the databases.
    """
    from hypothesis.strategies import SearchStrategy

    if isinstance(databases, Asked):
        return _asked_source(databases, distance, seed)
    if is_frame(databases):
        databases = TableDomain(databases)
    match databases:
        case TableDomain():
            return Source(*table_pairs(databases, relation, distance, constants))
        case Rows():
            rows = row_strategy(databases.row)
            strategy = edited_lists(rows, relation, distance, databases)
            return Source(list_templates(databases, relation, distance), strategy)
        case Histogram():
            return _histogram_source(databases, relation, distance)
        case Value():
            return _value_source(databases, relation)
        case SearchStrategy():
            return _strategy_source(databases, relation, distance, seed, histogram)
    raise InvalidArgument(
        "databases must be a Hypothesis strategy (of databases or of Pair), a table of pandas or "
        "polars, or a domain such as Rows(row=Interval(low=0, high=1)), "
        f"got {type(databases).__name__}"
    )


@checked
def add_remove(
    databases: "SearchStrategy[Database]", distance: int = 1, *, by: str | None = None
) -> "SearchStrategy[Pair]":
    """Pairs that differ by `distance` records added or removed.

    `databases` are a strategy of anything that `records` takes apart: lists, arrays, tables,
    dicts, columns.
    With `by`, the name of a column or field, all records of one user come or go together: pairs
    for a claim about users, whose relation is the caller's own ("declared").
    """
    require_strategy(databases)
    return removed(databases, distance, by=by)


@checked
def replace_one(
    databases: "SearchStrategy[Database]", distance: int = 1, *, cell: bool = False
) -> "SearchStrategy[Pair]":
    """Pairs that differ by `distance` replaced records; a database may also be one record.

    `databases` are a strategy of the first database of each pair.
    With `cell` only one column's entry of a record is replaced.
    """
    require_strategy(databases)
    return replaced(databases, distance, cell=cell)


def require_strategy(databases: object) -> None:
    """InvalidArgument for anything but a Hypothesis strategy."""
    from hypothesis.strategies import SearchStrategy

    if not isinstance(databases, SearchStrategy):
        raise InvalidArgument(
            "databases must be a Hypothesis strategy of databases, such as "
            f"st.lists(st.integers(0, 120)), got {type(databases).__name__}"
        )


def _histogram_source(domain: Histogram, relation: Relation, distance: int) -> Source:
    from hypothesis import strategies as st

    step, place = step_of(relation), st.integers(0, domain.bins - 1)

    def moved(shared: list[int], first: int, second: int) -> Pair:
        """The `shared` records beside `distance` more in one bin, or in each of two."""
        one, other = list(shared), list(shared)
        other[first] += distance
        for taken in step.instead([first + 1 + second % max(domain.bins - 1, 1)])[0]:
            one[taken % domain.bins] += distance
        return Pair(one, other)

    if step.keeps_places and domain.bins < 2:
        raise InvalidArgument(
            f'a histogram of one bin has no {relation.value} neighbours; use relation="add-remove"',
            keywords=("relation",),
        )
    if domain.total is None:
        counts = st.lists(
            st.integers(0, domain.max_count), min_size=domain.bins, max_size=domain.bins
        )
        bases = [[level] * domain.bins for level in (0, distance, 5 * distance)]
        bases += [
            [distance] + [0] * (domain.bins - 1),
            [domain.max_count] + [0] * (domain.bins - 1),
        ]
    elif step.keeps_places and domain.total >= distance:
        left = domain.total - distance
        counts = _counts_of(left, domain.bins)
        bases = [_spread(left, over, domain.bins) for over in (1, 2, domain.bins)]
    else:
        raise InvalidArgument(
            f"the histograms all have {domain.total} records, so none has {relation.value} "
            f'neighbours {distance} step(s) away among them; use relation="replace-one"',
            keywords=("relation",),
        )
    strategy = st.builds(moved, counts, place, place)
    # The heavy bins at either end, so that a record also moves between two that are light.
    bases += [base[::-1] for base in bases]
    made = [moved(base, first, second) for base in bases
            for first in dict.fromkeys((0, domain.bins - 1)) for second in (0, 1)]  # fmt: skip
    return Source(tuple(different(made)), strategy)


def _counts_of(total: int, bins: int) -> "SearchStrategy[list[int]]":
    from hypothesis import strategies as st

    cuts = st.lists(st.integers(0, total), min_size=bins - 1, max_size=bins - 1)
    return cuts.map(lambda made: np.diff([0, *sorted(made), total]).tolist())


def _spread(total: int, over: int, bins: int) -> list[int]:
    """`total` records as evenly as can be over the first `over` bins."""
    share, rest = divmod(total, min(over, bins))
    return [share + (place < rest) if place < over else 0 for place in range(bins)]


def _value_source(domain: Value, relation: Relation) -> Source:
    from hypothesis import strategies as st

    if not step_of(relation).keeps_places:
        raise InvalidArgument(
            "a database of a single value has neighbours under replace-one only; "
            'use relation="replace-one"',
            keywords=("relation",),
        )
    values = corners(domain.row)
    templates = [Pair(a, b) for index, b in enumerate(values) for a in values[:index]]
    rows = row_strategy(domain.row)
    return Source(tuple(templates), st.builds(Pair, rows, rows))


def _asked_source(domain: Asked, distance: int, seed: int) -> Source:
    """Neighbouring data, each pair with one analyst on both sides."""
    from hypothesis import strategies as st

    sizes = {"queries": domain.queries, "classes": domain.classes, "states": domain.states}
    source = pair_source(domain.data, domain.relation, distance, seed)
    near = source.strategy
    if source.templates:
        near = st.one_of(st.sampled_from(source.templates), near)
    return Source(listed_pairs(source.templates, **sizes), session_pairs(near, **sizes))


def _strategy_source(
    databases: "SearchStrategy[Database]",
    relation: Relation,
    distance: int,
    seed: int,
    histogram: bool,
) -> Source:
    found = harvest(databases, seed, EXAMPLES, mutated=False)
    if isinstance(found[0], Pair):
        return Source((), databases.map(_checked(relation, distance, histogram)))
    step, known = step_of(relation), [records(database) for database in found]
    if None in known and not (step.keeps_places and isinstance(found[0], SINGLE)):
        # Two draws of anything else need not be neighbours, and the audit would accuse wrongly.
        single = all(isinstance(database, SINGLE) for database in found)
        way = (
            'give relation="replace-one", which replaces a single number or text, or '
            if single
            else "give "
        )
        odd = type(found[known.index(None)]).__name__
        raise InvalidArgument(
            f"a database of type {odd} has no records for {relation.value} to change; {way}a "
            "strategy of lists or a strategy of Pair. Records have lists, tuples, arrays, tables "
            "and columns of pandas or polars, sparse matrices, dicts, and objects of columns of "
            "one length",
            keywords=("relation",),
        )
    # No template is put together from what was seen: it might be a database that the strategy
    # never yields, such as one with a row twice, and a refutation on it would be nobody's.
    sizes = [len(part) for part in known if part is not None]
    return Source((), step.pairs(databases, distance, sizes))


def yields_pairs(databases: object, seed: int) -> bool:
    """Whether these are a strategy of `Pair`."""
    from hypothesis.strategies import SearchStrategy

    if not isinstance(databases, SearchStrategy):
        return False
    return isinstance(harvest(databases, seed, examples=1)[0], Pair)


def relation_of_pairs(
    pairs: "SearchStrategy[Pair]", distance: int, seed: int, *, histogram: bool = False
) -> Relation:
    """The relation under which all of some pairs of a strategy are near; else only declared."""
    domain = HISTOGRAMS if histogram else None
    unlike = [pair for pair in harvest(pairs, seed, mutated=False) if not _equal(pair)]
    found = {relation_of(pair, distance, domain) for pair in unlike}
    return found.pop() if len(found) == 1 else Relation.DECLARED


def _equal(pair: Pair) -> bool:
    return identity(pair.database) == identity(pair.neighbour)


def _checked(relation: Relation, distance: int, histogram: bool) -> Callable[[Pair], Pair]:
    """A pair as it is; InvalidArgument where it is not of the relation. Equal sides go through:

    the hunt drops such a pair, and says so where all are.
    """

    def check(pair: Pair) -> Pair:
        if not _equal(pair):
            require_neighbours(pair, relation, distance, HISTOGRAMS if histogram else None)
        return pair

    return check


@dataclass(frozen=True, eq=False)
class TableDomain:
    """The databases are this table, and what is left of it without some of its rows.

    `rows` is anything that has records: a list of dicts, a table of pandas or polars.
    """

    rows: Database

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
    table: TableDomain, relation: Relation, distance: int, constants: Sequence[object] = ()
) -> tuple[tuple[Pair, ...], "SearchStrategy[Pair]"]:
    """Pairs with the most telling rows of the table, and a strategy of all pairs.

    Rows that the constants of a mechanism's code speak of are telling too. Raises InvalidArgument
    where the table is too small for the distance.
    """
    from hypothesis import strategies as st

    step, whole = step_of(relation), records_of(table.rows)
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
        places, new = [order[one] for one in ranks], [order[one] for one in others]
        return step.of_table(whole, _left(order, set(places), most), places, new, added)

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        ranks = [draw(rank)]
        while len(ranks) < distance:
            free = [one for one in range(len(order)) if one not in ranks]
            ranks.append(free[draw(st.integers(0, len(free) - 1))])
        others, added = step.chosen(draw, rank, len(ranks))
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


def telling_rows(table: TableDomain, constants: Sequence[object] = ()) -> list[int]:
    """The places of all rows: those that stand out first, column by column in turn."""
    whole = records_of(table.rows)
    return told_first(_columns(table.rows, whole), list(map(said, whole.rows)), constants)


def _columns(rows: Database, whole: Records) -> list[list[object]]:
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
