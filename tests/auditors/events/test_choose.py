"""The events that theory calls best are found, whatever form the output has.

All samples come from fixed seeds, so these are fixed computations. Bounds foreseen are compared
with that of the best event by the same formula at the true probabilities.
"""

from math import e, exp, log, sqrt

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dpwitness.auditors.choosing.choose import learn
from dpwitness.auditors.choosing.promises import Aim, lepski, predicted_bound, smoothed, straight
from dpwitness.auditors.events.bins import tidy
from dpwitness.auditors.events.events import AdditiveScore, Among
from dpwitness.auditors.events.learners.one_column import half_lines
from dpwitness.auditors.events.ledger import Ledger
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions
from dpwitness.auditors.privacy.shown import sketch

TRIALS, LEVEL = 1_000_000, 0.05


def bound(p, q, delta=0.0):
    excess = p - delta
    noise = p * (1 - p) / excess**2 + (1 - q) / q
    return log(excess / q) + ndtri(LEVEL) * sqrt(noise / TRIALS)


def chosen(first, second, *, epsilon=1.0, delta=0.0, learnt=100_000, check=1_000_000):
    """The bound that the learnt event is worth, from fresh draws of both samplers."""
    sides = [Outputs.of(draw(np.random.default_rng(s), learnt), learnt)
             for s, draw in ((1, first), (2, second))]  # fmt: skip
    choice = learn(*sides, epsilon=epsilon, delta=delta, trials=TRIALS, level=LEVEL)
    rates = [choice.event.contains(Outputs.of(draw(np.random.default_rng(s), check), check)).mean()
             for s, draw in ((3, first), (4, second))]  # fmt: skip
    p, q = rates[::-1] if choice.reversed else rates
    return choice, bound(p, max(q, 1 / check), delta)


def laplace(shift):
    return lambda rng, size: rng.laplace(shift, size=size)


def normal(shift, sigma):
    return lambda rng, size: rng.normal(shift, sigma, size=size)


def test_laplace_is_cut_on_its_plateau():
    choice, value = chosen(laplace(0), laplace(1))
    assert value > 0.99 * bound(0.5, 0.5 / e)
    assert choice.predicted == pytest.approx(1.0, abs=0.1)


def test_geometric_and_categories_are_found():
    def geometric(shift):
        ratio = 1 - exp(-1)
        return lambda rng, size: shift + rng.geometric(ratio, size) - rng.geometric(ratio, size)

    _, value = chosen(geometric(0), geometric(1))
    assert value > 0.99 * bound(e / (1 + e), 1 / (1 + e))

    def vote(probabilities):
        return lambda rng, size: rng.choice(3, size=size, p=probabilities)

    _, value = chosen(vote([0.5, 0.3, 0.2]), vote([0.2, 0.3, 0.5]))
    assert value > 0.99 * bound(0.5, 0.2)


def test_tails_are_found_when_delta_asks_for_them():
    # For delta = .01 the best half-line of a unit shift with sigma 1.8 has p near .2.
    first, second = normal(1, 1.8), normal(0, 1.8)
    _, value = chosen(first, second, delta=0.01)
    from scipy.special import ndtr

    cuts = np.linspace(-2, 6, 400)
    best = max(
        bound(p, q, 0.01)
        for p, q in zip(ndtr(-(cuts - 1) / 1.8), ndtr(-cuts / 1.8), strict=True)
        if p > 0.02
    )
    assert value > 0.95 * best


def test_coordinates_are_added_up():
    def vector(shift):
        return lambda rng, size: rng.laplace(shift, size=(size, 5))

    _, value = chosen(vector(0.0), vector(0.2))
    single = bound(0.5, 0.5 * exp(-0.2))
    assert value > 3 * single


def test_shared_noise_gives_itself_away():
    def shared(shift):
        def draw(rng, size):
            return rng.laplace(size=(size, 1)) + np.array([0.0, shift, 0.0])

        return draw

    _, value = chosen(shared(0.0), shared(1.0))
    assert value > 8


