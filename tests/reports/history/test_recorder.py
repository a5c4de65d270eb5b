"""Recording, adding up, merging, and what the commands show of it."""

import csv
import importlib.util
import io
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from html import unescape

import pytest

from dpwitness.auditors.outputs.kinds import NOT_LOOKED_AT
from dpwitness.reports.history import reading, recorder
from dpwitness.reports.history.page import render
from dpwitness.reports.history.reading import AuditedClaim, refuted_before
from dpwitness.reports.history.recorder import merge, new_run, record
from dpwitness.reports.history.store import NAME, grow, open_memory, open_store


def capital(directory):
    with closing(sqlite3.connect(directory / NAME)) as connection, connection:
        rows = connection.execute(
            "SELECT key, counted, remark, log_wealth, epsilon_lower FROM capital ORDER BY sequence"
        ).fetchall()
    return rows


def test_evidence_grows_over_runs_until_they_refute_together(tmp_path, result):
    told = [
        record(tmp_path, f"r{n}", [result(hits=((62, 18), (124, 36)), seed=n)], ["t"], n)
        for n in range(6)
    ]
    wealth = [row[3] for row in capital(tmp_path)]
    assert wealth == sorted(wealth)
    assert wealth[0] < 6.9 < wealth[-1]
    first = next(n for n, row in enumerate(wealth) if row >= 6.908)
    assert [bool(one) for one in told] == [n >= first for n in range(6)]
    assert "noisy (t): the runs of this version so far refute the claim together" in told[first][0]
    assert len({row[0] for row in capital(tmp_path)}) == 1


def test_recording_a_run_again_changes_nothing(tmp_path, result):
    record(tmp_path, "r", [result()], ["t"], 0)
    before = capital(tmp_path)
    assert record(tmp_path, "r", [result()], ["t"], 0) == ()
    assert capital(tmp_path) == before
    told = record(tmp_path, "r", [result(hits=((1, 1),))], ["t"], 0)
    assert "has recorded other" in told[0]
    assert "is kept in" in told[1]


def test_a_seed_drawn_before_adds_nothing_and_is_told_once(tmp_path, result):
    told = [record(tmp_path, f"r{n}", [result(seed=7)], ["t"], 7) for n in range(3)]
    assert [len(one) for one in told] == [0, 1, 0]
    assert "the same seed (7)" in told[1][0]
    rows = capital(tmp_path)
    assert [row[1] for row in rows] == [1, 0, 0]
    assert rows[1][2] == "repeated seed"
    assert rows[2][3] == rows[0][3]
    # One that draws from the operating system never repeats itself.
    for n in range(2):
        record(tmp_path, f"s{n}", [result(seed=7, seeded=False, mechanism="os")], ["t"], 7)
    assert [row[1] for row in capital(tmp_path)][-2:] == [1, 1]


def test_another_source_or_claim_starts_afresh_and_an_unknown_one_does_not_start(tmp_path, result):
    other = replace(result().claim, epsilon=2.0)
    runs = [result(seed=1), result(seed=2, source="6" * 32), result(seed=3, claim=other),
            result(seed=4, source=""), result(seed=5)]  # fmt: skip
    for n, one in enumerate(runs):
        record(tmp_path, f"r{n}", [one], ["t"], 0)
    rows = capital(tmp_path)
    assert len({rows[n][0] for n in (0, 1, 2, 3)}) == 4
    assert rows[4][0] == rows[0][0]
    assert rows[4][3] > rows[0][3] == rows[1][3]
    assert rows[3][1:3] == (0, "unknown source")


def test_what_is_added_up_can_be_made_again(tmp_path, result):
    for n in range(3):
        record(tmp_path, f"r{n}", [result(seed=n)], ["t"], n)
    before = capital(tmp_path)
    store = open_store(tmp_path)
    store.connection.execute("DELETE FROM capital")
    assert grow(store.connection) == 3
    store.close()
    assert capital(tmp_path) == before


def test_where_the_store_does_not_work_lines_are_written_and_merge_later(
    tmp_path, result, monkeypatch, run
):
    monkeypatch.setattr(recorder, "is_on_network", lambda folder: True)
    for n in range(2):
        assert record(tmp_path, f"r{n}", [result(seed=n), result(seed=n)], ["t", "u"], n) == ()
    assert not (tmp_path / NAME).exists()
    files = sorted((tmp_path / recorder.LINES).glob("*.jsonl"))
    assert [len(path.read_text().split("\n\n")) for path in files] == [2, 2]
    with monkeypatch.context() as there:
        there.setattr(reading, "is_on_network", lambda folder: True)
        assert run("history", "--directory", tmp_path).exit_code == 0
        assert not (tmp_path / NAME).exists()
    with files[0].open("a") as file:
        file.write(files[1].read_text().strip()[:200])
    recorder.append_line(
        files[0], next(entry for _, _, entry in recorder.read_lines(tmp_path) if entry)
    )
    done = run("history", "--directory", tmp_path)
    assert "was cut off or changed and is left out" in done.output
    assert "2 runs, 4 audits" in done.output
    store = open_memory()
    assert len(merge(store, tmp_path)) == 1
    assert store.connection.execute("SELECT count(*) FROM audits").fetchone() == (4,)
    store.close()


def test_what_the_store_will_not_take_is_kept_as_lines(tmp_path, result):
    with closing(sqlite3.connect(tmp_path / NAME)) as other, other:
        other.execute("CREATE TABLE theirs (a)")
    (told,) = record(tmp_path, "r", [result()], ["t"], 0)
    assert "another program" in told
    assert "was kept in" in told
    assert sum(1 for *_, entry in recorder.read_lines(tmp_path) if entry) == 1


