"""Exact answers that mechanisms add noise to, each with how far one record can move it."""

import numpy as np

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
    single entry moves by more than 1 under either.
    """
    return np.bincount(np.asarray(database, dtype=np.int64), minlength=categories)


def counts(database: Database) -> Array:
    """The counts of a histogram: floats of shape (bins,), one of which a record moves by 1."""
    return np.asarray(database, dtype=float)


def column_totals(database: Database, *, columns: int) -> Array:
    """What voters gave each candidate in all, a row a voter: floats of shape (columns,).

    Sensitivity max|vote| under add-remove, in every column. Totals are monotone when no vote is
    negative: adding a voter then lowers none.
    """
    return np.asarray(database, dtype=float).reshape(-1, columns).sum(axis=0)


def revenue(database: Database, *, prices: tuple[float, ...]) -> Array:
    """What an auction takes at each price, paid by all who bid as much: floats, one per price.

    Sensitivity max(prices) under add-remove; monotone.
    """
    bids = np.asarray(database, dtype=float)
    offered = np.asarray(prices, dtype=float)
    return offered * np.count_nonzero(bids[:, None] >= offered, axis=0)
