"""The embedded store: sqlite with a write-ahead log, one transaction for each audit.

    audits       one row for each claim judged by a test in a run
    counts       one row for each side of each judged chunk; written with its audit or not at all
    definitions  the JSON text behind a digest: claims, pairs and events
    arrivals     when each audit was stored, and the definitions that came with it
    capital      evidence accumulated after each audit; written with it

Every row but those of `definitions` holds a digest of itself and of the row before it in its
table. Each audit holds a digest of its own counts; the digests of `arrivals` and `capital` are
over that of their audit too, and a definition is named by its digest. The tables are made by
migrations, written by hand and kept in the order they are applied.

Evidence adds up over the audits of one mechanism name, one source and one claim: one version of
the code. What `capital` keeps follows from the chained rows by `auditors.privacy.accumulate`.

An entry is acknowledged when `add` returns; from then on neither a kill nor another writer can
lose it, and adding it again changes nothing. What is damaged is set aside under another name and
said so; it is never overwritten.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypedDict

from ...auditors.errors import DpWitnessError, EvidenceFormatError, InvalidArgument
from ...auditors.privacy.accumulate import (
    Capital,
    FixedCount,
    capital_from_json,
    carried,
    epsilon_lower,
    log_wealth,
    start,
)
from ...mechanisms.model import PrivacyClaim, Relation, curve_from_json

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
REPEATED = "repeated seed"
UNKNOWN_SOURCE = "unknown source"
NAME = "history.db"
PATIENCE = 30.0
"""Seconds to wait for another writer."""
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
HEAD = "-head"
"""Ending of the file that says how far the history beside it had come; see `verify`."""
COMPANIONS = ("-wal", "-shm", HEAD)


Row = Mapping[str, Any]
"""Columns and values: of a table of the store, whose schema says of each column whether it is a
text or a number, or of a claim, which was read as JSON."""


class HistoryEntry(TypedDict):
    """One result as it is recorded: its audit, its counts and the texts behind their digests."""

    audit: Row
    counts: Sequence[Row]
    definitions: Mapping[str, str]


def values(table: str, row: Row) -> tuple[float | int | str, ...]:
    """The row as it is stored and hashed: every number of the type of its column."""

    def typed(name: str) -> float | int | str:
        if name in NUMBERS:
            return float(row[name])
        return int(row[name]) if name in WHOLE else str(row[name])

    return tuple(typed(name) for name in COLUMNS[table])


def digest(data: object) -> str:
    """32 hex digits that name JSON data; equal data, equal name."""
    text = data if isinstance(data, str) else json.dumps(data, sort_keys=True)
    return blake2b(text.encode("utf-8", errors="backslashreplace"), digest_size=16).hexdigest()


def row_digest(previous: str, sequence: int, row: Sequence[object]) -> str:
    """The link of the chain: what the row says, its place and the link before it."""
    return digest([previous, sequence, *row])


def evidence_digest(counts: Sequence[Mapping[str, object]]) -> str:
    """The digest of the counts of one audit, whatever order they come in."""
    return digest(sorted([row[name] for name in COLUMNS["counts"]] for row in counts))


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


def grow(connection: sqlite3.Connection) -> int:
    """Add every recorded audit that is not in the evidence yet, in order; how many there were.

    In the transaction that recorded them, so that no audit is ever without its row.
    """
    added = 0
    while row := _next_audit(connection):
        _add(connection, row)
        added += 1
    return added


def _next_audit(connection: sqlite3.Connection) -> Mapping[str, object] | None:
    (last,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM capital").fetchone()
    names = ("sequence", "run", "test", "mechanism", "source", "claim", "seed", "digest")
    row = connection.execute(
        f"SELECT {', '.join(names)} FROM audits WHERE sequence > ? ORDER BY sequence LIMIT 1",
        (last,),
    ).fetchone()
    return dict(zip(names, row, strict=True)) if row else None


def _add(connection: sqlite3.Connection, audit: Row) -> None:
    key = digest([audit["mechanism"], audit["source"], audit["claim"]])
    capital, remark = _latest(connection, key) or _beginning(connection, audit["claim"]), ""
    if capital is None:
        remark = "unknown claim"
    elif not audit["source"]:
        remark = UNKNOWN_SOURCE
    else:
        try:
            capital = carried(
                capital, _bets(connection, audit["run"], audit["test"]), seed=audit["seed"]
            )
        except InvalidArgument:
            remark = REPEATED
    figures = (log_wealth(capital), epsilon_lower(capital)) if capital else (0.0, float("-inf"))
    state = json.dumps(capital.to_json()) if capital else ""
    said = (key, int(not remark), remark, *figures)
    head = connection.execute("SELECT digest FROM capital ORDER BY sequence DESC LIMIT 1")
    (previous,) = head.fetchone() or ("",)
    link = capital_digest(previous, audit["sequence"], audit["digest"], said, digest(state))
    # Only the newest state of a key is ever read.
    connection.execute(
        "UPDATE capital SET state = '' WHERE sequence = "
        "(SELECT max(sequence) FROM capital WHERE key = ?)",
        (key,),
    )
    connection.execute(
        "INSERT INTO capital (sequence, key, counted, remark, log_wealth, epsilon_lower, state, "
        "state_digest, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (audit["sequence"], *said, state, digest(state), link),
    )


def capital_digest(
    previous: str, sequence: int, audit: str, said: Sequence[object], state: str
) -> str:
    """The link of one row of `capital`: over the one before it, its audit and all it says."""
    return row_digest(previous, sequence, [audit, *said, state])


def _latest(connection: sqlite3.Connection, key: str) -> Capital | None:
    row = connection.execute(
        "SELECT state, state_digest FROM capital WHERE key = ? ORDER BY sequence DESC LIMIT 1",
        (key,),
    ).fetchone()
    if row is None or row == ("", digest("")):
        return None
    if digest(row[0]) != row[1]:
        raise EvidenceFormatError(
            "the evidence accumulated in the history was changed after it was written, so nothing "
            "is added to it; `dpwitness history` names the row"
        )
    try:
        return capital_from_json(json.loads(row[0]))
    except ValueError as error:
        raise EvidenceFormatError(
            f"the evidence accumulated in the history cannot be read ({error!r:.80}), so nothing "
            "is added to it"
        ) from None


def _beginning(connection: sqlite3.Connection, claim: str) -> Capital | None:
    row = connection.execute("SELECT text FROM definitions WHERE digest = ?", (claim,)).fetchone()
    if row is None:
        return None
    data = json.loads(row[0])
    return start(
        PrivacyClaim(
            epsilon=float(data["epsilon"]),
            delta=float(data["delta"]),
            relation=Relation(data["relation"]),
            distance=int(data["distance"]),
            curve=curve_from_json(data["curve"]) if "curve" in data else None,
        )
    )


def _bets(connection: sqlite3.Connection, run: str, test: str) -> list[FixedCount]:
    """The judged counts of one audit in the order they were made, likelier side first."""
    rows = connection.execute(
        "SELECT first.pair, first.event, first.reversed, first.hits, first.trials, first.rate, "
        "second.hits, second.trials, second.rate FROM counts AS first JOIN counts AS second "
        "USING (run, test, pair, event, chunk) "
        "WHERE run = ? AND test = ? AND first.side = 0 AND second.side = 1 ORDER BY chunk",
        (run, test),
    )
    bets = []
    for pair, event, turned, *figures in rows:
        one, two = figures[:3], figures[3:]
        if turned:
            one, two = two, one
        bets.append(
            FixedCount(
                place=f"{pair} {event} {turned}",
                hits=(one[0], two[0]),
                trials=(one[1], two[1]),
                rates=(one[2], two[2]),
            )
        )
    return bets


class HistoryError(DpWitnessError):
    """The history cannot be used as asked, in a sentence."""


@dataclass(frozen=True, slots=True)
class Store:
    """An open store, with what there is to say about its opening."""

    connection: sqlite3.Connection
    notices: tuple[str, ...] = ()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()


def open_store(directory: Path, *, whole: bool = False) -> Store:
    """Open the store in `directory`, made or brought up to date if need be.

    A damaged one is set aside first, which `notices` tells, and tell again as long as it lies
    there. `whole` looks for damage on every page, which takes time in a long history. Raises
    HistoryError when it cannot be opened.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / NAME
    try:
        return Store(_opened(path, whole), aside_notices(directory))
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise HistoryError(f"cannot open {path}: {error}") from None
    with _alone(directory):
        try:
            # Another process may have put it right while this one waited.
            return Store(_opened(path, whole), aside_notices(directory))
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise HistoryError(f"cannot open {path}: {error}") from None
            _set_aside(path)
        return Store(_opened(path, whole), aside_notices(directory))


