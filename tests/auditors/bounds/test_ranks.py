"""The test at ranks: its size is computed, its power is what is said of it, and it bounds all f."""

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from dpwitness.auditors.bounds.ranks import (
    Ranked,
    detectable,
    largest_refuted,
    of_curve,
    of_epsilon,
)
from dpwitness.mechanisms.model import (
    ConcentratedCurve,
    GaussianCurve,
    PointsCurve,
    RenyiCurve,
)

FAMILIES = {
    "epsilon": (of_epsilon(0.0), 1.0),
    "epsilon, delta": (of_epsilon(0.02), 0.5),
    "two steps": (of_epsilon(1e-3, 2), 0.4),
    "mu": (of_curve(GaussianCurve(1.0)), 1.0),
    "mu, two steps": (of_curve(GaussianCurve(1.0), 2), 0.5),
    "rho": (of_curve(ConcentratedCurve(0.5)), 0.5),
    "renyi": (of_curve(RenyiCurve(((2.0, 0.5), (8.0, 2.0)))), 1.0),
    "points": (of_curve(PointsCurve(((0.5, 0.1), (2.0, 1e-3)))), 1.0),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


def ranked(hits, n, ranks, m):
    ranks = np.asarray(ranks)
    hits = np.broadcast_to(hits, ranks.shape)
    return Ranked(hits.copy(), np.full_like(ranks, n), ranks, np.full_like(ranks, m))


@pytest.mark.parametrize(("n", "m"), [(50, 80), (3000, 1000)])
def test_with_nothing_lost_the_p_value_is_that_of_the_beta_binomial_rounded_up(n, m):
    ranks = np.array([1, 2, 7, m // 4, m // 2])
    for quantile in (0.5, 0.9, 0.999, 1 - 1e-6):
        hits = np.array([int(betabinom.ppf(quantile, n, k, m - k + 1)) for k in ranks])
        found = ranked(hits, n, ranks, m).p_values(of_epsilon(0.0)(0.0))
        known = betabinom.sf(hits - 1, n, ranks, m - ranks + 1)
        assert (found >= known * (1 - 1e-9)).all()
        assert (found <= known * 1.15 + 1e-12).all()


@every_family
def test_the_size_is_at_most_the_level_and_near_it(name):
    family, claimed = FAMILIES[name]
    n, m = 400, 300
    ranks = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    tests = ranked(0, n, ranks, m)
    for level in (0.2, 0.05, 1e-3):
        levels = np.full(len(ranks), level)
        needed = tests.needed(levels, family(claimed))
        rng = np.random.default_rng(1)
        slopes, intercepts = family(claimed)
        sizes = tests.powers(needed, family(claimed))
        for k, least, size in zip(ranks, needed, sizes, strict=True):
            assert size <= level
            # The exact size by drawing q alone: 20,000 of them know it to a few per cent.
            q = rng.beta(k, m - k + 1, 20_000)
            p = np.minimum((slopes * q[:, None] + intercepts).min(axis=1), 1)
            chances = binom.sf(least - 1, n, p)
            assert chances.mean() <= level + 5 * chances.std() / np.sqrt(20_000)
        assert (tests.powers(needed - 1, family(claimed)) >= 0.8 * level).all()


@every_family
def test_what_is_returned_was_refuted_and_a_little_more_was_not(name):
    family, _ = FAMILIES[name]
    ranks = np.array([1, 4, 16, 64])
    tests = ranked([9, 25, 80, 200], 400, ranks, 300)
    levels = np.array([0.01, 0.002, 0.01, 0.003])
    size, index = largest_refuted(tests, levels, family)
    assert tests.p_values(family(size))[index] <= levels[index]
    assert (tests.p_values(family(size * 1.01 + 1e-3)) > levels).all()


def test_nothing_is_refuted_by_what_every_claim_allows():
    tests = ranked([0, 4], 400, [1, 4], 400)
    assert largest_refuted(tests, np.full(2, 0.01), of_epsilon(0.0)) == (0.0, -1)


@pytest.mark.parametrize("name", ["epsilon", "mu", "rho"])
def test_what_is_said_to_be_detectable_is_refuted_nine_times_in_ten(name):
    family, claimed = FAMILIES[name]
    n, m, k, level = 2000, 2000, 64, 0.01
    tests = ranked(0, n, [k], m)
    seen = detectable(tests, np.array([level]), claimed, family, 0.9)
    slopes, intercepts = family(seen)
    rng = np.random.default_rng(2)
    q = rng.beta(k, m - k + 1, 4000)
    hits = rng.binomial(n, np.minimum((slopes * q[:, None] + intercepts).min(axis=1), 1))
    refuted = hits >= tests.needed(np.array([level]), family(claimed))[0]
    # Binomial with 4,000 runs: five standard errors are .024.
    assert 0.876 < refuted.mean() < 0.93
