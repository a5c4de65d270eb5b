"""Private multiplicative weights: its law, its loss and the controls that lose more."""

from functools import cache, partial
from math import exp, inf, log

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import zcdp_root
from dpwitness.mechanisms.multiplicative_weights.broken_pmw import (
    ANSWER_REUSES_NOISE,
    ANSWERS_BELOW,
    DIRECTION_FROM_TRUTH,
    NOISE_OF_ONE_RECORD,
    UNNOISED_COMPARISONS,
)
from dpwitness.mechanisms.multiplicative_weights.pmw import (
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
    asked_in_turn,
    laplace_noise,
    lightest_element,
    log_probability,
    noise_epsilon_for,
    noises_drawn,
    private_multiplicative_weights,
    worst_query,
)
from dpwitness.mechanisms.multiplicative_weights.pmw_updates import answer_errors, potentials
from dpwitness.mechanisms.sparse_vector.above_threshold import log_bits

DYNAMICS = {"queries": worst_query, "learning_rate": 0.4 / 8}
RUN = partial(private_multiplicative_weights, threshold=0.2, noise_epsilon=1.0, **DYNAMICS)


def bits_then_answer(counts, below, least, epsilon=1.0):
    """P[`below` queries for element 1 below, that for element 0 above and answered >= least]."""
    scale = 1 / (epsilon * sum(counts))
    shares = np.array(counts) / sum(counts)
    margins = np.abs(shares[:2] - 0.25) - 0.2
    bits = log_bits([margins[1]] * below, [margins[0]], threshold_scale=scale, query_scale=scale)
    away = (least - shares[0]) / scale
    tail = exp(-away) / 2 if away > 0 else 1 - exp(away) / 2
    return exp(bits) * tail


@pytest.mark.parametrize(
    ("pair", "below", "expected", "loss"),
    [
        (([19, 16, 3, 2], [18, 17, 3, 2]), 5, (0.1993, 0.01966), 2.316),
        (([19, 17, 2, 2], [18, 18, 2, 2]), 10, (0.05131, 0.001393), 3.606),
    ],
)
def test_one_iteration_loses_more_than_one_noise(pair, below, expected, loss):
    found = [bits_then_answer(counts, below, 0.475) for counts in pair]
    assert found == pytest.approx(expected, rel=6e-4)
    assert log(found[0] / found[1]) == pytest.approx(loss, abs=6e-4)


@pytest.mark.parametrize(
    ("below", "expected"), [(0, 1.902), (1, 3.000), (2, 3.897), (3, 4.000), (5, 4.000)]
)
def test_the_worst_loss_of_an_iteration(below, expected):
    # Whole margins in units of the noise, 8 at most; at epsilon 1/2 a record moves them by 1/2.
    epsilon, worst = 0.5, -inf
    scales = {"threshold_scale": 1.0, "query_scale": 1.0}
    for bottom in range(-8, 9):
        for top in range(-8, 9):
            likely = log_bits([bottom] * below, [top], **scales) - log(2)
            moved = log_bits([bottom + epsilon] * below, [top - epsilon], **scales) - log(2)
            if likely >= log(1e-9):
                worst = max(worst, likely - moved + epsilon)
    assert worst <= 4 * epsilon + 1e-9
    assert worst / epsilon == pytest.approx(expected, abs=6e-4)


def test_rates_of_the_default_iteration(rng, assert_rate):
    for counts in ([19, 16, 3, 2], [18, 17, 3, 2]):
        outputs = PMW_ITERATION(counts, rng, size=40_000)
        event = (outputs[:, :, 0] == [0, 0, 0, 0, 0, 1]).all(axis=1) & (outputs[:, 5, 1] >= 0.475)
        assert_rate(event, bits_then_answer(counts, 5, 0.475))


@pytest.mark.parametrize("mechanism", [PMW_ITERATION, PRIVATE_MULTIPLICATIVE_WEIGHTS])
def test_likelihood_ratios_average_to_one_and_keep_the_claim(mechanism, rng):
    pair = [19, 16, 3, 2], [18, 17, 3, 2]
    outputs = mechanism(pair[0], rng, size=20_000)
    first, second = (mechanism.log_probability(side, outputs) for side in pair)
    assert np.isfinite(first).all()
    assert np.exp(second - first).mean() == pytest.approx(1, abs=0.1)
    assert np.abs(first - second).max() <= mechanism.claims[0].epsilon
    assert np.abs(first - second).max() > 0.05


