"""Conjunctions of literals over d boolean variables, as tables over the cube.

Assignments v_1 ... v_d are numbered as binary numbers, v_1 the most significant digit.
Literals are numbered v_1, ..., v_d, not v_1, ..., not v_d and, where it is wanted, TRUE.
"""

from itertools import combinations
from math import comb

import numpy as np

from .._checks import require_positive
from ..model import Array
from .labelled import grid_points


def literals(dimension: int, *, constant: bool = False) -> Array:
    """What each literal says of each assignment: booleans of shape (2 d, 2**d).

    With `constant` a last row is added, the literal TRUE. An assignment makes exactly d of the
    2 d literals false.
    """
    require_positive(dimension=dimension)
    values = grid_points((2,) * dimension).T.astype(bool)
    last = np.ones((1, 2**dimension), dtype=bool)
    return np.vstack([values, ~values, last] if constant else [values, ~values])


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
