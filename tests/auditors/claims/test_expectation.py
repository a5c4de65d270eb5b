from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dpwitness import HarnessError, Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.claims.means import audit_expectation
from dpwitness.auditors.errors import UnsupportedClaim
from dpwitness.mechanisms.model import ExpectationClaim, FiniteLaw, Mechanism


def waiting(database, rng, *, size=None):
    return rng.exponential(size=size)


def coin(database, rng, *, size=None):
    return (rng.random(size) < 0.25).astype(int)


WAITING = Mechanism(name="waiting", run=waiting)
COIN = Mechanism(
    name="coin",
    run=coin,
    law=lambda database: FiniteLaw(
        outcomes=np.array([0, 1]), log_probabilities=np.log([0.75, 0.25])
    ),
)
MEAN = ExpectationClaim(
    quantity=lambda database, output: np.asarray(output), bound=1.0, databases=([], [1])
)


def run(claim, mechanism=WAITING, draws=40_000):
    return audit_expectation(claim, mechanism, Budget(alpha=1e-3, trials=draws, seed=3))


def test_the_mean_itself_is_a_bound_that_stands():
    found = run(MEAN)
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.measured.low < 1 < found.measured.high == inf
    assert found.draws == 40_000


@pytest.mark.long
def test_a_bound_below_the_mean_is_refuted_early():
    found = run(replace(MEAN, bound=0.9))
    assert found.verdict is Verdict.REFUTED
    assert found.measured.low > 0.9
    assert found.draws < 40_000


def test_a_variance_confirms_and_a_loose_bound_is_weak():
    found = run(replace(MEAN, bound=1.2, variance=1.0))
    assert found.details["confirmed"]
    assert found.measured.high < 1.2
    assert run(replace(MEAN, bound=30.0)).weak
    assert run(replace(MEAN, bound=30.0, high=30.0)).vacuous


@pytest.mark.long
def test_without_a_lower_end_the_variance_must_do():
    signed = replace(MEAN, low=-inf, variance=1.0)
    assert run(replace(signed, bound=0.9)).verdict is Verdict.REFUTED
    assert run(signed).verdict is Verdict.NOT_REFUTED
    with pytest.raises(UnsupportedClaim, match="variance"):
        run(replace(signed, variance=inf))


def test_the_exact_mean_decides_where_it_is_known():
    found = run(replace(MEAN, bound=0.25, high=1.0), COIN)
    assert found.verdict is Verdict.PROVED
    assert found.exact == pytest.approx(0.25)
    assert found.measured.high < 0.27
    assert run(replace(MEAN, bound=0.2499, high=1.0), COIN).proved is Verdict.REFUTED


def test_contradictions_are_errors_of_the_harness():
    other = replace(COIN, law=lambda database: replace(COIN.law([]), outcomes=np.array([1, 0])))
    with pytest.raises(HarnessError, match="exact law"):
        run(replace(MEAN, high=1.0), other)
    with pytest.raises(HarnessError, match="values from"):
        run(replace(MEAN, high=1.0))
