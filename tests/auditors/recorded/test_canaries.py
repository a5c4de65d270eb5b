"""Scores of two sides: bounds below the truth, whatever says which side is which."""

import numpy as np
import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.recorded import scores
from dpwitness.auditors.recorded.canaries import ranks_of
from dpwitness.auditors.results.results import Verdict


def normal(n, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 1, n), rng.normal(0, 1, n)


def test_bounds_lie_below_the_truth_and_near_it():
    inside, outside = normal(4000)
    found = scores(inside, outside, delta=0.1)
    # mu is 1, rho 1/2 and epsilon at delta .1 is 1.161; wrong with probability at most .001.
    assert 0.75 < found.epsilon_lower < 1.161
    assert 0.85 < found.mu_lower < 1
    assert 0.2 < found.rho_lower < 0.5
    assert (found.verdict, found.claim, found.factor_lower) == (None, None, None)


@pytest.mark.long
def test_no_order_and_no_scale_of_the_scores_changes_a_bound():
    inside, outside = normal(2000, 2.0)
    first = scores(inside, outside, epsilon=1.0)
    assert first.verdict is Verdict.REFUTED
    assert scores(np.exp(inside), np.exp(outside), epsilon=1.0).lower == first.lower
    for pair in ((-inside, -outside), (outside, inside), (np.sort(inside), np.sort(outside)[::-1])):
        found = scores(*pair, epsilon=1.0)
        assert found.verdict is Verdict.REFUTED
        assert found.lower == pytest.approx(first.lower, rel=0.15)
        assert not found.dependent


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "broken"),
    [({"epsilon": 1.0, "delta": 0.01}, True), ({"mu": 1.3}, True), ({"mu": 1.5}, False),
     ({"rho": 0.4}, True), ({"rho": 1.125}, False), ({"rho": 0.5, "delta": 0.01}, True),
     ({"renyi": [(2, 1.0), (4, 8.0)]}, True), ({"renyi": [(2, 2.25), (4, 4.5)]}, False),
     ({"curve": [(1, 0.1), (2, 0.01)]}, True), ({"curve": [(3, 0.1), (8, 1e-4)]}, False)],
)  # fmt: skip
def test_claims_of_every_kind(claim, broken):
    found = scores(*normal(3000, 1.5), **claim)
    assert found.verdict is (Verdict.REFUTED if broken else Verdict.NOT_REFUTED)
    if broken:
        assert found.threshold is not None
        assert found.detectable is None
    else:
        assert found.detectable > found.lower


def test_equal_scores_are_told_apart_by_a_coin_and_cost_little():
    rng = np.random.default_rng(3)
    inside, outside = rng.random(6000) < 0.75, rng.random(6000) < 0.25
    found = scores(inside, outside, epsilon=0.9)
    # The truth is ln 3.
    assert found.verdict is Verdict.REFUTED
    assert found.epsilon_lower < np.log(3)
    assert found.threshold.ties
    assert "random part" in found.threshold.describe()


def test_what_only_one_side_reaches_is_found():
    rng = np.random.default_rng(4)
    inside, outside = rng.random(5000), rng.random(5000)
    inside[rng.random(5000) < 0.02] = np.inf
    found = scores(inside, outside, epsilon=1.0, delta=1e-3)
    assert found.verdict is Verdict.REFUTED


def test_the_same_seed_gives_the_same_bits():
    pair = normal(500)
    assert scores(*pair, mu=0.5, seed=7) == scores(*pair, mu=0.5, seed=7)


def test_too_few_scores_are_inconclusive_and_copies_too():
    inside, outside = normal(30)
    assert scores(inside, outside, epsilon=0.1).verdict is Verdict.INCONCLUSIVE
    inside, outside = normal(300)
    found = scores(np.tile(inside, 3), outside, epsilon=0.1)
    assert found.dependent
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.remarks


def test_ranks_run_from_one_to_half():
    for size in (16, 17, 100, 12345):
        found = ranks_of(size)
        assert found[0] == 1
        assert size / 4 < found[-1] <= size / 2
        assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [({"epsilon": 1, "mu": 1}, "give one of"), ({"epsilon": -1}, "epsilon must be"),
     ({"mu": 0}, "mu"), ({"mu": 1, "delta": 0.1}, "delta goes with"), ({"delta": 2}, "delta must"),
     ({"alpha": 0.7}, "alpha must be"), ({"distance": 0}, "distance must"),
     ({"inside": ["a"] * 30}, "must be numbers"), ({"inside": [1.0] * 19}, "at least 20"),
     ({"inside": [np.nan] + [1.0] * 30}, "1 missing")],
)  # fmt: skip
def test_bad_input_is_told_in_a_sentence(given, words):
    inside, outside = normal(50)
    with pytest.raises(InvalidArgument, match=words):
        scores(**{"inside": inside, "outside": outside, **given})
