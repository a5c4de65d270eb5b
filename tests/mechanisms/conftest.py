"""Tests of laws: each fixture returns an assertion that a right sampler fails once in 1e7 seeds.

The seeds are fixed, so a test that passes goes on passing.
"""

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, chdtrc

ERROR = 1e-7


@pytest.fixture
def rng():
    return np.random.default_rng(20240601)


@pytest.fixture
def assert_frequencies():
    """Pearson's chi-square; at least 10 expected in a cell keep its approximation honest."""

    def check(counts, probabilities):
        counts = np.asarray(counts, dtype=float)
        expected = counts.sum() * np.asarray(probabilities)
        assert expected.sum() == pytest.approx(counts.sum())
        assert expected.min() >= 10
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert chdtrc(len(counts) - 1, statistic) > ERROR

    return check


@pytest.fixture
def assert_rate():
    """Exact two-sided binomial test of how often something happened."""

    def check(happened, probability):
        hits, trials = int(np.count_nonzero(happened)), happened.size
        if probability in (0, 1):
            assert hits == probability * trials
            return
        below = bdtr(hits, trials, probability)
        above = bdtrc(hits - 1, trials, probability) if hits else 1.0
        assert min(below, above) > ERROR / 2

    return check


@pytest.fixture
def assert_distribution():
    """Greatest distance to a distribution function, by the Dvoretzky-Kiefer-Wolfowitz bound."""

    def check(draws, distribution):
        draws = np.sort(draws, axis=None)
        steps = np.arange(draws.size + 1) / draws.size
        reached = distribution(draws)
        distance = max((steps[1:] - reached).max(), (reached - steps[:-1]).max())
        assert distance < np.sqrt(np.log(2 / ERROR) / (2 * draws.size))

    return check
