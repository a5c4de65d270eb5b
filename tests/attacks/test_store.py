"""Tampering with the store: whatever is changed is named by `history` with status 4, each time."""

import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
from math import inf

import pytest
from click.testing import CliRunner

from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.results.results import AuditResult, Count, Evidence, Verdict
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation
from dpwitness.reports.cli import main
from dpwitness.reports.history.recorder import entries_of, record
from dpwitness.reports.history.store import NAME

RUNS = 4


def result(number):
    counts = tuple(
        Count(
            stage="attempt", chunk=chunk, event=HalfLine(Feature(), 0.5, True), reversed=False,
            hits=(60 + number, 20), trials=(100, 100), predicted=1.0, spread=0.1, rates=(0.6, 0.2),
        )
        for chunk in (0, 1)
    )  # fmt: skip
    return AuditResult(
        mechanism="noisy", target="file.py:noisy", verdict=Verdict.NOT_REFUTED, judged=counts,
        claim=PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE), epsilon_lower=0.7,
        detectable_epsilon=inf, detectable_probability=inf, draws=600, seed=number, witness=None,
        pair=Pair([0], [1]), seconds=0.25, source="5" * 32, alpha=1e-3,
        evidence=Evidence(counts=counts, alpha=1e-3, level=1e-3),
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a history of four runs, all of it in one file."""
    folder = tmp_path_factory.mktemp("whole")
    for number in range(RUNS):
        assert record(folder, f"r{number}", [result(number)], ["t"], number) == ()
    with sqlite3.connect(folder / NAME) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return folder


def history(folder):
    done = CliRunner().invoke(main, ["history", "--directory", str(folder)])
    assert "bug in dpwitness" not in done.output, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def copied(whole, tmp_path):
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(whole / NAME, folder / NAME)
    return folder


def edited(kind, value):
    """Another value of the same type, so that the tables take it."""
    if kind == "TEXT":
        return (
            "zz" if value == "" else "" if len(value) < 3 else value[:-1] + chr(ord(value[-1]) ^ 1)
        )
    return 0 if value in (float("inf"), float("-inf")) else value + 1


def edits(path):
    """Every statement that changes one column of one row, or takes out, swaps or renumbers rows."""
    connection = sqlite3.connect(path)
    made = []
    for table in ("audits", "counts", "definitions", "capital", "arrivals"):
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        order = "digest" if table == "definitions" else "sequence"
        keys = [key for (key,) in connection.execute(f"SELECT {order} FROM {table} ORDER BY 1")]
        for key in (keys[0], keys[len(keys) // 2], keys[-1]):
            for _, name, kind, *_ in columns:
                (old,) = connection.execute(
                    f"SELECT {name} FROM {table} WHERE {order} = ?", (key,)
                ).fetchone()
                made.append(
                    (f"UPDATE {table} SET {name} = ? WHERE {order} = ?", (edited(kind, old), key))
                )
            made.append((f"DELETE FROM {table} WHERE {order} = ?", (key,)))
        if order == "sequence":
            last = keys[-1]
            made += [
                (f"UPDATE {table} SET sequence = ? WHERE sequence = ?", (2**63 - 1, last)),
                (f"UPDATE {table} SET sequence = sequence + 7 WHERE sequence = ?", (last,)),
                (f"UPDATE {table} SET sequence = -sequence", ()),
                (f"DELETE FROM {table}", ()),
                (f"DELETE FROM {table} WHERE sequence < ?", (last,)),
            ]
    made += [("INSERT INTO definitions VALUES ('00', '{}')", ()),
             ("CREATE TRIGGER t AFTER INSERT ON audits BEGIN DELETE FROM audits; END", ()),
             ("CREATE TABLE more (a)", ()),
             ("UPDATE capital SET log_wealth = 99, epsilon_lower = 9", ())]  # fmt: skip
    connection.close()
    return made


@pytest.mark.long
def test_every_edit_of_every_column_is_named_with_status_4(whole, tmp_path):
    status, before = history(copied(whole, tmp_path))
    assert status == 0, before
    cases, failures, refused = edits(whole / NAME), [], 0
    for statement, values in cases:
        folder = copied(whole, tmp_path)
        connection = sqlite3.connect(folder / NAME)
        try:
            with connection:
                connection.execute("PRAGMA ignore_check_constraints = ON")
                connection.execute(statement, values)
        except sqlite3.IntegrityError:
            refused += 1
            continue  # the tables themselves do not take it
        finally:
            connection.close()
        first, second = history(folder), history(folder)
        if first[0] != 4 or second[0] != 4:
            failures.append((statement, values, first, second))
    print(f"{len(cases)} cases, {len(failures)} failures, {refused} refused by the tables")
    assert failures == []
    assert refused < len(cases) / 10


def spoil(data, chance):
    spoilt = bytearray(data)
    match chance.choice(("bit", "bytes", "cut", "zeros")):
        case "bit":
            spoilt[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case "bytes":
            place = chance.randrange(len(data))
            spoilt[place : place + 40] = chance.randbytes(len(spoilt[place : place + 40]))
        case "cut":
            del spoilt[chance.randrange(1, len(data)) :]
        case "zeros":
            place = chance.randrange(len(data))
            spoilt[place : place + 4096] = bytes(len(spoilt[place : place + 4096]))
    return bytes(spoilt)


@pytest.mark.parametrize(
    "cases", [25, pytest.param(600, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_a_spoilt_file_is_named_or_says_the_same(whole, tmp_path, cases):
    """A bit that no page uses changes nothing; every other one is named, twice, with status 4."""
    chance, failures, named = random.Random(12), [], 0
    _, before = history(copied(whole, tmp_path))
    data = (whole / NAME).read_bytes()
    for case in range(cases):
        folder = copied(whole, tmp_path)
        (folder / NAME).write_bytes(spoil(data, chance))
        first, second = history(folder), history(folder)
        named += first[0] == 4
        harmless = first == (0, before) == second
        if not harmless and (first[0], second[0]) != (4, 4):
            failures.append((case, first, second))
    print(f"{cases} cases, {len(failures)} failures, {named} named")
    assert failures == []


@pytest.mark.parametrize(
    "statement",
    [
        *(f"UPDATE audits SET recorded = '{text}' WHERE sequence = {RUNS}"
          for text in ("yesterday", "", "0001-01-01T00:00:00+14:00", "2026-13-45", "9" * 5000)),
        *(f"UPDATE definitions SET text = '{text}'"
          for text in ("[]", "3", '{"epsilon": "x"}', '{"epsilon": {}, "delta": [1]}', "[" * 9999,
                       '{"epsilon": 1' + "0" * 4000 + "}")),
        "UPDATE audits SET epsilon_lower = 9e999, verdict = ''",
    ],
)  # fmt: skip
def test_a_page_of_whatever_stands_in_a_history_is_written(whole, tmp_path, statement):
    folder = copied(whole, tmp_path)
    with sqlite3.connect(folder / NAME) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
    connection.close()
    html = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["history", "--directory", str(folder), "-o", str(html)])
    assert done.exit_code == 4, done.output
    assert "the history was changed after it was written" in " ".join(done.output.split())
    assert "bug in dpwitness" not in done.output
    assert html.read_text().startswith("<!DOCTYPE html>")
    assert history(folder)[0] == 4


def test_a_clock_that_goes_back_is_named(whole, tmp_path, monkeypatch):
    from dpwitness.reports.history import store

    folder = copied(whole, tmp_path)
    monkeypatch.setattr(store, "now", lambda: "2001-01-01T00:00:00+00:00")
    record(folder, "past", [result(9)], ["t"], 9)
    status, told = history(folder)
    assert status == 4
    assert f"the clock went back: row {RUNS + 1} of audits" in told


@pytest.mark.long
def test_recording_into_a_gap_or_a_last_number_ends(whole, tmp_path):
    top = 2**63 - 1
    for statement in ("DELETE FROM audits WHERE sequence = 2",
                      f"UPDATE audits SET sequence = {top} WHERE sequence = {RUNS}"):  # fmt: skip
        folder = copied(whole, tmp_path)
        with sqlite3.connect(folder / NAME) as connection:
            connection.execute(statement)
        connection.close()
        code = f"""
