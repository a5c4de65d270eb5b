"""Whether the store is as it was written.

The chains of its rows are followed from the first to the last. The chains of an older copy are
whole too, so it alone cannot tell that there were later rows. A file beside the store therefore
names the newest row of the audits. It is written after the row is stored, so that a crash or
another process leaves it behind the history and never before it.
"""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from ..writing import files
from .store import COLUMNS, HEAD, KEYS, NAME, Store, digest, evidence_digest, row_digest

FILE = f"{NAME}{HEAD}"
NEWEST = 10
"""Audits whose rows are looked at before a new one is recorded; `history` looks at all."""
TOLERATED = 60.0
"""Seconds by which clocks are set back in the ordinary course of things."""


def write_head(directory: Path, store: Store) -> None:
    """Name the newest row of the audits. Raises OSError."""
    row = store.connection.execute(
        "SELECT sequence, digest FROM audits ORDER BY sequence DESC LIMIT 1"
    ).fetchone()
    if row is not None:
        files.write_atomically(str(directory / FILE), f"{row[0]} {row[1]}\n")


def gone_back(directory: Path, store: Store) -> str:
    """What the file names and the history does not hold, in a sentence; empty for nothing.

    Without the file there is nothing to compare with, as where only the history was copied.
    """
    try:
        # Before the history is asked: another process may write both meanwhile.
        text = (directory / FILE).read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    number, _, digest = text.strip().partition(" ")
    meant = f"where that was meant, delete {FILE}"
    if not (number.isascii() and number.isdigit() and len(number) < 19 and digest):
        return f"{FILE}, which names its newest row, is not as it was written; {meant}"
    row = store.connection.execute(
        "SELECT digest FROM audits WHERE sequence = ?", (int(number),)
    ).fetchone()
    if row is None:
        return (
            f"{FILE} names row {number} of audits, which is missing: an older copy was put in the "
            f"place of the history, or its end was cut off; {meant}"
        )
    if row[0] != digest:
        return (
            f"row {number} of audits is another than {FILE} names: a copy that went on by itself "
            f"was put in the place of the history; {meant}"
        )
    return ""


def verify(store: Store) -> str:
    """The first row that is not as it was written, in a sentence; empty when all are.

    Rows changed, taken out, put in or moved are found. Rows cut off at the end of all tables leave
    a shorter history that is whole: `gone_back` compares it with the file beside it, and who has
    the head of an exported statement can compare that.
    """
    connection = store.connection
    for table in ("audits", "counts"):
        if broken := _broken(connection, table):
            return broken
    for name, text in connection.execute("SELECT digest, text FROM definitions ORDER BY digest"):
        if digest(text) != name:
            return f"definition {name} is not the text its digest was made of"
    return _missing_counts(connection) or _arrivals(connection) or _capital(connection)


