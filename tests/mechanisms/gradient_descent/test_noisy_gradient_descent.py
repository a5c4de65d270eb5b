"""Noisy gradient descent: exact laws, calibrations, and what holds on average."""

from functools import partial
from math import log, sqrt

import numpy as np
import pytest

from dpwitness.mechanisms.gradient_descent import theorems_noisy_gradient_descent as theorems
from dpwitness.mechanisms.gradient_descent.broken_gradient_descent import (
    GAUSSIAN_VARIANCE,
    HALF_THE_SENSITIVITY,
    NOISE_OF_ONE_STEP,
    NOISE_ON_THE_AVERAGE,
    REUSED_NOISE,
)
from dpwitness.mechanisms.gradient_descent.gradient_descent import (
    DISTANCE,
    LINEAR,
    UNIT_BALL,
    excess_bound,
    norms,
    onto_ball,
)
from dpwitness.mechanisms.gradient_descent.noisy_gradient_descent import (
    NOISY_GRADIENT_DESCENT,
    NOISY_GRADIENTS,
    average_point,
    coordinate_multiplier,
    every_gradient,
    l2_multiplier,
    mean_square_norm,
    noise_scale,
    noisy_gradient_descent,
    noisy_gradient_descent_mechanism,
)
from dpwitness.mechanisms.model import ExpectationClaim, IdentityClaim, PrivacyClaim

from ..laplace_loss import laplace_delta

THEOREMS = {theorem.identifier: theorem for theorem in theorems.THEOREMS}
PAPER = {"epsilon": 1, "delta": 1e-6, "steps": 100, "dimension": 2}


def laplace_cdf(points):
    return np.where(points < 0, np.exp(-np.abs(points)) / 2, 1 - np.exp(-np.abs(points)) / 2)


def delta_of(mechanism, one, two, epsilon, cells=20):
    first, second = mechanism.law(one), mechanism.law(two)
    assert first.scale == second.scale
    moved = (np.abs(first.centres - second.centres) / first.scale).ravel()
    return laplace_delta(moved, epsilon, cells=cells)


def opposite(dimension):
    """One row that is spread over all coordinates, and its opposite."""
    row = [1 / sqrt(dimension)] * dimension
    return [row], [[-number for number in row]]


def test_scales_of_the_example():
    for multiplier, expected in ((coordinate_multiplier, 0.15132), (l2_multiplier, 0.10700)):
        scale = noise_scale(multiplier=multiplier(**PAPER), lipschitz=1, records=1000)
        assert scale == pytest.approx(expected, abs=1e-5)
    simple = 4 * sqrt(200 * log(1e6)) / 1000
    assert simple == pytest.approx(0.21026, abs=1e-5)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_simple_scale_is_enough_while_epsilon_is_at_most_the_log(delta):
    for share in (0.01, 0.5, 1.0):
        epsilon = share * log(1 / delta)
        simple = 4 * sqrt(6 * log(1 / delta)) / epsilon
        assert coordinate_multiplier(epsilon=epsilon, delta=delta, steps=3, dimension=2) <= simple


@pytest.mark.parametrize("identifier", ["GD-PRIV-COORD", "GD-PRIV-L2"])
def test_calibrations_are_private_and_within_delta(identifier):
    theorem = THEOREMS[identifier]
    for parameters in ({}, {"epsilon": 4, "delta": 0.05}, {"steps": 1}, {"dimension": 1}):
        subject = theorem.at(**parameters)
        dimension = round(parameters.get("dimension", 2))
        _, upper = delta_of(subject.mechanism, *opposite(dimension), subject.claim.epsilon)
        assert upper < subject.claim.delta


def test_coordinates_are_over_noised_by_the_root_of_the_dimension():
    found = {
        name: delta_of(THEOREMS[name].at(steps=100, delta=1e-6).mechanism, *opposite(2), 1.0)
        for name in ("GD-PRIV-COORD", "GD-PRIV-L2")
    }
    assert found["GD-PRIV-COORD"] == pytest.approx((1.003e-16, 1.003e-16), rel=1e-3)
    assert found["GD-PRIV-L2"] == pytest.approx((1.501e-9, 1.501e-9), rel=1e-3)


