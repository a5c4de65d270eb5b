"""The way down: the smallest pair that still refutes, for few questions."""

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.search.hunt import hunt
from dpwitness.auditors.search.plan import SearchPlan
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
    small = shrink(source, found, refutes, seed=0)
    assert (small.database, small.neighbour) == smallest
    assert len(asked) <= 60
