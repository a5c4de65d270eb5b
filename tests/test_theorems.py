"""Every statement of the catalogue is there, once, and can be built at its defaults."""

import json
from pathlib import Path

import pytest

from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, THEOREMS
from dpwitness.mechanisms.model import (
    EqualityClaim,
    ExpectationClaim,
    IdentityClaim,
    InvariantClaim,
    PrivacyClaim,
    ThresholdClaim,
    UtilityClaim,
)

WANTED = json.loads((Path(__file__).parent / "catalogue_ids.json").read_text())
KINDS = (
    PrivacyClaim, UtilityClaim, ExpectationClaim, InvariantClaim, EqualityClaim,
    ThresholdClaim, IdentityClaim,
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


def test_readme_counts_what_there_is():
    text = " ".join((Path(__file__).parents[1] / "README.md").read_text("utf-8").split())
    false = sum(not theorem.holds for theorem in THEOREMS)
    for words in (
        f"{len(CATALOGUE)} mechanisms with their claims, {len(NEGATIVE_CONTROLS)} broken twins",
        f"{len(THEOREMS)} theorems with their parameters ({false} of them false as printed",
        f"{len(BROKEN_STATEMENTS)} broken statements",
    ):
        assert words in text
