"""Rows of a `size=` call are independent and have the law of single calls, or the audit says no.

Every check accuses a sound mechanism with probability at most 1e-6; the seeds are fixed besides.
"""

import numpy as np
import pytest

from dpwitness import ContractError, Pair, audit
from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.sampling.paths import check_event
from dpwitness.auditors.sampling.rows import check_rows, one_path, opened
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


def test_what_is_refuted_soon_makes_no_large_call_for_the_check():
    """Its own rows are checked; 256 single answers and pairs of rows a side are the most added."""

    def loud(database, rng, *, size=None):
        return database + rng.laplace(scale=1 / 1.3, size=size)

    seen = []
    for seed in range(6):
        found = audit(loud, epsilon=1.0, pair=(0, 1), alpha=0.05, precision=None, seed=seed)
        decided = found.evidence.decided_after
        if decided is not None and 2048 <= decided <= 16_384:
            seen.append(decided)
            assert found.draws <= 2 * decided + 2 * 3 * 256 + 250
    assert seen


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


def otherwise(run):
    """The same law from other states: single calls and rows are two paths of the code."""

    def other(database, rng, *, size=None):
        if size is None:
            rng.random()
        return run(database, rng, size=size)

    return other


def noisy_count(database, rng, *, size=None):
    return len(database) + rng.laplace(size=size)


def smaller_scale_for_rows(scale):
    def run(database, rng, *, size=None):
        return len(database) + rng.laplace(scale=1.0 if size is None else scale, size=size)

    return run


@pytest.mark.parametrize("precision", [None, 0.05])
@pytest.mark.parametrize("scale", [0.3, 0.5, 0.7, 0.9])
def test_a_sound_mechanism_is_not_accused_for_its_rows(scale, precision):
    for seed in range(3):
        with pytest.raises(ContractError, match=r"another law than|not independent"):
            audit(
                smaller_scale_for_rows(scale), epsilon=1.0, alpha=1e-3, pair=([], [1]),
                precision=precision, seed=seed,
            )  # fmt: skip


def of_loss(single, rows):
    """The loss of single calls and of rows; where both are the same, two paths of one law."""

    def run(database, rng, *, size=None):
        if size is None:
            rng.random()
        return len(database) + rng.laplace(scale=1 / (single if size is None else rows), size=size)

    return run


@pytest.mark.parametrize("rows", [1.08, 1.11])
def test_rows_alone_refute_nothing_that_single_calls_do_not(rows):
    # Too small a difference for Fisher's test in the draws that refuted.
    for seed in range(3):
        with pytest.raises(ContractError, match="another law than called without"):
            audit(
                of_loss(1.0, rows), epsilon=1.0, alpha=1e-3, pair=([], [1]), precision=None,
                seed=seed,
            )  # fmt: skip


@pytest.mark.parametrize(("loss", "alpha"), [(1.1, 0.05), (1.3, 1e-3), (2.0, 0.05)])
def test_what_both_paths_break_is_refuted(loss, alpha):
    trials = 200_000
    for seed in range(3):
        found = audit(
            of_loss(loss, loss), epsilon=1.0, alpha=alpha, pair=([], [1]), precision=None,
            trials=trials, seed=seed,
        )  # fmt: skip
        assert found.refuted
        assert found.draws <= 8 * trials
    assert loss < 2 or found.draws <= 40_000


def test_the_looks_at_single_calls_share_the_level_and_stay_within_the_draws():
    sampler, asked = Sampler(run=otherwise(noisy_count), seed=0), []

    def never(hits, calls, level):
        asked.append((calls, level))
        return False

    with pytest.raises(ContractError, match="by the rows of size= calls but not by single calls"):
        check_event(sampler, PAIR, HalfLine(Feature(), 0.5, True), 5000, 12_000, never, 0.03)
    assert asked == [(5000, 0.01), (10_000, 0.01), (12_000, 0.01)]
    assert sampler.tally.draws == pytest.approx(4 * 12_000, abs=32)


@pytest.mark.parametrize("scale", [1.5, 3.0])
def test_rows_with_more_noise_are_no_comfort(scale):
    for seed in range(3):
        with pytest.raises(ContractError, match="another law than called without"):
            audit(smaller_scale_for_rows(scale), epsilon=1.0, pair=([], [1]), seed=seed)


def test_two_paths_of_one_law_are_judged_as_one_is():
    for seed in range(3):
        sound = audit(otherwise(noisy_count), epsilon=1.0, pair=([], [1]), seed=seed)
        broken = audit(otherwise(noisy_count), epsilon=0.5, pair=([], [1]), seed=seed)
        assert not sound.refuted
        assert broken.refuted


def test_one_path_costs_next_to_nothing():
    for run, alike in ((noisy_count, True), (otherwise(noisy_count), False)):
        sampler = Sampler(run=run, seed=0)
        assert all(one_path(sampler, PAIR, side) is alike for side in (0, 1))
        assert sampler.tally.draws <= 32


def test_the_count_of_an_event_accuses_two_paths_of_one_law_within_its_level():
    # 300 counts at 1e-6 each: one accusation by luck has probability 3e-4 before the seed is fixed.
    event = HalfLine(Feature(), 0.5, True)
    for seed in range(300):
        sampler = Sampler(run=otherwise(lambda d, rng, *, size=None: rng.random(size)), seed=seed)
        check_event(sampler, PAIR, event, 0, 64, lambda *_: True, 1e-3)
