"""Every statement of the catalogue is there, once, and can be built at its defaults."""

import json
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dpwitness.auditors.claims.exact import exact_privacy
from dpwitness.mechanisms.accounting.composition import advanced_calibration, zcdp_root
from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, THEOREMS
from dpwitness.mechanisms.learning.greedy_conjunctions import round_privacy
from dpwitness.mechanisms.model import (
    EqualityClaim,
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    InvariantClaim,
    PrivacyClaim,
    ThresholdClaim,
    UtilityClaim,
)
from dpwitness.mechanisms.multiplicative_weights.pmw import noise_epsilon_for

WANTED = json.loads((Path(__file__).parent / "catalogue_ids.json").read_text())
KINDS = (
    PrivacyClaim, UtilityClaim, ExpectationClaim, InvariantClaim, EqualityClaim,
    ThresholdClaim, GrowthClaim, IdentityClaim,
)  # fmt: skip
NEED_A_MECHANISM = (PrivacyClaim, UtilityClaim, ExpectationClaim, EqualityClaim)

BY_ID = {theorem.identifier: theorem for theorem in THEOREMS}
every_theorem = pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.identifier)


def defaults(theorem):
    return {name: parameter.default for name, parameter in theorem.parameters.items()}


def test_identifiers_are_unique():
    assert len(BY_ID) == len(THEOREMS)
    mutants = [control.identifier for control in NEGATIVE_CONTROLS if control.identifier]
    mutants += [statement.identifier for statement in BROKEN_STATEMENTS]
    assert len(set(mutants)) == len(mutants)


def test_no_claim_of_the_catalogue_is_missing():
    assert set(WANTED["claims"]) - BY_ID.keys() == set()


def test_no_erratum_is_missing_and_each_is_a_literal_form():
    assert set(WANTED["errata"]) - BY_ID.keys() == set()
    for identifier in WANTED["errata"]:
        assert not BY_ID[identifier].holds


@every_theorem
def test_the_default_instance_is_built(theorem):
    subject = theorem.at(**defaults(theorem))
    assert isinstance(subject.claim, KINDS)
    assert subject.claim.identifier == theorem.identifier
    assert isinstance(subject.claim, NEED_A_MECHANISM) <= (subject.mechanism is not None)
    for text in (theorem.statement, theorem.reference):
        assert text
        assert "\n" not in text


@every_theorem
def test_parameters_have_a_range_with_the_default_inside(theorem):
    for parameter in theorem.parameters.values():
        assert parameter.within.low <= parameter.default <= parameter.within.high
        assert parameter.meaning


@every_theorem
def test_a_literal_form_names_what_is_right(theorem):
    if theorem.holds:
        assert not theorem.corrected
        return
    assert theorem.remark
    assert theorem.corrected in BY_ID
    assert BY_ID[theorem.corrected].holds


WITHOUT_LAW = {
    "BQ-6.1-PRIV": lambda one: (
        one["rounds"] * one["base_epsilon"]
        + 2
        * zcdp_root(one["epsilon"], one["delta"])
        * sqrt(3 * one["samples"] * one["rounds"] * (one["rounds"] - 1) / (2 * one["rounds"] - 1))
    ),
    "BQ-6.1-PRIV-ONE": lambda one: WITHOUT_LAW["BQ-6.1-PRIV"]({**one, "samples": 1}),
    "PMW-PRIV": lambda one: (
        one["updates"]
        * 4
        * noise_epsilon_for(**{name: one[name] for name in ("epsilon", "delta", "updates")})
    ),
}
"""What the steps lose by plain addition, where no exact law says it."""

WITH_PARTS = {
    "T-COMP-ADV-COR": lambda one: (
        *advanced_calibration(
            epsilon=one["target"], delta=10 ** -one["digits"], rounds=int(one["rounds"])
        ),
        one["rounds"],
    ),
}
"""Epsilon and delta of a part, and how many there are, of parts that lose a delta."""

RESERVED = {
    "CONJ-P2-ADVANCED": "the rounds add up to more; no database is hard in all of them",
    "PAC-IP-REC": "delta is for naming an interval that the neighbour does not name",
    "PAC-BOX-REC": "as PAC-IP-REC",
    "BQ-6.1-PRIV-APART": "one round draws its queries before it looks at the data",
}
"""Claims of which no pair known needs delta, each with its reason."""