import pickle
from pathlib import Path
from dpwitness.reports.history.recorder import record
print(record(Path({str(folder)!r}), "new", [pickle.loads({pickle.dumps(result(8))!r})], ["t"], 8))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert history(folder)[0] == 4


def test_edited_capital_takes_no_more_evidence(whole, tmp_path):
    folder = copied(whole, tmp_path)
    with sqlite3.connect(folder / NAME) as connection:
        connection.execute("UPDATE capital SET state = replace(state, '0.0', '9.0')")
    connection.close()
    told = " ".join(record(folder, "new", [result(8)], ["t"], 8))
    assert f"the state of row {RUNS} of capital is not as it was written" in told
    assert history(folder)[0] == 4
    assert entries_of("new", [result(8)], ["t"], "1")


def swapped(connection, table):
    """The two middle rows of a table in each other's place."""
    for old, new in ((2, 10**6), (3, 2), (10**6, 3)):
        connection.execute(f"UPDATE {table} SET sequence = ? WHERE sequence = ?", (new, old))


@pytest.mark.parametrize("table", ["audits", "counts", "arrivals", "capital"])
def test_rows_in_each_others_place_are_named(whole, tmp_path, table):
    folder = copied(whole, tmp_path)
    with sqlite3.connect(folder / NAME) as connection:
        swapped(connection, table)
    connection.close()
    assert history(folder)[0] == 4
    assert "row" in history(folder)[1]


