"""Sparse vectors that were published and are not private, after Lyu, Su and Li (2017)."""

from dataclasses import replace
from functools import partial
from math import inf

from ..above_threshold import SPARSE_VECTOR, above_threshold, above_threshold_law, take
from ..model import Histogram, Mechanism, NegativeControl, Neighbouring
from ..numeric_sparse_vector import numeric_sparse_vector_mechanism

__all__ = [
    "NOISY_QUERY_RELEASED",
    "NO_CUT_OFF",
    "NO_QUERY_NOISE",
    "UNSCALED_NOISE",
]

BELOWS = 12

# Sensitivity over the queries' epsilon of `SPARSE_VECTOR`, as if it were asked one query.
SCALE_OF_ONE = 1.0


def _altered(name: str, **changed: float) -> Mechanism:
    """`SPARSE_VECTOR` with some of its arguments changed, and the exact law that follows."""
    arguments = {**SPARSE_VECTOR.run.keywords, **changed}  # type: ignore[attr-defined]
    return replace(
        SPARSE_VECTOR,
        name=name,
        run=partial(above_threshold, **arguments),
        law=partial(above_threshold_law, **arguments),
    )


_many_below = numeric_sparse_vector_mechanism(
    queries=partial(take, bins=(1,) * BELOWS + (0,)),
    length=BELOWS + 1,
    threshold=10.0,
    sensitivity=1.0,
    threshold_epsilon=0.5,
    query_epsilon=1.0,
    answer_epsilon=0.5,
    neighbouring=Neighbouring.REPLACE_ONE,
    databases=Histogram(bins=2, total=20),
    name="sparse-vector-noisy-query-released",
)

_released = replace(
    _many_below, run=partial(_many_below.run, answer_scale=None), log_probability=None
)

NOISY_QUERY_RELEASED = NegativeControl(
    identifier="SVT-3",
    mechanism=_released,
    breaks=_released.claims[0],
    defect="the value compared is released: it bounds the threshold's noise (Algorithm 3)",
)

_unscaled = _altered(
    "sparse-vector-unscaled-noise",
    query_scale=SCALE_OF_ONE,
)

UNSCALED_NOISE = NegativeControl(
    identifier="SVT-4",
    mechanism=_unscaled,
    breaks=_unscaled.claims[0],
    defect="the queries' noise does not grow with the number of positives (Algorithm 4)",
)

_silent = _altered("sparse-vector-no-query-noise", query_scale=0.0)

NO_QUERY_NOISE = NegativeControl(
    identifier="SVT-5",
    mechanism=_silent,
    breaks=_silent.claims[0],
    defect="only the threshold is noised: two queries' order is revealed (Algorithm 5)",
)

_endless = _altered(
    "sparse-vector-no-cut-off",
    positives=inf,
    query_scale=SCALE_OF_ONE,
)

NO_CUT_OFF = NegativeControl(
    identifier="SVT-6",
    mechanism=_endless,
    breaks=_endless.claims[0],
    defect="any number of positives at the noise for one (Algorithm 6)",
)
