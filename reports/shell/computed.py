"""The status that a command computed, where no exception can change it.

A mechanism may leave a thread behind that raises SystemExit, or anything else, in the main thread
at any moment. If exceptions said how a command ended, SystemExit would say "finished". So a command
that has begun has failed until it says otherwise, and only what it writes here counts.
"""

import os

REFUTED, UNUSABLE, INCONCLUSIVE, FAILED = 1, 2, 3, 4
"""Exit statuses of every command, as docs/reference/statuses.md explains them."""
INTERRUPTED = 130
"""The exit status after Ctrl-C: 128 and the number of SIGINT, as a shell tells it."""
STATUS, FINAL = 0, 1
"""Which of the two bytes has the status plus 1, and which says that it stays."""
_PLACE: list[tuple[memoryview, int]] = []


def into(place: memoryview) -> None:
    """From now on write to these two bytes, from this process and not from copies of it."""
    _PLACE[:] = [(place, os.getpid())]


def begin() -> None:
    """A command begins, which may run code of others: it has failed until it says otherwise."""
    _write(FAILED, final=False)


def refuted() -> None:
    """A refutation has been counted: status 1 from now on, even if it cannot be told in full."""
    _write(REFUTED, final=False)


def finish(status: int) -> None:
    """The command ends with this status, whatever comes now; a refutation counted is not lost."""
    _write(REFUTED if status == FAILED and read(0) == REFUTED else status, final=True)


def read(otherwise: int) -> int:
    """The status computed so far; `otherwise` if no command has begun."""
    return _PLACE[0][0][STATUS] - 1 if begun() else otherwise


def begun() -> bool:
    """Whether a command has begun."""
    return bool(_PLACE) and _PLACE[0][0][STATUS] > 0


def is_final() -> bool:
    """Whether a command has ended."""
    return begun() and _PLACE[0][0][FINAL] == 1


def sentence(error: BaseException) -> str:
    """What to tell of an exception that ended a command before it was finished."""
    before = (
        "a refutation was counted, and what is told of it may not be whole"
        if read(0) == REFUTED
        else "there is no verdict"
    )
    return (
        f"{type(error).__name__} was raised outside every call of the mechanism, most likely by a "
        f"thread that the mechanism started; {before}"
    )


def _write(status: int, *, final: bool) -> None:
    if _PLACE and _PLACE[0][1] == os.getpid():
        place = _PLACE[0][0]
        place[STATUS] = status + 1
        place[FINAL] = place[FINAL] or final
