"""Rows of a `size=` call are independent and have the law of single calls, or the audit says no.

Every check accuses a sound mechanism with probability at most 1e-6; the seeds are fixed besides.
"""

import numpy as np
import pytest

from dpwitness import ContractError, Pair, audit
from dpwitness.auditors.sampling.rows import check_rows, opened
from dpwitness.auditors.sampling.sampling import Sampler

PAIR = Pair([1, 0, 1], [1, 0, 1, 1])


def one_noise(database, rng, *, size=None):
    noisy = sum(database) + rng.laplace()
    return noisy if size is None else np.full(size, noisy)


def two_scales(database, rng, *, size=None):
    return sum(database) + (rng.laplace() if size is None else rng.laplace(scale=120, size=size))


def drifting(database, rng, *, size=None):
    steps = rng.normal(size=1 if size is None else size)
    for index in range(1, len(steps)):
        steps[index] += 0.4 * steps[index - 1]
    return sum(database) + (steps if size is not None else steps[0])


def doubled(database, rng, *, size=None):
    if size is None:
        return rng.laplace()
    return np.repeat(rng.laplace(size=-(-size // 2)), 2)[:size]


def cycled(database, rng, *, size=None):
    return rng.laplace() if size is None else np.resize(rng.laplace(size=100), size)


def flips_in_runs(database, rng, *, size=None):
    if size is None:
        return rng.random() < 0.7
    return np.repeat(rng.random(-(-size // 256)) < 0.7, 256)[:size]


def own_seed_for_rows(database, rng, *, size=None):
    return sum(database) + (rng if size is None else np.random.default_rng(3)).laplace(size=size)


def one_coordinate_shared(database, rng, *, size=None):
    answer = rng.laplace(size=(1 if size is None else size, 5))
    answer[:, 3] = answer[0, 3]
    return answer[0] if size is None else answer


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (one_noise, r"output repeats in 4,096 of 4,096 rows, and in 0 of \d+ single"),
        (two_scales, "another law than called without"),
        (drifting, "rows 1 apart in one call fall on the same side"),
        (doubled, "repeats in 4,096"),
        (cycled, "repeats in 4,096"),
        (flips_in_runs, "the two rows of calls with size=2 fall on the same side"),
        (own_seed_for_rows, "output repeats in"),
        (one_coordinate_shared, r"output\[3\] repeats in 4,096"),
    ],
)
def test_each_kind_of_dependence_is_named(run, sentence):
    with pytest.raises(ContractError, match=sentence):
        check_rows(Sampler(run=run, seed=3), PAIR)


def constant(database, rng, *, size=None):
    return 7 if size is None else np.full(size, 7)


def clipped(database, rng, *, size=None):
    return np.clip(rng.laplace(size=size), -0.1, 0.1)


def single_precision(database, rng, *, size=None):
    return np.float32(rng.laplace(size=size))


def rare(database, rng, *, size=None):
    return np.where(rng.random(size) < 1e-4, np.nan, rng.integers(3, size=size))


def words(database, rng, *, size=None):
    return rng.choice(["yes", "no"], p=[0.9, 0.1], size=size)


def sizes_from_one(database, rng, *, size=1):
    return rng.laplace(size=size)


def records(database, rng, *, size=None):
    shift = rng.laplace(size=size)
    return {"sum": sum(database) + shift, "flag": shift > 0}


@pytest.mark.parametrize(
    "run",
    [
        constant, clipped, single_precision, rare, words, sizes_from_one, records,
    ],
)  # fmt: skip
def test_sound_rows_are_left_alone(run):
    for seed in range(3):
        check_rows(Sampler(run=run, seed=seed), PAIR)


def one_subsample_a_call(database, rng, *, size=None):
    rows = np.asarray(database, dtype=float)
    return rows[rng.random(len(rows)) < 0.5].sum() + rng.laplace(scale=2.0, size=size)


def test_a_subsample_shared_by_a_call_is_seen_while_the_audit_counts():
    # Too weak to show in pairs of rows, plain between the blocks of a count.
    with pytest.raises(ContractError, match="not independent: blocks of"):
        audit(one_subsample_a_call, epsilon=1.0, pair=([], [1]), trials=60_000)


def only_where_someone_is(database, rng, *, size=None):
    """Sound rows on the empty database, one noise for all of a call on the other."""
    shared = rng.laplace() if database and size is not None else 0.0
    return (
        sum(database)
        + (shared if database and size is not None else rng.laplace(size=size))
        + (np.zeros(() if size is None else size))
    )


@pytest.mark.parametrize("pair", [Pair([], [1]), Pair([1], [])])
def test_rows_of_both_databases_are_looked_at(pair):
    with pytest.raises(ContractError, match="not independent"):
        check_rows(Sampler(run=only_where_someone_is, seed=5), pair)


def test_a_gross_violation_pays_little_for_the_check():
    # The checks learn from, and look at, draws that the judging needs anyway.
    def loud(database, rng, *, size=None):
        return np.where(rng.random(size) < 1 / (1 + np.exp(-2.0)), database, 1 - database)

    for seed in range(3):
        found = audit(loud, epsilon=1.0, pair=(0, 1), precision=None, seed=seed)
        assert found.refuted
        assert found.draws <= 2 * found.evidence.decided_after + 250


# `cycled` repeats after 100 rows, more than the calls of so short an audit have, and the weak
# dependence of `drifting` needs more draws than a gross violation takes.
@pytest.mark.parametrize("run", [one_noise, two_scales, flips_in_runs, doubled])
def test_a_gross_violation_is_not_called_one_before_its_rows_are_draws(run):
    def loud(database, rng, *, size=None):
        return run(database, rng, size=size) + 50 * len(database)

    for seed in range(3):
        with pytest.raises(ContractError):
            audit(loud, epsilon=0.1, pair=([], [1]), precision=None, seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_no_dependence_ends_in_a_verdict(seed):
    for run in (one_noise, two_scales, flips_in_runs):
        with pytest.raises(ContractError):
            audit(run, epsilon=1.0, pair=([], [1]), trials=4000, seed=seed)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_single_answers_are_taught_as_rows_are(shape):
    """A float of a single call and a numpy.float64 of a row are one kind of value to a learner."""

    def noisy(database, rng, *, size=None):
        return len(database) + rng.laplace(size=shape if size is None else (size, *shape))

    openings = opened(Sampler(run=noisy, seed=0), PAIR)
    assert openings is not None
    for opening in openings:
        assert type(opening.draws.node) is type(opening.couples.node)
        assert opening.draws.node.kind == opening.couples.node.kind
