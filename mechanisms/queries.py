"""Exact answers that mechanisms add noise to, each with how far one record can move it."""

import numpy as np

from .model import Array, Database

__all__ = ["count", "histogram", "total"]


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
