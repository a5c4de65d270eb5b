import math
from itertools import combinations_with_replacement
from math import e

import numpy as np
import pytest

from dpwitness.mechanisms.model import Choices, Relation, Rows
from dpwitness.mechanisms.queries import histogram
from dpwitness.mechanisms.selection.exponential import (
    AUCTION,
    EXPONENTIAL,
    MONOTONE_EXPONENTIAL,
    Selection,
    exponential,
    exponential_by_weights,
    exponential_mechanism,
    log_probabilities,
    probabilities,
)


def as_scores(rows):
    """Let a database be its own scores."""
    return np.asarray(rows, dtype=float)


def replaced(candidates, rows):
    """Every pair of databases of `rows` votes that differ in one."""
    for shared in combinations_with_replacement(range(candidates), rows - 1):
        for before in range(candidates):
            for after in range(candidates):
                yield [*shared, before], [*shared, after]


def exact_loss(first, second, *, candidates, sensitivity):
    logs = [
        log_probabilities(
            histogram(rows, categories=candidates), sensitivity=sensitivity, epsilon=1
        )
        for rows in (first, second)
    ]
    return np.abs(logs[0] - logs[1]).max()


def worst_loss(*, candidates, rows, sensitivity):
    pairs = replaced(candidates, rows)
    return max(exact_loss(*pair, candidates=candidates, sensitivity=sensitivity) for pair in pairs)


def opposed(others):
    """One candidate ahead of the others by 1, and behind them by 1: the worst pair of scores."""
    ahead = np.array([1.0] + [0.0] * others)
    return ahead, 1 - ahead


def test_law_on_four_scores(rng, assert_frequencies):
    expected = [0.10154, 0.16741, 0.27600, 0.45505]
    assert probabilities([0, 1, 2, 3], sensitivity=1, epsilon=1) == pytest.approx(
        expected, abs=5e-6
    )
    draws = exponential([0, 1, 2, 3], rng, score=as_scores, sensitivity=1, epsilon=1, size=50_000)
    law = probabilities([0, 1, 2, 3], sensitivity=1, epsilon=1)
    assert_frequencies(np.bincount(draws, minlength=4), law)


def test_law_of_the_votes(rng, assert_frequencies):
    draws = EXPONENTIAL([0, 1, 1, 2, 1], rng, size=50_000)
    weights = np.array([1, e, 1])
    assert_frequencies(np.bincount(draws, minlength=3), weights / weights.sum())


@pytest.mark.parametrize(
    ("ahead", "expected"), [(1, 0.377541), (2, 0.268941), (4, 0.119203), (8, 0.017986)]
)
def test_two_candidates(ahead, expected):
    found = probabilities([0, ahead], sensitivity=1, epsilon=1)[0]
    assert found == pytest.approx(expected, abs=1e-6)


def test_scores_a_million_apart_do_not_overflow(rng):
    logs = log_probabilities([0, 1e6], sensitivity=1, epsilon=1)
    assert logs == pytest.approx([-5e5, 0])
    draws = exponential([0, 1e6], rng, score=as_scores, sensitivity=1, epsilon=1, size=100)
    assert (draws == 1).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8])
def test_loss_is_at_most_epsilon_over_all_neighbours(rows):
    worst = worst_loss(candidates=3, rows=rows, sensitivity=1)
    assert 0.5 - 1e-12 <= worst <= 1


@pytest.mark.parametrize(
    ("others", "right", "naive"),
    [
        (1, 0.5000, 1.0000),
        (2, 0.6636, 1.3106),
        (4, 0.7960, 1.5694),
        (9, 0.8970, 1.7761),
        (99, 0.9896, 1.9766),
    ],
)
def test_worst_pair_of_scores(others, right, naive):
    for sensitivity, expected in ((1, right), (0.5, naive)):
        logs = log_probabilities(opposed(others), sensitivity=sensitivity, epsilon=1)
        assert np.abs(logs[0] - logs[1]).max() == pytest.approx(expected, abs=5e-5)


def test_naive_weights_first_fail_on_two_rows():
    # One vote replaced moves two scores: the loss is 1, not yet more.
    assert worst_loss(candidates=2, rows=1, sensitivity=0.5) == pytest.approx(1)
    found = exact_loss([0, 1], [1, 1], candidates=2, sensitivity=0.5)
    assert found == pytest.approx(math.log((1 + e**2) / 2))
    assert found == pytest.approx(1.4338, abs=5e-5)
    assert worst_loss(candidates=2, rows=2, sensitivity=0.5) == pytest.approx(found)
    assert 1.99 < worst_loss(candidates=2, rows=12, sensitivity=0.5) <= 2


