"""The gate: its list, the comparison with a baseline, and what it writes."""

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from math import exp
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from dpwitness import AuditResult, Count, Evidence, Pair, PrivacyClaim, Relation, Verdict, Witness
from dpwitness.auditors.bounds.two_sample import at_distance
from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.reports.auditing.delivering import source_of
from dpwitness.reports.ci.audits import _line as line_of_test
from dpwitness.reports.ci.baseline import (
    BaselineError,
    baseline_text,
    compare,
    read_baseline,
    remarks,
)
from dpwitness.reports.ci.commands import _case, _outcome, _tell, told_of
from dpwitness.reports.ci.gate import Entry, Gated, changes, read_entries, table_head, table_rows
from dpwitness.reports.ci.pytest_run import Run, summary_lines
from dpwitness.reports.faces import as_text
from dpwitness.reports.formats import as_github, as_junit, as_markdown, as_sarif
from dpwitness.reports.formats.told import Case, Reason, Told, ToldClaim
from dpwitness.reports.history.recorder import last_of, record
from dpwitness.reports.settings.settings import Settings, SettingsError
from dpwitness.reports.shell.console import Console

SAMPLE = Path(__file__).resolve().parents[3] / "docs" / "sample"
HOSTILE = 'a|b <script>`x` ::error::\x1b[31m\n% & "q"'


def evidence(p, q, draws=10**7):
    """Counts of an event of these frequencies."""
    count = Count(
        stage="attempt",
        chunk=0,
        event=HalfLine(Feature(), 1.0, True),
        reversed=False,
        hits=(round(p * draws), round(q * draws)),
        trials=(draws, draws),
    )
    return Evidence(counts=(count,), alpha=1e-3, level=1e-3)


def result(verdict="not_refuted", bound=0.9, epsilon=1.0, **changes):
    event = HalfLine(Feature(), 1.0, True)
    found = AuditResult(
        mechanism="counts",
        target="lib.py:f",
        claim=PrivacyClaim(epsilon=epsilon, relation=Relation.ADD_REMOVE),
        verdict=Verdict(verdict),
        epsilon_lower=float(bound),
        detectable_epsilon=1.1,
        detectable_probability=0.01,
        pair=Pair([], [0]),
        witness=Witness(database=[], neighbour=[0], event=event) if verdict == "refuted" else None,
        alpha=1e-3,
        evidence=evidence(0.26, 0.1),
        draws=1000,
        seed=3,
        seconds=0.5,
    )
    return replace(found, **changes)


def gated(name="lib.py:f", *results, again=(), problem="", source=("lib.py", 7)):
    return Gated(
        entry=Entry(target=name),
        results=results,
        again=again,
        replays=("dpwitness replay kept.json",) * len(results),
        problem=problem,
        source=source,
    )


def kinds(*args, **keywords):
    chosen = {"rise": 0.1, "strict": False} | keywords
    return [reason.kind for reason in compare(*args, **chosen)]


def baseline_of(tmp_path, *found):
    path = tmp_path / "base.json"
    path.write_text(baseline_text(found))
    return read_baseline(path)


def test_without_a_baseline_a_refutation_and_a_failure_stop():
    assert kinds([gated("a", result()), gated("b", result("inconclusive"))], None) == []
    assert kinds([gated("a", result("refuted"))], None) == ["refuted"]
    assert kinds([gated("a", problem="it died")], None) == ["failed"]
    assert kinds([gated("a", result("inconclusive"))], None, strict=True) == ["inconclusive"]


def test_against_a_baseline_only_what_became_worse_stops(tmp_path):
    known = baseline_of(tmp_path, gated("a", result()), gated("b", result("refuted", 2.0)))
    same = [gated("a", result(), again=(result(bound=0.95),)), gated("b", result("refuted", 2.0))]
    assert kinds(same, known) == []
    assert kinds(same[:1], known) == ["vanished"]
    rose = [gated("a", result(), again=(result(bound=1.0 + 1e-9),)), same[1]]
    assert kinds(rose, known) == ["rose"]
    assert kinds(rose, known, rise=0.2) == []
    assert kinds([gated("a", result("refuted", 1.4)), same[1]], known) == ["refuted"]
    again = [gated("a", result("refuted", 1.4), again=(result("refuted", 1.3),)), same[1]]
    assert kinds(again, known) == ["refuted", "rose"]
    other_pair = [gated("a", result(bound=0.99), again=(result(bound=0.9),)), same[1]]
    assert kinds(other_pair, known) == []
    assert kinds([*same, gated("new", result(bound=3.0, epsilon=4.0))], known) == []


