"""The way down: the smallest pair that still refutes, for few questions."""

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.search.hunt import hunt
from dpwitness.auditors.search.scout import SearchPlan
from dpwitness.auditors.search.shrink import shrink
from dpwitness.mechanisms.model import Relation


@pytest.mark.parametrize(
    ("leaks", "databases", "smallest"),
    [
        (lambda d: 42 in d, st.lists(st.integers(0, 99), max_size=30), ([], [42])),
        (lambda d: len(d) >= 6, st.lists(st.integers(0, 99), max_size=30), ([0] * 5, [0] * 6)),
        (lambda d: max(d, default=0) >= 0.75, st.lists(st.floats(0, 1), max_size=9), ([], [1.0])),
    ],
)
def test_the_smallest_pair_is_simple(leaks, databases, smallest):
    def run(database, rng, *, size=None):
        return 10 * bool(leaks(database)) + rng.laplace(size=size)

    asked = []

    def refutes(pair):
        asked.append(pair)
        return bool(leaks(pair.database)) != bool(leaks(pair.neighbour))

    source = pair_source(databases, Relation.ADD_REMOVE, 1, 0)
    plan = SearchPlan(draws=100, most=60_000)
    found = hunt(Sampler(run=run, seed=0), source, epsilon=1.0, delta=0.0, plan=plan)
    small, *_ = shrink(source, found, refutes)
    assert (small.database, small.neighbour) == smallest
    assert len(asked) <= 60


@pytest.mark.parametrize(
    ("rows", "scale", "claim", "smallest"),
    [
        (st.integers(0, 5), 1.0, 1.0, 2),
        (st.integers(0, 90), 1.0, 1.0, 2),
        (st.integers(-40, 90), 7.0, 1.0, 8),
        (st.integers(0, 10_000), 50.0, 2.0, 101),
        (st.integers(-70, -3), 20.0, 0.5, -11),
        (st.floats(0, 30), 2.0, 1.5, 4.0),
    ],
)
def test_one_number_ends_on_the_smallest_that_still_breaks_the_claim(rows, scale, claim, smallest):
    """A sum whose noise is too small: the worst row is far from the smallest that refutes."""

    def run(database, rng, *, size=None):
        return sum(database) + rng.laplace(scale=scale, size=size)

    asked = []

    def refutes(pair):
        asked.append(pair)
        return abs(sum(pair.database) - sum(pair.neighbour)) / scale > claim

    source = pair_source(st.lists(rows, max_size=8), Relation.ADD_REMOVE, 1, 0)
    plan = SearchPlan(draws=100, most=60_000)
    found = hunt(Sampler(run=run, seed=0), source, epsilon=claim, delta=0.0, plan=plan)
    small, *_ = shrink(source, found, refutes)
    assert (small.database, small.neighbour) == ([], [smallest])
    assert len(asked) <= 60


@pytest.mark.parametrize("seed", range(4))
def test_what_both_databases_share_is_taken_away_before_anything_is_asked(seed):
    """Each question costs draws, and after a cheap refutation few are left."""

    def run(database, rng, *, size=None):
        return sum(database) + rng.laplace(scale=50, size=size)

    asked = []

    def refutes(pair):
        asked.append(pair)
        return abs(sum(pair.database) - sum(pair.neighbour)) > 50

    rows = st.lists(st.integers(0, 100), min_size=3, max_size=20)
    source = pair_source(rows, Relation.ADD_REMOVE, 1, 0)
    plan = SearchPlan(draws=100, most=60_000)
    found = hunt(Sampler(run=run, seed=seed), source, epsilon=1.0, delta=0.0, plan=plan)
    small, *_ = shrink(source, found, refutes)
    assert len(asked[0].database) + len(asked[0].neighbour) == 7
    assert len(small.database) + len(small.neighbour) == 7
    assert len(asked) <= 60


def test_a_gap_between_the_simplest_and_the_found_number_is_found():
    def leaks(d):
        return len(d) == 1 and d[0] in (7, 10, 11, 12)

    def run(database, rng, *, size=None):
        return 10 * leaks(database) + rng.laplace(size=size)

    source = pair_source(st.lists(st.integers(0, 12), max_size=4), Relation.ADD_REMOVE, 1, 0)
    plan = SearchPlan(draws=100, most=60_000)
    found = hunt(Sampler(run=run, seed=0), source, epsilon=1.0, delta=0.0, plan=plan)
    small, *_ = shrink(source, found, lambda p: leaks(p.database) != leaks(p.neighbour))
    assert (small.database, small.neighbour) == ([], [7])


def test_once_it_is_late_nothing_more_is_run():
    def run(database, rng, *, size=None):
        return 10 * (7 in database) + rng.laplace(size=size)

    source = pair_source(st.lists(st.integers(0, 12), max_size=4), Relation.ADD_REMOVE, 1, 0)
    sampler = Sampler(run=run, seed=0)
    plan = SearchPlan(draws=100, most=20_000)
    found = hunt(sampler, source, epsilon=1.0, delta=0.0, plan=plan)
    made = sampler.tally.draws
    assert shrink(source, found, lambda pair: True, late=lambda: True) == (found.pair,)
    assert sampler.tally.draws == made