@pytest.mark.parametrize("table", ["audits", "counts", "arrivals", "capital", "definitions"])
def test_a_whole_table_that_is_gone_is_named_and_takes_nothing(whole, tmp_path, table):
    folder = copied(whole, tmp_path)
    with sqlite3.connect(folder / NAME) as connection:
        connection.execute(f"DELETE FROM {table}")
    connection.close()
    status, told = history(folder)
    assert status == 4
    assert table.rstrip("s") in told
    assert "kept in" in " ".join(record(folder, "new", [result(8)], ["t"], 8))
    assert history(folder)[0] == 4


def grown(folder, *numbers):
    for number in numbers:
        assert record(folder, f"r{number}", [result(number)], ["t"], number) == ()
    with sqlite3.connect(folder / NAME) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.mark.parametrize(
    ("later", "elsewhere", "word"),
    [
        ((10, 11), (), "an older copy was put in the place of the history"),
        ((10, 11), (12,), "an older copy was put in the place of the history"),
        ((10,), (12,), "a copy that went on by itself"),
        ((10,), (12, 13, 14), "a copy that went on by itself"),
        ((), (12,), ""),
    ],
)
def test_a_copy_in_the_place_of_the_history_is_named(whole, tmp_path, later, elsewhere, word):
    """The copy is whole; the file beside the history names a row that it does not hold."""
    here, there = copied(whole, tmp_path), tmp_path / "there"
    there.mkdir()
    grown(here)
    shutil.copy(here / NAME, there / NAME)
    grown(here, *later)
    grown(there, *elsewhere)
    assert history(here)[0] == history(there)[0] == 0
    shutil.copy(there / NAME, here / NAME)
    status, told = history(here)
    assert status == (4 if word else 0)
    assert word in " ".join(told.split())
    if word:
        assert "kept in" in " ".join(record(here, "new", [result(8)], ["t"], 8))
        assert history(here)[0] == 4
        (here / f"{NAME}-head").unlink()
        assert history(here)[0] == 0


@pytest.mark.parametrize("text", ["", "4", "4 ", "x y", "-1 a", "9" * 30 + " a", "4 \udcff\n"])
def test_a_spoilt_file_beside_the_history_is_named(whole, tmp_path, text):
    folder = copied(whole, tmp_path)
    (folder / f"{NAME}-head").write_text(text, "utf-8", "surrogateescape")
    assert history(folder)[0] == 4
    assert history(folder)[0] == 4


def test_a_history_that_was_removed_is_named(whole, tmp_path):
    folder = copied(whole, tmp_path)
    grown(folder, 10)
    (folder / NAME).unlink()
    assert "kept in" in " ".join(record(folder, "new", [result(8)], ["t"], 8))
    status, told = history(folder)
    assert status == 4
    assert "names row 5 of audits, which is missing" in " ".join(told.split())


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audits WHERE sequence = 2",
        f"UPDATE audits SET verdict = 'refuted' WHERE sequence = {RUNS}",
        "UPDATE counts SET hits = hits + 1 WHERE sequence = (SELECT max(sequence) FROM counts)",
        "UPDATE counts SET sequence = -sequence",
        "UPDATE arrivals SET stored = '2001-01-01T00:00:00+00:00' WHERE sequence = 3",
        f"UPDATE capital SET log_wealth = 99 WHERE sequence = {RUNS}",
        "DELETE FROM definitions",
    ],
)
def test_nothing_is_added_to_a_history_that_was_changed(whole, tmp_path, statement):
    """The run is kept beside it, and both are said."""
    folder = copied(whole, tmp_path)
    connection = sqlite3.connect(folder / NAME)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    with connection:
        connection.execute(statement)
    (before,) = connection.execute("SELECT count(*) FROM audits").fetchone()
    told = " ".join(record(folder, "new", [result(8)], ["t"], 8))
    (after,) = connection.execute("SELECT count(*) FROM audits").fetchone()
    connection.close()
    assert "not as it was written" in told
    assert "kept in" in told
    assert after == before
    assert [*folder.rglob("*.jsonl")]
    assert history(folder)[0] == 4
