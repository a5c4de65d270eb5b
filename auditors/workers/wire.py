"""What goes between this process and the workers that are copies of it.

Requests are read by a child of the process that wrote them. Answers are written by a process in
which code of others ran: they may name the classes of an answer and nothing else. No file is ever
read this way.
"""

import io
import pickle
from typing import Any

TRUSTED = (
    "dpwitness.auditors.outputs.", "dpwitness.auditors.errors", "dpwitness.auditors.events.",
    "dpwitness.auditors.results.", "dpwitness.auditors.sampling.", "dpwitness.auditors.search.",
    "dpwitness.auditors.tape.", "dpwitness.auditors.workers.",
)  # fmt: skip
NUMPY = frozenset({"_reconstruct", "scalar", "ndarray", "dtype", "_frombuffer"})
PLAIN = frozenset({"complex", "set", "frozenset", "slice", "range", "bytearray"})
Unpacked = Any
"""What another process packed: who asked for it knows what it is."""


class Garbled(Exception):
    """What was sent is no answer."""


class _Answers(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        numpy = module.startswith("numpy") and name in NUMPY
        if numpy or module.startswith(TRUSTED) or (module == "builtins" and name in PLAIN):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} belongs to no answer")


def packed(value: object) -> bytes:
    """A value as bytes; raises what its own `__reduce__` raises."""
    return pickle.dumps(value, protocol=5)


def requested(data: bytes) -> Unpacked:
    """What the parent of this process, or this process, packed."""
    return pickle.loads(data)


def answered(data: bytes | memoryview) -> Unpacked:
    """What a worker packed; Garbled where that is no answer."""
    try:
        return _Answers(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError,
            AttributeError, ImportError) as error:  # fmt: skip
        raise Garbled(str(error)) from None
