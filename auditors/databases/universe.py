"""All neighbouring pairs of a small universe of databases, so that an exact law can be checked.

The universe is part of the answer: what was enumerated is said in a sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import (
    Choices,
    Database,
    Domain,
    Histogram,
    Interval,
    Pair,
    Product,
    Record,
    Relation,
    Row,
    Rows,
    Value,
)
from ..outputs.encoding import canonical
from .rows import corners

MOST = 300
"""Databases in a universe."""
MOST_VALUES = 64
"""Values of a record that are listed; a domain with more has no universe."""


@dataclass(frozen=True, slots=True)
class Universe:
    """Pairs in one order each (the other order is meant too), and what they are all pairs of."""

    pairs: tuple[Pair, ...]
    scope: str


def universe(domain: Domain, relation: Relation, distance: int = 1, most: int = MOST) -> Universe:
    """All pairs `distance` steps apart among at most `most` small databases of the domain.

    Where even the shortest lists are too many, their rows take fewer values. Without a pair the
    scope is empty.
    """
    match domain:
        case Rows():
            further = distance if relation is Relation.ADD_REMOVE else 0
            databases, about = _lists(domain, min(domain.min_size + further, domain.max_size), most)
        case Histogram():
            databases, about = _histograms(domain, most)
        case Value():
            values, complete = _values(domain.row)
            kept = values[:most]
            whole = complete and len(kept) == len(values)
            databases, about = kept, f"{'all' if whole else 'the main'} {len(kept)} values"
    known = {canonical(database): database for database in databases}
    keys, databases = list(known), list(known.values())
    near = _neighbours(databases, domain, relation)
    pairs: dict[frozenset[bytes], Pair] = {}
    for start, key in enumerate(keys):
        reached = dict.fromkeys((start,))
        for _ in range(distance):
            reached = {other: None for base in reached for other in near[base]}
        for other in reached:
            if other != start:
                both = frozenset((key, keys[other]))
                pairs.setdefault(both, Pair(databases[start], databases[other]))
    if not pairs:
        return Universe((), "")
    far = "" if distance == 1 else f" {distance} steps apart"
    return Universe(tuple(pairs.values()), f"all {len(pairs)} neighbouring pairs{far} of {about}")


def _neighbours(databases: list[Database], domain: Domain, relation: Relation) -> list[list[int]]:
    """The places of the neighbours of each database, in order."""
    everywhere = range(len(databases))
    if isinstance(domain, Value):
        one_record = relation is Relation.REPLACE_ONE
        return [[o for o in everywhere if o != place and one_record] for place in everywhere]
    table = _row_counts(databases) if isinstance(domain, Rows) else np.array(databases)
    found = []
    for counts in table:
        come, gone = (np.maximum(way, 0).sum(axis=1) for way in (table - counts, counts - table))
        one_apart = (
            come + gone == 1 if relation is Relation.ADD_REMOVE else (come == 1) & (gone == 1)
        )
        found.append(np.flatnonzero(one_apart).tolist())
    return found


def _row_counts(databases: list[Database]) -> NDArray[np.int64]:
    """How often each row occurs in each list, shape (lists, different rows)."""
    keys = [[canonical(row) for row in database] for database in databases]
    places = {key: place for place, key in enumerate(sorted({key for own in keys for key in own}))}
    table = np.zeros((len(databases), len(places)), dtype=np.int64)
    for counts, own in zip(table, keys, strict=True):
        np.add.at(counts, [places[key] for key in own], 1)
    return table


def _lists(domain: Rows, needed: int, most: int) -> tuple[list[Database], str]:
    """Lists up to the greatest size that fits, at least `needed`, on as many values as fit."""
    values, complete = _values(domain.row)
    found = len(values)
    number = found
    while number > 1 and _number_of_lists(number, domain.min_size, needed) > most:
        number -= 1
    # Spread over all values, the first and the last among them.
    values = [values[i * (found - 1) // max(number - 1, 1)] for i in range(number)]
    longest = domain.min_size - 1
    while longest < domain.max_size:
        if _number_of_lists(number, domain.min_size, longest + 1) > most:
            break
        longest += 1
    lists = [
        list(rows)
        for size in range(domain.min_size, longest + 1)
        for rows in combinations_with_replacement(values, size)
    ]
    kind = "" if complete else " extreme"
    sizes = f"{domain.min_size} to {longest}" if longest > domain.min_size else f"{longest}"
    some = "" if number == found else f" of {found}"
    return lists, f"the lists of {sizes} rows of {number}{some}{kind} values, up to order"


def _number_of_lists(values: int, least: int, longest: int) -> int:
    """How many lists of `least` to `longest` rows there are, up to order."""
    return sum(comb(size + values - 1, values - 1) for size in range(least, longest + 1))


def _histograms(domain: Histogram, most: int) -> tuple[list[Database], str]:
    bins = domain.bins
    if domain.total is None:
        level = 0
        while level < domain.max_count and (level + 2) ** bins <= most:
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


def _products(rows: list[Row]) -> tuple[list[tuple[object, ...]], bool] | None:
    """All combinations, and whether they are really all; None where they are too many."""
    parts = [_values(row) for row in rows]
    size = 1
    for values, _ in parts:
        size *= len(values)
    if size > MOST_VALUES:
        return None
    return list(product(*(values for values, _ in parts))), all(done for _, done in parts)
