"""The two stages exactly at the claim: refutations and bounds are wrong as rarely as promised.

Each count of errors is compared with the number that a binomial at the promised level exceeds with
probability 1e-7; together the tests of this file fail by luck with probability below 1e-6. The
sizes are such that early attempts, several looks and sharpening really happen, which is asserted.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import Pair, PrivacyClaim, Relation
from dpwitness.auditors.bounds.power import early_looks, last_looks
from dpwitness.auditors.choosing.choose import Choice
from dpwitness.auditors.events.events import Among
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.privacy.attempt import Test as Claimed
from dpwitness.auditors.privacy.attempt import attempt
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.privacy.planning import Errors
from dpwitness.auditors.sampling.sampling import Sampler

pytestmark = pytest.mark.quality

ALPHA = 0.2
LUCK = 1e-7


def allowed(runs, level=ALPHA):
    """Most errors that Bin(runs, level) exceeds with probability above LUCK."""
    counts = np.arange(runs + 1)
    return int(np.argmax(bdtrc(counts, runs, level) <= LUCK))


def answer(database, rng, *, size=None):
    return np.where(rng.random(size) < 1 / (1 + exp(-1.0)), database, 1 - database)


def counted(database, rng, *, size=None):
    decay = 1 - exp(-1.0)
    return database + rng.geometric(decay, size) - rng.geometric(decay, size)


def noisy(database, rng, *, size=None):
    return database + rng.laplace(size=size)


def leaky(database, rng, *, size=None):
    return rng.random(size) < (0.2, exp(1.0) * 0.2 + 0.05)[database]


def atoms(database, rng, *, size=None):
    """Ten rare outputs, of which one side gives each exp(1) times as often."""
    rate = (0.004, 0.004 * exp(1.0))[database]
    drawn = rng.random(size)
    return np.where(drawn < 10 * rate, (drawn / rate).astype(int), -1)


def judged(run, seed, *, trials, alpha, delta=0.0, precision=0.05):
    claim = PrivacyClaim(epsilon=1.0, delta=delta, relation=Relation.REPLACE_ONE)
    judging = Judging(
        Sampler(run=run, seed=seed),
        Pair(0, 1),
        Claimed(claim=claim, trials=trials, alpha=alpha),
        precision=precision,
    )
    judging.run()
    if judging.refuted:
        judging.sharpen(trials)
    return judging


CASES = {"answer": (answer, 0.0), "counted": (counted, 0.0), "noisy": (noisy, 0.0),
         "leaky": (leaky, 0.05), "atoms": (atoms, 0.0)}  # fmt: skip


@pytest.mark.parametrize("precision", [0.05, None])
@pytest.mark.parametrize("name", CASES)
def test_a_tight_claim_is_refuted_and_its_bound_is_wrong_no_more_often_than_alpha(name, precision):
    run, delta = CASES[name]
    runs = 50
    found = [
        judged(run, seed, trials=1200, alpha=ALPHA, delta=delta, precision=precision)
        for seed in range(runs)
    ]
    assert sum(one.refuted for one in found) <= allowed(runs)
    for one in found:
        assert sum(look.level for look in one.looks) <= ALPHA * (1 + 1e-9)


@dataclass(frozen=True)
class Coins:
    """A stand-in for a sampler whose counts are drawn at once, exactly on the edge."""

    p: float
    q: float
    rng: np.random.Generator

    def count(self, pair, event, stage, chunk, draws):
        return int(self.rng.binomial(draws, self.p)), int(self.rng.binomial(draws, self.q))

    def ahead(self, *planned):
        """Coins are thrown when they are asked for."""


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("plan", [early_looks(300, ALPHA), last_looks(2400, ALPHA, sooner=True)])
def test_cumulative_looks_at_one_event_err_no_more_often_than_their_levels(plan, delta):
    """An early and a last attempt with four looks each, which refuted looks do not end."""
    q = 0.2
    coins = Coins(exp(1.0) * q + delta, q, np.random.default_rng(7))
    choice = Choice(Among(Feature(), (1,)), False, 1.0, 0.0, (coins.p, q))
    claim = PrivacyClaim(epsilon=1.0, delta=delta, relation=Relation.REPLACE_ONE)
    test = Claimed(claim=claim, trials=2400, alpha=ALPHA)
    runs, wrong, several = 150, 0, 0
    for _ in range(runs):
        made = attempt(coins, Pair(0, 1), choice, test, plan, number=0, chunk=0, before=0)
        wrong += any(look.epsilon_lower >= 1.0 for look in made.looks)
        several += len(made.looks) > 2
    assert wrong <= allowed(runs)
    assert several > runs / 5


def test_early_attempts_happen_and_err_no_more_often_than_their_share():
    """A selection that always promises too much, so that both early attempts are always made."""

    class Boastful(Judging):
        def _learn(self, most=None):
            event = Among(Feature(), (1,))
            rate = 1 / (1 + exp(-1.0))
            self._older = self._choice
            self._choice = Choice(event, True, 2.0, 0.0, (rate, rate * exp(-2.0)))
            return self._choice

    claim = PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE)
    runs, refuted, early = 100, 0, 0
    for seed in range(runs):
        judging = Boastful(
            Sampler(run=answer, seed=seed),
            Pair(0, 1),
            Claimed(claim=claim, trials=2000, alpha=ALPHA),
            precision=None,
        )
        # As for a mechanism with randomness of its own, on which nothing is bet.
        judging.betting, judging.errors = None, Errors(ALPHA)
        judging.run()
        refuted += judging.refuted
        early += len(judging.attempts) > 2 or (judging.refuted and judging.last is None)
        assert sum(look.level for look in judging.looks) <= ALPHA * (1 + 1e-9)
    assert early > 0.9 * runs
    assert refuted <= allowed(runs)
