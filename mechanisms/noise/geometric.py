"""Whole-number noise: an exact sampler of it, and the two-sided geometric mechanism.

The mechanism of Ghosh, Roughgarden and Sundararajan (2012) is also known as the discrete Laplace
mechanism. Answers and noise are whole numbers, so that nothing is rounded and the theorem holds on
the computer for every event, up to the 53 random bits behind each draw.

The sampler `discrete_laplace`, Canonne, Kamath and Steinke (2020), Algorithm 2, uses uniform whole
numbers and comparisons only: no logarithm is rounded, and no draw is limited to the 53 bits of a
float. What is left between it and its law is the quality of `rng`'s bits, which in numpy are made
for simulation, not for secrets.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, exp, expm1, log, log1p
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

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

WIDEST = 2**50
"""The largest scale of the noise; it leaves room in 64 bits for sums of noise and answers."""
CHUNK = 2**17
"""Draws made at a time: enough to share the cost of a call, and still in the cache."""


def discrete_laplace(rng: np.random.Generator, *, scale: int, size: Size = None) -> Array:
    """Draw whole numbers k with probability proportional to exp(-|k| / scale).

    `scale` is a whole number in [1, 2**50]. Returns whole numbers of shape `size`.
    """
    if scale != int(scale) or not 1 <= scale <= WIDEST:
        raise ValueError(f"scale must be a whole number in [1, 2**50], got {scale}")
    shape = sample_shape(size)
    noise = np.empty(shape, dtype=np.int64)
    flat, filled = noise.reshape(-1), 0
    while filled < flat.size:
        kept = _attempts(rng, int(scale), min(flat.size - filled, CHUNK))
        flat[filled : filled + kept.size] = kept
        filled += kept.size
    return noise[()]


def discrete_laplace_log_probability(noise: Array, scale: float) -> Array:
    """Log-probability of whole numbers under `discrete_laplace`, any shape and scale."""
    return log(-expm1(-1 / scale)) - log1p(exp(-1 / scale)) - np.abs(noise) / scale


def _attempts(rng: np.random.Generator, scale: int, count: int) -> Array:
    """What is left of `count` draws after rejection, some 0.6 of them, all independent."""
    remainder = rng.integers(scale, size=count)
    remainder = remainder[_decays(rng, remainder, scale)]
    magnitude = remainder + scale * _unit_geometric(rng, remainder.size)
    negative = rng.integers(2, size=magnitude.size, dtype=np.int8) == 1
    # Zero has one sign only, or it would be drawn twice as often as it should.
    return np.where(negative, -magnitude, magnitude)[(magnitude > 0) | ~negative]


def _decays(rng: np.random.Generator, numerators: Array, denominator: int) -> Array:
    """For each numerator, True with probability exp(-numerator / denominator), at most 1 each.

    The first k whose draw, true with probability numerator / (k denominator), is false is odd
    with exactly that probability.
    """
    alive = np.flatnonzero(rng.integers(denominator, size=numerators.size) < numerators)
    result = np.ones(numerators.size, dtype=bool)
    k = 1
    while alive.size:
        result[alive] = k % 2 == 0
        k += 1
        alive = alive[rng.integers(k * denominator, size=alive.size) < numerators[alive]]
    return result


def _unit_geometric(rng: np.random.Generator, count: int) -> Array:
    """Whole numbers v >= 0 with probability proportional to exp(-v)."""
    value = np.zeros(count, dtype=np.int64)
    alive = np.arange(count)
    while alive.size:
        alive = alive[_decays(rng, np.ones(alive.size, dtype=np.int64), 1)]
        value[alive] += 1
    return value


ROUNDING = 1e-9
"""Part of itself by which a bound that the noise reaches is raised, for it is a rounded number."""
FLATTEST = 2.0**-40
"""Epsilon over the sensitivity; below it the noise no longer fits the 53 bits of a draw."""


class BoundGeometric(TypedDict):
    """What `geometric` is bound to."""

    query: Callable[[Database], ArrayLike]
    sensitivity: float
    epsilon: float


def geometric(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], ArrayLike],
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
    outputs: Output,
    *,
    query: Callable[[Database], ArrayLike],
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
    query: Callable[[Database], ArrayLike],
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
    query: Callable[[Database], ArrayLike],
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
    bound: BoundGeometric = {"query": query, "sensitivity": sensitivity, "epsilon": epsilon}

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