def test_impossible_transcripts_have_no_density(rng):
    outputs = PMW_ITERATION([19, 16, 3, 2], rng, size=200)
    going_on = outputs.copy()
    going_on[:, :, 0] = 1
    assert (PMW_ITERATION.log_probability([19, 16, 3, 2], going_on) == -inf).all()
    wrong = outputs[outputs[:, 0, 0] == 0].copy()
    wrong[:, 0, 1] += 0.1
    assert (PMW_ITERATION.log_probability([19, 16, 3, 2], wrong) == -inf).all()


def test_budget():
    assert noise_epsilon_for(epsilon=4.0, delta=0, updates=1) == 1
    # c iterations of 4 noise_epsilon each, (4 noise_epsilon)^2 / 2 zCDP apiece.
    for epsilon, delta, updates in ((1.0, 1e-6, 355), (2.0, 1e-3, 2)):
        found = noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates)
        rho = updates * (4 * found) ** 2 / 2
        assert rho + 2 * np.sqrt(rho * log(1 / delta)) == pytest.approx(epsilon)
    assert zcdp_root(1.0, 1e-6) == pytest.approx(0.13217, abs=5e-6)
    assert zcdp_root(1.0, 0.05) == pytest.approx(0.26811, abs=5e-6)


def test_noises_are_drawn_lazily_and_never_too_many(rng):
    drawn = []

    def counting(rng, step, scale, part, count):
        drawn.append((part, count))
        return laplace_noise(rng, step, scale, part, count)

    RUN([19, 16, 3, 2], rng, length=50, updates=3, noise=counting, size=20)
    total = sum(count for _, count in drawn)
    assert total <= 20 * noises_drawn(length=50, updates=3)
    assert sum(count for part, count in drawn if part == "answer") <= 60
    drawn.clear()
    # No query is asked after the only update: no second threshold.
    RUN([40, 0, 0, 0], rng, length=1, updates=1, noise=counting, size=100)
    assert sum(count for part, count in drawn if part == "threshold") == 100


def test_halted_runs_answer_nothing(rng):
    outputs = RUN([40, 0, 0, 0], rng, length=8, updates=2, size=50)
    assert (outputs[:, :2, 0] == 1).all()
    assert (outputs[:, 2:, 0] == 2).all()
    assert np.isnan(outputs[:, 2:, 1]).all()


def test_the_worst_query_is_the_worst_of_all(rng):
    masks = (np.arange(16)[:, None] >> np.arange(4)) & 1
    for _ in range(50):
        truth, synthetic = rng.dirichlet(np.ones(4), size=2)
        chosen = worst_query(0, synthetic[None], truth)
        assert abs(chosen[0] @ (truth - synthetic)) == pytest.approx(
            np.abs(masks @ (truth - synthetic)).max()
        )


def test_the_public_stream_adapts_and_looks_at_nothing_private():
    synthetic = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.1, 0.3, 0.3]])
    asked = lightest_element(0, synthetic, np.full(4, np.nan))
    assert asked.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_the_potential_falls_at_updates_only(rng):
    counts = [30, 6, 3, 1]
    outputs = RUN(counts, rng, length=30, updates=30, size=5)
    found = potentials(counts, outputs, **DYNAMICS)
    assert found.shape == (5, 31)
    shares = np.array(counts) / 40
    assert found[:, 0] == pytest.approx((shares * np.log(4 * shares)).sum())
    updated = outputs[..., 0] == 1
    assert (np.diff(found)[~updated] == 0).all()
    assert (np.diff(found)[updated] != 0).all()


def test_worst_error_is_bounded(rng):
    for mechanism in (PMW_ITERATION, PRIVATE_MULTIPLICATIVE_WEIGHTS):
        claim = mechanism.claims[1]
        for counts in ([40, 0, 0, 0], [19, 16, 3, 2]):
            losses = claim.loss(counts, mechanism(counts, rng, size=20_000))
            for beta in claim.levels:
                assert np.mean(losses >= claim.bound(beta)) <= beta
    broken = NOISE_OF_ONE_RECORD
    losses = broken.breaks.loss([10] * 4, broken.mechanism([10] * 4, rng, size=2_000))
    assert np.mean(losses >= broken.breaks.bound(0.05)) > 0.4


