"""A session class as a mechanism, so that everything there is for mechanisms works on it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mechanisms.model import Domain, Interaction, Mechanism, Relation, asked_mechanism
from ..arguments import checked
from ..asked import RELATIONS
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@checked
def session_mechanism(
    opened: Interaction | Callable[[object, np.random.Generator], object],
    *,
    data: "Domain | SearchStrategy[Any]",
    queries: Sequence[object],
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
    The claim is (`epsilon`, `delta`) under `relation` of the `data`, a domain or a strategy, for
    one analyst on both sides. `name` is what the session is called.
    Raises InvalidArgument where there is nothing to ask.
    """
    if not queries or length < 1 or states < 1:
        raise InvalidArgument("a session needs at least one query, one step and one state")
    try:
        relation = Relation(relation)
    except ValueError:
        raise InvalidArgument(
            f"relation must be {' or '.join(RELATIONS)}, got {relation!r}", keywords=("relation",)
        ) from None
    return asked_mechanism(
        opened,
        data=data,
        queries=queries,
        epsilon=epsilon,
        relation=relation,
        delta=delta,
        length=length,
        cuts=cuts,
        states=states,
        name=name,
    )