def test_outputs_that_only_one_side_gives_are_found():
    def leaky(rate):
        def draw(rng, size):
            out = rng.laplace(size=size)
            return np.where(rng.random(size) < rate, 7.25, out)

        return draw

    choice, value = chosen(leaky(0.002), leaky(0.0))
    assert choice.event.describe() == "output is 7.25"
    assert choice.rates[1] < 1e-4
    assert value > 5


def test_both_directions_are_looked_at():
    one, _ = chosen(laplace(0), laplace(1))
    leak = [
        Outputs.of_list([None, 1.0, 1.0, None, 1.0, 1.0, 1.0] * 150),
        Outputs.of_list([1.0] * 1050),
    ]
    for sides, turned in ((leak, False), (leak[::-1], True)):
        choice = learn(*sides, epsilon=1.0, delta=0.0, trials=1000, level=0.01)
        assert choice.reversed is turned
        assert choice.event.describe() == "output is None"
    assert one.predicted > 0.5


@pytest.mark.parametrize("size", [2, 3, 32, 64, 200, 1000])
def test_there_is_always_an_event(size):
    for make in (
        lambda rng: rng.laplace(size=size),
        lambda rng: np.zeros(size),
        lambda rng: np.full(size, np.nan),
        lambda rng: rng.laplace(size=(size, 3)),
        lambda rng: np.array(["a"] * size),
    ):
        sides = [Outputs.of(make(np.random.default_rng(s)), size) for s in (1, 2)]
        choice = learn(*sides, epsilon=1.0, delta=0.0, trials=10_000, level=1e-3)
        assert choice.event.contains(sides[0]).shape == (size,)
        picture = sketch(choice.event, *sides)
        assert sum(picture.counts[0]) <= size


def test_learning_is_a_function_of_the_draws():
    sides = [Outputs.of(np.random.default_rng(s).laplace(s, size=5000), 5000) for s in (1, 2)]
    one, two = (learn(*sides, epsilon=1.0, delta=0.0, trials=10_000, level=0.01) for _ in range(2))
    assert one == two


def test_thresholds_have_few_digits_and_cut_the_same():
    rng = np.random.default_rng(5)
    for low, high in np.sort(rng.normal(size=(200, 2)), axis=1):
        cut = tidy(low, high)
        assert low < cut <= high
    assert tidy(0.30517, 0.34711) == 0.33 or len(repr(tidy(0.30517, 0.34711))) <= 4
    assert tidy(1.0, np.nextafter(1.0, 2)) == np.nextafter(1.0, 2)


def test_cut_rules_prefer_the_plateau_to_a_lucky_tail():
    """Log-ratio 1 everywhere and one lucky count at the start: take all of the plateau."""
    x = np.cumsum([9.0] + [500.0] * 20)
    y = np.cumsum([1.0] + [500.0 / e] * 20)
    aim = Aim(TRIALS, 0.0, float(-ndtri(LEVEL)))
    sizes = np.array([20_000.0, 20_000.0])
    assert lepski(x, y, sizes, aim) == 20
    curve = smoothed(np.array([x, y]), None)
    assert np.argmax(predicted_bound(curve[0], curve[1], sizes, aim)[0]) >= 18


@pytest.mark.parametrize("seed", range(3))
def test_an_atom_amid_noise_is_named_whatever_its_share(seed):
    """275 hits of 250,000 are expected against 25, and eight ask for a look."""

    def noise(share):
        def draw(rng, size):
            drawn = rng.laplace(size=size)
            drawn[rng.random(size) < share] = 0.25
            return drawn

        return draw

    sides = [
        Outputs.of(noise(share)(np.random.default_rng([seed, side]), 250_000), 250_000)
        for side, share in enumerate((1e-3, 1e-4))
    ]
    choice = learn(*sides, epsilon=1.0, delta=0.0, trials=200_000, level=LEVEL)
    assert choice.event == Among(Feature(), (0.25,))
    assert not choice.reversed


