"""The corpus notices a planted change, and nothing where nothing changed."""

import json
import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from dpwitness.auditors.bounds import two_sample

PLACE = Path(__file__).parents[2] / "benchmarks" / "corpus.py"
SPEC = util.spec_from_file_location("corpus", PLACE)
CORPUS = util.module_from_spec(SPEC)
SPEC.loader.exec_module(CORPUS)
ONE = "audit/geometric"
SOME = "audit/[gl]*"
"""Nineteen cheap mechanisms and controls: enough for the test over all cases."""


def planted(monkeypatch, change):
    """Every bound of the product goes through `change(bound of a level, level)`."""
    true = two_sample.epsilon_lower
    monkeypatch.setattr(
        two_sample,
        "epsilon_lower",
        lambda *given, level, **more: change(
            lambda error: true(*given, level=error, **more), level
        ),
    )


def test_there_is_a_case_for_everything_in_the_catalogue():
    cases = list(CORPUS.cases())
    assert len(set(cases)) == len(cases)
    kinds = [kind for kind, _ in cases]
    assert kinds.count("audit") == len(CORPUS.CATALOGUE) + len(CORPUS.NEGATIVE_CONTROLS)
    parts = (CORPUS.THEOREMS, CORPUS.BROKEN_STATEMENTS, CORPUS.NEGATIVE_CONTROLS)
    assert kinds.count("statement") == sum(map(len, parts))
    assert CORPUS.SEEDS * kinds.count("judge") == 30


@pytest.mark.long
@pytest.mark.parametrize(
    "change",
    [lambda bound, level: bound(2 * level), lambda bound, level: 1.01 * bound(level)],
    ids=["alpha doubled", "bound too large by a hundredth"],
)
def test_a_planted_change_is_seen(monkeypatch, change):
    before = CORPUS.record(ONE, seeds=[0])
    planted(monkeypatch, change)
    assert CORPUS.differing(before, CORPUS.record(ONE, seeds=[0]))


@pytest.mark.slow
def test_another_process_with_other_hashes_is_not_seen(tmp_path):
    """Nor is a change that leaves everything found as it was: the same findings, made elsewhere."""
    place = tmp_path / "other.json"
    subprocess.run(
        [sys.executable, str(PLACE), str(place), "--only", ONE, "--processes", "2"],
        env={**os.environ, "PYTHONHASHSEED": "7"}, check=True, capture_output=True,
    )  # fmt: skip
    here = CORPUS.record(ONE)
    assert CORPUS.differing(here, json.loads(place.read_text("utf-8"))) == []


@pytest.mark.slow
def test_loosely_other_seeds_are_not_seen_and_a_planted_change_is(monkeypatch):
    before, others = CORPUS.record(SOME), CORPUS.record(SOME, seeds=range(3, 6))
    assert CORPUS.differing(before, others)
    assert CORPUS.differing(before, others, loosely=True) == []
    planted(monkeypatch, lambda bound, level: 1.2 * bound(level))
    wrong = CORPUS.record(SOME, seeds=range(3, 6))
    assert CORPUS.differing(before, wrong, loosely=True)


@pytest.mark.quality
def test_every_verdict_is_that_of_878604e(tmp_path):
    """Ten minutes of two processes. Bounds may move on purpose, and new cases are not compared."""
    before = json.loads(PLACE.with_name("corpus-878604e.json").read_text("utf-8"))
    place = tmp_path / "now.json"
    subprocess.run([sys.executable, str(PLACE), str(place)], check=True, capture_output=True)
    now = json.loads(place.read_text("utf-8"))
    known = {name: rows for name, rows in now.items() if name in before}
    told = CORPUS.differing(before, known, loosely=True)
    assert [line for line in told if ": bounds" not in line and "all cases" not in line] == []
