from math import comb, exp, inf, log

import numpy as np
import pytest

from dpwitness.auditors.claims.exact import (
    LaplaceShift,
    delta_bounds,
    delta_curve,
    epsilon_of,
    losses_of,
    smallest_epsilon,
)
from dpwitness.auditors.errors import HarnessError
from dpwitness.mechanisms.model import FiniteLaw, LaplaceLaw, LossLaw, ProductLaw


def finite(*chances):
    with np.errstate(divide="ignore"):
        return FiniteLaw(
            outcomes=np.arange(len(chances)), log_probabilities=np.log(np.array(chances))
        )


def response(epsilon):
    honest = exp(epsilon) / (1 + exp(epsilon))
    return LossLaw(
        losses=np.array([epsilon, -epsilon]), probabilities=np.array([honest, 1 - honest])
    )


def test_finite_laws():
    parts = losses_of(finite(0.5, 0.3, 0.2), finite(0.2, 0.3, 0.5))
    assert epsilon_of(parts) == pytest.approx(log(2.5))
    low, high = delta_bounds(parts, log(2))
    assert low < 0.1 < high
    assert high - low < 1e-9
    assert smallest_epsilon(parts, 0.1) == pytest.approx(log(2))
    assert smallest_epsilon(parts, 0.5) == 0


def test_an_outcome_impossible_on_the_other_side():
    parts = losses_of(finite(0.9, 0.1), finite(1.0, 0.0))
    assert epsilon_of(parts) == inf
    assert delta_bounds(parts, 5.0)[0] == pytest.approx(0.1)
    assert smallest_epsilon(parts, 0.2) == 0
    assert smallest_epsilon(parts, 0.05) == inf
    assert epsilon_of(losses_of(finite(1.0, 0.0), finite(0.9, 0.1))) == pytest.approx(-log(0.9))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_one_laplace_coordinate(epsilon):
    laws = [LaplaceLaw(centres=np.array(c), scale=2.0) for c in (0.0, 2.0)]
    parts = losses_of(*laws)
    assert parts == [LaplaceShift(1.0)]
    assert delta_bounds(parts, epsilon)[1] == pytest.approx(1 - exp(-(1 - epsilon) / 2), abs=1e-8)


@pytest.mark.parametrize(("rounds", "epsilon", "target"), [(3, 1.0, 1.5), (30, 0.1, 0.7)])
def test_composed_randomized_response(rounds, epsilon, target):
    exact = sum(
        comb(rounds, k)
        * exp(k * epsilon)
        / (1 + exp(epsilon)) ** rounds
        * max(0.0, 1 - exp(target - (2 * k - rounds) * epsilon))
        for k in range(rounds + 1)
    )
    parts = [response(epsilon)] * rounds
    low, high = delta_bounds(parts, target)
    assert low <= exact <= high
    assert high - low < 0.05 * exact
    assert epsilon_of(parts) == pytest.approx(rounds * epsilon)


def test_composed_laplace_contains_the_integral():
    # Two coordinates, each half a scale apart: integrate over the first loss exactly.
    epsilon, size = 0.4, 0.5
    grid = np.linspace(-size, size, 200_001)[:-1] + size / 200_000
    density = np.exp((grid - size) / 2) / 4

    def tail(level):
        level = np.asarray(level, dtype=float)
        inside = np.maximum(0, -np.expm1(-(size - level) / 2))
        return np.where(level < -size, 1 - np.exp(level), inside)

    exact = (density * tail(epsilon - grid)).sum() * (2 * size / 200_000)
    exact += tail(epsilon - size) / 2 + tail(epsilon + size) * exp(-size) / 2
    law = ProductLaw(parts=(LaplaceLaw(centres=np.zeros(1), scale=1.0),) * 2)
    other = ProductLaw(parts=(LaplaceLaw(centres=np.full(1, size), scale=1.0),) * 2)
    low, high = delta_bounds(losses_of(law, other), epsilon)
    assert low <= exact <= high
    assert high - low < 1e-3


def test_equal_laws_lose_nothing():
    law = LaplaceLaw(centres=np.zeros(3), scale=1.0)
    assert epsilon_of(losses_of(law, law)) == 0
    assert delta_bounds(losses_of(law, law), 0.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (finite(0.5, 0.5), finite(0.2, 0.3, 0.5)),
        (finite(0.5, 0.4), finite(0.5, 0.5)),
        (finite(0.5, 0.5), LaplaceLaw(centres=np.zeros(1), scale=1.0)),
        (LaplaceLaw(centres=np.zeros(1), scale=2.0), LaplaceLaw(centres=np.zeros(1), scale=1.0)),
    ],
)
def test_laws_that_cannot_be_compared(one, two):
    with pytest.raises(HarnessError):
        losses_of(one, two)


def test_a_curve_is_the_bounds_at_each_of_its_points():
    losses = LossLaw(losses=np.array([-1.0, 0.5]), probabilities=np.array([0.4, 0.6]), infinite=0.0)
    parts = [losses, LaplaceShift(0.7), LaplaceShift(0.7)]
    epsilons = (0.0, 0.3, 1.9, 5.0)
    assert delta_curve(parts, epsilons) == [delta_bounds(parts, one) for one in epsilons]
    assert delta_curve(parts, epsilons)[0][0] > 0.2
    assert delta_curve(parts, epsilons)[-1] == (0.0, 0.0)
