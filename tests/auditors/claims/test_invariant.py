from dataclasses import replace

import numpy as np
import pytest

from dpwitness import InvalidArgument, Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.auditors.claims.invariant import audit_invariant
from dpwitness.auditors.databases.cases import leaves, replaced, simpler
from dpwitness.mechanisms.model import (
    Choices,
    Histogram,
    Interval,
    InvariantClaim,
    Product,
    Record,
    Rows,
    Value,
)

NOISE = Rows(row=Interval(low=-1, high=1), min_size=1, max_size=8)
CASE = Record(fields={"start": Interval(low=0, high=10), "noise": NOISE})
CLAIM = InvariantClaim(cases=CASE, margin=lambda case: 8.0 - sum(case["noise"]))


def run(claim, seed=0, draws=40_000):
    return audit_invariant(claim, Budget(trials=draws, seed=seed))


def test_an_invariant_that_just_holds_is_reached_at_its_edge():
    found = run(CLAIM)
    assert found.verdict is Verdict.NOT_REFUTED
    assert found.measured.value == pytest.approx(0)
    assert found.witness is None
    assert found.details["cases"] >= 50


@pytest.mark.long
def test_a_corner_of_many_numbers_is_found_and_shrunk():
    claim = replace(CLAIM, margin=lambda case: 7.9 - sum(case["noise"]))
    found = run(claim)
    assert found.verdict is Verdict.REFUTED
    assert found.witness == {"start": 0.0, "noise": [1.0] * 8}


@pytest.mark.long
def test_a_witness_loses_what_it_does_not_need():
    claim = replace(CLAIM, margin=lambda case: 1.5 - max(np.diff([0, *case["noise"]])))
    witness = run(claim).witness
    assert witness["start"] == 0
    assert len(witness["noise"]) == 2
    assert claim.margin(witness) < 0


@pytest.mark.long
def test_the_same_seed_visits_the_same_cases():
    assert run(CLAIM) == run(CLAIM)


@pytest.mark.long
def test_examples_come_first_and_are_shrunk_too():
    rare = {"start": 7.123456, "noise": [0.1, 0.2, 0.3]}
    claim = replace(
        CLAIM, margin=lambda case: -1.0 if 7.1 < case["start"] < 7.2 else 1.0, examples=(rare,)
    )
    found = run(claim)
    assert found.verdict is Verdict.REFUTED
    assert found.draws == 1
    assert found.witness["start"] == 7.12
    assert found.witness["noise"] == [0.0]


@pytest.mark.long
def test_rounding_is_tolerated_and_no_number_is_a_failure():
    assert run(replace(CLAIM, margin=lambda case: -1e-12)).verdict is Verdict.NOT_REFUTED
    assert run(replace(CLAIM, margin=lambda case: float("nan"))).verdict is Verdict.REFUTED


def test_a_margin_that_fails_is_an_error_of_the_claim():
    with pytest.raises(InvalidArgument, match="ZeroDivisionError"):
        run(replace(CLAIM, margin=lambda case: 1 / 0))


@pytest.mark.long
@pytest.mark.parametrize(
    ("cases", "margin", "witness"),
    [
        (Histogram(bins=3, max_count=9), lambda c: 20 - sum(c), None),
        (Histogram(bins=3, total=6), lambda c: 5 - c[1], [0, 6, 0]),
        (Value(row=Choices(values=("a", "b", "c"))), lambda c: 1 - (c == "c"), None),
        (Value(row=Choices(values=("a", "b", "c"))), lambda c: 0.5 - (c == "c"), "c"),
        (
            Rows(row=Interval(low=0, high=9, integer=True), max_size=5),
            lambda c: 44 - sum(c),
            [9] * 5,
        ),
        (
            Rows(row=Product(parts=(Interval(low=-3, high=3), Choices(values=(0, 1))))),
            lambda c: 1 - sum(label for _, label in c),
            [[0.0, 1], [0.0, 1]],
        ),
    ],
)
def test_cases_of_every_kind(cases, margin, witness):
    found = run(InvariantClaim(cases=cases, margin=margin))
    if witness is None and found.witness is not None:
        # Counts above 20 in three cells of at most nine: any minimal one will do.
        witness = found.witness
        assert sum(witness) == 21
    assert found.witness == witness


def test_leaves_and_replacing_and_simplifying():
    case = {"start": 3.25, "noise": [0.5, -1.0]}
    places = [place for place, _ in leaves(case, CASE)]
    assert places == [("start",), ("noise", 0), ("noise", 1)]
    assert replaced(case, ("noise", 1), 1.0) == {"start": 3.25, "noise": [0.5, 1.0]}
    assert case["noise"] == [0.5, -1.0]
    forms = list(simpler(case, CASE))
    assert {"start": 3.25, "noise": [-1.0]} in forms
    assert {"start": 0.0, "noise": [0.5, -1.0]} in forms
    assert case not in forms
