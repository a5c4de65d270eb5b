"""Boosting for queries: the numbers of the literature, exact laws, and a generator that resists."""

from functools import partial
from math import exp, log, tanh

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import zcdp_root
from dpwitness.mechanisms.boosting.boosting import (
    BASE_SYNOPSIS,
    BOOSTING,
    answer_table,
    base_mechanism,
    base_scale,
    boosting,
    coverage,
    draw_queries,
    every_synopsis,
    histograms,
    samples_needed,
    synopsis_base,
)
from dpwitness.mechanisms.boosting.boosting_cases import wronged_queries
from dpwitness.mechanisms.boosting.query_weights import (
    SAMPLED_QUERY,
    SAMPLED_QUERY_COUNTS,
    attenuated_agreement,
    attenuation_for,
    exponential_weights,
    indicator_queries,
    linear_answers,
    log_ratios,
    multinomial_law,
    rounds_needed,
    weight_rate,
)
from dpwitness.mechanisms.boosting.theorems_base_synopsis import favouring_weights

from ..laplace_loss import laplace_delta

LEVELS = {"accuracy": 0.1, "attenuation": 0.2}


def adversarial_base(rng, truth, sampled, distribution, earlier, *, advantage, error):
    """Answer exactly but for an `error` on queries wronged before, those most often first."""
    often = (earlier != truth).sum(axis=0)
    wronged = wronged_queries(distribution, often, share=0.5 - advantage)
    return truth + np.where(wronged, error, 0.0)


def bad_queries(rounds, queries=64, **variant):
    """Queries wrong in half of the rounds or more, against the generator that resists."""
    synopses = boosting(
        np.zeros(queries),
        np.random.default_rng(0),
        queries=np.asarray,
        base=partial(adversarial_base, advantage=0.25, error=1.0),
        samples=1,
        advantage=0.25,
        rounds=rounds,
        combine=every_synopsis,
        **LEVELS,
        **variant,
    )
    return int((2 * (np.abs(synopses) > 0.3).sum(axis=0) >= rounds).sum())


@pytest.mark.parametrize(
    ("rounds", "bad"),
    [
        (1, 16),
        (3, 8),
        (5, 4),
        (9, 5),
        (15, 3),
        (20, 2),
        (25, 0),
        (28, 0),
        (29, 0),
        (34, 0),
        (67, 0),
    ],
)
def test_bad_queries_left_by_a_generator_that_does_no_more_than_it_promises(rounds, bad):
    assert bad_queries(rounds) == bad


def test_a_flipped_sign_leaves_most_queries_bad():
    assert bad_queries(34, reweight=favouring_weights) == 60


@pytest.mark.parametrize(
    ("queries", "book", "sharp", "exact"), [(16, 45, 23, 20), (64, 67, 34, 29), (256, 89, 45, 39)]
)
def test_rounds_needed(queries, book, sharp, exact):
    eta = 0.25
    assert rounds_needed(queries=queries, advantage=eta) == exact
    assert int(np.ceil(log(queries) / eta**2)) == book
    assert int(log(queries) / (2 * eta**2)) + 1 == sharp


@pytest.mark.parametrize(("eta", "rate"), [(0.25, 0.549306), (1 / 3, 0.804719)])
def test_the_rate(eta, rate):
    assert weight_rate(eta) == pytest.approx(rate, abs=5e-7)


@pytest.mark.parametrize(("rounds", "mu"), [(23, 2346.5), (45, 6527.9)])
def test_the_attenuation_of_the_default_instance(rounds, mu):
    found = attenuation_for(
        advantage=0.25, sensitivity=1.0, samples=42, rounds=rounds, epsilon=1.0, delta=1e-6
    )
    assert found == pytest.approx(mu, abs=0.05)
    by_pieces = sum(42 * (4 * weight_rate(0.25) * t / found) ** 2 / 8 for t in range(rounds))
    assert by_pieces == pytest.approx(zcdp_root(1.0, 1e-6) ** 2)


@pytest.mark.parametrize(("queries", "largest"), [(2, 0.2), (10, 0.3598), (1000, 0.3996)])
def test_one_query_against_the_rest_is_nearly_the_worst_case(queries, largest):
    # Rate 1, five rounds, rho / mu = .02: the bound is .4.
    moves = np.where(np.arange(queries) == 0, 0.02, -0.02)
    middle = np.full(queries, 0.5)
    public = np.zeros((5, queries))
    found = log_ratios(middle - moves / 2, middle + moves / 2, public, advantage=tanh(1) / 2)
    assert found.shape == (6, queries)
    assert (found[0] == 0).all()
    assert np.abs(found[-1]).max() == pytest.approx(largest, abs=5e-5)
    assert np.abs(found[-1]).max() <= 0.4


def test_the_weight_of_an_unhappy_query_without_attenuation():
    agreed = np.where(np.arange(1000) < 100, -1.0, 1.0)
    factor = exponential_weights(agreed, 1.0)[0] * 1000
    assert factor == pytest.approx(4.508531, abs=5e-7)
    assert log(factor) == pytest.approx(1.505971, abs=5e-7)
    few = np.where(np.arange(1000) < 10, -1.0, 1.0)
    assert log(exponential_weights(few, 1.0)[0] * 1000) == pytest.approx(1.9381, abs=5e-5)


def test_weights_stay_finite_however_much_has_been_agreed():
    agreed = np.array([[-4000.0, 4000.0], [0.0, 4000.0]])
    assert exponential_weights(agreed, 0.5).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_wronged_queries_fit_into_their_share_and_the_preferred_come_first():
    law = np.array([[0.1, 0.3, 0.2, 0.4]])
    wronged = wronged_queries(law, np.array([[4.0, 3.0, 2.0, 1.0]]), share=0.35)
    assert wronged.tolist() == [[True, False, True, False]]


def test_the_base_generator_of_the_default_instance():
    assert len(histograms(4, 8)) == 165
    assert len(np.unique(histograms(4, 8), axis=0)) == 165
    assert (histograms(4, 8).sum(axis=1) == 8).all()
    assert samples_needed(synopses=165, advantage=0.25, beta=0.001) == 42
    assert base_scale(samples=42, sensitivity=1 / 200_000, epsilon=0.1) == pytest.approx(0.0021)
    assert len(indicator_queries(4)) == 16


def test_small_databases_come_as_near_as_promised(rng):
    weights = indicator_queries(4)
    table = answer_table(weights, records=8)
    for _ in range(50):
        counts = rng.multinomial(1000, rng.dirichlet(np.ones(4)))
        errors = np.abs(table - linear_answers(counts, weights=weights)).max(axis=1)
        assert errors.min() <= coverage(bins=4, records=8)


def test_a_query_is_drawn_by_its_weight(rng, assert_frequencies):
    law = np.array([0.1, 0.2, 0.3, 0.4])
    drawn = draw_queries(rng, np.broadcast_to(law, (1000, 4)), 40)
    assert_frequencies(np.bincount(drawn.ravel(), minlength=4), law)


def grouped(counts, chances):
    """Counts and chances in the order of chance, neighbours together until 10 are expected."""
    order = np.argsort(chances)
    counts, chances = np.asarray(counts)[order], np.asarray(chances)[order]
    place = np.floor(np.cumsum(chances) * counts.sum() / 20).astype(int)
    merged = [np.bincount(place, weights=part) for part in (counts, chances)]
    kept = merged[1] * counts.sum() >= 10
    last = np.flatnonzero(kept)[-1]
    for part in merged:
        part[last] += part[~kept].sum()
    return tuple(part[kept] for part in merged)


@pytest.mark.parametrize("database", [[10, 0, 0, 0], [2, 3, 4, 1]])
def test_boosting_samples_its_exact_law(database, rng, assert_frequencies):
    law = BOOSTING.law(database)
    drawn = BOOSTING(database, rng, size=40_000)
    chances = np.exp(law.log_probabilities)
    assert chances.sum() == pytest.approx(1)
    counts = [(drawn == outcome).all(axis=-1).sum() for outcome in law.outcomes]
    assert sum(counts) == len(drawn)
    assert_frequencies(*grouped(counts, chances))


@pytest.mark.parametrize("database", [[20, 0, 0, 0], [5, 5, 5, 5]])
def test_a_sampled_query_has_its_exact_law(database, rng, assert_frequencies):
    law = SAMPLED_QUERY.law(database)
    drawn = SAMPLED_QUERY(database, rng, size=20_000)
    assert_frequencies(np.bincount(drawn, minlength=5), np.exp(law.log_probabilities))


def test_counts_of_samples_have_their_exact_law(rng, assert_frequencies):
    database = [5, 5, 5, 5]
    drawn = SAMPLED_QUERY_COUNTS(database, rng, size=20_000)
    for place, part in enumerate(SAMPLED_QUERY_COUNTS.law(database).parts):
        counts = [(drawn[:, place] == outcome).all(axis=-1).sum() for outcome in part.outcomes]
        assert sum(counts) == len(drawn)
        assert_frequencies(*grouped(counts, np.exp(part.log_probabilities)))


def test_the_multinomial_law_is_a_law():
    law = multinomial_law(np.array([0.2, 0.3, 0.5]), 4)
    assert len(law.outcomes) == 15
    assert np.exp(law.log_probabilities).sum() == pytest.approx(1)
    place = law.outcomes.tolist().index([1, 1, 2])
    assert exp(law.log_probabilities[place]) == pytest.approx(12 * 0.2 * 0.3 * 0.25)


def test_one_sampled_answer_has_an_exact_law(rng, assert_frequencies):
    mechanism = base_mechanism(
        weights=indicator_queries(3), sampled=(3,), small=3, records=12, epsilon=1.0
    )
    law = mechanism.law([4, 4, 4])
    chances = np.exp(law.log_probabilities)
    drawn = np.bincount(mechanism([4, 4, 4], rng, size=20_000), minlength=len(chances))
    assert (drawn[chances == 0] == 0).all()
    assert_frequencies(drawn[chances > 0], chances[chances > 0])


def test_the_default_synopsis_is_one_of_the_table(rng):
    drawn = BASE_SYNOPSIS([5, 5, 5, 5], rng, size=1000)
    assert drawn.min() >= 0
    assert drawn.max() < len(histograms(4, 4))


def test_agreement_at_its_edges():
    errors = np.array([0.0, 0.1, 0.15, 0.2, 0.3, 9.0])
    found = attenuated_agreement(errors, **LEVELS)
    assert found == pytest.approx([1, 1, 0.5, 0, -1, -1])


@pytest.mark.parametrize("advantage", [0.0, 0.5, -0.1, 0.7])
def test_an_advantage_out_of_range_is_refused(advantage):
    with pytest.raises(ValueError, match=r"advantage must be in \(0, 1/2\), got"):
        weight_rate(advantage)


@pytest.mark.parametrize("samples", [1, 2, 10])
def test_the_noise_of_a_base_generator_with_a_delta_keeps_its_claim(samples):
    # Queries that ask for one element: a replaced record moves every answer by 1 / 20.
    epsilon, delta = 1.0, 1e-3
    mechanism = base_mechanism(
        weights=((1, 0), (0, 1)), sampled=(0, 1) * (samples // 2) + (0,) * (samples % 2),
        small=2, records=20, epsilon=epsilon, delta=delta, search=False,
    )  # fmt: skip
    law, moved = mechanism.law([10, 10]), mechanism.law([11, 9])
    ratios = np.abs(law.centres - moved.centres) / law.scale
    low, high = laplace_delta(ratios, epsilon, cells=60)
    assert low <= high <= delta


def test_the_samples_of_a_round_have_noises_of_their_own(rng):
    # With one noise for both answers (0, 1) and (1, 0) would never be the nearest.
    table = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
    sampled = np.tile([0, 1], (4000, 1))
    rest = {"distribution": np.empty(0), "earlier": np.empty(0)}
    found = synopsis_base(rng, np.array([0.5, 0.5]), sampled, **rest, table=table, scale=0.3)
    assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in table.tolist()}
