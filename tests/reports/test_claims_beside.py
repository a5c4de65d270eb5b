"""audit and gate test every claim a mechanism carries, and all of them share one alpha."""

import json
from math import log
from pathlib import Path

import jsonschema
import pytest

from dpwitness.reports.record.evidence import schema

SCHEMA = schema()
PROGRAM = """
from math import log

import numpy as np

from dpwitness import Interval, Mechanism, PrivacyClaim, Relation, Rows, UtilityClaim


def noisy(database, rng, *, size=None):
    return len(database) + rng.laplace(scale=2.0, size=size)


def tail(scale):
    return UtilityClaim(
        loss=lambda database, output: np.abs(np.asarray(output) - len(database)),
        bound=lambda beta: scale * log(1 / beta),
        databases=([],),
        identifier=f"TAIL-{scale}",
    )


PRIVATE = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE, examples=(([], [1.0]),))
ROWS = Rows(row=Interval(low=0, high=1))
SOUND = Mechanism(name="sound", run=noisy, claims=(PRIVATE, tail(2)), databases=ROWS)
WRONG = Mechanism(name="wrong", run=noisy, claims=(PRIVATE, tail(1)), databases=ROWS)
USEFUL = Mechanism(name="useful", run=noisy, claims=(tail(2),), databases=ROWS)
"""
FEW = ("--trials", "1000", "--pair", "[]", "[1]")


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PROGRAM, encoding="utf-8")


@pytest.mark.long
def test_a_wrong_utility_claim_is_refuted_beside_a_privacy_claim_that_is_not(run, own):
    assert log(2) < 1  # P[|noise| >= ln(1/beta)] is sqrt(beta), far above beta
    result = run("audit", "mine.py:WRONG", *FEW, "--json", "a.json", "--html", "a.html",
                 "--junit", "a.xml", "--sarif", "a.sarif", "--markdown", "a.md")  # fmt: skip
    assert result.exit_code == 1
    assert "Not refuted: no violation of epsilon 1 (add-remove) found in wrong." in result.stdout
    assert "Refuted: wrong, TAIL-1 (utility): P ≤" in result.stdout
    data = json.loads(Path("a.json").read_text("utf-8"))
    jsonschema.validate(data, SCHEMA)
    (claim,), (found,) = data["claims"], data["claim_findings"]
    assert (claim["kind"], found["verdict"]) == ("utility", "refuted")
    # One alpha, shared by both claims.
    assert data["results"][0]["evidence"]["alpha"] == claim["plan"]["alpha"] == 5e-4
    for name in ("a.html", "a.xml", "a.sarif", "a.md"):
        assert "TAIL-1" in Path(name).read_text("utf-8"), name


def test_claims_privacy_narrows_it_and_leaves_it_all_of_alpha(run, own):
    result = run("audit", "mine.py:WRONG", *FEW, "--claims", "privacy", "--json", "a.json")
    assert result.exit_code == 0
    data = json.loads(Path("a.json").read_text("utf-8"))
    assert "claims" not in data
    assert data["results"][0]["evidence"]["alpha"] == 1e-3


def test_a_mechanism_that_claims_no_privacy_is_judged_by_what_it_claims(run, own):
    result = run("audit", "mine.py:USEFUL", "--trials", "2000", "--html", "a.html")
    assert result.exit_code == 0
    assert result.stdout.startswith("Not refuted: useful, TAIL-2 (utility)")
    assert "TAIL-2" in Path("a.html").read_text("utf-8")


@pytest.mark.quality
def test_the_gate_stops_for_a_wrong_utility_claim_and_may_accept_it(run, own):
    entry = "[[gate]]\ntarget = 'mine.py:{}'\ntrials = 1000\npair = ['[]', '[1]']\n"
    Path("dpwitness.toml").write_text(entry.format("SOUND") + entry.format("WRONG"), "utf-8")
    stopped = run("gate", "--json", "g.json", "--html", "g.html")
    assert stopped.exit_code == 1
    assert "refuted: mine.py:WRONG: wrong, TAIL-1 (utility)" in stopped.stdout
    assert [one["verdict"] for one in json.loads(Path("g.json").read_text())["claim_findings"]] == [
        "not_refuted", "refuted",
    ]  # fmt: skip
    assert "TAIL-1" in Path("g.html").read_text("utf-8")
    assert run("gate", "--baseline", "b.json", "--accept").exit_code == 0
    assert run("gate", "--baseline", "b.json").exit_code == 0
    narrowed = entry.format("WRONG") + "claims = 'privacy'\n"
    Path("dpwitness.toml").write_text(narrowed, "utf-8")
    assert run("gate").exit_code == 0
