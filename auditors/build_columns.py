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
    labels = np.full(len(array), None, dtype=object)
    left = np.ones(len(array), dtype=bool)
    # A few different strings are found by comparing; sorting them all is much slower.
    for _ in range(FEW):
        first = int(np.argmax(left))
        if not left[first]:
            return Column(np.full(len(array), np.nan), labels)
        same = array == array[first]
        labels[same] = label_of(array[first])
        left &= ~same
    distinct, codes = np.unique(array[left], return_inverse=True)
    labels[left] = np.array([label_of(value) for value in distinct], dtype=object)[codes]
    return Column(np.full(len(array), np.nan), labels)


def walked(items: list[Any], ask: Callable[[Any], Any]) -> Column:
    """The answer for every item: a text is a label, anything else a number."""
    answers = [ask(item) for item in items]
    texts = [answer if isinstance(answer, str) else None for answer in answers]
    numbers = [np.nan if isinstance(answer, str) else answer for answer in answers]
    values = np.array(numbers, dtype=float)
    if all(text is None for text in texts):
        return Column(values)
    return Column(values, np.array(texts, dtype=object))


def difference(one: Column, two: Column) -> Column:
    """First minus second where both are numbers."""
    with np.errstate(invalid="ignore"):
        values = np.asarray(one.values, dtype=float) - np.asarray(two.values, dtype=float)
    if one.labels is None and two.labels is None:
        return Column(values)
    labels = np.full(len(values), None, dtype=object)
    for column in (one, two):
        if column.labels is not None:
            labels[column.labelled()] = ABSENT
    return Column(values, labels)


def constant(label: str, count: int) -> Column:
    """The same label everywhere."""
    return Column(np.full(count, np.nan), np.full(count, label, dtype=object))
