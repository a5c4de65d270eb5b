"""The sparse vector technique with numeric answers, and as a session.

Dwork and Roth (2014) call the first NumericSparse; it is Algorithm 7 of Lyu, Su and Li (2017). A
positive answer's value is noised afresh: the noisy value that was compared says too much about the
threshold. In a session the analyst chooses a query after each answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log

import numpy as np

from .._checks import require_number, require_positive, require_whole, sample_shape
from ..model import (
    Analyst,
    Array,
    Database,
    Domain,
    Histogram,
    Interaction,
    Mechanism,
    Output,
    Relation,
    Size,
    UtilityClaim,
    asked_mechanism,
)
from .above_threshold import (
    ABOVE,
    BoundComparison,
    bit_claims,
    compare,
    log_bits,
    log_transcripts,
    noise_scales,
    take,
)


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
    outputs: Output,
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
    bound: BoundComparison = {"queries": queries, "threshold": threshold, **scales}
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
LYU = "Lyu, Su and Li (2017), Theorem 4"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorState:
    """The data, the noisy threshold and how many positive answers are left."""

    data: Database
    limit: float
    left: int


def sparse_vector_interaction(
    *,
    threshold: float,
    sensitivity: float,
    threshold_epsilon: float,
    query_epsilon: float,
    positives: int = 1,
) -> Interaction:
    """Whether each query reaches the threshold, 1 or 0, until so many did.

    A query is a function of the data that neighbours move by at most `sensitivity`. The noisy
    threshold is drawn once, with scale sensitivity / threshold_epsilon; a query has noise of scale
    2 positives sensitivity / query_epsilon. The session loses at most the sum of the two
    epsilons, Lyu, Su and Li (2017), Algorithm 7. Raises ValueError on what is not positive.
    """
    require_positive(
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        positives=positives,
    )

    def start(database: Database, rng: np.random.Generator) -> SparseVectorState:
        limit = threshold + float(rng.laplace(scale=sensitivity / threshold_epsilon))
        return SparseVectorState(data=database, limit=limit, left=positives)

    scale = 2 * positives * sensitivity / query_epsilon
    return Interaction(
        start=start, answer=partial(_answer, scale=scale), over=lambda state: state.left == 0
    )


def _answer(
    state: SparseVectorState,
    query: Callable[[Database], float],
    rng: np.random.Generator,
    *,
    scale: float,
) -> tuple[SparseVectorState, int]:
    above = float(query(state.data)) + rng.laplace(scale=scale) >= state.limit
    return replace(state, left=state.left - int(above)), int(above)


def sparse_vector_density(
    data: Database,
    steps: Array,
    refused: int | None,
    *,
    queries: Sequence[Callable[[Database], float]],
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    positives: int,
) -> float:
    """Log-probability of one transcript of the session, by one integral.

    What was asked is known, and given the noise of the threshold the answers are independent.
    """
    margins = [float(queries[int(asked)](data)) - threshold for asked in steps[:, 0]]
    above = steps[:, 1] == 1
    number = int(above.sum())
    if number > positives or above[:-1].sum() == positives:
        return -inf
    if refused is not None and number < positives:
        return -inf
    reached = [margin for margin, one in zip(margins, above, strict=True) if one]
    missed = [margin for margin, one in zip(margins, above, strict=True) if not one]
    return log_bits(missed, reached, threshold_scale=threshold_scale, query_scale=query_scale)


def count_of(data: Database, *, place: int, unit: float) -> float:
    """The count of one bin, of which a record is worth `unit`."""
    return unit * float(data[place])


TURNS = Analyst(asks=(1, 0), moves=((0, 1), (1, 0)))
"""Asks one bin until its count is above, and then the other until that is."""


def sparse_vector_session_mechanism(
    *,
    threshold_epsilon: float,
    query_epsilon: float,
    positives: int,
    length: int = 6,
    threshold: float = 10.0,
    records: int = 20,
    sensitivity: float = 1.0,
    query_scale: float | None = None,
    name: str = "sparse-vector-session",
    identifier: str = "",
) -> Mechanism:
    """A session about two counts of `records` records, against every analyst of two states.

    A record counts `sensitivity`, and the threshold is in the same unit. The claim is
    threshold_epsilon + query_epsilon. The scale of the queries' noise follows unless it is given.
    """
    require_positive(
        threshold_epsilon=threshold_epsilon, query_epsilon=query_epsilon, sensitivity=sensitivity
    )
    require_whole(positives=positives, length=length, records=records)
    require_number(threshold=threshold)
    noise = 2 * positives * sensitivity
    scaled = noise / query_epsilon if query_scale is None else query_scale
    queries = tuple(partial(count_of, place=place, unit=sensitivity) for place in (0, 1))
    core = sparse_vector_interaction(
        threshold=threshold,
        sensitivity=sensitivity,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=noise / scaled,
        positives=positives,
    )
    half = records // 2
    # That the fuller bin stays below and the emptier one does not is unlikely and costs the most:
    # the more queries of the fuller one there are, the surer is the threshold high.
    missed = max(1, length - positives)
    last = Analyst.scripted(*(1,) * missed, *(0,) * (length - missed))
    found = [(1, 0)] * missed + [(0, 1)] * (length - missed)
    output = np.full((length, 2), np.nan)
    output[: len(found)] = found
    pairs = tuple(
        ([data, analyst.written()], [[data[0] - 1, data[1] + 1], analyst.written()])
        for data in ([half + 1, records - half - 1], [1, records - 1])
        for analyst in (last, TURNS)
    )
    return asked_mechanism(
        core,
        data=Histogram(bins=2, total=records),
        relation=Relation.REPLACE_ONE,
        queries=queries,
        epsilon=threshold_epsilon + query_epsilon,
        length=length,
        states=2,
        name=name,
        trust_rows=True,
        identifier=identifier,
        reference=LYU,
        examples=pairs,
        outputs=(output,),
        density=partial(
            sparse_vector_density,
            queries=queries,
            threshold=threshold,
            threshold_scale=sensitivity / threshold_epsilon,
            query_scale=scaled,
            positives=positives,
        ),
    )


SPARSE_VECTOR_SESSION = sparse_vector_session_mechanism(
    threshold_epsilon=0.5, query_epsilon=1.0, positives=3, identifier="SVT-SESSION"
)
