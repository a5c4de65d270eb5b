"""Exact answers that mechanisms add noise to, each with how far one record can move it."""

import numpy as np

from ._checks import grid_numbers, table_of_numbers
from .model import Array, Database


def count(database: Database) -> int:
    """Number of rows. Sensitivity 1 under add-remove, 0 under replace-one."""
    return len(database)


def total(database: Database) -> float:
    """Sum of the rows. Sensitivity max|row| under add-remove; whole rows give a whole number."""
    return sum(database)


def histogram(database: Database, *, categories: int) -> Array:
    """How many rows equal 0, 1, ..., categories - 1: whole numbers of shape (categories,).

    One record moves the answer by 1 in L1 under add-remove and by 2 under replace-one; no
    single entry moves by more than 1 under either. Raises ValueError on any other record: the
    categories are fixed before the data is seen.
    """
    return np.bincount(grid_numbers(database, values=categories), minlength=categories)


def counts(database: Database) -> Array:
    """The counts of a histogram: floats of shape (bins,), one of which a record moves by 1.

    Raises ValueError where a count is negative or no whole number.
    """
    numbers = table_of_numbers(database, columns=1, what="bin")[:, 0]
    if (numbers < 0).any():
        raise ValueError(f"a histogram has counts from 0, got {numbers.min()}")
    if (numbers != np.floor(numbers)).any():
        part = numbers[numbers != np.floor(numbers)][0]
        raise ValueError(f"a histogram has whole counts, got {part}")
    return numbers.astype(float)


def column_totals(database: Database, *, columns: int) -> Array:
    """What voters gave each candidate in all, a row a voter: floats of shape (columns,).

    Sensitivity max|vote| under add-remove, in every column. Totals are monotone when no vote is
    negative: adding a voter then lowers none. Raises ValueError on a row of another length.
    """
    return table_of_numbers(database, columns=columns, what="row").astype(float).sum(axis=0)


def revenue(database: Database, *, prices: tuple[float, ...]) -> Array:
    """What an auction takes at each price, paid by all who bid as much: floats, one per price.

    Sensitivity max(prices) under add-remove; monotone.
    """
    bids = table_of_numbers(database, columns=1, what="bid")[:, 0]
    offered = np.asarray(prices, dtype=float)
    return offered * np.count_nonzero(bids[:, None] >= offered, axis=0)


def shares_of(database: Database) -> tuple[Array, float]:
    """The counts as a distribution, shape (bins,), and the number of records.

    Raises ValueError without records and on a count that is negative or no finite number.
    """
    held = counts(database)
    records = float(held.sum())
    if not records > 0:
        raise ValueError("database must have at least one record")
    return held / records, records
