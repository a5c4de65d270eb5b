"""Pairs are neighbours by construction, templates come first and stay inside the domain."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpwitness import InvalidArgument, Pair
from dpwitness.auditors.databases.neighbours import add_remove, pair_source, replace_one
from dpwitness.mechanisms.model import (
    Choices,
    Histogram,
    Interval,
    Record,
    Relation,
    Rows,
    Value,
)

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
ROWS = (
    Interval(low=0, high=1, integer=True),
    Interval(low=-2.5, high=7),
    Choices(values=("a", "b", "c")),
    Record(fields={"age": Interval(low=0, high=99, integer=True), "sick": Choices(values=(0, 1))}),
)


def steps(one, two):
    """Records to remove and to add to get from one database to the other, order ignored."""
    a, b = Counter(map(repr, one)), Counter(map(repr, two))
    return sum((a - b).values()), sum((b - a).values())


def inside(row, value):
    match row:
        case Interval():
            return row.low <= value <= row.high and (not row.integer or value == int(value))
        case Choices():
            return value in row.values
        case Record():
            return set(value) == set(row.fields) and all(
                inside(row.fields[key], item) for key, item in value.items()
            )


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("distance", [1, 3])
@settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_rows_give_neighbours_inside_the_domain(row, relation, distance, data):
    domain = Rows(row=row, min_size=1, max_size=12)
    source = pair_source(domain, relation, distance, 0)
    pairs = [*source.templates, data.draw(source.strategy)]
    for pair in pairs:
        gone, come = steps(pair.database, pair.neighbour)
        if relation is ADD:
            assert (gone, come) == (0, distance)
        else:
            assert gone == come <= distance
            assert len(pair.database) == len(pair.neighbour)
        for database in (pair.database, pair.neighbour):
            assert 1 <= len(database) <= 12
            assert all(inside(row, value) for value in database)


def test_templates_have_the_shapes_that_random_lists_miss():
    source = pair_source(Rows(row=Interval(low=0, high=5, integer=True)), ADD, 1, 0)
    databases = [pair.database for pair in source.templates]
    assert databases[0] == []
    assert any(len(database) >= 20 and len(set(database)) == 1 for database in databases)
    changes = {pair.neighbour[-1] for pair in source.templates}
    assert {0, 5} <= changes


def test_templates_are_all_different():
    source = pair_source(Rows(row=Choices(values=(0, 1, 2))), REPLACE, 1, 0)
    assert len({repr(pair) for pair in source.templates}) == len(source.templates)


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_histograms_move_by_one_record(relation, moved, data):
    source = pair_source(Histogram(bins=3, max_count=9), relation, 1, 0)
    for pair in [*source.templates, data.draw(source.strategy)]:
        change = np.subtract(pair.neighbour, pair.database)
        assert np.abs(change).sum() == moved
        assert min(pair.neighbour) >= 0


def test_a_single_value_has_neighbours_under_replace_one_only():
    domain = Value(row=Choices(values=("a", "b", "c")))
    assert len(pair_source(domain, REPLACE, 1, 0).templates) == 3
    with pytest.raises(InvalidArgument, match="replace-one"):
        pair_source(domain, ADD, 1, 0)


@settings(max_examples=50, deadline=None)
@given(pair=add_remove(st.lists(st.integers())), other=replace_one(st.lists(st.integers())))
def test_users_list_strategies(pair, other):
    assert steps(pair.database, pair.neighbour) == (0, 1)
    gone, come = steps(other.database, other.neighbour)
    assert gone == come <= 1


@settings(max_examples=50, deadline=None)
@given(pair=add_remove(st.lists(st.floats(0, 1), min_size=2).map(np.array)))
def test_users_array_strategies(pair):
    assert isinstance(pair.neighbour, np.ndarray)
    assert len(pair.neighbour) == len(pair.database) + 1


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_strategy_of_ones_own_is_never_left(relation):
    # No row comes twice in these databases, and the changed one is the strategy's own too.
    databases = st.lists(st.integers(0, 99), unique=True, min_size=4, max_size=6)
    source = pair_source(databases, relation, 1, 0)
    assert source.templates == ()

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(source.strategy)
    def check(pair):
        larger = max(pair.database, pair.neighbour, key=len)
        assert relation is REPLACE or len(set(larger)) == len(larger)
        assert 4 <= len(pair.database) <= len(pair.neighbour) <= 6

    check()


def drawn(strategy):
    """The first example Hypothesis makes."""
    found = []

    @settings(max_examples=1, deadline=None, database=None)
    @given(strategy)
    def collect(example):
        found.append(example)

    collect()
    return found[0]


def test_a_strategy_of_pairs_is_checked_and_otherwise_taken_as_it_is():
    strategy = st.builds(Pair, st.just("x"), st.just("y"))
    source = pair_source(strategy, REPLACE, 1, 0)
    assert source.first(0) == Pair("x", "y")
    with pytest.raises(InvalidArgument, match="add-remove neighbours"):
        drawn(pair_source(strategy, ADD, 1, 0).strategy)
    assert pair_source(strategy, Relation.DECLARED, 1, 0).first(0) == Pair("x", "y")
    with pytest.raises(InvalidArgument, match="declared"):
        pair_source(st.lists(st.integers()), Relation.DECLARED, 1, 0)


@pytest.mark.parametrize("databases", [3, [1, 2], "laplace"])
def test_other_things_are_refused_with_a_sentence(databases):
    with pytest.raises(InvalidArgument, match="strategy"):
        pair_source(databases, ADD, 1, 0)


def test_scalars_have_no_add_remove_neighbours():
    with pytest.raises(InvalidArgument, match="replace-one"):
        pair_source(st.integers(0, 5), ADD, 1, 0)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_databases_of_unknown_make_are_never_paired_at_random(relation):
    databases = st.frozensets(st.integers())
    with pytest.raises(InvalidArgument, match="strategy of Pair"):
        pair_source(databases, relation, 1, 0)


def test_removing_a_record_stays_inside_the_sizes_seen():
    source = pair_source(st.lists(st.integers(0, 3), min_size=2, max_size=4), ADD, 1, 0)
    assert all(len(pair.database) >= 2 for pair in source.templates)

    @settings(max_examples=30)
    @given(source.strategy)
    def check(pair):
        assert len(pair.database) >= 2

    check()
    with pytest.raises(InvalidArgument, match="Histogram"):
        pair_source(st.lists(st.integers(0, 3), min_size=4, max_size=4), ADD, 1, 0)
