"""What a pair promises is measured by few draws of shared noise, and patterns hold the worst pairs.

Seeds are fixed: each assertion is about one computation.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import Pair
from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.privacy.planning import LEARNING
from dpwitness.auditors.sampling.calls import Calls
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.search.hunt import hunt
from dpwitness.auditors.search.probe import probe, rare_moves
from dpwitness.auditors.search.promise import promise, weighed_promise
from dpwitness.auditors.search.scout import SearchPlan
from dpwitness.auditors.tape.weighing import weighed
from dpwitness.auditors.workers import Key, Worker
from dpwitness.mechanisms.model import Relation


def tallest(database, rng, *, size=None):
    """Index of the largest answer with exponential noise: epsilon 0.2 where all may differ by 1."""
    shape = (size or 1, len(database))
    found = (np.asarray(database, float) + rng.exponential(10, shape)).argmax(axis=1)
    return found if size is not None else found[0]


def chances(answers):
    """The exact probability of each index, by quadrature."""
    grid = np.linspace(min(answers), max(answers) + 300, 40_001)
    above = (grid[:, None] - np.asarray(answers)) / 10
    cdf = np.where(above > 0, -np.expm1(-np.maximum(above, 0)), 0.0)
    density = np.where(above > 0, np.exp(-np.maximum(above, 0)), 0.0)
    p = [(density[:, i] * np.delete(cdf, i, 1).prod(axis=1)).sum() for i in range(len(answers))]
    return np.array(p) / np.sum(p)


def bits(database, rng, *, size=None):
    """Each bit told rightly with probability 0.525: epsilon 0.1 for each that differs."""
    right = rng.random((size or 1, len(database))) < 0.525
    found = np.where(np.asarray(database) > 0, right, ~right)
    return found if size is not None else found[0]


def answers(count, step):
    values = st.lists(st.integers(-5, 5), min_size=count, max_size=count)
    steps = st.lists(st.sampled_from(step), min_size=count, max_size=count)
    return st.tuples(values, steps).map(
        lambda d: Pair(d[0], [v + s for v, s in zip(*d, strict=True)])
    )


def found_by(run, pairs, seed, trials=1_000_000):
    sampler = Sampler(run=run, seed=seed)
    source = pair_source(pairs, Relation.DECLARED, 1, seed)
    plan = SearchPlan.for_trials(trials)
    return hunt(sampler, source, epsilon=0.3, delta=0.0, plan=plan).pair, sampler


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 7])
@pytest.mark.parametrize("seed", range(2))
def test_one_answer_against_the_rest_is_found_where_each_loses_little(count, seed):
    """The pair shows three quarters of the loss there is, 0.2, on an event that is not rare."""
    pair, _ = found_by(tallest, answers(count, [-1, 0, 1]), seed)
    one, two = (chances(side) for side in (pair.database, pair.neighbour))
    assert np.abs(np.log(one / two))[one > 0.02].max() >= 0.15


@pytest.mark.parametrize("seed", range(2))
def test_shared_noise_tells_few_bits_from_many(seed):
    """1000 draws a side tell six bits that differ from two; independent ones would not."""
    sampler = Sampler(run=bits, seed=seed)
    base = [0] * 8

    def promised(many):
        sides = sampler.paired(Pair(base, [1] * many + [0] * (8 - many)), 1, 1000)
        return promise(*sides, delta=0.0, trials=10**6)

    assert promised(6) > promised(2)


def test_the_two_sides_of_a_paired_draw_share_their_noise():
    sampler = Sampler(run=lambda d, rng, size: d + rng.laplace(size=size), seed=3)
    one, two = sampler.paired(Pair(0.0, 2.0), 1, 500)
    a, b = (side.column(Feature("value", ())).values for side in (one, two))
    assert np.allclose(b - a, 2.0)
    assert sampler.tally.draws == 1000


def test_bits_that_flip_are_no_rare_leak():
    """Values that both databases yield were taken for a leak that is seldom and far."""

    def run(database, rng, *, size=None):
        flags = (np.asarray(database) + rng.laplace(scale=10, size=(size, 5))) > 0
        return np.where(flags, 1, np.where(rng.random((size, 5)) < 0.1, -1, 0))

    sampler = Sampler(run=run, seed=0)
    one, two = (probe(sampler.frozen(d, 4000)) for d in ([0] * 5, [1] * 5))
    assert rare_moves(one, two) == 0


@pytest.mark.parametrize("trials", [2000, 20_000, 200_000, 1_000_000])
def test_promises_are_for_the_draws_that_will_count(trials):
    assert SearchPlan.for_trials(trials).counted == trials - int(LEARNING * trials)


def noisy(database, rng, *, size=None):
    """A tenth of loss for each number that differs by one."""
    return np.asarray(database, float) + rng.laplace(0, 10, (size or 1, len(database)))


def test_five_hundred_weighed_draws_tell_a_loss_of_a_tenth_from_one_of_a_fifth():
    calls, worker = Calls(True, True, True, "error"), Worker(noisy, alone=False)
    told = []
    for neighbour in ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]):
        for chunk in range(5):
            key = Key(29, 0, "tape", 0, chunk)
            found = weighed(worker, ([0.0] * 3, neighbour), calls, key, 509, np.inf)
            told.append(weighed_promise(found.outputs, found.counts, delta=0.0, trials=750_000))
    assert 0.05 < min(told[:5])
    assert max(told[:5]) < 0.1 < min(told[5:])
    assert max(told[5:]) < 0.2


@pytest.mark.slow
def test_a_search_by_weighed_draws_finds_the_same_worst_pair_each_time():
    (one, first), (two, second) = (found_by(tallest, answers(4, [-1, 0, 1]), 3) for _ in range(2))
    p, q = chances(one.database), chances(one.neighbour)
    assert np.abs(np.log(p / q)).max() >= 0.15
    assert (one, first.tally.draws) == (two, second.tally.draws)
