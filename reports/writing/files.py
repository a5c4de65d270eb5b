"""Reading with a limit, and writing so that a file is whole or not there."""

import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ...auditors.errors import EvidenceFormatError, InvalidArgument

LOOKED_AT = 1 << 16
"""Bytes at either end of a file that are looked at for what tells whose it is."""
BASELINE = b"dpwitness-baseline"
"""What a baseline has: it was accepted by somebody, and a report must not take its place."""
DATED = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:")
"""How each line of a log begins."""


def require_writable(
    path: str, endings: tuple[str, ...], marks: tuple[str, ...], *, baseline: bool = False
) -> None:
    """Find out now, not after an hour of sampling, that `path` can be written.

    What stands there already is replaced only if it was written here, which its ending and one of
    the marks tell: a slip of the pen must not cost anybody a source, a settings file or samples.
    A baseline is replaced as a `baseline` only.
    Raises InvalidArgument with the sentence that says why not.
    """
    try:
        final = Path(os.path.realpath(path))
        replaced = not final.is_file() or not final.stat().st_size
        if not replaced and path.lower().endswith(endings):
            replaced = _written(final, marks, baseline=baseline)
        if _is_plain(final):
            if final.exists() and not os.access(final, os.W_OK):
                raise PermissionError(13, "Permission denied")
            handle, trial = _beside(final)
            os.close(handle)
            os.unlink(trial)
        elif final.is_dir():
            raise IsADirectoryError(21, "Is a directory")
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"cannot write {path!r}: {_reason(error)}; nothing was run") from None
    if not replaced:
        raise InvalidArgument(
            f"{path} is there already and was not written as this kind of file, so it stays as it "
            "is; give another name, nothing was run"
        )


def require_appendable(path: str) -> None:
    """Raise InvalidArgument for a file that is there and is no log of ours: nothing is added."""
    begins = b""
    with suppress(OSError, ValueError), open(path, "rb") as file:
        begins = file.read(32) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if begins and not DATED.match(begins):
        raise InvalidArgument(
            f"{path} is there already and is no log, so nothing is appended to it; give another "
            "name, nothing was run"
        )


def _written(final: Path, marks: tuple[str, ...], *, baseline: bool) -> bool:
    with final.open("rb") as file:
        head = file.read(LOOKED_AT)
        file.seek(max(0, final.stat().st_size - LOOKED_AT))
        seen = head + file.read(LOOKED_AT)
    return any(mark.encode() in seen for mark in marks) and (baseline or BASELINE not in head)


def write_atomically(path: str, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, beside `path` and then put it in place in one step.

    A device or a pipe is written to directly, and a symbolic link is followed. Raises OSError;
    then no part of the new file is left behind and an old one is as it was.
    """
    final = Path(os.path.realpath(path))
    data = content
    if isinstance(data, str):
        data = data.encode("utf-8", errors="backslashreplace")
    if not _is_plain(final):
        with open(final, "wb", buffering=0) as device:
            _write_all(device.fileno(), data)
        return
    mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
    handle, trial = _beside(final)
    try:
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        if mode is not None:
            os.chmod(trial, mode)
        os.replace(trial, final)
    except BaseException:
        with suppress(OSError):
            os.unlink(trial)
        raise


def _is_plain(path: Path) -> bool:
    return not path.exists() or path.is_file()


def _beside(final: Path) -> tuple[int, str]:
    # Not mkstemp: the finished file is to have the permissions the user's umask gives.
    for attempt in range(100):
        trial = f"{final}.{os.getpid()}-{attempt}.part"
        with suppress(FileExistsError):
            return os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), trial
    raise FileExistsError(17, "left-over .part files are in the way")


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def keep_elsewhere(text: str, suffix: str) -> str | None:
    """Save a result that could not go where it should; the path, or None if that fails too."""
    try:
        handle, path = tempfile.mkstemp(prefix="dpwitness-", suffix=suffix)
    except OSError:
        return None
    try:
        try:
            _write_all(handle, text.encode("utf-8", errors="backslashreplace"))
        finally:
            os.close(handle)
    except OSError:
        with suppress(OSError):
            os.unlink(path)
        return None
    return path


def open_limited(path: str, limit: int) -> BinaryIO:
    """A file of somebody else, opened to be read: a plain file of at most `limit` bytes.

    A pipe would never end and a device has no size, so neither is waited for. Raises
    EvidenceFormatError with one sentence.
    """
    handle = -1
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            kind = next((word for is_kind, word in KINDS if is_kind(found.st_mode)), "no file")
            raise EvidenceFormatError(f"cannot read {path!r}: it is {kind}; expected a plain file")
        if found.st_size > limit:
            raise EvidenceFormatError(
                f"{path!r} is larger than {limit / 2**20:.4g} MiB, the most that is read of such a "
                "file"
            )
        return os.fdopen(handle, "rb")
    except (OSError, ValueError) as error:
        if handle >= 0:
            os.close(handle)
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(f"cannot read {path!r}: {_reason(error)}") from None


KINDS = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISDIR, "a folder"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"),
)  # fmt: skip


def read_limited(path: str, limit: int, what: str = "an evidence file") -> str:
    """The UTF-8 text of a plain file of at most `limit` bytes; raises EvidenceFormatError.

    `what` says in the error what was expected.
    """
    with open_limited(path, limit) as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise EvidenceFormatError(f"cannot read {path!r}: {_reason(error)}") from None
    if len(data) > limit:
        raise EvidenceFormatError(f"{path!r} grew while it was read; give a file that is finished")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EvidenceFormatError(
            f"{path!r} is not UTF-8 text (byte {error.start}); expected {what}"
        ) from None


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
