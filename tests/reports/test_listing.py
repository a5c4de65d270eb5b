"""The list of the catalogue, for machines and for people."""

import json
from pathlib import Path

import pytest

from dpwitness import InvalidArgument
from dpwitness.mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, THEOREMS
from dpwitness.reports.auditing import listing

IDS = json.loads(Path(__file__).parents[1].joinpath("catalogue_ids.json").read_text())
KINDS = {
    "privacy", "utility", "expectation", "invariant", "equality", "threshold", "growth", "identity",
}  # fmt: skip
WIDTHS = (40, 60, 100)


@pytest.fixture(scope="module")
def data():
    return json.loads(json.dumps(listing.as_data(), allow_nan=False))


@pytest.fixture(scope="module")
def theorems(data):
    return {entry["identifier"]: entry for entry in data["theorems"]}


@pytest.mark.parametrize("identifier", [i for part in IDS.values() for i in part])
def test_every_statement_of_the_catalogue_is_listed(theorems, identifier):
    assert identifier in theorems


@pytest.mark.parametrize("identifier", IDS["errata"])
def test_an_erratum_does_not_hold_and_says_why(theorems, identifier):
    assert not theorems[identifier]["holds"]
    assert theorems[identifier]["remark"]


def test_the_keys_stay_as_they_are(data):
    mechanism = {"name", "identifier", "reference", "claims"}
    keys = {
        "mechanisms": mechanism,
        "controls": mechanism | {"breaks", "defect", "detectable"},
        "theorems": {
            "identifier", "statement", "kind", "reference", "parameters", "mechanism", "holds",
            "corrected", "remark",
        },
        "broken_statements": {"identifier", "breaks", "defect"},
    }  # fmt: skip
    assert data.keys() == {"schema", *keys}
    assert data["schema"] == "dpwitness-list/1"
    for section, expected in keys.items():
        assert data[section]
        for entry in data[section]:
            assert entry.keys() == expected
    for theorem in data["theorems"]:
        for parameter in theorem["parameters"].values():
            assert parameter.keys() == {"default", "low", "high", "integer", "meaning"}


def test_everything_is_listed_once_and_in_order(data):
    assert [entry["name"] for entry in data["mechanisms"]] == [m.name for m in CATALOGUE]
    assert [entry["name"] for entry in data["controls"]] == [
        control.mechanism.name for control in NEGATIVE_CONTROLS
    ]
    assert [entry["identifier"] for entry in data["theorems"]] == [t.identifier for t in THEOREMS]
    assert [entry["identifier"] for entry in data["broken_statements"]] == [
        statement.identifier for statement in BROKEN_STATEMENTS
    ]
    for entry, control in zip(data["controls"], NEGATIVE_CONTROLS, strict=True):
        assert entry["identifier"] == control.identifier or not control.identifier


def test_claims_and_theorems_are_of_a_known_kind(data):
    for entry in data["mechanisms"] + data["controls"]:
        assert any(claim["kind"] == "privacy" for claim in entry["claims"])
    kinds = {claim["kind"] for entry in data["mechanisms"] for claim in entry["claims"]}
    kinds |= {entry["breaks"]["kind"] for entry in data["controls"] + data["broken_statements"]}
    assert kinds <= KINDS
    assert {theorem["kind"] for theorem in data["theorems"]} == KINDS


def test_theorems_are_told_whole(theorems):
    for theorem in theorems.values():
        assert theorem["statement"]
        assert theorem["reference"]
        assert theorem["corrected"] in {"", *theorems}
        assert bool(theorem["corrected"]) <= (not theorem["holds"])
        for name, parameter in theorem["parameters"].items():
            assert parameter["low"] <= parameter["default"] <= parameter["high"], name
            assert parameter["meaning"], name


@pytest.mark.parametrize("width", WIDTHS)
def test_the_text_names_everything_and_keeps_to_the_width(width):
    text = listing.render(width)
    assert max(map(len, text.splitlines())) <= width
    flat = " ".join(text.split())
    for mechanism in CATALOGUE:
        assert mechanism.name in text
    for control in NEGATIVE_CONTROLS:
        # A name longer than the line is broken over two.
        assert control.mechanism.name in "".join(text.split())
        assert control.defect in flat
        assert control.identifier in text
    told = text.partition("Theorems:")[2].splitlines()
    starts = [line.split()[0] for line in told if line.strip()]
    for statement in (*THEOREMS, *BROKEN_STATEMENTS):
        assert starts.count(statement.identifier) == 1
    for theorem in THEOREMS:
        begun = theorem.statement if theorem.holds else f"(false) {theorem.statement}"
        assert begun[: width - 36].rstrip() in flat


def test_a_theorem_takes_one_line():
    lines = listing.render(60).partition("Theorems:")[2].splitlines()
    for theorem in THEOREMS:
        [line] = [line for line in lines if line.startswith(f"  {theorem.identifier} ")]
        assert line.split(maxsplit=1)[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_overview_is_short_and_names_every_mechanism(width):
    text = listing.overview(width)
    assert max(map(len, text.splitlines())) <= width
    assert len(text.splitlines()) < 60
    for mechanism in CATALOGUE:
        assert mechanism.name in text
    for system in listing.systems():
        assert f"\n{system}" in f"\n{text}"


@pytest.mark.parametrize("kind", ["mechanism", "control", "theorem", "statement"])
def test_a_kind_is_all_of_it_and_nothing_else(kind):
    found = listing.select(kind=kind)
    sizes = [
        len(part)
        for part in (found.mechanisms, found.controls, found.theorems, found.statements)
    ]  # fmt: skip
    everything = [len(part) for part in (CATALOGUE, NEGATIVE_CONTROLS, THEOREMS, BROKEN_STATEMENTS)]
    place = ["mechanism", "control", "theorem", "statement"].index(kind)
    assert sizes == [all_ if i == place else 0 for i, all_ in enumerate(everything)]


def test_the_systems_share_out_the_whole_catalogue():
    found = [listing.select(system=system) for system in listing.systems()]
    assert sorted(t.identifier for one in found for t in one.theorems) == sorted(
        t.identifier for t in THEOREMS
    )
    assert sorted(m.name for one in found for m in one.mechanisms) == sorted(
        m.name for m in CATALOGUE
    )


def test_words_narrow_what_is_found():
    noise = listing.select(["Noise"])
    assert {"laplace", "geometric"} <= {m.name for m in noise.mechanisms}
    both = listing.select(["sparse", "numeric"])
    assert "numeric-sparse-vector" in {m.name for m in both.mechanisms}
    assert len(both.mechanisms) < len(listing.select(["sparse"]).mechanisms)
    assert [t.identifier for t in listing.select(["em-3.12"], kind="theorem").theorems]
    data = listing.as_data(both)
    assert [entry["name"] for entry in data["mechanisms"]] == [m.name for m in both.mechanisms]


def test_every_mechanism_of_an_entry_is_in_its_system():
    for table in (CATALOGUE, NEGATIVE_CONTROLS, BROKEN_STATEMENTS, THEOREMS):
        assert len(table.systems) == len(table)


def test_errata_are_a_kind_and_a_word_may_be_a_pattern_of_names():
    found = listing.select(kind="erratum")
    assert list(found.theorems) == [theorem for theorem in THEOREMS if not theorem.holds]
    assert not found.mechanisms
    named = listing.select(["err-em-*"])
    assert {one.identifier for one in named.theorems} == {
        one.identifier for one in THEOREMS if one.identifier.startswith("ERR-EM-")
    }
    with pytest.raises(InvalidArgument, match="nothing in the catalogue has"):
        listing.select(["ERR-?"])
