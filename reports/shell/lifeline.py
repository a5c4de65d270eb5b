"""Three processes, so that nothing stays behind however a command is ended.

The first is the one whose number its caller knows. It only waits and hands signals on. The second,
the keeper, waits for the third, which works. Orphans of the worker come to the keeper
(PR_SET_CHILD_SUBREAPER), so the keeper can end everything that the work started. If somebody kills
the first with SIGKILL, the pipe between the two ends and the keeper ends the rest; if somebody
kills the keeper, the worker dies with it (PR_SET_PDEATHSIG) and the first ends the rest.

All of this is Linux. Elsewhere there are two processes, and a kill may leave some behind.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from glob import escape, glob

LOST = 4
"""The status of a command whose keeper was killed."""
ROUNDS = 50
"""How deep processes may be nested that are ended together."""


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