def test_log_ratios_lie_in_an_interval_of_length_epsilon(rng):
    scores = rng.uniform(0, 5, size=(2_000, 6))
    moved = scores + rng.uniform(-1, 1, size=scores.shape)
    ratios = log_probabilities(scores, sensitivity=1, epsilon=1) - log_probabilities(
        moved, sensitivity=1, epsilon=1
    )
    assert np.ptp(ratios, axis=1).max() <= 1 + 1e-12


def choosing(candidates):
    problem = Selection(
        score=as_scores,
        candidates=candidates,
        relation=Relation.REPLACE_ONE,
        databases=Rows(row=Choices(values=(0, 1))),
    )
    return exponential_mechanism(problem, epsilon=1)


def test_utility_on_fifty_candidates():
    utility = choosing(50).claims[2]
    scores = [0.0] * 49 + [10.0]
    beta = 50 * math.exp(-5)
    assert utility.bound(beta) == pytest.approx(10)
    missed = utility.loss(scores, np.arange(50)) >= 10
    law = probabilities(scores, sensitivity=1, epsilon=1)
    assert beta == pytest.approx(0.3369, abs=5e-5)
    assert law[missed].sum() == pytest.approx(0.2482, abs=5e-5)


@pytest.mark.parametrize("scores", [[0, 0, 5], [4, 4, 0, 1], [0, 1, 2, 3], [2, 2, 2]])
def test_utility_claims_hold_at_every_level(scores):
    law = probabilities(scores, sensitivity=1, epsilon=1)
    for utility in choosing(len(scores)).claims[1:3]:
        losses = utility.loss(scores, np.arange(len(scores)))
        for beta in np.linspace(0.001, 0.999, 97):
            assert law[losses >= utility.bound(beta)].sum() <= beta


def test_ties_make_the_first_utility_claim_stronger():
    with_ties, plain = choosing(4).claims[1:3]
    scores = [4, 4, 0, 1]
    assert with_ties.loss(scores, 2) == pytest.approx(plain.loss(scores, 2) + 2 * math.log(2))


@pytest.mark.parametrize("sampler", [exponential, exponential_by_weights])
def test_both_samplers_have_the_law(sampler, rng, assert_frequencies):
    scores = [0, 0, 4, 1]
    draws = sampler(scores, rng, score=as_scores, sensitivity=1, epsilon=1, size=(50, 1000))
    assert draws.shape == (50, 1000)
    counts = np.bincount(draws.ravel(), minlength=4)
    assert_frequencies(counts, probabilities(scores, sensitivity=1, epsilon=1))


def test_the_law_of_a_mechanism_is_that_of_its_draws(rng, assert_frequencies):
    bids = [1.0, 1.0, 1.0, 3.01]
    for mechanism, database in ((AUCTION, bids), (MONOTONE_EXPONENTIAL, [0, 1, 1, 3])):
        law = mechanism.law(database)
        draws = mechanism(database, rng, size=50_000)
        counts = np.bincount(draws, minlength=law.outcomes.size)
        assert_frequencies(counts, np.exp(law.log_probabilities))


def test_monotone_weights_leave_out_the_factor():
    found = log_probabilities([0, 1, 3], sensitivity=1, epsilon=1, monotone=True)
    assert found == pytest.approx(log_probabilities([0, 2, 6], sensitivity=1, epsilon=1))
    first, second = (MONOTONE_EXPONENTIAL.law(rows).log_probabilities for rows in ([], [0]))
    assert (second - first).max() == pytest.approx(0.6426, abs=5e-5)


@pytest.mark.parametrize(
    ("counts", "loss"), [([(1, 5), (0, 6)], 1.9843), ([(1, 2), (0, 3)], 1.7353)]
)
def test_the_saving_is_false_when_a_record_is_replaced(counts, loss):
    logs = log_probabilities(np.array(counts), sensitivity=1, epsilon=1, monotone=True)
    assert (logs[0] - logs[1]).max() == pytest.approx(loss, abs=5e-5)
    with pytest.raises(ValueError, match=r"^monotone must be False under replace-one, got True$"):
        Selection(
            score=as_scores,
            candidates=2,
            relation=Relation.REPLACE_ONE,
            databases=Rows(row=Choices(values=(0, 1))),
            monotone=True,
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1}, "epsilon must be positive, got -1"),
        ({"sensitivity": 0}, "sensitivity must be positive, got 0"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    chosen = {"sensitivity": 1, "epsilon": 1} | parameters
    with pytest.raises(ValueError, match=f"^{message}$"):
        exponential([0, 1], rng, score=as_scores, **chosen)
    with pytest.raises(ValueError, match=f"^{message}$"):
        probabilities([0, 1], **chosen)
