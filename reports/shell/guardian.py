"""A process that watches the one that works, so that the exit status never lies.

The command line runs mechanisms, and code under audit may take its process down: by a crash in
native code, by a kill when memory runs out, by leaving past every handler, or by never coming
back. So the command forks before anything is loaded. The child works and says on a page of shared
memory what status it computed and that it ended; the parent waits. A child that ends without having
said so is status 4 and a sentence. No exception turns into a status, and the parent ends what the
child left behind.

So that nothing stays behind however a command is ended, there are three processes. The first is
the one whose number its caller knows. It only waits and hands signals on. The second, the keeper,
waits for the third, which works. Orphans of the worker come to the keeper
(PR_SET_CHILD_SUBREAPER), so the keeper can end everything that the work started. If somebody kills
the first with SIGKILL, the pipe between the two ends and the keeper ends the rest; if somebody
kills the keeper, the worker dies with it (PR_SET_PDEATHSIG) and the first ends the rest.

All of this is Linux. Elsewhere there are two processes, and a kill may leave some behind; without
fork, the work is done in the one process there is.
"""

import mmap
import os
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from glob import escape, glob
from typing import NoReturn

from ..writing import terminal
from . import computed
from .computed import FAILED, INTERRUPTED
from .process_state import limits, limits_of, lowered, said

TOLD_TO_END = 143
"""The exit status after any other signal: 128 and the number of SIGTERM."""
GRACE = 5.0
"""Seconds that a child has to end after it has finished, or was told to end."""
ONCE = 0.5
"""Seconds in which two signals are one: `timeout` sends to a process and to its group."""
SAID, STATUS, STOPPED, COMPUTED, FINAL = range(5)
"""Bytes of the page: whether the child has ended, with which status, which signal stopped it, and
the two of `computed`."""
UNHEARD = slice(16, 4096)
"""What the child could not say itself, for the parent to say."""
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_INTERRUPTED = "interrupted; it did not come to its end, and nothing is half-written"
_NOTHING = "there is no verdict, and nothing half-written"
LOST = 4
"""The status of a command whose keeper was killed."""
ROUNDS = 50
"""How deep processes may be nested that are ended together."""


def run(main: Callable[[], None]) -> NoReturn:
    """The command line, which is `main`, watched; never returns."""
    _require_streams()
    if not hasattr(os, "fork") or threading.active_count() > 1:
        computed.into(memoryview(bytearray(2)))
        status = _command(main)
        if status == INTERRUPTED:
            _tell(_INTERRUPTED)
        sys.exit(status)
    os._exit(watched(partial(_command, main), tell=_tell))


def _require_streams() -> None:
    """End with a sentence where standard output is closed; the others lead nowhere then.

    A file that is opened takes the lowest free number, and would be written to as a stream.
    """
    closed = []
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            closed.append(name)
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
    if "stdout" in closed:
        _tell(
            "standard output is closed, so no result could be told, and nothing was done; send it "
            "somewhere, such as > /dev/null"
        )
        sys.exit(FAILED)


def _command(main: Callable[[], None]) -> int:
    """What the command computed; before any has begun, what the reader of the words says."""
    code = 0
    try:
        main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:
        if not computed.begun():
            if not isinstance(error, SystemExit):
                raise
            code = error.code if isinstance(error.code, int) else FAILED if error.code else 0
        elif not computed.is_final():
            _tell(computed.sentence(error))
    return computed.read(code)


def _tell(sentence: str) -> None:
    with suppress(OSError):
        os.write(2, f"dpwitness: {sentence}\n".encode("utf-8", "backslashreplace"))


def watched(work: Callable[[], int], *, tell: Callable[[str], None]) -> int:
    """The status of `work` in a child process, or 4 where the child had none to give.

    `tell` is given the sentence that says how it ended then. For the main thread of a process
    that does nothing else meanwhile.
    """
    page = mmap.mmap(-1, mmap.PAGESIZE)
    stopping = [getattr(signal, name) for name in STOPPING]
    ours = [number for number in stopping if signal.getsignal(number) is not signal.SIG_IGN]
    _flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, [*ours, signal.SIGCHLD])
    lifeline = keeper(ours, tell)
    before = children(os.getpid())
    become_subreaper()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(parent)
        _work(work, page, ours)
    status, sentence = _waited(child, page, ours, lifeline)
    for line in page[UNHEARD].rstrip(b"\0").decode("utf-8", "replace").splitlines():
        tell(line)
    if sentence:
        tell(sentence)
    if status in (0, 1, 2, 3) and _still_left(before):
        tell("a process that was started meanwhile, most likely by the mechanism, was ended")
    end_all(before, child)
    return status


