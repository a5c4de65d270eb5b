"""The run, its JSON and its table: the same numbers however they are asked for."""

import json
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from dpwitness import Verdict
from dpwitness.auditors.asked import Budget
from dpwitness.mechanisms.catalogue import THEOREMS
from dpwitness.reports.cli import main
from dpwitness.reports.formats.statements_as_json import schema
from dpwitness.reports.gallery.gallery import summary_csv
from dpwitness.reports.reproduce import run as running
from dpwitness.reports.reproduce.as_table import rows
from dpwitness.reports.reproduce.run import Chosen, error_share, run, select

SCHEMA = schema()
# One of each kind, an erratum and a sweep.
NAMES = ["EM-3.12", "T-LAP-2", "EM-3.10-BR", "EM-3.13a", "PAC-IP-EM-UTILITY", "T-LAP-3",
         "EM-OSNM-3.6", "ERR-EM-3"]  # fmt: skip


def reproduced(chosen, **changes):
    given = {"workers": 1, "pictures": False} | changes
    return tuple(run(chosen, Budget(trials=5_000, seed=given.pop("seed", 0)), **given))


def numbers(sections):
    """All that must be the same from run to run: everything but the seconds and the objects."""
    return [
        (section.identifier, dict(one.parameters), f.claimed, repr(f.measured), f.exact, f.verdict,
         f.draws, one.result.seed, f.error, repr(f.table))
        for section in sections
        for one in section.reproductions
        for f in [one.result.finding]
    ]  # fmt: skip


@pytest.fixture(scope="module")
def sections():
    return reproduced(select(NAMES, []))


@pytest.mark.long
def test_each_has_the_expected_verdict_in_the_order_asked_for(sections):
    assert [section.identifier for section in sections] == NAMES
    assert {one.result.kind for s in sections for one in s.reproductions} == {
        "utility", "expectation", "invariant", "equality", "threshold", "privacy", "identity"
    }  # fmt: skip
    for section in sections:
        (one,) = section.reproductions
        assert one.as_expected
        assert one.expected is (Verdict.NOT_REFUTED if section.holds else Verdict.REFUTED)


@pytest.mark.slow
def test_a_control_that_few_draws_do_not_refute_is_given_those_that_do():
    chosen = [Chosen(identifier="SVT-3", settings=({},))]
    (section,) = run(chosen, Budget(trials=10_000), workers=1, pictures=False)
    (one,) = section.reproductions
    assert one.as_expected
    assert one.result.finding.draws > 80_000


def test_what_is_proved_says_on_what(sections):
    proved = [s for s in sections if s.reproductions[0].result.verdict is Verdict.PROVED]
    assert proved
    for section in proved:
        scope = section.reproductions[0].result.finding.scope
        assert scope
        told = rows(section, 120, lambda text, verdict: text)
        assert f"proved for these inputs alone: {scope}" in " ".join(told.split())
        assert scope in " ".join(summary_csv([section]).split())


@pytest.mark.long
def test_the_numbers_depend_neither_on_the_workers_nor_on_the_company(sections):
    assert numbers(reproduced(select(NAMES, []), workers=2)) == numbers(sections)
    alone = reproduced(select(NAMES[:1], []))
    assert numbers(alone) == numbers(sections[:1])
    assert numbers(reproduced(select(NAMES[:1], []), seed=1)) != numbers(alone)


def test_the_error_probability_covers_the_whole_catalogue():
    settings = 7
    total = len(THEOREMS) * settings * error_share(1e-3, settings)
    assert total == pytest.approx(1e-3, rel=1e-12)
    (section,) = reproduced(select(["EM-3.12"], ["epsilon=0.5,1"]))
    assert all(
        one.result.finding.error <= error_share(1e-3, 2) * (1 + 1e-12)
        for one in section.reproductions
    )


@pytest.mark.long
def test_the_json_is_what_its_schema_says(tmp_path):
    path = tmp_path / "numbers.json"
    words = ["reproduce", *NAMES, "--trials", "10_000", "--json", str(path), "--workers", "1"]
    outcome = CliRunner().invoke(main, words)
    assert outcome.exit_code == 0, outcome.output
    data = json.loads(path.read_text("utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert [result["id"] for result in data["results"]] == NAMES
    assert all(result["as_expected"] for result in data["results"])
    by_id = {result["id"]: result for result in data["results"]}
    assert by_id["EM-3.12"]["claimed"] == pytest.approx(0.3369, abs=5e-5)
    assert by_id["EM-3.12"]["exact"] == pytest.approx(0.2482, abs=5e-5)
    assert by_id["ERR-EM-3"]["expected_verdict"] == by_id["ERR-EM-3"]["verdict"] == "refuted"
    assert by_id["ERR-EM-3"]["witness"]


def test_a_sweep_has_a_result_for_each_setting():
    (section,) = reproduced(select(["EM-3.12"], ["epsilon=0.5,1,2"]))
    assert [one.parameters["epsilon"] for one in section.reproductions] == [0.5, 1.0, 2.0]
    text = rows(section, 120, lambda text, verdict: text)
    assert [word in text for word in ("epsilon=0.5", "epsilon=1", "epsilon=2")] == [True] * 3


@pytest.mark.parametrize("width", [40, 50, 64, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(sections, width):
    for section in sections:
        for line in rows(section, width, lambda text, verdict: text).splitlines():
            assert len(line) <= max(width, 50)


def test_a_verdict_that_was_not_expected_gives_status_1_and_says_which(monkeypatch):
    theorem = next(t for t in THEOREMS if t.identifier == "EM-3.12")
    wrong = replace(theorem, holds=False)
    monkeypatch.setattr(running, "find", lambda identifier: wrong)
    outcome = CliRunner().invoke(main, ["reproduce", "EM-3.12", "--workers", "1"])
    assert outcome.exit_code == 1
    assert "EXPECTED REFUTED" in outcome.output
    assert "NOT as expected: EM-3.12" in outcome.output


def test_a_control_can_be_reproduced_by_its_name():
    chosen = (Chosen(identifier="EM-NAIVE", settings=({},)),)
    (section,) = reproduced(chosen)
    assert section.identifier == "EM-NAIVE"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["NO-SUCH"], "no statement 'NO-SUCH'"),
        (["EM-3.12", "--set", "epsilon=40"], "from 0.1 to 4"),
        (["EM-3.12", "--alpha", "2"], "alpha must be a number from 1e-100 to below 0.5"),
        (["EM-3.12", "--json", "/no/such/folder/x.json"], "cannot write"),
        (["EM-3.12", "--out", "/dev/null/gallery"], "cannot make the folder"),
        (["EM-3.12", "--seed", "-1"], "seed must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(words, sentence):
    outcome = CliRunner().invoke(main, ["reproduce", *words])
    assert outcome.exit_code == 2
    assert sentence in outcome.output.replace("\n", " ")
    assert "Traceback" not in outcome.output


@pytest.mark.long
def test_two_workers_refute_what_one_does():
    """Workers write to the pipes of their pool while the mechanisms of others are being called."""
    chosen = select(["ERR-EM-*"], [])
    assert len(chosen) > 4
    assert numbers(reproduced(chosen, workers=2)) == numbers(reproduced(chosen))