def test_the_printed_rate_with_constant_1_is_not_private():
    theorem = THEOREMS["ERR-GD-9"]
    for name, p in {"": None, **theorem.parameters}.items():
        for chosen in [{}] if p is None else [{name: p.within.low}, {name: p.within.high}]:
            subject = theorem.at(**chosen)
            pair = opposite(round(chosen.get("dimension", 1)))
            lower, _ = delta_of(subject.mechanism, *pair, subject.claim.epsilon)
            assert lower > 2 * subject.claim.delta
    assert delta_of(theorem.at().mechanism, *opposite(1), 2.0)[0] > 0.1


def test_more_rows_hide_a_replaced_row_just_as_well():
    pairs = [([[1.0, 0.0]] * n + [[0.0, 1.0]], [[1.0, 0.0]] * n + [[0.0, -1.0]]) for n in (0, 3)]
    found = [delta_of(NOISY_GRADIENTS, *pair, 0.5) for pair in pairs]
    assert found[0] == pytest.approx(found[1])


def test_the_law_is_that_of_the_draws(rng, assert_distribution):
    database = [[1.0, 0.0], [0.0, -0.5]]
    draws = NOISY_GRADIENTS(database, rng, size=20_000)
    law = NOISY_GRADIENTS.law(database)
    assert draws.shape == (20_000, 24, 2)
    np.testing.assert_allclose(law.centres, np.tile([-0.5, 0.25], (24, 1)))
    assert_distribution((draws - law.centres) / law.scale, laplace_cdf)
    singles = np.array([NOISY_GRADIENTS(database, rng) for _ in range(1_000)])
    assert_distribution((singles - law.centres) / law.scale, laplace_cdf)


def test_the_density_agrees_with_the_law(rng):
    database = [[1.0, 0.0], [0.0, -0.5]]
    draws = NOISY_GRADIENTS(database, rng, size=(5, 3))
    law = NOISY_GRADIENTS.law(database)
    apart = np.abs(draws - law.centres).sum(axis=(-2, -1)) / law.scale
    expected = -apart - 48 * log(2 * law.scale)
    np.testing.assert_allclose(NOISY_GRADIENTS.log_probability(database, draws), expected)


def test_the_density_of_a_loss_that_depends_on_the_point(rng):
    # E over one database of the density ratio of two is 1, for the right densities only.
    mechanism = noisy_gradient_descent_mechanism(
        loss=DISTANCE,
        start=(0.2,),
        steps=3,
        epsilon=4.0,
        delta=0.05,
        release=every_gradient,
    )
    one, two = [[0.5], [-0.3]], [[0.5], [0.9]]
    draws = mechanism(one, rng, size=200_000)
    logs = [mechanism.log_probability(side, draws) for side in (one, two)]
    ratio = np.exp(logs[1] - logs[0])
    assert np.mean(ratio) == pytest.approx(1, abs=6 * ratio.std() / sqrt(200_000))
    assert ratio.std() > 0.3


def test_the_average_follows_from_the_gradients():
    parameters = dict(NOISY_GRADIENT_DESCENT.run.keywords)
    average, gradients = (
        noisy_gradient_descent(
            [[0.3, -0.4]], np.random.default_rng(5), size=7, **{**parameters, "release": release}
        )
        for release in (average_point, every_gradient)
    )
    weights, points = np.broadcast_to(parameters["start"], (7, 2)), []
    for step in range(parameters["steps"]):
        moved = weights - parameters["step_size"] * gradients[:, step]
        weights = onto_ball(moved, radius=1.0)
        points.append(weights)
    np.testing.assert_allclose(average, np.mean(points, axis=0))
    assert (norms(average) <= 1 + 1e-12).all()


@pytest.mark.parametrize("identifier", ["GD-L4", "GD-VAR"])
def test_expectations(identifier, rng):
    for parameters in ({}, {"records": 5}, {"dimension": 1, "records": 2000}):
        subject = THEOREMS[identifier].at(**parameters)
        claim = subject.claim
        for database in claim.databases:
            found = claim.quantity(database, subject.mechanism(database, rng, size=40_000))
            assert found.shape == (40_000,)
            deviation = found.std() / 200
            assert found.mean() <= claim.bound + 6 * deviation
            assert found.var() <= 1.2 * claim.variance
            if identifier == "GD-VAR":
                assert found.mean() >= claim.bound - 6 * deviation