def test_a_claim_that_is_no_longer_made_is_never_called_refuted(tmp_path):
    known = baseline_of(tmp_path, gated("a", result()))
    weaker = gated("a", result(epsilon=2.0), again=(result("refuted", 1.3),))
    (reason,) = compare([weaker], known, rise=0.1, strict=False)
    assert reason.kind == "rose"
    assert "claimed epsilon 1 (add-remove) when" in reason.sentence
    assert "claims epsilon 2 (add-remove) now" in reason.sentence
    assert "refuted" not in reason.sentence
    assert weaker.verdict == "not_refuted"
    # Also where the bound has hardly risen: the old claim is exceeded all the same.
    close = gated("a", result(epsilon=2.0), again=(result("refuted", 1.0 + 1e-6),))
    assert kinds([close], known, rise=0.5) == ["rose"]
    # The claim that is still made is refuted, wherever that was found.
    assert kinds([gated("a", result(), again=(result("refuted", 1.3),))], known) == [
        "refuted",
        "rose",
    ]


@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_upper_limit_of_a_baseline_is_per_step(tmp_path, distance, delta):
    """An event that is tight at epsilon .5 a step: its limit comes down to .5, not to k times."""
    total, slack = at_distance(0.5, delta, distance)
    found = result(evidence=evidence(exp(total) * 0.1 + slack, 0.1, 10**8))
    found = replace(found, claim=replace(found.claim, distance=distance, delta=delta))
    known = baseline_of(tmp_path, gated("a", found))
    assert 0.5 < known.results["a"][0]["epsilon_upper"] < 0.503


def test_a_line_break_in_a_name_forges_no_line(tmp_path, capsys):
    said = []
    console = Console(say=said.append, numbers=said.append, warn=said.append,
                      progress=lambda *_: None, paint=lambda text, _: text, width=50)  # fmt: skip
    forged = f"x ::error::a\n::error file=b::c\r\u2028##[error]d ##vso[task]\x85{HOSTILE}"
    long = "w" * 45 + "::error::cut at the width of the terminal"
    for name in (forged, long):
        refuted = result("refuted", 2.0, mechanism=name, target=name)
        again = f"dpwitness replay {shlex.quote(name)}"
        found = [replace(gated(name, refuted), replays=(again,))]
        worse = compare(found, None, rise=0.1, strict=False)
        told = told_of(found, worse, alpha=0.001, seed=1)
        _tell(console, told)
        said += [line for line, _ in table_rows(_case(found[0], {}), width=50)]
        said.append(as_text.render(refuted, replay=shlex.join(["replay", name])))
        run = Run(settings=Settings(), seed=1, crashed=[name])
        run.records = {(name, 1): line_of_test(refuted, 1, "")}
        said += [line for line, _ in summary_lines(run, 40)]
        said.append(as_markdown.render(told))
        assert len(as_github.render(told).splitlines()) == 1
        assert re.search(r"^\s*::", as_junit.render(told), re.MULTILINE) is None
    lines = [line for text in said for line in re.split(r"[\n\r\x85\u2028]", text)]
    assert lines
    assert [
        one for one in lines if re.match(r"\s*::[a-z]", one) or re.search(r"##(\[|vso)", one)
    ] == []


@pytest.mark.parametrize("width", [0, 30, 40, 50, 72, 80, 200])
def test_a_row_of_the_table_is_no_wider_than_the_terminal(width):
    refuted = result("refuted", 2.0, mechanism="mechanism", target="package/module.py:mechanism")
    told = table_rows(_case(gated("module.py:mechanism", refuted), {}), width=width)
    lines = [table_head(width=width), *told[0][0].split("\n")]
    assert max(map(len, lines)) <= (width or 200)
    assert lines[0].split()[:3] == ["VERDICT", "PRIVACY", "LOSS"]
    assert lines[-1].endswith("module.py:mechanism")
    assert ("LAST RUN" in lines[0]) == (not width or width >= 72)


