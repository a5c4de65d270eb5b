"""Randomized response, Warner (1965), over k values as in Kairouz, Oh and Viswanath (2016).

Local differential privacy: a database is the single value that one person holds.
"""

from collections.abc import Sequence
from functools import partial
from math import exp, log1p
from typing import Any

import numpy as np

from .._checks import label_array, require_positive, sample_shape
from ..model import (
    Array,
    Choices,
    Database,
    FiniteLaw,
    Mechanism,
    PrivacyClaim,
    Relation,
    Size,
    Value,
)


def randomized_response(
    database: Database,
    rng: np.random.Generator,
    *,
    values: Sequence[Any],
    epsilon: float,
    size: Size = None,
) -> Array:
    """Report the truth with probability e^epsilon / (e^epsilon + k - 1), else another value.

    `database` is one of the k different `values`; the others are reported with equal
    probability. `epsilon` is in nats.
    Returns values, an array of shape `size`. Raises ValueError when epsilon is not positive or
    the value is not among `values`.
    """
    truth = _place(database, values, epsilon)
    others = len(values) - 1
    shape = sample_shape(size)
    honest = rng.random(shape) < 1 / (1 + others * exp(-epsilon))
    lie = (truth + rng.integers(1, others, endpoint=True, size=shape)) % len(values)
    return label_array(values)[np.where(honest, truth, lie)]


def randomized_response_law(
    database: Database, *, values: Sequence[Any], epsilon: float
) -> FiniteLaw:
    """Exact law of `randomized_response`, the values in their order."""
    truth = _place(database, values, epsilon)
    honest = -log1p((len(values) - 1) * exp(-epsilon))
    logs = np.full(len(values), honest - epsilon)
    logs[truth] = honest
    return FiniteLaw(outcomes=label_array(values), log_probabilities=logs)


def _place(database: Database, values: Sequence[Any], epsilon: float) -> int:
    require_positive(epsilon=epsilon)
    if database not in values:
        raise ValueError(f"the database must be one of {tuple(values)}, got {database!r}")
    return list(values).index(database)


def randomized_response_mechanism(
    *,
    values: tuple[Any, ...],
    epsilon: float,
    name: str = "randomized-response",
    identifier: str = "",
) -> Mechanism:
    """`randomized_response` at fixed parameters, with its privacy claim and its exact law.

    Raises ValueError when there are fewer than two values.
    """
    require_positive(epsilon=epsilon)
    if len(values) < 2:
        raise ValueError(f"values must be at least two, got {values}")
    reference = "Kairouz, Oh and Viswanath (2016)"
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(randomized_response, values=values, epsilon=epsilon),
        databases=Value(row=Choices(values=values)),
        claims=(PrivacyClaim(epsilon=epsilon, relation=Relation.REPLACE_ONE, reference=reference),),
        reference=reference,
        law=partial(randomized_response_law, values=values, epsilon=epsilon),
    )


RANDOMIZED_RESPONSE = randomized_response_mechanism(values=("no", "unsure", "yes"), epsilon=1.0)
