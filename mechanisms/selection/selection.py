"""What mechanisms that select one of finitely many candidates share: noise, regret, claims.

The candidates are fixed before the data is seen, a score says how good each is on a database,
and only the index of the one selected is released.
"""

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from .._checks import require_positive
from ..model import (
    Array,
    Claim,
    Database,
    Domain,
    FiniteLaw,
    Interval,
    Mechanism,
    PrivacyClaim,
    Product,
    Relation,
    Rows,
    UtilityClaim,
)


def noise_scale(*, sensitivity: float, epsilon: float, monotone: bool = False) -> float:
    """Scale of the noise on scores, 2 sensitivity / epsilon, and half of it when `monotone`.

    Scores are monotone when adding a record never lowers one of them. The saving is for
    add-remove only. Raises ValueError on a parameter that is not positive.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    return (1 if monotone else 2) * sensitivity / epsilon


def scaled_scores(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Scores in units of `noise_scale`, as floats of the same shape."""
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return np.asarray(scores, dtype=float) / scale


def regret(database: Database, output: Any, *, score: Callable[[Database], Array]) -> Array:
    """How far the scores of the selected candidates lie below the best one."""
    scores = np.asarray(score(database))
    return scores.max() - scores[output]


def regret_claim(
    *,
    score: Callable[[Database], Array],
    scale: float,
    candidates: int,
    ties: bool = False,
    **described: Any,
) -> UtilityClaim:
    """P[regret >= scale ln(candidates / beta)] <= beta; with `ties` candidates / best candidates.

    `described` are other fields of the claim.
    """

    def loss(database: Database, output: Any) -> Array:
        scores = np.asarray(score(database))
        best = np.count_nonzero(scores == scores.max()) if ties else 1
        # The number of best candidates depends on the database, so the gain from it is on the
        # side of the loss.
        return regret(database, output, score=score) + scale * log(best)

    def bound(beta: float) -> float:
        return scale * log(candidates / beta)

    return UtilityClaim(loss=loss, bound=bound, **described)


def candidate_law(
    database: Database,
    *,
    score: Callable[[Database], Array],
    log_probabilities: Callable[..., Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
) -> FiniteLaw:
    """Exact law of the index that a mechanism selects.

    `log_probabilities(scores, *, sensitivity, epsilon, monotone)` gives one per candidate.
    """
    scores = np.asarray(score(database), dtype=float)
    logs = log_probabilities(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return FiniteLaw(outcomes=np.arange(scores.size), log_probabilities=logs)


def selection_mechanism(
    *,
    select: Callable[..., Any],
    log_probabilities: Callable[..., Array],
    utility: tuple[Claim, ...],
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool,
    relation: Relation,
    databases: Domain,
    privacy_reference: str,
    **described: Any,
) -> Mechanism:
    """`select` at fixed parameters, with its law, `epsilon` of privacy and claims of `utility`.

    `described` are other fields of the mechanism. Raises ValueError on a parameter that is not
    positive and when monotone scores are to save the factor 2 under replace-one.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    if monotone and relation is not Relation.ADD_REMOVE:
        raise ValueError(f"monotone must be False under {relation.value}, got True")
    bound: dict[str, Any] = {"score": score, "sensitivity": sensitivity, "epsilon": epsilon}
    if monotone:
        bound["monotone"] = True
    return Mechanism(
        run=partial(select, **bound),
        law=partial(candidate_law, log_probabilities=log_probabilities, **bound),
        databases=databases,
        claims=(
            PrivacyClaim(epsilon=epsilon, relation=relation, reference=privacy_reference),
            *utility,
        ),
        **described,
    )


def voters(*, candidates: int, least_vote: float) -> Rows:
    """Databases of a few voters who give every candidate a whole score, `least_vote` to 1.

    Votes from 0 make totals that are monotone; with votes from -1 one voter can lower any
    candidates and raise the others at once.
    """
    vote = Interval(low=least_vote, high=1, integer=True)
    return Rows(row=Product(parts=(vote,) * candidates), most=6)
