"""The regression on cells, and the weights of numbers, beside what a dense solution says."""

import numpy as np
import pytest

from dpwitness.auditors.events.estimates import RIDGE, conjugate_gradients, regressed
from dpwitness.auditors.events.learners import additive
from dpwitness.auditors.events.ledger import Ledger
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions


@pytest.mark.parametrize(
    ("draws", "cells"), [(400, (3, 5)), (5000, (200, 200, 40)), (900, (64,) * 9)]
)
def test_points_of_cells_are_those_of_the_dense_solution(draws, cells):
    rng = np.random.default_rng(draws)
    shared = rng.random(draws)
    codes = [(size * (shared + rng.random(draws)) / 2).astype(np.intp) for size in cells]
    weights = rng.random(draws)
    labels = np.tanh(shared + 0.1 * rng.normal(size=draws))
    points = regressed(codes, cells, labels, weights, 0.3)

    ones = np.concatenate([np.eye(size)[code] for size, code in zip(cells, codes, strict=True)], 1)
    share = weights / weights.sum()
    apart = ones - share @ ones
    spread = apart.T @ (share[:, None] * apart)
    ridge = RIDGE * np.trace(spread) / sum(cells) + sum(cells) * 0.3 / weights.sum()
    wanted = apart.T @ (share * (labels - share @ labels))
    dense = np.linalg.solve(spread + ridge * np.eye(sum(cells)), wanted)
    for found, code, expected in zip(
        points, codes, np.split(dense, np.cumsum(cells)[:-1]), strict=True
    ):
        np.testing.assert_allclose(found, expected - share @ expected[code], atol=1e-5)


def test_the_conjugate_gradient_method_ends_after_as_many_steps_as_there_are_numbers():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    matrix = root @ root.T + np.eye(6)
    steps = []

    def product(vector):
        steps.append(vector)
        return matrix @ vector

    wanted = rng.normal(size=6)
    found = conjugate_gradients(product, wanted, np.diag(matrix))
    np.testing.assert_allclose(matrix @ found, wanted, atol=1e-6 * np.abs(wanted).max())
    assert 0 < len(steps) <= 7
    assert not conjugate_gradients(product, np.zeros(6), np.diag(matrix)).any()


def test_weights_of_numbers_are_where_the_slope_is_level_though_few_rows_give_the_curve():
    """30,000 rows a side of 40 numbers with heavy tails that hang together."""
    rng = np.random.default_rng(11)
    mixed = rng.normal(size=(40, 40)) / 6 + np.eye(40)
    sides = [rng.standard_t(3, size=(30_000, 40)) @ mixed + 0.1 * side for side in (1, 0)]
    ledger = Ledger.fixed_on(tuple(Outputs.of(side[:2048], 2048) for side in sides), questions)
    ledger.add(*(Outputs.of(side, len(side)) for side in sides))
    places = additive._numbers(ledger)
    assert len(places) == 40
    tables = additive._weighted(ledger, places, 0)

    slopes = np.zeros(40)
    levels = [additive._levels(ledger.columns[place]) for place in places]
    weights = np.array([np.polyfit(level, tables[place], 1)[0]
                        for place, level in zip(places, levels, strict=True)])  # fmt: skip
    slopes -= additive.RIDGE * weights
    for side in (0, 1):
        codes = [ledger.codes(place)[side][::2] for place in places]
        odds = sum(tables[place].take(code) for place, code in zip(places, codes, strict=True))
        missed = 1.0 - side - 1 / (1 + np.exp(-odds))
        slopes += [level.take(code) @ missed for level, code in zip(levels, codes, strict=True)]
    # A number of variance one has a curve of a quarter of the rows.
    assert np.abs(slopes).max() < 0.005 * 30_000 / 4
    assert np.abs(weights).max() > 0.02
