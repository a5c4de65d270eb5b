"""Sums of vectors: the law, the constants of the theorem, and where the printed one fails."""

from math import log, sqrt

import numpy as np
import pytest

from dpwitness.mechanisms.gradient_descent import theorems_vector_sum as theorems
from dpwitness.mechanisms.gradient_descent.broken_gradient_descent import (
    CONSTANT_ONE,
    ROWS_NOT_CLIPPED,
)
from dpwitness.mechanisms.gradient_descent.gradient_descent import UNIT_BALL
from dpwitness.mechanisms.gradient_descent.vector_sum import (
    gaussian_delta,
    l2_scale,
    necessary_constant,
    pure_scale,
    sufficient_constant,
    vector_sum,
    vector_sum_mechanism,
)
from dpwitness.mechanisms.model import IdentityClaim, PrivacyClaim, Relation

from ..laplace_loss import laplace_delta

THEOREMS = {theorem.identifier: theorem for theorem in theorems.THEOREMS}
PLANE = vector_sum_mechanism(dimension=2, epsilon=2.0, delta=1e-3)


def laplace_cdf(points):
    return np.where(points < 0, np.exp(-np.abs(points)) / 2, 1 - np.exp(-np.abs(points)) / 2)


def ratios(mechanism, one, two):
    laws = mechanism.law(one), mechanism.law(two)
    assert laws[0].scale == laws[1].scale
    return np.abs(laws[0].centres - laws[1].centres).ravel() / laws[0].scale


def exact_delta(subject, dimension, norm=1.0):
    """Brackets on the delta of adding the row that is spread over all coordinates."""
    spread = [norm / sqrt(dimension)] * dimension
    moved = ratios(subject.mechanism, [], [spread])
    return laplace_delta(moved, subject.claim.epsilon, cells=40)


def test_the_law_is_that_of_the_draws(rng, assert_distribution):
    database = [[0.5, -0.5], [3.0, 4.0]]
    # The second row lies outside the stated domain, so that it is cut down to the ball.
    draws = PLANE.run(database, rng, size=40_000)
    law = PLANE.law(database)
    assert law.centres == pytest.approx([1.1, 0.3])
    assert_distribution((draws - law.centres) / law.scale, laplace_cdf)
    correlation = np.corrcoef(draws.T)[0, 1]
    assert abs(correlation) < 0.04
    singles = [PLANE.run(database, rng)[0] for _ in range(2_000)]
    assert_distribution((np.array(singles) - law.centres[0]) / law.scale, laplace_cdf)


def test_no_rows_and_bad_scales(rng):
    draw = vector_sum([], rng, dimension=3, scale=1.0, clip=UNIT_BALL)
    assert draw.shape == (3,)
    with pytest.raises(ValueError, match=r"^scale must be positive, got 0$"):
        vector_sum([], rng, dimension=3, scale=0, clip=UNIT_BALL)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_the_scale_is_the_sufficient_constant_times_the_rate(epsilon, delta):
    rate = sqrt(log(1 / delta)) / epsilon
    constant = sufficient_constant(epsilon=epsilon, delta=delta)
    assert l2_scale(norm=3, epsilon=epsilon, delta=delta) == pytest.approx(3 * constant * rate)
    assert sqrt(2) < constant
    assert (constant <= 1 + 1 / sqrt(2)) == (epsilon <= log(1 / delta))


NECESSARY_AND_SUFFICIENT = {
    0.1: ".445/1.422 .662/1.419 .906/1.417 .977/1.417 1.103/1.416 1.171/1.415",
    0.5: ".733/1.452 .877/1.439 1.036/1.429 1.084/1.427 1.172/1.423 1.222/1.421",
    1: ".875/1.487 .980/1.464 1.099/1.444 1.137/1.439 1.207/1.431 1.248/1.427",
    2: "1.040/1.554 1.100/1.510 1.175/1.473 1.200/1.464 1.250/1.448 1.279/1.439",
    4: "1.247/1.674 1.253/1.596 1.275/1.528 1.284/1.510 1.307/1.479 1.323/1.464",
}


@pytest.mark.parametrize("epsilon", NECESSARY_AND_SUFFICIENT)
def test_table_of_constants(epsilon):
    deltas = (1e-2, 1e-3, 1e-5, 1e-6, 1e-9, 1e-12)
    for delta, entry in zip(deltas, NECESSARY_AND_SUFFICIENT[epsilon].split(), strict=True):
        needed, enough = map(float, entry.split("/"))
        assert necessary_constant(epsilon=epsilon, delta=delta) == pytest.approx(needed, abs=6e-4)
        assert sufficient_constant(epsilon=epsilon, delta=delta) == pytest.approx(enough, abs=6e-4)


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"), [(1, 1e-6, 2.4e-9), (2, 1e-3, 1.1e-5), (4, 0.01, 2.9e-4)]
)
def test_the_limit_at_the_sufficient_constant(epsilon, delta, expected):
    shift = 1 / l2_scale(norm=1, epsilon=epsilon, delta=delta)
    assert gaussian_delta(epsilon=epsilon, shift=shift) == pytest.approx(expected, rel=0.02)


@pytest.mark.long
def test_the_spread_direction_tends_to_the_gaussian_limit():
    constant = necessary_constant(epsilon=2, delta=1e-3)
    shift = 2 / (constant * sqrt(log(1e3)))
    found = [laplace_delta([shift / sqrt(d)] * d, 2.0)[0] for d in (1, 4, 16, 64, 256, 1024)]
    assert found == sorted(found)
    assert 0.93e-3 < found[-1] < 1e-3
    assert gaussian_delta(epsilon=2, shift=shift) == pytest.approx(1e-3)


@pytest.mark.parametrize(("dimension", "expected"), [(16, 2.3e-5), (64, 1.54e-4)])
def test_theorem_3_is_true_with_its_constant(dimension, expected):
    subject = THEOREMS["GD-T3"].at(dimension=dimension)
    lower, upper = exact_delta(subject, dimension)
    assert upper == pytest.approx(expected, rel=0.01)
    assert lower <= upper < subject.claim.delta


def test_a_row_on_one_axis_is_hidden_purely():
    subject = THEOREMS["GD-T3"].at()
    moved = ratios(subject.mechanism, [], [[1.0] + [0.0] * 63])
    assert moved.sum() == pytest.approx(4 / (1.6737 * sqrt(log(100))), rel=1e-4)
    # One large coordinate beside small ones: the more it weighs the less is lost.
    found = []
    for large in (0.2, 0.5, 0.8, 1.0):
        row = [large] + [sqrt((1 - large**2) / 63)] * 63
        found.append(laplace_delta(ratios(subject.mechanism, [], [row]), 4.0, cells=60)[1])
    assert found == sorted(found, reverse=True)
    assert found[-1] == 0


@pytest.mark.long
@pytest.mark.parametrize("identifier", ["GD-T3-LIT", "ERR-GD-3"])
def test_theorem_3_as_printed_is_false(identifier):
    theorem = THEOREMS[identifier]
    defaults = {name: p.default for name, p in theorem.parameters.items()}
    ends = [
        {**defaults, name: end}
        for name, p in theorem.parameters.items()
        for end in (p.within.low, p.within.high)
    ]
    for parameters in (defaults, *ends):
        subject = theorem.at(**parameters)
        lower, _ = exact_delta(subject, round(parameters["dimension"]), parameters["norm"])
        assert lower > subject.claim.delta
    assert not theorem.holds


def test_the_printed_constant_shows_in_draws(rng):
    subject = THEOREMS["GD-T3-LIT"].at()
    row = [1 / 8] * 64
    draws = [subject.mechanism(side, rng, size=100_000) for side in ([], [row])]
    scale = subject.mechanism.law([]).scale
    assert scale == pytest.approx(0.5365, abs=1e-4)
    likely, unlikely = (
        np.mean((np.abs(side - 1 / 8) - np.abs(side)).sum(axis=1) / scale > 4) for side in draws
    )
    assert likely == pytest.approx(0.0907, abs=0.004)
    assert likely - np.exp(4) * unlikely > 0.02


@pytest.mark.parametrize("dimension", [1, 4, 64])
def test_options_a_and_b_are_exactly_as_private_as_they_say(dimension):
    for identifier in ("GD-OPT-A", "GD-OPT-B"):
        subject = THEOREMS[identifier].at(dimension=dimension)
        spread = [1 / sqrt(dimension)] * dimension
        moved = ratios(subject.mechanism, [], [spread])
        assert moved.sum() == pytest.approx(subject.claim.epsilon)
    option_a = THEOREMS["GD-OPT-A"].at(dimension=dimension).mechanism.law([]).scale
    assert option_a == pytest.approx(
        sqrt(dimension) * pure_scale(norm=1, epsilon=1, dimension=dimension)
    )


def test_replacing_a_row_needs_twice_the_noise():
    twice = vector_sum_mechanism(
        dimension=2, epsilon=2.0, delta=1e-3, relation=Relation.REPLACE_ONE
    )
    assert twice.law([]).scale == pytest.approx(2 * PLANE.law([]).scale)


def test_claims_on_errors(rng):
    privacy, worst, squares, _ = PLANE.claims
    assert privacy.epsilon == 2
    for database in squares.databases:
        draws = PLANE(database, rng, size=100_000)
        for beta in worst.levels:
            assert np.mean(worst.loss(database, draws) >= worst.bound(beta)) <= beta + 0.005
        errors = squares.quantity(database, draws)
        assert errors.mean() == pytest.approx(squares.bound, rel=0.05)
        assert errors.var() == pytest.approx(squares.variance, rel=0.15)


def test_controls_lose_more_than_they_claim():
    clipped = ratios(PLANE, [], [[3.0, 3.0]])
    loose = ratios(ROWS_NOT_CLIPPED.mechanism, [], [[3.0, 3.0]])
    assert laplace_delta(clipped, 2.0)[1] <= 1e-3
    assert laplace_delta(loose, 2.0)[0] > 0.1
    moved = ratios(CONSTANT_ONE.mechanism, [], [[1 / sqrt(12)] * 12])
    assert laplace_delta(moved, 4.0)[0] == pytest.approx(0.342, abs=1e-3)


@pytest.mark.long
def test_theorems_can_be_asked_for_everywhere():
    for theorem in THEOREMS.values():
        for name, p in theorem.parameters.items():
            for end in (p.within.low, p.within.high):
                subject = theorem.at(**{name: end})
                assert subject.claim.identifier == theorem.identifier
                if isinstance(subject.claim, PrivacyClaim):
                    assert subject.claim in subject.mechanism.claims
                if isinstance(subject.claim, IdentityClaim):
                    found = subject.claim.compute()
                    assert found == pytest.approx(subject.claim.stated, abs=subject.claim.tolerance)
        assert theorem.holds or THEOREMS[theorem.corrected].holds
