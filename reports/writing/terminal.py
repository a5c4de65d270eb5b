"""What goes to a terminal: text that cannot steer it, and one line of progress.

Standard streams that are no longer the files they were are known here too, and who speaks then.
"""

import os
import re
import shutil
import time
from textwrap import wrap
from types import TracebackType
from typing import TextIO

WIDTH = 24
"""Letters of the bar of progress; on a narrow terminal it has fewer."""
PAUSE = 0.1
"""Seconds from one state of the line of progress to the next."""
COMMAND = re.compile(r"(?<!\S):(?=:[A-Za-z])|#(?=#(?:\[|vso\[|teamcity\[))")
"""Where commands to GitHub and its like begin: `::error`, `##[error]`, `##vso[`."""


def printable(text: str) -> str:
    """The text with control characters escaped, so that no name can steer a terminal.

    What a build server would take for a command at the beginning of a line is escaped too.
    """
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    return COMMAND.sub(lambda found: f"\\x{ord(found[0]):02x}", shown)


def one_line(text: str) -> str:
    """The same for a name, which has no business to begin a line of its own."""
    return printable(text.replace("\n", "\\n"))


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """The text in lines of at most `width`; words longer than a line are cut."""
    # A share keeps its sign: a line never begins with "%)".
    lines = wrap(
        text.replace(" %", "\xa0%"),
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    # A word that was cut may begin a line with what no build server should obey.
    return [printable(line.replace("\xa0", " ")) for line in lines] or [""]


class ProgressLine:
    """A line on `stream`, redrawn as draws are made and gone at the end.

    Nothing is ever written unless `enabled`, which callers set for a terminal only.
    """

    def __init__(self, stream: TextIO, *, enabled: bool) -> None:
        self._stream = stream
        self._enabled = enabled
        self._drawn = 0.0
        self._longest = 0
        self._begun = time.monotonic()
        self._known = ""

    def __enter__(self) -> "ProgressLine":
        """Nothing is shown before the first news."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wipe the line, whatever happened."""
        self.clear()

    def clear(self) -> None:
        """Wipe the line; the next news draws it again."""
        if self._longest:
            self._write("\r" + " " * self._longest + "\r")
            self._longest = 0

    def know(self, text: str) -> None:
        """What is known so far: the end of the line from now on."""
        self._known = f"; {one_line(text)}" if text else ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` draws are made; at most ten times a second."""
        now = time.monotonic()
        if not self._enabled or now - self._drawn < PAUSE:
            return
        self._drawn = now
        share = min(1.0, done / total) if total > 0 else 0.0
        width = min(WIDTH, max(self._columns() - 36, 4))
        bar = ("#" * round(share * width)).ljust(width, ".")
        line = f"{stage:<10.10} [{bar}] {share:4.0%}{_left(share, now - self._begun)}{self._known}"
        # A line that reached the edge would begin a new one at every tick.
        line = line[: max(self._columns() - 1, 1)]
        self._longest = max(self._longest, len(line))
        self._write("\r" + line.ljust(self._longest))

    def _columns(self) -> int:
        """How wide the terminal is now; it may be resized while an audit runs."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            return shutil.get_terminal_size((80, 24)).columns

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody is watching any more; the audit is worth more than its progress bar.
            self._enabled = False


def _left(share: float, seconds: float) -> str:
    """About how long it still takes; nothing while too little is known to say."""
    if not 0.02 <= share < 1 or seconds < 1:
        return ""
    left = seconds * (1 - share) / share
    shown = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
    return f", {shown} left"


_ERRORS: list[tuple[memoryview, tuple[int, int] | None]] = []


def say_into(page: memoryview) -> None:
    """From now on hand over to this page what standard error cannot be told any more."""
    _ERRORS[:] = [(page, place_of(2))]


def require_errors() -> None:
    """Raise OSError where standard error is not the file that it was when the work began."""
    if _ERRORS and _ERRORS[0][1] != place_of(2):
        raise OSError("standard error leads elsewhere")


def hand_over(sentence: str) -> None:
    """Have the process that waits say what cannot be said from here any more."""
    if _ERRORS:
        page = _ERRORS[0][0]
        said = bytes(page).rstrip(b"\0") + sentence.encode("utf-8", "backslashreplace") + b"\n"
        page[:] = said[: len(page)].ljust(len(page), b"\0")


def place_of(number: int) -> tuple[int, int] | None:
    """What file an open number leads to; None for a number that is not open."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
