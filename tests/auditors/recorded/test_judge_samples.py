"""Claims judged on recorded samples: sound at the boundary, split beforehand, copies noticed."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.recorded import judge_samples
from dpwitness.auditors.results.results import Verdict


def outputs(values):
    return Outputs.of(values, len(values))


def test_a_tight_claim_is_refuted_no_more_often_than_alpha():
    # Randomized response exactly at its epsilon: 30 samples at alpha .05, of which 12 or more
    # are refuted with probability below 1e-7.
    rng, refuted = np.random.default_rng(1), 0
    for _ in range(30):
        first, second = (outputs(rng.random(800) < p) for p in (0.75, 0.25))
        refuted += judge_samples(first, second, epsilon=np.log(3), alpha=0.05).verdict is (
            Verdict.REFUTED
        )
    assert refuted < 12


def test_a_false_claim_is_refuted_in_either_order_of_the_samples():
    rng = np.random.default_rng(2)
    first, second = outputs(rng.laplace(0, 1, 20_000)), outputs(rng.laplace(1, 1, 9_000))
    for pair in ((first, second), (second, first)):
        found = judge_samples(*pair, epsilon=0.7)
        assert found.verdict is Verdict.REFUTED
        assert 0.7 <= found.epsilon_lower < 1
        assert found.count.trials == (0.75 * len(pair[0]), 0.75 * len(pair[1]))
    assert judge_samples(first, second, epsilon=1.0).verdict is Verdict.NOT_REFUTED


CURVES = {
    "mu": ({"mu": 1.0}, 1.0), "rho": ({"rho": 0.5}, 1.0),
    "two steps": ({"mu": 0.5, "distance": 2}, 1.0),
    "Renyi": ({"renyi": ((2.0, 1.0), (4.0, 2.0))}, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", CURVES)
def test_a_false_curve_is_refuted_and_a_tight_one_is_not(name):
    """Gaussian noise: mu 1 exactly, or 1.6; each is one fixed computation."""
    claim, shift = CURVES[name]
    rng = np.random.default_rng(4)
    first, second, far = (outputs(rng.normal(m, 1, 8000)) for m in (shift, 0.0, 1.6 * shift))
    stands, falls = judge_samples(first, second, **claim), judge_samples(far, second, **claim)
    assert stands.verdict is Verdict.NOT_REFUTED
    assert stands.size_lower <= stands.curve.size
    assert falls.verdict is Verdict.REFUTED
    assert falls.size_lower >= falls.curve.size
    assert falls.distance == claim.get("distance", 1)


@pytest.mark.long
def test_a_curve_at_its_edge_is_refuted_no_more_often_than_alpha():
    # Two coins that touch mu 1 at q = .2; 60 samples at alpha .2, of which 30 or more are refuted
    # with probability below 1e-7.
    rng, refuted, q = np.random.default_rng(6), 0, 0.2
    p = float(ndtr(ndtri(q) + 1))
    for _ in range(60):
        first, second = (outputs(rng.random(800) < one) for one in (p, q))
        refuted += judge_samples(first, second, mu=1.0, alpha=0.2).verdict is Verdict.REFUTED
    assert refuted < 30


def test_samples_of_one_law_are_too_few_only_if_they_are_few():
    # The event that looks worst is then a likely one or a rare one by luck, and says nothing of it.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        pairs = {size: [Outputs.of(rng.laplace(size=size), size) for _ in range(2)]
                 for size in (120, 20_000)}  # fmt: skip
        found = {size: judge_samples(*pair, epsilon=0.1) for size, pair in pairs.items()}
        assert found[20_000].verdict is Verdict.NOT_REFUTED
        assert found[120].verdict is Verdict.INCONCLUSIVE
        assert found[20_000].detectable < 0.2 < found[120].detectable


def test_what_teaches_does_not_judge():
    # A value that only the first quarter has is learnt, and then never counted.
    first = np.zeros(1000)
    first[:250] = 7.0
    found = judge_samples(outputs(first), outputs(np.zeros(1000)), epsilon=0.0)
    assert found.verdict is not Verdict.REFUTED
    assert found.count.hits in {(0, 0), (750, 750)}


def test_outputs_of_any_kind():
    rng = np.random.default_rng(4)

    def rows(kinds):
        return Outputs.of_list(
            [{"k": kinds[rng.integers(2)], "x": rng.random()} for _ in range(900)]
        )

    assert judge_samples(rows("ab"), rows("bc"), epsilon=1.0).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    "claim",
    [{"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": 1, "delta": 1},
     {"epsilon": 1, "distance": 0}, {"epsilon": 1, "alpha": 0.5}],
)  # fmt: skip
def test_a_claim_out_of_range(claim):
    with pytest.raises(InvalidArgument):
        judge_samples(outputs(np.zeros(200)), outputs(np.zeros(200)), **claim)
    with pytest.raises(InvalidArgument, match="at least 100"):
        judge_samples(outputs(np.zeros(200)), outputs(np.zeros(99)), epsilon=1.0)


def gaussians(mu, seed, size=100_000):
    rng = np.random.default_rng(seed)
    return outputs(rng.normal(mu, 1, size)), outputs(rng.normal(0, 1, size))


def test_a_rare_threshold_is_counted_at_three_places_with_one_alpha():
    """The best half-line gives 5.58 by the exact law, counted by 75,000 outputs a side."""
    found = [
        judge_samples(*gaussians(2.0, seed), epsilon=0.0, delta=1e-5, alpha=0.05)
        for seed in range(8)
    ]
    assert {one.events for one in found} == {3}
    assert {round(one.level, 9) for one in found} <= {0.035, 0.0075}
    assert np.mean([one.epsilon_lower for one in found]) >= 0.93 * 5.58


@pytest.mark.long
def test_three_thresholds_refute_a_tight_claim_no_more_often_than_alpha():
    """Laplace noise exactly at its claim; 40 of 200 are expected at most, and 66 by 1e-5."""
    refuted = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        pair = outputs(1 + rng.laplace(size=400)), outputs(rng.laplace(size=400))
        refuted += judge_samples(*pair, epsilon=1.0, alpha=0.2).verdict is Verdict.REFUTED
    assert refuted <= 66
