"""Child processes forked from this one: how they start, how they are waited for, how they end.

Every child ends with its parent, whatever ends the parent: the end of its socket tells the child,
and on Linux the system kills it (PR_SET_PDEATHSIG) where the main thread forked it; the signal
follows a thread. It leads a process group of its own, which is killed with it, so that what the
mechanism started goes too and Ctrl-C in a terminal reaches the parent alone.
"""

import ctypes
import faulthandler
import io
import mmap
import os
import select
import signal
import socket
import struct
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from typing import NoReturn, TypeVar

from ..errors import ContractError, MechanismHangs
from ..silence import Silence
from .outside import OURS, own
from .wire import Garbled, Unpacked, answered, packed

T = TypeVar("T")

FRAME = struct.Struct("<Q")
BEATS = struct.Struct("=Q")
LARGEST = 1 << 33
"""Bytes of one answer, at most: more than any block of outputs that is kept."""
AT_ONCE = 1 << 16
"""Bytes that are read at a time; most requests and answers are shorter."""
CAN_FORK = hasattr(os, "fork")
PRCTL: Callable[..., int] | None = None
"""The system's prctl, looked up once and not in each copy, which would pay for 70 page faults."""
with suppress(OSError, AttributeError, TypeError):
    PRCTL = ctypes.CDLL(None).prctl

_ENDS: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()
"""The parent's ends of all sockets to children. A child closes its copies, or no other child would
ever see the end of its parent."""


class Ended(Exception):
    """The child ended without an answer; its words say how."""


