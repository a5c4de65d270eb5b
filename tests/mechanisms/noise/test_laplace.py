import math
from functools import partial

import numpy as np
import pytest

from dpwitness.mechanisms.model import Interval, Relation, Rows
from dpwitness.mechanisms.noise.broken_noise import (
    EMPTY_DATABASE_UNNOISED,
    ONE_SIDED_NOISE,
    SHARED_NOISE,
    UNDERSTATED_SENSITIVITY,
)
from dpwitness.mechanisms.noise.laplace import LAPLACE, LAPLACE_VECTOR, laplace, laplace_mechanism
from dpwitness.mechanisms.queries import histogram, total


def laplace_distribution(x, scale):
    return np.where(x < 0, np.exp(np.minimum(x, 0) / scale) / 2, 1 - np.exp(-np.abs(x) / scale) / 2)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, 0.5), (0.3, 4)])
def test_noise_is_laplace_of_scale_sensitivity_over_epsilon(
    rng, assert_distribution, sensitivity, epsilon
):
    draws = laplace([3, 4], rng, query=total, sensitivity=sensitivity, epsilon=epsilon, size=50_000)
    scale = sensitivity / epsilon
    assert_distribution(draws - 7, lambda x: laplace_distribution(x, scale))


def test_tail_beyond_scale_times_log_is_exact(rng, assert_rate):
    # P(|noise| > 2 ln 20) = 1 / 20 at scale 2.
    draws = laplace([], rng, query=total, sensitivity=2, epsilon=1, size=50_000)
    assert_rate(np.abs(draws) > 2 * math.log(20), 0.05)


def test_loss_of_one_row_is_exactly_epsilon(rng, assert_rate):
    assert_rate(LAPLACE([0], rng, size=50_000) >= 1, math.exp(-1) / 2)
    assert_rate(LAPLACE([1], rng, size=50_000) >= 1, 0.5)


def test_coordinates_of_a_vector_are_independent(rng, assert_frequencies, assert_distribution):
    noise = LAPLACE_VECTOR([0, 2, 2], rng, size=40_000) - [1, 0, 2]
    signs = (noise > 0) @ [1, 2, 4]
    assert_frequencies(np.bincount(signs, minlength=8), np.full(8, 1 / 8))
    for coordinate in noise.T:
        assert_distribution(coordinate, lambda x: laplace_distribution(x, 1))
    # The larger of two independent |noise| of scale 1 has this law; equal noises would not.
    larger = np.abs(noise[:, :2]).max(axis=1)
    assert_distribution(larger, lambda x: (1 - np.exp(-x)) ** 2)


def test_one_call_of_many_draws_is_as_many_calls_in_law(rng, assert_distribution):
    draws = np.array([LAPLACE([1], rng) for _ in range(5_000)])
    assert_distribution(draws - 1, lambda x: laplace_distribution(x, 1))


def test_utility_claim_of_a_number_is_exact(rng, assert_rate):
    utility = LAPLACE.claims[1]
    errors = utility.loss([1, 1], LAPLACE([1, 1], rng, size=(100, 500)))
    assert errors.shape == (100, 500)
    for beta in (0.5, 0.05):
        assert utility.bound(beta) == pytest.approx(math.log(1 / beta))
        assert_rate(errors >= utility.bound(beta), beta)


def test_utility_claim_of_a_vector_is_the_union_bound(rng, assert_rate):
    utility = LAPLACE_VECTOR.claims[1]
    errors = utility.loss([0, 1], LAPLACE_VECTOR([0, 1], rng, size=50_000))
    assert utility.bound(0.06) == pytest.approx(math.log(3 / 0.06))
    assert_rate(errors >= utility.bound(0.06), 1 - (1 - 0.02) ** 3)


def test_loss_is_the_largest_error_of_an_output():
    utility = LAPLACE_VECTOR.claims[1]
    assert utility.loss([0, 1, 1], [1.5, -1.0, 0.25]) == 3.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1}, "epsilon must be positive, got -1"),
        ({"epsilon": 0}, "epsilon must be positive, got 0"),
        ({"epsilon": math.nan}, "epsilon must be positive, got nan"),
        ({"epsilon": math.inf}, "epsilon must be finite, got inf"),
        ({"sensitivity": 0.0}, "sensitivity must be positive, got 0.0"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    chosen = {"sensitivity": 1, "epsilon": 1} | parameters
    with pytest.raises(ValueError, match=f"^{message}$"):
        laplace([1], rng, query=total, **chosen)
    with pytest.raises(ValueError, match=f"^{message}$"):
        laplace_mechanism(
            query=total,
            relation=Relation.ADD_REMOVE,
            databases=Rows(row=Interval(low=0, high=1)),
            **chosen,
        )


def test_answer_of_any_shape_is_kept(rng):
    def table(rows):
        return np.outer(histogram(rows, categories=2), [1, 1, 1])

    shaped = partial(laplace, query=table, sensitivity=3, epsilon=1)
    assert shaped([0], rng).shape == (2, 3)
    assert shaped([0], rng, size=(4, 5)).shape == (4, 5, 2, 3)


def test_exact_law_is_that_of_real_arithmetic():
    law = LAPLACE.law([1, 1, 0])
    assert (law.centres, law.scale) == (2, 1)
    vector = LAPLACE_VECTOR.law([0, 2, 2])
    assert vector.centres.tolist() == [1, 0, 2]


def test_twins_with_another_algorithm_do_not_inherit_the_law():
    for control in (EMPTY_DATABASE_UNNOISED, ONE_SIDED_NOISE, SHARED_NOISE):
        assert control.mechanism.law is None
    assert UNDERSTATED_SENSITIVITY.mechanism.law([5]).scale == 1
