"""What a ladder of rows builds where the row that comes or goes is told by its place."""

import pytest
from hypothesis import strategies as st

from dpwitness import audit


def twice_the_least(rows):
    return len(rows) >= 10 and rows.count(min(rows)) == 2 and min(rows) > 5


def wide_apart(rows):
    """Half of the rows low and half high; the size alone turns it."""
    mean = sum(rows) / max(len(rows), 1)
    return len(rows) >= 6 and sum((row - mean) ** 2 for row in rows) > 45**2 * len(rows)


@pytest.mark.long
@pytest.mark.parametrize("leaks", [twice_the_least, wide_apart])
def test_rows_between_two_extremes_are_looked_at(leaks):
    """A leak of ten times the noise, which is there or not: luck has no part in a refutation."""

    def count(database, rng, *, size=None):
        return len(database) + 10 * leaks(database) + rng.laplace(scale=1.1, size=size)

    rows = st.lists(st.integers(0, 99), max_size=30)
    found = audit(count, epsilon=1, databases=rows, relation="add-remove", trials=200_000, seed=3)
    assert found.refuted
