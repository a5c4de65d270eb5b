"""The tables of the store, as migrations by hand in the order they are applied.

    audits       one row for each claim judged by a test in a run
    counts       one row for each side of each judged chunk; written with its audit or not at all
    definitions  the JSON text behind a digest: claims, pairs and events
    arrivals     when each audit was stored, and the definitions that came with it
    capital      evidence accumulated after each audit; written with it

Every row but those of `definitions` holds a digest of itself and of the row before it in its
table. Each audit holds a digest of its own counts; the digests of `arrivals` and `capital` are
over that of their audit too, and a definition is named by its digest.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

APPLICATION = 0x64705769
"""The `application_id` that tells our files from those of others: "dpWi"."""

MIGRATIONS = (
    """
    CREATE TABLE audits (
      run TEXT NOT NULL, test TEXT NOT NULL, recorded TEXT NOT NULL, mechanism TEXT NOT NULL,
      target TEXT NOT NULL, claim TEXT NOT NULL, source TEXT NOT NULL, verdict TEXT NOT NULL,
      epsilon_lower REAL NOT NULL, detectable_epsilon REAL NOT NULL, alpha REAL NOT NULL,
      draws INTEGER NOT NULL, seconds REAL NOT NULL, seed TEXT NOT NULL, version TEXT NOT NULL,
      note TEXT NOT NULL, evidence TEXT NOT NULL,
      sequence INTEGER NOT NULL UNIQUE, previous TEXT NOT NULL, digest TEXT NOT NULL,
      PRIMARY KEY (run, test)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE counts (
      run TEXT NOT NULL, test TEXT NOT NULL, pair TEXT NOT NULL, event TEXT NOT NULL,
      side INTEGER NOT NULL, chunk INTEGER NOT NULL, hits INTEGER NOT NULL,
      trials INTEGER NOT NULL, rate REAL NOT NULL, reversed INTEGER NOT NULL,
      sequence INTEGER NOT NULL UNIQUE, previous TEXT NOT NULL, digest TEXT NOT NULL,
      PRIMARY KEY (run, test, pair, event, side, chunk),
      CHECK (side IN (0, 1) AND 0 <= hits AND hits <= trials)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE definitions (
      digest TEXT PRIMARY KEY, text TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE capital (
      sequence INTEGER PRIMARY KEY, key TEXT NOT NULL, counted INTEGER NOT NULL,
      remark TEXT NOT NULL, log_wealth REAL NOT NULL, epsilon_lower REAL NOT NULL,
      state TEXT NOT NULL
    ) STRICT;
    CREATE INDEX capital_key ON capital (key, sequence);
    """,
    """
    DROP TABLE capital;
    CREATE TABLE capital (
      sequence INTEGER PRIMARY KEY, key TEXT NOT NULL, counted INTEGER NOT NULL,
      remark TEXT NOT NULL, log_wealth REAL NOT NULL, epsilon_lower REAL NOT NULL,
      state TEXT NOT NULL, state_digest TEXT NOT NULL, digest TEXT NOT NULL
    ) STRICT;
    CREATE INDEX capital_key ON capital (key, sequence);
    CREATE TABLE arrivals (
      sequence INTEGER PRIMARY KEY, stored TEXT NOT NULL, definitions TEXT NOT NULL,
      digest TEXT NOT NULL
    ) STRICT;
    """,
)

WITH_ARRIVALS = 2
"""The version from which every audit has a row in `arrivals` and, from its start, in `capital`."""

KEYS = {
    "audits": ("run", "test"),
    "counts": ("run", "test", "pair", "event", "side", "chunk"),
}
"""Primary keys: what is recorded twice under one key must be the same."""

COLUMNS = {
    "audits": (
        *KEYS["audits"], "recorded", "mechanism", "target", "claim", "source", "verdict",
        "epsilon_lower", "detectable_epsilon", "alpha", "draws", "seconds", "seed", "version",
        "note", "evidence",
    ),
    "counts": (*KEYS["counts"], "hits", "trials", "rate", "reversed"),
}  # fmt: skip
"""What a row says, in the order it is hashed; the chain's own columns are not among them."""

NUMBERS = {"epsilon_lower", "detectable_epsilon", "alpha", "seconds", "rate"}
WHOLE = {"draws", "side", "chunk", "hits", "trials", "reversed"}


def values(table: str, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The row as it is stored and hashed: every number of the type of its column."""

    def typed(name: str) -> float | int | str:
        if name in NUMBERS:
            return float(row[name])
        return int(row[name]) if name in WHOLE else str(row[name])

    return tuple(typed(name) for name in COLUMNS[table])


def digest(data: Any) -> str:
    """32 hex digits that name JSON data; equal data, equal name."""
    text = data if isinstance(data, str) else json.dumps(data, sort_keys=True)
    return blake2b(text.encode("utf-8", errors="backslashreplace"), digest_size=16).hexdigest()


def row_digest(previous: str, sequence: int, row: Sequence[object]) -> str:
    """The link of the chain: what the row says, its place and the link before it."""
    return digest([previous, sequence, *row])


def now() -> str:
    """The time of the clock, to the second, in a form whose order is that of time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def arrive(connection: sqlite3.Connection, sequence: int, names: Sequence[str]) -> None:
    """Note that an audit is stored now, with these definitions."""
    (link,) = connection.execute(
        "SELECT digest FROM audits WHERE sequence = ?", (sequence,)
    ).fetchone()
    head = connection.execute("SELECT digest FROM arrivals ORDER BY sequence DESC LIMIT 1")
    (previous,) = head.fetchone() or ("",)
    said = (now(), " ".join(sorted(names)))
    connection.execute(
        "INSERT INTO arrivals (sequence, stored, definitions, digest) VALUES (?, ?, ?, ?)",
        (sequence, *said, row_digest(previous, sequence, [link, *said])),
    )


def _note_arrivals(connection: sqlite3.Connection) -> None:
    """What an older version stored arrives now, all definitions with the first of it."""
    names = [name for (name,) in connection.execute("SELECT digest FROM definitions")]
    for (sequence,) in connection.execute("SELECT sequence FROM audits ORDER BY sequence"):
        arrive(connection, sequence, names)
        names = []


def migrate(connection: sqlite3.Connection) -> int:
    """Bring the store to the newest version, all in the transaction that is open.

    Returns the version it was found at; one above the newest is left alone.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in script.split(";"):
            if statement.strip():
                connection.execute(statement)
        if number == WITH_ARRIVALS:
            _note_arrivals(connection)
        connection.execute(f"PRAGMA user_version = {number}")
    if version == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    return int(version)
