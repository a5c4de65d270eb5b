from math import comb

import pytest

from dpwitness.auditors.databases.domains import universe
from dpwitness.mechanisms.model import (
    Choices,
    Histogram,
    Interval,
    Product,
    Record,
    Relation,
    Rows,
    Value,
)

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
BIT = Choices(values=(0, 1))


def unordered(pairs):
    return {tuple(sorted((str(p.database), str(p.neighbour)))) for p in pairs}


def test_lists_under_add_remove():
    found = universe(Rows(row=BIT, max_size=2), ADD)
    assert unordered(found.pairs) == {
        ("[0]", "[]"),
        ("[1]", "[]"),
        ("[0, 0]", "[0]"),
        ("[0, 1]", "[0]"),
        ("[0, 1]", "[1]"),
        ("[1, 1]", "[1]"),
    }
    assert found.scope == (
        "all 6 neighbouring pairs of the lists of 0 to 2 rows of 2 values, up to order"
    )


def test_lists_under_replace_one():
    found = universe(Rows(row=BIT, min_size=2, max_size=2), REPLACE)
    assert unordered(found.pairs) == {("[0, 0]", "[0, 1]"), ("[0, 1]", "[1, 1]")}


def test_rows_take_fewer_values_where_long_lists_are_too_many():
    sixteen = Choices(values=tuple(range(16)))
    found = universe(Rows(row=sixteen, min_size=6, max_size=6), REPLACE)
    # Five equal or different rows and two different ones for the sixth: 126 times 10.
    assert found.scope == (
        "all 1260 neighbouring pairs of the lists of 6 rows of 5 of 16 values, up to order"
    )
    assert {value for pair in found.pairs for value in pair.database} == {0, 3, 7, 11, 15}
    longer = universe(Rows(row=sixteen, min_size=6, max_size=9), ADD)
    assert {len(pair.neighbour) - len(pair.database) for pair in longer.pairs} <= {-1, 1}
    assert longer.pairs
    assert "lists of 6 to 7 rows" in longer.scope


def test_a_universe_without_pairs_says_nothing():
    found = universe(Rows(row=BIT, min_size=1000, max_size=1000), REPLACE)
    assert found.pairs == ()
    assert found.scope == ""


def test_two_steps():
    found = universe(Rows(row=BIT, min_size=2, max_size=2), REPLACE, distance=2)
    assert ("[0, 0]", "[1, 1]") in unordered(found.pairs)
    assert "2 steps apart" in found.scope


def test_histograms():
    free = universe(Histogram(bins=2, max_count=1), ADD)
    assert len(free.pairs) == 4
    fixed = universe(Histogram(bins=3, total=4), REPLACE)
    assert len({str(p.database) for p in fixed.pairs}) <= comb(6, 2)
    for pair in fixed.pairs:
        gaps = sorted(a - b for a, b in zip(pair.database, pair.neighbour, strict=True))
        assert gaps == [-1, 0, 1]
    large = universe(Histogram(bins=4, total=40), REPLACE)
    assert "first 2 of 4 bins" in large.scope
    assert len(large.pairs) == 40


def test_values_are_all_neighbours_of_each_other():
    assert len(universe(Value(row=Choices(values=("a", "b", "c"))), REPLACE).pairs) == 3


@pytest.mark.parametrize(
    ("row", "number", "extreme"),
    [
        (Interval(low=0, high=3, integer=True), 4, False),
        (Interval(low=0, high=1), 3, True),
        (Product(parts=(BIT, BIT)), 4, False),
        (Record(fields={"a": BIT, "b": Interval(low=0, high=1)}), 6, True),
        (Product(parts=(BIT,) * 64), 8, True),
        (Record(fields={str(name): BIT for name in range(64)}), 6, True),
    ],
)
def test_rows_with_infinitely_many_values_are_said_to_be_extreme(row, number, extreme):
    found = universe(Rows(row=row, max_size=1), ADD)
    assert len(found.pairs) == number
    assert ("extreme" in found.scope) == extreme


def test_the_universe_is_as_large_as_allowed_and_no_larger():
    found = universe(Rows(row=BIT), ADD, most=30)
    databases = {str(d) for p in found.pairs for d in (p.database, p.neighbour)}
    assert 20 < len(databases) <= 30
