from itertools import combinations, product
from math import exp

import numpy as np
import pytest

from dpwitness.mechanisms.selection.report_noisy_max import (
    ONE_SIDED_NOISY_ARG_MAX,
    one_sided_log_probabilities,
    one_sided_noisy_arg_max,
)

UNIT = {"sensitivity": 1, "epsilon": 1}


def loss(first, second, **parameters):
    logs = [one_sided_log_probabilities(scores, **UNIT, **parameters) for scores in (first, second)]
    return np.abs(logs[0] - logs[1]).max()


def inclusion_exclusion(scores, scale):
    heads = np.exp((np.asarray(scores, dtype=float) - max(scores)) / scale)
    found = []
    for index, head in enumerate(heads):
        others = np.delete(heads, index)
        found.append(
            head
            * sum(
                (-1) ** size * np.prod(chosen) / (size + 1)
                for size in range(others.size + 1)
                for chosen in combinations(others, size)
            )
        )
    return found


def test_law_on_four_scores():
    found = np.exp(one_sided_log_probabilities([0, 1, 2, 3], **UNIT))
    assert found == pytest.approx([0.07948, 0.13722, 0.24767, 0.53563], abs=5e-6)


def test_law_is_that_of_inclusion_exclusion(rng):
    for _ in range(60):
        scores = rng.integers(0, 12, size=rng.integers(1, 9))
        found = np.exp(one_sided_log_probabilities(scores, **UNIT))
        assert found == pytest.approx(inclusion_exclusion(scores, 2), rel=1e-9)
        assert found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("ahead", "expected"), [(1, 0.30327), (2, 0.18394), (4, 0.067668)])
def test_two_candidates(ahead, expected):
    found = exp(one_sided_log_probabilities([0, ahead], **UNIT)[0])
    assert found == pytest.approx(expected, abs=5e-6)
    halved = exp(one_sided_log_probabilities([0, ahead], **UNIT, monotone=True)[0])
    assert halved == pytest.approx(exp(-ahead) / 2, rel=1e-12)


def test_epsilon_is_reached_on_small_monotone_scores():
    worst = max(
        loss(scores, np.add(scores, added), monotone=True)
        for scores in product(range(4), repeat=3)
        for added in product((0, 1), repeat=3)
    )
    assert worst == pytest.approx(1, abs=5e-5)
    assert worst <= 1 + 1e-12


def test_epsilon_is_reached_on_small_scores_of_either_sign():
    worst = max(
        loss(scores, np.add(scores, moved))
        for scores in product(range(4), repeat=3)
        for moved in product((-1, 0, 1), repeat=3)
    )
    assert worst == pytest.approx(1, abs=5e-5)
    assert worst <= 1 + 1e-12


@pytest.mark.parametrize(("others", "expected"), [(1, 1.4899), (4, 1.8936), (9, 1.9898)])
def test_half_the_noise_is_too_little_when_scores_fall(others, expected):
    ahead = np.array([1.0] + [0.0] * others)
    assert loss(ahead, 1 - ahead, monotone=True) == pytest.approx(expected, abs=5e-5)
    assert loss(ahead, 1 - ahead) <= 1 + 1e-12


def test_draws_have_the_law(rng, assert_frequencies):
    rows = [0, 1, 1, 2]
    law = np.exp(ONE_SIDED_NOISY_ARG_MAX.law(rows).log_probabilities)
    many = ONE_SIDED_NOISY_ARG_MAX(rows, rng, size=(40, 1000))
    assert_frequencies(np.bincount(many.ravel(), minlength=3), law)
    single = [int(ONE_SIDED_NOISY_ARG_MAX(rows, rng)) for _ in range(3_000)]
    assert_frequencies(np.bincount(single, minlength=3), law)


@pytest.mark.parametrize("rows", [[], [0], [0, 0, 1], [0] * 5, [0, 1, 2] * 3 + [2]])
def test_regret_is_promised_truly(rows):
    law = ONE_SIDED_NOISY_ARG_MAX.law(rows)
    utility = ONE_SIDED_NOISY_ARG_MAX.claims[1]
    losses = utility.loss(rows, law.outcomes)
    for beta in np.linspace(0.001, 0.999, 97):
        assert np.exp(law.log_probabilities)[losses >= utility.bound(beta)].sum() <= beta


def test_bad_parameters_are_named(rng):
    with pytest.raises(ValueError, match=r"^sensitivity must be positive, got -2$"):
        one_sided_noisy_arg_max([0, 1], rng, score=np.asarray, sensitivity=-2, epsilon=1)
