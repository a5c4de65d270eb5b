"""`dpwitness tools mutants` says what was seen, writes it, and ends with its status."""

import json

import pytest
from click.testing import CliRunner

from dpwitness.reports.cli import main

CODE = """
def noisy(values, rng, *, size=None):
    return sum(values) + rng.laplace(scale=1.0, size=size)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    (tmp_path / "mine.py").write_text(CODE)

    def ran(*words):
        return CliRunner().invoke(main, ["tools", "mutants", *words])

    return ran


STATED = ("mine.py:noisy", "--epsilon", "1", "--pair", "[]", "[1]", "--trials", "20000")


@pytest.mark.slow
def test_a_users_function_is_scored_and_the_smallest_fault_told(run):
    done = run(*STATED, "--kind", "noise", "--json", "score.json")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "% too small is detected (by privacy claim 1)" in said
    assert "not even 100 % too large is detected" in said
    with open("score.json", encoding="utf-8") as file:
        data = json.load(file)
    assert data["format"] == "dpwitness-mutants"
    small, large = data["mutants"]
    assert small["verdict"] == "seen"
    assert small["smallest_seen"] < 1
    assert large["verdict"] == "not seen"
    assert data["seen_share"] == 0.5


@pytest.mark.slow
def test_a_share_below_the_least_is_status_1(run):
    assert run(*STATED, "--kind", "noise", "--least", "0.9", "--quiet").exit_code == 1


def test_nothing_judged_is_inconclusive(run):
    done = run(*STATED, "--kind", "sign", "--seconds", "1e-6", "--quiet")
    assert done.exit_code == 3
    assert "not tried" in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("mine.py:noisy", "--epsilon", "1", "--relation", "add-remove"), "without databases"),
        (("mine.py:noisy", "--pair", "[]", "[1]"), "no privacy claim"),
        ((*STATED, "--least", "2"), "a share from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_status_2(run, words, sentence):
    done = run(*words)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