@pytest.mark.parametrize(("bound", "words"), [("-inf", "> 1"), (1.0, "> 1"), (1.7826, ">= 1.782")])
def test_a_refutation_has_a_bound_above_the_claim_in_every_face(bound, words):
    """Bets may refute a claim although no event by itself gives a bound above it."""
    refuted = result("refuted", bound)
    (line,) = [line for line, _ in table_rows(_case(gated("a", refuted), {}))]
    assert line.split()[1:4] == [*words.split(), "1"]
    run = Run(settings=Settings(), seed=1, records={("a", 1): line_of_test(refuted, 1, "")})
    assert f": epsilon {words}, 1,000 runs" in summary_lines(run, 100)[0][0]
    told = told_of([gated("a", refuted)], (), alpha=0.001, seed=1)
    assert f"| epsilon {words} |" in as_markdown.render(told)
    shown = told.page().replace("\u2265", ">=").replace("\xa0", " ").replace("&gt;", ">")
    assert f">{words}<" in shown
    assert words.split()[1] in repr(refuted)


def test_the_run_as_a_whole_refutes_with_a_bound_above_the_claim():
    line = line_of_test(result("not_refuted", 0.8), 1, "")
    run = Run(settings=Settings(), seed=1, records={("a", 1): line}, added={("a", 1)})
    assert "REFUTED" in summary_lines(run, 200)[0][0]
    assert "epsilon > 1, " in summary_lines(run, 200)[0][0]


def test_the_table_says_what_changed_since_the_last_run(tmp_path):
    assert last_of(tmp_path) == {}
    old = [result(), result("refuted", 2.0), result(bound="-inf"), result("refuted", 2.0)]
    record(tmp_path, "run", old, ["a", "b", "c", "c"], 1)
    known = last_of(tmp_path)
    now = [
        gated("a", result(bound=0.95)),
        gated("b", result("refuted", 2.0)),
        gated("c", result("refuted", 1.5), result("refuted", 2.0, epsilon=1.5)),
        gated("d", result()),
    ]
    found = [changes(one, known) for one in now]
    assert found == [("+0.050",), ("same",), ("was not refuted", "other claim"), ("first run",)]
    assert changes(now[2], None) == ("not known", "not known")
    table = [line for one in now for line, _ in table_rows(_case(one, known))]
    assert [line.split()[0] for line in table] == ["not", "REFUTED", "REFUTED", "REFUTED", "not"]
    for line in table:  # columns stand below their heads
        assert line.index("0.5 s") == table_head().index("TIME")
    folded = [line for line, _ in table_rows(_case(now[0], known), width=50)]
    assert folded[0].splitlines()[1] == "    a"


def test_an_unreadable_history_leaves_the_change_unknown(tmp_path):
    with closing(sqlite3.connect(tmp_path / "history.db")) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    assert last_of(tmp_path) is None


def test_the_page_of_a_gate_has_the_refuted_first_and_every_entry():
    found = [
        gated("sound", result()),
        gated("died", problem="it died"),
        gated("broken", result("refuted", 1.7, target="broken")),
    ]
    worse = compare(found, None, rise=0.1, strict=False)
    told = told_of(found, worse, alpha=0.001, seed=1, last={}, commit="1a2b3c4")
    page = told.page()
    assert "Gate failed</span>: 2 of 3 entries." in page
    assert "commit 1a2b3c4, " in page
    rows = re.findall(r'data-label="Entry">(?:<a href="#(\w+)">)?(\w+)<', page)
    assert rows == [("r0", "broken"), ("", "died"), ("r1", "sound")]
    assert re.findall(r'<article id="(\w+)" class="(\w+)"', page) == [
        ("r0", "refuted"),
        ("r1", "not_refuted"),
    ]
    assert told.document["gate"]["commit"] == "1a2b3c4"
    assert [one["changes"] for one in told.document["gate"]["entries"]] == [
        ["first run"],
        [],
        ["first run"],
    ]


