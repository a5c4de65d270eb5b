"""Canaries of one training: counts, bounds below the truth, known answers, bad input."""

import numpy as np
import pytest
from scipy.stats import norm

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.recorded import guesses_of_one_run, scores_of_one_run
from dpwitness.auditors.results.results import Verdict


def canaries(size, shift, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.random(size) < 0.5
    return rng.normal(shift * member, 1), member


@pytest.mark.parametrize(
    ("shift", "theirs", "curved"),
    [(1, 1.13346, 2.164749), (2, 2.311945, 4.7218075), (4, 4.395568, 9.133752)],
)
def test_more_is_proved_than_jax_privacy_proves_of_its_own_scores(shift, theirs, curved):
    # Its tests have these answers for scores at quantiles, delta 1e-6, significance .05.
    quantiles = norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    values, member = np.concatenate([quantiles + shift, quantiles]), np.repeat([1, 0], 10_000)
    plain = scores_of_one_run(values, member, epsilon=0.1, delta=1e-6, alpha=0.05)
    assert plain.epsilon_lower > theirs
    mu = scores_of_one_run(values, member, mu=0.1, alpha=0.05).mu_lower
    epsilon = curved
    low = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert low > 1e-6, "at their epsilon this mu has more than their delta"
    assert mu < shift


def test_no_series_depends_on_which_end_means_in():
    values, member = canaries(2000, 2.0)
    found = scores_of_one_run(values, member, mu=0.5)
    assert found.verdict is Verdict.REFUTED
    assert scores_of_one_run(-values, member, mu=0.5).lower == pytest.approx(found.lower, rel=0.02)
    assert scores_of_one_run(np.exp(values), member, mu=0.5) == found


def test_without_a_claim_both_bounds_share_alpha():
    values, member = canaries(2000, 2.0)
    both = scores_of_one_run(values, member, delta=1e-6, alpha=0.1)
    assert both.verdict is None
    one = scores_of_one_run(values, member, epsilon=0.1, delta=1e-6, alpha=0.05)
    assert both.epsilon_lower == pytest.approx(one.epsilon_lower, abs=1e-3)
    assert 0 < both.mu_lower < 2


@pytest.mark.parametrize(
    ("claim", "broken"),
    [({"epsilon": 0.5}, True), ({"epsilon": 1.0}, False), ({"mu": 0.1}, True), ({"mu": 0.4}, False),
     ({"rho": 0.01}, True), ({"rho": 0.1}, False), ({"renyi": [(2, 0.0001)]}, True),
     ({"curve": [(0.1, 0.001), (0.3, 0)]}, True), ({"epsilon": 0.5, "distance": 3}, False)],
)  # fmt: skip
def test_three_numbers_against_claims_of_every_kind(claim, broken):
    found = guesses_of_one_run(1000, 200, 150, **claim)
    assert found.verdict is (Verdict.REFUTED if broken else Verdict.NOT_REFUTED)
    assert found.best.needed is not None
    assert (found.best.needed <= 150) == broken
    assert found.claim is not None
    if broken:
        name = "epsilon" if found.claim.curve is None else found.claim.curve.parameter
        claimed = 1 if name == "factor" else claim[name]
        assert found.lower >= claimed


def test_what_no_guesses_could_refute_is_inconclusive():
    assert guesses_of_one_run(20, 5, 5, epsilon=3.0).verdict is Verdict.INCONCLUSIVE
    assert guesses_of_one_run(20, 5, 5, epsilon=3.0).best.needed is None


@pytest.mark.parametrize(
    ("given", "words"),
    [(([1.0] * 15, [1] * 15), "at least 16"), (([1.0] * 20, [2] * 20), "0 and 1"),
     (([1.0] * 20, [1] * 19), "shapes"), (([np.nan] * 20, [1] * 20), "missing")],
)  # fmt: skip
def test_bad_scores_are_told(given, words):
    with pytest.raises(InvalidArgument, match=words):
        scores_of_one_run(*given)


@pytest.mark.parametrize("counts", [(10, 20, 5), (10, 5, 6), (10, 0, 0)])
def test_bad_counts_are_told(counts):
    with pytest.raises(InvalidArgument, match="right <= guesses <= canaries"):
        guesses_of_one_run(*counts)
