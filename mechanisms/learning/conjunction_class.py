"""Conjunctions of literals over d boolean variables, as tables over assignments.

Assignments v_1 ... v_d are numbered as binary numbers, v_1 the most significant digit.
Literals are numbered v_1, ..., v_d, not v_1, ..., not v_d and, where it is wanted, TRUE.
"""

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np

from .._checks import require_listable, require_positive
from ..model import Array
from .labelled import grid_points

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
