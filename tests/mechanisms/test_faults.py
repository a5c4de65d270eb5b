"""Faults in the arithmetic and the samplers that no small instance would show are seen by a law."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from dpwitness import HarnessError, check
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.catalogue import THEOREMS
from dpwitness.mechanisms.composition import composed
from dpwitness.mechanisms.interior_points import interior_point
from dpwitness.mechanisms.learning import greedy_conjunctions
from dpwitness.mechanisms.multiplicative_weights import pmw_session
from dpwitness.mechanisms.noise import geometric, theorems_noise
from dpwitness.mechanisms.sparse_vector import above_threshold, sparse_vector_variants

BY_NAME = {theorem.identifier: theorem for theorem in THEOREMS}
ROOM = "dpwitness.mechanisms."


def scaled(place, name, factor):
    """The function with all numbers that it gives scaled."""
    found = getattr(__import__(ROOM + place, fromlist=[name]), name)

    def faulty(*given, **named):
        result = found(*given, **named)
        return tuple(np.multiply(result, factor).tolist()) if np.ndim(result) else result * factor

    return faulty


CALIBRATIONS = [
    ("multiplicative_weights.pmw", "noise_epsilon_for", "PMW-SPENT"),
    ("boosting.query_weights", "attenuation_for", "BQ-MU-SPENT"),
    ("boosting.boosting", "base_scale", "BQ-BASE-SPENT"),
    ("interior_points.boxes", "call_privacy", "PAC-BOX-SPENT"),
    ("interior_points.theorems_interior_point", "step_budget", "PAC-IP-REC-SPENT"),
    ("learning.conjunctions", "laplace_scale", "CONJ-P1-SPENT"),
    ("learning.greedy_conjunctions", "round_privacy", "CONJ-P2-SPENT"),
    ("gradient_descent.theorems_noisy_gradient_descent", "l2_multiplier", "GD-SPENT"),
    ("gradient_descent.theorems_noisy_gradient_descent", "coordinate_multiplier", "GD-SPENT"),
    ("gradient_descent.vector_sum", "l2_scale", "GD-T3-SPENT"),
]


@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize(("place", "name", "theorem"), CALIBRATIONS)
def test_a_calibration_that_spends_a_hundredth_more_or_less_is_refuted(
    monkeypatch, place, name, theorem, factor
):
    assert check(BY_NAME[theorem]).verdict is Verdict.PROVED
    monkeypatch.setattr(ROOM + f"{place}.{name}", scaled(place, name, factor))
    assert check(BY_NAME[theorem]).verdict is Verdict.REFUTED


def narrow(length, scale):
    """Blocks of half the length."""
    return np.arange(0, length, 4 * scale), np.append(0, np.arange(2 * scale, length, 4 * scale))


def twice_the_zeros(rng, scale, count):
    noise = rng.geometric(-np.expm1(-1 / scale), size=count) - 1
    return np.where(rng.random(count) < 0.5, noise, -noise)


FIRST_SIZE = greedy_conjunctions.greedy_sample_size
SCALES = above_threshold.noise_scales


def quiet(**named):
    """The noise of the threshold halved."""
    found = SCALES(**named)
    return found | {"threshold_scale": found["threshold_scale"] / 2}


def low_bar(epsilon, delta):
    return 2 + 2 / epsilon


def fewer_rows(**named):
    return 9 * FIRST_SIZE(**named) // 10


FAULTS = [
    (f"{ROOM}learning.theorems_greedy_conjunctions.greedy_sample_size", fewer_rows, "CONJ-P2-SIZE"),
    (f"{ROOM}interior_points.theorems_interior_point.partitions", narrow, "PAC-IP-REC-BLOCKS"),
    (f"{interior_point.__name__}._bar", low_bar, "PAC-IP-CHOOSE"),
    (f"{geometric.__name__}._attempts", twice_the_zeros, "T-GRID-LAW"),
    (f"{above_threshold.__name__}.noise_scales", quiet, "SVT-STREAM"),
]


@pytest.mark.long
@pytest.mark.parametrize(("place", "fault", "theorem"), FAULTS, ids=[name for *_, name in FAULTS])
def test_a_fault_in_a_branch_breaks_its_own_theorem(monkeypatch, place, fault, theorem):
    assert check(BY_NAME[theorem], trials=20_000).verdict is not Verdict.REFUTED
    monkeypatch.setattr(place, fault)
    assert check(BY_NAME[theorem], trials=20_000).verdict is Verdict.REFUTED


REAL_INTERACTION = sparse_vector_variants.sparse_vector_interaction
REAL_COST = composed.cost_of
REAL_UPDATE = pmw_session.multiplicative_update
REAL_GEOMETRIC = theorems_noise.geometric_mechanism


def smaller(place, name, factor):
    """A number that is promised to be enough, that many times smaller."""
    found = getattr(__import__(ROOM + place, fromlist=[name]), name)
    return lambda **named: max(1, found(**named) // factor)


def other_noise(factor):
    """The mechanism with its claims, and the noise of `factor` times the epsilon."""

    def made(**named):
        other = REAL_GEOMETRIC(**{**named, "epsilon": factor * named["epsilon"]})
        return replace(other, claims=REAL_GEOMETRIC(**named).claims)

    return made


def noise_of_one_positive(**named):
    core = REAL_INTERACTION(**{**named, "positives": 1})
    return replace(REAL_INTERACTION(**named), answer=core.answer)


def slow(synthetic, query, direction, rate):
    return REAL_UPDATE(synthetic, query, direction, rate / 16)


BASE, GREEDY = "boosting.theorems_base_synopsis", "learning.greedy_conjunctions"
PROMISED = "interior_points.theorems_interior_point"
PLANTED = [
    (f"{GREEDY}.remove_falsified", lambda alive, group, *_: (alive, group), "CONJ-P2"),
    (f"{GREEDY}.greedy_sample_size", smaller(GREEDY, "greedy_sample_size", 30), "CONJ-P2-MAIN"),
    (
        f"{GREEDY}.greedy_sample_size",
        smaller(GREEDY, "greedy_sample_size", 30),
        "CONJ-P2-ADVANCED-MAIN",
    ),
    (f"{PROMISED}.points_promised", smaller(PROMISED, "points_promised", 2), "PAC-IP-REC-UTILITY"),
    (f"{BASE}.samples_needed", smaller(BASE, "samples_needed", 2), "BQ-6.1"),
    (f"{BASE}.samples_needed", smaller(BASE, "samples_needed", 2), "BQ-BASE-ACC"),
    (f"{BASE}.samples_needed", smaller(BASE, "samples_needed", 7), "BQ-6.1-ACC"),
    ("gradient_descent.vector_sum.onto_ball", lambda points, radius: points, "GD-T3"),
    (
        "gradient_descent.vector_sum.gaussian_delta",
        scaled("gradient_descent.vector_sum", "gaussian_delta", 0.9),
        "GD-T3-NEC",
    ),
    ("noise.theorems_noise.geometric_mechanism", other_noise(2), "T-GEO"),
    ("noise.theorems_noise.geometric_mechanism", other_noise(0.5), "T-GEO-TAIL"),
    (
        "sparse_vector.sparse_vector_variants.sparse_vector_interaction",
        noise_of_one_positive,
        "SVT-SESSION",
    ),
    ("composition.composed.cost_of", lambda query: REAL_COST(query) / 2, "COMP-FILTER"),
    ("multiplicative_weights.pmw_session.multiplicative_update", slow, "PMW-SESSION-KL"),
]


@pytest.mark.quality
@pytest.mark.parametrize(("place", "fault", "theorem"), PLANTED, ids=[name for *_, name in PLANTED])
def test_a_planted_fault_is_caught_by_its_statement(monkeypatch, place, fault, theorem):
    monkeypatch.setattr(ROOM + place, fault)
    # Draws that are not those of the stated law end a check with status 4.
    with suppress(HarnessError):
        assert check(BY_NAME[theorem], trials=20_000).verdict is Verdict.REFUTED