def test_a_long_summary_is_cut_where_it_would_not_be_shown(monkeypatch):
    found = [gated(f"m.py:f{n}", result("refuted", 2.0, target=f"m.py:f{n}")) for n in range(40)]
    told = told_of(found, compare(found, None, rise=0.1, strict=False), alpha=0.001, seed=1)
    whole = as_markdown.render(told)
    monkeypatch.setattr(as_markdown, "LARGEST", len(whole) // 2)
    cut = as_markdown.render(told)
    assert "do not fit here" in cut
    assert "do not fit here" not in whole
    assert len(cut) < len(whole) // 2 + 300
    for n in range(40):  # every reason and every line of the table come before the witnesses
        assert len(re.findall(rf"m\.py:f{n}\b", cut)) >= 2


def test_a_command_with_control_characters_can_still_be_pasted():
    word = "a\n::error::it's \\ b\x1b"
    (line,) = as_text.command_lines(shlex.join(["printf", "%s", word]), 100)
    assert "\n" not in line
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode() == word


def test_a_bound_of_minus_infinity_counts_as_none(tmp_path):
    nothing = result(bound="-inf", evidence=evidence(0.3, 0.3))
    known = baseline_of(tmp_path, gated("a", nothing))
    assert kinds([gated("a", result(), again=(result(bound=0.05),))], known) == []
    assert kinds([gated("a", result(), again=(result(bound=0.2),))], known) == ["rose"]


@pytest.mark.parametrize(
    ("draws", "stops"), [(100, []), (2000, []), (100_000, ["rose"]), (10**7, ["rose"])]
)
def test_a_bound_that_few_draws_left_too_low_does_not_rise(tmp_path, draws, stops):
    # The event's loss is ln 2.6 = .956; from how many draws on is a bound of 1.01 above it?
    known = baseline_of(tmp_path, gated("a", result(evidence=evidence(0.26, 0.1, draws))))
    assert kinds([gated("a", result(), again=(result(bound=1.01),))], known) == stops


def test_an_event_that_never_happened_on_the_other_side_bounds_nothing(tmp_path):
    known = baseline_of(tmp_path, gated("a", result(evidence=evidence(0.26, 0.0))))
    assert known.results["a"][0]["epsilon_upper"] == "inf"


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 99999, '{"schema": "dpwitness-baseline/1"}',
    '{"schema": "dpwitness-baseline/1", "entries": {"a": [{}]}}'])  # fmt: skip
def test_a_bad_baseline_is_a_sentence(tmp_path, text):
    path = tmp_path / "base.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match=r"is not a baseline of dpwitness .* --accept"):
        read_baseline(path)
    with pytest.raises(BaselineError, match="write the first one with --accept"):
        read_baseline(tmp_path / "none.json")


@pytest.mark.parametrize("bound", ["nan", "inf", "9" * 400, 10**400, None])
def test_a_baseline_above_which_nothing_can_rise_is_refused(tmp_path, bound):
    known = json.loads(baseline_text([gated("a", result())]))
    known["entries"]["a"][0]["epsilon_lower"] = bound
    (tmp_path / "base.json").write_text(json.dumps(known))
    with pytest.raises(BaselineError, match=r"is not a baseline of dpwitness .* --accept"):
        read_baseline(tmp_path / "base.json")


def test_a_comparison_with_nothing_is_refused_or_said(tmp_path):
    with pytest.raises(BaselineError, match="nothing could be compared"):
        baseline_of(tmp_path)
    known = baseline_of(tmp_path, gated("a", result("refuted", 2.0)))
    now = [gated("a", result("refuted", 2.0)), gated("b", result())]
    said = list(remarks(now, known, compare(now, known, rise=0.1, strict=False)))
    assert [one.partition(" ")[0] for one in said] == ["a", "b"]
    assert "the baseline accepts that" in said[0]
    told = told_of(now, (), alpha=0.001, seed=1)
    assert _outcome(told.cases, told.reasons).startswith("No new violation: 1 of 2 entries refuted")
    assert "was not compared" in said[1]
    assert list(remarks(now, None, ())) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no file here has settings"),
        ("alpha = 0.1", "lists nothing to audit"),
        ("gate = 3", "gate in dpwitness.toml must be tables"),
        ("[[gate]]\nepsilon = 1", 'needs target = "file.py:function", got None'),
        ("[[gate]]\ntarget = 'a:b'\nweight = 0", "weight must be a positive number, got 0"),
        ("[[gate]]\ntarget = 'a:b'\nepsilno = 1", "has 'epsilno'; it takes target, weight"),
        ("[[gate]]\ntarget = 'a:b'\nepsilon = 'x'", "epsilon must be of type int or float"),
        ("[[gate]]\ntarget = 'a:b'\nepsilon = true", "epsilon must be of type"),
        ("[[gate]]\ntarget = 'a:b'\npair = ['1']", "pair must be two JSON texts"),
        ("[[gate]]\ntarget = 'a:b'\n[[gate]]\ntarget = 'a:b'", "lists a:b twice"),
    ],
)
def test_a_bad_list_is_a_sentence(tmp_path, text, sentence):
    (tmp_path / "dpwitness.toml").write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        read_entries(tmp_path)


