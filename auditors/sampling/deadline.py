"""When the running call of a mechanism must be over, for a process that watches this one.

A call that ignores signals cannot be stopped from inside. The time is a single number in memory
that both processes share; without such a process it is written nowhere.
"""

import os
from struct import pack_into
from time import monotonic

_SHARED: list[memoryview] = []


def deadline_in(page: memoryview) -> None:
    """Write the deadline of every call to these eight bytes from now on: monotonic seconds.

    A copy of this process, which shares the bytes, does not: its calls are not the ones watched.
    """
    _SHARED[:] = [page]
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_SHARED.clear)


def due(seconds: float | None) -> None:
    """The running call must be over in so many seconds; None: no call is running."""
    if _SHARED:
        pack_into("d", _SHARED[0], 0, 0.0 if seconds is None else monotonic() + seconds)
