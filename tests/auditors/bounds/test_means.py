from math import exp, inf, log

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness.auditors.bounds.tails_and_means import (
    Wealth,
    betting_lower,
    betting_upper,
    catoni_upper,
    log_wealth,
)

FEW = np.array([0.5, 2, 0, 1.5, 3])
SIX = (0.01, 0.03, 0.1, 0.2, 0.4, 0.7)


def most(runs, level):
    return int(np.argmax(bdtrc(np.arange(runs), runs, level) <= 1e-7))


def test_reference_values():
    assert exp(log_wealth(FEW, 1.0, 0.0, SIX)) == pytest.approx(1.186641703, abs=1e-9)
    assert catoni_upper(FEW, 1.0, 0.05) == pytest.approx(2.823244126, abs=1e-8)


def test_wealth_may_come_in_pieces_and_falls_with_the_mean():
    wealth = Wealth(1.0, 0.0)
    wealth.after(FEW[:2])
    assert wealth.after(FEW[2:]) == pytest.approx(log_wealth(FEW, 1.0, 0.0))
    found = [log_wealth(FEW, mean, 0.0) for mean in (0.5, 1, 2, 4)]
    assert found == sorted(found, reverse=True)


def test_a_mean_at_the_lower_end_is_refuted_by_one_value_above_it():
    assert log_wealth(np.zeros(5), 0.0, 0.0) == 0
    assert log_wealth(FEW, 0.0, 0.0) == inf


SAMPLES = {
    "exponential": lambda rng, size: rng.exponential(size=size),
    "pareto": lambda rng, size: (1 + rng.pareto(1.5, size)) / 3,
}
"""Non-negative with mean exactly 1; the second has infinite variance."""


@pytest.mark.parametrize("name", SAMPLES)
def test_false_alarms_at_any_time(name):
    rng, runs = np.random.default_rng(21), 400
    alarms = 0
    for _ in range(runs):
        wealth, values = Wealth(1.0, 0.0), SAMPLES[name](rng, 2000)
        alarms += any(wealth.after(part) >= log(20) for part in values.reshape(20, -1))
    assert alarms <= most(runs, 0.05)


def test_a_mean_of_a_tenth_more_is_found():
    values = 1.1 * np.random.default_rng(22).exponential(size=20_000)
    assert log_wealth(values, 1.0, 0.0) > log(1000)


@pytest.mark.parametrize(("n", "low"), [(1000, 0.89), (10_000, 0.96), (100_000, 0.985)])
def test_lower_bound_is_below_the_mean_and_near(n, low):
    bound = betting_lower(np.random.default_rng(23).exponential(size=n), 0.0, 0.05)
    assert low < bound < 1


def test_bounds_of_a_bounded_variable_and_of_a_shifted_one():
    values = np.random.default_rng(24).random(20_000)
    lower, upper = betting_lower(values, 0, 1e-3), betting_upper(values, 1, 1e-3)
    assert 0.48 < lower < 0.5 < upper < 0.52
    assert betting_lower(values - 3, -3, 1e-3) == pytest.approx(lower - 3, abs=1e-5)
    assert betting_lower(np.zeros(10), 0.0, 0.05) == 0
    assert betting_lower(values, -inf, 0.05) == -inf


def test_catoni_misses_as_rarely_as_promised():
    rng, runs = np.random.default_rng(25), 400
    values = rng.exponential(size=(runs, 500))
    bounds = np.array([catoni_upper(row, 1.0, 0.05) for row in values])
    assert (bounds < 1).sum() <= most(runs, 0.05)
    assert bounds.mean() == pytest.approx(1.11, abs=0.02)
    assert catoni_upper(np.full(10, 2.0), 0.0, 0.05) == 2
