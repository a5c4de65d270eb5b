"""Two-sided geometric mechanism, Ghosh, Roughgarden and Sundararajan (2012).

Also known as the discrete Laplace mechanism. Answers and noise are whole numbers, so that
nothing is rounded and the theorem holds on the computer for every event, up to the 53 random
bits behind each draw.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, exp, expm1, log
from typing import Any

import numpy as np

from .._checks import require_positive, sample_shape
from ..accounting.privacy_loss import compose_losses, discrete_laplace_loss
from ..model import (
    Array,
    Database,
    Domain,
    Interval,
    LossLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..queries import count
from .discrete_laplace import discrete_laplace_log_probability

ROUNDING = 1e-9
# Below this the noise no longer fits the 53 bits of a draw.
FLATTEST = 2.0**-40


def geometric(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
    size: Size = None,
) -> Array:
    """Answer `query` with two-sided geometric noise on each coordinate.

    The noise is k with probability (1 - r) / (1 + r) * r**|k|, where
    r = exp(-epsilon / sensitivity). `query` maps a database to a whole number or an array of
    them of shape s; neighbours move it by at most `sensitivity` in L1. `epsilon` is in nats.
    Returns whole numbers of shape `size` + s. Raises ValueError on a parameter out of range.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    if epsilon / sensitivity < FLATTEST:
        raise ValueError(
            f"epsilon / sensitivity must be at least 2**-40, got {epsilon / sensitivity}"
        )
    answer = np.asarray(query(database))
    if answer.dtype.kind not in "iu":
        raise ValueError(f"query must give whole numbers, got {answer.dtype}")
    # The difference of two one-sided geometric variables is two-sided geometric.
    stop = -expm1(-epsilon / sensitivity)
    up, down = rng.geometric(stop, size=(2, *sample_shape(size), *answer.shape))
    return answer + up - down


def geometric_log_probability(
    database: Database,
    outputs: Any,
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
) -> Array:
    """Log-probability of each of the `outputs` of `geometric`, which may have a leading shape."""
    answer = np.asarray(query(database))
    noise = np.asarray(outputs) - answer
    each = discrete_laplace_log_probability(noise, sensitivity / epsilon)
    return each.sum(axis=tuple(range(noise.ndim - answer.ndim, noise.ndim)))


def geometric_loss(
    database: Database,
    neighbour: Database,
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
) -> LossLaw:
    """Exact law of the privacy loss of `geometric`: a sum of independent ones of coordinates."""
    apart = np.ravel(np.asarray(query(database)) - np.asarray(query(neighbour)))
    return compose_losses(
        discrete_laplace_loss(shift, sensitivity / epsilon) for shift in apart.tolist() if shift
    )


def geometric_mechanism(
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
    relation: Relation,
    databases: Domain,
    name: str = "geometric",
    identifier: str = "",
) -> Mechanism:
    """`geometric` on a whole-number query, with what it is claimed to satisfy.

    The utility claim is the exact tail of the noise, P[|noise| >= t] = 2 r**t / (1 + r) for
    whole t. The exact laws of the output and of the privacy loss are known.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    ratio = exp(-epsilon / sensitivity)
    bound: dict[str, Any] = {"query": query, "sensitivity": sensitivity, "epsilon": epsilon}

    def error(database: Database, output: Output) -> Array:
        return np.abs(np.asarray(output) - query(database))

    def error_bound(beta: float) -> float:
        return sensitivity * log(2 / ((1 + ratio) * beta)) / epsilon

    # The noise is a whole number: at some levels the bound is one that it reaches, at others not.
    reached = [ceil(sensitivity * log(1 / beta) / epsilon) for beta in (0.01, 0.05, 0.5)]
    exact = tuple(2 * ratio**steps / (1 + ratio) * (1 + ROUNDING) for steps in reached)

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(geometric, **bound),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=relation,
                reference="Ghosh, Roughgarden and Sundararajan (2012)",
            ),
            UtilityClaim(
                loss=error,
                bound=error_bound,
                levels=(*exact, 0.5, 0.2, 0.1, 0.05, 0.01),
                reference="tail of the two-sided geometric law",
            ),
        ),
        reference="Ghosh, Roughgarden and Sundararajan (2012)",
        privacy_loss=partial(geometric_loss, **bound),
        log_probability=partial(geometric_log_probability, **bound),
    )


GEOMETRIC = geometric_mechanism(
    query=count,
    sensitivity=1,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=1, integer=True)),
)
