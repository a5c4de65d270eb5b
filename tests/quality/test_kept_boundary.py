"""Draws that an audit left when it ended early: a true claim survives whoever stops it."""

from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.recorded import judge_kept
from dpwitness.auditors.results.results import Verdict

pytestmark = pytest.mark.quality

RUNS = 150
ALPHA = 0.2
ENDS = (128, 255, 300)
"""Where somebody may stop who has seen all to come: the bets say what they were at their best, so
the last end stands for every one before it, and counts are made at 128 and 256 alone."""


def responses(rng, size):
    truth = exp(1) / (1 + exp(1))
    return [(rng.random(size) < p).astype(float) for p in (1 - truth, truth)]


def laplace(rng, size):
    return [rng.laplace(shift, 1, size) for shift in (0, 1)]


@pytest.mark.parametrize("draw", [responses, laplace])
def test_a_true_claim_survives_whoever_stops_at_the_best_moment(draw):
    """At the boundary, at alpha .2 over all ends: more than the quantile has chance 1e-5."""
    rng, refuted = np.random.default_rng(5), 0
    for _ in range(RUNS):
        one, two = (Outputs.of(side, ENDS[-1]) for side in draw(rng, ENDS[-1]))
        ends = (judge_kept(one[:n], two[:n], epsilon=1, alpha=ALPHA) for n in ENDS)
        refuted += any(end.verdict is Verdict.REFUTED for end in ends)
    assert refuted <= binom.isf(1e-5, RUNS, ALPHA)
