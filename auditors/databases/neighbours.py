"""Pairs of neighbouring databases: where they come from.

The neighbour is always derived from the database by editing it, so a pair is neighbouring by
construction and both sides shrink together. Templates come first: random generation draws
small lists, and misses what needs many rows, a boundary value or an empty database.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mechanisms.model import Histogram, Relation, Rows, Value
from ..errors import InvalidArgument
from ..outputs.encoding import canonical
from ..results import Pair
from .rows import corners, different, edited_lists, list_templates, row_strategy, row_templates

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

__all__ = ["Source", "add_remove", "pair_source", "replace_one"]


SINGLE = (bool, int, float, complex, str, bytes, Enum, np.generic, type(None))
"""What can only be one record."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where pairs come from: a few hand-made ones first, then a strategy of many."""

    templates: tuple[Pair, ...]
    strategy: "SearchStrategy[Pair]"

    def first(self, seed: int) -> Pair:
        """A simple pair, the same for the same seed."""
        if self.templates:
            return self.templates[0]
        pair: Pair = _harvest(self.strategy, seed, examples=1)[0]
        return pair


def pair_source(databases: Any, relation: Relation, distance: int, seed: int) -> Source:
    """Pairs `distance` steps of `relation` apart over a Domain or a Hypothesis strategy.

    A strategy that yields `Pair` is taken as it is. Raises InvalidArgument when the relation
    has no meaning for the databases.
    """
    from hypothesis.strategies import SearchStrategy

    match databases:
        case Rows():
            rows = row_strategy(databases.row)
            strategy = edited_lists(rows, relation, distance, databases)
            return Source(list_templates(databases, relation, distance), strategy)
        case Histogram():
            return _histogram_source(databases, relation, distance)
        case Value():
            return _value_source(databases, relation)
        case SearchStrategy():
            return _strategy_source(databases, relation, distance, seed)
    raise InvalidArgument(
        "databases must be a Hypothesis strategy (of databases or of Pair) or a domain such as "
        f"Rows(row=Interval(low=0, high=1)), got {type(databases).__name__}"
    )


def add_remove(databases: "SearchStrategy[Any]", distance: int = 1) -> "SearchStrategy[Pair]":
    """Pairs that differ by `distance` records added or removed, over lists, tuples or arrays."""
    return _removed(databases, distance)


def replace_one(databases: "SearchStrategy[Any]", distance: int = 1) -> "SearchStrategy[Pair]":
    """Pairs that differ by `distance` replaced records; a database may also be one record."""
    return _replaced(databases, distance)


# --- histograms and single values ------------------------------------------------------------


def _histogram_source(domain: Histogram, relation: Relation, distance: int) -> Source:
    from hypothesis import strategies as st

    place = st.integers(0, domain.bins - 1)

    def moved(shared: list[int], first: int, second: int) -> Pair:
        """The `shared` records beside `distance` more in one bin, or in each of two."""
        one, other = list(shared), list(shared)
        other[first] += distance
        if relation is Relation.REPLACE_ONE:
            one[(first + 1 + second % max(domain.bins - 1, 1)) % domain.bins] += distance
        return Pair(one, other)

    if relation is Relation.REPLACE_ONE and domain.bins < 2:
        raise InvalidArgument(
            'a histogram of one bin has no replace-one neighbours; use relation="add-remove"',
            keywords=("relation",),
        )
    if domain.total is None:
        counts = st.lists(st.integers(0, domain.most), min_size=domain.bins, max_size=domain.bins)
        bases = [[level] * domain.bins for level in (0, distance, 5 * distance)]
        bases += [[distance] + [0] * (domain.bins - 1), [domain.most] + [0] * (domain.bins - 1)]
    elif relation is Relation.REPLACE_ONE and domain.total >= distance:
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

    if relation is not Relation.REPLACE_ONE:
        raise InvalidArgument(
            "a database of a single value has neighbours under replace-one only; "
            'use relation="replace-one"',
            keywords=("relation",),
        )
    values = corners(domain.row)
    templates = [Pair(a, b) for index, b in enumerate(values) for a in values[:index]]
    rows = row_strategy(domain.row)
    return Source(tuple(templates), st.builds(Pair, rows, rows))


