"""The sparse vector technique with numeric answers, Algorithm 7 of Lyu, Su and Li (2017).

Dwork and Roth (2014) call it NumericSparse. A positive answer's value is noised afresh: the
noisy value that was compared says too much about the threshold.
"""

from collections.abc import Callable
from functools import partial
from math import inf, log
from typing import Any

import numpy as np

from .._checks import require_number, require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Database,
    Domain,
    Histogram,
    Mechanism,
    Output,
    Relation,
    Size,
    UtilityClaim,
)
from .above_threshold import bit_claims, compare, noise_scales, take
from .sparse_vector_law import ABOVE, log_transcripts


def numeric_sparse_vector(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    answer_scale: float | None,
    positives: float,
    size: Size = None,
) -> Array:
    """`above_threshold` that also answers each query found above.

    The answer has fresh Laplace noise of `answer_scale`; None releases the very noisy value that
    was compared, which is not private.
    Returns floats of shape `size` + (k, 2): the kind (0 below, 1 above, 2 halted) and the answer,
    NaN unless above.
    """
    values = np.asarray(queries(database), dtype=float)
    kinds, compared = compare(
        values,
        rng,
        threshold=threshold,
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
        shape=sample_shape(size),
    )
    above = kinds == ABOVE
    answers = np.where(above, compared if answer_scale is None else values, np.nan)
    if answer_scale is not None:
        answers[above] += rng.laplace(scale=answer_scale, size=np.count_nonzero(above))
    return np.stack([kinds, answers], axis=-1)


def numeric_log_probability(
    database: Database,
    outputs: Any,
    *,
    queries: Callable[[Database], Array],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    answer_scale: float,
    positives: float,
) -> Array:
    """Log-density of `numeric_sparse_vector`'s outputs: bits by `log_transcripts`, answers Laplace.

    `outputs` has shape (..., k, 2) and the result the leading shape; -inf for a transcript that
    no run can give.
    """
    outputs = np.asarray(outputs, dtype=float)
    margins = np.asarray(queries(database), dtype=float) - threshold
    kinds = outputs[..., 0].astype(np.int64)
    seen, which = np.unique(kinds.reshape(-1, kinds.shape[-1]), axis=0, return_inverse=True)
    bits = log_transcripts(
        seen,
        margins.tolist(),
        threshold_scale=threshold_scale,
        query_scale=query_scale,
        positives=positives,
    )
    logs = bits[which.reshape(kinds.shape[:-1])]
    errors = np.abs(outputs[..., 1] - np.asarray(queries(database), dtype=float)) / answer_scale
    answered = np.where(kinds == ABOVE, -errors - log(2 * answer_scale), 0.0)
    return logs + np.nan_to_num(answered, nan=-inf).sum(axis=-1)


def numeric_sparse_vector_mechanism(
    *,
    queries: Callable[[Database], Array],
    length: int,
    threshold: float,
    sensitivity: float,
    threshold_epsilon: float,
    query_epsilon: float,
    answer_epsilon: float,
    relation: Relation,
    databases: Domain,
    positives: int = 1,
    name: str = "numeric-sparse-vector",
    identifier: str = "",
) -> Mechanism:
    """`numeric_sparse_vector` with answers of scale positives sensitivity / answer_epsilon.

    The rest as in `above_threshold_mechanism`; the loss is the sum of the three epsilons.
    """
    require_positive(answer_epsilon=answer_epsilon)
    require_whole(length=length, positives=positives)
    require_number(threshold=threshold)
    scales = noise_scales(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )
    bound: dict[str, Any] = {"queries": queries, "threshold": threshold, **scales}
    answer_scale = positives * sensitivity / answer_epsilon
    epsilon = threshold_epsilon + query_epsilon + answer_epsilon

    def answer_error(database: Database, output: Output) -> Array:
        errors = np.abs(np.asarray(output)[..., 1] - queries(database))
        return np.nan_to_num(errors, nan=0.0).max(axis=-1)

    bits = bit_claims(
        epsilon=epsilon,
        relation=relation,
        queries=queries,
        length=length,
        threshold=threshold,
        threshold_scale=scales["threshold_scale"],
        query_scale=scales["query_scale"],
    )
    answers = UtilityClaim(
        loss=answer_error,
        bound=lambda beta: answer_scale * log(positives / beta),
        reference="Dwork and Roth (2014), Theorem 3.28",
    )
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(numeric_sparse_vector, answer_scale=answer_scale, **bound),
        databases=databases,
        claims=(*bits, answers),
        reference="Lyu, Su and Li (2017), Algorithm 7",
        log_probability=partial(numeric_log_probability, answer_scale=answer_scale, **bound),
    )


NUMERIC_SPARSE_VECTOR = numeric_sparse_vector_mechanism(
    queries=partial(take, bins=(1, 1, 0, 0)),
    length=4,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.25,
    query_epsilon=0.5,
    answer_epsilon=1.25,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
    positives=2,
)
