"""What a mechanism uses outside its process, where what it keeps outlives every process.

Draws that are made again in a fresh process read the same file, database or server, so memory that
is kept there comes out alike. A file counts if a call may read what an earlier call wrote; one that
is written and read within a call is no memory. An audit hook sees files being opened, databases and
sockets being connected to. It does not see what native code opens by itself, nor shared memory.
"""

import os
import sys
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR
INSTALLED = (sys.prefix, sys.base_prefix, "/dev/", "/proc/", "/sys/")
TOLD = 100
"""Names that are told."""
BEGUN = 1 << 16
"""Files that are remembered; a call may make one with a new name each."""


class Outside:
    """Names of what was used since `watch` was called in this process."""

    def __init__(self) -> None:
        self.calls: Any = [0]
        """How many calls of the mechanism have begun, in its first place; who calls it counts."""
        self._begun: dict[str, int] = {}
        """The call in which what stands in a file was begun."""
        self._kept: set[str] = set()

    def watch(self) -> None:
        """Begin; there is no end, so only for a process of the mechanism's own."""
        sys.addaudithook(self._hook)

    @property
    def names(self) -> tuple[str, ...]:
        """Files that last from call to call, databases and addresses, in order."""
        return tuple(sorted(self._kept))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event == "sqlite3.connect" and arguments[0] not in (":memory:", b":memory:", ""):
            self._keep(arguments[0])
        elif event == "socket.connect":
            self._keep(arguments[1])
        elif event == "os.rename":
            old, new = (os.path.abspath(os.fsdecode(one)) for one in arguments[:2])
            if old in self._begun:
                self._begin(new, self._begun[old])

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        if not isinstance(path, (str, bytes)):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(INSTALLED):
            return
        mode = mode if isinstance(mode, str) else ""
        if set(mode) & set("wx") or flags & (os.O_TRUNC | os.O_EXCL):
            self._begin(name, self.calls[0])
        elif set(mode) & set("a+") or flags & WRITING:
            # What stood there before stays, and is older than this call unless it was begun in it.
            self._begin(name, self._begun.get(name, self.calls[0]))
        if "+" in mode or (not set(mode) & set("wax") and flags & os.O_WRONLY == 0):
            self._reads(name)

    def _begin(self, name: str, call: int) -> None:
        if len(self._begun) < BEGUN or name in self._begun:
            self._begun[name] = call

    def _reads(self, name: str) -> None:
        if self._begun.get(name, self.calls[0]) != self.calls[0]:
            self._keep(name)

    def _keep(self, name: Any) -> None:
        if len(self._kept) < TOLD:
            self._kept.add(name if isinstance(name, str) else repr(name))
