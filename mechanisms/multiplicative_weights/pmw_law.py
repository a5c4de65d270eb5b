"""Exact law of private multiplicative weights: an integral for every outer iteration.

Given the transcript so far everything public is known, so the iterations are independent sparse
vectors of one positive answer each.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from ..model import Array, Database
from ..sparse_vector.sparse_vector_law import ABOVE, BELOW, HALTED, log_bits
from .pmw_updates import Queries, expected, replay, shares_of

ROUNDING = 1e-9
KEPT = 1 << 15
"""Iterations whose integral is remembered."""


def log_probability(
    database: Database,
    outputs: Any,
    *,
    queries: Queries,
    threshold: float,
    learning_rate: float,
    noise_epsilon: float,
    updates: int,
    compared_with_noise: bool = True,
) -> Array:
    """Log-density of transcripts (..., k, 2) of private multiplicative weights, in nats.

    The measure counts kinds and public answers and is Lebesgue on noisy answers; -inf for what
    no run can give. `compared_with_noise` is False for comparisons without noise of their own.
    """
    outputs = np.asarray(outputs, dtype=float)
    flat = outputs.reshape(-1, *outputs.shape[-2:])
    truth, records = shares_of(database)
    scale = 1 / (noise_epsilon * records)
    kinds, answers = flat[..., 0].astype(np.int64), flat[..., 1]
    margins = np.empty(kinds.shape)
    logs = np.zeros(len(flat))
    shares = replay(truth, flat, queries=queries, learning_rate=learning_rate)
    for step, (query, synthetic) in zip(range(kinds.shape[1]), shares, strict=False):
        estimate, exact = expected(query, synthetic), expected(query, truth)
        margins[:, step] = np.abs(exact - estimate) - threshold
        noise = np.abs(answers[:, step] - exact) / scale
        public = np.where(np.abs(answers[:, step] - estimate) <= ROUNDING, 0.0, -inf)
        answered = np.nan_to_num(-noise - np.log(2 * scale), nan=-inf)
        kind = kinds[:, step]
        logs += np.select(
            [kind == ABOVE, kind == BELOW, kind == HALTED], [answered, public, 0.0], -inf
        )
    rounded = np.concatenate([kinds, margins.round(12)], axis=1)
    patterns, inverse = np.unique(rounded, axis=0, return_inverse=True)
    iteration = partial(
        _iteration, threshold_scale=scale, query_scale=scale if compared_with_noise else 0.0
    )
    steps = kinds.shape[1]
    bits = [
        _log_run(pattern[:steps], pattern[steps:], iteration, updates)
        for pattern in patterns.tolist()
    ]
    return (logs + np.array(bits)[inverse.reshape(-1)]).reshape(outputs.shape[:-2])


@lru_cache(maxsize=KEPT)
def _iteration(
    below: tuple[float, ...],
    above: tuple[float, ...],
    *,
    threshold_scale: float,
    query_scale: float,
) -> float:
    """`log_bits`, kept: few iterations differ in bits and margins, whatever the transcripts."""
    return log_bits(below, above, threshold_scale=threshold_scale, query_scale=query_scale)


def _log_run(
    kinds: list[float],
    margins: list[float],
    iteration: Callable[..., float],
    updates: int,
) -> float:
    """Log-probability of a run's bits, given its margins gap - threshold.

    `iteration(below, above)` is that of one outer iteration with these margins.
    """
    tops = [place for place, kind in enumerate(kinds) if kind == ABOVE]
    end = tops[updates - 1] + 1 if len(tops) >= updates else len(kinds)
    after = len(kinds) - end
    if len(tops) > updates or HALTED in kinds[:end] or kinds.count(HALTED) != after:
        return -inf
    total = 0.0
    for start, stop in pairwise(sorted({0, end, *(top + 1 for top in tops)})):
        # An iteration ends with its only positive answer, or goes on to the end of the run.
        top = stop - 1 if kinds[stop - 1] == ABOVE else stop
        total += iteration(tuple(sorted(margins[start:top])), tuple(margins[top:stop]))
    return total
