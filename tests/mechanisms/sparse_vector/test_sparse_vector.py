"""AboveThreshold and the sparse vectors, sound and broken, by their exact laws."""

from functools import partial
from math import exp, inf, log

import numpy as np
import pytest

from dpwitness import Pair, check
from dpwitness.auditors.claims.exact import pair_losses
from dpwitness.auditors.claims.follows_law import follows_law
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.mechanisms.model import Histogram, NotListable, Relation, Subject
from dpwitness.mechanisms.sparse_vector.above_threshold import (
    ABOVE,
    ABOVE_THRESHOLD,
    SPARSE_VECTOR,
    above_threshold,
    above_threshold_law,
    above_threshold_mechanism,
    log_bits,
    log_transcripts,
    take,
    transcripts,
)
from dpwitness.mechanisms.sparse_vector.broken_above_threshold import (
    NO_CUT_OFF,
    NOISY_QUERY_RELEASED,
    UNNOISED_QUERIES,
    UNSCALED_NOISE,
)
from dpwitness.mechanisms.sparse_vector.sparse_vector_variants import (
    NUMERIC_SPARSE_VECTOR,
    numeric_sparse_vector_mechanism,
)

SCALES = {"threshold_scale": 1.0, "query_scale": 1.0}
MARGINS = np.arange(-8.0, 9.0)
PAIRS = [([20 - n, n], [19 - n, n + 1]) for n in range(20)]


def as_is(values):
    return np.asarray(values, dtype=float)


def worst_loss(mechanism, pairs=PAIRS):
    with np.errstate(invalid="ignore"):
        losses = [
            np.abs(np.subtract(*(mechanism.law(side).log_probabilities for side in pair)))
            for pair in pairs
        ]
    return max(np.nan_to_num(loss, nan=0.0, posinf=inf).max() for loss in losses)


def on_a_grid(below, above, scales, limit=inf):
    noise = np.linspace(-60, 60, 400_001)
    logs = np.where(noise <= limit, -np.abs(noise) / scales[0] - log(2 * scales[0]), -inf)

    def log_cdf(x):
        return np.where(x < 0, x - log(2), np.log1p(-np.exp(-np.abs(x)) / 2))

    for margin in below:
        logs = logs + log_cdf((noise - margin) / scales[1])
    for margin in above:
        logs = logs + log_cdf((margin - noise) / scales[1])
    return log(np.trapezoid(np.exp(logs), noise))


@pytest.mark.parametrize(
    ("below", "above", "scales", "limit"),
    [
        ([], [1.5], (1, 1), inf),
        ([0.3, -2, 4], [1], (1, 1), inf),
        ([0.5] * 12, [-0.5], (2, 4), inf),
        ([-3], [3, 2, 5], (0.5, 3), inf),
        ([0.3, -1], [], (1, 2), 0.7),
        ([0.3, -1], [2], (1, 2), -3.0),
    ],
)
def test_the_integral_agrees_with_a_fine_grid(below, above, scales, limit):
    found = log_bits(below, above, threshold_scale=scales[0], query_scale=scales[1], limit=limit)
    assert found == pytest.approx(on_a_grid(below, above, scales, limit), abs=5e-4)


def test_tails_that_subtraction_would_lose():
    # Far below the threshold: the difference of two Laplace noises has a closed form.
    for gap in (5.0, 60.0, 300.0):
        expected = log(2 + gap) - gap - log(4)
        assert log_bits([], [-gap], **SCALES) == pytest.approx(expected, abs=1e-12)


def test_without_query_noise_the_integral_is_an_interval():
    silent = {"threshold_scale": 1.0, "query_scale": 0.0}
    assert log_bits([0.0], [1.0], **silent) == pytest.approx(log((1 - exp(-1)) / 2))
    assert log_bits([-1.0], [2.0], **silent) == pytest.approx(log(1 - (exp(-1) + exp(-2)) / 2))
    assert log_bits([-2.0], [-1.0], **silent) == pytest.approx(log((exp(-1) - exp(-2)) / 2))
    assert log_bits([1.0], [0.0], **silent) == -inf