# --- strategies of the user's own ------------------------------------------------------------


def _strategy_source(
    databases: "SearchStrategy[Any]", relation: Relation, distance: int, seed: int
) -> Source:
    found = _harvest(databases, seed)
    if isinstance(found[0], Pair):
        return Source((), databases)
    if isinstance(found[0], (list, tuple, np.ndarray)):
        templates = _harvested_templates(found, relation, distance)
    elif relation is Relation.REPLACE_ONE and isinstance(found[0], SINGLE):
        templates = ()
    else:
        # Two draws of anything else need not be neighbours, and the audit would accuse wrongly.
        raise InvalidArgument(
            f"{relation.value} neighbours are made of databases that are lists, tuples or arrays "
            f'of records (and, by relation="replace-one", of a single number or string), got '
            f"{type(found[0]).__name__}; give a strategy of Pair instead",
            keywords=("relation",),
        )
    if relation is Relation.REPLACE_ONE:
        return Source(templates, _replaced(databases, distance))
    return Source(templates, _removed(databases, distance, _least_size(found, distance)))


def _least_size(found: list[Any], distance: int) -> int:
    """The smallest size seen, below which removing records would leave the user's domain."""
    sizes = [len(database) for database in found]
    if max(sizes) < min(sizes) + distance:
        raise InvalidArgument(
            f"the databases all have {min(sizes)} to {max(sizes)} records, so none has an "
            'add-remove neighbour among them; use relation="replace-one", the domain Histogram '
            "for counts, or a strategy of Pair",
            keywords=("relation",),
        )
    return min(sizes)


def _harvest(databases: "SearchStrategy[Any]", seed: int, examples: int = 80) -> list[Any]:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(databases)
    def collect(database: Any) -> None:
        found.append(database)

    collect()
    return found


def _harvested_templates(found: list[Any], relation: Relation, distance: int) -> tuple[Pair, ...]:
    rows: dict[bytes, Any] = {canonical(row): row for db in found for row in list(db)}
    values = list(rows.values())
    try:
        ends = [min(values), max(values)]
    except (TypeError, ValueError):
        ends = values[-2:]
    extremes = list({canonical(row): row for row in values[:1] + ends + values[1:2]}.values())
    first = found[0]

    def build(items: list[Any]) -> Any:
        if isinstance(first, np.ndarray):
            return np.array(items, dtype=first.dtype).reshape(len(items), *first.shape[1:])
        return type(first)(items)

    sizes = [len(database) for database in found]
    return row_templates(extremes, build, relation, distance, min(sizes), max(sizes))


def _removed(
    databases: "SearchStrategy[Any]", distance: int, least: int = 0
) -> "SearchStrategy[Pair]":
    """Databases beside what is left of them, which has at least `least` records."""
    from hypothesis import strategies as st

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        database = draw(databases.filter(lambda made: len(made) >= distance + least))
        smaller = database
        for _ in range(distance):
            index = draw(st.integers(0, len(smaller) - 1))
            if isinstance(smaller, np.ndarray):
                smaller = np.delete(smaller, index, axis=0)
            else:
                smaller = smaller[:index] + smaller[index + 1 :]
        return Pair(smaller, database)

    return pairs()


def _replaced(databases: "SearchStrategy[Any]", distance: int) -> "SearchStrategy[Pair]":
    from hypothesis import strategies as st

    @st.composite
    def pairs(draw: "DrawFn") -> Pair:
        database = draw(databases)
        if not isinstance(database, (list, tuple, np.ndarray)):
            return Pair(database, draw(databases))
        other = database.copy() if isinstance(database, np.ndarray) else list(database)
        for _ in range(distance if len(other) else 0):
            source = draw(databases.filter(lambda made: len(made) > 0))
            row = source[draw(st.integers(0, len(source) - 1))]
            other[draw(st.integers(0, len(other) - 1))] = row
        same_kind = isinstance(database, (list, np.ndarray))
        return Pair(database, other if same_kind else type(database)(other))

    return pairs()
