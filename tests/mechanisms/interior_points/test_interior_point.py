"""Interior points: exact laws, thresholds, and the recursion against its own law."""

from itertools import combinations_with_replacement
from math import log

import numpy as np
import pytest

from dpwitness.mechanisms.interior_points.broken_boxes import DOUBLED_WEIGHTS, TOO_FEW_POINTS
from dpwitness.mechanisms.interior_points.interior_point import (
    INTERIOR_POINT,
    REC_CONCAVE,
    balanced_points,
    depth,
    depth_scores,
    failure_bound,
    interior_point_law,
    not_interior,
    one_level_failure,
    points_needed,
    points_promised,
    rec_concave,
    rec_concave_law,
    step_budget,
    stepped_points,
    terraced_points,
)
from dpwitness.mechanisms.selection.exponential import draw_index, normalised


def probabilities(law):
    return np.exp(law.log_probabilities)


def replaced(grid, points):
    """Every pair of multisets that differ in one point."""
    for shared in combinations_with_replacement(range(grid), points - 1):
        for before in range(grid):
            for after in range(before):
                yield [*shared, before], [*shared, after]


def worst_loss(law, grid, points):
    return max(
        np.abs(law(one).log_probabilities - law(two).log_probabilities).max()
        for one, two in replaced(grid, points)
    )


def test_indices_have_their_law(rng, assert_frequencies):
    logits = np.array([0.0, 2.0, -1.0, 1.0])
    draws = draw_index(logits, rng, (50_000,))
    assert_frequencies(np.bincount(draws, minlength=4), np.exp(normalised(logits)))
    assert draw_index(np.zeros(1), rng, (3,)).tolist() == [0, 0, 0]
    assert (draw_index(np.array([0.0, 5000.0]), rng, (100,)) == 1).all()


def test_depths_of_a_small_database():
    assert depth_scores([1, 1, 3], grid=5).tolist() == [0, 2, 1, 1, 0]


def test_the_exact_loss_over_all_neighbours():
    assert worst_loss(INTERIOR_POINT.law, 6, 4) == pytest.approx(0.79900, abs=5e-6)
    assert 1 < worst_loss(DOUBLED_WEIGHTS.mechanism.law, 6, 4) < 2


def test_draws_follow_the_law(rng, assert_frequencies):
    database = [0, 2, 2, 5]
    draws = INTERIOR_POINT(database, rng, size=60_000)
    law = INTERIOR_POINT.law(database)
    assert_frequencies(np.bincount(draws, minlength=6), probabilities(law))


def failure(points, grid):
    database = balanced_points(points, grid)
    law = interior_point_law(database, grid=grid, epsilon=1.0)
    return probabilities(law)[not_interior(database, law.outcomes) > 0].sum()


@pytest.mark.parametrize(
    ("points", "grid", "expected"), [(26, 64, 0.0445), (14, 64, 0.4835), (20, 1024, 0.775)]
)
def test_the_hardest_database(points, grid, expected):
    assert failure(points, grid) == pytest.approx(expected, abs=5e-4)
    assert failure(points, grid) <= failure_bound(points=points, grid=grid, epsilon=1.0)
    closed = (grid - 2) / (grid - 2 + 2 * np.exp(points / 4))
    assert failure(points, grid) == pytest.approx(closed)


def test_points_needed_keep_the_promise_and_half_of_them_do_not():
    assert points_needed(grid=64, epsilon=1.0, beta=0.1) == 26
    assert failure(26, 64) <= 0.1
    claim = TOO_FEW_POINTS.breaks
    assert claim.needed == 14
    assert failure(claim.needed, 64) > 4 * claim.beta


@pytest.mark.parametrize("grid", [3, 16, 64, 500])
@pytest.mark.parametrize("beta", [0.3, 0.1, 0.01])
def test_the_threshold_holds_on_every_grid(grid, beta):
    assert failure(points_needed(grid=grid, epsilon=1.0, beta=beta), grid) <= beta


def test_levels_of_the_recursion():
    assert [depth(grid) for grid in (32, 33, 1000, 2**31, 2**31 + 1)] == [0, 1, 1, 1, 2]
    assert depth(1000, base=8) == 2


def test_points_of_the_recursion():
    assert points_promised(grid=1000, epsilon=1.0, delta=1e-6, beta=0.1) == 1758
    assert points_promised(grid=1000, epsilon=4.0, delta=1e-4, beta=0.1, base=8) == 5369
    with pytest.raises(ValueError, match="grid must be above 32 for a recursion, got 32"):
        points_promised(grid=32, epsilon=1.0, delta=1e-6, beta=0.1)


