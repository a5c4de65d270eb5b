"""Points on a finite grid with labels 0 and 1, and conjunctions as tables over them.

A database is counts of labelled points; a hypothesis is what it says of every point. A grid is a
tuple of sides: coordinate i takes the values 0, ..., side - 1. Its points are numbered with the
first coordinate slowest, so that those of the cube (2, ..., 2) read as binary numbers: assignments
v_1 ... v_d have v_1 as the most significant digit. Literals are numbered v_1, ..., v_d, not v_1,
..., not v_d and, where it is wanted, TRUE.
"""

from collections.abc import Callable
from itertools import combinations
from math import comb, prod

import numpy as np

from .._checks import grid_columns, require_listable, require_positive
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


SOURCE = "Stemmer, lecture notes on differential privacy, lecture 12"
LARGE = 2**24
"""Entries of a table up to which a product of matrices is the quicker way to sum."""


def literals(dimension: int, *, constant: bool = False) -> Array:
    """What each literal says of each assignment: booleans of shape (2 d, 2**d).

    With `constant` a last row is added, the literal TRUE. An assignment makes exactly d of the
    2 d literals false.
    """
    require_positive(dimension=dimension)
    require_listable(2**dimension * dimension, "assignments times variables")
    return literals_at(grid_points((2,) * dimension), constant=constant)


def literals_at(points: Array, *, constant: bool = False) -> Array:
    """What each literal says of the given assignments, shape (m, d): booleans of shape (2 d, m)."""
    values = np.ascontiguousarray(np.asarray(points).T, dtype=bool)
    last = np.ones((1, len(points)), dtype=bool)
    return np.vstack([values, ~values, last] if constant else [values, ~values])


def falsified_sums(table: Array) -> Callable[[Array], Array]:
    """How much weight lies on the assignments that make each literal false, as a function.

    `table` are booleans of shape (k, m); the function maps weights, whole numbers of shape
    (sets, m), to floats of shape (sets, k). A large table is kept as packed bits, a sixty-fourth
    of the numbers that a product of matrices would need.
    """
    if table.size <= LARGE:
        falsified = (~table).T.astype(float)
        return lambda weights: weights @ falsified
    packed = np.packbits(~table, axis=1)

    def sums(weights: Array) -> Array:
        found = np.zeros((len(weights), len(table)))
        for row, weight in enumerate(np.asarray(weights).astype(np.int64)):
            for digit in range(int(weight.max(initial=0)).bit_length()):
                here = np.packbits((weight >> digit) & 1 == 1)
                ones = np.bitwise_count(packed & here).sum(axis=1, dtype=np.int64)
                found[row] += ones * 2.0**digit
        return found

    return sums


def conjoined(kept: Array, table: Array) -> Array:
    """What the conjunctions of the kept literals say: booleans of shape (..., 2**d).

    `kept` are booleans of shape (..., k), `table` those of `literals`, of shape (k, 2**d). A
    conjunction of no literal is 1 everywhere.
    """
    violated = np.asarray(kept, dtype=float) @ (~table).astype(float)
    return violated == 0


def cube_dimension(table: Array) -> int:
    """The d of a table with one row for each of the 2**d assignments."""
    return len(table).bit_length() - 1


def kept_literals(chosen: Array, number: int) -> Array:
    """Sets of literals given by their numbers (..., rounds), as booleans of shape (..., number).

    Negative numbers stand for no literal.
    """
    chosen = np.asarray(chosen)
    marks = np.zeros((*chosen.shape[:-1], number + 1), dtype=bool)
    np.put_along_axis(marks, np.where(chosen < 0, number, chosen), True, axis=-1)
    return marks[..., :number]


def some_conjunction_fits(table: Array, counts: Array, most: int) -> bool:
    """Whether an AND of at most `most` literals makes no mistake on the counted points.

    `table` are the literals at the m points, booleans (k, m), and `counts` has shape (m, 2). It
    may use the literals that no positive point makes false, and must make each negative one
    false; every literal that does so for the first one left is tried, so time is at most d**most.
    """
    negatives = counts[:, 0] > 0
    allowed = table[table[:, counts[:, 1] > 0].all(axis=1)][:, negatives]

    def covered(left: Array, rest: int) -> bool:
        if not left.any():
            return True
        if not rest:
            return False
        able = allowed[~allowed[:, np.argmax(left)]]
        return any(covered(left & literal, rest - 1) for literal in able)

    return covered(np.ones(int(negatives.sum()), dtype=bool), most)


def conjunctions(dimension: int, most: int) -> Array:
    """The distinct functions that are ANDs of at most `most` literals, booleans (m, 2**d)."""
    table = literals(dimension)
    # A set with both literals of a variable is the constant 0, whatever else is in it.
    sets = [s for k in range(min(most, dimension) + 1) for s in _consistent_sets(dimension, k)]
    found = np.array([table[list(s)].all(axis=0) for s in sets])
    return np.vstack([found, np.zeros_like(found[:1])]) if most >= 2 else found


def number_of_conjunctions(dimension: int, most: int) -> int:
    """How many `conjunctions` there are: sum of C(d, i) 2**i for i <= most, and the constant 0."""
    return sum(comb(dimension, i) * 2**i for i in range(most + 1)) + (most >= 2)


def _consistent_sets(dimension: int, number: int) -> list[tuple[int, ...]]:
    """Sets of `number` literals without a variable and its negation."""
    sets = combinations(range(2 * dimension), number)
    return [s for s in sets if len({i % dimension for i in s}) == number]
