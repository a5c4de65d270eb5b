"""Entries as lines of JSON, where the store cannot be used; they merge into it later.

Each writer has a file of its own, named at random, and each line is one write call that is on
disk before the writer goes on. A line carries the hash of itself: one that was cut off by a crash
is known as that, and it was never acknowledged.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .entry import checked
from .schema import digest

FOLDER = "history"


def new_file(directory: Path) -> Path:
    """A name for the lines of this process, which no other has."""
    return directory / FOLDER / f"{os.getpid()}-{secrets.token_hex(8)}.jsonl"


def append(path: Path, entry: Mapping[str, Any]) -> None:
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


def entries(directory: Path) -> Iterator[tuple[Path, int, dict[str, Any] | None]]:
    """(file, line number, entry) of every line; None for one that is not whole."""
    for path in sorted((directory / FOLDER).glob("*.jsonl")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield path, number, _read(line)


def _read(line: str) -> dict[str, Any] | None:
    name, _, text = line.partition(" ")
    if digest(text) != name:
        return None
    try:
        return checked(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
