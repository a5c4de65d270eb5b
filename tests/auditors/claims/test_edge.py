"""The smallest constant that still holds, against laws whose quantiles are known."""

from functools import partial
from math import inf, log

import numpy as np
import pytest

from dpwitness.auditors.claims.check import check
from dpwitness.auditors.claims.claim_results import hardest, level_by_law, level_of, records_edge
from dpwitness.mechanisms.model import (
    ExpectationClaim,
    Interval,
    InvariantClaim,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Subject,
    ThresholdClaim,
    UtilityClaim,
)


def exponential(database, rng, *, size=None):
    return rng.exponential(size=size)


def of(claim):
    mechanism = Mechanism(name="exponential", run=exponential, claims=(claim,))
    return check(Subject(claim=claim, mechanism=mechanism), trials=40_000).finding


@pytest.mark.parametrize("slack", [1.0, 2.0, 5.0])
def test_a_tail_needs_its_quantile(slack):
    claim = UtilityClaim(
        loss=lambda database, output: np.asarray(output),
        bound=lambda beta: slack * log(1 / beta),
        levels=(0.5, 0.1),
        databases=(0,),
    )
    found = of(claim)
    # The deviation of the .9 quantile of 40,000 draws is .015 of 2.3; seven of them.
    assert found.edge.share == pytest.approx(1 / slack, rel=0.05)
    assert found.edge.of == "loss"


def test_a_mean_needs_itself():
    claim = ExpectationClaim(
        quantity=lambda database, output: np.asarray(output),
        bound=4.0,
        databases=(0,),
        variance=1.0,
    )
    assert of(claim).edge.share == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_records_are_halved_until_they_are_too_few(share):
    def fails(records, step, draws):
        return 0.0 if records >= 1000 * share else 1.0

    assert records_edge(1000, fails, 0.1, 10_000).share == pytest.approx(share, rel=0.03)


def test_few_records_that_are_enough_hide_no_number_between_that_is_not():
    def fails(records, step, draws):
        return 1.0 if 100 < records < 700 else 0.0

    assert records_edge(1000, fails, 0.1, 10_000).share == pytest.approx(0.7, rel=0.03)


def test_of_a_loss_that_is_hardly_ever_above_0_the_chance_could_be_smaller():
    claim = UtilityClaim(
        loss=lambda database, output: (np.asarray(output) > log(20)).astype(float),
        bound=lambda beta: 1.0,
        levels=(0.2,),
        databases=(0,),
    )
    found = of(claim)
    assert found.edge.of == "chance"
    # A share of .05 where .2 is stated; its deviation in 40,000 draws is .0011.
    assert found.edge.share == pytest.approx(0.25, abs=0.03)


def test_an_instance_that_cannot_be_smaller_ends_the_search():
    def fails(records, step, draws):
        if records < 500:
            raise ValueError("too few")
        return 0.0

    assert records_edge(1000, fails, 0.1, 10_000).share == pytest.approx(0.5, rel=0.03)


def test_a_sample_size_is_told_as_records():
    claim = ThresholdClaim(
        needed=800,
        instance=lambda n: (partial(scaled, records=n), n),
        loss=lambda database, output: np.asarray(output),
        level=0.01,
        beta=0.05,
    )
    found = check(Subject(claim=claim), trials=40_000).finding
    assert found.edge.of == "records"
    assert found.edge.share == pytest.approx(log(20) / 0.01 / 800, rel=0.1)


def scaled(database, rng, *, size=None, records):
    return rng.exponential(size=size) / records


@pytest.mark.long
@pytest.mark.parametrize(("field", "share"), [("high", 0.75), ("low", 0.8)])
def test_an_invariant_says_what_its_margin_is_from(field, share):
    # The quantity is at most 3 of 4; or at least 1.25 where 1 is asked for.
    cases = Rows(row=Interval(low=0, high=1), min_size=1, max_size=1)
    margin = {"high": lambda case: 4 - 3 * case[0], "low": lambda case: 0.25 + case[0]}[field]
    claim = InvariantClaim(
        cases=cases,
        margin=margin,
        examples=([1.0], [0.0]),
        **{field: {"high": 4, "low": 1}[field]},
    )
    assert check(Subject(claim=claim)).finding.edge.share == pytest.approx(share)


@pytest.mark.long
def test_an_invariant_without_a_number_has_no_edge():
    cases = Rows(row=Interval(low=0, high=1), min_size=1, max_size=1)
    claim = InvariantClaim(cases=cases, margin=lambda case: case[0])
    assert check(Subject(claim=claim)).finding.edge is None
    assert hardest(None, None) is None


def test_levels_are_those_reached_more_often_than_allowed():
    losses = np.array([3.0, 1.0, 2.0, 4.0])
    assert level_of(losses, 0.25) == 3.0
    assert level_of(losses, 0.2) == 4.0
    assert level_of(np.array([1.0, np.nan]), 0.1) == inf
    chances = np.full(4, 0.25)
    assert level_by_law(losses, chances, 0.25) == 3.0
    assert level_by_law(losses, chances, 0.2) == 4.0


def noisy(database, rng, *, size=None):
    return database[0] + rng.laplace(size=size)


def test_a_privacy_claim_that_nothing_comes_near_is_weak():
    claim = PrivacyClaim(epsilon=60.0, relation=Relation.REPLACE_ONE, examples=(([0.0], [1.0]),))
    made = Mechanism(
        name="noisy",
        run=noisy,
        databases=Rows(row=Interval(low=0, high=1), min_size=1, max_size=1),
        claims=(claim,),
        log_probability=lambda database, outputs: -np.abs(np.asarray(outputs) - database[0]),
    )
    found = check(Subject(claim=claim, mechanism=made), trials=4000).finding
    assert found.weak
    assert found.edge.share == pytest.approx(1 / 60, rel=1e-3)
