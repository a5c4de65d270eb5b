"""Interactive mechanisms: a session that answers one query after another, and who asks them.

A session is made of a pure core, so that it can be replayed, and an object around it that
remembers. An analyst is frozen: it is a function from the answers so far to the next query, an
automaton with few states, so that the analyst can be enumerated, generated, written down and made
smaller like a database. Privacy is promised against every one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .domains import Array, Database, short


class SessionOver(Exception):
    """The session answers no more queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """The pure core of a session.

    `start(database, rng)` gives the first state and `answer(state, query, rng)` the next state and
    the answer; a state is never changed. `over(state)` says that no query will be answered.
    """

    start: Callable[[Database, np.random.Generator], Any]
    answer: Callable[[Any, Any, np.random.Generator], tuple[Any, Any]]
    over: Callable[[Any], bool] = lambda state: False


@dataclass(slots=True)
class Session:
    """A session with an analyst: it remembers its state, and what was asked and answered."""

    interaction: Interaction
    database: Database
    rng: np.random.Generator
    transcript: list[tuple[Any, Any]] = field(default_factory=list)
    _state: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Open the session; its first random draws are made here."""
        self._state = self.interaction.start(self.database, self.rng)

    @property
    def over(self) -> bool:
        """Whether no more queries are answered."""
        return self.interaction.over(self._state)

    def ask(self, query: Any) -> Any:
        """The answer to the query; SessionOver where there are no more."""
        if self.over:
            raise SessionOver("the session is over; it answers no more queries")
        self._state, answer = self.interaction.answer(self._state, query, self.rng)
        self.transcript.append((query, answer))
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyst:
    """A frozen strategy: in state s it asks query `asks[s]` and an answer of class j leads on.

    `asks` has a query's number for each state, `moves` for each state the next one by the class
    of the answer. It begins in state 0.
    """

    asks: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]

    def __call__(self, classes: Sequence[int]) -> int:
        """The number of the next query, after answers of these classes."""
        state = 0
        for one in classes:
            state = self.moves[state][one]
        return self.asks[state]

    def written(self) -> list[Any]:
        """The strategy as plain lists, as a database carries it."""
        return [list(self.asks), [list(row) for row in self.moves]]

    @classmethod
    def read(cls, written: Any) -> "Analyst":
        """The strategy that `written` gave. Raises ValueError on anything else."""
        try:
            asks, moves = written
            return cls(asks=tuple(asks), moves=tuple(tuple(row) for row in moves))
        except (TypeError, ValueError):
            raise ValueError(
                "a strategy must be [asks, moves], a query's number for each state and the next "
                f"states by the class of the answer; got {short(written)}"
            ) from None


def play(
    database: Database,
    rng: np.random.Generator,
    *,
    opened: Callable[[Database, np.random.Generator], Any],
    queries: Sequence[Any],
    length: int,
    cuts: Sequence[float],
) -> Array:
    """The answers that an analyst gets in one session.

    `database` is [data, strategy], the strategy as `Analyst.written` gives it. `opened(data, rng)`
    gives an object whose `ask(query)` answers with a number, until it raises SessionOver. The
    class of an answer is the number of `cuts` that it reaches; no number is of class 0.
    Returns floats of shape (length, 2): the query's number and its answer, NaN once it is over.
    Raises ValueError where the database is no such list, before the session is opened.
    """
    try:
        data, written = database
    except (TypeError, ValueError):
        raise ValueError(
            f"the database of a session must be [data, strategy], got {short(database)}"
        ) from None
    analyst = Analyst.read(written)
    session = opened(data, rng)
    told = np.full((length, 2), np.nan)
    classes: list[int] = []
    for step in range(length):
        asked = analyst(classes)
        try:
            answer = float(session.ask(queries[asked]))
        except SessionOver:
            break
        told[step] = asked, answer
        classes.append(int(np.count_nonzero(answer >= np.asarray(cuts))))
    return told
