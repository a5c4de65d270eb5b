"""What a mechanism uses outside its process, where what it keeps outlives every process.

Draws that are made again in a fresh process read the same file, database or server, so memory that
is kept there comes out alike. A file counts if a call may read what an earlier call wrote; one that
is written and read within a call is no memory. An audit hook sees files being opened and mapped,
databases and sockets being connected to. It does not see what native code opens by itself.

Copies of a process share more than files with a name: pages that are mapped as shared, files that
were open when the copy was made, and pipes. `own` gives a process pages, files and pipes of its own
in their place, so what calls leave there ends with the process as all its memory does. `shared`
says what stands in what is too large to be copied: whether calls changed it shows there. Pipes are
never looked at: one that is open at both ends may belong to a pool of processes, which writes to it
while calls are made.
"""

import ctypes
import gc
import mmap
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR
INSTALLED = (sys.prefix, sys.base_prefix, "/dev/", "/proc/", "/sys/")
TOLD = 100
"""Names that are told."""
BEGUN = 1 << 16
"""Files that are remembered; a call may make one with a new name each."""
MOST_COPIED = 1 << 26
"""Bytes of shared pages, or of an open file, that a process gets a copy of."""
FILES = "/proc/self/fd"
READ, COPY = mmap.ACCESS_READ, mmap.ACCESS_COPY
NONBLOCK = 2
"""SPLICE_F_NONBLOCK of Linux: where nothing waits in a pipe, nothing is waited for."""
OURS = "dpwitness-beats"
"""The name of the pages on which workers count their calls."""

FIXED = 0x10 | getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
"""With MAP_FIXED of Linux: in the place of what is mapped there."""


class Outside:
    """Names of what was used since `inherit` and `watch` were called."""

    def __init__(self) -> None:
        self.calls: Sequence[int] = [0]
        """How many calls of the mechanism have begun, in its first place; who calls it counts."""
        self._begun: dict[str, int] = {}
        """The call in which what stands in a file was begun."""
        self._kept: set[str] = set()
        self._shared: dict[str, object] = {}

    def inherit(self) -> None:
        """Look at what a copy of this process, which is about to be made, will share with it."""
        self._shared = shared()

    def watch(self) -> None:
        """Begin; there is no end, so only for a process of the mechanism's own."""
        sys.addaudithook(self._hook)

    @property
    def names(self) -> tuple[str, ...]:
        """What lasts from call to call, such as files and addresses, in order."""
        now = shared()
        for name, state in self._shared.items():
            if now.get(name, state) != state:
                self._keep(name)
        return tuple(sorted(self._kept))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*arguments)
        elif event == "sqlite3.connect" and arguments[0] not in (":memory:", b":memory:", ""):
            self._keep(arguments[0])
        elif event == "socket.connect":
            self._keep(arguments[1])
        elif event == "mmap.__new__" and arguments[0] >= 0 and arguments[2] not in (READ, COPY):
            self._mapped(arguments[0])
        elif event == "os.rename":
            old, new = (os.path.abspath(os.fsdecode(one)) for one in arguments[:2])
            if old in self._begun:
                self._begin(new, self._begun[old])

    def _opened(self, path: object, mode: object, flags: int) -> None:
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

    def _mapped(self, number: int) -> None:
        """Memory with a name: who maps it writes and reads it without opening it again."""
        with suppress(OSError):
            name = os.readlink(f"{FILES}/{number}")
            if name.startswith("/dev/shm/"):
                self._keep(name)

    def _begin(self, name: str, call: int) -> None:
        if len(self._begun) < BEGUN or name in self._begun:
            self._begun[name] = call

    def _reads(self, name: str) -> None:
        if self._begun.get(name, self.calls[0]) != self.calls[0]:
            self._keep(name)

    def _keep(self, name: object) -> None:
        if len(self._kept) < TOLD:
            self._kept.add(name if isinstance(name, str) else repr(name))


def own() -> None:
    """Put copies in the place of what this process shares with the one that it was forked from.

    That is writable pages and files that are open to be read and written, up to `MOST_COPIED`
    bytes each, and pipes that are open at both ends, with what waits in them; not what devices map,
    what is mapped twice (code that is made while it runs), and the three streams.
    """
    with suppress(OSError, AttributeError):
        _own_pages()
        for number, way, known in _files():
            if way == os.O_RDWR and stat.S_ISREG(known.st_mode) and known.st_size <= MOST_COPIED:
                copy = os.memfd_create(OURS)
                data, start = os.pread(number, known.st_size, 0), os.lseek(number, 0, os.SEEK_CUR)
                os.write(copy, data)
                os.lseek(copy, start, os.SEEK_SET)
                _replace(number, copy)
        _own_pipes()