def test_transcripts_end_at_the_last_positive():
    assert transcripts(3, 1).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2], [1, 2, 2]]
    assert len(transcripts(6, 3)) == 42
    assert len(transcripts(4, inf)) == 16


@pytest.mark.parametrize(("length", "positives", "scale"), [(7, 2, 3.0), (5, inf, 8.0), (4, 2, 0)])
def test_all_transcripts_at_once_are_as_likely_as_each_by_itself(length, positives, scale, rng):
    margins = rng.normal(0, 40, length)
    scales = {"threshold_scale": 2.0, "query_scale": scale}
    listed = transcripts(length, positives)
    found = log_transcripts(listed, margins.tolist(), positives=positives, **scales)
    for row, log_probability in zip(listed, found, strict=True):
        by_itself = log_bits(margins[row == 0].tolist(), margins[row == 1].tolist(), **scales)
        assert log_probability == pytest.approx(by_itself, abs=1e-11)
    assert np.exp(found).sum() == pytest.approx(1)
    impossible = [[2, 0, 0, 0], [2, 2, 2, 2], [0, 2, 0, 1]]
    wrong = log_transcripts(np.array(impossible), [0.0] * 4, positives=positives, **scales)
    assert wrong.tolist() == [-inf] * 3


def long_vector(make=above_threshold_mechanism, **more):
    return make(queries=partial(take, bins=(1,) * more["length"]), threshold=0.0, sensitivity=1.0,
                threshold_epsilon=0.5, query_epsilon=0.5, relation=Relation.REPLACE_ONE,
                databases=Histogram(bins=2, total=3), **more)  # fmt: skip


def test_a_law_too_long_to_list_is_left_out_with_a_remark():
    too_long = long_vector(length=24, positives=12)
    for claim in too_long.claims:
        found = check(Subject(claim=claim, mechanism=too_long), trials=200, seed=3).finding
        assert found.proved is None
        assert "the exact law was left out: a list of 2.34e+08 answers" in found.note
    with pytest.raises(NotListable, match=r"7.94e\+09 answers"):
        transcripts(100, 5)
    with pytest.raises(InvalidArgument, match="longer than the"):
        follows_law(too_long)
    assert pair_losses(too_long, Pair([0, 3], [1, 2])) is None


def test_hundreds_of_queries_are_listed_and_audited():
    many = long_vector(length=400)
    found = check(Subject(claim=many.claims[1], mechanism=many), trials=1000, seed=3).finding
    assert found.proved is not None


def test_the_density_of_a_long_numeric_vector_lists_no_transcripts(rng):
    numeric = long_vector(numeric_sparse_vector_mechanism, length=100, positives=5,
                          answer_epsilon=1.0)  # fmt: skip
    outputs = numeric([1, 2], rng, size=20)
    assert np.isfinite(numeric.log_probability([1, 2], outputs)).all()


@pytest.mark.parametrize(
    "mechanism", [ABOVE_THRESHOLD, SPARSE_VECTOR, UNSCALED_NOISE.mechanism, NO_CUT_OFF.mechanism]
)
def test_draws_follow_the_law(mechanism, rng, assert_rate):
    law = mechanism.law([11, 9])
    probabilities = np.exp(law.log_probabilities)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    draws = mechanism([11, 9], rng, size=40_000)
    seen = (draws[:, None, :] == law.outcomes).all(axis=-1)
    assert seen.any(axis=1).all()
    for place, probability in enumerate(probabilities):
        assert_rate(seen[:, place], probability)


@pytest.mark.parametrize("mechanism", [ABOVE_THRESHOLD, SPARSE_VECTOR])
def test_sound_laws_keep_the_claim(mechanism):
    epsilon = mechanism.claims[0].epsilon
    assert 0.5 * epsilon < worst_loss(mechanism) <= epsilon


@pytest.mark.parametrize(
    ("control", "least"), [(UNSCALED_NOISE, 3.6), (NO_CUT_OFF, 5.2), (UNNOISED_QUERIES, inf)]
)
def test_broken_laws_break_it(control, least):
    assert worst_loss(control.mechanism) >= least > control.breaks.epsilon


