"""Randomized response: the honest one, and the leaky one that loses the most of all.

Randomized response, Warner (1965), is over k values as in Kairouz, Oh and Viswanath (2016), and its
privacy is local: a database is the single value that one person holds.

Every (epsilon, delta)-differentially private mechanism is, on a pair of neighbours, a function of
the output of leaky randomized response, and so is every composition of such mechanisms a function
of repeated responses: Kairouz, Oh and Viswanath (2015), Theorem 3.1. What a composition theorem
promises for all mechanisms it promises for this one, and what is true of this one is true of all.
"""

from collections.abc import Sequence
from functools import partial
from math import exp, expm1, inf, log1p

import numpy as np

from .._checks import label_array, require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import log_responses
from ..accounting.privacy_loss import loss_of
from ..model import (
    Array,
    Choices,
    Database,
    FiniteLaw,
    LossLaw,
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
    values: Sequence[object],
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
    database: Database, *, values: Sequence[object], epsilon: float
) -> FiniteLaw:
    """Exact law of `randomized_response`, the values in their order."""
    truth = _place(database, values, epsilon)
    honest = -log1p((len(values) - 1) * exp(-epsilon))
    logs = np.full(len(values), honest - epsilon)
    logs[truth] = honest
    return FiniteLaw(outcomes=label_array(values), log_probabilities=logs)


def _place(database: Database, values: Sequence[object], epsilon: float) -> int:
    require_positive(epsilon=epsilon)
    if database not in values:
        raise ValueError(f"the database must be one of {tuple(values)}, got {database!r}")
    return list(values).index(database)


def randomized_response_mechanism(
    *,
    values: tuple[object, ...],
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
REFERENCE = "Kairouz, Oh and Viswanath (2015)"


def leaky_response(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float = 0.0,
    rounds: int = 1,
    size: Size = None,
) -> Array:
    """Respond `rounds` times and tell how many answers are 1, or the truth if one leaks.

    `database` is 0 or 1. Each response is the truth, marked as such, with probability delta;
    else an answer, right with probability e^epsilon / (1 + e^epsilon). Counts keep all that the
    responses tell about the database. `epsilon` is in nats.
    Returns whole numbers of shape `size`: the number of answers 1, from 0 to `rounds`; or, if
    some response leaked, -1 where the database is 0 and `rounds` + 1 where it is 1. Raises
    ValueError on a parameter out of range.
    """
    _check(database, epsilon, delta, rounds)
    shape = sample_shape(size)
    leaks = rng.random(shape) < -expm1(rounds * log1p(-delta))
    right = rng.binomial(rounds, 1 / (1 + np.exp(-epsilon)), size=shape)
    ones, leak = (right, rounds + 1) if database else (rounds - right, -1)
    return np.where(leaks, leak, ones)[()]


def leaky_response_law(
    database: Database, *, epsilon: float, delta: float = 0.0, rounds: int = 1
) -> FiniteLaw:
    """Exact law of `leaky_response`, outcomes from -1 to `rounds` + 1 in order."""
    _check(database, epsilon, delta, rounds)
    kept = rounds * log1p(-delta)
    answers = kept + log_responses(epsilon, rounds)
    leak = np.log(-expm1(kept)) if delta else -inf
    # A database of 0 is that of 1 with all answers turned round.
    law = np.concatenate([[-inf], answers, [leak]])
    return FiniteLaw(
        outcomes=np.arange(-1, rounds + 2), log_probabilities=law if database else law[::-1]
    )


def leaky_response_mechanism(
    *,
    epsilon: float,
    delta: float = 0.0,
    rounds: int = 1,
    promised: tuple[float, float] | None = None,
    reference: str = REFERENCE,
    name: str = "leaky-response",
    identifier: str = "",
) -> Mechanism:
    """`leaky_response` at fixed parameters, with the privacy that a composition theorem promises.

    `promised` is the (epsilon, delta) of the whole that `reference` promises; None stands for
    basic composition, rounds * epsilon and rounds * delta.
    """
    _check(0, epsilon, delta, rounds)
    whole, slack = promised or (rounds * epsilon, rounds * delta)
    law = partial(leaky_response_law, epsilon=epsilon, delta=delta, rounds=rounds)

    def privacy_loss(database: Database, neighbour: Database) -> LossLaw:
        return loss_of(law(database), law(neighbour))

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(leaky_response, epsilon=epsilon, delta=delta, rounds=rounds),
        databases=Value(row=Choices(values=(0, 1))),
        claims=(
            PrivacyClaim(
                epsilon=whole,
                delta=slack,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=reference,
            ),
        ),
        reference=REFERENCE,
        law=law,
        privacy_loss=privacy_loss,
    )


def _check(database: Database, epsilon: float, delta: float, rounds: int) -> None:
    require_positive(epsilon=epsilon)
    require_whole(rounds=rounds)
    require_delta(delta=delta)
    if database not in (0, 1):
        raise ValueError(f"the database must be 0 or 1, got {database!r}")


LEAKY_RESPONSE = leaky_response_mechanism(epsilon=1.0, delta=0.05)
