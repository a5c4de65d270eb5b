"""The embedded store: sqlite with a write-ahead log, one transaction for each audit.

An entry is acknowledged when `add` returns; from then on neither a kill nor another writer can
lose it, and adding it again changes nothing. What is damaged is set aside under another name and
said so; it is never overwritten.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...auditors.errors import DpWitnessError
from .growth import grow
from .schema import (
    APPLICATION,
    COLUMNS,
    KEYS,
    MIGRATIONS,
    WITH_ARRIVALS,
    arrive,
    migrate,
    row_digest,
    values,
)

NAME = "history.db"
PATIENCE = 30.0
"""Seconds to wait for another writer."""
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
HEAD = "-head"
"""Ending of the file that says how far the history beside it had come; see `heads`."""
COMPANIONS = ("-wal", "-shm", HEAD)


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


def add(store: Store, entry: Mapping[str, Any]) -> bool:
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


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> bool:
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
