"""Negative controls of one draw have a witness whose two probabilities are known exactly."""

from math import e, exp, inf, log

import numpy as np
import pytest

from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS

# name: (database, neighbour, event, P[event] on the database, P[event] on the neighbour)
WITNESSES = {
    "EM-NAIVE": ([0, 1], [1, 1], lambda out: out == 0, 1 / 2, 1 / (1 + e**2)),
    "EM-DDR": ([0, 1], [0], lambda out: out == 1, 1 / 2, 0),
    "laplace-understated-sensitivity": ([], [2], lambda out: out <= 0, 1 / 2, exp(-2) / 2),
    "laplace-no-clipping": ([], [2.0], lambda out: out <= 0, 1 / 2, exp(-2) / 2),
    "laplace-inverted-scale": ([], [1], lambda out: out <= 0, 1 / 2, exp(-2) / 2),
    "laplace-shared-noise": ([], [0], lambda out: out[:, 0] == out[:, 1], 1, 0),
    "laplace-one-sided-noise": ([], [0], lambda out: out < 1, 1 - exp(-1), 0),
    "laplace-empty-database-unnoised": ([], [0], lambda out: out == 0, 1, 0),
    "geometric-wrong-ratio": ([], [0], lambda out: out <= 0, e**2 / (1 + e**2), 1 / (1 + e**2)),
    "geometric-truncated-to-data": ([0], [], lambda out: out == 1, e / (1 + e), 0),
    "randomized-response-too-honest": (
        "yes",
        "no",
        lambda out: out == "yes",
        e**2 / (2 + e**2),
        1 / (2 + e**2),
    ),
    "grid-laplace-answer-off-grid": ([0.1], [], lambda out: out % 0.25 != 0, 1, 0),
    "grid-laplace-rounding-unaccounted": (
        [1],
        [],
        lambda out: (out >= 1).all(axis=-1),
        (e / (1 + e)) ** 2,
        (1 / (1 + e)) ** 2,
    ),
    "drill-down-budget-not-split": (
        [3],
        [],
        lambda out: (out >= 1).all(axis=-1),
        1 / 4,
        exp(-2) / 4,
    ),
    "noisy-conjunction-scale-of-one-count": (
        [[0, 0, 1], [0, 0, 1], [1, 1, 1]],
        [[0, 0, 1], [0, 0, 1], [0, 0, 1]],
        lambda out: (out == [True, True, False, False]).all(axis=-1),
        (e / 16) ** 2 * (1 - e**2 / 16) ** 2,
        (1 / 16) ** 2 * (4 * exp(-3)) ** 2,
    ),
    "greedy-conjunction-whole-budget": (
        [[0, 1], [1, 1]],
        [[0, 1], [1, 0]],
        lambda out: (out == 2).all(axis=-1),
        (1 + 2 * exp(-0.5)) ** -3,
        (2 + exp(0.5)) ** -3,
    ),
    "greedy-conjunction-stops-without-negatives": (
        [[1, 1, 1]],
        [[1, 1, 0]],
        lambda out: out[:, 0] == -1,
        1,
        0,
    ),
    "exponential-naive-of-voters": (
        [[1, 0, 0, 0, 0]],
        [[1, 0, 0, 0, 0], [-1, 1, 1, 1, 1]],
        lambda out: out == 0,
        e / (e + 4),
        1 / (1 + 4 * e),
    ),
    "exponential-monotone-under-replacement": (
        [1, 2],
        [0, 3],
        lambda out: out == 0,
        1 / (1 + e),
        1 / (1 + e**3),
    ),
    "exponential-overflow": ([0], [], lambda out: out == 0, 1 / (1 + e**0.5), 0),
    # The first pair by quadrature.
    "report-noisy-max-as-if-monotone": (
        [[1, 0, 0, 0, 0]],
        [[1, 0, 0, 0, 0], [-1, 1, 1, 1, 1]],
        lambda out: out == 0,
        0.4356648,
        0.0750324,
    ),
    "one-sided-noisy-arg-max-as-if-monotone": (
        [[1, 0, 0, 0, 0]],
        [[1, 0, 0, 0, 0], [-1, 1, 1, 1, 1]],
        lambda out: out == 0,
        (1 - (1 - exp(-1)) ** 5) * e / 5,
        exp(-1) / 5,
    ),
}
CONTROLS = {control.mechanism.name: control for control in NEGATIVE_CONTROLS}


def test_every_witness_is_of_a_control():
    assert set(WITNESSES) <= set(CONTROLS)
    assert len(CONTROLS) == len(NEGATIVE_CONTROLS)


@pytest.mark.parametrize("name", WITNESSES)
def test_the_witness_breaks_the_claim(name):
    *_, likely, unlikely = WITNESSES[name]
    claim = CONTROLS[name].breaks
    assert claim.delta == 0
    loss = log(likely / unlikely) if unlikely else inf
    assert loss > claim.epsilon + 0.4


@pytest.mark.parametrize("name", WITNESSES)
def test_the_control_has_the_probabilities_of_its_witness(name, rng, assert_rate):
    database, neighbour, event, likely, unlikely = WITNESSES[name]
    mechanism = CONTROLS[name].mechanism
    assert_rate(event(mechanism(database, rng, size=40_000)), likely)
    assert_rate(event(mechanism(neighbour, rng, size=40_000)), unlikely)


@pytest.mark.parametrize("control", NEGATIVE_CONTROLS, ids=lambda c: c.mechanism.name)
def test_a_control_states_the_claim_it_breaks(control):
    assert control.breaks in control.mechanism.claims
    assert control.defect
    assert "\n" not in control.defect


def test_controls_are_not_sold_as_sound():
    sound = {mechanism.name for mechanism in CATALOGUE}
    codes = {mechanism.identifier for mechanism in CATALOGUE if mechanism.identifier}
    for control in NEGATIVE_CONTROLS:
        assert control.mechanism.name not in sound
        assert control.mechanism.identifier not in codes


def test_range_read_off_the_data_is_none_when_there_is_none(rng):
    mechanism = CONTROLS["EM-DDR"].mechanism
    assert mechanism([], rng) is None
    assert set(mechanism([], rng, size=4)) == {None}
    assert set(mechanism([2, 2, 0], rng, size=100)) == {0, 2}


def test_truncated_counts_stay_inside_the_data(rng):
    draws = CONTROLS["geometric-truncated-to-data"].mechanism([0] * 3, rng, size=500)
    assert set(np.unique(draws)) == {0, 1, 2, 3}
