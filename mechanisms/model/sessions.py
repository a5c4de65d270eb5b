"""Interactive mechanisms: a session that answers one query after another, and who asks them.

A session is made of a pure core, so that it can be replayed, and an object around it that
remembers. An analyst is frozen: it is a function from the answers so far to the next query, an
automaton with few states, so that the analyst can be enumerated, generated, written down and made
smaller like a database. Privacy is promised against every one of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .claims import Claim, Mechanism, PrivacyClaim
from .domains import Array, Asked, Database, Output, Relation, Size, misfit, short

State = Any
"""What a session remembers from query to query: only its own functions look into it."""
Query = Any
"""What a session is asked: of the kind that its own `answer` takes."""


class SessionOver(Exception):
    """The session answers no more queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """The pure core of a session.

    `start(database, rng)` gives the first state and `answer(state, query, rng)` the next state and
    the answer; a state is never changed. `over(state)` says that no query will be answered.
    """

    start: Callable[[Database, np.random.Generator], State]
    answer: Callable[[State, Query, np.random.Generator], tuple[State, Output]]
    over: Callable[[State], bool] = lambda state: False


@dataclass(slots=True)
class Session:
    """A session with an analyst: it remembers its state, and what was asked and answered."""

    interaction: Interaction
    database: Database
    rng: np.random.Generator
    transcript: list[tuple[object, Output]] = field(default_factory=list)
    _state: State = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Open the session; its first random draws are made here."""
        self._state = self.interaction.start(self.database, self.rng)

    @property
    def over(self) -> bool:
        """Whether no more queries are answered."""
        return self.interaction.over(self._state)

    def ask(self, query: object) -> Output:
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

    @classmethod
    def scripted(cls, *asks: int, classes: int = 2) -> "Analyst":
        """The one who asks these queries in turn, over and over, whatever is answered."""
        states = len(asks)
        return cls(asks=asks, moves=tuple(((at + 1) % states,) * classes for at in range(states)))

    def written(self) -> list[object]:
        """The strategy as plain lists, as a database carries it."""
        return [list(self.asks), [list(row) for row in self.moves]]

    @classmethod
    def read(cls, written: Database) -> "Analyst":
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
    queries: Sequence[object],
    length: int,
    cuts: Sequence[float],
    size: Size = None,
) -> Array:
    """The answers that an analyst gets in one session, or in `size` sessions.

    `database` is [data, strategy], the strategy as `Analyst.written` gives it. `opened(data, rng)`
    gives an object whose `ask(query)` answers with a number, until it raises SessionOver. The
    class of an answer is the number of `cuts` that it reaches; no number is of class 0.
    Returns floats of shape `size` + (length, 2): the query's number and its answer, NaN once it is
    over.
    Raises ValueError where the database is no such list, before the session is opened.
    """
    try:
        data, written = database
    except (TypeError, ValueError):
        raise ValueError(
            f"the database of a session must be [data, strategy], got {short(database)}"
        ) from None
    analyst = Analyst.read(written)
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    heard = np.full((prod(shape), length, 2), np.nan)
    for steps in heard:
        session = opened(data, rng)
        classes: list[int] = []
        for step in range(length):
            asked = analyst(classes)
            try:
                answer = float(session.ask(queries[asked]))
            except SessionOver:
                break
            steps[step] = asked, answer
            classes.append(sum(answer >= cut for cut in cuts))
    return heard.reshape(*shape, length, 2)


Transcript = tuple[Array, int | None]
"""What was asked and answered, shape (steps, 2), and the query that was refused, None for none."""
Density = Callable[[Database, Array, int | None], float]
"""(data, steps, refused) -> log-density of a transcript."""


def told(
    database: Database, outputs: Array, *, cuts: Sequence[float]
) -> Iterator[Transcript | None]:
    """The transcript of each output of `play`, outputs of shape (runs, length, 2).

    None for one in which the strategy of the database would have asked something else.
    """
    analyst = Analyst.read(database[1])
    for rows in outputs:
        over = np.isnan(rows[:, 1])
        answered = rows[: int(over.argmax()) if over.any() else len(rows)]
        reached = (answered[:, 1:] >= np.asarray(cuts)).sum(axis=1).tolist()
        asked = [analyst(reached[:step]) for step in range(len(answered) + bool(over.any()))]
        known = np.array_equal(asked[: len(answered)], answered[:, 0])
        yield (answered, asked[-1] if over.any() else None) if known else None


def asked_mechanism(
    opened: Interaction | Callable[[object, np.random.Generator], object],
    *,
    data: object,
    queries: Sequence[object],
    epsilon: float,
    relation: Relation,
    delta: float = 0.0,
    length: int = 6,
    cuts: Sequence[float] = (0.5,),
    states: int = 3,
    name: str = "session",
    identifier: str = "",
    reference: str = "",
    examples: tuple[tuple[Database, Database], ...] = (),
    outputs: tuple[object, ...] = (),
    beside: tuple[Claim, ...] = (),
    density: Density | None = None,
    trust_rows: bool = False,
) -> Mechanism:
    """The session as a mechanism on [data, strategy], private against every analyst.

    `data` is a domain, or a Hypothesis strategy of databases or of pairs.
    `opened` is an Interaction, or opens a session of another class: `opened(data, rng)` has a
    method `ask(query)` that returns a number and raises SessionOver at the end. An analyst asks
    `length` of the `queries`, chosen by the answers so far: the class of an answer is the number
    of `cuts` it reaches, and the analyst has up to `states` states. Outputs are as of `play`.
    The claim is (epsilon, delta) under `relation` of the data, for one analyst on both sides;
    `examples` and `outputs` are as of the claim, `beside` are other claims, and `density` is that
    of one transcript. `trust_rows` is as of a mechanism.
    """
    cuts = tuple(sorted(cuts))
    domain = Asked(
        data=data, relation=relation, queries=len(queries), classes=len(cuts) + 1, states=states
    )
    make = partial(Session, opened) if isinstance(opened, Interaction) else opened
    privacy = PrivacyClaim(
        epsilon=epsilon,
        delta=delta,
        relation=Relation.DECLARED,
        identifier=identifier,
        examples=examples,
        outputs=outputs,
        statement=f"private under {relation.value} against every adaptive analyst",
        reference=reference,
    )

    def log_probability(database: Database, outputs: object) -> Array:
        outputs = np.asarray(outputs, dtype=float)
        flat = outputs.reshape(-1, *outputs.shape[-2:])
        rows, place = np.unique(flat.reshape(len(flat), -1), axis=0, return_inverse=True)
        assert density is not None
        transcripts = told(database, rows.reshape(-1, *flat.shape[1:]), cuts=cuts)
        found = [-np.inf if one is None else density(database[0], *one) for one in transcripts]
        return np.array(found)[np.ravel(place)].reshape(outputs.shape[:-2])

    return Mechanism(
        name=name,
        identifier=identifier,
        run=partial(
            _inside, domain=domain, name=name, opened=make, queries=tuple(queries),
            length=length, cuts=cuts,
        ),
        databases=domain,
        trust_rows=trust_rows,
        claims=(privacy, *beside),
        reference=reference,
        log_probability=log_probability if density is not None else None,
    )  # fmt: skip


def _inside(
    database: Database,
    rng: np.random.Generator,
    *,
    domain: Asked,
    name: str,
    opened: Callable[[Database, np.random.Generator], object],
    queries: Sequence[object],
    length: int,
    cuts: Sequence[float],
    size: Size = None,
) -> Array:
    """`play` on a database of the domain, `size` sessions of them.

    Raises ValueError on others, before anything is drawn.
    """
    wrong = misfit(domain, database)
    if wrong:
        raise ValueError(f"{name}: {wrong}")
    return play(database, rng, opened=opened, queries=queries, length=length, cuts=cuts, size=size)