def test_the_line_of_a_target_is_read_off_the_text():
    assert source_of("noise/counts.py:noisy_count", SAMPLE) == ("noise/counts.py", 15)
    assert source_of("noise.counts:AGES", SAMPLE) == ("noise/counts.py", 8)
    assert source_of("noise/counts.py:absent", SAMPLE) == ("noise/counts.py", 1)
    assert source_of("noise/none.py:f", SAMPLE) is None
    assert source_of("laplace", SAMPLE) is None
    assert source_of("json:loads", SAMPLE) is None


def bad_gate():
    """A gate in which everything goes wrong, with hostile names."""
    found = [
        gated("a.py:f", result()),
        gated(f"b.py:{HOSTILE}", result("refuted", 2.0), source=("b,c:d.py", 3)),
        gated("c.py:h", problem=HOSTILE, source=None),
    ]
    worse = [*compare(found, None, rise=0.1, strict=False),
             Reason(kind="vanished", name="gone", sentence="it vanished"),
             Reason(kind="rose", name="a.py:f", sentence="it rose"),
             Reason(kind="inconclusive", name="a.py:f", sentence="too few")]  # fmt: skip
    return told_of(found, worse, alpha=0.001, seed=1)


XUNIT2 = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id"},
        {"testcase", "properties", "system-out", "system-err"},
    ),
    "testcase": ({"name", "time", "classname"}, {"failure", "error", "skipped"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
}
"""Attributes and children that the xunit2 schema of the Jenkins plugin allows, where we use it."""


def test_junit_has_the_form_of_xunit2():
    root = ElementTree.fromstring(as_junit.render(bad_gate()))
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = XUNIT2[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "3", "1")
    assert len(root.findall("testsuite/testcase")) == 4
    for attribute in ("tests", "failures", "errors"):
        total = sum(int(suite.get(attribute)) for suite in root)
        assert total == int(root.get(attribute))


TEXT = {"type": "object", "required": ["text"], "additionalProperties": False,
        "properties": {"text": {"type": "string"}}}  # fmt: skip
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required, **properties):
    return {"type": "object", "required": required, "properties": properties,
            "additionalProperties": False}  # fmt: skip


SARIF = closed(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={"type": "array", "items": closed(
        ["tool"],
        tool=closed(["driver"], driver=closed(
            ["name"], name={"type": "string"},
            semanticVersion={"type": "string"},
            rules={"type": "array", "uniqueItems": True, "items": closed(
                ["id"], id={"type": "string"}, name={"type": "string"}, shortDescription=TEXT,
                fullDescription=TEXT, defaultConfiguration=closed([], level=LEVEL))},
        )),
        columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        invocations={"type": "array", "items": closed(
            ["executionSuccessful"], executionSuccessful={"type": "boolean"})},
        results={"type": "array", "items": closed(
            ["message"], message=TEXT, ruleId={"type": "string"}, level=LEVEL,
            ruleIndex={"type": "integer", "minimum": -1},
            partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
            locations={"type": "array", "items": closed(
                [],
                logicalLocations={"type": "array", "items": closed(
                    [], fullyQualifiedName={"type": "string"})},
                physicalLocation=closed(
                    [], artifactLocation=closed(
                        [], uri={"type": "string", "format": "uri-reference"},
                        uriBaseId={"type": "string"}),
                    region=closed([], startLine={"type": "integer", "minimum": 1})),
            )},
        )},
    )},
)  # fmt: skip
"""The part of the SARIF 2.1.0 schema that we use, closed to everything else."""


