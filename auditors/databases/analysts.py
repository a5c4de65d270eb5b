"""Adaptive analysts: enumerated, generated, and carried by both databases of a pair.

A session is private against every strategy, so a strategy is chosen like a database: the hunt for
the worst pair tries the strategies too, and shrinking makes them simple. Both sides of a pair have
the same one.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mechanisms.model import Analyst, Pair

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST_LISTED = 64
"""Strategies that are listed, at most; of more, evenly spread ones."""
MOST_PAIRS = 6
"""Hand-made pairs of data that are joined with the listed strategies."""
MOST_EXAMPLES = 48
"""Pairs of data with a listed strategy that are tried first, at most."""


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
    def made(draw: Any) -> Analyst:
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
