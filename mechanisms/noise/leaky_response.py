"""Leaky randomized response: of all (epsilon, delta) mechanisms the one that loses the most.

Every (epsilon, delta)-differentially private mechanism is, on a pair of neighbours, a function of
its output, and so is every composition of such mechanisms a function of repeated responses:
Kairouz, Oh and Viswanath (2015), Theorem 3.1. What a composition theorem promises for all
mechanisms it promises for this one, and what is true of this one is true of all.
"""

from functools import partial
from math import expm1, inf, log1p

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
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
