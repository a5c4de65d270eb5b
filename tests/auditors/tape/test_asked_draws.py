"""Which laws a call asks of its generator, and of the global ones."""

import random

import numpy as np
import pytest
from numpy.random import laplace as taken_before

from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.tape.weighing import BITS, asked_draws


def _own_child(database, rng):
    return np.random.default_rng(rng.integers(2**40)).normal()


@pytest.mark.parametrize(
    ("run", "given", "others"),
    [
        (lambda database, rng: rng.laplace(), ["laplace"], []),
        (lambda database, rng: rng.standard_normal(3) + rng.uniform(), ["normal", "uniform"], []),
        (lambda database, rng, *, size: rng.normal(size=size), ["normal"], []),
        (
            lambda database, rng: np.random.randn(),  # noqa: NPY002
            [],
            ["normal"],
        ),
        (lambda database, rng: random.gauss(0, 1), [], ["normal"]),
        (
            lambda database, rng: taken_before(),  # noqa: NPY002
            [],
            [BITS],
        ),
        (lambda database, rng: rng.bit_generator.random_raw(), [BITS], []),
        (lambda database, rng: 3.0, [], []),
        (_own_child, ["integers"], []),
    ],
)
def test_laws_are_told_by_the_generator_that_gave_them(run, given, others):
    door = Sampler(run=run, seed=1).door
    try:
        before = np.random.get_state(legacy=True)[1].tolist()  # noqa: NPY002
        assert door.ask(asked_draws, ([1, 2],), 1) == (given, others)
        assert np.random.get_state(legacy=True)[1].tolist() == before  # noqa: NPY002
    finally:
        door.close()
