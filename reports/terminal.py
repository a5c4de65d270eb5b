"""What goes to a terminal: text that cannot steer it, and one line of progress."""

import time
from types import TracebackType
from typing import TextIO

WIDTH = 24
PAUSE = 0.1


def printable(text: str) -> str:
    """The text with control characters escaped, so that no name can steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


class ProgressLine:
    """A line on `stream`, redrawn as draws are made and gone at the end.

    Nothing is ever written unless `enabled`, which callers set for a terminal only.
    """

    def __init__(self, stream: TextIO, *, enabled: bool) -> None:
        self._stream = stream
        self._enabled = enabled
        self._drawn = 0.0
        self._longest = 0

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

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` draws are made; at most ten times a second."""
        now = time.monotonic()
        if not self._enabled or now - self._drawn < PAUSE:
            return
        self._drawn = now
        share = min(1.0, done / total) if total > 0 else 0.0
        bar = ("#" * round(share * WIDTH)).ljust(WIDTH, ".")
        line = f"{stage:<10.10} [{bar}] {share:4.0%} {done:>12,}"
        self._longest = max(self._longest, len(line))
        self._write("\r" + line.ljust(self._longest))

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody is watching any more; the audit is worth more than its progress bar.
            self._enabled = False
