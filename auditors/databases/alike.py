"""How two large databases begin and end alike, so that what is between them is looked at alone."""

import sys
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

import numpy as np

from ..outputs.encoding import is_plain_list

AT_ONCE = 4096
"""Records that are compared at a time, until some differ."""
NUMBERS = frozenset({bool, int, float})


def alike(one: Any, two: Any) -> tuple[int, int] | None:
    """How many records two databases begin with, and end with, that are surely equal.

    None for two whose records do not stand in one order, as in a dict, or are not of one kind. No
    record is counted twice.
    """
    if type(one) is not type(two) or _names(one) != _names(two):
        return None
    ours, theirs = columns(one), columns(two)
    if ours is None or theirs is None:
        return None
    most = min(len(one), len(two))
    start = min((_agree(x, y, most) for x, y in zip(ours, theirs, strict=True)), default=0)
    left = most - start
    end = min(
        (_agree(x[::-1], y[::-1], left) for x, y in zip(ours, theirs, strict=True)), default=0
    )
    return start, end


def unlike(one: Any, two: Any) -> tuple[Any, Any]:
    """Both without the records they begin and end with alike: of a million few are left."""
    both = alike(one, two)
    if both is None:
        return one, two
    start, end = both
    return part(one, start, len(one) - end), part(two, start, len(two) - end)


def part(database: Any, start: int, stop: int) -> Any:
    """The records from one place to another, as a database of the same kind."""
    rows = database.iloc if _library(database) == "pandas" else database
    return rows[start:stop]


def columns(database: Any) -> list[Any] | None:
    """Arrays of numbers or texts, or lists, that hold all that a database's records say."""
    if type(database) in (list, tuple):
        return [database]
    if type(database) is np.ndarray:
        plain = database.ndim > 0 and not database.dtype.hasobject
        return [database] if plain else None
    library, kind = _library(database), type(database).__name__
    if library not in ("pandas", "polars") or kind not in ("DataFrame", "Series"):
        return None
    if kind == "Series":
        return [_entries(database)]
    names = _names(database)
    return [_entries(database[name]) for name in names] if len(set(names)) == len(names) else None


def _names(database: Any) -> list[object]:
    return list(getattr(database, "columns", ()))


def _entries(column: Any) -> object:
    """One column of a table, as an array of plain numbers or as a list."""
    if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
        return column.to_numpy()
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _library(database: Any) -> str:
    library = type(database).__module__.partition(".")[0]
    return library if library in sys.modules else ""


def _agree(one: Any, two: Any, most: int) -> int:
    """Up to where two columns surely agree, of their first `most` entries."""
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        if one.dtype != two.dtype or one.shape[1:] != two.shape[1:] or not most:
            return 0
        differ = (_bytes(one[:most]) != _bytes(two[:most])).any(axis=1)
        return int(differ.argmax()) if differ.any() else most
    for start, x, y in _pieces(one, two, most):
        if not _surely(x, y):
            return start + next((i for i, (a, b) in enumerate(zip(x, y, strict=True))
                                 if not _surely([a], [b])), len(x))  # fmt: skip
    return most


def _bytes(array: Any) -> Any:
    plain = np.ascontiguousarray(array)
    return plain.view(np.uint8).reshape(len(plain), -1)


def _pieces(one: Any, two: Any, most: int) -> Iterator[tuple[int, Any, Any]]:
    for start in range(0, most, AT_ONCE):
        stop = min(start + AT_ONCE, most)
        yield start, one[start:stop], two[start:stop]


def _surely(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Whether records are surely equal: the same objects, or plain values that read alike."""
    if all(map(is_, one, two)):
        return True
    kinds = list(map(type, one))
    if kinds != list(map(type, two)):
        return False
    if NUMBERS.issuperset(kinds):
        # 0.0 equals -0.0 and nan does not equal itself.
        return (one == two and 0 not in one) or repr(one) == repr(two)
    return is_plain_list(list(one)) and repr(one) == repr(two)
