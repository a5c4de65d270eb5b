"""The theorems on boosting for queries, each checked, each printed error and mutant shown false."""

from functools import cache
from math import exp, log

import numpy as np
import pytest

from dpwitness import Verdict, check
from dpwitness.mechanisms.boosting import theorems_base_synopsis as boosting
from dpwitness.mechanisms.boosting import theorems_boosting_privacy as boosting_privacy
from dpwitness.mechanisms.boosting.boosting_cases import (
    ATTENUATION,
    SENSITIVITY,
    SHOWN_ADVANTAGE,
    answer_margin,
    log_ratio_width,
    near_edge,
    potential_margin,
)
from dpwitness.mechanisms.boosting.query_weights import (
    attenuated_agreement,
    lower_agreement,
    sampling_loss,
    weight_rate,
)
from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, NEGATIVE_CONTROLS

THEOREMS = {
    theorem.identifier: theorem
    for module in (boosting_privacy, boosting)
    for theorem in module.THEOREMS
}
CONTROLS = {
    control.identifier: control
    for control in (*NEGATIVE_CONTROLS, *BROKEN_STATEMENTS)
    if control.identifier.startswith("MUT-BQ-")
}


@cache
def result_of(identifier):
    # A small budget and a fixed seed: the default one is for the quality suite.
    return check(THEOREMS[identifier], trials=5_000, alpha=1e-8, seed=0)


@pytest.mark.quality
@pytest.mark.parametrize("identifier", THEOREMS)
def test_a_theorem_holds_and_an_erratum_does_not(identifier):
    theorem, result = THEOREMS[identifier], result_of(identifier)
    assert result.refuted is not theorem.holds
    assert theorem.holds or THEOREMS[theorem.corrected].holds


@pytest.mark.long
@pytest.mark.parametrize("identifier", CONTROLS)
def test_a_mutant_is_refuted(identifier):
    assert check(CONTROLS[identifier], trials=50_000, alpha=1e-6, seed=0).refuted


def test_every_mutant_is_there():
    assert sorted(CONTROLS) == [f"MUT-BQ-{number}" for number in range(1, 10)]


@pytest.mark.parametrize("identifier", THEOREMS)
def test_the_ends_of_every_range_can_be_asked_for(identifier):
    theorem = THEOREMS[identifier]
    defaults = {name: p.default for name, p in theorem.parameters.items()}
    for name, parameter in theorem.parameters.items():
        for end in (parameter.within.low, parameter.within.high):
            value = int(end) if parameter.within.integer else end
            claim = theorem.at(**{**defaults, name: value}).claim
            assert claim.identifier == identifier


def test_the_exact_losses():
    assert result_of("BQ-6.4").finding.exact == pytest.approx(0.4, abs=1e-6)
    assert result_of("BQ-6.4").verdict is Verdict.PROVED
    assert result_of("BQ-BASE-PRIV").finding.exact == pytest.approx(1.0)
    assert result_of("BQ-EX-F").finding.measured.value == pytest.approx(1.505971, abs=5e-7)
    assert result_of("ERR-BQ-5").finding.claimed == pytest.approx(4.508531, abs=5e-7)


def test_delta_when_beta_takes_its_place():
    # Two halves of the queries a bounded range apart, 1,000 samples, beta .05 for delta 1e-6.
    result = result_of("ERR-BQ-2")
    assert max(row[2] for row in result.finding.table.rows) == pytest.approx(8.0e-4, rel=0.02)


def test_the_potential_reaches_its_bound():
    least = min(
        abs(potential_margin(case, queries=64, rounds=rounds, advantage=0.25))
        for case in near_edge(queries=64)
        for rounds in (1, 2)
    )
    assert least < 1e-9


@pytest.mark.parametrize("queries", [2, 16, 64])
def test_the_median_is_right_after_the_rounds_needed(queries):
    for case in near_edge(queries=queries):
        assert answer_margin(case, queries=queries, advantage=0.25) >= 0


def test_samples_speak_for_all_queries_but_for_beta():
    result = result_of("BQ-GEN")
    samples = int(np.ceil(log(3 / 0.05) / log(4 / 3)))
    assert samples == 15
    bad = 0.2501
    exact = 3 * (1 - bad) ** 15 - 3 * (1 - 2 * bad) ** 15 + (1 - 3 * bad) ** 15
    assert result.finding.exact == pytest.approx(exact)
    assert exact < 3 * exp(-samples * log(4 / 3)) < 0.05


@pytest.mark.parametrize("earlier", [1, 7, 15])
def test_synopses_at_the_steepest_place_reach_the_bound_on_the_log_ratios(earlier):
    setting = {"advantage": SHOWN_ADVANTAGE, "sensitivity": SENSITIVITY, "attenuation": ATTENUATION}
    allowed = sampling_loss(earlier=earlier, **setting)
    assert log_ratio_width(attenuated_agreement, earlier) == pytest.approx(allowed)
    # One step of -1 to +1 a round, whatever the sensitivity.
    jump = 2 * weight_rate(SHOWN_ADVANTAGE) * earlier
    assert log_ratio_width(lower_agreement, earlier) == pytest.approx(jump)


@pytest.mark.parametrize(("identifier", "bad"), [("BQ-6.1", 1), ("BQ-BASE-ACC", 2)])
@pytest.mark.parametrize("share", [1, 0.5])
def test_the_generator_fails_where_no_sample_shows_a_bad_synopsis(identifier, bad, share):
    # The first of the synopses that fit is bad if no sample lies on what it errs on.
    claim = THEOREMS[identifier].at().claim
    samples = int(claim.needed * share)
    run, database = claim.instance(samples)
    losses = claim.loss(database, run(database, np.random.default_rng(0), size=40_000))
    weight = boosting.BAD
    exact = bad * (1 - weight) ** samples - (bad - 1) * (1 - 2 * weight) ** samples
    assert (losses > claim.level).mean() == pytest.approx(exact, abs=5 * (exact / 40_000) ** 0.5)
    assert (exact > claim.beta) == (share < 1)


def test_two_rounds_of_boosting_fail_if_one_misses_a_query():
    # Of 2 queries one is missed by k samples with chance 2 / 2^k, in either of the rounds.
    claim = THEOREMS["BQ-6.1-ACC"].at().claim
    samples = claim.needed // 7
    run, database = claim.instance(samples)
    losses = claim.loss(database, run(database, np.random.default_rng(0), size=20_000))
    first = 2 * 0.5**samples
    failed = (losses > claim.level).mean()
    assert first < failed < 2 * first
    assert failed > 2 * claim.beta
