"""The cases of benchmarks/real as data: each can be called, judged and given to another auditor."""

import ast
import json
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2] / "benchmarks" / "real"
sys.path.insert(0, str(HOME))
import audits  # noqa: E402
import known  # noqa: E402

CASES = list(known.cases())
WORDS = {"add-remove", "replace-one", "declared"}


def test_cases_have_names_of_their_own():
    names = [case["name"] for case in CASES]
    assert len({*names}) == len(names)
    assert {case["wanted"] for case in CASES} == {"refuted", "not refuted"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_says_what_is_run_and_what_is_claimed(case, tmp_path, monkeypatch):
    monkeypatch.setattr(known, "environment", lambda *_: Path("python"))
    named, _ = known.called(case, tmp_path, tmp_path)
    if "target" in named:
        place, _, function = named["target"].rpartition(":")
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
        assert function in {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
    else:
        assert (tmp_path / case["command"].split()[-1]).exists()
    assert case["relation"] in WORDS
    assert case["epsilon"] > 0
    assert 0 <= case["delta"] < 1
    first, second = known.example(case)
    assert json.dumps(first) != json.dumps(second)
    assert "pair" in case or f"{case['databases']} = " in (HOME / "inputs.py").read_text("utf-8")
    pinned = case.get("packages", case.get("npm"))[0]
    assert "==" in pinned or "@" in pinned
    assert case["wanted"] == "not refuted" or case["hand"] > 0


def test_another_auditor_gets_outputs_for_a_database_a_number_and_a_seed(tmp_path):
    (case,) = [one for one in known.cases("attackers") if not one["packages"]]
    draw = known.sampler(case, tmp_path)
    assert len(draw(0.0, 50, 1)) == 50
    assert draw(0.0, 50, 1) == draw(0.0, 50, 1)
    assert draw(0.0, 50, 1) != draw(0.0, 50, 2)


@pytest.mark.long
def test_a_case_is_audited_by_the_command_and_has_its_row(tmp_path):
    (case,) = [one for one in known.cases("attackers") if not one["packages"]]
    case |= {"pair": ["0.0", "1.0"], "relation": "replace-one", "hand": 1.0}
    for epsilon, verdict in ((0.3, "refuted"), (1.0, "not refuted")):
        found = audits.audited(case | {"epsilon": epsilon}, tmp_path, 4000, 0)
        assert found["verdict"] == verdict, found
        # Noise of scale 1 on numbers 1 apart has epsilon 1.
        assert 0.3 < found["epsilon_lower"] <= 1
        row = audits.row(case | {"wanted": verdict}, found)
        assert f"| {verdict} | {found['epsilon_lower']:.2f} |" in row
    assert found["draws"] <= 8100
