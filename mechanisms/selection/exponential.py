"""Exponential mechanism, McSherry and Talwar (2007).

Theorem numbers follow Dwork and Roth (2014). The candidates are fixed before the data is seen.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from .._checks import require_positive, sample_shape
from ..model import (
    Array,
    Choices,
    ConcentratedCurve,
    Database,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
)
from ..queries import revenue
from .categorical import normalised
from .selection import Selection, by_occurrences, scaled_scores

BOOK = "Dwork and Roth (2014)"


def exponential(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Draw candidate r with probability proportional to exp(epsilon score_r / (2 sensitivity)).

    `score` maps a database to one number per candidate, shape (m,); no entry moves by more
    than `sensitivity` between neighbours. With `monotone` scores, which adding a record never
    lowers, the factor 2 is left out; add-remove only. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    logits = scaled_scores(
        score(database), sensitivity=sensitivity, epsilon=epsilon, monotone=monotone
    )
    # The argmax of logits + Gumbel noise has exactly this law and exponentiates nothing, so
    # that scores far apart cannot overflow.
    noise = rng.gumbel(size=sample_shape(size) + logits.shape)
    return np.argmax(logits + noise, axis=-1)


def log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `exponential`.

    `scores` has the candidates along its last axis, and so has the answer, in nats.
    """
    logits = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    return normalised(logits)


def probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Probability of each candidate under the law of `exponential`; as `log_probabilities`."""
    return np.exp(
        log_probabilities(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    )


def exponential_by_weights(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    weigh: Callable[..., Array] = probabilities,
    size: Size = None,
) -> Array:
    """`exponential` as it is defined: one uniform number falls into the share of a candidate.

    `weigh(scores, *, sensitivity, epsilon, monotone)` gives the shares; the other parameters,
    the indices of shape `size` and the errors are those of `exponential`.
    """
    shares = weigh(score(database), sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    drawn = np.searchsorted(np.cumsum(shares), rng.random(sample_shape(size)), side="right")
    # By rounding the shares may add up to a little less than 1.
    return np.minimum(drawn, shares.size - 1)


def exponential_mechanism(
    problem: Selection, *, epsilon: float, name: str = "exponential", identifier: str = ""
) -> Mechanism:
    """`exponential` on one selection problem, with the theorems it is claimed to satisfy.

    Its loss stays in an interval of length epsilon, so that its rho is epsilon^2 / 8, a quarter of
    what epsilon alone promises. `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    require_positive(epsilon=epsilon)
    return problem.mechanism(
        exponential,
        log_probabilities,
        problem.regret_claim(epsilon, reference=f"{BOOK}, Theorem 3.11", ties=True),
        problem.regret_claim(epsilon, reference=f"{BOOK}, Corollary 3.12"),
        PrivacyClaim.of_curve(
            ConcentratedCurve(epsilon**2 / 8),
            problem.relation,
            statement="the exponential mechanism is (epsilon^2 / 8)-zCDP",
            reference="Cesar and Rogers (2021), Lemma 3.4",
        ),
        epsilon=epsilon,
        proof=f"{BOOK}, Theorem 3.10" + (", for monotone scores" if problem.monotone else ""),
        name=name,
        identifier=identifier,
        reference="McSherry and Talwar (2007)",
    )


EXPONENTIAL = exponential_mechanism(
    by_occurrences(3, relation=Relation.REPLACE_ONE), epsilon=1.0, identifier="EM-3.10"
)

MONOTONE_EXPONENTIAL = exponential_mechanism(
    by_occurrences(4, monotone=True),
    epsilon=1.0,
    name="exponential-monotone",
    identifier="EM-MONO",
)

PRICES = (1.0, 2.0, 3.0, 3.01, 3.02)

AUCTION = exponential_mechanism(
    Selection(
        score=partial(revenue, prices=PRICES),
        candidates=5,
        sensitivity=3.02,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Choices(values=PRICES), max_size=12),
    ),
    epsilon=1.0,
    name="exponential-auction",
    identifier="EM-3.5",
)