DATABASES = [
    [5] * 24,
    [0] * 12 + [63] * 12,
    list(range(20, 44)),
    [3, 5, 60, 61, 61, 20, 10, 30, *range(31, 47)],
]


@pytest.mark.parametrize("database", DATABASES)
def test_the_recursion_follows_its_law(rng, database):
    law = REC_CONCAVE.law(database)
    expected = probabilities(law)
    assert expected.sum() == pytest.approx(1)
    draws = REC_CONCAVE(database, rng, size=40_000)
    counts = np.bincount(draws + 1, minlength=65)
    # Cells too rare for chi-square are looked at together, by the bound of Bernstein.
    spread = np.sqrt(2 * 40_000 * expected * (1 - expected) * log(2e9)) + log(2e9)
    assert (np.abs(counts - 40_000 * expected) <= spread).all()


def test_the_recursion_is_private_on_all_pairs_of_a_few_places():
    def hockey(one, two, epsilon):
        return np.maximum(one - np.exp(epsilon) * two, 0).sum()

    places = [0, 20, 21, 40, 63]
    found = 0.0
    for shared in combinations_with_replacement(places, 2):
        base = list(shared) * 11 + [shared[0]]
        for before in places:
            for after in places:
                one, two = (probabilities(REC_CONCAVE.law([*base, x])) for x in (before, after))
                found = max(found, hockey(one, two, 4.0))
    assert found <= 1e-3


@pytest.mark.parametrize(
    ("base", "points", "epsilon", "delta"), [(32, 1758, 1.0, 1e-6), (8, 5369, 4.0, 1e-4)]
)
def test_with_the_points_promised_it_does_not_fail(rng, base, points, epsilon, delta):
    options = {"grid": 1000, "epsilon": epsilon, "delta": delta, "base": base}
    for database in (balanced_points(points, 1000), list(np.arange(points) % 1000)):
        law = rec_concave_law(database, **options)
        failed = probabilities(law)[not_interior(database, law.outcomes) > 0].sum()
        assert failed <= 0.1
        draws = rec_concave(database, rng, **options, size=200)
        assert not not_interior(database, draws).any()


def test_half_of_the_points_promised_are_too_few():
    # By the exact law, on the terraces: 2 is no constant, and all of the points are enough.
    grid, beta = 1000, 0.1
    options = {"grid": grid, "epsilon": 1.0, "delta": 1e-6}
    needed = points_promised(**options, beta=beta)

    def failing(points):
        database = terraced_points(points, grid)
        assert len(database) == points
        law = rec_concave_law(database, **options)
        return float(not_interior(database, law.outcomes) @ np.exp(law.log_probabilities))

    assert failing(needed // 2) > 1.3 * beta
    assert failing(needed) < 1e-6


def share_of_its_bound(points, **options):
    law = rec_concave_law(points, **options)
    failed = float(not_interior(points, law.outcomes) @ np.exp(law.log_probabilities))
    return failed / one_level_failure(points=len(points), **options)


def test_one_level_of_recursion_keeps_its_bound_on_random_points():
    # By the exact law, just above the points from which something is promised, where most fails.
    rng = np.random.default_rng(0)
    for _ in range(200):
        grid, epsilon = int(rng.choice([33, 64, 65, 128])), float(rng.choice([1, 4, 10]))
        delta = float(rng.choice([0.4, 0.1, 1e-2, 1e-3]))
        step, stable = step_budget(grid, epsilon, delta)
        bar = 2 + 2 / step * log(1 / (2 * stable))
        number = int(8 * bar * (1 + 0.4 * rng.random())) + 1
        places = np.sort(rng.integers(0, grid, rng.integers(2, 9)))
        shares = rng.dirichlet(np.full(len(places), rng.choice([0.3, 1, 5])))
        points = np.repeat(places, rng.multinomial(number, shares)).tolist()
        assert share_of_its_bound(points, grid=grid, epsilon=epsilon, delta=delta) <= 1


@pytest.mark.parametrize(
    ("points", "grid", "epsilon", "delta"),
    [(1110, 1000, 1.0, 1e-6), (1150, 1025, 1.0, 1e-6), (420, 5000, 2.0, 1e-4)],
)
def test_stepped_points_come_near_the_bound_of_one_level(points, grid, epsilon, delta):
    options = {"grid": grid, "epsilon": epsilon, "delta": delta}
    stepped = stepped_points(points=points, **options)
    assert len(stepped) == points
    assert 0.2 < share_of_its_bound(stepped, **options) <= 1


def test_bad_parameters_are_named(rng):
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        rec_concave([1], rng, grid=64, epsilon=-1, delta=0.1)