def test_sarif_has_the_form_of_2_1_0():
    told = bad_gate()
    data = json.loads(as_sarif.render(told))
    jsonschema.validate(data, SARIF)
    (run,) = data["runs"]
    assert [r["ruleId"] for r in run["results"]] == [f"dpwitness/{w.kind}" for w in told.reasons]
    for entry in run["results"]:
        assert run["tool"]["driver"]["rules"][entry["ruleIndex"]]["id"] == entry["ruleId"]
    assert not run["invocations"][0]["executionSuccessful"]


def test_markdown_and_annotations_keep_hostile_text_inside():
    told = bad_gate()
    text = as_markdown.render(told)
    assert "<script>" not in text
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(row.replace("\\|", "").count("|") == 8 for row in rows)
    lines = as_github.render(told).splitlines()
    assert len(lines) == len(told.reasons)
    assert all(line.startswith(("::error ", "::warning ")) for line in lines)
    assert "file=b%2Cc%3Ad.py,line=3," in lines[0]


@pytest.mark.parametrize("form", [as_github, as_junit, as_markdown, as_sarif])
def test_every_format_tells_the_whole_witness(form):
    told = told_of(
        [gated("a.py:f", result("refuted", 2.0))],
        [Reason(kind="refuted", name="a.py:f", sentence="f does not keep epsilon 1 (add-remove)")],
        alpha=0.001,
        seed=1,
    )
    text = form.render(told).replace("&gt;", ">").replace("&#39;", "'")
    parts = ["epsilon 1 (add-remove)", "[]", "[0]", "dpwitness replay kept.json"]
    if form is not as_github:  # which has four lines: the sentence names the event
        parts += ["output >= 1", "epsilon >= 2", "fix the mechanism"]
    for part in parts:
        assert part in text, part


@pytest.mark.parametrize("form", [as_junit, as_markdown])
def test_a_proof_says_what_it_covers(form):
    judged = ToldClaim(mechanism="m", claim="c", verdict="proved", bound="", power="", draws=1,
                    seconds=0.0, scope="both pairs of {0, 1}")  # fmt: skip
    case = Case(name="m", target="m", judged=(judged,))
    told = Told(command="reproduce", cases=(case,), reasons=(), closing="", document={}, page=str)
    assert "both pairs of {0, 1}" in form.render(told)


@pytest.fixture
def sample(tmp_path):
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns(".dpwitness", "__pycache__"))
    return folder


def gate(folder, *options):
    command = [sys.executable, "-m", "dpwitness.reports.cli", "gate", *options]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.slow
def test_halved_noise_is_caught_and_a_refactoring_is_not(sample):
    assert gate(sample, "--baseline", "base.json", "--accept").returncode == 0
    assert gate(sample, "--baseline", "base.json").returncode == 0
    code = sample / "noise" / "counts.py"
    text = code.read_text()
    code.write_text(text.replace("counts = np.bincount", "shape = (*_shape(size), 3)\n    counts = "
        "np.bincount").replace("counts + rng.laplace(scale=2.0, size=(*_shape(size), 3))",
        "counts - rng.laplace(scale=2.0, size=shape)"))  # fmt: skip
    refactored = gate(sample, "--baseline", "base.json")
    assert refactored.returncode == 0, refactored.stdout
    code.write_text(text.replace("scale=2.0", "scale=1.0"))
    done = gate(sample, "--baseline", "base.json", "--junit", "j.xml", "--sarif", "s.json",
                "--markdown", "m.md", "--json", "g.json", "--html", "g.html")  # fmt: skip
    assert done.returncode == 1
    assert "refuted: noise/counts.py:noisy_histogram" in done.stdout
    assert "rose: noise/counts.py:noisy_histogram" in done.stdout
    assert done.stdout.count("refuted: ") == 1
    jsonschema.validate(json.loads((sample / "s.json").read_text()), SARIF)
    assert ElementTree.parse(sample / "j.xml").getroot().get("failures") == "1"
    assert "<svg" in (sample / "g.html").read_text()
    assert len(json.loads((sample / "g.json").read_text())["results"]) == 4


