"""Exact law of private multiplicative weights: an integral for every outer iteration.

Given the transcript so far everything public is known, so the iterations are independent sparse
vectors of one positive answer each.
"""

from collections.abc import Callable
from functools import lru_cache, partial
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
    iteration = partial(
        _iteration, threshold_scale=scale, query_scale=scale if compared_with_noise else 0.0
    )
    bits = _log_bits_of_runs(kinds, margins.round(12), iteration, updates)
    return (logs + bits).reshape(outputs.shape[:-2])


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


def _log_bits_of_runs(
    kinds: Array, margins: Array, iteration: Callable[..., float], updates: int
) -> Array:
    """Log-probabilities of the kinds of runs (runs, k), given their margins gap - threshold.

    `iteration(below, above)` is that of one outer iteration with these margins; it is asked once
    for all iterations alike. -inf for runs that halt too early or too late.
    """
    runs, steps = kinds.shape
    logs, used = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    # Runs with the same number have had the same margins since their iterations `began`.
    began, since = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.int64)
    values, codes = np.unique(margins, return_inverse=True)
    codes = codes.reshape(margins.shape)
    for step in range(steps):
        kind, going = kinds[:, step], used < updates
        logs[(kind == HALTED) == going] = -inf
        top = going & (kind == ABOVE)
        since = np.unique(since * len(values) + codes[:, step], return_inverse=True)[1]
        # An iteration ends with its only positive answer, or goes on to the end of the run.
        ended = np.flatnonzero((top | (step == steps - 1)) & going & np.isfinite(logs))
        _, first, alike = np.unique(
            2 * since[ended] + top[ended], return_index=True, return_inverse=True
        )
        found = []
        for run in ended[first].tolist():
            asked = margins[run, began[run] : step + 1].tolist()
            last = len(asked) - int(top[run])
            found.append(iteration(tuple(sorted(asked[:last])), tuple(asked[last:])))
        logs[ended] += np.array(found)[alike] if found else 0.0
        used += kind == ABOVE
        began[top] = step + 1
        since = np.where(top, 0, since + 1)
    return logs