def test_expected_excess_at_the_default():
    # The excess is about .02 for a minimum inside, .063 from the far side; the bound is .1281.
    subject = THEOREMS["GD-T2"].at()
    claim = subject.claim
    assert claim.bound == pytest.approx(0.1281, abs=5e-5)
    for database, expected in zip(claim.databases, (0.063, 0.0204, 0.0197), strict=True):
        output = subject.mechanism(database, np.random.default_rng(1), size=60)
        found = claim.quantity(database, output)
        assert (found >= claim.low).all()
        assert (found <= claim.high).all()
        assert found.mean() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("steps", [1, 4, 30])
def test_expected_excess_with_few_steps(steps, rng):
    subject = THEOREMS["GD-T2"].at(steps=steps, records=50)
    for database in subject.claim.databases:
        found = subject.claim.quantity(database, subject.mechanism(database, rng, size=20_000))
        assert found.mean() + 6 * found.std() / sqrt(20_000) <= subject.claim.bound
        assert found.var() <= subject.claim.variance


def test_the_bound_in_its_closed_forms():
    scale = noise_scale(
        multiplier=coordinate_multiplier(epsilon=1, delta=1e-5, steps=2000, dimension=3),
        lipschitz=1,
        records=2000,
    )
    squares = mean_square_norm(square_norm=1, dimension=3, scale=scale)
    step_size = 2 / sqrt(2000)
    bound = excess_bound(diameter=2, square_norm=squares, step_size=step_size, steps=2000)
    # T is below n^2 s^2 / (4 d^2) = 2313, so that the bound is at most 1.5 R G / sqrt(T).
    assert bound <= 1.5 * 2 / sqrt(2000)
    s = sqrt(2 * 2000 * 3) / (scale * 2000)
    assert 2000**2 * s**2 / 36 == pytest.approx(2313, abs=1)


@pytest.mark.parametrize("control", [HALF_THE_SENSITIVITY, NOISE_OF_ONE_STEP])
def test_too_little_noise_loses_more_than_claimed(control):
    lower, _ = delta_of(control.mechanism, [[1.0]], [[-1.0]], control.breaks.epsilon)
    assert lower > 3 * control.breaks.delta


def test_noise_on_the_average_loses_step_size_times_steps_plus_1_halves():
    laws = [NOISE_ON_THE_AVERAGE.mechanism.law(side) for side in ([1.0], [-1.0])]
    loss = np.abs(laws[0].centres - laws[1].centres) / laws[0].scale
    assert loss == pytest.approx(0.5 * 10 / 2)
    assert loss > NOISE_ON_THE_AVERAGE.breaks.epsilon


def test_reused_noise_cancels(rng):
    draws = REUSED_NOISE.mechanism([[1.0]], rng, size=1_000)
    inside = np.abs(draws[:, 0, 0]) < 0.4
    assert inside.any()
    np.testing.assert_allclose(draws[inside, 1], draws[inside, 0], atol=1e-12)
    other = REUSED_NOISE.mechanism([[0.0]], rng, size=1_000)
    assert not np.isclose(other[:, 0], other[:, 1]).any()


def test_the_variance_of_laplace_noise_is_not_that_of_a_gaussian(rng):
    claim = GAUSSIAN_VARIANCE.breaks
    assert isinstance(claim, ExpectationClaim)
    database = claim.databases[0]
    found = claim.quantity(database, GAUSSIAN_VARIANCE.mechanism(database, rng, size=40_000))
    assert found.mean() - 6 * found.std() / 200 > claim.bound


@pytest.mark.long
def test_theorems_can_be_asked_for_everywhere():
    for theorem in THEOREMS.values():
        for name, p in theorem.parameters.items():
            for end in (p.within.low, p.within.high):
                subject = theorem.at(**{name: end})
                assert subject.claim.identifier == theorem.identifier
                if isinstance(subject.claim, IdentityClaim):
                    assert abs(subject.claim.compute() - subject.claim.stated) < 1e-9
                    continue
                assert subject.claim in subject.mechanism.claims
                assert isinstance(subject.mechanism.claims[0], PrivacyClaim)
        assert theorem.holds or THEOREMS[theorem.corrected].holds


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"multiplier": 0}, "multiplier must be positive, got 0"),
        ({"lipschitz": -1}, "lipschitz must be positive, got -1"),
        ({"steps": 0}, "steps must be positive, got 0"),
        ({"database": []}, "records must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    chosen = {"multiplier": 1.0, "lipschitz": 1.0, "steps": 2, "database": [[0.0]]} | parameters
    run = partial(
        noisy_gradient_descent, loss=LINEAR, start=(0.0,), step_size=1.0, projection=UNIT_BALL
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        run(rng=rng, **chosen)
