"""Where a command speaks, how it ends, and how it keeps what it found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import files

if TYPE_CHECKING:
    from ..auditors.results import Verdict

REFUTED = 1
UNUSABLE = 2
INCONCLUSIVE = 3
FAILED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a command speaks: results with `say`, remarks with `warn`."""

    say: Callable[[str], None]
    warn: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    paint: Callable[[str, "Verdict"], str]
    width: int
    quiet: bool = False


def save(console: Console, path: str, text: str, suffix: str) -> bool:
    """Write a file; where that fails keep its text elsewhere, say so, and return False."""
    try:
        files.write_atomically(path, text)
    except OSError as error:
        kept = files.keep_elsewhere(text, suffix)
        reason = (error.strerror or str(error)).lower()
        console.warn(
            f"could not write {path}: {reason}; "
            + (f"the result was kept in {kept}" if kept else "nothing could be kept on disk")
        )
        if kept is None and suffix == ".json":
            console.say(text)
        return False
    return True
