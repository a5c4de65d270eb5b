"""A parent that waits for the process of a pytest run, so that its exit status never lies.

A mechanism may end its process past every handler of Python: by an exit from native code, which
may well have status 0, a crash or a kill. So the process forks before the audits run. The child
goes on with the session as if nothing had happened, and says on a page of shared memory which test
runs and, at the end, how the session ended. The parent only waits, hands signals on and ends with
the child's status; a child that ends without having said so is status 4 and a sentence.

Only on Linux, and only where the process is pytest's own: a program that calls `pytest.main` keeps
its one process, as a worker of pytest-xdist does, whose controller notices that it died.
"""

import mmap
import os
import select
import signal
import struct
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import pytest

from ..shell.computed import FAILED
from ..shell.guardian import (
    become_subreaper,
    children,
    die_with,
    end_all,
    ended,
    keeper,
    reaped,
)
from ..writing.terminal import one_line

WATCH = pytest.StashKey["Watch"]()
SAID, STATUS, PAUSED, AUDITS = range(4)
"""Bytes of the page: whether the session has ended, with which status, whether somebody debugs, and
whether an audit runs."""
NAME = slice(16, 16 + 2000)
"""The name of the test that runs, cut off if it is longer."""
STARTED = slice(2048, 4096)
"""Numbers of processes that were started while an audit ran, four bytes each."""
GRACE = 20.0
"""Seconds that the process has to end once it has said how the session ended."""
NOT_OURS = ("SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGWINCH", "SIGPIPE",
            "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGSYS")  # fmt: skip
"""Signals that the parent leaves alone; it hands the others on."""


class Watch:
    """The page between the process that runs the tests and the one that waits for it."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._tests = 0
        """Number of the process that runs the tests; 0 before it is watched."""

    def begin(self) -> None:
        """Fork; returns in the child, and in a process that is not to be watched."""
        if self._tests or not _possible():
            return
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        handed_on = signal.valid_signals() - {getattr(signal, name) for name in NOT_OURS}
        kept = signal.pthread_sigmask(signal.SIG_BLOCK, handed_on)
        timer = signal.setitimer(signal.ITIMER_REAL, 0)  # a child does not inherit it
        with warnings.catch_warnings():
            # Python 3.12 warns of threads, also of those that numerical libraries keep for forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            lifeline = keeper(handed_on, _tell)
            parent = os.getpid()
            become_subreaper()
            child = os.fork()
        if child:
            _wait(child, self._page, handed_on, lifeline)
        die_with(parent)
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.pthread_sigmask(signal.SIG_SETMASK, kept)
        self._tests = os.getpid()

    def pause(self) -> None:
        """No call is too long any more: somebody debugs."""
        self._page[PAUSED] = 1

    @contextmanager
    def audits(self) -> Iterator[None]:
        """Have the processes that are started in the block ended with the session."""
        if not self._mine():
            yield
            return
        before = self._processes()
        self._page[AUDITS] = 1
        try:
            yield
        finally:
            if self._mine():
                new = self._processes() - before
                kept = bytes(self._page[STARTED]).rstrip(b"\0")
                kept = kept.ljust(-(-len(kept) // 4) * 4, b"\0")
                kept += b"".join(struct.pack("I", number) for number in sorted(new))
                size = STARTED.stop - STARTED.start
                self._page[STARTED] = kept[-size:].ljust(size, b"\0")
                self._page[AUDITS] = 0

    def _processes(self) -> set[int]:
        """Processes of this one, and those whose own parents have left them to who waits."""
        return (children(os.getpid()) | children(os.getppid())) - {os.getpid()}

    def runs(self, test: str) -> None:
        """Name the test that runs; "" for none."""
        if self._mine():
            name = test.encode("utf-8", "backslashreplace")[: NAME.stop - NAME.start]
            self._page[NAME] = name.ljust(NAME.stop - NAME.start, b"\0")

    def ends(self, status: int) -> None:
        """The session has ended with this status; what comes now cannot make it better."""
        if self._mine():  # and no copy that a mechanism made and let run on
            self._page[STATUS] = status & 0xFF
            self._page[SAID] = 1

    def _mine(self) -> bool:
        return self._tests == os.getpid()


def _possible() -> bool:
    """Whether this process is pytest's own, with one thread and one session, on Linux."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False
    frame, names = sys._getframe(), []
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_globals.get("__name__", "").startswith("_pytest."):
            names.append(frame.f_code.co_name.lstrip("_"))
    return "console_main" in names and names.count("wrap_session") == 1


def _wait(
    child: int, page: mmap.mmap, handed_on: set[signal.Signals], lifeline: int | None
) -> NoReturn:
    """The parent: wait for the child, and end as it ended; end it with the lifeline."""
    late, sent, said = False, set(), 0.0
    while True:
        state, low = reaped(child)
        if state is not None:
            break
        said = said or (time.monotonic() if page[SAID] else 0.0)
        if said and time.monotonic() - said > GRACE and not page[PAUSED]:
            late = True
            os.kill(child, signal.SIGKILL)
        if lifeline is not None and select.select([lifeline], [], [], 0)[0]:
            os.kill(child, signal.SIGKILL)
        news = signal.sigtimedwait(handed_on, 0.5)
        # Once this process was stopped for longer and goes on, CPython gives news that nobody sent,
        # of any number. What the terminal sends, Ctrl-C say, has reached the child too.
        number = news.si_signo if news and news.si_code <= 0 else signal.SIGCHLD
        if number != signal.SIGCHLD and number in handed_on:
            sent.add(number)
            os.kill(child, number)
    status, sentence = _outcome(state, low, page)
    if late:
        sentence = (
            f"every test had ended, and the process had not after {GRACE:g} s, so it was ended; a "
            "thread, a process or a function registered for the end, most likely of a mechanism, "
            "kept it"
        )
    left = _end_processes(page, child)
    if left and not sentence:
        sentence = (
            "a process that was started while an audit ran, most likely by the mechanism, was ended"
        )
    if os.WIFSIGNALED(state) and not page[SAID] and os.WTERMSIG(state) in sent:
        # It died of what was sent to this process, and so does this one.
        number = os.WTERMSIG(state)
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    if sentence:
        _tell(sentence)
    os._exit(status)


def _tell(sentence: str) -> None:
    with suppress(OSError):
        os.write(2, f"\ndpwitness: {sentence}\n".encode("utf-8", "backslashreplace"))


def _end_processes(page: mmap.mmap, child: int) -> int:
    """End what audits left behind, and all there is where one was interrupted; how many."""
    numbers = {number for (number,) in struct.iter_unpack("I", page[STARTED]) if number}
    return end_all(set() if page[AUDITS] else children(os.getpid()) - numbers, child)


def _outcome(state: int, low: list[str], page: mmap.mmap) -> tuple[int, str]:
    if page[SAID]:
        if page[STATUS] or state == 0:
            return page[STATUS], ""
        return FAILED, f"every test had ended when the process that ran them {ended(state, low)}"
    test = one_line(page[NAME].rstrip(b"\0").decode("utf-8", "backslashreplace"))
    if not test:
        return (
            FAILED,
            f"the process that ran the tests {ended(state, low)}, before it told what came of it",
        )
    lost = "it has no verdict, and the tests after it did not run"
    return FAILED, (
        f"the process that ran the tests {ended(state, low)}, while {test} ran; {lost}. pytest "
        "-n 1, of pytest-xdist, goes on after it"
    )
