"""How far the history had come, in a file beside it: against an older copy put back in its place.

The chains of a copy are whole, so it alone cannot tell that there were later rows. The file names
the newest row of the audits. It is written after the row is stored, so that a crash or another
process leaves it behind the history and never before it.
"""

from pathlib import Path

from ..writing import files
from .store import HEAD, NAME, Store

FILE = f"{NAME}{HEAD}"


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
