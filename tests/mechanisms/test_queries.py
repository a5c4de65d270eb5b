import numpy as np
import pytest

from dpwitness.mechanisms.queries import column_totals, count, counts, histogram, revenue, total


def test_answers():
    assert count([5, 5]) == 2
    assert total([1, 2]) == 3
    assert histogram([2, 0, 2], categories=4).tolist() == [1, 0, 2, 0]


def test_the_empty_database_has_answers():
    assert count([]) == 0
    assert total([]) == 0
    assert histogram([], categories=2).tolist() == [0, 0]
    assert column_totals([], columns=2).tolist() == [0, 0]
    assert revenue([], prices=(1, 2)).tolist() == [0, 0]


def test_arrays_are_databases_too():
    rows = np.array([1, 0, 1])
    assert (count(rows), total(rows), histogram(rows, categories=2).tolist()) == (3, 2, [1, 2])


@pytest.mark.parametrize("row", [0, 1, 2])
def test_one_record_moves_one_category_by_one(row):
    moved = histogram([0, 1, row], categories=3) - histogram([0, 1], categories=3)
    assert np.abs(moved).sum() == 1


def test_counts_and_votes():
    assert counts([3, 0]).tolist() == [3, 0]
    assert counts([3, 0]).dtype.kind == "f"
    assert column_totals([[1, -1], [1, 0], [0, -1]], columns=2).tolist() == [2, -2]
    assert column_totals(np.eye(3), columns=3).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("bids", "expected"),
    [
        ([1.0, 1.0, 1.0, 3.01], [4.0, 2.0, 3.0, 3.01, 0.0]),
        # The revenues that are printed are those of three bidders.
        ([1.0, 1.0, 3.01], [3.0, 2.0, 3.0, 3.01, 0.0]),
    ],
)
def test_revenue_of_the_auction(bids, expected):
    prices = (1.0, 2.0, 3.0, 3.01, 3.02)
    assert revenue(bids, prices=prices) == pytest.approx(expected)


def test_a_bid_moves_revenue_by_the_highest_price_at_most(rng):
    prices = (1.0, 2.0, 3.02)
    for _ in range(200):
        bids = rng.uniform(0, 4, size=rng.integers(0, 6))
        moved = revenue([*bids, rng.choice([3.02, 4.0])], prices=prices) - revenue(
            bids, prices=prices
        )
        assert moved == pytest.approx(prices)
