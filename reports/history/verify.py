"""Whether the store is as it was written: the chains of its rows, from the first to the last."""

import sqlite3
from typing import Any

from .entry import evidence_digest
from .schema import COLUMNS, KEYS, digest, row_digest
from .store import Store


def verify(store: Store) -> str:
    """The first row that is not as it was written, in a sentence; empty when all are.

    Rows changed, taken out, put in or moved are found. Rows cut off at the end leave a shorter
    history that is whole: compare its head with one kept elsewhere, such as in an exported
    statement.
    """
    connection = store.connection
    for table in ("audits", "counts"):
        if broken := _broken(connection, table):
            return broken
    for name, text in connection.execute("SELECT digest, text FROM definitions ORDER BY digest"):
        if digest(text) != name:
            return f"definition {name} is not the text its digest was made of"
    return _missing_counts(connection)


def _broken(connection: sqlite3.Connection, table: str) -> str:
    columns = COLUMNS[table]
    before = ""
    rows = connection.execute(
        f"SELECT sequence, previous, digest, {', '.join(columns)} FROM {table} ORDER BY sequence"
    )
    for expected, (sequence, previous, link, *said) in enumerate(rows, start=1):
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


def _missing_counts(connection: sqlite3.Connection) -> str:
    columns = COLUMNS["counts"]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in connection.execute(f"SELECT {', '.join(columns)} FROM counts"):
        found.setdefault((row[0], row[1]), []).append(dict(zip(columns, row, strict=True)))
    audits = "SELECT sequence, run, test, evidence FROM audits ORDER BY sequence"
    for sequence, run, test, evidence in connection.execute(audits):
        if evidence_digest(found.get((run, test), [])) != evidence:
            return f"row {sequence} of audits (run {run}, test {test}) has not all of its counts"
    return ""


def head(store: Store) -> dict[str, Any]:
    """Length and last digest of both chains: what to keep elsewhere against cutting off."""
    found = {}
    for table in ("audits", "counts"):
        row = store.connection.execute(
            f"SELECT sequence, digest FROM {table} ORDER BY sequence DESC LIMIT 1"
        ).fetchone()
        found[table] = {"rows": row[0] if row else 0, "digest": row[1] if row else ""}
    return found