def aside_notices(directory: Path) -> tuple[str, ...]:
    """A sentence for every damaged history that still lies beside the one in use."""
    return tuple(
        f"the history in {directory / NAME} was damaged and was set aside as {path.name}; a new "
        f"one was begun. Save what the old one holds (`sqlite3 {path.name} .recover`), or move it "
        "out of the folder, and this is not said again"
        for path in sorted(directory.glob(f"{NAME}.damaged-*"))
        if not path.name.endswith(COMPANIONS)
    )


def open_memory() -> Store:
    """A store that is gone when it is closed."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    return Store(connection)


def _opened(path: Path, whole: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        _use_log(connection)
        # Not only the process may die: an entry is acknowledged when the disk has it.
        connection.execute("PRAGMA synchronous = FULL")
        connection.text_factory = _text
        if whole:
            (health,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if health != "ok":
                raise _damage(str(health))
        with transaction(connection):
            _require_ours(connection, path)
            version = migrate(connection)
            if version < WITH_ARRIVALS:
                grow(connection)
        if version > len(MIGRATIONS):
            raise HistoryError(f"{path} was made by a newer dpwitness; update this one to read it")
        _require_tables(connection, path)
    except UnicodeDecodeError:
        # sqlite quotes a spoilt schema in its message, which Python then cannot decode.
        connection.close()
        raise _damage("its tables are described in bytes that are no text") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    # What is not text any more must be read to be named.
    return data.decode("utf-8", errors="surrogateescape")


def _require_tables(connection: sqlite3.Connection, path: Path) -> None:
    """HistoryError where the tables, indexes and triggers are not those that `migrate` makes."""
    made = open_memory()
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    wanted = made.connection.execute(query).fetchall()
    made.close()
    if connection.execute(query).fetchall() != wanted:
        raise HistoryError(
            f"{path} has other tables than dpwitness makes: it was changed by something else; "
            "restore it from a copy, or move it out of the folder to begin a new one"
        )


def _use_log(connection: sqlite3.Connection) -> None:
    # Two processes that make the file at once: here sqlite gives up without being patient.
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _require_ours(connection: sqlite3.Connection, path: Path) -> None:
    (number,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and number != APPLICATION:
        raise HistoryError(f"{path} is a database of another program; it was left alone")


def _damage(text: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(text)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in DAMAGED


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One process at a time, so that nobody sets aside the store another has just begun."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - there a file in use cannot be renamed anyway
        yield
        return
    with open(directory / "history.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _set_aside(path: Path) -> Path:
    number = 1
    while any(os.path.lexists(f"{path}.damaged-{number}{end}") for end in ("", *COMPANIONS)):
        number += 1
    aside = Path(f"{path}.damaged-{number}")
    # The log first: a new store must never find the log of the old one.
    for end in (*COMPANIONS, ""):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{end}", f"{aside}{end}")
    return aside


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the right to write from its start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def add(store: Store, entry: HistoryEntry) -> bool:
    """Record an entry and add it to the evidence; False when it was there already.

    Raises HistoryError when something else is recorded under its key.
    """
    connection = store.connection
    try:
        with transaction(connection):
            fresh = _insert(connection, "audits", [entry["audit"]])
            _insert(connection, "counts", entry["counts"])
            connection.executemany(
                "INSERT INTO definitions (digest, text) VALUES (?, ?) ON CONFLICT DO NOTHING",
                sorted(entry["definitions"].items()),
            )
            if fresh:
                head = connection.execute("SELECT max(sequence) FROM audits").fetchone()
                arrive(connection, head[0], tuple(entry["definitions"]))
                grow(connection)
    except (sqlite3.Error, OverflowError) as error:
        raise HistoryError(f"the history could not be written: {error}") from None
    return fresh


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> bool:
    """Insert what is not there yet, each row with its link; whether anything was new."""
    head = connection.execute(
        f"SELECT sequence, digest FROM {table} ORDER BY sequence DESC LIMIT 1"
    ).fetchone()
    sequence, previous = head or (0, "")
    columns = COLUMNS[table]
    marks = ", ".join("?" * (len(columns) + 3))
    wanted = " AND ".join(f"{name} = ?" for name in KEYS[table])
    any_new = False
    for row in rows:
        said = values(table, row)
        link = row_digest(previous, sequence + 1, said)
        done = connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}, sequence, previous, digest) "
            f"VALUES ({marks}) ON CONFLICT ({', '.join(KEYS[table])}) DO NOTHING",
            (*said, sequence + 1, previous, link),
        )
        if done.rowcount == 1:
            sequence, previous, any_new = sequence + 1, link, True
            continue
        key = said[: len(KEYS[table])]
        there = connection.execute(
            f"SELECT {', '.join(columns)} FROM {table} WHERE {wanted}", key
        ).fetchone()
        if _without_time(table, there) != _without_time(table, said):
            raise HistoryError(
                f"run {key[0]} has recorded other {table} for {key[1]} before; every run needs a "
                "name of its own"
            )
    return any_new


def _without_time(table: str, row: Sequence[object]) -> tuple[object, ...]:
    """The row less the moment it was recorded, which differs when it is recorded again."""
    names = COLUMNS[table]
    return tuple(v for name, v in zip(names, row, strict=True) if name != "recorded")
