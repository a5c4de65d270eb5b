"""Where a command speaks, how it ends, and how it keeps what it found."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from ..writing import files

if TYPE_CHECKING:
    from ...auditors.results.results import Verdict

LEAST = 0.1
"""Part of the time that is left at least, if loading took nearly all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Where a command speaks: results with `say`, remarks with `warn`."""

    say: Callable[[str], None]
    numbers: Callable[[str], None]
    """Prints the numbers that take the place of everything that `say` says."""
    warn: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    """Told of draws made."""
    paint: Callable[[str, "Verdict"], str]
    width: int
    quiet: bool = False
    verbose: bool = False
    sized: bool = False
    known: Callable[[str], None] = lambda text: None
    """Told of what is known so far, for the line of progress."""
    begun: float = field(default_factory=monotonic)
    """When the command began, by `time.monotonic`."""

    def left_of(self, seconds: float, parts: int = 1) -> float:
        """What is left of the whole command's seconds, for one of so many parts to come."""
        return max(seconds - (monotonic() - self.begun), LEAST * seconds) / parts

    def news(self, kind: str, sentence: str) -> None:
        """Tell what an audit tells before its end: its "plan", and what is "known" so far."""
        if kind == "plan":
            self.warn(sentence)
        else:
            self.known(sentence)

    def line(self, text: str) -> None:
        """Say one line, whole in a log; on a terminal it is folded and what goes on is indented."""
        from ..writing.terminal import one_line, wrapped

        whole = one_line(text)
        self.say("\n".join(wrapped(whole, self.width, "  ", "")) if self.sized else whole)


def count(number: int, one: str, several: str = "") -> str:
    """A number with its word: "1 run", "2 runs", "3 entries"."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def save(console: Console, path: str, text: str, suffix: str) -> bool:
    """Write a file; where that fails keep its text elsewhere, say so, and return False.

    The path "-" is standard output.
    """
    if path == "-":
        console.numbers(text.removesuffix("\n"))
        return True
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
