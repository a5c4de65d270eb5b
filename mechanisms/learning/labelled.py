"""Points on a finite grid with labels 0 and 1: databases as counts, and how often a guess errs.

A grid is a tuple of sides: coordinate i takes the values 0, ..., side - 1. Its points are
numbered with the first coordinate slowest, so that those of the cube (2, ..., 2) read as binary
numbers.
"""

from math import prod

import numpy as np

from .._checks import grid_columns
from ..model import Array, Choices, Database, Product


def grid_points(grid: tuple[int, ...]) -> Array:
    """All points in the order of their numbers: whole numbers of shape (points, coordinates)."""
    return np.indices(grid).reshape(len(grid), -1).T


def labelled_row(grid: tuple[int, ...]) -> Product:
    """The rows [x_1, ..., x_d, label] over the grid."""
    return Product(parts=tuple(Choices(values=tuple(range(side))) for side in (*grid, 2)))


def labelled_counts(database: Database, *, grid: tuple[int, ...]) -> Array:
    """How many rows [x_1, ..., x_d, label] there are of each point and label.

    Returns whole numbers of shape (points, 2); one record moves one of them by 1 under
    add-remove and two under replace-one. Raises ValueError on a row that is not on the grid.
    """
    shape = (*grid, 2)
    rows = grid_columns(database, sides=shape, what="row")
    codes = np.ravel_multi_index(tuple(rows.T), shape)
    return np.bincount(codes, minlength=prod(shape)).reshape(-1, 2)


def packed_rows(flags: Array) -> Array:
    """Rows of zeros and ones, shape (m, d), as m values that compare as the rows do.

    Quicker to sort by orders of magnitude than the rows themselves.
    """
    if not flags.shape[1]:
        return np.zeros(len(flags), dtype=np.uint8)
    codes = np.packbits(flags, axis=1)
    return codes.view(f"V{codes.shape[1]}").ravel()


def labelled_points(database: Database, *, dimension: int) -> tuple[Array, Array]:
    """The points of {0, 1}**d that occur, shape (m, d), and how often with each label, (m, 2).

    Takes time and memory n d at most, where `labelled_counts` needs 2**d. Raises ValueError on a
    row that is not made of d + 1 zeros and ones.
    """
    rows = grid_columns(database, sides=(2,) * (dimension + 1), what="row")
    points, labels = rows[:, :-1].astype(np.uint8), rows[:, -1]
    _, first, place = np.unique(packed_rows(points), return_index=True, return_inverse=True)
    counts = np.bincount(2 * place + labels, minlength=2 * len(first)).reshape(-1, 2)
    return points[first], counts


def labelled_rows(counts: Array, *, grid: tuple[int, ...]) -> Database:
    """The rows that `labelled_counts` counts, as a tuple of tuples."""
    rows = np.repeat(grid_points((*grid, 2)), counts.ravel(), axis=0)
    return tuple(tuple(row) for row in rows.tolist())


def mistakes(counts: Array, predictions: Array) -> Array:
    """How many of the counted labels differ from the predicted ones.

    `counts` has shape (points, 2), `predictions` are booleans of shape (..., points); the
    answer is whole numbers of the leading shape. One record moves each by at most 1.
    """
    # Floating point multiplies matrices faster, and holds whole numbers below 2**53 exactly.
    gained = np.asarray(predictions, dtype=float) @ (counts[:, 0] - counts[:, 1]).astype(float)
    return (gained + counts[:, 1].sum()).astype(np.int64)