def test_damage_is_told_and_the_run_recorded(tmp_path, result):
    (tmp_path / NAME).write_bytes(b"\x07" * 9000)
    (told,) = record(tmp_path, "r", [result()], ["t"], 0)
    assert "set aside as history.db.damaged-1" in told
    assert len(capital(tmp_path)) == 1
    assert (tmp_path / ".gitignore").read_text().startswith("*")


def test_runs_have_names_of_their_own():
    assert len({new_run() for _ in range(100)}) == 100


@pytest.fixture
def filled(tmp_path, result):
    folder = tmp_path / ".dpwitness"
    for n in range(5):
        source = "5" * 32 if n < 3 else "6" * 32
        both = [result(seed=n, source=source), result(seed=n, mechanism="=<other>&")]
        record(folder, f"r{n}", both, ["t", "u"], n)
    return folder


def test_history_lists_and_checks(filled, run):
    done = run("history")
    assert done.exit_code == 0
    assert "not refuted   noisy, epsilon 1 (replace-one): 5 runs, 2 versions" in done.output
    assert "5 runs, 10 audits, history intact" in done.output
    with closing(sqlite3.connect(filled / NAME)) as connection, connection:
        connection.execute("UPDATE counts SET hits = 0 WHERE sequence = 9")
    done = run("history")
    assert done.exit_code == 4
    assert "row 9 of counts (run r1, test t" in done.output


def test_history_exports(filled, run, tmp_path):
    assert run("history", "-o", "all.csv").exit_code == 0
    found = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert [row["mechanism"] for row in found[:2]] == ["noisy", "'=<other>&"]
    assert found[0]["claim_epsilon"] == "1.0"
    assert run("history", "-o", "all.json").exit_code == 0
    data = json.loads((tmp_path / "all.json").read_text())
    assert (len(data["audits"]), len(data["counts"])) == (10, 40)
    done = run("history", "-o", "all.txt")
    assert (done.exit_code, "ends in .html, .csv" in done.output) == (2, True)
    done = run("history", "-o", "all.parquet")
    if importlib.util.find_spec("pyarrow") is None:
        assert done.exit_code == 2
        assert "parquet needs pyarrow, which is not installed" in done.output


def test_history_exports_a_statement(filled, run, tmp_path):
    assert run("history", "--in-toto", "s.json", "--run", "r1").exit_code == 0
    data = json.loads((tmp_path / "s.json").read_text())
    assert data["_type"] == "https://in-toto.io/Statement/v1"
    assert data["subject"] == [{"name": "=<other>&", "digest": {"blake2b-128": "5" * 32}}]
    assert {row["test"] for row in data["predicate"]["results"]} == {"t", "u"}
    assert data["predicate"]["history"]["audits"]["rows"] == 10
    assert run("history", "--in-toto", "s.json", "--run", "nobody").exit_code == 2


def test_report_is_one_page_that_needs_nothing(filled, run, tmp_path):
    done = run("history", "-o", "dpwitness-history.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "dpwitness-history.html").read_text()
    assert page.count("<article") == page.count("<svg") == 2
    assert "=&lt;other&gt;&amp;" in page
    assert "<other>" not in page
    for word in ("<script", "http-equiv", "src=", "@import"):
        assert word not in page
    assert "666666666666" in page
    assert all(item in unescape(page) for item in NOT_LOOKED_AT)
    assert run("history", "-o", "dpwitness-history.html").exit_code == 0
    assert (tmp_path / "dpwitness-history.html").read_text() == page


def audits_of(verdicts, **columns):
    """A subject with one audit a run, as the store gives them."""
    row = {"source": "5" * 32, "recorded": "2026-11-22T02:00:00+00:00", "epsilon_lower": 0.7,
           "joint_bound": 0.8, "joint_log_wealth": 0.0, "draws": 600, "test": "t", "remark": "",
           "counted": 1, **columns}  # fmt: skip
    claim = {"epsilon": 1.0, "delta": 0.0, "relation": "add-remove", "distance": 1}
    runs = [{**row, "run": f"r{n}", "verdict": verdict} for n, verdict in enumerate(verdicts)]
    return AuditedClaim("noisy", claim, tuple(runs))


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("nnn", ""),
        ("nnr", ""),
        ("nnnrrn", "was refuted in runs 4 to 5"),
        ("rnn", "was refuted in run 1"),
        ("rnrrr", "was refuted in runs 1 and 3 to 5"),
        ("rnrnrn", "was refuted in runs 1, 3 and 5"),
    ],
)
def test_a_refutation_of_an_earlier_run_is_not_hidden(letters, said):
    subject = audits_of([{"n": "not_refuted", "r": "refuted"}[letter] for letter in letters])
    assert refuted_before(subject) == said
    page = render([subject], "")
    assert (f"It {said}." in page) == bool(said)
    assert page.index('<td class="verdict">') < page.index('data-label="Mechanism"')


def test_a_run_without_a_bound_leaves_a_gap():
    with_bound, without = (
        render([audits_of(["not_refuted"] * 3, epsilon_lower=bound, joint_bound=bound)], "")
        for bound in (0.7, float("-inf"))
    )
    assert with_bound.count("0.700") == 8
    assert "0.000" not in without
    assert without.count("none</td>") == 8


def test_hostile_names_stay_text_in_the_history():
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\"'\x1b\ud800"
    subject = replace(audits_of(["refuted", "not_refuted"], test=hostile, remark=hostile,
                                source=hostile), mechanism=hostile)  # fmt: skip
    page = render([subject], hostile)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page
    page.encode()


def test_without_a_history_there_is_a_sentence(run):
    for words in ((), ("-o", "page.html")):
        done = run("history", *words)
        assert (done.exit_code, "there is no history in" in done.output) == (2, True)
