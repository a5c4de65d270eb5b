"""A bound without a claim: as large as the budget proves, and never above the truth by much luck.

Seeds are fixed, so every assertion is about one fixed computation.
"""

import numpy as np
import pytest
from scipy.special import ndtr

from dpwitness import Verdict, estimate
from dpwitness.auditors.errors import InvalidArgument


def shifted(database, rng, *, size=None):
    """Laplace noise that loses 1 between 0 and 1, and 2 between 0 and 2."""
    return database + rng.laplace(size=() if size is None else size)


@pytest.mark.long
def test_the_bound_nears_the_truth_and_stays_below_it():
    found = estimate(shifted, pair=(0, 1), trials=200_000)
    assert 0.95 < found.epsilon_lower <= 1
    assert found.witness.epsilon_lower == found.epsilon_lower
    assert found.result.draws <= 4 * 2 * 200_000


@pytest.mark.long
def test_a_delta_alone_pays_a_tenth_for_the_curve():
    found = estimate(shifted, pair=(0, 1), delta=0.01, trials=10_000, alpha=0.01)
    assert found.result.evidence.alpha == pytest.approx(0.009)
    assert found.curve.alpha == pytest.approx(0.001)
    assert found.result.evidence.looks[-1].draws <= 9000


@pytest.mark.long
def test_a_curve_comes_with_delta_and_shares_alpha():
    found = estimate(shifted, pair=(0, 1), delta=0.01, curve=True, trials=40_000, alpha=0.01)
    assert found.result.evidence.alpha == found.curve.alpha == 0.005
    true = 1 - np.exp((np.array(found.curve.epsilons) - 1) / 2)
    assert (np.array(found.curve.delta_lower) <= np.maximum(true, 0) + 1e-9).all()
    assert found.curve.delta_lower[0] > 0.3


def noisy(database, rng, *, size=None):
    return database + rng.normal(size=() if size is None else size)


@pytest.mark.long
def test_mu_rho_and_the_curve_are_bounded_together():
    found = estimate(noisy, pair=(0, 1), mu=True, trials=200_000)
    assert found.curve.alpha + found.result.evidence.alpha == pytest.approx(1e-3)
    assert 0.93 < found.curve.mu_lower <= 1
    assert 0.25 < found.curve.rho_lower <= 0.5
    epsilons = np.array(found.curve.epsilons)
    true = ndtr(0.5 - epsilons) - np.exp(epsilons) * ndtr(-0.5 - epsilons)
    assert (np.array(found.curve.delta_lower) <= true).all()
    assert found.curve.delta_lower[0] > 0.9 * true[0]
    assert estimate(noisy, pair=(0, 1), trials=4000).curve is None
    whole = estimate(noisy, pair=(0, 1), rho=True, trials=200_000)
    assert 0.45 < whole.curve.rho_lower <= 0.5
    assert "of all outputs" in " ".join(str(whole).split())


@pytest.mark.long
def test_precision_saves_draws():
    all_of_it = estimate(shifted, pair=(0, 2), trials=100_000)
    less = estimate(shifted, pair=(0, 2), trials=100_000, precision=0.1)
    assert less.result.draws < all_of_it.result.draws / 2
    assert 1.7 < less.epsilon_lower <= 2


def test_no_loss_is_no_witness():
    found = estimate(lambda database, rng: rng.random() < 0.5, pair=(0, 1), trials=2000)
    assert (found.epsilon_lower, found.witness) == (0.0, None)
    assert found.result.verdict is not Verdict.REFUTED


def test_there_is_nothing_to_stop_at_without_a_claim():
    with pytest.raises(InvalidArgument, match="precision must be"):
        estimate(shifted, pair=(0, 1), precision=None)
