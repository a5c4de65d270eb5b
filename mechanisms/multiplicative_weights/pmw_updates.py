"""The public side of private multiplicative weights, and how likely noise spoils an update.

The distribution learns from released answers only, so a transcript and the queries determine it.

How likely the noise spoils what the proof needs: with b the scale of the noises, `distance` is
accuracy / (4 b), called x. The difference of two noises exceeds accuracy / 4 with probability
p = (2 + x) exp(-x) / 4.

- An update at a gap below accuracy / 4 needs that of a query's noise and the threshold's. Whoever
  asks, and whatever was answered, a threshold that has not been reached yet is more likely to be
  high than one just drawn, and the query's noise is fresh: the probability is at most p for each
  query, k p in all.
- A public answer errs by more than 3 accuracy / 4 only if a threshold exceeds the noise of such a
  query by accuracy / 4. The first such query that a threshold meets decides: either the threshold
  overlooks it, which is the failure, or it is spent. When that query comes depends on what was
  answered, but its noise is fresh, so that the two noises are that far apart, the threshold not
  yet spent, with probability p at most: min(c, k) p for all thresholds.
- An update at a gap of accuracy / 4 or more goes the wrong way only if the answer's noise passes
  accuracy / 4 on one side: probability exp(-x) / 2. An answer by the data errs by more than
  3 accuracy / 4 with probability exp(-3 x).
- At a gap of accuracy / 4 or more an update the right way lowers the potential by
  15 accuracy^2 / 512 (PMW-KL-3S).
"""

from collections.abc import Callable, Iterator
from math import exp
from typing import Required, TypedDict, Unpack

import numpy as np

from ..model import Array, Database, Output
from ..queries import shares_of
from ..sparse_vector.above_threshold import ABOVE

Queries = Callable[[int, Array, Array], Array]
"""(step, synthetic, truth) -> 0/1 queries, shape (bins,) or (runs, bins)."""
Release = Callable[[Callable[[int], Array], Array, Array, Array, Array], Array]
"""(draw, top, exact, estimate, compared) -> answers, all of shape (runs,)."""
Direction = Callable[[Array, Array, Array], Array]
"""(answers, estimate, exact) -> +1 or -1, all of shape (runs,)."""
Update = Callable[[Array, Array, Array, float], Array]
"""(synthetic, query, direction, learning_rate) -> synthetic, shape (runs, bins)."""


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


class Dynamics(TypedDict, total=False):
    """What decides how the public distribution moves: the arguments of `replay` by name."""

    queries: Required[Queries]
    learning_rate: Required[float]
    direction: Direction
    update: Update


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


def answer_errors(database: Database, transcripts: Output, **dynamics: Unpack[Dynamics]) -> Array:
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


def potentials(database: Database, transcripts: Output, **dynamics: Unpack[Dynamics]) -> Array:
    """KL divergence of the data from the public distribution before every query and at the end.

    `transcripts` has shape (..., k, 2), the result (..., k + 1), in nats.
    """
    transcripts = np.asarray(transcripts, dtype=float)
    flat = transcripts.reshape(-1, *transcripts.shape[-2:])
    truth, _ = shares_of(database)
    found = [kl_divergence(truth, synthetic) for _, synthetic in replay(truth, flat, **dynamics)]
    return np.stack(found, axis=-1).reshape(*transcripts.shape[:-2], -1)


DROP = 15 / 512
"""Of accuracy^2: what an update at a gap of accuracy / 4 lowers the potential by, at least."""
ROUNDING = 1e-12
"""Part of itself by which a sum of rounded terms may pass its bound."""


def _apart(distance: float) -> float:
    """That one noise exceeds another by more than accuracy / 4."""
    return (2 + distance) * exp(-distance) / 4


def little_update(length: int, updates: int, distance: float) -> float:
    """A bound on the chance that an update of the run lowers the potential by too little."""
    return length * _apart(distance) + updates * exp(-distance) / 2


def large_error(length: int, updates: int, distance: float) -> float:
    """A bound on the chance that an answer of the run errs by more than 3 accuracy / 4."""
    thresholds = min(length, updates)
    return thresholds * (_apart(distance) + exp(-3 * distance))


def excess_error(length: int, updates: int, distance: float, margin: float) -> float:
    """A bound on the chance that an answer errs by more than the threshold and `distance` noises.

    The threshold is `margin` noises itself, so that an answer by the data needs both.
    """
    return min(length, updates) * (_apart(distance) + exp(-margin - distance))


def cost_of_updates(
    database: Database, output: Output, **dynamics: Unpack[Dynamics]
) -> tuple[Array, Array]:
    """Of each run the updates, bool (..., k), and what each step lowered the potential by.

    `dynamics` are those of `replay`.
    """
    potential = potentials(database, output, **dynamics)
    return np.asarray(output)[..., 0] == ABOVE, potential[..., :-1] - potential[..., 1:]


def per_nat(updates: Array, lowered: Array) -> Array:
    """Return updates / lowered, infinite where updates have lowered nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(lowered > 0, updates / lowered, np.inf)
    return np.where(updates > 0, rate, 0.0)
