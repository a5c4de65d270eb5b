"""A search of few calls, because each takes long: noise of a pair's own, and gross leaks found."""

from functools import partial

import pytest
from hypothesis import strategies as st

from dpwitness import Relation
from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.search.hunt import hunt
from dpwitness.auditors.search.scout import SearchPlan

LISTS = st.lists(st.integers(0, 20), max_size=20)
PEOPLE = st.lists(
    st.fixed_dictionaries({"age": st.integers(18, 90), "sick": st.booleans()}), max_size=20
)
CALLS = 196
"""Outputs of a search in five minutes where a call takes half a second."""


def slow_hunt(run, databases, seed):
    sampler = Sampler(run=run, seed=seed, in_process=True)
    source = pair_source(databases, Relation.ADD_REMOVE, 1, seed)
    plan = SearchPlan.for_trials(100_000).within(CALLS)
    found = hunt(sampler, source, epsilon=1.0, delta=0.0, plan=plan)
    assert sampler.tally.draws <= CALLS
    return found


def noise_alone(database, rng):
    return rng.random()


def test_a_pair_shares_its_noise_and_other_pairs_have_their_own():
    scout = slow_hunt(noise_alone, LISTS, 0).scout
    drawn = {}
    for seen in scout.seen.values():
        one, two = (scout.probes[side, seen.noise].numbers.tobytes() for side in seen.key)
        assert one == two
        assert drawn.setdefault(seen.noise, one) == one
    assert len(set(drawn.values())) == len(drawn) > 1


def leaky(database, rng, *, leaks):
    """A noisy count, and half of the time far off on databases that leak."""
    count = len(database) + rng.laplace()
    return count + 1000 if rng.random() < 0.5 and leaks(database) else count


LEAKS = {
    "a large value": (LISTS, lambda rows: any(row > 15 for row in rows)),
    "four records": (LISTS, lambda rows: len(rows) > 3),
    "an odd sum": (LISTS, lambda rows: sum(rows) % 2 == 1),
    "somebody sick": (PEOPLE, lambda rows: any(row["sick"] for row in rows)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_of_one_half_against_nothing_is_found(name):
    """Nine of ten other seeds find such leaks: fewer than 8 of 12 would have a chance of .005."""
    databases, leaks = LEAKS[name]
    found = [slow_hunt(partial(leaky, leaks=leaks), databases, seed).pair for seed in range(12)]
    assert sum(leaks(pair.database) != leaks(pair.neighbour) for pair in found) >= 8
