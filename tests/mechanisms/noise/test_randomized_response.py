from math import e, exp

import numpy as np
import pytest

from dpwitness.mechanisms.noise.randomized_response import (
    RANDOMIZED_RESPONSE,
    randomized_response,
    randomized_response_mechanism,
)


@pytest.mark.parametrize("values", [(0, 1), ("a", "b", "c"), tuple(range(7))])
@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
def test_truth_is_exp_epsilon_times_as_likely_as_each_lie(rng, assert_frequencies, values, epsilon):
    for truth in values:
        draws = randomized_response(truth, rng, values=values, epsilon=epsilon, size=20_000)
        seen = [np.count_nonzero(draws == value) for value in values]
        weights = np.array([exp(epsilon) if value == truth else 1.0 for value in values])
        assert_frequencies(seen, weights / weights.sum())


def test_three_answers_at_epsilon_1(rng, assert_rate):
    draws = RANDOMIZED_RESPONSE("yes", rng, size=50_000)
    assert_rate(draws == "yes", e / (e + 2))
    assert_rate(draws == "no", 1 / (e + 2))


def test_values_of_several_types_stay_what_they_are(rng):
    values = (None, 1, "x", (2, 3))
    draws = randomized_response(1, rng, values=values, epsilon=1, size=200)
    assert set(draws) == set(values)


def test_very_large_epsilon_tells_the_truth(rng):
    assert (randomized_response(1, rng, values=(0, 1), epsilon=1e4, size=100) == 1).all()


def test_bad_arguments_are_named(rng):
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        randomized_response(0, rng, values=(0, 1), epsilon=-1)
    with pytest.raises(ValueError, match=r"^the database must be one of \(0, 1\), got 2$"):
        randomized_response(2, rng, values=(0, 1), epsilon=1)
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got 0$"):
        randomized_response_mechanism(values=(0, 1), epsilon=0)
    with pytest.raises(ValueError, match=r"^values must be at least two, got \(0,\)$"):
        randomized_response_mechanism(values=(0,), epsilon=1)
