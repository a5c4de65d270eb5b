from dataclasses import replace
from functools import partial
from math import exp, inf, log

import numpy as np
import pytest

from dpwitness.mechanisms.accounting.composition import zcdp_composition
from dpwitness.mechanisms.accounting.privacy_loss import hockey_stick
from dpwitness.mechanisms.composition.broken_composed import (
    BUDGET_NOT_SPLIT,
    NO_LINEAR_TERM,
    NO_LINEAR_TERM_AND_HALF_ROOT,
    ONES_FOR_TWOS,
    ONES_FOR_TWOS_EVERYWHERE,
)
from dpwitness.mechanisms.composition.composed import (
    COMPOSED,
    DRILL_DOWN,
    compose,
    compose_adaptively,
)
from dpwitness.mechanisms.model import LaplaceLaw, Relation
from dpwitness.mechanisms.noise.geometric import GEOMETRIC
from dpwitness.mechanisms.noise.grid_laplace import GRID_LAPLACE
from dpwitness.mechanisms.noise.laplace import LAPLACE, LAPLACE_VECTOR, post_process
from dpwitness.mechanisms.noise.randomized_response import (
    LEAKY_RESPONSE,
    RANDOMIZED_RESPONSE,
    leaky_response,
    leaky_response_law,
    leaky_response_mechanism,
)

SIZES = [None, (), 0, 5, (2, 3)]


def leading(size):
    return np.empty(() if size is None else size).shape


@pytest.mark.parametrize("database", [0, 1])
@pytest.mark.parametrize("rounds", [1, 4])
def test_leaky_responses_have_their_law(rng, assert_frequencies, database, rounds):
    parameters = {"epsilon": 0.7, "delta": 0.1, "rounds": rounds}
    law = leaky_response_law(database, **parameters)
    chances = np.exp(law.log_probabilities)
    assert chances.sum() == pytest.approx(1)
    draws = leaky_response(database, rng, **parameters, size=50_000)
    counts = np.bincount(draws + 1, minlength=rounds + 3)
    possible = chances > 0
    assert not counts[~possible].any()
    assert_frequencies(counts[possible], chances[possible])


def test_leaky_response_is_as_private_as_claimed_and_no_more():
    loss = LEAKY_RESPONSE.privacy_loss(1, 0)
    assert hockey_stick(loss, 1) == pytest.approx(0.05)
    assert hockey_stick(loss, 0.99) > 0.05 + 1e-3
    assert hockey_stick(LEAKY_RESPONSE.privacy_loss(0, 1), 1) == pytest.approx(0.05)
    claim = leaky_response_mechanism(epsilon=0.5, delta=0.01, rounds=3).claims[0]
    assert (claim.epsilon, claim.delta) == (1.5, 0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 1.0}, r"delta must be a number in \[0, 1\), got 1.0"),
        ({"rounds": 0}, "rounds must be a whole number from 1, got 0"),
        ({"database": 2}, "the database must be 0 or 1, got 2"),
    ],
)
def test_bad_parameters_of_responses_are_named(rng, change, message):
    chosen = {"database": 1, "epsilon": 1.0} | change
    with pytest.raises(ValueError, match=f"^{message}$"):
        leaky_response(chosen.pop("database"), rng, **chosen)


@pytest.mark.parametrize("size", SIZES)
def test_all_outputs_stand_side_by_side(rng, size):
    rows = replace(LAPLACE_VECTOR, databases=LAPLACE.databases)
    both = compose(LAPLACE, rows, GEOMETRIC)
    output = both([0, 1, 1], rng, size=size)
    assert output.shape == (*leading(size), 5)
    assert output.dtype == float
    assert compose(GEOMETRIC, GEOMETRIC)([1], rng, size=size).dtype.kind == "i"


def test_parts_are_independent_and_in_order(rng, assert_rate):
    draws = COMPOSED([1, 0], rng, size=50_000)
    assert_rate(draws[:, 0] > 1, 0.5)
    assert_rate(draws[:, 1] > 2, 0.5)
    assert_rate((draws[:, 0] > 1) == (draws[:, 1] > 2), 0.5)
    assert COMPOSED.law([1, 0]).parts == tuple(
        LaplaceLaw(centres=np.array(centre), scale=2.0) for centre in (1.0, 2.0)
    )


def test_basic_composition_is_claimed_for_common_relations():
    claim, *others = compose(LAPLACE, GEOMETRIC).claims
    assert (claim.epsilon, claim.delta, others) == (2, 0, [])
    assert claim.relation is Relation.ADD_REMOVE
    parts = [leaky_response_mechanism(epsilon=e, delta=0.1) for e in (0.5, 0.25)]
    basic, through_zcdp = compose(*parts, delta=0.01).claims
    assert (basic.epsilon, basic.delta) == (0.75, 0.2)
    assert through_zcdp.delta == pytest.approx(0.21)
    assert through_zcdp.epsilon == zcdp_composition([0.5, 0.25], 0.01)
    other = replace(LAPLACE, claims=(replace(LAPLACE.claims[0], relation=Relation.REPLACE_ONE),))
    with pytest.raises(ValueError, match="share no neighbouring relation"):
        compose(LAPLACE, other)


def test_what_cannot_be_composed_is_refused(rng):
    with pytest.raises(ValueError, match="mechanisms must be at least one, got none"):
        compose()
    with pytest.raises(ValueError, match=r"databases of .* differ"):
        compose(LAPLACE, LAPLACE_VECTOR)
    with pytest.raises(ValueError, match="mechanisms must give numbers, got <U6"):
        compose(RANDOMIZED_RESPONSE)("no", rng)


