"""Confirmed witnesses, kept in a project's folder and counted again before anything else.

    .dpwitness/witnesses/NAME.json    an evidence file, as `dpwitness replay` reads it
    .dpwitness/retired/NAME.json      one that new draws no longer bear out

Both folders may be committed; everything else in .dpwitness stays with the machine.
"""

import os
import re
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from ...auditors.evidence.conversion import revived
from ...auditors.evidence.record import ResultRecord
from ..record.reading import entries_of, load_document
from ..writing import files

IGNORED = "*\n!.gitignore\n!witnesses/\n!witnesses/*.json\n!retired/\n!retired/*.json\n"


def place(directory: Path, name: str) -> Path:
    """Where the witness of the audit called `name` is kept."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name.rpartition("::")[2] or name).strip("-")[:60]
    digest = blake2b(name.encode(), digest_size=5).hexdigest()
    return directory / "witnesses" / f"{plain}-{digest}.json"


def keep(path: Path, text: str) -> None:
    """Write the evidence, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ignore = path.parents[1] / ".gitignore"
    if not ignore.exists():
        files.write_atomically(str(ignore), IGNORED)
    files.write_atomically(str(path), text)


def stored(path: Path) -> ResultRecord | None:
    """The first result of a kept evidence file; None where there is none that can be read."""
    with suppress(OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        record = entries_of(load_document(str(path)), str(path))[0]
        if revived(record).refuted:
            return record
    return None


def retire(path: Path) -> None:
    """Put a witness that no longer holds among the retired."""
    target = path.parents[1] / "retired" / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        os.replace(path, target)
