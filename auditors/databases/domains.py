"""Databases of a declared domain: strategies of them, their corners, and all of a small one.

Lists of rows have strategies, corners and hand-made pairs. The universe of a domain is all
neighbouring pairs of a few small databases, so that an exact law can be checked; it is part of the
answer: what was enumerated is said in a sentence.

Adaptive analysts are carried by both databases of a pair. A session is private against every
strategy, so a strategy is chosen like a database: the hunt for the worst pair tries the strategies
too, and shrinking makes them simple.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import (
    Analyst,
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
from ..errors import InvalidArgument
from ..outputs.encoding import canonical
from .steps import Step, step_of

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

COPIES = (0, 1, 5, 20)
"""How many equal records the hand-made pairs share."""
MOST_TEMPLATES = 80
"""Hand-made pairs, at most."""
MOST = 300
"""Databases in a universe."""
MOST_VALUES = 64
"""Values of a record that are listed; a domain with more has no universe."""
MOST_LISTED = 64
"""Strategies that are listed, at most; of more, evenly spread ones."""
MOST_PAIRS = 6
"""Hand-made pairs of data that are joined with the listed strategies."""
MOST_EXAMPLES = 48
"""Pairs of data with a listed strategy that are tried first, at most."""


def row_strategy(row: Row) -> "SearchStrategy[object]":
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


def corners(row: Row) -> list[Database]:
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


def _corner_lists(values: list[list[Database]]) -> list[list[Database]]:
    """All parts at the same corner, and all at the first but one; a few of each."""
    diagonal = [[part[min(i, len(part) - 1)] for part in values] for i in range(3)]
    single = [
        [other[1] if place == changed else part[0] for place, part in enumerate(values)]
        for changed, other in enumerate(values)
        if len(other) > 1
    ]
    made = {canonical(row): row for row in [*diagonal, *single[-1:], *single[:-1]]}
    return list(made.values())[:8]


def list_strategy(domain: Rows, rows: "SearchStrategy[object]") -> "SearchStrategy[list[object]]":
    """Lists of anything, and long lists of few different rows.

    Every draw is a list of the domain: nothing is filtered, because Hypothesis spends itself on
    climbing among examples that a filter throws away.
    """
    from hypothesis import strategies as st

    def expand(blocks: list[tuple[object, int]]) -> list[object]:
        made = [row for row, copies in blocks for _ in range(copies)][: domain.max_size]
        return made + made[-1:] * (domain.min_size - len(made))

    block = st.tuples(rows, st.integers(1, max(1, domain.max_size)))
    short = st.lists(rows, min_size=domain.min_size, max_size=domain.max_size)
    return short | st.lists(block, min_size=1, max_size=3).map(expand)


def edited_lists(
    rows: "SearchStrategy[object]", relation: Relation, distance: int, domain: Rows
) -> "SearchStrategy[Pair]":
    """Pairs whose neighbour is the list after `distance` edits, both inside the domain.

    Raises InvalidArgument where the domain leaves no room for the edits.
    """
    from hypothesis import strategies as st

    step = step_of(relation)
    smaller = step.inside(domain, distance)
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
            step.edit(other, rows, draw)
        return Pair(database, other)

    return pairs()


def list_templates(domain: Rows, relation: Relation, distance: int) -> tuple[Pair, ...]:
    """Empty, one row, all equal, many copies, one outlier, with each corner as the change."""
    return row_templates(
        corners(domain.row), list, relation, distance, domain.min_size, domain.max_size
    )


def row_templates(
    changes: list[object],
    build: Callable[[list[object]], Database],
    relation: Relation,
    distance: int,
    least: int,
    most: int,
) -> tuple[Pair, ...]:
    """Copies of one of `changes` beside one more, or one replaced, of each; `build` makes them."""
    made, step = list[Pair](), step_of(relation)
    for copies in sorted({max(least, count) for count in COPIES}):
        for shared in changes if copies else changes[:1]:
            base = [shared] * copies
            for index, change in enumerate(changes):
                made.extend(
                    Pair(build(base + before * distance), build(base + [change] * distance))
                    for before in step.instead(changes[:index])
                )
    fitting = [p for p in made if least <= len(p.database) and len(p.neighbour) <= most]
    return tuple(different(fitting)[:MOST_TEMPLATES])


def different(pairs: list[Pair]) -> list[Pair]:
    """The pairs without repetitions, in order."""
    seen = {canonical((p.database, p.neighbour)): p for p in reversed(pairs)}
    return list(reversed(seen.values()))


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
    step = step_of(relation)
    match domain:
        case Rows():
            further = 0 if step.keeps_places else distance
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
    near = _neighbours(databases, domain, step)
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


def _neighbours(databases: list[Database], domain: Domain, step: Step) -> list[list[int]]:
    """The places of the neighbours of each database, in order."""
    everywhere = range(len(databases))
    if isinstance(domain, Value):
        return [[o for o in everywhere if o != own and step.keeps_places] for own in everywhere]
    table = _row_counts(databases) if isinstance(domain, Rows) else np.array(databases)
    found = []
    for counts in table:
        gone, come = (np.maximum(way, 0).sum(axis=1) for way in (counts - table, table - counts))
        # No step takes or brings more than one record; of each other few are so near.
        near = np.flatnonzero(np.maximum(gone, come) == 1).tolist()
        found.append([o for o in near if step.between(int(gone[o]), int(come[o])) == 1])
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


def _values(row: Row) -> tuple[list[Database], bool]:
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


def all_analysts(*, queries: int, classes: int, states: int) -> list[Analyst]:
    """Every strategy with up to `states` states, of which there are MOST_LISTED at most.

    Those of one state, which ask one query over and over, come first; where there are more
    strategies than that, they are taken evenly out of all of them, in their order.
    """
    found: list[Analyst] = []
    for number in range(1, states + 1):
        whole = queries**number * number ** (number * classes)
        step = max(1, whole // MOST_LISTED)
        places = product(product(range(queries), repeat=number), _moves(number, classes))
        if whole > MOST_LISTED**3:
            # Too many to walk through: the strategies that go round, and leave by the answer.
            found += _rounds(queries, classes, number)
            continue
        found += [
            Analyst(asks=asks, moves=moves)
            for place, (asks, moves) in enumerate(places)
            if place % step == 0
        ]
    return found


def _moves(states: int, classes: int) -> list[tuple[tuple[int, ...], ...]]:
    rows = list(product(range(states), repeat=classes))
    return list(product(rows, repeat=states))


def _rounds(queries: int, classes: int, states: int) -> list[Analyst]:
    """Ask the queries in turn, one a state; one class of answers stays, the others go on."""
    return [
        Analyst(
            asks=tuple((first + state) % queries for state in range(states)),
            moves=tuple(
                tuple(state if one == stays else (state + 1) % states for one in range(classes))
                for state in range(states)
            ),
        )
        for first in range(queries)
        for stays in range(-1, classes)
    ]


def analysts(*, queries: int, classes: int, states: int) -> "SearchStrategy[Analyst]":
    """Strategies of up to `states` states; shrinking asks the first query and stays put."""
    from hypothesis import strategies as st

    @st.composite
    def made(draw: "DrawFn") -> Analyst:
        number = draw(st.integers(1, states))
        asks = draw(st.lists(st.integers(0, queries - 1), min_size=number, max_size=number))
        row = st.lists(st.integers(0, number - 1), min_size=classes, max_size=classes)
        moves = draw(st.lists(row, min_size=number, max_size=number))
        return Analyst(asks=tuple(asks), moves=tuple(tuple(one) for one in moves))

    return made()


def session_pairs(
    near: "SearchStrategy[Pair]", *, queries: int, classes: int, states: int
) -> "SearchStrategy[Pair]":
    """Pairs of [data, strategy]: the data are a pair of `near`, the strategy is the same."""
    from hypothesis import strategies as st

    return st.builds(carrying, near, analysts(queries=queries, classes=classes, states=states))


def listed_pairs(
    near: Sequence[Pair], *, queries: int, classes: int, states: int
) -> tuple[Pair, ...]:
    """A few hand-made pairs of the data, each with some of the listed strategies."""
    listed = all_analysts(queries=queries, classes=classes, states=states)
    pairs = near[:MOST_PAIRS]
    if not pairs:
        return ()
    each = max(1, MOST_EXAMPLES // len(pairs))
    places = np.unique(np.linspace(0, len(listed) - 1, each).round().astype(int))
    return tuple(carrying(pair, listed[place]) for place in places.tolist() for pair in pairs)


def carrying(pair: Pair, analyst: Analyst) -> Pair:
    """The pair with the strategy on either side."""
    return Pair([pair.database, analyst.written()], [pair.neighbour, analyst.written()])
