"""A claim of a curve by every door: command line, shards, gate, replay."""

import json

import jsonschema
import pytest

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.mechanisms.model.curves import PointsCurve
from dpwitness.reports.record.curve_files import points_from, renyi_from
from dpwitness.reports.record.json_schema import schema

SCHEMA = schema()
RELEASE = """
def narrow(database, rng, *, size=None):
    return sum(database) + rng.normal(scale=0.6, size=size)


def right(database, rng, *, size=None):
    return sum(database) + rng.normal(scale=1.0, size=size)
"""
TARGET = ("--relation", "add-remove", "--pair", "[]", "[1]", "--trials", "8000")


@pytest.fixture
def told(run, tmp_path):
    (tmp_path / "release.py").write_text(RELEASE)
    (tmp_path / "points.csv").write_text("epsilon,delta\n1,0.13\n2,0.021\n")
    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [("--mu", "1"), ("--rho", "0.5"), ("--rho", "0.4", "--delta", "0.1"),
     ("--renyi", "2:1", "--renyi", "8:4"), ("--curve", "points.csv")],
    ids=" ".join,
)  # fmt: skip
def test_the_command_line_takes_every_curve_and_its_evidence_replays(told, claim, tmp_path):
    done = told("audit", "release.py:narrow", *claim, *TARGET, "--json", "e.json")
    assert done.exit_code == 1, done.output
    assert "  point   epsilon" in done.output
    data = json.loads((tmp_path / "e.json").read_text())
    jsonschema.validate(data, SCHEMA)
    again = told("replay", "e.json", "release.py:narrow")
    assert again.exit_code == 1
    assert "The same counts, bit for bit" in " ".join(again.output.split())
    assert told("audit", "release.py:right", *claim, *TARGET, "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("claim", "said"),
    [(("--mu", "1", "--epsilon", "1"), "one of --epsilon, --mu"),
     (("--renyi", "2"), "ALPHA:EPSILON"),
     (("--mu", "-1"), "mu must be a positive"), (("--curve", "none.csv"), "none.csv"),
     (("--curve", "release.py"), "must hold pairs of numbers"), (("--rho", "nan"), "rho must be")],
    ids=str,
)  # fmt: skip
def test_what_is_no_curve_is_one_sentence(told, claim, said):
    done = told("audit", "release.py:narrow", *claim, *TARGET)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


@pytest.mark.slow
def test_shards_of_a_curve_are_the_audit_in_one_piece(told, tmp_path):
    claim = ("--curve", "points.csv")
    whole = told("audit", "release.py:narrow", *claim, *TARGET, "--json", "whole.json")
    assert whole.exit_code == 1
    for number in (1, 2):
        told("audit", "release.py:narrow", *claim, *TARGET, "--shard", f"{number}/2",
             "--json", f"{number}.json")  # fmt: skip
    (tmp_path / "points.csv").unlink()  # a shard has the points, not the place of a file
    merged = told("tools", "merge", "1.json", "2.json", "--target", "release.py:narrow",
                  "--json", "merged.json")  # fmt: skip
    assert merged.exit_code == 1, merged.output
    results = [
        json.loads((tmp_path / name).read_text())["results"][0]
        for name in ("whole.json", "merged.json")
    ]
    assert results[0]["claim"] == results[1]["claim"]
    assert results[0]["evidence"] == results[1]["evidence"]


@pytest.mark.slow
def test_the_gate_and_its_baseline_take_a_curve(told, tmp_path):
    (tmp_path / "dpwitness.toml").write_text(
        'trials = 4000\n[[gate]]\ntarget = "release.py:right"\nmu = 1.0\nrelation = "add-remove"\n'
        'pair = ["[]", "[1]"]\n[[gate]]\ntarget = "release.py:right"\nrenyi = ["2:1", "8:4"]\n'
        'relation = "add-remove"\npair = ["[]", "[1]"]\n'
    )
    assert told("gate", "--baseline", "b.json", "--accept").exit_code == 0
    kept = json.loads((tmp_path / "b.json").read_text())["entries"]
    assert all(0 < one[0]["size_lower"] < 1 for one in kept.values())
    assert told("gate", "--baseline", "b.json").exit_code == 0
    text = (tmp_path / "release.py").read_text()
    (tmp_path / "release.py").write_text(text.replace("scale=1.0", "scale=0.6"))
    worse = told("gate", "--baseline", "b.json")
    assert worse.exit_code == 1
    assert "does not keep mu 1" in " ".join(worse.output.split())


def test_points_and_orders_as_they_are_typed(tmp_path):
    for name, text in (("a.json", "[[1, 1e-5], [2, 1e-9]]"), ("b.csv", "1,1e-5\n2, 1e-9\n")):
        (tmp_path / name).write_text(text)
        points = points_from(str(tmp_path / name))
        assert PointsCurve(points).points == ((1.0, 1e-5), (2.0, 1e-9))
    assert renyi_from(("2:0.5", "1.5:1e-1")) == ((2.0, 0.5), (1.5, 0.1))
    for text in ("", "1", "[1]", "a,b", "[[1,2,3]]", '{"a": 1}', "[" * 200):
        (tmp_path / "bad").write_text(text or " ")
        with pytest.raises((InvalidArgument, EvidenceFormatError, ValueError)):
            PointsCurve(points_from(str(tmp_path / "bad")))
