"""Sparse vectors that were published and are not private, after Lyu, Su and Li (2017).

Algorithms are numbered as there.
"""

from dataclasses import replace
from functools import partial
from math import inf
from typing import TypedDict, Unpack

from ..model import Histogram, NegativeControl, Relation
from .above_threshold import (
    SPARSE_VECTOR,
    BoundComparison,
    above_threshold,
    above_threshold_law,
    above_threshold_mechanism,
    noise_scales,
    take,
)
from .sparse_vector_variants import numeric_sparse_vector, sparse_vector_session_mechanism

# What `SPARSE_VECTOR` runs with; its three positives scale the noise of the queries to 6.
SOUND: BoundComparison = {
    "queries": partial(take, bins=(1, 1, 1, 0, 0, 0)),
    "threshold": 10.0,
    **noise_scales(sensitivity=1.0, threshold_epsilon=0.5, query_epsilon=1.0, positives=3),
}
NOISE_OF_ONE_QUERY = 1.0


class ChangedNoise(TypedDict, total=False):
    """What of a sound run is not as it should be."""

    threshold_scale: float
    query_scale: float
    positives: float


def _altered(
    name: str, identifier: str, defect: str, **changed: Unpack[ChangedNoise]
) -> NegativeControl:
    arguments: BoundComparison = {**SOUND, **changed}
    return NegativeControl(
        identifier=identifier,
        mechanism=replace(
            SPARSE_VECTOR,
            name=name,
            run=partial(above_threshold, **arguments),
            law=partial(above_threshold_law, **arguments),
        ),
        defect=defect,
    )


# A single record leaves the bin of the last query for that of the others.
_queries = partial(take, bins=(1, 1, 1, 1, 0))

_bits = above_threshold_mechanism(
    queries=_queries,
    length=5,
    threshold=1.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=2.0,
    relation=Relation.REPLACE_ONE,
    databases=Histogram(bins=2, total=1),
    name="sparse-vector-noisy-query-released",
)

NOISY_QUERY_RELEASED = NegativeControl(
    identifier="SVT-3",
    mechanism=replace(
        _bits,
        run=partial(
            numeric_sparse_vector,
            queries=_queries,
            threshold=1.0,
            threshold_scale=2.0,
            query_scale=1.0,
            answer_scale=None,
            positives=1,
        ),
        law=None,
    ),
    defect="the value compared is released, which bounds the noise of the threshold (Algorithm 3)",
)

UNSCALED_NOISE = _altered(
    "sparse-vector-unscaled-noise",
    "SVT-4",
    "the noise of the queries does not grow with the number of positives (Algorithm 4)",
    query_scale=NOISE_OF_ONE_QUERY,
)

UNNOISED_QUERIES = _altered(
    "sparse-vector-no-query-noise",
    "SVT-5",
    "only the threshold is noised, so the order of two queries is revealed (Algorithm 5)",
    query_scale=0.0,
)

NO_CUT_OFF = _altered(
    "sparse-vector-no-cut-off",
    "SVT-6",
    "the noise of one query for any number of positives (Algorithm 6)",
    query_scale=NOISE_OF_ONE_QUERY,
    positives=inf,
)

SESSION_UNSCALED = NegativeControl(
    identifier="SVT-SESSION-4",
    mechanism=sparse_vector_session_mechanism(
        threshold_epsilon=0.5,
        query_epsilon=1.0,
        positives=3,
        query_scale=2 * NOISE_OF_ONE_QUERY,
        name="sparse-vector-session-unscaled-noise",
    ),
    defect="the noise of a session's queries does not grow with the positives",
)
