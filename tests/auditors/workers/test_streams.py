"""The randomness of a draw follows from its key and number, and none shares any with another."""

import random

import numpy as np
import pytest

from dpwitness.auditors.workers import Key, Stream
from dpwitness.auditors.workers.streams import (
    ROWS,
    SINGLE,
    generator,
    prime_globals,
    seed_globals,
    untouched,
)

KEY = Key(7, 2**100 + 3, "attempt", 1, 4)


def words(stream, draw, count=12):
    return stream.at(draw).integers(2**64, size=count, dtype=np.uint64).tolist()


def test_a_draw_is_the_same_alone_and_in_any_order():
    order = list(range(40))
    alone = {draw: words(Stream(KEY), draw) for draw in order}
    random.Random(3).shuffle(order)
    one = Stream(KEY)
    assert {draw: words(one, draw) for draw in order} == alone
    assert words(one, 5, 1000)[:12] == alone[5]


def test_draws_are_those_of_philox_at_their_counter():
    """Salmon et al. (2011), as numpy has it: the key is the hash, the second word the draw."""
    for kind in (SINGLE, ROWS):
        for draw in (0, 1, 2**20):
            source = np.random.Philox(
                key=KEY.words, counter=np.array([0, draw, 0, kind], np.uint64)
            )
            expected = np.random.Generator(source).integers(2**64, size=12, dtype=np.uint64)
            assert words(Stream(KEY, kind), draw) == expected.tolist()


def test_no_two_draws_share_a_word():
    keys = [KEY, KEY._replace(side=0), KEY._replace(stage="claim"), KEY._replace(chunk=5),
            KEY._replace(seed=8), KEY._replace(pair=2)]  # fmt: skip
    found = [
        word
        for key in keys
        for kind in (SINGLE, ROWS)
        for draw in range(50)
        for word in words(Stream(key, kind), draw)
    ]
    assert len(set(found)) == len(found)


def test_children_and_seeds_belong_to_the_draw():
    def spawned(draw):
        rng = Stream(KEY).at(draw)
        return [child.random() for child in rng.spawn(2) + rng.spawn(1)]

    assert spawned(3) == spawned(3)
    assert len({*spawned(3), *spawned(4)}) == 6
    states = [
        Stream(KEY).at(n).bit_generator.seed_seq.generate_state(2).tolist() for n in (1, 1, 2)
    ]
    assert states[0] == states[1] != states[2]
    assert generator(*KEY, 9).random() == Stream(KEY).at(9).random()


@pytest.mark.parametrize(
    "draw",
    [
        random.random,
        np.random.normal,
        lambda: np.random.default_rng().random() and random.gauss(0, 1),
    ],
)
def test_who_draws_from_the_global_generators_is_noticed(draw):
    prime_globals()
    assert untouched()
    draw()
    assert not untouched()
    prime_globals()
    assert untouched()


def test_global_generators_have_a_place_for_each_draw():
    found = []
    for number in (1, 2, 1):
        seed_globals(KEY, number)
        found.append((random.random(), np.random.normal()))  # noqa: NPY002
    assert found[0] == found[2] != found[1]