@pytest.mark.long
@pytest.mark.parametrize(
    "theorem",
    [
        one
        for one in THEOREMS
        if one.holds and getattr(one.at().claim, "delta", 0) > 0 and not one.at().claim.curve
    ],
    ids=lambda one: one.identifier,
)
def test_plain_addition_does_not_meet_a_claim_with_a_delta(theorem):
    subject, given = theorem.at(), defaults(theorem)
    claim = subject.claim
    if theorem.identifier in WITH_PARTS:
        epsilon, leak, parts = WITH_PARTS[theorem.identifier](given)
        # Parts with a delta have no pure loss: what adds up is their epsilon and their delta.
        assert parts * leak <= claim.delta
        assert parts * epsilon > claim.epsilon
        return
    if theorem.identifier in RESERVED:
        return
    if theorem.identifier in WITHOUT_LAW:
        assert WITHOUT_LAW[theorem.identifier](given) > claim.epsilon
        return
    pure = replace(claim, delta=0.0)
    assert exact_privacy(subject.mechanism, pure).epsilon > claim.epsilon


def test_the_rounds_of_a_greedy_learner_do_not_add_up_to_epsilon():
    given = defaults(BY_ID["CONJ-P2-ADVANCED"])
    each = round_privacy(given["epsilon"], given["rounds"], given["delta"])
    assert given["rounds"] * each > given["epsilon"]


@pytest.mark.long
@pytest.mark.parametrize("mechanism", CATALOGUE, ids=lambda one: one.name)
def test_no_mechanism_of_the_catalogue_claims_a_delta_it_does_not_need(mechanism):
    for claim in mechanism.claims:
        if isinstance(claim, PrivacyClaim) and claim.delta > 0 and claim.curve is None:
            if mechanism.name == "boosting":
                given = {"epsilon": 1.0, "delta": 0.1, "base_epsilon": 0.5}
                total = WITHOUT_LAW["BQ-6.1-PRIV"]({**given, "rounds": 3, "samples": 1})
                assert total > claim.epsilon
                continue
            if mechanism.name in ("rec-concave", "noisy-gradient-descent"):
                continue  # See RESERVED, and noisy-gradients, which releases more.
            pure = replace(claim, delta=0.0)
            assert exact_privacy(mechanism, pure).epsilon > claim.epsilon


def test_a_reason_why_little_of_a_bound_is_measured_is_one_sentence_on_a_true_statement():
    for theorem in THEOREMS:
        if theorem.weak:
            assert theorem.holds
            assert "\n" not in theorem.weak


def test_readme_counts_what_there_is():
    text = " ".join((Path(__file__).parents[1] / "README.md").read_text("utf-8").split())
    false = sum(not theorem.holds for theorem in THEOREMS)
    for words in (
        f"{len(CATALOGUE)} mechanisms with their claims",
        f"{len(NEGATIVE_CONTROLS)} negative controls",
        f"{len(THEOREMS)} theorems with their parameters ({false} of them false as printed",
        f"{len(BROKEN_STATEMENTS)} broken statements",
    ):
        assert words in text


ONLY_A_RATIO = {
    ("sampled_query", "attenuation"): "the statement is about its ratio to the sensitivity",
    ("boosting", "accuracy"): "the base generators of the cases err in units of it",
    ("counted_boxes", "count_epsilon"): "a third of epsilon, which PAC-BOX-SPENT varies",
}


def numbers_of(call, found):
    """The numbers that a function is bound to, by its name and theirs."""
    if not isinstance(call, partial):
        return
    for name, value in call.keywords.items():
        if isinstance(value, float | int) and not isinstance(value, bool):
            found.setdefault((call.func.__name__, name), set()).add(float(value))
        numbers_of(value, found)


def test_no_number_of_a_mechanism_is_1_in_every_statement():
    """Where all are 1, a sensitivity may be left out, squared or divided by: nothing tells."""
    found = {}
    for theorem in THEOREMS:
        subject = theorem.at()
        if theorem.holds and subject.mechanism is not None:
            numbers_of(subject.mechanism.run, found)
            numbers_of(getattr(subject.claim, "other", None), found)
    assert len(found) > 90
    assert {place for place, values in found.items() if values == {1.0}} <= ONLY_A_RATIO.keys()


@pytest.mark.long
def test_an_identity_is_worked_out_over_the_range_of_each_parameter():
    """A page draws both sides over a parameter: no value of its range may end in an error."""
    worked = 0
    for theorem in THEOREMS:
        if not isinstance(theorem.at().claim, IdentityClaim):
            continue
        for name, parameter in theorem.parameters.items():
            within = parameter.within
            last = min(within.high, max(4 * abs(parameter.default), within.low))
            values = np.linspace(within.low, last, 5)
            for value in np.unique(values.round()) if within.integer else values:
                chosen = round(value) if within.integer else float(value)
                float(theorem.at(**{name: chosen}).claim.compute())
                worked += 1
    assert worked > 100
