"""The store: keys, chains, damage, migrations, and the folders it does not work in."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from dpwitness.reports.history import store
from dpwitness.reports.history.recorder import entries_of, is_on_network, kind_of
from dpwitness.reports.history.store import COLUMNS, HistoryError, add, open_store, row_digest
from dpwitness.reports.history.verify import head, verify


def notices(folder):
    with closing(open_store(folder)) as opened:
        return len(opened.notices)


def rows(opened, table):
    return opened.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_an_entry_is_stored_with_both_sides_of_every_chunk(store, entry):
    assert add(store, entry())
    assert (rows(store, "audits"), rows(store, "counts")) == (1, 4)
    found = store.connection.execute(
        "SELECT side, chunk, hits, trials, rate FROM counts ORDER BY chunk, side"
    ).fetchall()
    assert found == [(0, 0, 60, 100, 0.6), (1, 0, 20, 100, 0.2), (0, 1, 120, 200, 0.6),
                     (1, 1, 40, 200, 0.2)]  # fmt: skip


def test_adding_again_changes_nothing_and_something_else_is_refused(store, entry):
    add(store, entry())
    before = head(store)
    assert not add(store, entry())
    assert head(store) == before
    with pytest.raises(HistoryError, match=r"run-1 has recorded other .* for test_a"):
        add(store, entry(hits=((61, 20), (120, 40))))
    assert head(store) == before
    assert add(store, entry(run="run-2"))
    assert verify(store) == ""


def test_results_of_one_test_have_keys_of_their_own(result):
    made = entries_of("r", [result(), result(), result()], ["a", "b", "a"], "1")
    assert [one["audit"]["test"] for one in made] == ["a", "b", "a (2)"]


def test_only_judged_counts_are_kept(result):
    judged = result().judged
    again = replace(judged[0], stage="recheck")
    (bare,) = entries_of("r", [result(judged=(again,))], ["a"], "1")
    (full,) = entries_of("r", [result(judged=(again, *judged))], ["a"], "1")
    assert (len(bare["counts"]), len(full["counts"])) == (0, 4)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE counts SET hits = 61 WHERE sequence = 3", "row 3 of counts .run run-1.*written"),
        ("UPDATE audits SET verdict = 'proved' WHERE sequence = 2", "row 2 of audits .run run-2"),
        ("DELETE FROM counts WHERE sequence = 5", "row 5 of counts is missing"),
        ("DELETE FROM counts WHERE sequence = 12", "row 3 of audits .*not all of its counts"),
        ("DELETE FROM audits WHERE sequence = 1", "row 1 of audits is missing"),
        ("UPDATE definitions SET text = '{}'", "is not the text"),
        ("UPDATE audits SET previous = 'x' WHERE sequence = 3", "row 3 .*does not follow"),
    ],
)
def test_the_first_row_that_was_changed_is_named(store, entry, statement, told):
    for run in (1, 2, 3):
        add(store, entry(run=f"run-{run}"))
    assert verify(store) == ""
    store.connection.execute(statement)
    assert re.search(told, verify(store))


def test_a_row_made_anew_with_its_own_digest_breaks_the_next(store, entry):
    for run in (1, 2):
        add(store, entry(run=f"run-{run}"))
    said = list(store.connection.execute(
        f"SELECT {', '.join(COLUMNS['audits'])} FROM audits WHERE sequence = 1"
    ).fetchone())  # fmt: skip
    said[COLUMNS["audits"].index("verdict")] = "proved"
    link = row_digest("", 1, said)
    store.connection.execute(
        "UPDATE audits SET verdict = 'proved', digest = ? WHERE sequence = 1", (link,)
    )
    assert "row 2 of audits" in verify(store)


def test_tables_are_strict_and_counts_possible(store, entry):
    wrong = entry()
    wrong["counts"][0]["hits"] = 101
    with pytest.raises(HistoryError, match="could not be written"):
        add(store, wrong)
    assert rows(store, "audits") == 0
    with pytest.raises(sqlite3.IntegrityError):
        store.connection.execute("INSERT INTO definitions VALUES ('a', x'00')")
    assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("spoil", ["header", "page", "tail"])
def test_a_damaged_store_is_set_aside_and_said_so(tmp_path, entry, spoil):
    opened = open_store(tmp_path)
    for run in range(30):
        add(opened, entry(run=f"run-{run}"))
    opened.close()
    path = tmp_path / store.NAME
    data = bytearray(path.read_bytes())
    match spoil:
        case "header":
            data[:64] = b"\x07" * 64
        case "page":
            data[4096 * 2 : 4096 * 2 + 200] = b"\x07" * 200
        case "tail":
            data = data[: len(data) // 2]
    path.write_bytes(bytes(data))
    (tmp_path / f"{store.NAME}-wal").write_bytes(b"")
    again = open_store(tmp_path, whole=True)
    assert "set aside as history.db.damaged-1" in again.notices[0]
    assert rows(again, "audits") == 0
    again.close()
    assert (tmp_path / "history.db.damaged-1").read_bytes() == bytes(data)
    path.write_bytes(b"not a database, and long enough to be taken for one" * 40)
    third = open_store(tmp_path)
    assert "damaged-2" in third.notices[-1]
    third.close()
    # Said again until somebody acts.
    assert notices(tmp_path) == 2
    for aside in tmp_path.glob("*damaged*"):
        aside.unlink()
    assert notices(tmp_path) == 0


def test_the_log_of_a_damaged_store_goes_with_it(tmp_path, entry):
    opened = open_store(tmp_path)
    for number in range(30):  # so that the log of one more does not hold every page
        add(opened, entry(run=f"run-1-{number}"))
    opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    add(opened, entry(run="run-2"))
    data = (tmp_path / store.NAME).read_bytes()
    log = (tmp_path / f"{store.NAME}-wal").read_bytes()
    opened.close()
    (tmp_path / store.NAME).write_bytes(b"\x07" * max(len(data), 4096))
    (tmp_path / f"{store.NAME}-wal").write_bytes(log)
    again = open_store(tmp_path, whole=True)
    assert (rows(again, "audits"), len(again.notices)) == (0, 1)
    assert any(tmp_path.glob("history.db.damaged-1"))
    again.close()


def test_an_older_store_is_brought_up_to_date_and_a_newer_one_left_alone(tmp_path, monkeypatch):
    path = tmp_path / store.NAME
    open_store(tmp_path).close()
    grown = (*store.MIGRATIONS, "CREATE TABLE later (number INTEGER) STRICT;")
    monkeypatch.setattr(store, "MIGRATIONS", grown)
    monkeypatch.setattr(store, "MIGRATIONS", grown)
    opened = open_store(tmp_path)
    assert opened.connection.execute("PRAGMA user_version").fetchone() == (len(store.MIGRATIONS),)
    assert rows(opened, "capital") == rows(opened, "later") == 0
    opened.connection.execute("PRAGMA user_version = 99")
    opened.close()
    with pytest.raises(HistoryError, match="newer dpwitness"):
        open_store(tmp_path)
    assert path.exists()


def test_a_database_of_another_program_is_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / store.NAME)) as other, other:
        other.execute("CREATE TABLE theirs (a)")
    with pytest.raises(HistoryError, match="another program"):
        open_store(tmp_path)
    assert [path.name for path in tmp_path.glob("*damaged*")] == []


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/me/local rw - xfs /dev/sdb rw
32 22 0:42 / /mnt/my\\040disk rw master:1 - fuse.sshfs host: rw
33 22 0:43 / /srv rw - ext4 /dev/sdc rw
34 33 0:44 / /srv rw - 9p host rw
nonsense
"""


@pytest.mark.parametrize(
    ("folder", "kind", "network"),
    [
        ("/var/x", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/me/project/.dpwitness", "nfs4", True),
        ("/homes", "ext4", False),
        ("/home/me/local/a", "xfs", False),
        ("/mnt/my disk/a", "fuse.sshfs", True),
        ("/srv/a", "9p", True),
    ],
)
def test_network_file_systems_are_known(tmp_path, folder, kind, network):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert (kind_of(folder, mounts), is_on_network(folder, mounts)) == (kind, network)
    assert not is_on_network(folder, tmp_path / "absent")
