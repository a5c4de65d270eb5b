"""The public side of private multiplicative weights: what follows from a transcript alone.

The distribution learns from released answers only, so a transcript and the queries determine it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..model import Array, Database
from ..queries import counts as histogram_counts
from ..sparse_vector.sparse_vector_law import ABOVE

Queries = Callable[[int, Array, Array], Array]
"""(step, synthetic, truth) -> 0/1 queries, shape (bins,) or (runs, bins)."""
Release = Callable[[Callable[[int], Array], Array, Array, Array, Array], Array]
"""(draw, top, exact, estimate, compared) -> answers, all of shape (runs,)."""
Direction = Callable[[Array, Array, Array], Array]
"""(answers, estimate, exact) -> +1 or -1, all of shape (runs,)."""
Update = Callable[[Array, Array, Array, float], Array]
"""(synthetic, query, direction, learning_rate) -> synthetic, shape (runs, bins)."""


def shares_of(database: Database) -> tuple[Array, float]:
    """The counts as a distribution, shape (bins,), and the number of records.

    Raises ValueError without records and on a count that is negative or no finite number.
    """
    counts = histogram_counts(database)
    records = float(counts.sum())
    if not records > 0:
        raise ValueError("database must have at least one record")
    return counts / records, records


def expected(query: Array, distribution: Array) -> Array:
    """Mean of the query under the distribution; (bins,) or (runs, bins) each, shape (runs,)."""
    # Not a dot product: what BLAS adds up in which order depends on the processor.
    return (query * distribution).sum(axis=-1)


def fresh_answers(
    draw: Callable[[int], Array], top: Array, exact: Array, estimate: Array, compared: Array
) -> Array:
    """The public estimate below the threshold, the exact answer with fresh noise above."""
    if not top.any():
        return estimate
    answers = estimate.copy()
    answers[top] = exact[top] + draw(int(np.count_nonzero(top)))
    return answers


def away_from_estimate(answers: Array, estimate: Array, exact: Array) -> Array:
    """Whether the released answer asks for more weight on the query, +1, or for less, -1."""
    return np.where(answers > estimate, 1.0, -1.0)


def multiplicative_update(
    synthetic: Array, query: Array, direction: Array, learning_rate: float
) -> Array:
    """Multiply the weights where the query is 1 by exp(+-learning_rate) and normalise."""
    weights = synthetic * np.exp(learning_rate * direction[:, None] * query)
    return weights / weights.sum(axis=-1, keepdims=True)


def kl_divergence(distribution: Array, other: Array) -> Array:
    """Relative entropy sum p ln(p / q) along the last axis, in nats, with 0 ln 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = distribution * np.log(distribution / other)
    return np.where(distribution > 0, terms, 0.0).sum(axis=-1)


def replay(
    truth: Array,
    transcripts: Array,
    *,
    queries: Queries,
    learning_rate: float,
    direction: Direction = away_from_estimate,
    update: Update = multiplicative_update,
) -> Iterator[tuple[Array, Array]]:
    """The query of every step and the distribution before it, from transcripts (runs, k, 2).

    Yields k pairs (query, synthetic); a last pair has the distribution at the end.
    """
    runs, length = transcripts.shape[:2]
    synthetic = np.full((runs, len(truth)), 1 / len(truth))
    query = np.zeros(len(truth))
    for step in range(length):
        query = queries(step, synthetic, truth)
        yield query, synthetic
        top = transcripts[:, step, 0] == ABOVE
        if not top.any():
            continue
        asked = query if query.ndim == 1 else query[top]
        estimate = expected(asked, synthetic[top])
        exact = np.full(estimate.shape, expected(asked, truth))
        turned = direction(transcripts[top, step, 1], estimate, exact)
        synthetic = synthetic.copy()
        synthetic[top] = update(synthetic[top], asked, turned, learning_rate)
    yield query, synthetic


def answer_errors(database: Database, transcripts: Any, **dynamics: Any) -> Array:
    """Distance of every answer from the exact one; NaN where the run had halted.

    `transcripts` has shape (..., k, 2), the result (..., k); `dynamics` are those of `replay`.
    """
    transcripts = np.asarray(transcripts, dtype=float)
    flat = transcripts.reshape(-1, *transcripts.shape[-2:])
    truth, _ = shares_of(database)
    errors = np.empty(flat.shape[:2])
    steps = replay(truth, flat, **dynamics)
    for step, (query, _) in zip(range(flat.shape[1]), steps, strict=False):
        errors[:, step] = np.abs(flat[:, step, 1] - expected(query, truth))
    return errors.reshape(transcripts.shape[:-1])


def potentials(database: Database, transcripts: Any, **dynamics: Any) -> Array:
    """KL divergence of the data from the public distribution before every query and at the end.

    `transcripts` has shape (..., k, 2), the result (..., k + 1), in nats.
    """
    transcripts = np.asarray(transcripts, dtype=float)
    flat = transcripts.reshape(-1, *transcripts.shape[-2:])
    truth, _ = shares_of(database)
    found = [kl_divergence(truth, synthetic) for _, synthetic in replay(truth, flat, **dynamics)]
    return np.stack(found, axis=-1).reshape(*transcripts.shape[:-2], -1)
