"""What a mechanism uses outside its process, where what it keeps outlives every process.

Draws that are made again in a fresh process read the same file, database or server, so memory that
is kept there comes out alike. An audit hook sees files being opened, databases and sockets being
connected to. It does not see what native code opens by itself, nor shared memory.
"""

import os
import sys
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR
INSTALLED = (sys.prefix, sys.base_prefix, "/dev/", "/proc/", "/sys/")
MOST = 100
"""Names that are remembered."""


class Outside:
    """Names of what was used since `watch` was called in this process."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._read: set[str] = set()
        self._connected: set[str] = set()

    def watch(self) -> None:
        """Begin; there is no end, so only for a process of the mechanism's own."""
        sys.addaudithook(self._hook)

    @property
    def names(self) -> tuple[str, ...]:
        """Files that were both written and read, databases and addresses, in order."""
        return tuple(sorted((self._written & self._read) | self._connected))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event == "sqlite3.connect" and arguments[0] not in (":memory:", b":memory:", ""):
            self._add(self._connected, arguments[0])
        elif event == "socket.connect":
            self._add(self._connected, arguments[1])

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        if not isinstance(path, (str, bytes)):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(INSTALLED):
            return
        mode = mode if isinstance(mode, str) else ""
        if "+" in mode or flags & os.O_RDWR == os.O_RDWR:
            self._add(self._written, name)
            self._add(self._read, name)
        elif set(mode) & set("wax") or flags & WRITING:
            self._add(self._written, name)
        else:
            self._add(self._read, name)

    def _add(self, names: set[str], name: Any) -> None:
        if len(names) < MOST:
            names.add(name if isinstance(name, str) else repr(name))
