from itertools import product
from math import exp

import numpy as np
import pytest

from dpwitness.mechanisms.selection.exponential import log_probabilities
from dpwitness.mechanisms.selection.report_noisy_max import (
    REPORT_GUMBEL_MAX,
    REPORT_NOISY_MAX,
    gumbel_max_log_probabilities,
    noisy_max_log_probabilities,
    report_noisy_max,
)

UNIT = {"sensitivity": 1, "epsilon": 1}


def loss(first, second, **parameters):
    logs = [noisy_max_log_probabilities(scores, **UNIT, **parameters) for scores in (first, second)]
    return np.abs(logs[0] - logs[1]).max()


def opposed(others):
    ahead = np.array([1.0] + [0.0] * others)
    return ahead, 1 - ahead


@pytest.mark.parametrize(
    ("ahead", "expected"), [(1, 0.275910), (2, 0.135335), (4, 0.027473), (8, 0.000839)]
)
def test_two_candidates(ahead, expected):
    found = exp(noisy_max_log_probabilities([0, ahead], **UNIT, monotone=True)[0])
    assert found == pytest.approx(expected, abs=5e-7)
    assert found == pytest.approx(exp(-ahead) * (1 + ahead / 2) / 2, rel=1e-12)


def test_probabilities_add_up_and_ignore_a_common_shift(rng):
    for _ in range(30):
        scores = rng.uniform(0, 30, size=rng.integers(1, 9))
        logs = noisy_max_log_probabilities(scores, **UNIT)
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
        assert noisy_max_log_probabilities(scores + 1e3, **UNIT) == pytest.approx(logs, abs=1e-9)


def test_gumbel_noise_is_the_exponential_mechanism(rng):
    found = np.exp(gumbel_max_log_probabilities([0, 1, 2, 3], **UNIT))
    assert found == pytest.approx([0.10154, 0.16741, 0.27600, 0.45505], abs=5e-6)
    for _ in range(100):
        scores = rng.uniform(0, 40, size=rng.integers(1, 12))
        exact = log_probabilities(scores, **UNIT)
        assert gumbel_max_log_probabilities(scores, **UNIT) == pytest.approx(exact, abs=1e-11)


def test_loss_over_all_small_monotone_scores():
    # Where noise is Laplace, epsilon is only approached.
    worst = max(
        loss(scores, np.add(scores, added), monotone=True)
        for scores in product(range(4), repeat=3)
        for added in product((0, 1), repeat=3)
    )
    assert worst == pytest.approx(0.9937, abs=5e-5)


def test_loss_over_small_scores_of_either_sign():
    worst = max(
        loss(scores, np.add(scores, moved))
        for scores in product(range(3), repeat=3)
        for moved in product((-1, 1), repeat=3)
    )
    assert 0.9 < worst <= 1


@pytest.mark.parametrize(("others", "expected"), [(1, 0.9648), (4, 1.7590), (9, 1.9450)])
def test_half_the_noise_is_too_little_when_scores_fall(others, expected):
    assert loss(*opposed(others), monotone=True) == pytest.approx(expected, abs=5e-5)
    assert loss(*opposed(others)) <= 1


@pytest.mark.parametrize(
    ("mechanism", "database"),
    [(REPORT_NOISY_MAX, [0, 1, 1, 1]), (REPORT_GUMBEL_MAX, [[1, -1, 0], [1, 1, -1]])],
)
def test_draws_have_the_law(mechanism, database, rng, assert_frequencies):
    many = mechanism(database, rng, size=(40, 1000))
    law = np.exp(mechanism.law(database).log_probabilities)
    assert_frequencies(np.bincount(many.ravel(), minlength=3), law)
    single = [int(mechanism(database, rng)) for _ in range(3_000)]
    assert_frequencies(np.bincount(single, minlength=3), law)


@pytest.mark.parametrize("mechanism", [REPORT_NOISY_MAX, REPORT_GUMBEL_MAX])
def test_regret_is_promised_truly(mechanism):
    rows = [0] * 9 + [1] * 5 if mechanism is REPORT_NOISY_MAX else [[1, 0, -1]] * 4
    law = mechanism.law(rows)
    for claim in mechanism.claims[1:]:
        losses = claim.loss(rows, law.outcomes)
        for beta in np.linspace(0.001, 0.999, 97):
            assert np.exp(law.log_probabilities)[losses >= claim.bound(beta)].sum() <= beta


def test_bad_parameters_are_named(rng):
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got 0$"):
        report_noisy_max([0, 1], rng, score=np.asarray, sensitivity=1, epsilon=0)
