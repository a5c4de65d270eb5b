"""How long a process has been silent: by the clock, less what it waited for a processor.

A machine that does more than it has processors for makes every process wait. What a call of the
mechanism takes is a matter of the mechanism; how long it was kept from going on is none, and must
not decide whether it hangs. Linux counts that waiting for each thread; it is read of the main
thread. Elsewhere, and for a process that another one starts, silence is what the clock says.
"""

import time
from pathlib import Path

FIRST = 0.1
"""Seconds after which a silence is looked at more closely; most are over before."""
LEAST = 0.01
"""Less is none: what a process is kept waiting while one waits for it would be added for ever."""


def waited(pid: int) -> float:
    """Seconds for which a process stood ready to go on and had no processor; 0 if unknown."""
    try:
        # Nanoseconds on a processor, nanoseconds ready for one, number of times on one.
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Silence:
    """What is left of the `limit` seconds for which a process may be silent."""

    __slots__ = ("_begun", "_limit", "_pid", "_waited")

    def __init__(self, pid: int, limit: float) -> None:
        self._pid, self._limit = pid, limit
        self.broken()

    def broken(self) -> None:
        """The process has said something: the silence begins anew."""
        self._begun = time.monotonic()
        self._waited: float | None = None

    def left(self) -> float:
        """Seconds after which to ask again, unless the process says something; 0 if it hangs."""
        silent = time.monotonic() - self._begun
        if self._waited is None:
            if silent < (first := min(FIRST, self._limit / 4)):
                return first - silent
            self._waited = waited(self._pid)
        left = self._limit - silent
        if left < LEAST:
            left += max(waited(self._pid) - self._waited, 0.0)
        return left if left >= LEAST else 0.0
