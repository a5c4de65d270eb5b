"""The hunt meets leaks of few databases, stays in the user's strategy, and repeats bit for bit.

Seeds are fixed: each assertion is about one computation.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import InvalidArgument, Pair, audit
from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.search import hunt as hunt_module
from dpwitness.auditors.search.choices import choice_space
from dpwitness.auditors.search.hunt import hunt
from dpwitness.auditors.search.probe import probe, rare_moves, shift
from dpwitness.auditors.search.proposals import every, listed_examples
from dpwitness.auditors.search.scout import SearchPlan
from dpwitness.mechanisms.model import Relation
from dpwitness.reports.faces.wording import reach_sentences

VALUES = st.lists(st.integers(0, 99), max_size=30)
PLAN = SearchPlan(draws=100, most=60_000)


def leaking(leaks):
    def run(database, rng, *, size=None):
        return len(database) + 10 * bool(leaks(database)) + rng.laplace(scale=1.1, size=size)

    return run


def hunted(run, databases=VALUES, seed=0, plan=PLAN, relation=Relation.ADD_REMOVE, **options):
    sampler = Sampler(run=run, seed=seed, **options)
    source = pair_source(databases, relation, 1, seed)
    return hunt(sampler, source, epsilon=1.0, delta=0.0, plan=plan), sampler


@pytest.mark.parametrize(
    "leaks",
    [
        lambda d: 42 in d,
        lambda d: len(d) >= 25,
        lambda d: 42 in d and 17 in d,
        lambda d: sum(d) == 100,
    ],
)
def test_a_needle_is_met_at_a_small_price(leaks):
    found, sampler = hunted(leaking(leaks))
    assert bool(leaks(found.pair.database)) != bool(leaks(found.pair.neighbour))
    assert sampler.tally.draws < 60_000


def test_a_gross_violation_ends_the_hunt_unless_it_is_thorough():
    run = leaking(lambda d: 42 in d)
    _, quick = hunted(run)
    _, whole = hunted(run, plan=SearchPlan(draws=100, most=60_000, thorough=True))
    assert quick.tally.draws < whole.tally.draws


def too_little_noise(database, rng, *, size=None):
    return len(database) + rng.laplace(scale=0.4, size=size)


def noise_of_one_sign(database, rng, *, size=None):
    return len(database) + rng.exponential(scale=2.0, size=size)


@pytest.mark.long
@pytest.mark.parametrize("run", [too_little_noise, noise_of_one_sign])
def test_a_gross_violation_of_every_pair_costs_little_in_all(run):
    """No frozen run looks odd where all pairs are alike: ordinary draws of a few must say it."""
    result = audit(run, epsilon=1.0, relation="add-remove", databases=VALUES, alpha=1e-3)
    assert result.refuted
    assert result.draws <= 40_000


def test_the_same_seed_finds_the_same_pair_for_the_same_price():
    (one, first), (two, second) = (hunted(leaking(lambda d: max(d, default=0) > 97)) for _ in "ab")
    assert one.pair == two.pair
    assert first.tally.draws == second.tally.draws
    assert one.reach == two.reach


@pytest.mark.long
@pytest.mark.parametrize("most", [2, 50, 1000, 20_000])
@pytest.mark.parametrize("seeded", [True, False])
def test_the_hunt_keeps_to_its_draws(most, seeded):
    def run(database, rng, *, size=None):
        return len(database) + rng.laplace(size=size)

    _, sampler = hunted(run, plan=SearchPlan(draws=16, most=most), seeded=seeded)
    assert sampler.tally.draws <= most


def test_a_mechanism_whose_noise_cannot_be_frozen_is_searched_too():
    own = np.random.default_rng(5)

    def run(database, rng, *, size=None):
        return len(database) + 10 * (42 in database) + own.laplace(scale=1.1, size=size)

    found, _ = hunted(run, seeded=False)
    assert (42 in found.pair.database) != (42 in found.pair.neighbour)


def test_every_pair_is_one_the_strategy_yields():
    databases = st.lists(st.integers(0, 999).filter(lambda v: v % 7 == 0), unique=True, min_size=2)
    found, _ = hunted(leaking(lambda d: 42 in d or 43 in d), databases)
    for seen in found.scout.seen.values():
        for database in (seen.pair.database, seen.pair.neighbour):
            assert len(set(database)) == len(database) >= 2
            assert all(value % 7 == 0 for value in database)


def test_equal_sides_are_dropped_and_said_if_all_are():
    with pytest.raises(InvalidArgument, match="both databases of every pair are equal"):
        audit(leaking(bool), databases=st.just(Pair([1], [1])), epsilon=1.0, trials=500)
    pairs = st.integers(0, 9).map(lambda n: Pair([n], [5]))
    found, _ = hunted(leaking(bool), pairs, relation=Relation.REPLACE_ONE)
    assert all(s.pair.database != s.pair.neighbour for s in found.scout.seen.values())


def test_lines_the_search_never_ran_are_named():
    def run(database, rng, *, size=None):
        total = len(database)
        if total > 5000:
            total = 0
        return total + rng.laplace(scale=1.1, size=size)

    found, _ = hunted(run)
    (place,) = found.reach.unreached
    assert place == f"test_hunt.py line {run.__code__.co_firstlineno + 3}"
    assert (found.reach.smallest, found.reach.largest) == (0, 30)
    assert hunted(leaking(bool))[0].reach.unreached == ()


def test_choices_are_understood_in_the_installed_hypothesis():
    assert choice_space(VALUES) is not None


def test_shared_noise_shows_a_shift_exactly():
    def frozen(value, scale=1.0):
        return probe(Sampler(run=lambda d, rng, size: d + scale * rng.laplace(size=size),
                             seed=1).frozen(value, 64))  # fmt: skip

    one, two = frozen(0.0), frozen(2.0)
    assert shift(one, one) == (0.0, 0.0, 0.0, 0.0)
    # The mean absolute deviation of 64 Laplace draws is 1, give or take an eighth.
    assert shift(one, two).moved == pytest.approx(2.0, rel=0.5)
    assert shift(one, two).spread == pytest.approx(0.0, abs=1e-9)
    assert shift(one, frozen(0.0, scale=3.0)).spread == pytest.approx(np.log(3))


def test_rare_moves_are_told_from_noise():
    def run(database, rng, *, size=None):
        seldom = rng.random(size) < 1e-2
        return 1000 * database * seldom + rng.laplace(size=size)

    sampler = Sampler(run=run, seed=3)
    one, two = (probe(sampler.frozen(d, 2000)) for d in (0, 1))
    assert rare_moves(one, one) == 0
    assert 5 <= rare_moves(one, two) <= 50


@pytest.mark.parametrize("seed", range(4))
def test_what_few_draws_cannot_tell_apart_frozen_runs_decide(seed):
    """One of thirty pairs loses 1.2 where all others lose 1: no difference that 400 draws show."""

    def run(which, rng, *, size=None):
        index, side = which
        return side * (1.2 if index == 17 else 1.0) + rng.laplace(size=size)

    pairs = st.sampled_from([Pair((i, 0), (i, 1)) for i in range(30)])
    plan = SearchPlan.for_trials(8000)
    found, _ = hunted(run, pairs, seed, plan, Relation.DECLARED)
    assert found.pair.database == (17, 0)


def gap(database, rng, *, size=None):
    return (database[0] if database else 0) + rng.laplace(size=size)


@pytest.mark.slow
@pytest.mark.parametrize("bad", [0, 57, 111, 222, 299])
def test_every_listed_pair_is_run_wherever_the_bad_one_stands(bad):
    """299 pairs differ by 1, which epsilon 1 allows, and one by 9."""
    pairs = [Pair([1000 * i], [1000 * i + (9 if i == bad else 1)]) for i in range(300)]
    listed = st.sampled_from(pairs)
    plan = SearchPlan(draws=100, most=60_000, thorough=True)
    found, _ = hunted(gap, listed, plan=plan, relation=Relation.REPLACE_ONE)
    assert found.reach.pairs == 300
    assert found.reach.passed_over == 0
    assert found.pair.database == [1000 * bad]
    assert audit(gap, epsilon=1, relation="replace-one", databases=listed, trials=40_000).refuted


@pytest.mark.parametrize("size", [5000, 60_000])
def test_listed_pairs_that_are_too_many_are_counted(size):
    listed = st.integers(0, size - 1).map(lambda i: Pair([2 * i], [2 * i + 1]))
    found, _ = hunted(
        gap, listed, relation=Relation.REPLACE_ONE, plan=SearchPlan(draws=100, most=9000)
    )
    assert found.reach.passed_over == size - found.reach.pairs > 0
    (_, sentence, *_) = reach_sentences(found.reach)
    assert sentence.startswith(f"{found.reach.passed_over:,} more")


def test_listed_databases_are_all_run_with_all_their_neighbours():
    databases = [[i, i + 1, i + 2] for i in range(0, 90, 3)] + [[]]
    space = choice_space(
        pair_source(st.sampled_from(databases), Relation.ADD_REMOVE, 1, 0).strategy
    )
    assert len(list(every(space))) >= 3 * 30
    assert listed_examples(choice_space(VALUES)) == 0


def weak(database, rng, *, size=None):
    shape = (1 if size is None else size, len(database))
    return np.asarray(database) + rng.laplace(scale=8.0, size=shape) > rng.laplace(
        scale=8.0, size=(shape[0], 1)
    )


@pytest.mark.slow
def test_pairs_that_a_climb_comes_to_are_ranked_by_weights_like_the_others(monkeypatch):
    asked, whole = [], hunt_module._halve

    def halve(scout, order):
        asked.extend(order)
        return whole(scout, order)

    monkeypatch.setattr(hunt_module, "_halve", halve)
    steps = st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([-1, 0, 1])), min_size=4,
                     max_size=4)  # fmt: skip
    pairs = steps.map(lambda rows: Pair([x for x, _ in rows], [x + step for x, step in rows]))
    plan = SearchPlan.for_trials(1_000_000)
    hunted(weak, pairs, plan=plan, relation=Relation.DECLARED)
    # One winner goes on; only pairs for which the tape does not hold are compared with it.
    assert len(asked) == 1
    assert asked[0].weighed
