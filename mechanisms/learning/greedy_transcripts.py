"""Transcripts of the greedy learner of conjunctions: scores, what is left, and exact laws.

A transcript is the list of chosen literals, numbered as in `conjunction_class` with TRUE last.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from ..model import Array, Database, FiniteLaw
from ..selection.exponential import log_probabilities
from .conjunction_class import (
    conjoined,
    cube_dimension,
    falsified_sums,
    kept_literals,
    literals,
    literals_at,
)
from .labelled import grid_points, labelled_points, mistakes, packed_rows

Sums = Callable[[Array], Array]
"""Weights (sets, m) to their sums over what makes each literal false, (sets, k)."""


def literal_scores(alive: Array, counts: Array, sums: Sums, most_literals: int) -> Array:
    """Score of every literal on the rows left, for several sets of them.

    `alive` of shape (sets, m) says which of m points are left, `counts` has shape (m, 2) and `sums`
    are the `falsified_sums` of the k literals. Returns floats of shape (sets, k), at most 0; 0 is
    reached when a conjunction of at most `most_literals` fits.
    """
    negatives, positives = alive * counts[:, 0], alive * counts[:, 1]
    share = negatives.sum(axis=1, keepdims=True) / most_literals
    return np.minimum(sums(negatives) - share, -sums(positives))


def all_alive(counts: Array, runs: int) -> tuple[Array, Array]:
    """The one set of all points, and its number for each run."""
    return np.ones((1, len(counts)), dtype=bool), np.zeros(runs, dtype=np.int64)


def remove_falsified(
    alive: Array, group: Array, chosen: Array, survivors: Array
) -> tuple[Array, Array]:
    """The sets of points left after each run's choice, and which of them each run has."""
    keys = group * len(survivors) + chosen
    occurs = np.bincount(keys, minlength=len(alive) * len(survivors)) > 0
    before, literal = np.divmod(np.flatnonzero(occurs), len(survivors))
    left = alive[before] & survivors[literal]
    _, first, place = np.unique(packed_rows(left), return_index=True, return_inverse=True)
    renumbered = np.zeros(len(occurs), dtype=np.int64)
    renumbered[occurs] = place
    return left[first], renumbered[keys]


def _replay(
    counts: Array, table: Array, chosen: Array, most_literals: int
) -> Iterator[tuple[Array, Array]]:
    """For each round of given transcripts (runs, rounds): all scores, and the one chosen.

    A point is left if no literal chosen before is false on it: this shares no step with the
    learner, so that one who removes other points, or none, is found out by the law.
    """
    sums = falsified_sums(table)
    left = np.ones((len(chosen), len(counts)), dtype=bool)
    for choice in chosen.T:
        _, first, place = np.unique(packed_rows(left), return_index=True, return_inverse=True)
        yield literal_scores(left[first], counts, sums, most_literals)[np.ravel(place)], choice
        left &= table[choice]


def worst_shortfall(
    counts: Array, chosen: Array, *, most_literals: int, table: Array | None = None
) -> Array:
    """How far below 0 the worst score of a chosen literal is; shape of the leading axes.

    `table` are the literals at the points that `counts` counts, by default all of the cube.
    """
    chosen = np.asarray(chosen)
    table = literals(cube_dimension(counts), constant=True) if table is None else table
    worst = np.zeros(prod(chosen.shape[:-1]))
    for scores, choice in _replay(counts, table, _runs(chosen), most_literals):
        worst = np.maximum(worst, -np.take_along_axis(scores, choice[:, None], axis=1)[:, 0])
    return worst.reshape(chosen.shape[:-1])


def _runs(chosen: Array) -> Array:
    return chosen.reshape(prod(chosen.shape[:-1]), chosen.shape[-1])


def chosen_mistakes(counts: Array, chosen: Array, table: Array | None = None) -> Array:
    """How many of the counted labels the AND of the chosen literals gets wrong.

    `table` as in `worst_shortfall`.
    """
    table = literals(cube_dimension(counts), constant=True) if table is None else table
    return mistakes(counts, conjoined(kept_literals(chosen, len(table)), table))


def greedy_conjunction_log_probability(
    database: Database,
    outputs: Any,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
) -> Array:
    """Log-probability, in nats, of transcripts of `greedy_conjunction` of shape (..., rounds)."""
    points, counts = labelled_points(database, dimension=dimension)
    table = literals_at(points, constant=True)
    chosen = np.asarray(outputs)
    total = np.zeros(prod(chosen.shape[:-1]))
    for scores, choice in _replay(counts, table, _runs(chosen), most_literals):
        logs = log_probabilities(scores, sensitivity=1.0, epsilon=round_epsilon)
        total += np.take_along_axis(logs, choice[:, None], axis=1)[:, 0]
    return total.reshape(chosen.shape[:-1])


def greedy_conjunction_law(
    database: Database,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
) -> FiniteLaw:
    """The exact law of `greedy_conjunction`, all (2 d + 1)**rounds transcripts listed."""
    outcomes = grid_points((2 * dimension + 1,) * rounds)
    logs = greedy_conjunction_log_probability(
        database,
        outcomes,
        dimension=dimension,
        most_literals=most_literals,
        rounds=rounds,
        round_epsilon=round_epsilon,
    )
    return FiniteLaw(outcomes=outcomes, log_probabilities=logs)