class Child:
    """A forked process that answers requests one at a time, each by `serve(request)`.

    `serve` runs in the child and is given the bytes of a request and a number, in the first place
    of a sequence, that it raises whenever a call of the mechanism begins, and after the last one of
    a block. `limit` is how many
    seconds may pass without that.
    """

    def __init__(
        self, serve: Callable[[bytes, memoryview], object], limit: float, *, show_output: bool
    ) -> None:
        self.limit = limit
        self._page = _page()
        self._sock, theirs = socket.socketpair()
        _ENDS.add(self._sock)
        for file in (sys.stdout, sys.stderr):
            with suppress(Exception):
                file.flush()
        parent, main = os.getpid(), threading.current_thread() is threading.main_thread()
        with warnings.catch_warnings():
            # The threads of numerical libraries are idle now, and the child does not need them.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _live(serve, theirs, self._page, parent if main else 0, show_output)
        theirs.close()
        self._finish = weakref.finalize(self, _end, self.pid, os.getpid(), self._sock)

    @property
    def socket(self) -> socket.socket:
        """What becomes readable when an answer is there."""
        return self._sock

    @property
    def beats(self) -> int:
        """How many calls the child has begun."""
        return int(BEATS.unpack_from(self._page)[0])

    def send(self, request: bytes) -> None:
        """Ask; raises Ended where there is nobody."""
        try:
            _send(self._sock, request)
        except OSError:
            raise Ended(self.end()) from None

    def receive(self) -> Unpacked:
        """The answer, once it is there; raises what the request raised, or Ended."""
        data = self._read(bytearray(), FRAME.size)
        size = FRAME.size + FRAME.unpack_from(data)[0]
        if size <= LARGEST:
            data = self._read(data, size)
        try:
            if len(data) != size:
                raise Garbled("one answer was asked for")
            good, answer = answered(memoryview(data)[FRAME.size :])
        except Garbled:
            self.end()
            raise _garbled() from None
        if not good:
            raise answer
        return answer

    def _read(self, data: bytearray, size: int) -> bytearray:
        """So many bytes at least; nothing follows an answer before the next request."""
        silence = Silence(self.pid, self.limit)
        while len(data) < size:
            try:
                most = max(AT_ONCE, min(size - len(data), 1 << 20))
                piece = self._sock.recv(most, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if not (left := silence.left()):
                    self.end()
                    raise hangs(self.limit) from None
                if select.select([self._sock], [], [], left)[0]:
                    silence.broken()
                continue
            except OSError:
                piece = b""
            if not piece:
                raise Ended(self.end())
            data += piece
        return data

    def end(self) -> str:
        """Kill the child and all it started; says how it had ended, if it had."""
        status = self._finish()
        return _how(status) if status is not None else "it ended before"


def _page() -> mmap.mmap:
    """A page that this process and its child share, with a name that tells it from others."""
    if not hasattr(os, "memfd_create"):
        return mmap.mmap(-1, mmap.PAGESIZE)
    number = os.memfd_create(OURS)
    try:
        os.ftruncate(number, mmap.PAGESIZE)
        return mmap.mmap(number, mmap.PAGESIZE)
    finally:
        os.close(number)


def wait(children: Sequence[Child]) -> list[Child]:
    """Those of the children that have answered or ended; blocks until there is one.

    Raises MechanismHangs where one begins no call for longer than its limit; it is killed.
    """
    by_socket = {child.socket: child for child in children}
    step = min(0.5, min(child.limit for child in children) / 4)
    seen = {child: (child.beats, Silence(child.pid, child.limit)) for child in children}
    while True:
        ready = select.select(list(by_socket), [], [], step)[0]
        if ready:
            return [by_socket[sock] for sock in ready]
        for child, (beats, silence) in seen.items():
            if child.beats != beats:
                silence.broken()
                seen[child] = child.beats, silence
            elif not silence.left():
                child.end()
                raise hangs(child.limit)


def hangs(limit: float) -> MechanismHangs:
    """The error for a call that takes too long."""
    return MechanismHangs(
        f"one call of the mechanism did not return within {limit:g} s; if it is meant to be that "
        "slow, raise the limit with timeout=",
        keywords=("timeout",),
    )


def _garbled() -> ContractError:
    return ContractError(
        "the process of the mechanism wrote what is no answer; the mechanism must leave the "
        "descriptors and the modules of its process alone"
    )


def _end(pid: int, owner: int, sock: socket.socket) -> int | None:
    sock.close()
    if os.getpid() != owner:
        return None  # a copy of the parent: the child is not its own
    done, status = 0, None
    with suppress(ChildProcessError):
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            # It may just be ending by itself.
            _, status = _patiently(pid)
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    return status


def _patiently(pid: int) -> tuple[int, int]:
    for _ in range(50):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return done, status
        select.select([], [], [], 0.002)
    for kill in (os.killpg, os.kill):
        with suppress(OSError):
            kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = str(number)
        return f"it was killed by {name}"
    return f"it ended with status {os.waitstatus_to_exitcode(status)}"


def _live(
    serve: Callable[[bytes, memoryview], object],
    sock: socket.socket,
    page: mmap.mmap,
    parent: int,
    show_output: bool,
) -> NoReturn:
    """The child: answer until the parent is gone."""
    try:
        _settle(sock, parent, show_output)

        # Counted on the page, where copies of this process count too: see `aside`.
        beats = memoryview(page).cast("Q")
        forked: list[int] = []
        os.register_at_fork(after_in_child=lambda: forked.append(1))
        while True:
            request = _received(sock)
            beats[0] += 1
            try:
                answer = True, serve(request, beats)
            except Exception as error:  # noqa: BLE001 - raised again in the parent
                answer = False, _sendable(error)
            if forked:
                os._exit(0)  # a copy that the mechanism forked must not go on as if it were we
            _send(sock, packed(answer))
    finally:
        os._exit(1)


def aside(function: Callable[[], T]) -> T:
    """What `function` returns in a copy of this process that ends with it.

    For a worker in which the mechanism was never called, so that each copy is as fresh as it is.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _die_with_parent()
            try:
                left = packed((True, function()))
            except Exception as error:  # noqa: BLE001 - raised again by who asked
                left = packed((False, _sendable(error)))
            while left:
                left = left[os.write(writing, left) :]
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    try:
        good, answer = answered(data)
    except Garbled as error:
        if data and status == 0:
            raise ContractError(f"what a worker answered cannot be read: {error}") from None
        raise ContractError(f"the mechanism ended the process it ran in: {_how(status)}") from None
    if not good:
        raise answer
    return answer


def _die_with_parent() -> None:
    if PRCTL is not None:
        PRCTL(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def _first_to_go() -> None:
    """If memory runs out the system ends this process, and not the one that counts its draws."""
    with suppress(OSError):
        place = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        try:
            os.write(place, b"1000")
        finally:
            os.close(place)


def _sendable(error: Exception) -> Exception:
    """Our own errors as they are if an answer can hold them; any other is told by its words."""
    with suppress(Exception):
        if type(error).__module__.startswith("dpwitness."):
            answered(packed(error))
            return error
    return ContractError(f"a worker failed with {type(error).__name__}: {str(error)[:300]}")


def _send(sock: socket.socket, data: bytes) -> None:
    """A frame in one piece, so that who waits for it wakes once."""
    head = FRAME.pack(len(data))
    if len(data) <= AT_ONCE:
        sock.sendall(head + data)
    else:
        sock.sendall(head)
        sock.sendall(data)


def _received(sock: socket.socket) -> bytes:
    """The next request; this process ends where nobody is left to ask."""
    data, size = bytearray(), FRAME.size
    while len(data) < size:
        try:
            piece = sock.recv(max(AT_ONCE, min(size - len(data), 1 << 20)))
        except InterruptedError:
            continue
        if not piece:
            os._exit(0)
        data += piece
        if len(data) >= FRAME.size:
            size = FRAME.size + FRAME.unpack_from(data)[0]
    return bytes(data[FRAME.size :])


class _Sink(io.TextIOBase):
    """A stream that takes everything, also after it was closed."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Take the text."""
        return len(text)

    def writable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Stay open."""

    @property
    def buffer(self) -> BytesIO:
        """The same for bytes."""
        return io.BytesIO()


def _settle(sock: socket.socket, parent: int, show_output: bool) -> None:
    """Make a process of its own of the copy."""
    os.setsid()
    if parent:
        _die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
    for end in list(_ENDS):
        end.close()
    _first_to_go()
    own()
    signal.set_wakeup_fd(-1)
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGCHLD", "SIGUSR1"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    sys.settrace(None)
    sys.setprofile(None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    if not show_output:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    for name, number in (("stdout", 1), ("stderr", 2)):
        shown = open(number, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        setattr(sys, name, shown if show_output else _Sink())
    faulthandler.disable()
    import gc

    gc.freeze()  # what came with the copy is not looked at again, so its memory stays shared
