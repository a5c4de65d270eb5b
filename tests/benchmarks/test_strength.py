"""The page of bounds tells of every true statement, and of every branch."""

import re
from importlib import util
from pathlib import Path

import pytest

from dpwitness.mechanisms.catalogue import THEOREMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "strength.md").read_text("utf-8")
SPEC = util.spec_from_file_location("strength", ROOT / "benchmarks" / "strength.py")
STRENGTH = util.module_from_spec(SPEC)
SPEC.loader.exec_module(STRENGTH)
RATED, REST = PAGE.split("## Branches")
BY_NAME = {theorem.identifier: theorem for theorem in THEOREMS}


def test_every_true_statement_is_in_the_page_once():
    rated = re.findall(r"^\| (\S+) \| (?:privacy|utility|expectation|threshold) \|", RATED, re.M)
    without = re.search(r"^Without a ratio: (.*)\.$", REST, re.M).group(1).split(", ")
    true = [theorem.identifier for theorem in THEOREMS if theorem.holds]
    assert sorted(rated + without) == sorted(true)


def test_a_low_ratio_has_the_reason_that_the_theorem_gives():
    rows = re.findall(r"^\| (\S+) \|.*\| (\d\.\d{3}) \| [^|]* \| (.*) \|$", RATED, re.M)
    assert len(rows) > 70
    for name, ratio, why in rows:
        told = BY_NAME[name].weak.replace("|", "\\|")
        assert why.strip() == (told if float(ratio) < STRENGTH.WEAK else ""), name
        assert float(ratio) >= STRENGTH.WEAK or told


@pytest.mark.parametrize("branch", STRENGTH.BRANCHES)
def test_a_branch_has_a_true_statement_that_was_run_at_its_default(branch):
    for name in STRENGTH.BRANCHES[branch]:
        at = ", ".join(f"{key} {one.default:g}" for key, one in BY_NAME[name].parameters.items())
        row = next(row for row in REST.splitlines() if row.startswith(f"| {branch} | {name} |"))
        assert f"| {at} |" in row, name
        assert BY_NAME[name].holds
        assert "not run" not in row


INSTANCES = {
    "BQ-BASE-ADVANCED": {"delta": (1e-9, 0.1)},
    "SVT-PRIV": {"positives": (2, 3)},
    "SVT-NUMERIC": {"positives": (2, 3)},
    "SVT-STREAM": {"length": (8, 100)},
    "BQ-6.1-PRIV": {"samples": (2, 4)},
    "PAC-BOX-ADVANCED": {"dimension": (3, 4), "delta": (1e-9, 0.1)},
    "PAC-BOX-ADVANCED-MAIN": {"dimension": (3, 6)},
    "PAC-BOX-REC": {"delta": (1e-9, 0.1)},
    "CONJ-P1-ADVANCED": {"delta": (1e-9, 0.1)},
    "CONJ-P2-ADVANCED": {"delta": (1e-9, 0.1), "rounds": (2, 5)},
    "PMW-PRIV": {"delta": (1e-9, 0.1), "updates": (2, 24)},
    "T-GRID-LAW": {"scale": (2, 8)},
}


@pytest.mark.parametrize("name", INSTANCES)
def test_the_default_of_a_statement_is_in_its_branch(name):
    for key, (low, high) in INSTANCES[name].items():
        assert low <= BY_NAME[name].parameters[key].default <= high
