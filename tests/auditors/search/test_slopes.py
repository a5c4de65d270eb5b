"""Neighbours by the slope of ln P(y): of 243 steps the one that loses most, without a search.

Seeds are fixed: each assertion is about one computation.
"""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import Pair
from dpwitness.auditors.outputs.encoding import canonical
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.search.choices import choice_space
from dpwitness.auditors.search.promise import moves_of, proposed
from dpwitness.auditors.tape.weighing import HOLDING, moved
from dpwitness.auditors.workers import Key
from dpwitness.auditors.workers.door import Worker

STEPS = st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5)
SCORES = st.lists(st.integers(-10, 10), min_size=5, max_size=5)
MOVED = st.tuples(SCORES, STEPS).map(
    lambda d: Pair(d[0], [one + step for one, step in zip(*d, strict=True)])
)
SCALE = 20.0
KEY = Key(0, 1, "tape", 0, 0)


def largest(database, rng, *, size):
    return np.argmax(np.array(database) + rng.gumbel(scale=SCALE, size=(size, 5)), axis=1)


def loss(database, neighbour):
    """The largest log-ratio of an index, either way, by the law of Gumbel noise."""
    one, two = (np.exp(np.array(side) / SCALE) for side in (database, neighbour))
    return np.abs(np.log(one / one.sum()) - np.log(two / two.sum())).max()


def held(run, pair, neighbours, draws=508):
    return moved(Worker(run, alone=False), (pair.database, *neighbours), KEY, draws)


@pytest.mark.parametrize("seed", range(4))
def test_the_neighbour_that_loses_most_is_proposed_of_any_database(seed):
    space = choice_space(MOVED)
    example = space.random(Random(seed), lambda choice: None)
    moves = moves_of(space, example)
    pair = example.value
    told = held(largest, pair, [pair.neighbour, *(move.neighbour for move in moves)])
    found = proposed(example, moves, told.outputs, told.log_weights, 10**6)
    assert told.made == HOLDING * 508 * (1 + len(moves))
    steps = product((-1, 0, 1), repeat=5)
    worst = max(loss(pair.database, np.add(pair.database, step)) for step in steps)
    made = [space.made(choices).value for choices in found]
    assert all(canonical(one.database) == canonical(pair.database) for one in made)
    assert max(loss(one.database, one.neighbour) for one in made) > 0.95 * worst


def test_moves_change_one_choice_and_leave_the_database_as_it_is():
    space = choice_space(MOVED)
    example = space.random(Random(7), lambda choice: None)
    moves = moves_of(space, example)
    for move in moves:
        apart = np.subtract(move.neighbour, example.value.neighbour)
        assert np.count_nonzero(apart) == 1
    assert len({move.place for move in moves}) == 5


def test_a_neighbour_that_one_choice_makes_has_no_slope():
    one_up = SCORES.map(lambda d: Pair(d, [d[0] + 1, *d[1:]]))
    example = choice_space(one_up).random(Random(0), lambda choice: None)
    assert moves_of(choice_space(one_up), example) == []


def test_log_weights_of_released_noise_are_the_log_ratios_themselves():
    def release(database, rng, *, size):
        return database + rng.normal(scale=4.0, size=size)

    told = held(release, Pair(0, 0), [1, -2])
    y = np.asarray(told.outputs.column(Feature("value", ())).values, dtype=float)
    for neighbour, found in zip((1, -2), told.log_weights, strict=True):
        np.testing.assert_allclose(found, (y**2 - (y - neighbour) ** 2) / 32, atol=1e-9)


def test_a_mechanism_that_the_tape_does_not_hold_says_why():
    def other(database, rng, *, size):
        return rng.normal(size=size) if database else rng.laplace(size=size)

    assert "under one database" in held(other, Pair(0, 1), [1]).reason


def test_an_end_beyond_the_doubles_is_an_end_like_others():
    far = 10**400
    wide = st.tuples(st.integers(0, far), st.integers(0, far)).map(lambda d: Pair([0], [1, *d]))
    example = choice_space(wide).random(Random(1), lambda choice: None)
    assert far in {move.value for move in moves_of(choice_space(wide), example)}
