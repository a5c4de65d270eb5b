"""Exact privacy loss of Laplace noises: closed forms, brackets, and published figures."""

from math import exp, sqrt

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.privacy_loss import hockey_stick

from .laplace_loss import compose, grid_loss, laplace_delta, loss_law

BOUNDS = ("lower", "upper")


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("reach", "step"), [(1, 0.7), (4, 0.3), (50, 0.02)])
def test_both_laws_of_one_noise_have_all_their_mass(bound, reach, step):
    masses = grid_loss(reach, step=step, bound=bound)
    losses = np.arange(-reach, reach + 1) * step
    assert (masses >= 0).all()
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    # Drawn from the other database, an output has exp(-loss) times the probability.
    assert (masses * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
def test_one_noise_is_bracketed_and_exact_at_the_grid(ratio):
    for level in np.linspace(-ratio, ratio, 23):
        exact = 1 - exp(-(ratio - level) / 2)
        lower, upper = laplace_delta([ratio], level, cells=40)
        assert lower - 1e-12 <= exact <= upper + 1e-12
        assert upper - lower < 0.03 * ratio
    assert laplace_delta([ratio], ratio) == (0.0, 0.0)


@pytest.mark.parametrize("times", [1, 2, 3, 7, 12])
def test_repeated_squaring_is_repeated_convolution(times):
    masses = grid_loss(3, step=0.4, bound="upper")
    direct = masses
    for _ in range(times - 1):
        direct = np.convolve(direct, masses)
    np.testing.assert_allclose(compose(masses, times), direct, rtol=1e-12)


def test_two_noises_in_closed_form():
    # The first loss is 1 with probability 1/2, or x with density exp(-(1 - x) / 2) / 4, and a
    # second noise at level 1 - x leaves 1 - exp(-x / 2) for x > 0.
    exact = (1 - exp(-0.5)) / 2 + exp(-0.5) / 4 * (2 * exp(0.5) - 3)
    lower, upper = laplace_delta([1.0, 1.0], 1.0, cells=400)
    assert lower <= exact <= upper
    assert upper - lower < 2e-6


def test_the_bracket_closes_with_the_square_of_the_step():
    gaps = [np.subtract(*reversed(laplace_delta([0.2] * 30, 1.0, cells=n))) for n in (10, 20, 40)]
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.1)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.1)


def test_different_ratios_are_rounded_to_the_safe_side():
    fine = laplace_delta([0.5, 0.37, 0.123], 0.6, cells=400)
    for cells in (7, 20, 53):
        lower, upper = laplace_delta([0.5, -0.37, 0.123, 0.0], 0.6, cells=cells)
        assert lower <= fine[0] + 1e-12
        assert upper >= fine[1] - 1e-12
    assert laplace_delta([], 0.5) == (0.0, 0.0)


def test_the_law_agrees_with_draws(rng):
    ratios = np.array([0.5, 0.5, 1.0, 0.25])
    noise = rng.laplace(size=(400_000, 4))
    losses = (np.abs(noise + ratios) - np.abs(noise)).sum(axis=1)
    for level in (0.0, 0.8, 1.5):
        sample = np.maximum(0, -np.expm1(level - losses)).mean()
        lower, upper = (
            hockey_stick(loss_law(ratios, bound=bound, cells=40), level) for bound in BOUNDS
        )
        assert lower - 0.005 < sample < upper + 0.005
        assert upper - lower < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "dimension", "expected"),
    [
        (1, 1e-6, 16, 1.494e-6),
        (1, 1e-6, 256, 9.458e-6),
        (2, 1e-3, 64, 2.0813e-3),
        (4, 1e-2, 16, 0.02888),
        (4, 1e-2, 64, 0.04191),
        (8, 1e-2, 64, 0.1991),
        (20, 1e-2, 64, 0.9004),
    ],
)
def test_theorem_3_with_constant_1_in_the_spread_direction(epsilon, delta, dimension, expected):
    ratio = epsilon / sqrt(np.log(1 / delta)) / sqrt(dimension)
    lower, upper = laplace_delta([ratio] * dimension, epsilon, cells=40)
    assert lower <= upper <= 1.001 * lower
    assert lower == pytest.approx(expected, rel=1e-3)
    assert lower > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-2), (1, 1e-3), (0.1, 1e-6)])
def test_where_constant_1_happens_to_do(epsilon, delta):
    for dimension in (4, 64, 256):
        ratio = epsilon / sqrt(np.log(1 / delta)) / sqrt(dimension)
        assert laplace_delta([ratio] * dimension, epsilon)[1] < delta