def test_joint_privacy_loss_is_exact():
    parts = [leaky_response_mechanism(epsilon=e, delta=0.1) for e in (0.5, 0.25)]
    loss = compose(*parts).privacy_loss(1, 0)
    assert loss.infinite == pytest.approx(0.19)
    assert hockey_stick(loss, 0.75) == pytest.approx(0.19)
    assert compose(LAPLACE, GEOMETRIC).privacy_loss is None


def test_joint_law_takes_nested_compositions_apart():
    parts = [leaky_response_mechanism(epsilon=e) for e in (0.5, 0.25, 1)]
    nested = compose(compose(*parts[:2]), parts[2]).law(1)
    assert [part.log_probabilities.tolist() for part in nested.parts] == [
        part.law(1).log_probabilities.tolist() for part in parts
    ]


@pytest.mark.parametrize("size", SIZES)
def test_joint_log_probability_adds(rng, size):
    twice = compose(GRID_LAPLACE, GRID_LAPLACE)
    outputs = twice([0.5, 1], rng, size=size)
    each = GRID_LAPLACE.log_probability([0.5, 1], outputs)
    np.testing.assert_allclose(twice.log_probability([0.5, 1], outputs), each.sum(axis=-1))
    assert (each > -inf).all()


@pytest.mark.parametrize("size", SIZES)
def test_steps_are_told_what_was_released(rng, size):
    seen = []

    def step(database, rng, *, earlier, size):
        seen.append(earlier)
        return rng.random((*leading(size), 2))

    mechanism = compose_adaptively(
        steps=(step, step, step),
        epsilons=(1, 2, 3),
        deltas=(0.1, 0, 0.1),
        relation=Relation.ADD_REMOVE,
        databases=LAPLACE.databases,
    )
    output = mechanism([1], rng, size=size)
    assert output.shape == (*leading(size), 6)
    for i, earlier in enumerate(seen):
        np.testing.assert_array_equal(earlier, output[..., : 2 * i])
    assert (mechanism.claims[0].epsilon, mechanism.claims[0].delta) == (6, 0.2)
    with pytest.raises(ValueError, match="epsilons must be one for each of 3 steps"):
        compose_adaptively(
            steps=(step,) * 3,
            epsilons=(1,),
            relation=Relation.ADD_REMOVE,
            databases=LAPLACE.databases,
        )


def test_the_second_count_follows_the_first(rng, assert_rate):
    draws = DRILL_DOWN([0, 0, 3, 3, 3, 3], rng, size=50_000)
    up = draws[:, 0] > 0
    assert_rate(draws[up, 1] > 4, 0.5)
    assert_rate(draws[~up, 1] > 2, 0.5)
    assert_rate(up, 1 - exp(-1) / 2)


def test_log_density_of_the_two_counts_integrates_to_one_and_is_tight():
    axis = np.linspace(-40, 40, 1601)
    middles = (axis[1:] + axis[:-1]) / 2
    outputs = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1)
    density = np.exp(DRILL_DOWN.log_probability([3, 0, 3], outputs))
    assert density.sum() * 0.05**2 == pytest.approx(1, abs=1e-3)
    apart = DRILL_DOWN.log_probability([3], outputs) - DRILL_DOWN.log_probability([], outputs)
    assert np.abs(apart).max() == pytest.approx(1.0)
    broken = BUDGET_NOT_SPLIT.mechanism.log_probability
    assert np.abs(broken([3], outputs) - broken([], outputs)).max() == pytest.approx(2.0)


def test_post_processing_keeps_claims_and_shape(rng, assert_rate):
    signs = post_process(LAPLACE, partial(np.greater, 0), name="sign")
    assert signs.claims == LAPLACE.claims[:1]
    assert_rate(signs([1], rng, size=50_000), exp(-1) / 2)
    assert signs([1], rng, size=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("control", "exact"),
    [
        (NO_LINEAR_TERM_AND_HALF_ROOT, 0.1186),
        (NO_LINEAR_TERM, 9.7332e-3),
        (ONES_FOR_TWOS, 3.7137e-8),
    ],
)
def test_dropped_constants_break_the_claim(control, exact):
    loss = control.mechanism.privacy_loss(1, 0)
    assert hockey_stick(loss, control.breaks.epsilon) == pytest.approx(exact, rel=1e-4)
    assert exact > 2 * control.breaks.delta


def test_ones_for_twos_fail_only_at_small_deltas():
    margin = ONES_FOR_TWOS_EVERYWHERE.claim.margin
    assert margin({"rounds": 1000, "epsilon": 0.1, "digits": 3}) > 0.4
    assert margin({"rounds": 1000, "epsilon": 0.0158, "digits": 9}) < -30
    assert margin({"rounds": 100, "epsilon": 0.05, "digits": 9}) < -15


def test_the_control_that_sampling_finds_has_a_witness(rng, assert_rate):
    control = NO_LINEAR_TERM_AND_HALF_ROOT
    chances = np.exp(control.mechanism.law(1).log_probabilities)
    # From 62 answers 1 on, the loss is 6 or more.
    likely, unlikely = chances[63:].sum(), chances[::-1][63:].sum()
    assert likely - exp(control.breaks.epsilon) * unlikely > 4 * control.breaks.delta
    assert log(likely / unlikely) > control.breaks.epsilon
    assert_rate(control.mechanism(1, rng, size=50_000) >= 62, likely)
