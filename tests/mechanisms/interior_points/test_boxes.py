"""Boxes: blocks, invariants under adversarial interior points, privacy by exact sums."""

from itertools import product

import numpy as np
import pytest

from dpwitness.mechanisms.interior_points.boxes import (
    BOXES,
    BOXES_COUNTED,
    block_needed,
    blocks,
    boxes_mechanism,
    errors,
    hard_records,
    hull,
    predict,
    records_needed,
)
from dpwitness.mechanisms.interior_points.broken_boxes import (
    CALLS_AT_WHOLE_BUDGET,
    UNPADDED,
    UNSORTED,
)
from dpwitness.mechanisms.interior_points.theorems_boxes import THEOREMS
from dpwitness.mechanisms.interior_points.theorems_interior_point import THEOREMS as POINTS
from dpwitness.mechanisms.model import IdentityClaim, InvariantClaim, ThresholdClaim

EVERY = {theorem.identifier: theorem for theorem in (*THEOREMS, *POINTS)}
SUBJECTS = {
    name: theorem.at(**{k: p.default for k, p in theorem.parameters.items()})
    for name, theorem in EVERY.items()
}
INVARIANTS = [n for n, s in SUBJECTS.items() if isinstance(s.claim, InvariantClaim)]


def random_case(fields, rng):
    """A case of the record's domain, with the shapes used here."""
    made = {}
    for name, domain in fields.items():
        made[name] = sample(domain, rng)
    return made


def sample(domain, rng):
    kind = type(domain).__name__
    if kind == "Interval":
        value = rng.uniform(domain.low, domain.high)
        return round(value) if domain.integer else value
    if kind == "Choices":
        return domain.values[rng.integers(len(domain.values))]
    if kind == "Product":
        return [sample(part, rng) for part in domain.parts]
    count = rng.integers(domain.min_size, domain.max_size + 1)
    return [sample(domain.row, rng) for _ in range(count)]


@pytest.mark.parametrize("name", INVARIANTS)
def test_invariants_hold_and_literal_forms_do_not(name, rng):
    claim = SUBJECTS[name].claim
    cases = [*claim.examples, *(random_case(claim.cases.fields, rng) for _ in range(1500))]
    least = min(claim.margin(case) for case in cases)
    if EVERY[name].holds:
        assert least >= -claim.tolerance
    else:
        assert least < -claim.tolerance


def test_blocks_change_by_one_number_for_every_small_database():
    """Exhaustive: four places, up to three records, blocks of up to three, labels included."""
    rows = list(product(range(4), (0, 1)))
    for count, block in product((1, 2, 3), (1, 2, 3)):
        made = {}
        for database in product(rows, repeat=count):
            (pair,) = blocks(np.array(database), grid=4, block=block)
            made[database] = [np.bincount(part, minlength=4) for part in pair]
        for database, pair in made.items():
            for other in rows:
                moved = made[(other, *database[1:])]
                for one, two in zip(pair, moved, strict=True):
                    assert np.maximum(one - two, 0).sum() <= 1


def test_the_hull_is_right_and_moves_for_certain(rng):
    rows = np.array([[1, 2, 1], [3, 1, 1], [0, 0, 0]])
    assert hull(rows, rng).tolist() == [[1, 3], [1, 2]]
    assert hull(rows, rng, size=(2, 3)).shape == (2, 3, 2, 2)
    assert errors(rows, hull(rows, rng)).tolist() == [0, 0]


def loss_of(mechanism, one, two):
    """Worst loss of independent calls: the sum of theirs."""
    pairs = zip(mechanism.law(one).parts, mechanism.law(two).parts, strict=True)
    return sum(np.abs(a.log_probabilities - b.log_probabilities).max() for a, b in pairs)


def test_losses_of_the_calls_add_up_below_epsilon():
    base = [[3, 3, 1]] * 5
    for before, after in product(product((0, 3, 7), (0, 3, 7), (0, 1)), repeat=2):
        pair = [*base, list(before)], [*base, list(after)]
        assert loss_of(BOXES, *pair) <= 4.0
    worst = loss_of(CALLS_AT_WHOLE_BUDGET.mechanism, [[0, 0, 0]] * 6, [*[[0, 0, 0]] * 5, [0, 0, 1]])
    assert worst > 1.0


def test_draws_follow_the_law_of_the_calls(rng, assert_frequencies):
    database = [[1, 6, 1], [2, 5, 1], [2, 7, 0], [4, 4, 1], [0, 0, 0], [5, 1, 1]]
    draws = BOXES(database, rng, size=30_000)
    for part, (axis, end) in zip(BOXES.law(database).parts, product((0, 1), (0, 1)), strict=True):
        law = np.exp(part.log_probabilities)
        counts = np.bincount(draws[:, axis, end], minlength=8)
        assert_frequencies(counts, law)


def test_a_count_that_is_too_small_gives_the_empty_box(rng, assert_rate):
    draws = BOXES_COUNTED([[3, 0]] * 6, rng, size=20_000)
    empty = (draws == -1).all(axis=(1, 2))
    bar = 4 + np.log(10)
    assert_rate(~empty, np.exp(-bar) / 2)
    assert not predict(np.array([[-1, -1]]), np.arange(8)[:, None]).any()


def test_sizes_of_the_main_theorem():
    block = block_needed(dimension=2, grid=64, epsilon=1.0, beta=0.1)
    assert (block, records_needed(dimension=2, block=block, alpha=0.25)) == (126, 2016)


def test_the_main_theorem_and_blocks_taken_before_sorting(rng):
    for claim, holds in ((SUBJECTS["PAC-BOX-MAIN"].claim, True), (UNSORTED.breaks, False)):
        assert isinstance(claim, ThresholdClaim)
        run, database = claim.instance(claim.needed)
        failed = claim.loss(database, run(database, rng, size=400)) > claim.level
        # With the true rate at most .1 more than 85 of 400 fail with probability below 1e-8.
        assert bool(failed.sum() <= 85) is holds


def test_few_positives_cost_no_false_positive(rng):
    database = hard_records(60, 64)
    made = boxes_mechanism(dimension=2, grid=64, block=126, records=60, epsilon=1.0)
    wrong = errors(database, made(database, rng, size=400))
    assert (wrong[:, 1] > 0).mean() < 0.2


def test_identities():
    for subject in SUBJECTS.values():
        if isinstance(subject.claim, IdentityClaim):
            assert subject.claim.compute() == pytest.approx(subject.claim.stated)


def test_giving_up_without_noise_is_certain(rng):
    mechanism = UNPADDED.mechanism
    one, two = [[0, 1], [0, 1], [0, 0], [0, 0]], [[0, 1], [0, 0], [0, 0], [0, 0]]
    assert (mechanism(two, rng, size=100) == -1).all()
    assert (mechanism(one, rng, size=100) >= 0).all()
