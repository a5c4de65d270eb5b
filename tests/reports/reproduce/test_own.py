"""A theorem of the user's own, named as file.py:NAME."""

import json

import pytest
from click.testing import CliRunner

from dpwitness.reports.cli import main

PROGRAM = """
from math import log

import numpy as np

from dpwitness import Interval, Mechanism, Parameter, Subject, Theorem, UtilityClaim


def waiting(database, rng, *, size=None):
    return rng.exponential(size=size)


def _tail(*, part):
    claim = UtilityClaim(
        loss=lambda database, output: np.asarray(output),
        bound=lambda beta: part * log(1 / beta),
        databases=([],),
    )
    return Subject(claim=claim, mechanism=Mechanism(name="waiting", run=waiting))


TAIL = Theorem(
    identifier="MY-TAIL",
    statement="P[X >= ln(1/beta)] <= beta",
    reference="a notebook",
    subject=_tail,
    parameters={
        "part": Parameter(default=1.0, within=Interval(low=0.1, high=2), meaning="of the bound")
    },
)
HALF = Theorem(
    identifier="MY-HALF", statement="half of it", reference="", subject=lambda: _tail(part=0.5)
)
TWIN = Theorem(identifier="MY-TAIL", statement="", reference="", subject=lambda: _tail(part=1))
TAKEN = Theorem(identifier="em-3.12", statement="", reference="", subject=lambda: _tail(part=1))
NONE = Theorem(identifier="MY-NONE", statement="", reference="", subject=lambda: None)
NUMBER = 3
"""


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PROGRAM, encoding="utf-8")

    def call(*words):
        return CliRunner().invoke(
            main, ["reproduce", *words, "--trials", "10_000", "--workers", "1"]
        )

    return call


@pytest.mark.long
def test_own_theorems_share_alpha_and_a_false_one_is_refuted(reproduce, tmp_path):
    outcome = reproduce("mine.py:TAIL", "mine.py:HALF", "--json", "found.json")
    assert outcome.exit_code == 1
    results = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]
    assert [(one["id"], one["verdict"], one["alpha"]) for one in results] == [
        ("MY-TAIL", "not_refuted", 5e-4), ("MY-HALF", "refuted", 5e-4),
    ]  # fmt: skip
    assert {one["group"] for one in results} == {"Your own statements"}


def test_an_own_theorem_gets_page_figure_and_table(reproduce, tmp_path):
    assert reproduce("mine.py:TAIL", "--set", "part=1,2", "--out", "page").exit_code == 0
    made = {path.name for path in (tmp_path / "page").rglob("*") if path.is_file()}
    assert {"index.html", "summary.csv", "MY-TAIL.csv", "MY-TAIL-sweep.svg"} <= made


@pytest.mark.long
def test_several_workers_hide_no_sentence(reproduce):
    outcome = reproduce("mine.py:HALF", "mine.py:NONE", "--workers", "2")
    assert outcome.exit_code == 2
    assert "MY-NONE: subject (mine.py:36) must return" in " ".join(outcome.output.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mine.py:NUMBER"], "expected a Theorem"),
        (["mine.py:TAIL", "EM-3.12"], "of the one or of the other"),
        (["mine.py:TAIL", "mine.py:TWIN"], "have the identifier 'MY-TAIL'"),
        (["mine.py:TAKEN"], "the catalogue has a statement 'EM-3.12' already"),
        (["mine.py:NONE"], "MY-NONE: subject (mine.py:36) must return a claim"),
        (["mine.py:TALE"], "there is no 'TALE' in it"),
        (["mine.py:TAIL", "--set", "part=7"], "from 0.1 to 2"),
        (["nowhere.py:TAIL"], "there is no file"),
    ],
)
def test_what_is_no_theorem_is_one_sentence(reproduce, words, sentence):
    outcome = reproduce(*words)
    assert outcome.exit_code == 2
    assert sentence in " ".join(outcome.output.split())
