"""Exponential mechanism, McSherry and Talwar (2007).

Theorem numbers follow Dwork and Roth (2014). The candidates are fixed before the data is seen.
"""

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from ._checks import require_positive, sample_shape
from .model import (
    Array,
    Choices,
    Database,
    Domain,
    Mechanism,
    Neighbouring,
    PrivacyClaim,
    Rows,
    Size,
    UtilityClaim,
)
from .queries import histogram

__all__ = [
    "EXPONENTIAL",
    "exponential",
    "exponential_mechanism",
    "log_probabilities",
    "probabilities",
]


def exponential(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    size: Size = None,
) -> Array:
    """Draw candidate r with probability proportional to exp(epsilon score_r / (2 sensitivity)).

    `score` maps a database to one number per candidate, shape (m,); no entry moves by more
    than `sensitivity` between neighbours. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    logits = _logits(score(database), sensitivity, epsilon)
    # The argmax of logits + Gumbel noise has exactly this law and exponentiates nothing, so
    # that scores far apart cannot overflow.
    noise = rng.gumbel(size=sample_shape(size) + logits.shape)
    return np.argmax(logits + noise, axis=-1)


def log_probabilities(scores: Array, *, sensitivity: float, epsilon: float) -> Array:
    """Log-probability of each candidate under the law of `exponential`.

    `scores` has the candidates along its last axis, and so has the answer, in nats.
    """
    logits = _logits(scores, sensitivity, epsilon)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def probabilities(scores: Array, *, sensitivity: float, epsilon: float) -> Array:
    """Probability of each candidate under the law of `exponential`; as `log_probabilities`."""
    return np.exp(log_probabilities(scores, sensitivity=sensitivity, epsilon=epsilon))


def exponential_mechanism(
    *,
    score: Callable[[Database], Array],
    candidates: int,
    sensitivity: float,
    epsilon: float,
    neighbouring: Neighbouring,
    databases: Domain,
    name: str = "exponential",
    identifier: str = "",
) -> Mechanism:
    """`exponential` at fixed parameters, with the theorems it is claimed to satisfy.

    `candidates` is the number of scores, `sensitivity` holds under `neighbouring`.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    unit = 2 * sensitivity / epsilon

    def regret(database: Database, output: Any) -> Array:
        scores = np.asarray(score(database))
        return scores.max() - scores[output]

    def regret_and_ties(database: Database, output: Any) -> Array:
        scores = np.asarray(score(database))
        best = np.count_nonzero(scores == scores.max())
        # With several best candidates the theorem promises less regret. Its bound depends on
        # the database, so that part is on the side of the loss.
        return regret(database, output) + unit * log(best)

    def regret_bound(beta: float) -> float:
        return unit * log(candidates / beta)

    book = "Dwork and Roth (2014)"
    return Mechanism(
        name=name,
        identifier=identifier,
        run=partial(exponential, score=score, sensitivity=sensitivity, epsilon=epsilon),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon, neighbouring=neighbouring, reference=f"{book}, Theorem 3.10"
            ),
            UtilityClaim(
                loss=regret_and_ties, bound=regret_bound, reference=f"{book}, Theorem 3.11"
            ),
            UtilityClaim(loss=regret, bound=regret_bound, reference=f"{book}, Corollary 3.12"),
        ),
        reference="McSherry and Talwar (2007)",
    )


def _logits(scores: Array, sensitivity: float, epsilon: float) -> Array:
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    return epsilon * np.asarray(scores, dtype=float) / (2 * sensitivity)


EXPONENTIAL = exponential_mechanism(
    score=partial(histogram, categories=3),
    candidates=3,
    sensitivity=1.0,
    epsilon=1.0,
    neighbouring=Neighbouring.REPLACE_ONE,
    databases=Rows(row=Choices(values=(0, 1, 2))),
    identifier="EM-3.10",
)
