from math import e, exp, log, sqrt

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import (
    advanced_calibration,
    advanced_composition,
    basic_composition,
    bounded_range_to_zcdp,
    heterogeneous_composition,
    optimal_delta,
    pure_to_zcdp,
    response_delta,
    zcdp_calibration,
    zcdp_composition,
    zcdp_root,
    zcdp_to_epsilon,
)


@pytest.mark.parametrize(("epsilon", "delta", "stated"), [(1, 1e-6, 0.13217), (1, 0.05, 0.26811)])
def test_root_of_the_zcdp_calibration(epsilon, delta, stated):
    root = zcdp_root(epsilon, delta)
    assert root == pytest.approx(stated, abs=5e-6)
    assert zcdp_to_epsilon(root**2, delta) == pytest.approx(epsilon, rel=1e-13)
    logarithm = log(1 / delta)
    assert epsilon / (2 * sqrt(logarithm + epsilon)) <= root <= epsilon / (2 * sqrt(logarithm))


def test_root_keeps_its_digits_at_tiny_epsilon():
    assert zcdp_root(1e-14, 0.01) == pytest.approx(1e-14 / (2 * sqrt(log(100))), rel=1e-12)


def test_parts_to_zcdp():
    assert pure_to_zcdp(3) == 4.5
    assert bounded_range_to_zcdp(4) == 2


def test_basic_composition_adds():
    assert basic_composition([0.5, 0, 1]) == (1.5, 0)
    assert basic_composition([1, 2], [0.25, 0.5]) == (3, 0.75)


@pytest.mark.parametrize(
    ("rounds", "epsilon", "delta", "constants", "whole", "exact", "within"),
    [
        (100, 0.1, 1e-6, (2, 2), 6.292, 1.000e-4, 5e-8),
        (1000, 0.1, 1e-6, (1, 0), 8.31, 9.6e-2, 5e-4),
        (1000, 0.1, 1e-6, (2, 0), 11.75, 9.7e-3, 5e-5),
        (1000, 0.1, 1e-6, (1, 1), 18.31, 1.0e-3, 5e-5),
        (1000, 0.0158, 1e-12, (1, 1), 2.524, 6.6e-8, 5e-10),
        (100, 0.05, 1e-11, (1, 1), 2.526, 3.7e-8, 5e-10),
        (1000, 0.0158, 1e-12, (2, 2), 3.716, 1.0e-9, 5e-11),
        (100, 0.05, 1e-11, (2, 2), 3.719, 1.0e-9, 5e-11),
    ],
)
def test_advanced_theorem_and_the_exact_delta(
    rounds, epsilon, delta, constants, whole, exact, within
):
    root, linear = constants
    level, total = advanced_composition(
        epsilon=epsilon, delta=delta, rounds=rounds, root=root, linear=linear
    )
    assert level == pytest.approx(whole, abs=5e-3)
    assert total == pytest.approx(2 * rounds * delta)
    optimal = optimal_delta(epsilon=epsilon, delta=delta, rounds=rounds, level=level)
    assert optimal == pytest.approx(exact, abs=within)


def test_advanced_theorem_holds_on_a_grid():
    largest = 0
    for rounds in (1, 2, 3, 5, 10, 30, 100, 1000):
        for epsilon in (0.01, 0.05, 0.1, 0.3, 0.5, 1):
            for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.49):
                if rounds * delta >= 1:
                    continue
                parts = {"epsilon": epsilon, "delta": delta, "rounds": rounds}
                level, total = advanced_composition(**parts)
                largest = max(largest, optimal_delta(**parts, level=level) / total)
    assert largest == pytest.approx(0.5, abs=1e-3)


def test_calibrations_reach_their_targets():
    each, leak = advanced_calibration(epsilon=1, delta=1e-6, rounds=50)
    whole, total = advanced_composition(epsilon=each, delta=leak, rounds=50)
    assert whole <= 1
    assert total == pytest.approx(1e-6)
    each = zcdp_calibration(epsilon=1, delta=1e-6, rounds=50)
    assert each == pytest.approx(sqrt(2 / 50) * 0.13217, rel=1e-5)
    assert each >= 1 / sqrt(2 * 50 * (log(1e6) + 1))
    assert zcdp_composition([each] * 50, 1e-6) == pytest.approx(1)


def test_zcdp_composition_beats_the_advanced_theorem():
    level = zcdp_composition([0.1] * 100, 1e-4)
    assert level == pytest.approx(4.792, abs=5e-4)
    delta = optimal_delta(epsilon=0.1, delta=1e-6, rounds=100, level=level)
    assert delta == pytest.approx(1.009e-4, abs=5e-8)


def test_heterogeneous_formulas_hold_for_random_epsilons(rng):
    for _ in range(8):
        epsilons = list(rng.uniform(0.01, 2, size=12))
        for delta in (0.1, 1e-6):
            taught = heterogeneous_composition(epsilons, delta)
            sharper = zcdp_composition(epsilons, delta)
            assert taught - sharper == pytest.approx(1.5 * sum(x**2 for x in epsilons))
            assert response_delta(epsilons, taught) <= 1e-16
            assert response_delta(epsilons, sharper) <= delta


def test_exact_delta_of_responses_by_hand():
    right = e / (1 + e)
    assert response_delta([1.0], 0) == pytest.approx(2 * right - 1)
    assert response_delta([1.0], 1) == 0
    # Of two responses only both right have a loss above 1, and it is 2.
    assert response_delta([1.0, 1.0], 1) == pytest.approx(right**2 * (1 - exp(-1)))


def test_equal_epsilons_are_counted_and_different_ones_enumerated():
    nearly = list(np.linspace(0.3, 0.3 + 1e-9, 10))
    assert response_delta(nearly, 0.5) == pytest.approx(response_delta([0.3] * 10, 0.5), rel=1e-6)
    with pytest.raises(ValueError, match="more than 4194304"):
        response_delta(list(np.linspace(0.1, 0.2, 23)), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zcdp_root(0, 0.1), "epsilon must be positive, got 0"),
        (lambda: zcdp_root(1, 0), "delta must be between 0 and 1, got 0"),
        (lambda: zcdp_root(1, 1), "delta must be between 0 and 1, got 1"),
        (
            lambda: advanced_composition(epsilon=0.1, delta=0.01, rounds=100),
            r"rounds \* delta must be below 1, got 1.0",
        ),
        (
            lambda: advanced_composition(epsilon=1.5, delta=0.01, rounds=2),
            "epsilon must be at most 1, got 1.5",
        ),
        (lambda: advanced_calibration(epsilon=9, delta=0.1, rounds=2), "epsilon must be at most"),
        (lambda: advanced_calibration(epsilon=5, delta=0.1, rounds=1), "of each round must be"),
        (lambda: basic_composition([1, 2], [0.1]), "one for each epsilon or none"),
        (lambda: basic_composition([-1]), "epsilons must be finite and at least 0"),
        (lambda: zcdp_composition([1, -2], 0.1), r"epsilons\[1\] must be positive, got -2"),
        (lambda: zcdp_composition([], 0.1), "epsilons must be at least one number"),
    ],
)
def test_numbers_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=f"^.*{message}"):
        call()
