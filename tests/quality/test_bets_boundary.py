"""Bets exactly at the claim: the wealth is as rarely high as Ville's inequality promises.

2,000 runs of each subject. A count of runs is compared with the number that a binomial at the level
exceeds with probability 1e-7, so the tests of this file fail by luck with probability below 1e-5.
The bets follow what is learnt on the way, as in an audit; the draws are handed over at once, so
that no process has to be started.
"""

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import Pair, PrivacyClaim, Relation
from dpwitness.auditors.choosing.choose import Lesson
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.privacy.attempt import BET_FIRST, Betting, next_size
from dpwitness.auditors.privacy.attempt import Test as Claimed
from dpwitness.auditors.privacy.judge import OPENING, Judging
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.mechanisms.model.curves import (
    ConcentratedCurve,
    GaussianCurve,
    RenyiCurve,
    moments_of,
)

pytestmark = pytest.mark.quality

RUNS = 2000
DRAWS = 300
MOST_DRAWS = 120
LEVELS = (0.05, 0.2)
KEEP = 1 / (1 + exp(-1.0))


def allowed(runs, level):
    """Most errors that Bin(runs, level) exceeds with probability above 1e-7."""
    counts = np.arange(runs + 1)
    return int(np.argmax(bdtrc(counts, runs, level) <= 1e-7))


def response(side, rng, size):
    return np.where(rng.random(size) < KEEP, side, 1 - side)


def noise(side, rng, size):
    return side + rng.laplace(size=size)


def first_of_four(side, rng, size):
    """The exponential mechanism: the first choice loses exactly 1."""
    e = exp(1.0)
    t = (e - 1 + sqrt((e - 1) ** 2 + 36 * e)) / 6
    law = np.array([[t, 1, 1, 1], [1, t, t, t]][side])
    return rng.choice(4, size, p=law / law.sum())


def three(side, rng, size):
    return side / 3 + rng.laplace(size=(size, 3))


def leak(side, rng, size):
    """Delta .05 leaks the side, the rest is randomized response."""
    return np.where(rng.random(size) < 0.05, 2 + side, response(side, rng, size))


def rare(side, rng, size):
    """One output that exceeds exp(1) times the other's probability by delta."""
    return (rng.random(size) < (0.2, exp(1.0) * 0.2 + 0.1)[side]).astype(int)


SUBJECTS = {
    "response": (response, 0.0), "Laplace": (noise, 0.0), "exponential": (first_of_four, 0.0),
    "three": (three, 0.0), "leak": (leak, 0.05), "rare": (rare, 0.1),
}  # fmt: skip


def highest(draw, null, seed, moments=(), draws=DRAWS):
    """The largest log wealth of one run, with lessons at doublings as an audit has them."""
    rng, (epsilon, delta) = np.random.default_rng([seed, 71]), null
    sides = [Outputs.of(draw(side, rng, draws), draws) for side in (0, 1)]
    made, lesson = BET_FIRST, Lesson()
    lesson.add(*(side[:made] for side in sides))
    bets, best, learnt = Betting(null, 1e-30, moments), 0.0, 0
    while made < draws:
        if made >= 2 * learnt:
            learnt = made
            choice = lesson.choice(epsilon=epsilon, delta=delta, trials=16 * made, level=0.05)
        bets.on(*lesson.partition(choice.event))
        size = min(max(next_size(made), 8), draws - made)
        fresh = [side[made : made + size] for side in sides]
        cells = np.array([bets.partitions[-1].counts(side) for side in fresh])
        bets.place(0, size, cells)
        best = max(best, bets.log)
        lesson.add(*fresh)
        made += size
    return best


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_wealth_of_a_tight_claim_is_high_no_more_often_than_promised(name):
    draw, delta = SUBJECTS[name]
    found = np.array([highest(draw, (1.0, delta), seed) for seed in range(RUNS)])
    for level in LEVELS:
        assert (found >= -log(level)).sum() <= allowed(RUNS, level)
    # Something was won and lost at all.
    assert found.std() > 0.02


def gaussian(side, rng, size):
    return side + rng.normal(size=size)


def coin(side, rng, size):
    """A bit of probabilities .2 and .5."""
    return (rng.random(size) < (0.2, 0.5)[side]).astype(int)


def leaking_gaussian(side, rng, size):
    """A Gaussian that gives its side away with probability .02."""
    return np.where(rng.random(size) < 0.02, 50 * side - 20, gaussian(side, rng, size))


DIVERGENCE = log(0.5**3 / 0.2**2 + 0.5**3 / 0.8**2) / 2
"""Of order 3 between the coins, .5 against .2: the larger direction."""
CURVES = {
    "rho": (gaussian, ConcentratedCurve(0.5)),
    "approximate rho": (leaking_gaussian, ConcentratedCurve(0.5, 0.02)),
    "mu": (gaussian, GaussianCurve(1.0)),
    "Renyi": (gaussian, RenyiCurve(((2.0, 1.0),))),
    "coin": (coin, RenyiCurve(((3.0, DIVERGENCE),))),
}


@pytest.mark.parametrize("name", CURVES)
def test_bets_against_moments_at_their_edge_win_no_more_often_than_promised(name):
    draw, curve = CURVES[name]
    moments, line = moments_of(curve), curve.line(0.1)
    found = np.array([highest(draw, line, seed, moments, 1000) for seed in range(RUNS)])
    for level in LEVELS:
        wrong = (found >= -log(level)).sum()
        print(f"{name}, level {level}: {wrong / RUNS:.4f}")
        assert wrong <= allowed(RUNS, level)
    assert found.std() > 0.02


def together(name, seed, alpha, trials=4 * MOST_DRAWS, hasty=None):
    """The judging of a tight claim, with bets and counts.

    Nothing follows a refutation if it is `hasty` (precision none), as every second run is.
    """
    draw, delta = SUBJECTS[name]
    hasty = seed % 2 == 0 if hasty is None else hasty

    def run(database, rng, *, size=None):
        made = draw(database, rng, 1 if size is None else size)
        return made[0] if size is None else made

    claim = PrivacyClaim(epsilon=1.0, delta=delta, relation=Relation.REPLACE_ONE)
    judging = Judging(
        Sampler(run=run, seed=seed, trust_rows=True, in_process=True),
        Pair(0, 1),
        Claimed(claim=claim, trials=trials, alpha=alpha),
        precision=None if hasty else 0.05,
    )
    judging.run()
    return judging


@pytest.mark.parametrize("name", SUBJECTS)
def test_bets_and_count_together_refute_a_tight_claim_no_more_often_than_alpha(name):
    runs = 200
    refuted = sum(together(name, seed, 0.2).refuted for seed in range(runs))
    assert refuted <= allowed(runs, 0.2)


@pytest.mark.parametrize("name", ["exponential", "rare"])
def test_bets_past_the_opening_refute_a_tight_claim_no_more_often_than_alpha(name):
    """Of 8,000 draws a side a quarter teaches, and what is past 1,024 is bet on too."""
    judged = [together(name, seed, 0.2, 8000, hasty=True) for seed in range(200)]
    assert sum(one.refuted for one in judged) <= allowed(200, 0.2)
    bet = [sum(batch.draws for batch in one.betting.batches) for one in judged]
    assert max(bet) > OPENING
