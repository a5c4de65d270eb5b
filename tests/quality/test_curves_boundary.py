"""Claims of curves exactly at their edge: refuted as rarely as promised.

The two laws of every audit lie on the curve or touch it, and the audits choose event and point by
themselves, so that what is tested is the whole way. A count of refutations above what a binomial
at the level exceeds with probability 1e-7 is a failure; together the tests fail by luck with
probability below 2e-6.
"""

from math import exp

import numpy as np
import pytest
from scipy.special import bdtrc, ndtr, ndtri

from dpwitness import Pair, PrivacyClaim, Relation
from dpwitness.auditors.choosing.choose import Lesson
from dpwitness.auditors.privacy.attempt import Test as Claimed
from dpwitness.auditors.privacy.curves import at_point
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.mechanisms.model.curves import (
    ConcentratedCurve,
    GaussianCurve,
    PointsCurve,
    RenyiCurve,
)

pytestmark = pytest.mark.quality

RUNS, TRIALS, LUCK = 500, 600, 1e-7


def allowed(runs, level):
    """Most errors that Bin(runs, level) exceeds with probability above LUCK."""
    return int(np.argmax(bdtrc(np.arange(runs + 1), runs, level) <= LUCK))


def gaussian(database, rng, *, size=None):
    return database + rng.normal(size=size)


def coins(p, q):
    """One bit, 1 with probability p on database 1 and q on 0."""

    def release(database, rng, *, size=None):
        return (rng.random(size) < (p if database else q)).astype(int)

    return release


def touching(curve, q):
    """Two coins on the curve at q: by its own line, which touches the curve there."""
    epsilon, delta = curve.line(q)
    return coins(min(exp(epsilon) * q + delta, 1.0), q)


RENYI, RHO = RenyiCurve(((2.0, 0.5), (6.0, 2.0))), ConcentratedCurve(0.2)
PART, POINTS = ConcentratedCurve(0.2, 0.05), PointsCurve(((0.8, 0.02), (0.4, 0.1)))
EDGES = {
    "mu": (gaussian, GaussianCurve(1.0), 1),
    "mu coins": (coins(float(ndtr(ndtri(0.2) + 0.6)), 0.2), GaussianCurve(0.6), 1),
    "two steps": (coins(float(ndtr(ndtri(0.1) + 1.0)), 0.1), GaussianCurve(0.5), 2),
    "rho": (touching(RHO, 0.2), RHO, 1),
    "rho rare": (touching(RHO, 0.02), RHO, 1),
    "approximate rho": (touching(PART, 0.1), PART, 1),
    "renyi": (touching(RENYI, 0.25), RENYI, 1),
    "points": (touching(POINTS, 0.15), POINTS, 1),
    "rho of a Gaussian": (gaussian, ConcentratedCurve(0.5), 1),
    "moment of a Gaussian": (gaussian, RenyiCurve(((2.0, 1.0),)), 1),
}


def refuted(name, seed, alpha):
    """Whether one judging of the pair refutes the curve that holds."""
    release, curve, distance = EDGES[name]
    sampler = Sampler(run=release, seed=seed, trust_rows=True, in_process=True)
    pair = Pair(0, 1)
    claim = PrivacyClaim.of_curve(curve, Relation.DECLARED, distance=distance)

    def draw(chunk, draws):
        return sampler.draw(pair, "pilot", chunk, draws)

    claim, pilot = at_point(claim, Lesson(), draw, trials=TRIALS, level=alpha)
    test = Claimed(claim=claim, trials=TRIALS + len(pilot[0]), alpha=alpha)
    judging = Judging(sampler, pair, test, precision=None)
    judging.run(opening=pilot)
    return judging.refuted


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("name", EDGES)
def test_a_curve_that_holds_is_refuted_as_rarely_as_promised(name, alpha):
    wrong = sum(refuted(name, seed, alpha) for seed in range(RUNS))
    print(f"{name}, alpha {alpha}: {wrong / RUNS:.3f}")
    assert wrong <= allowed(RUNS, alpha)