def _own_pages() -> None:
    """Put copies in the place of writable pages.

    A garbage collection in between could unmap what is listed, and an address of nothing ends the
    process; so none is made, and the bytes are read by the system, which answers with an error.
    """
    mapped = ctypes.CDLL(None).mmap
    mapped.restype = ctypes.c_void_p
    mapped.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    collects = gc.isenabled()
    gc.disable()
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for first, size, _, _ in _pages():
                if size > MOST_COPIED:
                    continue
                with suppress(OSError):
                    data = os.pread(memory.fileno(), size, first)
                    if len(data) < size:
                        continue  # its file became shorter: nothing can be read there
                    found = mapped(first, size, mmap.PROT_READ | mmap.PROT_WRITE, FIXED, -1, 0)
                    if found == first:
                        ctypes.memmove(first, data, size)
    finally:
        if collects:
            gc.enable()


def _own_pipes() -> None:
    """Put a pipe with the same bytes in the place of each that this process could write and read.

    `tee` of Linux leaves the bytes where they are, so who shares the pipe misses none.
    """
    import fcntl

    ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for number, way, known in list(_files()):
        if stat.S_ISFIFO(known.st_mode):
            ends.setdefault((known.st_dev, known.st_ino), []).append((number, way))
    tee = ctypes.CDLL(None).tee
    tee.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_uint]
    for pipe in ends.values():
        read = [number for number, way in pipe if way != os.O_WRONLY]
        if not read or all(way == os.O_RDONLY for _, way in pipe):
            continue
        reading, writing = os.pipe()
        room = fcntl.fcntl(read[0], fcntl.F_GETPIPE_SZ)
        with suppress(OSError):  # who has many pipes may not have long ones
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, room)
        tee(read[0], writing, room, NONBLOCK)
        for number, way in pipe:
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            _replace(number, os.open(f"{FILES}/{writing if way == os.O_WRONLY else reading}", way))
            fcntl.fcntl(number, fcntl.F_SETFL, flags)
        os.close(reading)
        os.close(writing)


def _replace(number: int, other: int) -> None:
    """Make an open file another one, which is closed under its own number."""
    os.dup2(other, number, inheritable=os.get_inheritable(number))
    os.close(other)


def shared() -> dict[str, object]:
    """What stands in all that a copy of this process shares with it, by name.

    Of pages the contents, of files where they stand and, if they are open to be written too, their
    size and time of change. Pipes and sockets are not looked at.
    """
    found: dict[str, object] = {}
    with suppress(OSError):
        for first, size, name, place in _pages():
            if size > MOST_COPIED:
                page = (ctypes.c_char * MOST_COPIED).from_address(first)
                found[f"{name or 'memory shared between processes'} ({place})"] = hash(bytes(page))
        files = [one for one in _files() if stat.S_ISREG(one[2].st_mode)]
        ways: dict[tuple[int, int], set[int]] = {}
        for _, way, known in files:
            ways.setdefault((known.st_dev, known.st_ino), set()).add(way)
        for number, way, known in files:
            some = ways[known.st_dev, known.st_ino]
            both, name = os.O_RDWR in some or len(some) == 2, os.readlink(f"{FILES}/{number}")
            if way != os.O_WRONLY:
                written = (known.st_size, known.st_mtime_ns) if both else ()
                found[f"{name} (open as {number})"] = os.lseek(number, 0, os.SEEK_CUR), *written
    return found


def _pages() -> list[tuple[int, int, str, str]]:
    """(address, bytes, name or "", number of the file) of writable pages shared with a copy."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = [line.split(maxsplit=5) for line in file]
    places = Counter(line[4] for line in lines)
    found = []
    for ends, kind, _, _, place, *name in lines:
        path = name[0].strip() if name else ""
        device = path.startswith("/dev/") and not path.startswith(("/dev/zero", "/dev/shm/"))
        if kind == "rw-s" and places[place] == 1 and not device and OURS not in path:
            first, last = (int(end, 16) for end in ends.split("-"))
            found.append((first, last - first, path, place))
    return found


def _files() -> Iterator[tuple[int, int, os.stat_result]]:
    """(number, O_RDONLY, O_WRONLY or O_RDWR, status) of open files and pipes, not the streams."""
    import fcntl

    told = []
    for number in (0, 1, 2):
        with suppress(OSError):
            told.append(os.fstat(number))
    for number in map(int, os.listdir(FILES)):
        with suppress(OSError):
            known = os.fstat(number)
            file = stat.S_ISREG(known.st_mode) or stat.S_ISFIFO(known.st_mode)
            ours = file and OURS in os.readlink(f"{FILES}/{number}")
            if file and not ours and not any(os.path.samestat(known, one) for one in told):
                yield number, fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE, known
