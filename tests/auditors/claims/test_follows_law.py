"""A sampler that follows its law is left alone; one a little beside it is not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpwitness import Interval, Mechanism, PrivacyClaim, Relation, Rows, Subject
from dpwitness.auditors.claims.check import check
from dpwitness.auditors.claims.follows_law import contradicted, follows_law
from dpwitness.auditors.errors import HarnessError, InvalidArgument
from dpwitness.mechanisms.catalogue import CATALOGUE
from dpwitness.mechanisms.model import LaplaceLaw

ALPHA = 1e-9
"""Of every check here: the flakes of this file stay below 1e-7."""


def noisy(database, rng, *, scale, size=None):
    return rng.laplace(float(sum(database)), scale, size=size)


def density(database, outputs):
    return -np.abs(np.asarray(outputs) - sum(database)) - np.log(2)


def dense(scale, run=noisy):
    return Mechanism(
        name="noisy", run=partial(run, scale=scale), log_probability=density,
        databases=Rows(row=Interval(low=0, high=1, integer=True)),
        claims=(PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE),),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.9, 1.2])
def test_noise_a_little_beside_the_stated_density_is_seen(scale):
    assert not follows_law(dense(1.0), alpha=ALPHA, draws=200_000).refuted
    assert follows_law(dense(scale), alpha=ALPHA, draws=200_000).refuted


@pytest.mark.long
def test_an_output_of_density_zero_refutes():
    def never(database, outputs):
        return np.where(np.asarray(outputs) < 0, -np.inf, density(database, outputs))

    assert follows_law(replace(dense(1.0), log_probability=never), alpha=ALPHA, draws=2000).refuted


@pytest.mark.parametrize("name", ["laplace", "laplace-vector", "randomized-response"])
def test_samplers_of_the_catalogue_follow_their_laws(name):
    assert not follows_law(CATALOGUE.entry(name), alpha=ALPHA, draws=20_000).refuted


@pytest.mark.long
def test_shared_noise_is_seen_though_every_coordinate_is_right():
    vector = CATALOGUE.entry("laplace-vector")

    def shared(database, rng, *, size=None):
        made = vector.run(database, rng, size=size)
        noise = made - vector.law(database).centres
        return made - noise + noise[..., :1]

    assert follows_law(replace(vector, run=shared), alpha=ALPHA, draws=20_000).refuted


@pytest.mark.long
@pytest.mark.parametrize("name", ["grid-laplace", "geometric", "leaky-response"])
def test_a_stated_loss_is_compared_with_the_stated_law_or_density(name):
    """It chooses the pair that is drawn on, so that nothing else need show that it is wrong."""
    mechanism = CATALOGUE.entry(name)
    assert not follows_law(mechanism, alpha=ALPHA, draws=20_000).refuted

    def times(factor, database, neighbour):
        law = mechanism.privacy_loss(database, neighbour)
        return replace(law, losses=factor * np.asarray(law.losses))

    for factor in (0.5, 2.0):
        wrong = replace(mechanism, privacy_loss=partial(times, factor))
        assert contradicted(wrong, trials=20_000, seed=0)


def test_laws_that_have_no_common_loss_leave_a_stated_one_alone():
    """Noise whose scale depends on the data has a loss, and no pair of laws that says it."""
    vector = CATALOGUE.entry("laplace-vector")

    def law(database):
        known = vector.law(database)
        return LaplaceLaw(centres=known.centres, scale=known.scale * (1 + len(database)))

    def run(database, rng, *, size=None):
        centres = np.asarray(law(database).centres)
        shape = centres.shape if size is None else (size, *centres.shape)
        return centres + rng.laplace(scale=law(database).scale, size=shape)

    loss = CATALOGUE.entry("geometric").privacy_loss([], [0])
    made = replace(vector, run=run, law=law, privacy_loss=lambda one, two: loss)
    assert not follows_law(made, alpha=ALPHA, draws=20_000).refuted


def test_a_mechanism_without_a_law_is_refused_in_words():
    with pytest.raises(InvalidArgument, match="neither a law nor a density"):
        follows_law(replace(dense(1.0), log_probability=None))


@pytest.mark.quality
@pytest.mark.parametrize(
    "name", ["private-multiplicative-weights", "numeric-sparse-vector", "drill-down", "geometric"]
)
def test_samplers_of_the_catalogue_follow_their_densities(name):
    assert not follows_law(CATALOGUE.entry(name), alpha=ALPHA, draws=20_000).refuted


@pytest.mark.slow
def test_a_check_stops_at_draws_beside_the_density():
    wrong = dense(0.5)
    assert "contradict the law it states" in contradicted(wrong, trials=10_000, seed=0)
    assert contradicted(dense(1.0), trials=10_000, seed=0) == ""
    assert contradicted(replace(wrong, databases=None, claims=()), trials=100, seed=0) == ""
    lax = PrivacyClaim(epsilon=3.0, relation=Relation.ADD_REMOVE)
    with pytest.raises(HarnessError, match="contradict the law"):
        check(Subject(claim=lax, mechanism=replace(wrong, claims=(lax,))), trials=10_000)


def with_a_second(database, rng, *, scale, size=None):
    """A noisy sum and a number that is alike on all databases."""
    first = noisy(database, rng, scale=1.0, size=size)
    return np.stack([first, rng.laplace(0.0, scale, size=size)], axis=-1)


def of_both(database, outputs):
    outputs = np.asarray(outputs)
    return density(database, outputs[..., 0]) - np.abs(outputs[..., 1]) - np.log(2)


def at_times(database, rng, *, scale, size=None):
    """0 and 0, or 1 and a noisy sum."""
    kinds = rng.integers(2, size=size)
    return np.stack([kinds, np.where(kinds, noisy(database, rng, scale=scale, size=size), 0.0)], -1)


def careless(database, outputs):
    # Right wherever an output can come, and wrong beside: with a 0 any number would do.
    outputs = np.asarray(outputs)
    return np.where(outputs[..., 0] > 0, density(database, outputs[..., 1]), 0.0) - np.log(2)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.8, 1.25])
def test_noise_that_is_alike_on_all_databases_is_compared_too(scale):
    stated = replace(dense(1.0), log_probability=of_both)
    right, wrong = (replace(stated, run=partial(with_a_second, scale=one)) for one in (1.0, scale))
    assert not follows_law(right, alpha=ALPHA, draws=200_000).refuted
    assert follows_law(wrong, alpha=ALPHA, draws=200_000).refuted


@pytest.mark.slow
def test_a_density_is_not_asked_about_another_kind_of_answer():
    stated = replace(dense(1.0), log_probability=careless)
    right, wrong = (replace(stated, run=partial(at_times, scale=scale)) for scale in (1.0, 1.4))
    assert not follows_law(right, alpha=ALPHA, draws=200_000).refuted
    assert follows_law(wrong, alpha=ALPHA, draws=200_000).refuted


def bits(database, rng, *, scale, size=None):
    shape = () if size is None else (size,)
    return (sum(database) + rng.laplace(0.0, scale, size=(*shape, 2)) >= 20).astype(int)


def of_bits(database, outputs):
    margin = (np.where(np.asarray(outputs) > 0, 1, -1) * (sum(database) - 20)) / 8
    tail = np.exp(-np.abs(margin)) / 2
    return np.log(np.where(margin > 0, 1 - tail, tail)).sum(axis=-1)


@pytest.mark.long
def test_the_noise_behind_two_bits_is_compared_on_databases_far_apart():
    stated = replace(dense(1.0), log_probability=of_bits)
    right, wrong = (replace(stated, run=partial(bits, scale=one)) for one in (8.0, 12.0))
    assert not follows_law(right, alpha=ALPHA, draws=100_000).refuted
    assert follows_law(wrong, alpha=ALPHA, draws=100_000).refuted


@pytest.mark.long
@pytest.mark.parametrize("name", ["composed", "boxes", "sampled-query-counts"])
def test_each_part_of_a_product_is_compared(name):
    mechanism = CATALOGUE.entry(name)
    found = follows_law(mechanism, alpha=ALPHA, draws=20_000)
    assert found.finding.table.rows
    assert not found.refuted

    def first_of_all(database, rng, *, size=None):
        made = mechanism.run(database, rng, size=size)
        return np.broadcast_to(made[..., :1], made.shape)

    assert follows_law(replace(mechanism, run=first_of_all), alpha=ALPHA, draws=20_000).refuted


@pytest.mark.slow
@pytest.mark.parametrize("lag", [1, 2, 5, 39])
def test_noise_that_comes_again_some_numbers_later_is_seen(lag):
    def law(database):
        return LaplaceLaw(centres=np.full(40, float(sum(database))), scale=1.0)

    def run(database, rng, *, size=None, again=0):
        noise = rng.laplace(size=(*np.atleast_1d(size or ()), 40))
        if again:
            noise[..., again:] = noise[..., : 40 - again]
        return noise + sum(database)

    honest = replace(dense(1.0), run=run, log_probability=None, law=law)
    assert not follows_law(honest, alpha=ALPHA, draws=20_000).refuted
    again = replace(honest, run=partial(run, again=lag))
    assert follows_law(again, alpha=ALPHA, draws=20_000).refuted


def coins(database, rng, *, alike, size=None):
    """Two bits that are equal with probability `alike`, whatever the database."""
    first = rng.integers(0, 2, size=size)
    return np.stack([first, first ^ (rng.random(size) >= alike)], axis=-1)


def of_coins(database, outputs, *, alike):
    outputs = np.asarray(outputs)
    return np.log(np.where(outputs[..., 0] == outputs[..., 1], alike, 1 - alike) / 2)


@pytest.mark.long
@pytest.mark.parametrize(("drawn", "refuted"), [(0.7, False), (0.6, True)])
def test_outputs_that_come_again_have_the_shares_of_their_densities(drawn, refuted):
    """Both databases have the same law, so that no reweighting shows what the draws do."""
    subject = replace(
        dense(1.0), run=partial(coins, alike=drawn), log_probability=partial(of_coins, alike=0.7),
        trust_rows=True,
    )  # fmt: skip
    assert follows_law(subject, alpha=ALPHA, draws=40_000).refuted == refuted
    # In another measure, in which every output weighs twice as much, densities are half as large.
    halved = replace(subject, log_probability=lambda *of: of_coins(*of, alike=0.7) - np.log(2))
    assert follows_law(halved, alpha=ALPHA, draws=40_000).refuted == refuted
