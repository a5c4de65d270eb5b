"""What the plugin's controller and the gate call when a run ends: its results become rows.

Each result is an entry, plain JSON. It goes into the store, or if the folder lies on a network
file system, where sqlite's write-ahead log does not work, into lines of JSON that merge into the
store later. Each writer of lines has a file of its own, named at random, and each line is one
write call that is on disk before the writer goes on. A line carries the hash of itself: one that
was cut off by a crash is known as that, and it was never acknowledged.

Before a run is added, `last_of` reads what the last run that is recorded had found.
"""

import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log
from pathlib import Path

from ...auditors.errors import DpWitnessError
from ...auditors.evidence.conversion import claim_record, pair_record
from ...auditors.evidence.record import number
from ...auditors.privacy.accumulate import ALPHA
from ...auditors.results.results import AuditResult, Count
from ..record.evidence import release
from ..writing import files
from .store import (
    COLUMNS,
    NAME,
    REPEATED,
    HistoryEntry,
    HistoryError,
    Row,
    Store,
    add,
    digest,
    evidence_digest,
    now,
    open_store,
)
from .verify import FILE, gone_back, verify_end, write_head
from .witnesses import IGNORED

STATED = ("epsilon", "delta", "relation", "distance", "curve")
LONGEST = 200_000
"""Characters of a definition that are kept; of a longer one only the digest is."""
MOUNTS = Path("/proc/self/mountinfo")
"""Only Linux has it; anywhere else a folder is taken for local."""
NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "davfs2", "fuse.ceph", "fuse.davfs",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "prl_fs", "smb",
    "smb2", "smb3", "smbfs", "sshfs", "vboxsf", "virtiofs", "vmhgfs",
}  # fmt: skip
LINES = "history"
"""The folder of the lines of JSON."""


def entries_of(
    run: str,
    results: Sequence[AuditResult],
    tests: Sequence[str],
    version: str,
) -> tuple[HistoryEntry, ...]:
    """One entry for each result: its audit, its counts and the texts behind their digests.

    `tests` names the test of each result. Tests of several results get a number each, so the
    same results give the same keys.
    """
    recorded = now()
    made, seen = [], dict[str, int]()
    for result, test in zip(results, tests, strict=True):
        seen[test] = seen.get(test, 0) + 1
        name = numbered(test, seen[test])
        made.append(_entry(run, name, result, recorded, version))
    return tuple(made)


def numbered(test: str, number: int) -> str:
    """The name of one result of a test, `number` counted from 1."""
    return test if number == 1 else f"{test} ({number})"


def stated(claim: Mapping[str, object]) -> dict[str, object]:
    """The part of a claim that tells it apart."""
    return {key: value for key, value in claim.items() if key in STATED}


def _entry(run: str, test: str, result: AuditResult, recorded: str, version: str) -> HistoryEntry:
    definitions: dict[str, str] = {}

    def defined(data: object) -> str:
        text = json.dumps(data, sort_keys=True)
        name = digest(text)
        if len(text) <= LONGEST:
            definitions[name] = text
        return name

    claim = defined(stated(claim_record(result.claim)))
    pair = defined(pair_record(result.pair))
    counts = [
        row
        for count in result.judged
        if count.stage == "attempt"
        for row in _sides(run, test, pair, defined(count.event.to_json()), count)
    ]
    audit = {
        "run": run,
        "test": test,
        "recorded": recorded,
        "claim": claim,
        "alpha": result.alpha,
        "draws": result.draws,
        # A mechanism that ignores its generator has no seed that could repeat its draws.
        "seed": str(result.seed) if result.seeded else "",
        "source": result.source,
        "version": version,
        "evidence": evidence_digest(counts),
        "mechanism": result.mechanism,
        "target": result.target,
        "verdict": result.verdict.value,
        "epsilon_lower": number(result.epsilon_lower),
        "detectable_epsilon": number(result.detectable_epsilon),
        "seconds": round(result.seconds, 3),
        "note": result.note,
    }
    return {"audit": audit, "counts": counts, "definitions": definitions}


def _sides(run: str, test: str, pair: str, event: str, count: Count) -> list[dict[str, object]]:
    rates = count.rates[:: -1 if count.reversed else 1]
    return [
        {
            "run": run,
            "test": test,
            "pair": pair,
            "event": event,
            "side": side,
            "chunk": count.chunk,
            "hits": count.hits[side],
            "trials": count.trials[side],
            "rate": rates[side],
            "reversed": int(count.reversed),
        }
        for side in (0, 1)
    ]


