"""Checks of parameters, done once where a mechanism is entered, and two array conventions."""

from collections.abc import Sequence
from math import inf
from operator import index
from typing import Any

import numpy as np

from .model import Array, Size


def require_positive(**parameters: float) -> None:
    """Raise ValueError naming the first parameter that is not a positive finite number."""
    for name, value in parameters.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
        if value == inf:
            raise ValueError(f"{name} must be finite, got {value}")


def sample_shape(size: Size) -> tuple[int, ...]:
    """The leading shape that numpy's `size` convention stands for."""
    if size is None:
        return ()
    if isinstance(size, tuple):
        return size
    return (index(size),)


def label_array(values: Sequence[Any]) -> Array:
    """Values as an array of shape (k,); objects unless all are of one plain type.

    numpy would turn (1, "a") into two strings, and a tuple of pairs into a matrix.
    """
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        return np.array(values)
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels
