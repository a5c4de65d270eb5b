"""False alarms of the auditors of utility, expectation and equality on the edge of their claims.

Each count of wrong refutations is compared with what a binomial at the promised level exceeds
with probability 1e-7; the seeds are fixed and were not selected.
"""

from math import log

import numpy as np
import pytest
from scipy.special import bdtrc

from dpwitness import Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.bounds.tails_and_means import Wealth, looks, rejected
from dpwitness.auditors.claims.equality import audit_equality
from dpwitness.auditors.claims.means import audit_expectation
from dpwitness.auditors.claims.tails import audit_utility
from dpwitness.mechanisms.model import EqualityClaim, ExpectationClaim, Mechanism, UtilityClaim

pytestmark = pytest.mark.quality

AUDITS = 2000
ALPHA = 0.05
BETAS = (0.5, 0.2, 0.1, 0.05, 0.01, 0.001)


def most(runs=AUDITS):
    return int(np.argmax(bdtrc(np.arange(runs), runs, ALPHA) <= 1e-7))


def waiting(database, rng, *, size=None):
    return rng.exponential(size=size)


def heavy(database, rng, *, size=None):
    return (1 + rng.pareto(1.5, size)) / 3


def test_family_wise_error_of_the_tail_auditor():
    # Every one of the six levels holds with equality.
    claim = UtilityClaim(
        loss=lambda database, output: output,
        bound=lambda beta: log(1 / beta),
        levels=BETAS,
        databases=([],),
    )
    mechanism = Mechanism(name="waiting", run=waiting, trust_rows=True)
    wrong = sum(
        audit_utility(claim, mechanism, Budget(alpha=ALPHA, trials=4000, seed=seed)).sampled
        is Verdict.REFUTED
        for seed in range(AUDITS)
    )
    assert wrong <= most()


def test_family_wise_error_of_independent_events():
    rng = np.random.default_rng(71)
    plan, wrong = looks(32_000, ALPHA), 0
    for _ in range(AUDITS):
        steps = np.diff([0, *(look.draws for look in plan)])
        hits = np.cumsum(rng.binomial(steps[:, None], BETAS), axis=0)
        wrong += any(
            rejected(row.tolist(), look.draws, BETAS, look.level).any()
            for row, look in zip(hits, plan, strict=True)
        )
    assert wrong <= most()


@pytest.mark.parametrize("run", [waiting, heavy], ids=["exponential", "pareto"])
def test_betting_looked_at_every_hundred_draws(run):
    rng, wrong = np.random.default_rng(72), 0
    for _ in range(AUDITS):
        wealth, values = Wealth(1.0, 0.0), run([], rng, size=20_000)
        wrong += any(wealth.after(part) >= log(1 / ALPHA) for part in values.reshape(200, -1))
    assert wrong <= most()


@pytest.mark.parametrize("run", [waiting, heavy], ids=["exponential", "pareto"])
def test_false_alarms_of_the_expectation_auditor(run):
    claim = ExpectationClaim(
        quantity=lambda database, output: output, bound=1.0, databases=([], [0])
    )
    mechanism = Mechanism(name="waiting", run=run, trust_rows=True)
    wrong = sum(
        audit_expectation(claim, mechanism, Budget(alpha=ALPHA, trials=4000, seed=seed)).sampled
        is Verdict.REFUTED
        for seed in range(AUDITS)
    )
    assert wrong <= most()


def test_false_alarms_of_the_equality_auditor():
    claim = EqualityClaim(other=waiting, databases=([],))
    mechanism = Mechanism(name="waiting", run=waiting, trust_rows=True)
    runs = 500
    wrong = sum(
        audit_equality(claim, mechanism, Budget(alpha=ALPHA, trials=2000, seed=seed)).sampled
        is Verdict.REFUTED
        for seed in range(runs)
    )
    assert wrong <= most(runs)