@pytest.mark.long
@pytest.mark.parametrize("relation", ["", 'relation = "add-remov"\n'])
def test_a_relation_that_is_missing_or_misspelt_is_no_failed_audit(tmp_path, relation):
    """The entry is to blame, in the words of the settings, once."""
    (tmp_path / "mine.py").write_text("def count(database, rng):\n    return len(database)\n")
    (tmp_path / "dpwitness.toml").write_text(
        '[[gate]]\ntarget = "mine.py:count"\nepsilon = 1.0\ndatabases = "mine.py:count"\n'
        + relation
    )
    done = gate(tmp_path)
    assert done.returncode == 2, done
    assert "--" not in (done.stdout + done.stderr).replace("-- ", "")
    said = " ".join((done.stdout + done.stderr).split())
    assert said.count("relation must be" if relation else "mine.py:count is of type function") == 1


@pytest.mark.long
def test_the_seed_of_a_gate_may_be_random(tmp_path):
    done = gate(tmp_path, "--seed", "random")
    assert done.returncode == 2
    assert "add a table" in done.stderr
    assert "a whole number or the word random" in gate(tmp_path, "--seed", "randm").stderr


@pytest.mark.slow
def test_a_mechanism_that_dies_or_breaks_its_contract_fails_the_gate(sample):
    (sample / "bad.py").write_text(
        "import os, signal\n"
        "def dies(x, rng):\n    os.kill(os.getpid(), signal.SIGSEGV)\n\n"
        "def raises(x, rng):\n    raise RuntimeError('no')\n"
    )
    (sample / "dpwitness.toml").write_text(
        "".join(
            f"[[gate]]\ntarget = 'bad.py:{name}'\nepsilon = 1.0\npair = ['0', '1']\n"
            for name in ("dies", "raises", "absent")
        )
    )
    done = gate(sample, "--workers", "2")
    assert done.returncode == 4
    assert "died of SIGSEGV" in " ".join(done.stdout.split())
    assert "the mechanism raised RuntimeError" in " ".join(done.stdout.split())
    assert "absent" in done.stdout


@pytest.mark.slow
def test_who_looks_and_what_lists_mean_is_said_in_an_entry(tmp_path):
    (tmp_path / "release.py").write_text(
        "import numpy as np\n"
        "def zero(database, rng):\n    return 0 if not database else np.float64(0)\n"
        "def bins(database, rng):\n    return [one + rng.laplace() for one in database]\n"
        "def raises(database, rng):\n    return 1 / int(rng.random() < 0.9)\n"
    )
    entry = '[[gate]]\nepsilon = 1.0\nrelation = "add-remove"\ntrials = 4000\ntarget = "release.py:'
    sound = [
        'zero"\npair = ["[]", "[1]"]\n',
        'bins"\npair = ["[3]", "[4]"]\nhistogram = true\n',
        'raises"\npair = ["[]", "[1]"]\nexceptions = "output"\n',
    ]
    place = tmp_path / "dpwitness.toml"
    place.write_text("".join(entry + one for one in sound))
    passed = gate(tmp_path)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "the Python type of the outputs alone breaks the claim" in passed.stdout
    # A baseline keeps what its lists mean.
    assert gate(tmp_path, "--baseline", "base.json", "--accept").returncode == 0
    assert gate(tmp_path, "--baseline", "base.json").returncode == 0
    place.write_text(place.read_text() + entry + sound[0] + 'attacker = "types"\n')
    stopped = gate(tmp_path)
    assert stopped.returncode == 1
    assert "zero seen through its Python types" in stopped.stdout


@pytest.mark.slow
def test_the_budget_follows_from_what_is_to_be_noticed(tmp_path):
    (tmp_path / "release.py").write_text(
        "def counted(database, rng):\n    return len(database) + rng.laplace()\n"
    )
    entry = (
        '[[gate]]\ntarget = "release.py:counted"\nepsilon = 1.0\nrelation = "add-remove"\n'
        'pair = ["[]", "[1]"]\n'
    )
    place = tmp_path / "dpwitness.toml"
    place.write_text(f"notice = 1.5\n{entry}")
    passed = gate(tmp_path, "--json", "first.json")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "notice 1.5 times the claim" in " ".join(passed.stdout.split())
    place.write_text(f"{entry}notice = 3\n")
    passed = gate(tmp_path, "--json", "second.json")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    first, second = (
        json.loads((tmp_path / name).read_text())["results"][0]["draws"]
        for name in ("first.json", "second.json")
    )
    assert second < first < 60_000
