"""All neighbouring pairs of a small universe of databases, so that an exact law can be checked.

The universe is part of the answer: what was enumerated is said in a sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb
from typing import Any

from ...mechanisms.model import (
    Choices,
    Database,
    Domain,
    Histogram,
    Interval,
    Product,
    Record,
    Relation,
    Row,
    Rows,
    Value,
)
from ..outputs.encoding import canonical
from ..results import Pair
from .rows import corners

MOST = 300
"""Databases in a universe."""
MOST_VALUES = 64


@dataclass(frozen=True, slots=True)
class Universe:
    """Pairs in one order each (the other order is meant too), and what they are all pairs of."""

    pairs: tuple[Pair, ...]
    scope: str


@dataclass(frozen=True, slots=True)
class _Known:
    """A database with its rows as bytes, to compare."""

    database: Database
    rows: list[bytes]


def universe(domain: Domain, relation: Relation, distance: int = 1, most: int = MOST) -> Universe:
    """All pairs `distance` steps apart among at most `most` small databases of the domain.

    Where even the shortest lists are too many, their rows take fewer values. Without a pair the
    scope is empty.
    """
    match domain:
        case Rows():
            further = distance if relation is Relation.ADD_REMOVE else 0
            databases, about = _lists(domain, min(domain.least + further, domain.most), most)
        case Histogram():
            databases, about = _histograms(domain, most)
        case Value():
            values, complete = _values(domain.row)
            kept = values[:most]
            whole = complete and len(kept) == len(values)
            databases, about = kept, f"{'all' if whole else 'the main'} {len(kept)} values"
    listed = isinstance(domain, Rows)
    known = {
        canonical(database): _Known(database, [canonical(r) for r in database] if listed else [])
        for database in databases
    }
    pairs: dict[frozenset[bytes], Pair] = {}
    for key, start in known.items():
        reached = {key: start}
        for _ in range(distance):
            reached = {
                near: other
                for base in reached.values()
                for near, other in known.items()
                if other is not base and _adjacent(base, other, domain, relation)
            }
        for near, other in reached.items():
            if near != key:
                pairs.setdefault(frozenset((key, near)), Pair(start.database, other.database))
    if not pairs:
        return Universe((), "")
    far = "" if distance == 1 else f" {distance} steps apart"
    return Universe(tuple(pairs.values()), f"all {len(pairs)} neighbouring pairs{far} of {about}")


def _adjacent(one: _Known, two: _Known, domain: Domain, relation: Relation) -> bool:
    if isinstance(domain, Value):
        return relation is Relation.REPLACE_ONE
    if isinstance(domain, Rows):
        if abs(len(one.rows) - len(two.rows)) != (relation is Relation.ADD_REMOVE):
            return False
        counts = _moves(one.rows, two.rows)
    else:
        counts = _shifts(one.database, two.database)
    if relation is Relation.ADD_REMOVE:
        return sorted(counts) == [0, 1]
    return counts == (1, 1)


def _shifts(one: list[int], two: list[int]) -> tuple[int, int]:
    """How many records must leave and how many must come."""
    gaps = [b - a for a, b in zip(one, two, strict=True)]
    return sum(-gap for gap in gaps if gap < 0), sum(gap for gap in gaps if gap > 0)


def _moves(one: list[bytes], two: list[bytes]) -> tuple[int, int]:
    rest, gone = list(two), 0
    for key in one:
        if key in rest:
            rest.remove(key)
        else:
            gone += 1
    return gone, len(rest)


def _lists(domain: Rows, needed: int, most: int) -> tuple[list[Database], str]:
    """Lists up to the greatest size that fits, at least `needed`, on as many values as fit."""
    values, complete = _values(domain.row)
    found = len(values)
    number = found
    while number > 1 and _number_of_lists(number, domain.least, needed) > most:
        number -= 1
    # Spread over all values, the first and the last among them.
    values = [values[i * (found - 1) // max(number - 1, 1)] for i in range(number)]
    longest = domain.least - 1
    while longest < domain.most:
        if _number_of_lists(number, domain.least, longest + 1) > most:
            break
        longest += 1
    lists = [
        list(rows)
        for size in range(domain.least, longest + 1)
        for rows in combinations_with_replacement(values, size)
    ]
    kind = "" if complete else " extreme"
    sizes = f"{domain.least} to {longest}" if longest > domain.least else f"{longest}"
    some = "" if number == found else f" of {found}"
    return lists, f"the lists of {sizes} rows of {number}{some}{kind} values, up to order"


def _number_of_lists(values: int, least: int, longest: int) -> int:
    """How many lists of `least` to `longest` rows there are, up to order."""
    return sum(comb(size + values - 1, values - 1) for size in range(least, longest + 1))


def _histograms(domain: Histogram, most: int) -> tuple[list[Database], str]:
    bins = domain.bins
    if domain.total is None:
        level = 0
        while level < domain.most and (level + 2) ** bins <= most:
            level += 1
        found = [list(counts) for counts in product(range(level + 1), repeat=bins)]
        return found, f"the histograms of {bins} counts up to {level}"
    used = bins
    while used > 1 and comb(domain.total + used - 1, used - 1) > most:
        used -= 1
    made = [
        [*counts, *([0] * (bins - used))] for counts in _compositions(domain.total, used)
    ]  # fmt: skip
    where = f"{bins} bins" if used == bins else f"the first {used} of {bins} bins"
    return made, f"the histograms of {domain.total} records in {where}"


def _compositions(total: int, parts: int) -> Iterator[list[int]]:
    if parts == 1:
        yield [total]
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield [first, *rest]


def _values(row: Row) -> tuple[list[Any], bool]:
    """Values of a row, and whether they are all of them."""
    match row:
        case Interval(integer=True) if row.high - row.low < MOST_VALUES:
            return list(range(round(row.low), round(row.high) + 1)), True
        case Choices() if len(row.values) <= MOST_VALUES:
            return list(row.values), True
        case Record():
            names = list(row.fields)
            found = _products([row.fields[name] for name in names])
            if found is not None:
                return [dict(zip(names, made, strict=True)) for made in found[0]], found[1]
        case Product():
            found = _products(list(row.parts))
            if found is not None:
                return [list(made) for made in found[0]], found[1]
    return corners(row), False


def _products(rows: list[Row]) -> tuple[list[tuple[Any, ...]], bool] | None:
    """All combinations, and whether they are really all; None where they are too many."""
    parts = [_values(row) for row in rows]
    size = 1
    for values, _ in parts:
        size *= len(values)
    if size > MOST_VALUES:
        return None
    return list(product(*(values for values, _ in parts))), all(done for _, done in parts)
