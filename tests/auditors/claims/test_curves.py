from math import exp

import numpy as np
import pytest
from scipy.special import bdtrc, ndtr

from dpwitness import Pair
from dpwitness.auditors.privacy.curves import privacy_curve, renyi_lower
from dpwitness.auditors.sampling.sampling import Sampler


def gaussian(database, rng, *, size=None):
    """N(database, 1): exactly 1-Gaussian DP and 1/2-zCDP on the pair (0, 1)."""
    return database + rng.normal(size=size)


def true_delta(epsilon):
    return ndtr(0.5 - epsilon) - np.exp(epsilon) * ndtr(-0.5 - epsilon)


def curve(seed, draws=100_000, alpha=0.01):
    sampler = Sampler(run=gaussian, seed=seed)
    return privacy_curve(sampler, Pair(0.0, 1.0), alpha=alpha, draws=draws)


def test_the_curve_is_below_the_truth_and_near():
    found = curve(0)
    epsilons, deltas = np.array(found.epsilons), np.array(found.delta_lower)
    assert (deltas <= true_delta(epsilons)).all()
    assert (np.diff(deltas) <= 0).all()
    assert deltas[0] > true_delta(0.0) - 0.02
    assert deltas[20] > 0.8 * true_delta(1.0)


def test_bounds_on_mu_and_rho_are_below_the_truth_and_near():
    found = curve(1)
    assert 0.9 < found.mu_lower <= 1
    assert 0.25 < found.rho_lower <= 0.5
    assert found.draws == 80_000


def test_a_moment_of_all_outputs_proves_most_of_a_gaussians_rho():
    """Above .5 with probability below .01; below .45 is four standard errors of its draws."""
    sampler = Sampler(run=gaussian, seed=1)
    found = privacy_curve(sampler, Pair(0.0, 1.0), alpha=0.01, draws=100_000, moment=True)
    assert 0.45 < found.rho_lower <= 0.5
    assert found.rho_order is not None
    assert curve(1).rho_order is None


@pytest.mark.slow
def test_everything_fails_together_as_rarely_as_promised():
    wrong, runs, alpha = 0, 40, 0.2
    for seed in range(runs):
        found = curve(seed, draws=3000, alpha=alpha)
        above = np.array(found.delta_lower) > true_delta(np.array(found.epsilons))
        wrong += above.any() or found.mu_lower > 1 or found.rho_lower > 0.5
    assert wrong <= int(np.argmax(bdtrc(np.arange(runs), runs, alpha) <= 1e-7))


def test_equal_sides_give_nothing():
    sampler = Sampler(run=gaussian, seed=2)
    found = privacy_curve(sampler, Pair(0.0, 0.0), alpha=1e-3, draws=10_000)
    assert found.mu_lower == found.rho_lower == 0
    assert max(found.delta_lower) == 0


def test_divergence_of_two_coins():
    assert renyi_lower(0.3, 0.3) == 0
    p, q = 0.5, 0.1
    kl = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    orders = np.linspace(1.001, 20, 20_000)
    powers = p**orders * q ** (1 - orders) + (1 - p) ** orders * (1 - q) ** (1 - orders)
    largest = (np.log(powers) / (orders - 1) / orders).max()
    assert kl < 0.99 * largest < renyi_lower(p, q) <= largest
    assert renyi_lower(1.0, exp(-3)) == pytest.approx(3)
    assert renyi_lower(0.5, 0.0) == np.inf
