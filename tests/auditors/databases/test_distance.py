"""A pair given by hand is one that the claim protects, or it is refused with its distance."""

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import InvalidArgument, Pair, audit, replay
from dpwitness.auditors.databases.distance import HISTOGRAMS, apart, relation_of, require_neighbours
from dpwitness.mechanisms.model import Histogram, Interval, Relation, Rows, Value

ADD, REPLACE, DECLARED = Relation.ADD_REMOVE, Relation.REPLACE_ONE, Relation.DECLARED
ROWS = Rows(row=Interval(low=0, high=9))


@pytest.mark.parametrize(
    ("one", "two", "relation", "domain", "steps"),
    [
        ([], [1], ADD, None, 1),
        ([], [100, 100, 100], ADD, None, 3),
        ([], [100, 100, 100], REPLACE, None, None),
        ([1, 2], [2, 1], ADD, None, 0),
        ([1, 2], [2, 1], ADD, ROWS, 0),
        ([1, 2], [2, 1], REPLACE, ROWS, 2),
        ([1, 2], [1, 3], REPLACE, ROWS, 1),
        ([5, 3], [6, 3], ADD, Histogram(bins=2), 1),
        ([5, 3], [6, 3], ADD, ROWS, 2),
        ([5, 3], [6, 3], ADD, None, 2),
        ([5, 3], [6, 2], REPLACE, None, 2),
        (np.array([5, 3]), np.array([6, 3]), ADD, None, 2),
        ((0,), (1,), ADD, Histogram(bins=1), 1),
        (3, 4, ADD, None, None),
        (3, 4, ADD, HISTOGRAMS, 1),
        ([], [100], ADD, HISTOGRAMS, None),
        ([5, 3], [6, 2], REPLACE, Histogram(bins=2), 1),
        (3, 5, REPLACE, None, 1),
        ("a", "b", REPLACE, None, 1),
        ("a", "b", ADD, None, None),
        ([0.5], [0.1], REPLACE, Value(row=ROWS), 1),
        (np.zeros((3, 2)), np.zeros((4, 2)), ADD, None, 1),
        (np.zeros((3, 2)), np.eye(3, 2), REPLACE, None, 2),
        ({"a": 1}, {"a": 1, "b": 2}, ADD, None, 1),
        ({"a": [1, 2], "b": [3, 4]}, {"a": [1], "b": [3]}, ADD, None, 1),
        ([{"a": 1}], [{"a": 2}], REPLACE, None, 1),
    ],
)
def test_the_distance_is_counted_in_records(one, two, relation, domain, steps):
    assert apart(Pair(one, two), relation, domain) == steps
    assert apart(Pair(two, one), relation, domain) == steps


def test_tables_are_told_apart_by_what_their_rows_say():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    assert apart(Pair(table, table.iloc[1:]), ADD) == 1
    other = table.copy()
    other.loc[1, "b"] = "z"
    assert apart(Pair(table, other), REPLACE) == 1
    assert apart(Pair(table["a"], table["a"][:1]), ADD) == 2


@pytest.mark.parametrize(
    ("pair", "options", "sentence"),
    [
        (([], [1, 1, 1]), {"relation": "add-remove"}, "3 steps of add-remove"),
        (([1], [1]), {}, "are equal"),
        (([1], [1]), {"relation": "declared"}, "are equal"),
        (([], [1]), {"relation": "replace-one"}, 'relation="add-remove"'),
        (("a", "b"), {"relation": "add-remove"}, "no add-remove neighbours"),
        (([0], [1]), {"relation": "add-remove"}, "2 steps .* as lists of records.*histogram=True"),
        (([3, 5], [3, 6]), {}, 'relation="replace-one" for records, or histogram=True'),
        (([0], [2]), {"relation": "add-remove", "histogram": True}, "2 steps of add-remove"),
        (([], [1]), {"relation": "add-remove", "histogram": True}, "no add-remove neighbours"),
        ((3, 4), {"relation": "add-remove"}, "histogram=True"),
    ],
)
def test_a_pair_the_claim_does_not_protect_is_refused(pair, options, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        audit(lambda d, rng: rng.laplace(), pair=pair, epsilon=1.0, trials=100, **options)


def test_a_relation_nobody_stated_is_the_one_that_fits_or_only_declared():
    assert relation_of(Pair([], [1]), 1) is ADD
    assert relation_of(Pair("a", "b"), 1) is REPLACE
    assert relation_of(Pair([], [1, 2]), 1) is DECLARED
    assert relation_of(Pair([], [1, 2]), 2) is ADD
    require_neighbours(Pair([], [1, 2, 3]), DECLARED, 1)
    result = audit(lambda d, rng: rng.laplace(), pair=([], [1, 2]), epsilon=1.0, trials=4000)
    assert result.claim.relation is DECLARED


def two_bins(database, rng):
    """A histogram of records: one record more or less changes one count by one."""
    return [database.count(value) + rng.laplace() for value in (0, 1)]


def counts(database, rng):
    """The same of a database that is a list of counts."""
    return [count + rng.laplace() for count in database]


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "pair", "options", "relation"),
    [
        (two_bins, ([], [1]), {"relation": "add-remove"}, ADD),
        (two_bins, ([0], [0, 1]), {}, ADD),
        (counts, ([0, 7], [1, 7]), {"relation": "add-remove", "histogram": True}, ADD),
        (counts, ([0, 7], [1, 7]), {"histogram": True}, ADD),
        (counts, (np.array([0, 7]), np.array([1, 7])), {"histogram": True}, ADD),
    ],
)
def test_a_sound_histogram_is_not_refuted_whatever_its_database_is(run, pair, options, relation):
    result = audit(run, pair=pair, epsilon=1.0, trials=4000, **options)
    assert result.claim.relation is relation
    assert not result.refuted
    (again,) = replay(result, run)
    assert again.same, again.differences


def test_a_strategy_of_pairs_says_what_its_lists_are():
    made = st.integers(0, 5).map(lambda n: Pair([n, 2], [n + 1, 2]))
    options = {"epsilon": 1.0, "relation": "add-remove", "trials": 1000}
    with pytest.raises(InvalidArgument, match="histogram=True"):
        audit(counts, databases=made, **options)
    result = audit(counts, databases=made, histogram=True, **options)
    assert not result.refuted
    with pytest.raises(InvalidArgument, match="the domain Histogram"):
        audit(counts, databases=st.lists(st.integers(0, 3)), histogram=True, **options)


@pytest.mark.long
def test_a_domain_of_counts_replays_as_one():
    result = audit(
        counts, epsilon=0.5, relation="add-remove", databases=Histogram(bins=2, max_count=5),
        trials=4000, precision=None,
    )  # fmt: skip
    assert result.refuted
    (again,) = replay(result, counts)
    assert again.same, again.differences
