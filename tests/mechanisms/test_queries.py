import numpy as np
import pytest

from dpwitness.mechanisms.queries import count, histogram, total


def test_answers():
    assert count([5, 5]) == 2
    assert total([1, 2]) == 3
    assert histogram([2, 0, 2], categories=4).tolist() == [1, 0, 2, 0]


def test_the_empty_database_has_answers():
    assert count([]) == 0
    assert total([]) == 0
    assert histogram([], categories=2).tolist() == [0, 0]


def test_arrays_are_databases_too():
    rows = np.array([1, 0, 1])
    assert (count(rows), total(rows), histogram(rows, categories=2).tolist()) == (3, 2, [1, 2])


@pytest.mark.parametrize("row", [0, 1, 2])
def test_one_record_moves_one_category_by_one(row):
    moved = histogram([0, 1, row], categories=3) - histogram([0, 1], categories=3)
    assert np.abs(moved).sum() == 1