def test_a_released_comparison_breaks_it():
    # Four queries below, the last one above with a value of at most 1/2 over the threshold.
    keywords = NOISY_QUERY_RELEASED.mechanism.run.keywords
    scale, epsilon = keywords["query_scale"], NOISY_QUERY_RELEASED.breaks.epsilon
    released = np.linspace(-20, 0.5, 401)

    def log_density(values):
        margins = as_is(values) - keywords["threshold"]
        return np.array([
            log_bits(
                margins[:-1], [], limit=z, threshold_scale=keywords["threshold_scale"],
                query_scale=scale,
            ) - abs(z - margins[-1]) / scale
            for z in released
        ])  # fmt: skip

    likely, unlikely = (
        np.trapezoid(np.exp(log_density(values)), released)
        for values in ([0] * 4 + [1], [1] * 4 + [0])
    )
    assert likely / 2 / scale > 0.01
    assert log(likely / unlikely) > epsilon + 0.4


@pytest.mark.parametrize(("below", "most"), [(0, 1.0), (1, 2.0), (3, 3.0), (5, 3.0)])
def test_threshold_and_query_noise_of_one_scale_cost_three(below, most):
    # Margins in units of the noise; epsilon 1/2 makes one record move them by 1/2.
    worst = max(
        log_bits([b] * below, [t], **SCALES) - log_bits([b + 0.5] * below, [t - 0.5], **SCALES)
        for b in MARGINS
        for t in MARGINS
    )
    assert worst / 0.5 <= most + 1e-9
    assert worst / 0.5 > most - 0.15


def test_accuracy_of_the_bits(rng):
    for claim in SPARSE_VECTOR.claims[1:]:
        losses = claim.loss([3, 17], SPARSE_VECTOR([3, 17], rng, size=20_000))
        for beta in claim.levels:
            assert np.mean(losses >= claim.bound(beta)) <= beta


def test_answers_are_fresh(rng, assert_distribution):
    outputs = NUMERIC_SPARSE_VECTOR([11, 9], rng, size=40_000)
    above = outputs[..., 0] == 1
    values = np.broadcast_to(take([11, 9], bins=(1, 1, 0, 0)), above.shape)[above]
    noise = (outputs[..., 1][above] - values) * 1.25 / 2
    assert_distribution(
        noise, lambda x: np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)
    )
    assert np.isnan(outputs[..., 1][~above]).all()


def test_log_density_of_numeric_outputs(rng):
    mechanism = NUMERIC_SPARSE_VECTOR
    outputs = mechanism([11, 9], rng, size=(2, 5_000))
    first, second = (mechanism.log_probability(side, outputs) for side in ([11, 9], [10, 10]))
    assert first.shape == (2, 5_000)
    assert np.abs(first - second).max() <= mechanism.claims[0].epsilon
    # The mean of a likelihood ratio is 1.
    assert np.exp(second - first).mean() == pytest.approx(1, abs=0.05)
    impossible = outputs[0, :1].copy()
    impossible[..., 0] = [0, 1, 1, 1]
    assert mechanism.log_probability([11, 9], impossible) == -inf


def test_halted_runs_stay_halted(rng):
    draws = above_threshold(
        [100.0] * 4, rng, queries=as_is, threshold=0.0, positives=2, size=50, **SCALES
    )
    assert (draws == [1, 1, 2, 2]).all()
    law = partial(above_threshold_law, queries=as_is, threshold=0.0, positives=2, **SCALES)
    assert np.exp(law([100.0] * 4).log_probabilities).max() == pytest.approx(1)


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_every_positive_answer_is_paid_for(positives):
    # All queries move by their sensitivity and all answers lie beyond both: the worst outputs.
    mechanism = numeric_sparse_vector_mechanism(
        queries=partial(take, bins=(1,) * positives),
        length=positives,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=0.1,
        query_epsilon=0.1,
        answer_epsilon=4.0,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
        positives=positives,
    )
    output = np.array([[(ABOVE, 15.0)] * positives])
    logs = [mechanism.log_probability(side, output)[0] for side in ([10, 10], [9, 11])]
    assert 4 < logs[1] - logs[0] <= mechanism.claims[0].epsilon