def checked(data: Row) -> HistoryEntry:
    """The entry if it is one; KeyError, TypeError or ValueError if not."""
    audit, counts, definitions = data["audit"], data["counts"], data["definitions"]
    for row, table in [(audit, "audits"), *((row, "counts") for row in counts)]:
        for name in COLUMNS[table]:
            row[name]
    if evidence_digest(counts) != audit["evidence"]:
        raise ValueError("the counts are not those of the audit")
    if any(digest(text) != name for name, text in definitions.items()):
        raise ValueError("a definition is not the one its digest names")
    return {"audit": audit, "counts": counts, "definitions": definitions}


def is_on_network(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether several machines may share the folder."""
    return kind_of(folder, mounts) in NETWORK


def kind_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system `folder` is on; empty where it cannot be told.

    A folder that does not exist yet is on the file system of the nearest one above it that does.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        left, found, right = line.partition(" - ")
        fields = left.split()
        if not found or len(fields) < 5 or not right.split():
            continue
        # Octal escapes stand for blanks in a name; of two mounts on one place the later is seen.
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
        inside = point == "/" or place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind


def file_of_lines(directory: Path) -> Path:
    """A name for the lines of this process, which no other has."""
    return directory / LINES / f"{os.getpid()}-{secrets.token_hex(8)}.jsonl"


def append_line(path: Path, entry: HistoryEntry) -> None:
    """Add one line; it is on disk when this returns. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(entry, sort_keys=True)
    # The break comes first too: a line that a crash cut off must not swallow this one.
    line = f"\n{digest(text)} {text}\n".encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        if os.write(handle, line) != len(line):
            raise OSError(28, "No space left on device")
        os.fsync(handle)
    finally:
        os.close(handle)


def read_lines(directory: Path) -> Iterator[tuple[Path, int, HistoryEntry | None]]:
    """(file, line number, entry) of every line; None for one that is not whole."""
    for path in sorted((directory / LINES).glob("*.jsonl")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for place, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield path, place, _read(line)


def _read(line: str) -> HistoryEntry | None:
    name, _, text = line.partition(" ")
    if digest(text) != name:
        return None
    try:
        return checked(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Last:
    """The newest audit of one test: its verdict, its bound (nats) and the digest of its claim."""

    verdict: str
    epsilon_lower: float
    claim: str

    def of_claim(self, claim: Mapping[str, object]) -> bool:
        """Whether it was of this claim."""
        return self.claim == digest(json.dumps(stated(claim), sort_keys=True))


def last_of(directory: Path) -> dict[str, Last] | None:
    """The newest audit of each test; None if it is not known, as the history cannot be read.

    It is a remark for readers: what is wrong with a history is said when the run is recorded. On
    a network file system, where the runs are lines that must all be read, it is left out.
    """
    with suppress(DpWitnessError, sqlite3.Error, OSError):
        if is_on_network(directory):
            return None
        if not (directory / NAME).is_file():
            return {}
        store = open_store(directory)
        try:
            found = store.connection.execute(
                "SELECT test, verdict, epsilon_lower, claim FROM audits WHERE sequence IN "
                "(SELECT max(sequence) FROM audits GROUP BY test)"
            ).fetchall()
        finally:
            store.close()
        return {test: Last(*values) for test, *values in found}
    return None


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


def _to_lines(directory: Path, entries: Sequence[HistoryEntry]) -> tuple[str, ...]:
    path = file_of_lines(directory)
    for entry in entries:
        append_line(path, entry)
    return ()


def _to_store(
    directory: Path, run_id: str, entries: Sequence[HistoryEntry], seed: int
) -> tuple[str, ...]:
    left = list(entries)
    try:
        store = open_store(directory)
    except HistoryError as error:
        _to_lines(directory, left)
        return (f"{error}; the run was kept in {directory / LINES} instead",)
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
            told.append(f"what was not written is kept in {directory / LINES}")
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
    for path, place, entry in read_lines(directory):
        if entry is None:
            told.append(f"line {place} of {path.name} was cut off or changed and is left out")
            continue
        try:
            add(store, entry)
        except (HistoryError, ValueError, TypeError, OverflowError) as error:
            told.append(f"line {place} of {path.name}: {error}")
    return tuple(told)