def test_a_line_of_log_ratios_is_told_from_a_step():
    """The log-ratio of two Gaussians is a line in the output; that of two-sided noise is a step."""
    for draw, is_line in ((lambda rng, at: rng.normal(at, 2, 100_000), True),
                          (lambda rng, at: rng.laplace(at, 1, 100_000), False)):  # fmt: skip
        sides = [Outputs.of(draw(np.random.default_rng(s), s), 100_000) for s in (0, 1)]
        ledger = Ledger.fixed_on((sides[0][:16_384], sides[1][:16_384]), questions)
        ledger.add(*sides)
        found = [straight(family) for family in half_lines(ledger)]
        assert [line is not None for line in found] == [is_line] * 4


@pytest.mark.long
def test_letters_of_a_chain_are_weighed_together():
    """Only which letter follows an a tells."""

    def chain(shares):
        def draw(rng, size):
            states = np.zeros((size, 12), dtype=int)
            for place in range(1, 12):
                after = rng.random(size) < np.where(states[:, place - 1] == 0, shares, 0.5)
                states[:, place] = np.where(after, 1, 0)
            return ["".join("ab"[state] for state in row) for row in states.tolist()]

        return draw

    choice, value = chosen(chain(0.7), chain(0.5), learnt=20_000, check=60_000)
    rows = chain(0.7)(np.random.default_rng(5), 60_000)
    steps = {"ab": log(0.7 / 0.5), "aa": log(0.3 / 0.5)}
    losses = [sum(steps.get(row[i : i + 2], 0.0) for i in range(11)) for row in rows]
    order = np.sort(losses)[::-1]
    p, q = np.arange(1, len(order) + 1) / len(order), np.cumsum(np.exp(-order)) / len(order)
    best = max(bound(a, b) for a, b in zip(p[60::60], q[60::60], strict=True))
    assert isinstance(choice.event, AdditiveScore)
    assert value > 0.9 * best


def test_numbers_that_share_noise_are_weighed_together():
    """The first holds two noises, and each of the others one of them and little of its own."""

    def release(shift):
        def draw(rng, size):
            shared, own = rng.normal(size=(size, 2)), rng.normal(size=(size, 2)) / 2
            first = shift + shared.sum(axis=1, keepdims=True) + rng.normal(size=(size, 1)) / 2
            return np.hstack([first, shared + own])

        return draw

    _, value = chosen(release(0), release(0.5), learnt=50_000)
    covariance = np.array([[2.25, 1, 1], [1, 1.25, 0], [1, 0, 1.25]])
    apart = 0.5 * sqrt(np.linalg.inv(covariance)[0, 0])
    cuts = np.linspace(-4, 1, 200)
    best = max(bound(ndtr(c), ndtr(c - apart)) for c in cuts)
    assert value > 0.9 * best


def test_numbers_that_tell_nothing_stay_out_of_a_score():
    """Laplace noise shifted in two numbers, beside eight numbers of a request."""

    def release(shift):
        def draw(rng, size):
            return np.hstack([rng.laplace(shift, size=(size, 2)), 9 * rng.random((size, 8))])

        return draw

    choice, _ = chosen(release(0), release(0.5), learnt=50_000, check=1000)
    assert isinstance(choice.event, AdditiveScore)
    assert {table.bins.feature.path for table in choice.event.tables} == {(0,), (1,)}


@pytest.mark.long
def test_a_line_through_the_luckiest_of_many_columns_does_not_replace_their_sum():
    """Twenty coordinates, each shifted by a two-hundredth of its noise.

    The best half-line is worth nothing at this size, the sum of all most of the best event.
    """
    size = 250_000
    for seed in range(3):
        drawn = [
            np.random.default_rng([seed, side]).laplace(side, 200, (size, 20)) for side in (0, 1)
        ]
        sides = [Outputs.of(one, size) for one in drawn]
        choice = learn(*sides, epsilon=0.1, delta=0.0, trials=TRIALS, level=LEVEL)
        assert isinstance(choice.event, AdditiveScore)
