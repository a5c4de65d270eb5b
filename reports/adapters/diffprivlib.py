"""diffprivlib mechanisms: the claim from `.epsilon` and `.delta`, the seed through random_state."""

from functools import partial
from typing import Any

import numpy as np

from ...auditors.errors import InvalidArgument
from ...mechanisms.model import Mechanism, PrivacyClaim, Relation


def from_mechanism(mechanism: Any, name: str) -> Mechanism:
    """The mechanism on one value, with its own epsilon and delta.

    A database is the value that `randomise` takes; neighbours are values at most its sensitivity
    apart. Each draw is of a copy seeded from the generator. Raises InvalidArgument for an object
    that has no `randomise`.
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
                relation=Relation.REPLACE_ONE,
                reference=f"diffprivlib, {type(mechanism).__name__}.epsilon",
            ),
        ),
    )


def _drawn(mechanism: Any, database: Any, rng: np.random.Generator) -> Any:
    from copy import copy

    from diffprivlib.utils import check_random_state

    fresh = copy(mechanism)
    fresh._rng = check_random_state(int(rng.integers(2**32)), True)
    return fresh.randomise(database)
