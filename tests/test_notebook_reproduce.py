"""Statements by name and of one's own from Python: check, audit and reproduce in a notebook."""

from dataclasses import replace

import numpy as np
import pytest

import dpwitness
from dpwitness import InvalidArgument, UtilityClaim, Verdict
from dpwitness.mechanisms.catalogue import CATALOGUE

FEW = {"trials": 2000}


def tail(scale):
    """That an exponential error of mean 1 is above scale ln(1 / beta) with chance beta."""

    def subject(shift):
        claim = UtilityClaim(
            loss=lambda database, output: np.abs(output),
            bound=lambda beta: scale * (shift - np.log(beta)),
            databases=([0.0],),
        )
        made = dpwitness.Mechanism(name="exponential-error", run=noisy, claims=(claim,))
        return dpwitness.Subject(claim=claim, mechanism=made)

    return dpwitness.Theorem(
        identifier=f"OWN-{scale:g}",
        statement="an exponential tail",
        reference="by hand",
        subject=subject,
        parameters={"shift": parameter},
    )


def noisy(database, rng, *, size=None):
    return database[0] + rng.laplace(size=size)


parameter = dpwitness.Parameter(
    default=0.0, within=dpwitness.Interval(low=0, high=2), meaning="added to ln(1 / beta)"
)


def test_a_statement_of_the_catalogue_is_checked_by_its_name():
    report = dpwitness.check("PMW-SPENT")
    assert report.verdict is Verdict.PROVED
    assert report.identifier == "PMW-SPENT"
    assert dpwitness.check("t-lap-1", **FEW).identifier == "T-LAP-1"


def test_a_control_is_checked_by_its_name():
    assert dpwitness.check("MUT-GD-1", **FEW).refuted


@pytest.mark.parametrize("ask", [dpwitness.check, dpwitness.reproduce, dpwitness.audit])
def test_an_unknown_name_is_one_sentence(ask):
    with pytest.raises(InvalidArgument, match="catalogue"):
        ask("NO-SUCH-THING")


@pytest.mark.long
def test_a_mechanism_of_the_catalogue_is_audited_by_its_name():
    named = dpwitness.audit("Randomized-Response", **FEW)
    held = dpwitness.audit(CATALOGUE.entry("randomized-response"), **FEW)
    assert named.epsilon_lower == held.epsilon_lower
    assert named.target == "Randomized-Response"
    assert dpwitness.audit(mechanism="geometric", **FEW).mechanism == "geometric"
    assert len(dpwitness.audit_claims("grid-laplace", **FEW)) == 1


def test_statements_of_the_catalogue_make_a_table():
    made = dpwitness.reproduce(["PMW-SPENT", "EM-3.1?c"], trials=10_000)
    assert [one.identifier for one in made] == ["PMW-SPENT", "EM-3.13c"]
    assert made.as_expected
    assert made["PMW-SPENT"].verdict is Verdict.PROVED
    assert "PMW-SPENT" in str(made)
    assert "2 checks of 2 statements" in str(made)
    assert "<table" in made._repr_html_()
    with pytest.raises(KeyError):
        made["EM-3.12"]


def test_the_numbers_are_those_of_the_command(tmp_path):
    made = dpwitness.reproduce("T-LAP-1", trials=10_000, seed=3)
    row = made.to_dict()["results"][0]
    assert (row["id"], row["measured"]["value"]) == ("T-LAP-1", made[0].finding.measured.value)
    made.save(tmp_path / "numbers.json")
    assert (tmp_path / "numbers.json").read_text().startswith("{")
    with pytest.raises(InvalidArgument, match="json"):
        made.save(tmp_path / "numbers.txt")


@pytest.mark.long
def test_theorems_of_a_notebook_are_reproduced_and_refuted():
    true, false = tail(1.0), tail(0.5)
    made = dpwitness.reproduce([true, replace(false, holds=False)], trials=10_000)
    assert [one.refuted for one in made] == [False, True]
    assert made.as_expected
    swept = dpwitness.reproduce(true, parameters={"shift": [0.0, 1.0]}, trials=10_000)
    assert len(swept) == 2
    assert len(swept["OWN-1"]) == 2
    assert "shift" in str(swept)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"parameters": {"shift": 5.0}}, "from 0 to 2"),
        ({"parameters": {"other": 1.0}}, "no parameter 'other'"),
        ({"trials": 0}, "trials must be"),
    ],
)
def test_what_a_theorem_is_not_stated_for_is_said(asked, said):
    with pytest.raises(InvalidArgument, match=said):
        dpwitness.reproduce(tail(1.0), **asked)


def test_names_and_theorems_stand_in_one_table_and_share_alpha():
    own, named = tail(1.0), "T-LAP-1"
    made = dpwitness.reproduce([named, own], trials=10_000)
    assert [one.identifier for one in made] == ["OWN-1", "T-LAP-1"]
    assert made["OWN-1"].finding.error == pytest.approx(0.5e-3)
    alone = dpwitness.reproduce(named, trials=10_000)
    assert made[named].finding.error == pytest.approx(alone[0].finding.error / 2)
    with pytest.raises(InvalidArgument, match="statements must be"):
        dpwitness.reproduce(3)


def test_pictures_stand_in_the_notebook():
    made = dpwitness.reproduce(tail(1.0), trials=10_000, pictures=True)
    assert "<svg" in made._repr_html_()


@pytest.mark.long
def test_a_theorem_of_ones_own_is_refuted_and_nothing_was_expected():
    made = dpwitness.reproduce([tail(0.5)], trials=10_000)
    assert not made.as_expected
    assert "; refuted: OWN-0.5." in " ".join(str(made).split())
    assert "expected" not in str(made).casefold()
    assert "REFUTED" in str(made[0]).upper()
    assert len(str(made[0]).splitlines()) > 3
