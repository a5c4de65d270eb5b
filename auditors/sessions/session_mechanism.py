"""A session class as a mechanism, so that everything there is for mechanisms works on it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mechanisms.model import (
    Domain,
    Interaction,
    Mechanism,
    PrivacyClaim,
    Relation,
    Session,
    misfit,
    play,
)
from ..databases.neighbours import pair_source
from ..errors import InvalidArgument
from .adversaries import all_analysts, carrying, session_pairs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST_PAIRS = 6
"""Hand-made pairs of data that are joined with the listed strategies."""
MOST_EXAMPLES = 48


def session_mechanism(
    opened: Interaction | Callable[[Any, np.random.Generator], Any],
    *,
    data: "Domain | SearchStrategy[Any]",
    queries: Sequence[Any],
    epsilon: float,
    relation: Relation | str,
    delta: float = 0.0,
    length: int = 6,
    cuts: Sequence[float] = (0.5,),
    states: int = 3,
    name: str = "session",
) -> Mechanism:
    """The session as a mechanism on [data, analyst], private against every analyst.

    `opened` is an Interaction, or opens a session of your own class: `opened(data, rng)` has a
    method `ask(query)` that returns a number and raises SessionOver at the end. An analyst asks
    `length` of the `queries`, chosen by the answers so far: the class of an answer is the number
    of `cuts` it reaches, and the analyst has up to `states` states. Outputs are as of `play`.
    The claim is (epsilon, delta) under `relation` of the data, for one analyst on both sides.
    Raises InvalidArgument where there is nothing to ask.
    """
    if not queries or length < 1 or states < 1:
        raise InvalidArgument("a session needs at least one query, one step and one state")
    try:
        relation = Relation(relation)
    except ValueError:
        raise InvalidArgument(
            f"relation must be add-remove or replace-one, got {relation!r}", keywords=("relation",)
        ) from None
    sizes = {"queries": len(queries), "classes": len(cuts) + 1, "states": states}
    make = partial(Session, opened) if isinstance(opened, Interaction) else opened
    if isinstance(data, Domain):
        make = partial(_opened_inside, make=make, domain=data, name=name)
    return Mechanism(
        name=name,
        run=partial(
            play, opened=make, queries=tuple(queries), length=length, cuts=tuple(sorted(cuts))
        ),
        databases=session_pairs(data, relation, **sizes),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.DECLARED,
                examples=_examples(data, relation, sizes),
                statement=f"private under {relation.value} against every adaptive analyst",
            ),
        ),
    )


def _opened_inside(
    data: Any,
    rng: np.random.Generator,
    *,
    make: Callable[[Any, np.random.Generator], Any],
    domain: Domain,
    name: str,
) -> Any:
    """The session, where the data are of the domain. Raises ValueError on others."""
    wrong = misfit(domain, data)
    if wrong:
        raise ValueError(f"{name}: {wrong}")
    return make(data, rng)


def _examples(data: Any, relation: Relation, sizes: dict[str, int]) -> tuple[tuple[Any, Any], ...]:
    """Hand-made pairs of the data, each with some of the listed strategies."""
    pairs = pair_source(data, relation, 1, 0).templates[:MOST_PAIRS]
    listed = all_analysts(**sizes)
    if not pairs:
        return ()
    each = max(1, MOST_EXAMPLES // len(pairs))
    places = np.unique(np.linspace(0, len(listed) - 1, each).round().astype(int))
    made = [carrying(pair, listed[place]) for place in places.tolist() for pair in pairs]
    return tuple((pair.database, pair.neighbour) for pair in made)
