"""Checks of parameters, done once where a mechanism is entered, and two array conventions."""

from collections.abc import Callable, Sequence
from math import inf
from numbers import Integral, Real
from operator import index

import numpy as np

from .model.claims import NotListable
from .model.domains import Array, Database, Size, short

MOST_LISTED = 2**22
"""The longest list of outcomes that a law or a class is spelt out to."""


def require_positive(**parameters: float) -> None:
    """Raise ValueError naming the first parameter that is not a positive finite number."""
    for name, value in parameters.items():
        if not isinstance(value, Real):
            raise ValueError(f"{name} must be a positive number, got {short(value)}")
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
        if value == inf:
            raise ValueError(f"{name} must be finite, got {value}")


def refuses(ask: Callable[[], object]) -> bool:
    """Whether what is asked raises ValueError: a promise that no claim covers is not made."""
    try:
        ask()
    except ValueError:
        return True
    return False


def require_whole(**parameters: float) -> None:
    """Raise ValueError naming the first parameter that is not a whole number from 1."""
    for name, value in parameters.items():
        if not isinstance(value, Integral) or not value >= 1:
            raise ValueError(f"{name} must be a whole number from 1, got {short(value)}")


def require_number(**parameters: float) -> None:
    """Raise ValueError naming the first parameter that is not a finite number."""
    for name, value in parameters.items():
        if not isinstance(value, Real) or not -inf < value < inf:
            raise ValueError(f"{name} must be a finite number, got {short(value)}")


def require_delta(**parameters: float) -> None:
    """Raise ValueError naming the first parameter that is no number in [0, 1)."""
    for name, value in parameters.items():
        if not isinstance(value, Real) or not 0 <= value < 1:
            raise ValueError(f"{name} must be a number in [0, 1), got {short(value)}")


def grid_numbers(database: Database, *, values: int, what: str = "record") -> Array:
    """The records as whole numbers, shape (n,), each in 0, ..., values - 1.

    Raises ValueError on any other record, before anything is released: a range that followed the
    data would give away the record that stretched it.
    """
    records = table_of_numbers(database, columns=1, what=what)[:, 0]
    return _on_grid(records, np.asarray(values), what)


def grid_columns(database: Database, *, sides: Sequence[int], what: str = "record") -> Array:
    """The records as whole numbers, shape (n, k), column j in 0, ..., sides[j] - 1.

    Raises ValueError on records of another length and on any other number, as `grid_numbers`.
    """
    records = table_of_numbers(database, columns=len(sides), what=what)
    return _on_grid(records, np.asarray(sides), what)


def _on_grid(records: Array, sides: Array, what: str) -> Array:
    fits = (records >= 0) & (records < sides)
    if records.dtype.kind == "f":
        fits &= records == np.floor(records)
    if not fits.all():
        place = tuple(int(i) for i in np.argwhere(~fits)[0])
        side = int(np.broadcast_to(sides, records.shape)[place])
        raise ValueError(
            f"{what} {place[0]} must have whole numbers from 0 to {side - 1}, got "
            f"{records[place]}; bring the data into the stated domain first"
        )
    return records.astype(np.int64)


def table_of_numbers(database: Database, *, columns: int, what: str = "record") -> Array:
    """The records as numbers of shape (n, columns), whole numbers kept; no records are fine.

    With one column a record may be a plain number. Raises ValueError on records of another
    length, instead of cutting them into records that nobody stated, and on what is no number.
    """
    try:
        rows = np.asarray(database)
    except ValueError:
        raise ValueError(
            f"every {what} must have {columns} numbers; their lengths differ"
        ) from None
    if rows.size == 0:
        return np.empty((0, columns))
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"every {what} must be made of numbers, got values of type {rows.dtype}")
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        raise ValueError(f"every {what} must be made of finite numbers, got nan or infinity")
    if columns == 1 and rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] != columns:
        shape = "plain numbers" if rows.ndim == 1 else f"shape {rows.shape[1:]}"
        raise ValueError(f"every {what} must have {columns} numbers, got records of {shape}")
    return rows if rows.dtype.kind != "b" else rows.astype(np.int64)


def require_listable(number: int, what: str) -> None:
    """Raise NotListable where a list of all outcomes would not fit into memory."""
    if number > MOST_LISTED:
        raise NotListable(
            f"a list of {float(min(number, 10**300)):.3g} {what} is longer than the "
            f"{MOST_LISTED:,} that fit into memory; take a smaller grid, fewer dimensions or "
            "candidates, or no exact law"
        )


def sample_shape(size: Size) -> tuple[int, ...]:
    """The leading shape that numpy's `size` convention stands for."""
    if size is None:
        return ()
    if isinstance(size, tuple):
        return size
    return (index(size),)


def label_array(values: Sequence[object]) -> Array:
    """Values as an array of shape (k,); objects unless all are of one plain type.

    numpy would turn (1, "a") into two strings, and a tuple of pairs into a matrix.
    """
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        return np.array(values)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels
