"""Whatever states its exact law, sound or broken, draws from it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from dpwitness.auditors.claims.exact import LaplaceShift, delta_bounds, exact_privacy
from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.outputs.encoding import codes
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.accounting.privacy_loss import compose_losses, hockey_stick, loss_of
from dpwitness.mechanisms.catalogue import CATALOGUE, NEGATIVE_CONTROLS
from dpwitness.mechanisms.model import (
    Choices,
    FiniteLaw,
    GaussianLaw,
    LaplaceLaw,
    ProductLaw,
    Relation,
    Rows,
)
from dpwitness.mechanisms.noise.geometric import GEOMETRIC, geometric_mechanism
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE
from dpwitness.mechanisms.queries import histogram

from .laplace_loss import laplace_delta

EVERYTHING = (*CATALOGUE, *(control.mechanism for control in NEGATIVE_CONTROLS))
DRAWS = 20_000
SESSIONS = ("pmw-session", "sparse-vector-session", "sparse-vector-session-unscaled-noise",
            "budgeted-stream")  # fmt: skip
"""They play an analyst for each draw, and get a tenth of the draws."""


def those_with(field):
    found = [mechanism for mechanism in EVERYTHING if getattr(mechanism, field) is not None]
    return pytest.mark.parametrize("mechanism", found, ids=lambda m: m.name)


def pairs_of(mechanism):
    """The simplest of the neighbours, one in the middle and the last, both ways round."""
    claim = mechanism.claims[0]
    source = pair_source(mechanism.databases, claim.relation, claim.distance, 0)
    pairs = source.templates or (source.first(0),)
    chosen = (pairs[0], pairs[len(pairs) // 2], pairs[-1])
    return [way for pair in chosen for way in (pair, pair.reversed())]


def flat_parts(law):
    """(law of the part, how many numbers of the output it is about), in order."""
    parts = law.parts if isinstance(law, ProductLaw) else (law,)
    for part in parts:
        array = part.outcomes[:1] if isinstance(part, FiniteLaw) else part.centres
        yield part, np.size(array)


def check_finite(law, outputs, assert_frequencies):
    """Chi-square over the outcomes, those expected fewer than 10 times together."""
    known, drawn = codes(law.outcomes, outputs)
    chances = np.zeros(max(known.max(), drawn.max()) + 1)
    np.add.at(chances, known, np.exp(law.log_probabilities))
    assert (chances[drawn] > 0).all(), "no draw is impossible"
    counts = np.bincount(drawn, minlength=len(chances))
    often = chances * len(drawn) >= 10
    rest, expected = counts[~often].sum(), chances[~often].sum()
    if expected * len(drawn) >= 10:
        assert_frequencies([*counts[often], rest], [*chances[often], expected])
    else:
        # Too rare to stand alone: with the rarest of the others.
        cell = np.flatnonzero(often)[np.argmin(chances[often])]
        counts[cell] += rest
        chances[cell] += expected
        if often.sum() > 1:
            assert_frequencies(counts[often], chances[often])


def laplace(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)


def check_noise(law, outputs, assert_distribution, assert_rate):
    noise = (outputs - np.ravel(law.centres)) / law.scale
    for column in noise.T:
        assert_distribution(column, norm.cdf if isinstance(law, GaussianLaw) else laplace)
    # Independent: of any two, as many have equal signs as not.
    for i in range(1, noise.shape[1]):
        assert_rate(noise[:, i] * noise[:, i - 1] > 0, 0.5)
        middle = norm.ppf(0.75) if isinstance(law, GaussianLaw) else np.log(2)
        assert_rate((np.abs(noise[:, i - 1 : i + 1]) < middle).all(axis=1), 0.25)


@those_with("law")
def test_draws_follow_the_law(mechanism, rng, assert_frequencies, assert_distribution, assert_rate):
    for pair in pairs_of(mechanism)[::2]:
        law = mechanism.law(pair.database)
        outputs = mechanism(pair.database, rng, size=DRAWS)
        if isinstance(law, FiniteLaw):
            check_finite(law, outputs, assert_frequencies)
            continue
        columns, used = outputs.reshape(DRAWS, -1), 0
        for part, width in flat_parts(law):
            taken = columns[:, used : used + width]
            used += width
            if isinstance(part, LaplaceLaw | GaussianLaw):
                check_noise(part, taken, assert_distribution, assert_rate)
            else:
                shaped = taken.reshape(DRAWS, *np.shape(part.outcomes)[1:])
                check_finite(part, shaped, assert_frequencies)
        assert used == columns.shape[1]


@pytest.mark.long
@those_with("log_probability")
def test_densities_are_those_of_the_draws(mechanism, rng):
    """An event likelier under the neighbour is so by the mean of the ratio of the densities."""
    draws = DRAWS // 10 if mechanism.name in SESSIONS else DRAWS
    for pair in pairs_of(mechanism):
        sides = pair.database, pair.neighbour
        logs = []
        for database in sides:
            outputs = mechanism(database, rng, size=draws)
            logs.append([mechanism.log_probability(side, outputs) for side in sides])
        assert np.isfinite(logs[0][0]).all()
        assert np.isfinite(logs[1][1]).all()
        one, two = (other - own for own, other in logs)
        # Where the neighbour is less likely the ratio is at most 1, so its mean is well known.
        predicted = np.where(one < 0, np.exp(np.minimum(one, 0)), 0.0)
        seen = (two < 0).mean()
        # Hoeffding at 1e-7 for either mean.
        assert abs(predicted.mean() - seen) < 2 * np.sqrt(np.log(4e7) / (2 * draws))


@those_with("privacy_loss")
def test_the_law_of_the_loss_is_that_of_drawn_outputs(mechanism, rng, assert_frequencies):
    for pair in pairs_of(mechanism):
        stated = mechanism.privacy_loss(pair.database, pair.neighbour)
        assert np.sum(stated.probabilities) + stated.infinite == pytest.approx(1, rel=1e-12)
        if mechanism.law is not None:
            derived = loss_of(mechanism.law(pair.database), mechanism.law(pair.neighbour))
            np.testing.assert_allclose(derived.losses, stated.losses, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(derived.probabilities, stated.probabilities, rtol=1e-12)
            assert derived.infinite == pytest.approx(stated.infinite)
            continue
        outputs = mechanism(pair.database, rng, size=DRAWS)
        drawn = mechanism.log_probability(pair.database, outputs)
        drawn = drawn - mechanism.log_probability(pair.neighbour, outputs)
        # Cells between whole tenths of the range, each with all of its losses.
        edges = np.linspace(stated.losses.min(), stated.losses.max(), 9)[1:-1] + 1e-7
        cells = np.searchsorted(edges, stated.losses)
        chances = np.bincount(cells, weights=stated.probabilities, minlength=8)
        counts = np.bincount(np.searchsorted(edges, drawn), minlength=8)
        often = chances > 0
        assert counts[~often].sum() == 0
        if often.sum() > 1:
            assert_frequencies(counts[often], chances[often])


def test_broken_mechanisms_do_not_inherit_a_law():
    """Only the mechanism with the very same run may have the same law."""
    for control in NEGATIVE_CONTROLS:
        for mechanism in CATALOGUE:
            for field in ("law", "privacy_loss", "log_probability"):
                mine, theirs = (getattr(m, field) for m in (control.mechanism, mechanism))
                if mine is not None and mine is theirs:
                    assert control.mechanism.run is mechanism.run


@pytest.mark.parametrize("mechanism", [GEOMETRIC, RANDOMIZED_RESPONSE], ids=lambda m: m.name)
def test_the_exact_method_proves_the_claim_and_finds_it_tight(mechanism):
    found = exact_privacy(mechanism, mechanism.claims[0])
    assert found.verdict is Verdict.PROVED
    assert found.epsilon == pytest.approx(1)
    # At half of epsilon: P[noise <= 0] (1 - exp(-1/2)) for counts one apart, and the same share
    # of the truths told for responses.
    right = np.e / (1 + np.e) if mechanism is GEOMETRIC else np.e / (2 + np.e)
    half = replace(mechanism.claims[0], epsilon=0.5)
    low, high = exact_privacy(mechanism, half).delta
    assert low <= right * -np.expm1(-0.5) <= high


def test_losses_of_counts_add_up():
    two = geometric_mechanism(
        query=partial(histogram, categories=3),
        sensitivity=2,
        epsilon=1.0,
        relation=Relation.REPLACE_ONE,
        databases=Rows(row=Choices(values=(0, 1, 2)), min_size=2, max_size=2),
    )
    law = two.privacy_loss([0, 1], [0, 2])
    ratio = np.exp(-0.5)
    np.testing.assert_allclose(law.losses, [-1, 0, 1], atol=1e-15)
    np.testing.assert_allclose(
        law.probabilities, np.array([ratio**2, 2 * ratio, 1]) / (1 + ratio) ** 2
    )
    assert two.privacy_loss([0, 1], [1, 0]).losses.tolist() == [0.0]


@pytest.mark.parametrize("ratios", [(1.0,), (0.3,) * 4, (0.7, 0.35, 0.35)])
@pytest.mark.parametrize("level", [0.0, 0.2, 0.9])
def test_auditors_compute_the_same_delta_of_noises(ratios, level):
    low, high = laplace_delta(ratios, level, cells=200)
    found_low, found_high = delta_bounds([LaplaceShift(ratio) for ratio in ratios], level)
    assert max(low, found_low) <= min(high, found_high) + 1e-12
    assert found_high - found_low < 1e-3


@pytest.mark.parametrize("level", [0.0, 0.5, 1.5])
def test_auditors_compute_the_same_delta_of_finite_laws(level):
    loss = loss_of(*(RANDOMIZED_RESPONSE.law(value) for value in ("no", "yes")))
    for times in (1, 2):
        exact = hockey_stick(compose_losses([loss] * times), level)
        low, high = delta_bounds([loss] * times, level)
        assert low <= exact <= high + 1e-15
        assert high - low < 1e-3
