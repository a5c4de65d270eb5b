from fractions import Fraction
from functools import partial
from math import exp, inf, log, nan

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.privacy_loss import hockey_stick, laplace_hockey_stick
from dpwitness.mechanisms.model import Interval, Relation, Rows
from dpwitness.mechanisms.noise.broken_noise import ANSWER_OFF_GRID, ROUNDING_UNACCOUNTED
from dpwitness.mechanisms.noise.geometric import discrete_laplace
from dpwitness.mechanisms.noise.grid_laplace import (
    GRID_LAPLACE,
    default_granularity,
    grid_laplace,
    grid_laplace_mechanism,
    grid_scale,
    grid_steps,
    grid_total,
    nearest_steps,
)


def probabilities(scale, most):
    """Of the whole numbers from -most to most, and of all beyond."""
    inside = np.exp(-np.abs(np.arange(-most, most + 1)) / scale)
    inside *= (1 - exp(-1 / scale)) / (1 + exp(-1 / scale))
    return np.append(inside, 1 - inside.sum())


@pytest.mark.parametrize(("scale", "most"), [(1, 7), (2, 14), (7, 30)])
def test_whole_number_noise_has_its_law(rng, assert_frequencies, scale, most):
    draws = discrete_laplace(rng, scale=scale, size=200_000)
    cells = np.where(np.abs(draws) <= most, draws + most, 2 * most + 1)
    assert_frequencies(np.bincount(cells, minlength=2 * most + 2), probabilities(scale, most))


@pytest.mark.parametrize("scale", [1024, 2**20, 2**50])
def test_wide_noise_is_laplace_and_keeps_every_bit(rng, assert_distribution, scale):
    draws = discrete_laplace(rng, scale=scale, size=100_000)
    # Half a step and a single step are below what this many draws can tell.
    assert_distribution(
        (draws + rng.random(draws.size) - 0.5) / scale,
        lambda x: np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2),
    )
    assert len(np.unique(draws % 8)) == 8


@pytest.mark.parametrize("size", [None, (), 0, 3, (2, 0), (2, 3)])
def test_shape_of_whole_number_noise(rng, size):
    noise = discrete_laplace(rng, scale=3, size=size)
    assert np.shape(noise) == np.empty(() if size is None else size).shape
    assert np.asarray(noise).dtype == np.int64


def test_draws_made_in_one_call_are_independent(rng, assert_frequencies):
    positive = discrete_laplace(rng, scale=2**30, size=(100_000, 2)) > 0
    assert_frequencies(np.bincount(positive @ [1, 2], minlength=4), np.full(4, 0.25))


@pytest.mark.parametrize("scale", [0, -1, 1.5, 2**51])
def test_scale_is_a_whole_number_in_range(rng, scale):
    with pytest.raises(ValueError, match="scale must be a whole number in"):
        discrete_laplace(rng, scale=scale)


def test_rounding_is_exact_next_to_a_half():
    below_half = np.nextafter(0.5, 0)
    numbers = [below_half, 0.5, -0.5, np.nextafter(-0.5, -1), 1.5, 2.5, -1e-300]
    assert nearest_steps(numbers, 1.0).tolist() == [0, 1, 0, -1, 2, 3, 0]
    assert nearest_steps([1e300, -inf], 0.5).tolist() == [2**60, -(2**60)]
    assert nearest_steps(2.0**52 + 1, 1.0) == 2**52 + 1


def test_rounded_answers_are_never_farther_apart_than_accounted(rng):
    for _ in range(2000):
        step = 2.0 ** rng.integers(-6, 4)
        apart = rng.uniform(-3, 3, size=3)
        start = rng.uniform(-50, 50, size=3)
        start = rng.choice([start, np.round(start) + 0.5])
        end = start + apart
        moved = np.abs(nearest_steps(start, step) - nearest_steps(end, step)).sum()
        real = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(start, end, strict=True))
        # The smallest float that is not below the real distance.
        nearest = float(real)
        sensitivity = nearest if Fraction(nearest) >= real else float(np.nextafter(nearest, inf))
        steps = grid_steps(sensitivity=sensitivity, granularity=step, coordinates=3)
        assert moved <= steps


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 1 / 3, 7.7])
def test_scale_never_spends_more_than_epsilon(epsilon):
    for sensitivity in (0.1, 1, 3.7):
        step = default_granularity(sensitivity)
        assert step <= sensitivity / 2**20 < 2 * step
        numbers = {"sensitivity": sensitivity, "granularity": step}
        spent = Fraction(grid_steps(**numbers), grid_scale(**numbers, epsilon=epsilon))
        assert Fraction(epsilon) * Fraction(999, 1000) < spent <= Fraction(epsilon)


