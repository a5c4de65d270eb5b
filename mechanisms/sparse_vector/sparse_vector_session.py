"""The sparse vector technique as a session: the analyst chooses a query after each answer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._checks import require_positive
from ..model import Database, Interaction


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
