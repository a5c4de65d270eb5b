from dataclasses import replace
from functools import partial
from math import exp, log

import numpy as np
import pytest

from dpwitness import HarnessError, Verdict, check
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.claims.tails import audit_threshold, audit_utility
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.model import FiniteLaw, Mechanism, Subject, ThresholdClaim, UtilityClaim
from dpwitness.mechanisms.noise.laplace import LAPLACE
from dpwitness.mechanisms.selection.exponential import EXPONENTIAL, log_probabilities


def waiting(database, rng, *, size=None):
    """Exponential with mean 1: P[loss >= ln(1/beta)] = beta exactly."""
    return rng.exponential(size=size)


EXACT = UtilityClaim(
    loss=lambda database, output: np.asarray(output),
    bound=lambda beta: log(1 / beta),
    databases=([],),
    identifier="tail",
)
WAITING = Mechanism(name="waiting", run=waiting)


def run(claim, mechanism=WAITING, draws=50_000, seed=0):
    return audit_utility(claim, mechanism, Budget(alpha=1e-3, trials=draws, seed=seed))


def test_a_claim_that_is_exactly_true_is_not_refuted():
    found = run(EXACT)
    assert found.verdict is Verdict.NOT_REFUTED
    assert not found.weak
    assert found.draws == 50_000
    for row in found.table.rows:
        record = dict(zip(found.table.columns, row, strict=True))
        assert record["low"] <= record["beta"] <= record["high"]
        assert record["detectable"] > record["beta"]


@pytest.mark.long
def test_a_scale_too_small_is_refuted_early_with_its_database():
    found = run(replace(EXACT, bound=lambda beta: 0.8 * log(1 / beta)))
    assert found.verdict is Verdict.REFUTED
    assert found.draws < 50_000
    assert found.witness == []
    assert found.measured.low > found.claimed


def test_the_same_seed_gives_the_same_counts():
    assert run(EXACT).table == run(EXACT).table
    assert run(EXACT).table != run(EXACT, seed=1).table


def test_a_loose_claim_is_weak():
    assert run(replace(EXACT, bound=lambda beta: 4 + log(1 / beta))).weak


def test_a_chance_of_1_or_more_is_vacuous_and_costs_nothing():
    found = run(replace(EXACT, bound=lambda beta: 0.0, levels=(1.46,)))
    assert (found.vacuous, found.verdict, found.draws) == (True, Verdict.NOT_REFUTED, 0)
    assert not run(EXACT).vacuous


def test_databases_come_from_the_domain_when_the_claim_names_none():
    for mechanism in (EXPONENTIAL, LAPLACE):
        for claim in (one for one in mechanism.claims if isinstance(one, UtilityClaim)):
            found = run(replace(claim, databases=()), replace(mechanism, law=None), draws=20_000)
            assert found.verdict is Verdict.NOT_REFUTED
            assert len({row[0] for row in found.table.rows}) == 4
    with pytest.raises(InvalidArgument, match="no domain"):
        run(replace(EXACT, databases=()))


# The score 10 of one of 50 candidates, at epsilon 1.
SCORES = np.array([0.0] * 49 + [10.0])
LAW = FiniteLaw(
    outcomes=np.arange(50),
    log_probabilities=log_probabilities(SCORES, sensitivity=1.0, epsilon=1.0),
)
CHOOSING = replace(
    EXPONENTIAL,
    run=partial(EXPONENTIAL.run.func, score=lambda db: SCORES, sensitivity=1.0, epsilon=1.0),
    law=lambda database: LAW,
)
GAP = UtilityClaim(
    loss=lambda database, output: 10 - SCORES[output],
    bound=lambda beta: 2 * log(50 / beta),
    levels=(50 * exp(-5.0),),
    databases=([],),
)


def test_the_exact_probability_stands_beside_the_count():
    result = check(Subject(claim=GAP, mechanism=CHOOSING), trials=20_000)
    assert result.finding.sampled is Verdict.NOT_REFUTED
    assert result.verdict is result.finding.proved is Verdict.PROVED
    assert result.finding.claimed == pytest.approx(0.3369, abs=1e-4)
    assert result.finding.exact == pytest.approx(0.2482, abs=1e-4)
    assert result.finding.measured.low < result.finding.exact < result.finding.measured.high


def test_exact_and_sampled_refute_together():
    wrong = replace(GAP, levels=(0.1,), bound=lambda beta: 10.0)
    result = check(Subject(claim=wrong, mechanism=CHOOSING), trials=20_000)
    assert result.finding.sampled is result.finding.proved is Verdict.REFUTED


def test_a_law_that_is_not_the_samplers_is_an_error_of_the_harness():
    other = replace(LAW, log_probabilities=np.full(50, -log(50)))
    with pytest.raises(HarnessError, match="exact law"):
        run(GAP, replace(CHOOSING, law=lambda database: other))


def majority(database, rng, *, flips, size=None):
    """Whether noisy answers of all records point the right way."""
    return rng.binomial(len(database), flips, size=size)


def instance(n):
    return partial(majority, flips=0.25), [0] * n


MAJORITY = ThresholdClaim(
    needed=18,
    instance=instance,
    loss=lambda database, output: output / len(database),
    level=0.5,
    beta=0.01,
)


@pytest.mark.long
@pytest.mark.parametrize(("needed", "verdict"), [(40, Verdict.NOT_REFUTED), (10, Verdict.REFUTED)])
def test_a_threshold_is_tried_at_its_own_size(needed, verdict):
    found = audit_threshold(replace(MAJORITY, needed=needed), Budget(trials=20_000))
    assert found.verdict is verdict
    assert found.details["needed"] == needed


def test_a_bound_that_rises_with_beta_is_remarked_and_a_falling_or_flat_one_is_not():
    rising = replace(EXACT, bound=lambda beta: 9 + log(1 / (1 - beta)))
    assert "it should fall as beta grows" in run(rising).note
    for bound in (lambda beta: log(1 / beta), lambda beta: 9.0):
        assert "fall as beta" not in run(replace(EXACT, bound=bound)).note
