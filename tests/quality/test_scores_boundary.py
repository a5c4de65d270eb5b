"""Scores at the edge of a claim: refuted at most as often as alpha says, and tight beside the best.

At the edge X exceeds every threshold that Y exceeds with chance q with the largest chance that the
claim allows, given that it holds in both orders. Counts of wrong
refutations are compared with what a binomial at alpha exceeds with probability 1e-7.
"""

import numpy as np
import pytest
from scipy.special import bdtrc, ndtr

from dpwitness.auditors.bounds import two_sample
from dpwitness.auditors.bounds.ranks import of_curve, of_epsilon
from dpwitness.auditors.recorded import scores_of_one_run
from dpwitness.auditors.recorded.canaries import _shares, _shuffled, _split, scores
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.model import (
    ConcentratedCurve,
    GaussianCurve,
    PointsCurve,
    RenyiCurve,
)

pytestmark = pytest.mark.quality
RUNS, SIZE = 2000, 300
EDGES = {
    "epsilon": (of_epsilon(0.0), 1.0),
    "epsilon and delta": (of_epsilon(0.02), 1.0),
    "mu": (of_curve(GaussianCurve(1.0)), 1.0),
    "rho": (of_curve(ConcentratedCurve(1.0)), 0.5),
    "approximate rho": (of_curve(ConcentratedCurve(1.0, 0.02)), 0.5),
    "renyi": (of_curve(RenyiCurve(((2.0, 1.0), (8.0, 4.0)))), 1.0),
    "curve": (of_curve(PointsCurve(((0.5, 0.1), (2.0, 1e-3)))), 1.0),
    "two steps": (of_epsilon(0.01, 2), 0.5),
}


def _limit(alpha):
    return int(np.argmax(bdtrc(np.arange(RUNS), RUNS, alpha) <= 1e-7))


def _edge(lines):
    """Chances (q, p) of the events {score > t} of two laws that lie on the edge in both orders."""
    q = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 50_000)])
    q = np.concatenate([q, 1 - q[-2::-1]])
    p = np.min([slope * q + rest for slope, rest in zip(*lines, strict=True)], axis=0)
    p = np.maximum.accumulate(np.minimum(p, 1))
    # 1 - q <= f(1 - p), as the claim says of the complements in the other order.
    first = int(np.argmax(p >= 1))
    other = 1 - np.interp(1 - q, p[: first + 1], q[: first + 1], left=0.0)
    return q, np.maximum.accumulate(np.minimum(p, other))


@pytest.mark.parametrize("name", EDGES)
def test_at_the_edge_of_a_claim_it_is_refuted_at_most_as_often_as_alpha_says(name):
    family, claimed = EDGES[name]
    q, p = _edge(family(claimed))
    rng = np.random.default_rng(28)
    refuted = {0.05: 0, 0.2: 0}
    for run in range(RUNS):
        inside, outside = -np.interp(rng.random(SIZE), p, q, left=0.0), -rng.random(SIZE)
        lesson, rest = _split(_shuffled((inside, outside), run))
        # The shares are a function of the scores that teach, whatever alpha they are asked for.
        shares = _shares(lesson, rest, family, 0.05)
        p_values = rest.tests().p_values(family(claimed))
        for alpha in refuted:
            refuted[alpha] += bool((p_values <= alpha * shares).any())
    for alpha, count in refuted.items():
        assert count <= _limit(alpha), (name, alpha, count)
    assert refuted[0.2] > 0.02 * RUNS, "nothing is tested here"


@pytest.mark.parametrize(
    ("mu", "delta", "size"),
    [(1.0, 0.1, 10_000), (1.0, 0.01, 10_000), (1.0, 1e-5, 10_000), (2.0, 1e-5, 10_000),
     (1.0, 1e-5, 100_000), (2.0, 1e-5, 100_000)],
)  # fmt: skip
def test_all_thresholds_cost_at_most_three_per_cent_beside_the_best_half_line(mu, delta, size):
    cuts = np.linspace(0.2, 4.5, 44)
    foreseen = [
        two_sample.epsilon_lower(
            (round(size * ndtr(mu - cut)), round(size * ndtr(-cut))), (size, size),
            delta=delta, level=0.05,
        )
        for cut in cuts
    ]  # fmt: skip
    best = cuts[int(np.argmax(foreseen))]
    found, known = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inside, outside = rng.normal(mu, 1, size), rng.normal(0, 1, size)
        found.append(scores(inside, outside, delta=delta, alpha=0.05).epsilon_lower)
        hits = int((inside > best).sum()), int((outside > best).sum())
        known.append(two_sample.epsilon_lower(hits, (size, size), delta=delta, level=0.05))
    # Means of 20 pairs of bounds from the same scores differ by chance by less than 1 %.
    assert np.mean(found) >= 0.96 * np.mean(known)


def _responses(rng):
    """Randomised response: each canary is a fair coin, told truly with the chance of epsilon 1."""
    member = rng.random(SIZE) < 0.5
    return np.where(rng.random(SIZE) < 1 / (1 + np.exp(-1)), member, ~member), member


def _normal(rng):
    """Gaussian noise of mu 1 on each canary."""
    member = rng.random(SIZE) < 0.5
    return rng.normal(member, 1), member


@pytest.mark.parametrize(
    ("law", "claim"),
    [(_responses, {"epsilon": 1.0}), (_responses, {"epsilon": 1.0, "delta": 1e-4}),
     (_responses, {"curve": [(1.0, 0.0)]}), (_normal, {"mu": 1.0})],
)  # fmt: skip
def test_guesses_of_one_run_at_the_edge(law, claim):
    rng = np.random.default_rng(29)
    refuted = {0.05: 0, 0.2: 0}
    for _ in range(RUNS):
        values, member = law(rng)
        for alpha in refuted:
            found = scores_of_one_run(values, member, alpha=alpha, **claim)
            refuted[alpha] += found.verdict is Verdict.REFUTED
    for alpha, count in refuted.items():
        assert count <= _limit(alpha), (claim, alpha, count)
