"""A claim of a curve by every door: command line, shards, gate, replay."""

import json

import jsonschema
import pytest

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.mechanisms.model.curves import PointsCurve
from dpwitness.reports.record.evidence import schema
from dpwitness.reports.record.reading import points_from, renyi_from

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


CLAIMS = [
    ("--epsilon", "1"), ("--epsilon", "1", "--delta", "0.01"), ("--mu", "1"), ("--rho", "0.5"),
    ("--rho", "0.4", "--delta", "0.1"), ("--renyi", "2:1", "--renyi", "8:4"),
    ("--curve", "points.csv"),
]  # fmt: skip
"""Every kind of claim that narrow noise breaks. Gaussian noise of scale 1 keeps all the curves."""
GROUPS = [(*claim, "--distance", "2") for claim in (CLAIMS[0], CLAIMS[1], CLAIMS[2], CLAIMS[3])]
APART = {"1": "[1]", "2": "[1, 1]"}


def target(claim, trials="8000"):
    steps = APART["2" if "--distance" in claim else "1"]
    return ("--relation", "add-remove", "--pair", "[]", steps, "--trials", trials)


@pytest.mark.slow
@pytest.mark.parametrize("claim", [*CLAIMS, *GROUPS], ids=" ".join)
def test_the_command_line_takes_every_claim_and_its_evidence_replays(told, claim, tmp_path):
    done = told("audit", "release.py:narrow", *claim, *target(claim), "-v", "-o", "e.json",
                "-o", "page.html")  # fmt: skip
    assert done.exit_code == 1, done.output
    assert ("  point   epsilon" in done.output) == ("--epsilon" not in claim)
    data = json.loads((tmp_path / "e.json").read_text())
    jsonschema.validate(data, SCHEMA)
    assert data["findings"][0]["witness"]["database"] is not None
    again = told("replay", "e.json", "release.py:narrow")
    assert again.exit_code == 1
    assert "The same counts, bit for bit" in " ".join(again.output.split())
    for name in ("How well one output tells", "Witness"):
        assert name in (tmp_path / "page.html").read_text("utf-8")
    if "--epsilon" not in claim:
        sound = told("audit", "release.py:right", *claim, *target(claim))
        assert sound.exit_code in (0, 3)  # 3: two steps apart, little of rho 2 would be seen
        # The power of the run, or that it has none.
        assert ("9 times in 10", "Inconclusive")[sound.exit_code == 3] in sound.output


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS[:-1], ids=" ".join)
def test_the_search_shows_a_smaller_pair(told, claim, tmp_path):
    (tmp_path / "bits.py").write_text(
        "from hypothesis import strategies as st\nbits = st.lists(st.integers(0, 1), max_size=8)\n"
    )
    done = told("audit", "release.py:narrow", *claim, "--relation", "add-remove",
                "--databases", "bits.py:bits", "--trials", "16000", "--json", "e.json")  # fmt: skip
    assert done.exit_code == 1, done.output
    shown = json.loads((tmp_path / "e.json").read_text())["findings"][0]["witness"]
    rows = sorted(len(json.loads(shown[side]) if isinstance(shown[side], str) else shown[side])
                  for side in ("database", "neighbour"))  # fmt: skip
    assert rows[1] <= 4


@pytest.mark.parametrize(
    ("claim", "said"),
    [(("--mu", "1", "--epsilon", "1"), "one of --epsilon, --mu"),
     (("--renyi", "2"), "ALPHA:EPSILON"),
     (("--mu", "-1"), "mu must be a positive"), (("--curve", "none.csv"), "none.csv"),
     (("--curve", "release.py"), "must hold pairs of numbers"),
     (("--curve", "texts.json"), "pair 1 is '12'"),
     (("--curve", "three.csv"), "pair 2 is '0.5,0.1,7'"),
     (("--curve", "word.csv"), "pair 1 is '1,low'"), (("--rho", "nan"), "rho must be")],
    ids=str,
)  # fmt: skip
def test_what_is_no_curve_is_one_sentence(told, claim, said, tmp_path):
    for name, text in (("texts.json", '["12"]'), ("three.csv", "1,.2\n0.5,0.1,7\n"),
                       ("word.csv", "epsilon,delta\n1,low\n")):  # fmt: skip
        (tmp_path / name).write_text(text, "utf-8")
    done = told("audit", "release.py:narrow", *claim, *TARGET)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


@pytest.mark.slow
@pytest.mark.parametrize("claim", [*CLAIMS, GROUPS[2]], ids=" ".join)
def test_shards_of_every_claim_are_the_audit_in_one_piece(told, claim, tmp_path):
    whole = told("audit", "release.py:narrow", *claim, *target(claim), "--json", "whole.json")
    assert whole.exit_code == 1
    for number in (1, 2):
        told("audit", "release.py:narrow", *claim, *target(claim), "--shard", f"{number}/2",
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


SETTINGS = ("epsilon = 1.0", "epsilon = 1.0\ndelta = 0.01", "mu = 1.0", "rho = 0.5",
            "rho = 0.4\ndelta = 0.1", 'renyi = ["2:1", "8:4"]', 'curve = "points.csv"',
            "mu = 0.5\ndistance = 2")  # fmt: skip


@pytest.mark.slow
def test_the_gate_refutes_every_claim_and_the_history_keeps_each(told, tmp_path):
    entries = [
        f'[[gate]]\ntarget = "release.py:narrow"\nrelation = "add-remove"\n{claim}\n'
        f'pair = ["[]", "{APART["2" if "distance" in claim else "1"]}"]\n'
        for claim in SETTINGS
    ]
    (tmp_path / "dpwitness.toml").write_text("trials = 4000\n" + "".join(entries))
    done = told("gate", "--json", "g.json")
    assert done.exit_code == 1, done.output
    made = json.loads((tmp_path / "g.json").read_text())["findings"]
    assert [one["verdict"] for one in made] == ["refuted"] * len(SETTINGS)
    listed = told("history")
    assert listed.exit_code == 0
    for phrase in ("mu 1", "rho 0.5", "rho 0.4, delta 0.1", "Renyi", "the curve of"):
        assert phrase in " ".join(listed.output.split())


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


@pytest.mark.long
def test_a_point_of_epsilon_zero_is_told_by_its_delta(told, tmp_path):
    """No factor of epsilon 0 allows more. The total variation of narrow noise is .595."""
    (tmp_path / "points.csv").write_text("epsilon,delta\n0,0.4\n")
    refuted = told("audit", "release.py:narrow", *TARGET, "--curve", "points.csv", "--quiet")
    assert refuted.exit_code == 1
    said = " ".join(refuted.output.split())
    assert "at delta 0.4" in said
    assert "times its epsilon" not in said


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