def test_outputs_are_on_the_grid_and_shaped_as_the_answer(rng):
    table = partial(
        grid_laplace,
        query=lambda rows: np.array([[0.1, 0.2, sum(rows)]]),
        sensitivity=1,
        epsilon=1,
        granularity=0.25,
    )
    assert table([0.3], rng).shape == (1, 3)
    outputs = table([0.3], rng, size=(500, 2))
    assert outputs.shape == (500, 2, 1, 3)
    assert outputs.dtype == float
    np.testing.assert_array_equal(outputs % 0.25, 0)


def test_log_probability_is_that_of_the_draws(rng, assert_frequencies):
    coarse = grid_laplace_mechanism(
        query=partial(grid_total, granularity=0.5),
        sensitivity=1,
        epsilon=1,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=1)),
        granularity=0.5,
    )
    draws = coarse([1, 1, 0.2], rng, size=100_000)
    outputs = np.arange(-4, 9) / 2
    chances = np.exp(coarse.log_probability([1, 1, 0.2], outputs))
    counts = [np.count_nonzero(draws == output) for output in outputs]
    assert_frequencies([*counts, draws.size - sum(counts)], [*chances, 1 - chances.sum()])
    assert np.exp(coarse.log_probability([], np.arange(-400, 401) / 2)).sum() == pytest.approx(1)
    assert coarse.log_probability([], 0.3) == -inf


def test_exact_privacy_is_the_claim_and_that_of_continuous_noise():
    for row in (0.0, 0.25, 0.6, 1.0):
        for pair in (([0.7], [0.7, row]), ([0.7, row], [0.7])):
            loss = GRID_LAPLACE.privacy_loss(*pair)
            assert loss.probabilities.sum() == pytest.approx(1)
            assert hockey_stick(loss, 1) == 0
    loss = GRID_LAPLACE.privacy_loss([], [1.0])
    assert loss.losses.max() == 1
    for level in (0.0, 0.5, 0.9):
        assert hockey_stick(loss, level) == pytest.approx(laplace_hockey_stick(level, 1), abs=1e-3)


def test_privacy_loss_agrees_with_the_log_probabilities():
    outputs = np.arange(-60 * 1024, 61 * 1024) / 1024
    own, other = (GRID_LAPLACE.log_probability(rows, outputs) for rows in ([], [0.75]))
    for level in (0.0, 0.3, 0.7):
        excess = np.maximum(0, np.exp(own) - np.exp(level + other)).sum()
        loss = GRID_LAPLACE.privacy_loss([], [0.75])
        assert hockey_stick(loss, level) == pytest.approx(excess, abs=1e-12)


def test_utility_bound_is_the_tail_of_the_noise(rng, assert_rate):
    utility = GRID_LAPLACE.claims[1]
    errors = utility.loss([0.5, 1], GRID_LAPLACE([0.5, 1], rng, size=50_000))
    for beta in (0.5, 0.05):
        bound = utility.bound(beta)
        assert log(1 / beta) < bound < log(1 / beta) + 0.01
        steps = np.ceil(bound * 1024)
        exact = 2 * exp(-steps / 1024) / (1 + exp(-1 / 1024))
        assert exact <= beta
        assert_rate(errors >= bound, exact)


def test_sum_on_the_grid_rounds_nothing_in_any_order(rng):
    rows = rng.random(40)
    total = grid_total(rows, granularity=2.0**-10)
    assert grid_total(rows[::-1], granularity=2.0**-10) == total
    assert grid_total([*rows, 1.0], granularity=2.0**-10) == total + 1


def test_an_answer_off_the_grid_shows_itself(rng):
    run = ANSWER_OFF_GRID.mechanism
    assert set(run([0.1], rng, size=1000) % 0.25) != {0.0}
    assert set(run([], rng, size=1000) % 0.25) == {0.0}


def test_unaccounted_rounding_loses_twice_the_claim(rng, assert_rate):
    mechanism = ROUNDING_UNACCOUNTED.mechanism
    at_or_above = 1 / (1 + exp(-1))
    for database, each in (([1], at_or_above), ([], at_or_above * exp(-1))):
        both = (mechanism(database, rng, size=50_000) >= 1).all(axis=-1)
        assert_rate(both, each**2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"granularity": 0.3}, "granularity must be a power of two, got 0.3"),
        ({"granularity": -1}, "granularity must be positive, got -1"),
        ({"epsilon": 0}, "epsilon must be positive, got 0"),
        ({"sensitivity": -2}, "sensitivity must be positive, got -2"),
        ({"query": lambda rows: nan}, "query must give numbers, got nan"),
    ],
)
def test_bad_parameters_are_named(rng, change, message):
    chosen = {"query": sum, "sensitivity": 1, "epsilon": 1, "granularity": 0.5} | change
    with pytest.raises(ValueError, match=f"^{message}$"):
        grid_laplace([1], rng, **chosen)
