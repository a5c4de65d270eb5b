"""Learners of conjunctions that lose more, or err more, than they claim."""

from dataclasses import replace
from functools import partial
from math import log

import numpy as np

from ..model import Array, BrokenStatement, Database, NegativeControl, Size
from .conjunctions import (
    BoundDeletion,
    noisy_conjunction,
    noisy_conjunction_law,
    noisy_conjunction_mechanism,
    noisy_conjunction_threshold,
)
from .greedy_conjunctions import (
    GREEDY_CONJUNCTION,
    BoundRounds,
    Sums,
    greedy_conjunction,
    greedy_conjunction_law,
    greedy_conjunction_log_probability,
    greedy_conjunction_mechanism,
    greedy_conjunction_of_counts,
    greedy_conjunction_threshold,
)
from .greedy_invariants import best_score_is_zero, few_negatives_left
from .labelled import labelled_counts, literals

# beta 0.5 keeps the threshold within reach of small databases.
_one_count = noisy_conjunction_mechanism(
    dimension=2, epsilon=1.0, beta=0.5, name="noisy-conjunction-scale-of-one-count"
)
_one_scale: BoundDeletion = {"dimension": 2, "scale": 1.0, "threshold": log(4 / 0.5)}

SCALE_OF_ONE_COUNT = NegativeControl(
    identifier="MUT-PAC-7",
    mechanism=replace(
        _one_count,
        run=partial(noisy_conjunction, **_one_scale),
        law=partial(noisy_conjunction_law, **_one_scale),
    ),
    defect="Laplace(1 / epsilon) on each of 2 d counts as if it were one: the loss is 2 d = 4",
)

_zero = noisy_conjunction_mechanism(
    dimension=6, epsilon=1.0, beta=0.1, name="noisy-conjunction-zero-threshold"
)
_zero_misses = noisy_conjunction_threshold(
    dimension=6, epsilon=1.0, alpha=0.25, beta=0.1, threshold=0.0
)
_zero_parameters: BoundDeletion = {"dimension": 6, "scale": 12.0, "threshold": 0.0}

ZERO_THRESHOLD = NegativeControl(
    identifier="MUT-PAC-8",
    mechanism=replace(
        _zero,
        run=partial(noisy_conjunction, **_zero_parameters),
        law=partial(noisy_conjunction_law, **_zero_parameters),
        claims=(_zero.claims[0], _zero_misses),
    ),
    claim=-1,
    defect="threshold 0: a literal of the target is deleted as soon as its noise is positive",
)

_whole_budget = greedy_conjunction_mechanism(
    dimension=1, most_literals=1, rounds=3, epsilon=1.0, name="greedy-conjunction-whole-budget"
)
_whole: BoundRounds = {
    "dimension": 1,
    "most_literals": 1,
    "rounds": 3,
    "round_epsilon": 1.0,
}
_sound: BoundRounds = {
    "dimension": 2,
    "most_literals": 1,
    "rounds": 2,
    "round_epsilon": 0.5,
}

WHOLE_BUDGET_EVERY_ROUND = NegativeControl(
    identifier="MUT-PAC-9",
    mechanism=replace(
        _whole_budget,
        run=partial(greedy_conjunction, **_whole),
        law=partial(greedy_conjunction_law, **_whole),
        log_probability=partial(greedy_conjunction_log_probability, **_whole),
    ),
    defect="every round has epsilon where epsilon / J is due: the loss is up to J epsilon = 3",
)


def greater_score(alive: Array, counts: Array, sums: Sums, most_literals: int) -> Array:
    """Max in place of min: a literal is good when it removes negatives or spares positives."""
    removed, spared = _parts(alive, counts, sums)
    return np.maximum(removed - _negatives(alive, counts) / most_literals, spared)


def score_without_share(alive: Array, counts: Array, sums: Sums, most_literals: int) -> Array:
    """No share of the negatives is asked for: TRUE always scores 0."""
    return np.minimum(*_parts(alive, counts, sums))


def _parts(alive: Array, counts: Array, sums: Sums) -> tuple[Array, Array]:
    return sums(alive * counts[:, 0]), -sums(alive * counts[:, 1])


def _negatives(alive: Array, counts: Array) -> Array:
    return (alive * counts[:, 0]).sum(axis=1, keepdims=True)


GREATER_SCORE = BrokenStatement(
    identifier="MUT-PAC-10",
    claim=best_score_is_zero(dimension=3, most_literals=2, score=greater_score),
    defect="max in place of min: the best score is not 0",
)

NO_SHARE_OF_NEGATIVES = BrokenStatement(
    identifier="MUT-PAC-10-SHARE",
    claim=few_negatives_left(dimension=3, most_literals=2, slack=2.0, score=score_without_share),
    defect="the share |negatives| / k is missing: TRUE scores 0 and removes nothing",
)

_satisfied_misses = greedy_conjunction_threshold(
    dimension=2,
    most_literals=1,
    epsilon=1.0,
    alpha=0.3,
    beta=0.1,
    spread=0,
    keep_satisfied=False,
)


def greedy_removing_satisfied(
    database: Database,
    rng: np.random.Generator,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
    size: Size = None,
) -> Array:
    """`greedy_conjunction`, removing the rows on which the chosen literal is true; same `size`."""
    return greedy_conjunction_of_counts(
        labelled_counts(database, grid=(2,) * dimension),
        rng,
        most_literals=most_literals,
        rounds=rounds,
        round_epsilon=round_epsilon,
        survivors=~literals(dimension, constant=True),
        size=size,
    )


REMOVES_SATISFIED = NegativeControl(
    identifier="MUT-PAC-11",
    mechanism=replace(
        GREEDY_CONJUNCTION,
        name="greedy-conjunction-removes-satisfied",
        identifier="",
        run=partial(greedy_removing_satisfied, **_sound),
        law=None,
        log_probability=None,
        claims=(GREEDY_CONJUNCTION.claims[0], _satisfied_misses),
    ),
    claim=-1,
    defect="the rows on which the chosen literal is true are removed, not those it rules out",
)


def stops_without_negatives(
    database: Database,
    rng: np.random.Generator,
    *,
    dimension: int,
    most_literals: int,
    rounds: int,
    round_epsilon: float,
    size: Size = None,
) -> Array:
    """`greedy_conjunction`, ended as soon as no negative is left.

    Returns literals of shape `size` + (rounds,), -1 for the rounds that were not run.
    """
    chosen = greedy_conjunction(
        database,
        rng,
        dimension=dimension,
        most_literals=most_literals,
        rounds=rounds,
        round_epsilon=round_epsilon,
        size=size,
    )
    negatives = labelled_counts(database, grid=(2,) * dimension)[:, 0]
    table = literals(dimension, constant=True)
    alive = np.logical_and.accumulate(table[chosen], axis=-2)
    left = alive[..., :-1, :] @ negatives > 0
    at_first = np.full((*left.shape[:-1], 1), negatives.any())
    return np.where(np.concatenate([at_first, left], axis=-1), chosen, -1)


STOPS_WITHOUT_NEGATIVES = NegativeControl(
    identifier="MUT-PAC-12",
    mechanism=replace(
        GREEDY_CONJUNCTION,
        name="greedy-conjunction-stops-without-negatives",
        identifier="",
        run=partial(stops_without_negatives, **_sound),
        law=None,
        log_probability=None,
        claims=GREEDY_CONJUNCTION.claims[:1],
    ),
    defect="no round is run once no negative is left, which is not noisy: the loss is infinite",
)
