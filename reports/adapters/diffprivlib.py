"""diffprivlib: tools, and models at a relation that is said; the seed through random_state.

The library does not say which databases its tools and models take for neighbours, so whoever
audits one says it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ...auditors.remote.libraries import fitted
from ...mechanisms.model import Database, Mechanism, PrivacyClaim, Relation


class PrivateModel(Protocol):
    """An estimator of `diffprivlib.models`: it says its own epsilon, in nats."""

    epsilon: float


def from_tool(
    tool: Callable[..., object],
    *,
    relation: Relation | str,
    epsilon: float = 1.0,
    **settings: object,
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
    model: PrivateModel, *, relation: Relation | str, released: Sequence[str], labelled: bool = True
) -> Mechanism:
    """What an estimator of `diffprivlib.models` has learnt: its attributes named in `released`.

    A database is a list of rows of numbers, of which the last is the label, if `labelled`. Each
    draw fits a fresh copy, seeded through `random_state`, at the model's own epsilon. The
    relation is yours to say.
    """
    name = type(model).__name__
    return Mechanism(
        name=name,
        run=partial(fitted, model, tuple(released), labelled),
        reference=f"diffprivlib.models.{name}",
        claims=(PrivacyClaim(epsilon=float(model.epsilon), relation=Relation(relation)),),
    )


def _computed(
    tool: Callable[..., object],
    settings: dict[str, object],
    database: Database,
    rng: np.random.Generator,
) -> object:
    found = tool(np.asarray(database), **settings, random_state=int(rng.integers(2**32)))
    return found[0] if isinstance(found, tuple) else found
