"""A computation in a process of its own, which may hang or die without harm.

The process is a copy of this one, so that nothing has to be sent to it; what comes back is JSON.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from select import select
from time import monotonic
from typing import Any

PIECE = 1 << 16
"""Bytes read from a pipe at a time."""


def apart(work: Callable[[], object], seconds: float) -> Any:
    """What `work` returns, as JSON gives it back; None where it did not end in time or died.

    Where a process cannot be copied the work is done here, without a limit.
    """
    if not hasattr(os, "fork"):
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The threads of numerical libraries are idle now, and the copy does not need them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    try:
        text = _read(reading, monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    try:
        return json.loads(text)
    except ValueError:
        return None


def _answer(work: Callable[[], object], writing: int) -> None:
    """Do the work, write what it returned and end, past everything that the parent has planned."""
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        data = json.dumps(work()).encode()
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _read(reading: int, end: float) -> bytes:
    data = b""
    while (left := end - monotonic()) > 0:
        ready, _, _ = select([reading], [], [], left)
        if not ready:
            break
        piece = os.read(reading, PIECE)
        if not piece:
            break
        data += piece
    return data
