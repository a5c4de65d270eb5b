"""diffprivlib: the claim from `.epsilon` and `.delta`, the seed through random_state.

The library does not say which databases its tools and models take for neighbours, so whoever
audits one says it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...auditors.errors import InvalidArgument
from ...mechanisms.model import Mechanism, PrivacyClaim, Relation


def from_mechanism(mechanism: Any, name: str) -> Mechanism:
    """The mechanism on one value, with its own epsilon and delta.

    A database is the value that `randomise` takes; neighbours are values at most its sensitivity
    apart, which only whoever gives a pair can see to. Each draw is of a copy seeded from the
    generator. Raises InvalidArgument for an object that has no `randomise`.
    """
    if not callable(getattr(mechanism, "randomise", None)):
        raise InvalidArgument(
            f"{name} is a {type(mechanism).__name__} of diffprivlib without randomise; wrap a "
            "model or a tool in a function of (database, rng) that passes random_state"
        )
    return Mechanism(
        name=name,
        run=partial(_drawn, mechanism),
        reference=f"diffprivlib {type(mechanism).__name__}",
        claims=(
            PrivacyClaim(
                epsilon=float(mechanism.epsilon),
                delta=float(getattr(mechanism, "delta", 0.0) or 0.0),
                relation=Relation.DECLARED,
                reference=f"diffprivlib, {type(mechanism).__name__}.epsilon",
            ),
        ),
    )


def from_tool(
    tool: Callable[..., Any], *, relation: Relation | str, epsilon: float = 1.0, **settings: Any
) -> Mechanism:
    """A function of `diffprivlib.tools` on a list of values or rows, at `epsilon` in nats.

    `settings` go to the function with every call, such as `bounds`. The relation is yours to say.
    """
    name = getattr(tool, "__name__", "tool")
    return Mechanism(
        name=name,
        run=partial(_computed, tool, {**settings, "epsilon": epsilon}),
        reference=f"diffprivlib.tools.{name}",
        claims=(PrivacyClaim(epsilon=epsilon, relation=Relation(relation)),),
    )


def from_model(
    model: Any, *, relation: Relation | str, released: Sequence[str], labelled: bool = True
) -> Mechanism:
    """What an estimator of `diffprivlib.models` has learnt: its attributes named in `released`.

    A database is a list of rows of numbers, of which the last is the label, if `labelled`. Each
    draw fits a fresh copy, seeded through `random_state`, at the model's own epsilon. The
    relation is yours to say.
    """
    name = type(model).__name__
    return Mechanism(
        name=name,
        run=partial(_fitted, model, tuple(released), labelled),
        reference=f"diffprivlib.models.{name}",
        claims=(PrivacyClaim(epsilon=float(model.epsilon), relation=Relation(relation)),),
    )


def _computed(
    tool: Callable[..., Any], settings: dict[str, Any], database: Any, rng: np.random.Generator
) -> Any:
    found = tool(np.asarray(database), **settings, random_state=int(rng.integers(2**32)))
    return found[0] if isinstance(found, tuple) else found


def _fitted(
    model: Any,
    released: tuple[str, ...],
    labelled: bool,
    database: Any,
    rng: np.random.Generator,
) -> dict[str, Any]:
    from copy import deepcopy

    fresh = deepcopy(model)
    fresh.random_state = int(rng.integers(2**32))
    rows = np.asarray(database, dtype=float)
    fresh.fit(*((rows[:, :-1], rows[:, -1]) if labelled else (rows,)))
    return {name: getattr(fresh, name) for name in released}


def _drawn(mechanism: Any, database: Any, rng: np.random.Generator) -> Any:
    from copy import copy

    from diffprivlib.utils import check_random_state

    fresh = copy(mechanism)
    fresh._rng = check_random_state(int(rng.integers(2**32)), True)
    return fresh.randomise(database)