def verify_end(store: Store) -> str:
    """What is wrong with the newest rows, or with how many there are; empty for nothing.

    It costs the same however long the history is: a row changed further back is found by `verify`.
    """
    connection = store.connection
    (last,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM audits").fetchone()
    for table in ("audits", "counts", "arrivals", "capital"):
        # Each by itself, as only so it is read off an index.
        number, lowest, highest = connection.execute(
            f"SELECT (SELECT count(*) FROM {table}), "
            f"(SELECT coalesce(min(sequence), 1) FROM {table}), "
            f"(SELECT coalesce(max(sequence), 0) FROM {table})"
        ).fetchone()
        if (number, lowest) != (highest, 1):
            return f"{table} has {number} rows, numbered {lowest} to {highest}: rows are missing"
    since = max(0, last - NEWEST)
    (counted,) = connection.execute(
        # CROSS: the few audits first, and the counts of each by their key.
        "SELECT coalesce(min(counts.sequence), 1) - 1 FROM audits CROSS JOIN counts "
        "USING (run, test) WHERE audits.sequence > ?",
        (since,),
    ).fetchone()
    return (
        _broken(connection, "audits", since)
        or _broken(connection, "counts", counted)
        or _missing_counts(connection, since)
        or _arrivals(connection, since)
        or _capital(connection, since)
    )


def _link(connection: sqlite3.Connection, table: str, sequence: int) -> str:
    row = connection.execute(
        f"SELECT digest FROM {table} WHERE sequence = ?", (sequence,)
    ).fetchone()
    return str(row[0]) if row else ""


def _broken(connection: sqlite3.Connection, table: str, since: int = 0) -> str:
    columns = COLUMNS[table]
    before = _link(connection, table, since)
    rows = connection.execute(
        f"SELECT sequence, previous, digest, {', '.join(columns)} FROM {table} "
        "WHERE sequence > ? ORDER BY sequence",
        (since or -(2**63),),  # rows renumbered below the first are rows too
    )
    for expected, (sequence, previous, link, *said) in enumerate(rows, start=since + 1):
        key = zip(KEYS[table], said, strict=False)
        name = f"row {sequence} of {table} ({', '.join(f'{k} {v}' for k, v in key)})"
        if sequence != expected:
            return f"row {expected} of {table} is missing before {name}"
        if previous != before:
            return f"{name} does not follow the row before it"
        if row_digest(previous, sequence, said) != link:
            return f"{name} is not as it was written"
        before = link
    return ""


def _missing_counts(connection: sqlite3.Connection, since: int = 0) -> str:
    columns = COLUMNS["counts"]
    found: dict[tuple[str, str], list[dict[str, object]]] = {}
    counts = f"SELECT {', '.join(f'counts.{name}' for name in columns)} FROM "
    # CROSS: the few audits first, and the counts of each by their key.
    newest = "audits CROSS JOIN counts USING (run, test) WHERE audits.sequence > ?"
    rows = (
        connection.execute(counts + newest, (since,))
        if since
        else connection.execute(counts + "counts")
    )
    for row in rows:
        found.setdefault((row[0], row[1]), []).append(dict(zip(columns, row, strict=True)))
    audits = "SELECT sequence, run, test, evidence FROM audits WHERE sequence > ? ORDER BY sequence"
    for sequence, run, test, evidence in connection.execute(audits, (since,)):
        if evidence_digest(found.get((run, test), [])) != evidence:
            return f"row {sequence} of audits (run {run}, test {test}) has not all of its counts"
    return ""


def _arrivals(connection: sqlite3.Connection, since: int = 0) -> str:
    """What is wrong with the times of storing or with the definitions that came along."""
    known, previous, before = set[str](), _link(connection, "arrivals", since), ""
    there = set[str]()

    def is_there(name: str) -> bool:
        query = "SELECT 1 FROM definitions WHERE digest = ?"
        if name not in there and connection.execute(query, (name,)).fetchone():
            there.add(name)
        return name in there

    for sequence, audit, claim, stored, names, link in connection.execute(
        "SELECT audits.sequence, audits.digest, claim, stored, definitions, arrivals.digest "
        "FROM audits LEFT JOIN arrivals USING (sequence) WHERE audits.sequence > ? "
        "ORDER BY audits.sequence",
        (since,),
    ):
        row = f"row {sequence} of arrivals"
        if link is None:
            return f"{row} is missing"
        if row_digest(previous, sequence, [audit, stored, names]) != link:
            return f"{row} is not as it was written"
        known |= set(names.split())
        if lost := {name for name in (claim, *names.split()) if not is_there(name)}:
            return f"definition {min(lost)}, which row {sequence} of audits came with, is missing"
        if before and _moment(stored) < _moment(before) - TOLERATED:
            return (
                f"the clock went back: row {sequence} of audits was stored at {stored}, after the "
                f"row before it was at {before}"
            )
        previous, before = link, stored
    if beyond := _beyond(connection, "arrivals", since):
        return beyond
    if not since:
        stored_names = {name for (name,) in connection.execute("SELECT digest FROM definitions")}
        if extra := stored_names - known:
            return f"definition {min(extra)} came with no audit"
    return ""


def _beyond(connection: sqlite3.Connection, table: str, since: int) -> str:
    for part in (f"sequence > {since}", "sequence < 1"):
        (number,) = connection.execute(
            f"SELECT min(sequence) FROM {table} WHERE {part} AND NOT EXISTS "
            f"(SELECT 1 FROM audits WHERE audits.sequence = {table}.sequence)"
        ).fetchone()
        if number is not None:
            return f"row {number} of {table} belongs to no audit"
    return ""


def _moment(stored: str) -> float:
    return datetime.fromisoformat(stored).timestamp()


def _capital(connection: sqlite3.Connection, since: int = 0) -> str:
    """The first accumulated evidence that is not as it was written."""
    newest: dict[str, int] = {}
    previous = _link(connection, "capital", since)
    for sequence, audit, link, state, state_digest, *said in connection.execute(
        "SELECT audits.sequence, audits.digest, capital.digest, state, state_digest, key, counted, "
        "remark, log_wealth, capital.epsilon_lower FROM audits LEFT JOIN capital USING (sequence) "
        "WHERE audits.sequence > ? ORDER BY audits.sequence",
        (since,),
    ):
        row = f"row {sequence} of capital"
        if link is None:
            return f"{row} is missing"
        if row_digest(previous, sequence, [audit, *said, state_digest]) != link:
            return f"{row} is not as it was written"
        if said[0] not in newest:
            query = "SELECT max(sequence) FROM capital WHERE key = ?"
            (newest[said[0]],) = connection.execute(query, (said[0],)).fetchone()
        if state and newest[said[0]] != sequence:
            return f"{row} holds a state that a later one replaced"
        if newest[said[0]] == sequence and digest(state) != state_digest:
            return f"the state of {row} is not as it was written"
        previous = link
    return _beyond(connection, "capital", since)


def head(store: Store) -> Mapping[str, object]:
    """Length and last digest of both chains: what to keep elsewhere against cutting off."""
    found = {}
    for table in ("audits", "counts"):
        row = store.connection.execute(
            f"SELECT sequence, digest FROM {table} ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        found[table] = {"rows": row[0] if row else 0, "digest": row[1] if row else ""}
    return found
