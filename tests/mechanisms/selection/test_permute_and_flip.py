from itertools import permutations

import numpy as np
import pytest

from dpwitness.mechanisms.selection.exponential import probabilities
from dpwitness.mechanisms.selection.report_noisy_max import (
    PERMUTE_AND_FLIP,
    one_sided_log_probabilities,
    permute_and_flip,
    permute_and_flip_log_probabilities,
)

UNIT = {"sensitivity": 1, "epsilon": 1}


def over_all_orders(scores):
    """The definition, order by order."""
    heads = np.exp((np.asarray(scores, dtype=float) - max(scores)) / 2)
    orders = list(permutations(range(len(scores))))
    found = np.zeros(len(scores))
    for order in orders:
        left = 1 / len(orders)
        for index in order:
            found[index] += left * heads[index]
            left *= 1 - heads[index]
    return found


@pytest.mark.parametrize("scores", [[0], [0, 1, 2, 3], [2, 2, 0], [5, 0, 1, 5, 3], [0, 40]])
def test_law_is_that_of_the_definition(scores):
    found = np.exp(permute_and_flip_log_probabilities(scores, **UNIT))
    assert found == pytest.approx(over_all_orders(scores), rel=1e-12)


def test_law_is_that_of_one_sided_noise(rng):
    found = np.exp(permute_and_flip_log_probabilities([0, 1, 2, 3], **UNIT))
    assert found == pytest.approx([0.07948, 0.13722, 0.24767, 0.53563], abs=5e-6)
    for _ in range(100):
        scores = rng.uniform(0, 40, size=rng.integers(1, 20))
        first = permute_and_flip_log_probabilities(scores, **UNIT)
        assert first == pytest.approx(one_sided_log_probabilities(scores, **UNIT), abs=1e-11)


def test_law_is_not_that_of_the_exponential_mechanism():
    scores = [0, 1, 2, 3]
    flips = np.exp(permute_and_flip_log_probabilities(scores, **UNIT))
    distance = np.abs(flips - probabilities(scores, **UNIT)).sum() / 2
    assert distance == pytest.approx(0.0806, abs=5e-5)


def test_regret_is_never_larger_than_of_the_exponential_mechanism(rng):
    for _ in range(500):
        scores = rng.uniform(0, rng.choice([1, 5, 30]), size=rng.integers(1, 10))
        flips = np.exp(permute_and_flip_log_probabilities(scores, **UNIT))
        assert (probabilities(scores, **UNIT) - flips) @ (scores.max() - scores) >= -1e-12


def test_draws_have_the_law(rng, assert_frequencies):
    rows = [[1, 0, -1], [1, 1, -1]]
    law = np.exp(PERMUTE_AND_FLIP.law(rows).log_probabilities)
    many = PERMUTE_AND_FLIP(rows, rng, size=(40, 1000))
    assert_frequencies(np.bincount(many.ravel(), minlength=3), law)
    single = [int(PERMUTE_AND_FLIP(rows, rng)) for _ in range(3_000)]
    assert_frequencies(np.bincount(single, minlength=3), law)


@pytest.mark.parametrize("rows", [[], [[1, 0, 0]] * 4, [[1, 1, -1]] * 6, [[1, -1, -1]] * 3])
def test_regret_is_promised_truly(rows):
    law = PERMUTE_AND_FLIP.law(rows)
    utility = PERMUTE_AND_FLIP.claims[1]
    losses = utility.loss(rows, law.outcomes)
    for beta in np.linspace(0.001, 0.999, 97):
        assert np.exp(law.log_probabilities)[losses >= utility.bound(beta)].sum() <= beta


def test_bad_parameters_are_named(rng):
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        permute_and_flip([0, 1], rng, score=np.asarray, sensitivity=1, epsilon=-1)