def _work(work: Callable[[], int], page: mmap.mmap, ours: Sequence[int]) -> NoReturn:
    """The child: work, say how it ended, and end as any program does."""

    def stop(number: int, frame: object) -> None:
        page[STOPPED] = number
        for one in ours:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [*ours, signal.SIGCHLD])
    me, status = os.getpid(), FAILED
    terminal.say_into(memoryview(page)[UNHEARD])
    try:
        computed.into(memoryview(page)[COMPUTED : FINAL + 1])
        status = work()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BaseException:
        if not page[STOPPED] and not computed.begun():
            raise
        # An import that is interrupted may fail as a circular one.
        status = INTERRUPTED if page[STOPPED] else computed.read(FAILED)
    finally:
        _flush()
        if os.getpid() == me:  # and not a copy that the mechanism made and let run on
            _name_threads()
            page[STATUS] = status & 0xFF
            page[SAID] = 1
    sys.exit(status)


def _waited(
    child: int, page: mmap.mmap, ours: Sequence[int], lifeline: int | None
) -> tuple[int, str]:
    """(status, sentence or "") of the child, once it has ended; it is ended with the lifeline."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    signals: list[int] = []
    last = -ONCE

    def heard(number: int, frame: object) -> None:
        nonlocal last
        if time.monotonic() - last > ONCE:
            signals.append(number)
            last = time.monotonic()

    for number in ours:
        signal.signal(number, heard)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [*ours, signal.SIGCHLD])
    passed_on, since = 0, None
    while True:
        state, low = reaped(child)
        if state is not None:
            break
        now = time.monotonic()
        if since is None and (signals or page[SAID] or page[FINAL]):
            since = now
        if len(signals) > passed_on:
            # Ctrl-C reaches the child too; what was sent to us alone is handed on.
            time.sleep(0.2 if signals[0] == signal.SIGINT else 0)
            if not page[STOPPED]:
                os.kill(child, signals[-1])
            elif passed_on:
                os.kill(child, signal.SIGKILL)
            passed_on = len(signals)
        if since is not None and now - since > GRACE:
            os.kill(child, signal.SIGKILL)
        waited_on = [reader] if lifeline is None else [reader, lifeline]
        ready, _, _ = select.select(waited_on, [], [], 0.5)
        if lifeline in ready:
            os.kill(child, signal.SIGKILL)
        with suppress(BlockingIOError):
            os.read(reader, 4096)
    signal.set_wakeup_fd(-1)
    return _outcome(state, low, page, signals)


def reaped(child: int) -> tuple[int | None, list[str]]:
    """(what os.waitpid gives, limits lower than our own) of a child that ended; else (None, [])."""
    low: list[str] = []
    if hasattr(os, "waitid"):
        # Its limits are known until it is waited for.
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return None, low
        low = lowered(limits(), limits_of(child))
    found, state = os.waitpid(child, os.WNOHANG)
    return (state if found else None), low


def _outcome(state: int, low: list[str], page: mmap.mmap, signals: list[int]) -> tuple[int, str]:
    if page[FINAL] and page[COMPUTED] - 1 != INTERRUPTED:
        return page[COMPUTED] - 1, ""
    done = page[SAID] and not (page[STOPPED] and page[STATUS] == INTERRUPTED)
    if done and page[STATUS] == INTERRUPTED and not signals:
        return FAILED, (
            "the mechanism raised KeyboardInterrupt, which means that somebody interrupts, and "
            f"nobody did; {_NOTHING}"
        )
    if done and not (signals and signals[0] != signal.SIGINT):
        return page[STATUS], ""
    if signals:
        status = INTERRUPTED if signals[0] == signal.SIGINT else TOLD_TO_END
        return status, "" if done else _INTERRUPTED
    if page[STOPPED]:
        name = signal.Signals(page[STOPPED]).name
        return FAILED, (
            f"the process that ran the mechanism was sent {name} and dpwitness was not, so the "
            f"mechanism sent it, or somebody picked that process out; {_NOTHING}"
        )
    if not os.WIFSIGNALED(state) and os.WEXITSTATUS(state) == FAILED:
        return FAILED, ""  # it said why before it left
    return FAILED, f"the process that ran the mechanism {ended(state, low)}; {_NOTHING}"


def ended(state: int, low: list[str]) -> str:
    """How a process ended that did not say so, in words, from what `reaped` gives."""
    after = f", after {said(low)} of the process had been lowered" if low else ""
    return _way(state) + after


def _way(state: int) -> str:
    if os.WIFSIGNALED(state):
        number = os.WTERMSIG(state)
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        why = {"SIGKILL": ", as when memory runs out", "SIGSEGV": ", a crash in native code",
               "SIGXCPU": ", as when a limit of CPU time is used up",
               "SIGPROF": ", a timer that nobody waits for",
               "SIGVTALRM": ", a timer that nobody waits for",
               "SIGALRM": ", a timer that nobody waits for",
               "SIGABRT": ", a crash in native code"}.get(name, "")  # fmt: skip
        return f"died of {name}{why}"
    return f"ended by itself with status {os.WEXITSTATUS(state)}, past every handler"


def _close_workers() -> None:
    """End the processes that joblib keeps for the next draws, and the thread that watches them."""
    if "joblib.externals.loky" in sys.modules:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _name_threads() -> None:
    _close_workers()
    left = [one.name for one in threading.enumerate()
            if one is not threading.main_thread() and not one.daemon]  # fmt: skip
    if left:
        shown = ", ".join(left[:5]) + (", ..." if len(left) > 5 else "")
        _tell(
            f"{len(left)} {'thread' if len(left) == 1 else 'threads'} that the mechanism started "
            f"still run: {ascii(shown)[1:-1]}; what runs in {GRACE:g} s is ended"
        )


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _still_left(before: set[int]) -> bool:
    """Whether processes of the child's go on although it ended well, after some seconds' grace.

    One of them may hold our output open, and a pipe that reads it would wait for it.
    """
    ends = time.monotonic() + GRACE
    while left := children(os.getpid()) - before:
        for number in left:
            with suppress(OSError):
                os.waitpid(number, os.WNOHANG)
        if time.monotonic() > ends:
            return True
        time.sleep(0.02)
    return False


def keeper(passed_on: Collection[int], tell: Callable[[str], None]) -> int | None:
    """Fork, and go on in the keeper with a descriptor that can be read once the first is gone.

    The first process never returns; it hands the signals `passed_on` to the keeper, which must be
    blocked with SIGCHLD, and ends as the keeper does. Without Linux nothing is forked: None.
    """
    if not sys.platform.startswith("linux"):
        return None
    reading, writing = os.pipe()
    before = children(os.getpid())
    become_subreaper()
    child = os.fork()
    if child == 0:
        os.close(writing)
        return reading
    os.close(reading)
    sent: set[int] = set()
    while not (state := os.waitpid(child, os.WNOHANG))[0]:
        news = signal.sigtimedwait({*passed_on, signal.SIGCHLD}, 1.0)
        # Once this process was stopped for longer and goes on, CPython gives news that nobody sent,
        # of any number. What the terminal sends, Ctrl-C say, has reached the keeper too.
        number = news.si_signo if news and news.si_code <= 0 else signal.SIGCHLD
        if number != signal.SIGCHLD and number in passed_on:
            sent.add(number)
            os.kill(child, number)
    status = os.waitstatus_to_exitcode(state[1])
    if status < 0:
        end_all(before)
        if -status in sent:
            signal.signal(-status, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
            os.kill(os.getpid(), -status)
        tell(f"the process that watches the work died of {signal.Signals(-status).name}")
        status = LOST
    os._exit(status)


def die_with(parent: int) -> None:
    """From now on die as soon as `parent`, which forked this process, is gone."""
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(LOST)


def become_subreaper() -> None:
    """Have what the children of this process leave behind become its own children."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _prctl(option: int, value: int) -> None:
    """Ask Linux for it; elsewhere nothing is asked and less is cleaned up."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)


def children(process: int) -> set[int]:
    """The processes whose parent this one is, by its main thread; none if it cannot be told."""
    with suppress(OSError, ValueError):
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return {int(number) for number in file.read().split()}
    return set()


def end_all(kept: Collection[int], worker: int | None = None) -> int:
    """End every child but those `kept`, and what they leave behind; how many there were.

    `worker` is a child that has ended already. Files in memory and folders that carry the number
    of one of them are removed.
    """
    ended: list[int] = [] if worker is None else [worker]
    own = len(ended)
    for _ in range(ROUNDS):
        left = children(os.getpid()) - set(kept)
        if not left:
            break
        for number in left:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        for number in left:
            with suppress(OSError):
                ended += [number] * (os.waitpid(number, 0)[0] > 0)
    _remove_files(ended)
    return len(ended) - own


def _remove_files(processes: Collection[int]) -> None:
    """Remove what processes that were killed could not: their folders, loky's semaphores."""
    for number in processes:
        for place in (
            os.path.join(escape(tempfile.gettempdir()), folder_prefix(number) + "*"),
            f"/dev/shm/sem.loky-{number}-*",
            f"/dev/shm/joblib_memmapping_folder_{number}_*",
        ):
            for path in glob(place):
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        os.unlink(path)


def folder_prefix(process: int) -> str:
    """How the names of temporary folders of a process begin, by which a keeper finds them."""
    return f"dpwitness-{process}-"
