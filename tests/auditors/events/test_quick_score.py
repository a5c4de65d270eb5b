"""The score that ranks pairs: held out, finite for anything, telling on few draws."""

import numpy as np
import pytest

from dpwitness.auditors.events.quick_score import _excess, quick_score
from dpwitness.auditors.outputs.outputs import Outputs


def score(first, second, size, *, epsilon=1.0, delta=0.0, repeats=1):
    """Mean score of a few repetitions, seeds fixed so that the test is deterministic."""
    found = []
    for seed in range(repeats):
        rngs = [np.random.default_rng([seed, side]) for side in (0, 1)]
        sides = [
            Outputs.of(make(rng), size) for make, rng in zip((first, second), rngs, strict=True)
        ]
        found.append(quick_score(*sides, epsilon=epsilon, delta=delta))
    assert np.isfinite(found).all()
    return float(np.mean(found))


@pytest.mark.parametrize("size", [0, 5, 11, 12, 13, 30, 200])
@pytest.mark.parametrize(
    "make",
    [
        lambda rng, n: rng.laplace(size=n),
        lambda rng, n: np.full(n, np.nan),
        lambda rng, n: rng.laplace(size=(n, 3)),
        lambda rng, n: np.array(["a"] * n),
        lambda rng, n: [None if u < 0.5 else u for u in rng.random(n)],
    ],
)
def test_any_outputs_have_a_finite_score(make, size):
    score(lambda rng: make(rng, size), lambda rng: make(rng, size), size)


def test_the_score_of_a_pair_grows_with_its_loss():
    base = Outputs.of(np.random.default_rng(0).laplace(size=3000), 3000)
    scores = [
        quick_score(
            base,
            Outputs.of(np.random.default_rng(1).laplace(shift, size=3000), 3000),
            epsilon=1.0,
            delta=0.0,
        )
        for shift in (0.0, 1.0, 2.0, 4.0)
    ]
    assert max(scores[:2]) < 0.1 < scores[2] < scores[3]


@pytest.mark.parametrize("size", [64, 200])
def test_a_gross_violation_stands_out_of_few_draws(size):
    """At 64 draws a side a loss of 4 scores above anything that keeps the claim."""

    def shifted(by):
        return lambda rng: rng.laplace(by, size=size)

    sound = [score(shifted(0), shifted(by), size, repeats=40) for by in (0, 1)]
    assert max(sound) < 0.1 < 0.3 < score(shifted(0), shifted(4), size, repeats=40)


def test_labels_and_directions_count_alike():
    def coin(p):
        return lambda rng: np.where(rng.random(400) < p, "yes", "no")

    one, two = score(coin(0.9), coin(0.1), 400), score(coin(0.1), coin(0.9), 400)
    assert one == pytest.approx(two, abs=0.25)
    assert min(one, two) > 0.5
    assert score(coin(0.7), coin(0.3), 400) < 0.1


def test_the_event_is_measured_on_other_draws_than_chose_it():
    """Without any difference the mean score is that of a random event, below zero."""

    def noise(rng):
        return rng.normal(size=(60, 8))

    assert score(noise, noise, 60, epsilon=0.0, repeats=60) < 0.02


def test_features_that_are_looked_at_together_say_what_each_says_alone():
    rng = np.random.default_rng(4)
    ratios = np.exp([1.0, 0.5, 0.0])
    every = [rng.poisson(rng.uniform(0.5, 9, bins), (2, 2, bins)).astype(float)
             for bins in (2, 3, 17, 40, 2, 9)]  # fmt: skip
    every = [some[:, :, some.sum(axis=(0, 1)) > 0] for some in every]
    together = _excess(every, ratios, 1e-3)
    alone = [_excess([some], ratios, 1e-3) for some in every]
    for found, one in zip(together, zip(*alone, strict=True), strict=True):
        assert found.shape == (6, 2, 3)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, np.concatenate(one))
