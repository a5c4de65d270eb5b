"""Whether the streams of the process are the files they were, and who speaks where they are not."""

import os

_ERRORS: list[tuple[memoryview, tuple[int, int] | None]] = []


def say_into(page: memoryview) -> None:
    """From now on hand over to this page what standard error cannot be told any more."""
    _ERRORS[:] = [(page, place_of(2))]


def require_errors() -> None:
    """Raise OSError where standard error is not the file that it was when the work began."""
    if _ERRORS and _ERRORS[0][1] != place_of(2):
        raise OSError("standard error leads elsewhere")


def hand_over(sentence: str) -> None:
    """Have the process that waits say what cannot be said from here any more."""
    if _ERRORS:
        page = _ERRORS[0][0]
        said = bytes(page).rstrip(b"\0") + sentence.encode("utf-8", "backslashreplace") + b"\n"
        page[:] = said[: len(page)].ljust(len(page), b"\0")


def place_of(number: int) -> tuple[int, int] | None:
    """What file an open number leads to; None for a number that is not open."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
