"""What `dpwitness history` does, apart from reading its options."""

import json
import sqlite3
from collections.abc import Sequence
from math import exp
from pathlib import Path

from ...auditors.errors import InvalidArgument
from ...auditors.privacy.accumulate import ALPHA
from ..formats.table import require_place
from ..settings.settings import SettingsError, read_settings
from ..shell.computed import FAILED, UNUSABLE
from ..shell.console import Console, count, save
from .reading import (
    TABLES,
    AuditedClaim,
    audit_rows,
    bound_text,
    claim_text,
    count_rows,
    export_text,
    kind_of,
    opened,
    refuted_before,
    refuted_together,
    statement,
    subjects,
    write_parquet,
)
from .store import Row, Store
from .verify import FILE, head


def history(
    console: Console,
    *,
    files: Sequence[str] = (),
    in_toto: str | None = None,
    run: str | None = None,
    directory: str | None = None,
) -> int:
    """Tell what is recorded, check it, write the files asked for; the exit status."""
    kinds = {path: kind_of(path) for path in files}
    for path in (*files, *([in_toto] if in_toto is not None else [])):
        require_place(path, *TABLES)
    saved = True
    with opened(_directory(directory)) as (store, told, broken):
        for sentence in told:
            console.warn(sentence)
        rows = _rows(store, broken)
        aside = bool(store.notices)
        if in_toto is not None:
            name, chosen = _of_run(rows, run)
            text = json.dumps(statement(name, chosen, head(store)), indent=2) + "\n"
            saved = save(console, in_toto, text, ".json")
        for path, kind in kinds.items():
            if kind == "parquet":
                write_parquet(path, rows)
            elif kind == "html":
                from .page import render

                saved = save(console, path, render(subjects(rows), broken), ".html") and saved
            else:
                text = export_text(kind, rows, count_rows(store))
                saved = save(console, path, text, f".{kind}") and saved
    for subject in subjects(rows) if not console.quiet else ():
        console.line(_line(subject))
    return _end(console, rows, broken, aside) if saved else UNUSABLE


def _directory(given: str | None) -> Path:
    if given is not None:
        return Path(given)
    try:
        return Path.cwd() / read_settings(Path.cwd()).directory
    except SettingsError as error:
        raise InvalidArgument(str(error)) from None


def _of_run(rows: Sequence[Row], run: str | None) -> tuple[str, list[Row]]:
    name = run if run is not None else rows[-1]["run"] if rows else ""
    chosen = [row for row in rows if row["run"] == name]
    if not chosen:
        raise InvalidArgument(f"the history has no run {name!r}; `dpwitness history` lists them")
    return name, chosen


def _line(subject: AuditedClaim) -> str:
    audits, last = subject.audits, subject.audits[-1]
    sources = len(dict.fromkeys(row["source"] for row in audits))
    runs = len({row["run"] for row in audits})
    joint = max(last["joint_bound"] or 0.0, 0.0)
    level = exp(-max(last["joint_log_wealth"] or 0.0, 0.0))
    verdict = last["verdict"].replace("_", " ")
    said = refuted_before(subject)
    before = f"; {said}" if said else ""
    together = "all runs of this version: "
    together += f"epsilon >= {joint:.2f} (p = {level:.2g})" if joint else "no bound from counts"
    if refuted_together(last):
        together += ": refuted"
    if not last["counted"]:
        together += f"; the last run adds nothing ({last['remark']})"
    return (
        f"{verdict:<13} {subject.mechanism}, {claim_text(subject.claim)}: {count(runs, 'run')}, "
        f"{count(sources, 'version')}{before}; last epsilon {bound_text(last, subject.claim)}, "
        f"{together}; run {last['run']}"
    )


def _rows(store: Store, broken: str) -> list[Row]:
    """What can still be shown of a history; nothing of one that was changed beyond reading."""
    try:
        rows = audit_rows(store)
        for subject in subjects(rows):
            _line(subject)  # an edited claim may be JSON and still no claim
    except (sqlite3.Error, LookupError, ArithmeticError, ValueError, TypeError, AttributeError,
            RecursionError):  # fmt: skip
        if not broken:
            raise
        return []
    return rows


def _end(console: Console, rows: Sequence[Row], broken: str, aside: bool) -> int:
    if broken:
        console.warn(
            f"the history was changed after it was written: {broken}; nothing is added to it. "
            f"Restore it from a copy, or move it and {FILE} out of the folder to begin a new one"
        )
        return FAILED
    runs = len({row["run"] for row in rows})
    console.line(
        f"{count(runs, 'run')}, {count(len(rows), 'audit')}, history intact. Evidence adds up per "
        f"code version and claim over runs with different seeds (alpha {ALPHA:g} over all of them)."
    )
    return FAILED if aside else 0
