from math import exp, expm1, inf, log

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.privacy_loss import (
    compose_losses,
    hockey_stick,
    laplace_difference_tail,
    laplace_hockey_stick,
    laplace_tail,
    log_sum_gap,
    loss_of,
    renyi_divergence,
)
from dpwitness.mechanisms.model import FiniteLaw, LossLaw
from dpwitness.mechanisms.noise.randomized_response import (
    leaky_response_law,
    leaky_response_mechanism,
)


def finite(*chances):
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(chances))
    return FiniteLaw(outcomes=np.arange(len(chances)), log_probabilities=logs)


def test_loss_of_two_finite_laws():
    loss = loss_of(finite(0.5, 0.25, 0.25, 0.0), finite(0.25, 0.5, 0.0, 0.25))
    np.testing.assert_allclose(loss.losses, [log(2), -log(2)])
    np.testing.assert_allclose(loss.probabilities, [0.5, 0.25])
    assert loss.infinite == pytest.approx(0.25)
    assert hockey_stick(loss, 0) == pytest.approx(0.5)
    assert hockey_stick(loss, 1) == pytest.approx(0.25)
    assert renyi_divergence(loss, 2) == inf


@pytest.mark.parametrize("rounds", [2, 7, 30])
def test_composed_losses_are_those_of_the_whole(rounds):
    one = leaky_response_mechanism(epsilon=0.3, delta=0.01)
    whole = leaky_response_mechanism(epsilon=0.3, delta=0.01, rounds=rounds)
    composed = compose_losses([one.privacy_loss(1, 0)] * rounds)
    assert composed.losses.size == rounds + 1
    assert composed.probabilities.sum() + composed.infinite == pytest.approx(1)
    for level in (-1, 0, 0.3, 1.1):
        expected = hockey_stick(whole.privacy_loss(1, 0), level)
        assert hockey_stick(composed, level) == pytest.approx(expected, rel=1e-10)


def test_composition_keeps_losses_that_differ():
    laws = [LossLaw(losses=np.array([a, -a]), probabilities=np.full(2, 0.5)) for a in (1, 2, 4)]
    np.testing.assert_allclose(compose_losses(laws).losses, np.arange(-7, 8, 2))
    assert compose_losses([]).losses.tolist() == [0]
    certain = LossLaw(losses=np.array([]), probabilities=np.array([]), infinite=1.0)
    assert hockey_stick(compose_losses([laws[0], certain]), 5) == 1


def test_too_many_different_losses_are_refused():
    many = LossLaw(losses=np.arange(3000.0), probabilities=np.full(3000, 1 / 3000))
    with pytest.raises(ValueError, match="3000 times 3000 losses are more than"):
        compose_losses([many, many])


def test_renyi_divergence_of_a_response():
    right = 1 / (1 + exp(-1))
    loss = loss_of(leaky_response_law(1, epsilon=1), leaky_response_law(0, epsilon=1))
    expected = log(right**2 / (1 - right) + (1 - right) ** 2 / right)
    assert renyi_divergence(loss, 2) == pytest.approx(expected)
    with pytest.raises(ValueError, match="order must be above 1, got 1"):
        renyi_divergence(loss, 1)


def laplace_loss_distribution(loss, shift):
    """P[privacy loss <= loss] of Laplace noises of scale 1 that lie `shift` apart.

    The loss is +shift with probability 1/2 and -shift with probability exp(-shift) / 2; between
    the two its distribution function is exp((loss - shift) / 2) / 2.
    """
    loss = np.asarray(loss, dtype=float)
    between = np.exp((np.minimum(loss, shift) - shift) / 2) / 2
    return np.where(loss < -shift, 0.0, np.where(loss >= shift, 1.0, between))


@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
def test_privacy_loss_of_laplace_noise_has_its_law(rng, assert_distribution, shift):
    noise = rng.laplace(size=50_000)
    losses = np.abs(noise - shift) - np.abs(noise)
    inside = np.abs(losses) < shift * (1 - 1e-9)
    atoms = [np.mean(losses >= shift * (1 - 1e-9)), np.mean(losses <= -shift * (1 - 1e-9))]
    np.testing.assert_allclose(atoms, [0.5, exp(-shift) / 2], atol=0.02)
    low, high = exp(-shift) / 2, 0.5
    assert_distribution(
        losses[inside], lambda x: (laplace_loss_distribution(x, shift) - low) / (high - low)
    )


def test_ends_of_the_law_of_the_loss():
    reached = laplace_loss_distribution([-1.01, -1.0, np.nextafter(1, 0), 1.0], 1.0)
    np.testing.assert_allclose(reached, [0, exp(-1) / 2, 0.5, 1])


@pytest.mark.parametrize("shift", [0.5, 2.0])
def test_hockey_stick_of_laplace_noise_is_the_integral_of_its_loss(shift):
    grid = np.linspace(-shift, shift, 400_001)
    reached = laplace_loss_distribution(grid, shift)
    for level in (-3.0, -0.2, 0.0, 0.4, shift, 3.0):
        # The atoms at both ends, and the cells of the continuous part at their middles.
        atoms = reached[0] * max(0, -expm1(level + shift)) + 0.5 * max(0, -expm1(level - shift))
        middles = (grid[1:] + grid[:-1]) / 2
        cells = np.diff(reached[:-1]) @ np.maximum(0, -np.expm1(level - middles[:-1]))
        assert laplace_hockey_stick(level, shift) == pytest.approx(atoms + cells, abs=1e-5)
    assert laplace_hockey_stick(0, shift) == pytest.approx(1 - exp(-shift / 2))


def test_tails_of_laplace_noise():
    assert laplace_tail(2 * log(20), 2) == pytest.approx(0.05)
    assert laplace_tail(0, 3) == 1
    assert laplace_difference_tail(0, 3) == 0.5
    with pytest.raises(ValueError, match="threshold must be at least 0, got -1"):
        laplace_tail(-1, 2)


def test_difference_of_two_noises_has_the_stated_tail(rng, assert_rate):
    first, second = rng.laplace(scale=2, size=(2, 50_000))
    for threshold in (0.5, 3, 8):
        assert_rate(first - second > threshold, laplace_difference_tail(threshold, 2))


def test_log_sum_inequality_and_its_conventions(rng):
    assert log_sum_gap([1, 2], [2, 4]) == pytest.approx(0)
    assert log_sum_gap([0, 1], [5, 1]) == pytest.approx(log(6))
    assert log_sum_gap([0, 0], [0, 1]) == 0
    assert log_sum_gap([1, 1], [0, 1]) == inf
    assert log_sum_gap([1e-300], [1e300]) == 0
    for _ in range(500):
        first, second = rng.exponential(size=(2, 5)) * rng.integers(0, 2, size=(2, 5))
        assert log_sum_gap(first, second) >= -1e-12
