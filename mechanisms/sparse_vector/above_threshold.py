"""AboveThreshold and the sparse vector technique, Dwork and Roth (2014), section 3.6.

Stated as Algorithm 7 of Lyu, Su and Li (2017), which keeps one noisy threshold for up to a number
of positive answers and shares the privacy budget out freely; AboveThreshold is the case of one.
"""

from collections.abc import Callable
from functools import partial
from math import log, prod
from typing import Any

import numpy as np

from .._checks import require_number, require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Claim,
    Database,
    Domain,
    FiniteLaw,
    Histogram,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from .sparse_vector_law import ABOVE, BELOW, HALTED, log_transcripts, transcripts


def above_threshold(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
    size: Size = None,
) -> Array:
    """Say of each query whether it reaches the threshold, with noise on both, until enough did.

    `queries` maps a database to k numbers. The threshold gets Laplace noise of `threshold_scale`
    once, every query its own of `query_scale`; the run ends with the `positives`-th ABOVE
    (inf: never). A scale of 0 means no noise.
    Returns whole numbers of shape `size` + (k,): 0 below, 1 above, 2 halted.
    """
    kinds, _ = compare(
        np.asarray(queries(database), dtype=float),
        rng,
        threshold=threshold,
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
        shape=sample_shape(size),
    )
    return kinds


def compare(
    values: Array,
    rng: np.random.Generator,
    *,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
    shape: tuple[int, ...],
) -> tuple[Array, Array]:
    """Compare k values with a noisy threshold in many runs side by side.

    Returns the kinds and the noisy values compared (NaN once halted), each `shape` + (k,).
    """
    runs = prod(shape)
    kinds = np.full((len(values), runs), HALTED)
    compared = np.full((len(values), runs), np.nan)
    limit = threshold + rng.laplace(scale=threshold_scale, size=runs)
    left = np.full(runs, float(positives))
    alive = np.arange(runs)
    for step, value in enumerate(values):
        # A run that has ended costs no more noise.
        noisy = value + rng.laplace(scale=query_scale, size=alive.size)
        above = noisy >= limit[alive]
        kinds[step, alive] = above
        compared[step, alive] = noisy
        left[alive] -= above
        alive = alive[left[alive] > 0]
    whole = (*shape, len(values))
    return kinds.T.reshape(whole), compared.T.reshape(whole)


def above_threshold_law(
    database: Database,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: float,
) -> FiniteLaw:
    """Exact law of `above_threshold`, one integral for each possible transcript.

    Raises NotListable where there are too many of them.
    """
    margins = np.asarray(queries(database), dtype=float) - threshold
    outcomes = transcripts(len(margins), positives)
    logs = log_transcripts(
        outcomes,
        margins.tolist(),
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
    )
    return FiniteLaw(outcomes=outcomes, log_probabilities=logs)


def above_threshold_mechanism(
    *,
    queries: Callable[[Database], Array],
    length: int,
    threshold: float,
    sensitivity: float,
    threshold_epsilon: float,
    query_epsilon: float,
    relation: Relation,
    databases: Domain,
    positives: int = 1,
    name: str = "above-threshold",
    identifier: str = "",
) -> Mechanism:
    """`above_threshold` with noise of scale sensitivity / threshold_epsilon on the threshold.

    The noise of the queries has scale 2 positives sensitivity / query_epsilon, and the whole run
    loses at most threshold_epsilon + query_epsilon nats. `length` is the number of queries, each
    of which moves by at most `sensitivity` under `relation`.
    """
    require_whole(length=length, positives=positives)
    require_number(threshold=threshold)
    scales = noise_scales(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )
    bound: dict[str, Any] = {"queries": queries, "threshold": threshold, **scales}
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(above_threshold, **bound),
        databases=databases,
        claims=bit_claims(
            epsilon=threshold_epsilon + query_epsilon,
            relation=relation,
            queries=queries,
            length=length,
            threshold=threshold,
            threshold_scale=scales["threshold_scale"],
            query_scale=scales["query_scale"],
        ),
        reference="Dwork and Roth (2014), Algorithm 1; Lyu, Su and Li (2017), Algorithm 7",
        law=partial(above_threshold_law, **bound),
    )


def noise_scales(
    *, sensitivity: float, threshold_epsilon: float, query_epsilon: float, positives: float
) -> dict[str, float]:
    """The arguments of `above_threshold` that make it threshold_epsilon + query_epsilon private."""
    require_positive(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )
    return {
        "threshold_scale": sensitivity / threshold_epsilon,
        "query_scale": 2 * positives * sensitivity / query_epsilon,
        "positives": positives,
    }


def bit_claims(
    *,
    epsilon: float,
    relation: Relation,
    queries: Callable[[Database], Array],
    length: int,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
) -> tuple[Claim, ...]:
    """What a sparse vector promises of its privacy and of its bits.

    The loss of the utility claim is how far the worst answered query lies on the wrong side of
    the threshold; outputs are kinds, or pairs that begin with one.
    """

    def wrong_side(database: Database, output: Output) -> Array:
        margins = np.asarray(queries(database), dtype=float) - threshold
        kinds = np.asarray(output)
        kinds = kinds[..., 0] if kinds.dtype.kind == "f" else kinds
        wrong = np.where(kinds == BELOW, margins, np.where(kinds == ABOVE, -margins, 0.0))
        return wrong.max(axis=-1, initial=0.0)

    def bound(beta: float) -> float:
        return threshold_scale * log(2 / beta) + query_scale * log(2 * length / beta)

    book = "Dwork and Roth (2014)"
    return (
        PrivacyClaim(
            epsilon=epsilon,
            relation=relation,
            statement="the noisy threshold and the noisy comparisons share the loss",
            reference=f"{book}, Theorem 3.23; Lyu, Su and Li (2017), Theorem 4",
        ),
        UtilityClaim(
            loss=wrong_side,
            bound=bound,
            statement="no answered query lies far on the wrong side of the threshold",
            reference=f"{book}, Theorem 3.24",
        ),
    )


def take(database: Database, *, bins: tuple[int, ...]) -> Array:
    """The counts of the named bins, in order: floats of shape (len(bins),), sensitivity 1."""
    return np.asarray(database, dtype=float)[list(bins)]


# The counts of a bin that a record leaves, then of the one it enters: both noises are needed.
ABOVE_THRESHOLD = above_threshold_mechanism(
    queries=partial(take, bins=(1, 1, 1, 1, 1, 0)),
    length=6,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=0.5,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
)

SPARSE_VECTOR = above_threshold_mechanism(
    queries=partial(take, bins=(1, 1, 1, 0, 0, 0)),
    length=6,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=1.0,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
    positives=3,
    name="sparse-vector",
)
