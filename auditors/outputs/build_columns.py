"""Columns put together from numbers and labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .features import ABSENT, Column
from .leaves import label_of

__all__ = ["constant", "difference", "from_texts", "walked"]

FEW = 16


def from_texts(array: NDArray[Any]) -> Column:
    """A column of strings as labels."""
    if not len(array):
        return constant(ABSENT, 0)
    names = [label_of(array[0])]
    left = array != array[0]
    codes: NDArray[Any] = left.astype(np.int8)  # the number of names an entry is not
    # A few different strings are found by comparing; sorting them all is much slower.
    while len(names) < FEW:
        first = int(np.argmax(left))
        if not left[first]:
            break
        same = array == array[first]
        names.append(label_of(array[first]))
        left &= ~same
        codes += left
    else:
        distinct, places = np.unique(array[left], return_inverse=True)
        codes = codes.astype(np.int32)
        codes[left] = places + len(names)
        names += [label_of(value) for value in distinct]
    return Column(np.broadcast_to(np.nan, len(array)), codes, tuple(names))


def walked(items: list[Any], ask: Callable[[Any], Any]) -> Column:
    """The answer for every item: a text is a label, anything else a number."""
    answers = [ask(item) for item in items]
    places: dict[str, int] = {}
    numbers, codes = [], []
    for answer in answers:
        text = isinstance(answer, str)
        numbers.append(np.nan if text else answer)
        codes.append(places.setdefault(answer, len(places)) if text else -1)
    values = np.array(numbers, dtype=float)
    if not places:
        return Column(values)
    return Column(values, np.array(codes, dtype=np.int32), tuple(places))


def difference(one: Column, two: Column) -> Column:
    """First minus second where both are numbers."""
    with np.errstate(invalid="ignore"):
        values = np.asarray(one.values, dtype=float) - np.asarray(two.values, dtype=float)
    if one.codes is None and two.codes is None:
        return Column(values)
    absent = one.labelled() | two.labelled()
    if not absent.any():
        return Column(values)
    return Column(values, absent.astype(np.int32) - 1, (ABSENT,))


def constant(label: str, count: int) -> Column:
    """The same label everywhere."""
    return Column(np.full(count, np.nan), np.zeros(count, dtype=np.int32), (label,))
