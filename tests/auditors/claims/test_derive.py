"""What is found of a claim beside privacy follows from its counts, and from nothing else."""

import json
from functools import partial

import jsonschema
import msgspec
import numpy as np
import pytest

from dpwitness import (
    EqualityClaim,
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    Interval,
    InvariantClaim,
    Mechanism,
    Subject,
    ThresholdClaim,
    UtilityClaim,
    Verdict,
)
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.claims.check import check_within
from dpwitness.auditors.claims.claim_results import ClaimCheck
from dpwitness.auditors.claims.derive import derive, record_of, revived
from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.evidence.record import ClaimCheckRecord
from dpwitness.reports.faces import claim_faces
from dpwitness.reports.faces.claim_faces import claims_part
from dpwitness.reports.record import evidence
from dpwitness.reports.record.evidence import schema

BUDGET = Budget(alpha=1e-3, trials=2000, seed=4)


def uniform(database, rng, *, top=1.0, size=None):
    return rng.uniform(0, top, size=size)


def value(database, output):
    return np.asarray(output)


UNIFORM = Mechanism(name="uniform", run=uniform, claims=(), trust_rows=True)


def tail(bound):
    return UtilityClaim(loss=value, bound=lambda beta: bound * (1 - beta), databases=([],))


def mean(bound):
    return ExpectationClaim(quantity=value, bound=bound, databases=([], [1]), high=1.0)


def cells(top):
    return EqualityClaim(other=partial(uniform, top=top), databases=([],))


def margins(least):
    return InvariantClaim(cases=Interval(low=0, high=1), margin=lambda case: case - least, low=1.0)


def records(beta):
    return ThresholdClaim(
        needed=64, instance=lambda n: (uniform, [n]), loss=value, level=0.5, beta=beta,
        trust_rows=True,
    )  # fmt: skip


def growth(slack):
    return GrowthClaim(
        points=(1.0, 2.0, 4.0), instance=lambda x: (partial(uniform, top=2 * x), [x]),
        quantity=lambda x, database, output: np.asarray(output), bound=lambda x: 1.1 * x**slack,
        high=lambda x: 2 * x, grows="numbers", over="x", trust_rows=True,
    )  # fmt: skip


def number(stated):
    return IdentityClaim(compute=lambda: 2.0, stated=stated)


CLAIMS = {  # true and false of a uniform number; the counts of one and of the other
    "tail": (tail(1.0), tail(0.5)),
    "mean": (mean(0.55), mean(0.4)),
    "cells": (cells(1.0), cells(0.6)),
    "margins": (margins(0.0), margins(0.5)),
    "records": (records(0.6), records(0.4)),
    "growth": (growth(1.0), growth(2.0)),
    "number": (number(2.0), number(2.5)),
}


@pytest.fixture(scope="module")
def checks():
    """{name: the checks of the true and of the false claim}."""
    return {
        name: [
            ClaimCheck(
                mechanism="uniform", target="uniform", budget=BUDGET,
                result=check_within(BUDGET, Subject(claim=claim, mechanism=UNIFORM)),
            )
            for claim in both
        ]
        for name, both in CLAIMS.items()
    }  # fmt: skip


def told(check):
    """All that a reader may be told of a check."""
    result, found = check.result, check.result.finding
    return (
        result.verdict, found.sampled, found.proved, found.claimed, found.measured, found.exact,
        found.weak, found.edge, found.draws, found.error, found.method, found.scope, found.table,
        claim_faces.headline(result, check.mechanism), claim_faces.counterexample(result),
        [line for line in claim_faces.story(result) if line[0] != "search"],
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", CLAIMS)
def test_what_is_read_from_a_file_is_what_was_found(checks, name):
    true, false = checks[name]
    assert true.result.verdict in (Verdict.NOT_REFUTED, Verdict.PROVED)
    assert false.result.verdict is Verdict.REFUTED
    for check in (true, false):
        record = json.loads(evidence.to_text(record_of(check)))
        assert told(revived(msgspec.convert(record, ClaimCheckRecord))) == told(check)


def test_the_file_follows_its_schema_and_stores_no_verdict(checks):
    every = [one for both in checks.values() for one in both]
    data = json.loads(evidence.to_text({**evidence.document([], replay=""), **claims_part(every)}))
    jsonschema.validate(data, schema())
    text = json.dumps(data["claims"])
    assert not [word.value for word in Verdict if word.value in text]


@pytest.mark.parametrize("name", CLAIMS)
def test_other_counts_are_another_verdict(checks, name):
    # The record of the true claim with the counts of the false one says what the false one says.
    true, false = map(record_of, checks[name])
    assert revived({**true, "evidence": false["evidence"]}).result.refuted


TAILS = {
    "rows": [{"database": "[]", "beta": 0.1, "bound": 1.0, "hits": 7, "exact": None,
              "reached": 0.5}],
    "databases": [1], "draws": 1000,
}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {"draws": 999},
        {"draws": 5},
        {"databases": [2]},
        {"rows": [{**TAILS["rows"][0], "hits": 1001}]},
    ],
)
def test_counts_that_no_check_can_have_made_are_refused(changed):
    budget = Budget(trials=1000)
    assert derive({"tails": TAILS}, budget).verdict is Verdict.NOT_REFUTED
    with pytest.raises(EvidenceFormatError):
        derive({"tails": {**TAILS, **changed}}, budget)


@pytest.mark.parametrize("counts", [{}, {"remark": "a"}, {"tails": TAILS, "identity": {}}])
def test_one_claim_has_counts_of_one_sort(counts):
    with pytest.raises(EvidenceFormatError, match="of one claim"):
        derive(counts, BUDGET)
