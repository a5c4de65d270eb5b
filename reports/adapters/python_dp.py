"""python-dp: numerical mechanisms and bounded algorithms, with their own epsilon and delta."""

from functools import partial
from typing import Any

import numpy as np

from ...auditors.errors import InvalidArgument
from ...mechanisms.model import Mechanism, PrivacyClaim, Relation


def from_object(found: Any, name: str) -> Mechanism:
    """A mechanism with `add_noise` on one value, or an algorithm with `quick_result` on a list.

    Neighbours of the first are values at most the sensitivity apart, given as a pair. python-dp
    draws from the operating system. Raises InvalidArgument for any other object.
    """
    if callable(getattr(found, "add_noise", None)):
        run, relation = partial(_noised, found), Relation.DECLARED
    elif callable(getattr(found, "quick_result", None)):
        run, relation = partial(_computed, found), Relation.ADD_REMOVE
    else:
        raise InvalidArgument(
            f"{name} is a {type(found).__name__} of python-dp; expected one with add_noise or "
            "quick_result"
        )
    return Mechanism(
        name=name,
        run=run,
        seeded=False,
        reference=f"python-dp {type(found).__name__}",
        claims=(
            PrivacyClaim(
                epsilon=float(found.epsilon),
                delta=float(getattr(found, "delta", 0.0) or 0.0),
                relation=relation,
                reference=f"python-dp, {type(found).__name__}.epsilon",
            ),
        ),
    )


def _noised(found: Any, database: Any, rng: np.random.Generator) -> Any:
    return found.add_noise(database)


def _computed(found: Any, database: Any, rng: np.random.Generator) -> Any:
    # An algorithm spends its budget with each result; quick_result starts it afresh.
    return found.quick_result(list(database))