def test_errors_are_missing_where_a_run_has_halted(rng):
    outputs = RUN([40, 0, 0, 0], rng, length=4, updates=1, size=(2, 3))
    errors = answer_errors([40, 0, 0, 0], outputs, **DYNAMICS)
    assert errors.shape == (2, 3, 4)
    assert np.isnan(errors[..., 1:]).all()


def test_comparisons_without_noise_have_infinite_loss(rng, assert_rate):
    arguments = {
        "queries": partial(asked_in_turn, elements=(1, 0)),
        "threshold": 0.2,
        "learning_rate": 0.05,
        "noise_epsilon": 1.0,
        "updates": 1,
    }
    transcript = np.array([[0, 0.25], [1, 0.5]])
    logs = [
        log_probability(counts, transcript, compared_with_noise=False, **arguments)
        for counts in ([18, 17, 3, 2], [17, 18, 3, 2])
    ]
    density = log(40 / 2) - abs(0.5 - 18 / 40) * 40
    assert logs[0] - density == pytest.approx(log((1 - exp(-1)) / 2))
    assert logs[1] == -inf
    run = partial(UNNOISED_COMPARISONS.mechanism.run, noise_epsilon=1.0)
    for counts, rate in (([18, 17, 3, 2], (1 - exp(-1)) / 2), ([17, 18, 3, 2], 0)):
        kinds = run(counts, rng, size=20_000)[..., 0]
        assert_rate((kinds == [0, 1]).all(axis=1), rate)


def test_a_reused_comparison_loses_five():
    # Released gap of at most z, after five below: the threshold's noise must be lower still.
    @cache
    def log_chance(margin_below, margin_top, z):
        noise, step = np.linspace(-60, z, 20_001, retstep=True)
        cdf = [
            np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)
            for x in (noise - margin_below, np.array(z - margin_top), noise - margin_top)
        ]
        density = np.exp(-np.abs(noise)) / 2 * cdf[0] ** 5 * np.maximum(cdf[1] - cdf[2], 0)
        return log(density.sum() * step)

    worst = max(
        (log_chance(b, t, z) - log_chance(b + 1, t - 1, z), log_chance(b, t, z))
        for b in range(-3, 4)
        for t in range(-3, 4)
        for z in range(-6, 1)
        if log_chance(b, t, z) > log(1e-7)
    )
    assert worst[0] > ANSWER_REUSES_NOISE.breaks.epsilon + 0.5
    assert not ANSWER_REUSES_NOISE.detectable


def test_answers_below_the_threshold_add_up(rng):
    # Ten queries without error stay below; all answers on one side say where the data are.
    outputs = {
        counts: ANSWERS_BELOW.mechanism(list(counts), rng, size=200_000)
        for counts in ((11, 10, 10, 9), (10, 10, 10, 10))
    }
    hits = [
        np.count_nonzero((found[..., 0] == 0).all(axis=1) & (found[..., 1] >= 0.275).all(axis=1))
        for found in outputs.values()
    ]
    assert hits[0] > 60
    assert log(hits[0] / max(hits[1], 3)) > ANSWERS_BELOW.breaks.epsilon + 0.5


def test_a_direction_read_off_the_truth_shows(rng):
    def rises(counts):
        outputs = DIRECTION_FROM_TRUTH.mechanism(counts, rng, size=20_000)
        return np.mean((outputs[:, :, 0] == [1, 0]).all(axis=1) & (outputs[:, 1, 1] > 0.25))

    assert rises([11, 9, 10, 10]) > 0.15
    assert rises([10, 10, 10, 10]) == 0


@pytest.mark.parametrize("name", ["noise_epsilon", "updates"])
def test_bad_parameters_are_named(rng, name):
    with pytest.raises(ValueError, match=f"^{name} must be positive, got 0$"):
        RUN([1, 1], rng, **({"length": 2, "updates": 1} | {name: 0}))
    with pytest.raises(ValueError, match="at least one record"):
        RUN([0, 0], rng, length=2, updates=1)
