"""What the plugin's controller and the gate call once, when a run ends."""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path

from ...auditors.errors import DpWitnessError
from ...auditors.privacy.accumulate import ALPHA
from ...auditors.results.results import AuditResult
from ..record.evidence import release
from ..writing import files
from . import lines
from .entry import entries_of
from .growth import REPEATED
from .heads import FILE, gone_back, write_head
from .places import is_on_network
from .store import NAME, HistoryError, Store, add, open_store
from .verify import verify_end
from .witnesses import IGNORED


def new_run() -> str:
    """A name for a run that no other has; it starts with the time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(6)}"


def record(
    directory: Path,
    run_id: str,
    results: Sequence[AuditResult],
    tests: Sequence[str],
    seed: int,
) -> tuple[str, ...]:
    """Record the results of one run; what there is to tell of it, in sentences.

    `tests` are the name of the test of each, `seed` that of
    the run. Recording the same run again changes nothing. Only one process of a run calls this.
    Never raises for the sake of the history: what the store will not take goes to lines of JSON,
    and a sentence says so.
    """
    entries = entries_of(run_id, results, tests, release())
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _ignore(directory)
        if is_on_network(directory):
            return _to_lines(directory, entries)
        return _to_store(directory, run_id, entries, seed)
    except OSError as error:
        return (f"the history was not written: {error}",)


def _ignore(directory: Path) -> None:
    path = directory / ".gitignore"
    if not path.exists():
        files.write_atomically(str(path), IGNORED)


def _to_lines(directory: Path, entries: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    path = lines.new_file(directory)
    for entry in entries:
        lines.append(path, entry)
    return ()


def _to_store(
    directory: Path, run_id: str, entries: Sequence[Mapping[str, object]], seed: int
) -> tuple[str, ...]:
    left = list(entries)
    try:
        store = open_store(directory)
    except HistoryError as error:
        _to_lines(directory, left)
        return (f"{error}; the run was kept in {directory / lines.FOLDER} instead",)
    told = list(store.notices)
    try:
        if broken := verify_end(store) or gone_back(directory, store):
            raise HistoryError(
                f"the history is not as it was written: {broken}. Nothing is added to it; "
                f"`dpwitness history` looks at all of it. Restore {NAME} from a copy, or move it "
                f"and {FILE} out of the folder to begin a new one"
            )
        while left:
            add(store, left[0])
            left.pop(0)
        told += _headed(directory, store)
        told += _news(store, run_id, seed)
    except (DpWitnessError, sqlite3.Error, ValueError, OverflowError) as error:
        told.append(str(error))
        if left:
            _to_lines(directory, left)
            told.append(f"what was not written is kept in {directory / lines.FOLDER}")
    finally:
        store.close()
    return tuple(told)


def _headed(directory: Path, store: Store) -> list[str]:
    """Name the newest row in the file beside the store; a sentence where that cannot be done."""
    try:
        write_head(directory, store)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return [f"{FILE}, by which an older copy of the history is found out, cannot be written: "
                f"{reason}"]  # fmt: skip
    return []


def _news(store: Store, run_id: str, seed: int) -> list[str]:
    """What the runs so far say together that this run alone does not."""
    rows = store.connection.execute(
        "SELECT test, mechanism, verdict, counted, remark, capital.log_wealth, "
        "capital.epsilon_lower FROM audits JOIN capital USING (sequence) WHERE run = ? "
        "ORDER BY sequence",
        (run_id,),
    ).fetchall()
    told = [
        f"{mechanism} ({test}): the runs of this version so far refute the claim together, "
        f"epsilon >= {bound:.3g} with error probability {ALPHA:g} over all of them"
        for test, mechanism, verdict, counted, _, wealth, bound in rows
        if counted and verdict != "refuted" and wealth >= log(1 / ALPHA)
    ]
    repeated = sum(remark == REPEATED for *_, remark, _, _ in rows)
    # Said once; a project that always draws with one seed has been told.
    if repeated and not _told_before(store, run_id):
        told.append(
            f"{repeated} of {len(rows)} audits used the same seed ({seed}) as an earlier run, so "
            'they are no new evidence; set seed = "random" or use the profile nightly'
        )
    return told


def _told_before(store: Store, run_id: str) -> bool:
    (found,) = store.connection.execute(
        "SELECT EXISTS (SELECT 1 FROM audits JOIN capital USING (sequence) "
        "WHERE run <> ? AND remark = ?)",
        (run_id, REPEATED),
    ).fetchone()
    return bool(found)


def merge(store: Store, directory: Path) -> tuple[str, ...]:
    """Take the lines of JSON in `directory` into the store; what could not be, in sentences.

    The files stay: another process may be writing them, and merging again changes nothing.
    """
    told = []
    for path, number, entry in lines.entries(directory):
        if entry is None:
            told.append(f"line {number} of {path.name} was cut off or changed and is left out")
            continue
        try:
            add(store, entry)
        except (HistoryError, ValueError, TypeError, OverflowError) as error:
            told.append(f"line {number} of {path.name}: {error}")
    return tuple(told)
