"""The held tape: E[w; A and held] + P'(A and not held on the way back) = P'(A), for every event A.

Fixed seeds; each comparison of a mean allows 5 of its standard errors, so that a sound tape fails
one of the some hundred with probability below 1e-4.
"""

import random
from itertools import product
from math import exp

import numpy as np
import pytest

from dpwitness.auditors.tape.generator import LOG_DENSITY
from dpwitness.auditors.tape.held import hold

ROWS = 20_011


def bits(seed):
    return lambda: np.random.PCG64(seed)


def both(run, one, two, rows=ROWS, seed=1):
    return hold(run, one, two, bits(seed), rows), hold(run, two, one, bits(seed + 1), rows)


def singles(run, one, two, count, seed=1):
    return [hold(run, one, two, bits([seed, draw])) for draw in range(count)]


def require_mean(values, wanted):
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - wanted) <= 5 * error + 1e-9


def laplace(d, rng, size):
    return np.asarray(d) + rng.laplace(0, 1.5, (size, len(d)))


def laplace_loss(y, one, two):
    return (np.abs(y - np.asarray(one)) - np.abs(y - np.asarray(two))).sum(axis=1) / 1.5


def gaussian(d, rng, size):
    return np.mean(d) + 2 * rng.standard_normal(size)


def gaussian_loss(y, one, two):
    return ((y - np.mean(one)) ** 2 - (y - np.mean(two)) ** 2) / 8


def scaled(d, rng, size):
    """Noise that is multiplied by the data: neither the draw nor its scale stays."""
    return (1 + sum(d)) * rng.laplace(size=size) + sum(d)


def scaled_loss(y, one, two):
    logs = [-np.abs(y - sum(d)) / (1 + sum(d)) - np.log(1 + sum(d)) for d in (one, two)]
    return logs[1] - logs[0]


@pytest.mark.parametrize(
    ("run", "loss"), [(laplace, laplace_loss), (gaussian, gaussian_loss), (scaled, scaled_loss)]
)
def test_a_released_sum_has_its_exact_ratio_in_every_row(run, loss):
    tape, back = both(run, [0.0, 1.0, 2.0], [0.0, 2.0, 2.0])
    assert tape.held.all()
    assert back.held.all()
    expected = loss(tape.outputs, [0.0, 1.0, 2.0], [0.0, 2.0, 2.0])
    assert np.allclose(tape.log_weights, expected, atol=1e-7)
    require_mean(tape.weights, 1.0)


def exponential_mechanism(d, rng, size):
    weights = np.exp(np.asarray(d) / 2.0)
    return rng.choice(len(d), size=size, p=weights / weights.sum())


def by_cells(d, rng, size):
    """The same law from one uniform draw and its place among sums of weights."""
    weights = np.exp(np.asarray(d) / 2.0)
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(size))


def gumbel(d, rng, size):
    return np.argmax(np.asarray(d) / 2.0 + rng.gumbel(size=(size, len(d))), axis=1)


@pytest.mark.parametrize("run", [exponential_mechanism, by_cells, gumbel])
def test_the_exponential_mechanism_by_three_ways_of_drawing(run):
    one, two = [0.0, 1.0, 3.0], [1.0, 0.0, 3.0]
    laws = [np.exp(np.array(d) / 2) / np.exp(np.array(d) / 2).sum() for d in (one, two)]
    tape, back = both(run, one, two)
    assert tape.held.all()
    assert back.held.all()
    for place in range(3):
        chosen = tape.weights[tape.outputs == place]
        require_mean(chosen, laws[1][place] / laws[0][place])
    require_mean(tape.weights, 1.0)


def bits_of_answers(d, rng, size):
    kept = rng.random((size, len(d))) < 0.75
    return np.where(kept, d, 1 - np.asarray(d))


def coins(d, rng, size):
    """A chance for each bit that depends on it: the outcome of each comparison is held."""
    return rng.random((size, len(d))) < np.where(np.asarray(d) == 1, 0.75, 0.25)


def test_randomised_bits_are_held_by_their_outcomes():
    one, two = [0, 1, 1], [1, 1, 1]
    tape, back = both(coins, one, two)
    assert tape.held.all()
    assert back.held.all()
    assert np.allclose(tape.weights, np.where(tape.outputs[:, 0], 3.0, 1 / 3))


def flagged(d, rng, size):
    """A sparse vector: the first noisy answer above a noisy threshold."""
    above = np.asarray(d) + rng.laplace(0, 4, (size, len(d))) >= 1 + rng.laplace(0, 2, (size, 1))
    first = np.argmax(above, axis=1)
    return np.where(above.any(axis=1), first, -1)


def one_sided(d, rng, size):
    return np.argmax(np.asarray(d) + rng.exponential(2.0, (size, len(d))), axis=1)


def geometric(d, rng, size):
    return sum(d) + rng.geometric(0.3, size) - rng.geometric(0.3, size)


def categories(d, rng, size):
    kept = rng.random(size) < 0.5
    return np.where(kept, d[0], rng.integers(4, size=size))


def subsampled(d, rng, size):
    taken = rng.random((size, len(d))) < 0.5
    return (taken * np.asarray(d)).sum(axis=1) + rng.laplace(0, 1, size)


def twice(d, rng, size):
    """One draw in two numbers: it can hide one move only."""
    noise = rng.laplace(0, 1, size)
    return np.round(d[0] + noise) + np.round(d[1] + noise)


def number_of_draws(d, rng, size):
    return len(d) + rng.laplace(size=(size, len(d))).sum(axis=1)


@pytest.mark.parametrize(
    "run",
    [flagged, one_sided, geometric, categories, subsampled, twice, coins, bits_of_answers, gumbel],
)
def test_what_is_not_held_is_made_up_for_from_the_other_side(run):
    """The identity that every use rests on, for whole laws of what the mechanism returns."""
    one, two = [0, 1, 1], [1, 0, 1]
    tape, back = both(run, one, two)
    plain = run(two, np.random.default_rng(9), ROWS)
    keys = [np.round(np.asarray(y).reshape(ROWS, -1)) @ [1, 10, 100][: np.size(y) // ROWS]
            for y in (tape.outputs, back.outputs, plain)]  # fmt: skip
    for value in np.unique(keys[2]):
        inside = [key == value for key in keys]
        left = tape.weights * inside[0], inside[1] & ~back.held
        error = sum(np.var(part) for part in (*left, inside[2])) / ROWS
        found = np.mean(left[0]) + np.mean(left[1])
        assert abs(found - inside[2].mean()) <= 5 * np.sqrt(error) + 5 / ROWS


def test_draws_that_only_one_database_asks_for_are_told():
    tape, _ = both(number_of_draws, [1, 2], [1])
    assert not tape.held.any()
    assert "numbers under" in tape.reason
    assert tape.parted is not None
    assert tape.parted.number == 0


def test_rows_of_unknown_owners_are_told():
    def compact(d, rng, size):
        alive = rng.random(size) < 0.5
        out = np.zeros(size)
        out[alive] = sum(d) + rng.laplace(size=int(alive.sum()))
        return out

    tape, _ = both(compact, [0], [1])
    assert not tape.held.any()
    assert "belong to no row" in tape.reason


def test_a_density_that_is_not_known_is_told():
    def run(d, rng, size):
        return rng.rayleigh(1 + sum(d), size)

    tape, _ = both(run, [0], [1])
    assert not tape.held.any()
    assert "rng.rayleigh" in tape.reason
    same, _ = both(lambda d, rng, size: rng.rayleigh(2.0, size), [0], [1])
    assert same.held.all()
    assert np.all(same.log_weights == 0)


# Single calls.


def texts(d, rng):
    return f"{sum(d) + rng.laplace(0, 2):.1f} and {max(d) + rng.normal():.0f}"


def ragged(d, rng):
    noisy = [x + rng.laplace(0, 2) for x in d]
    return [round(x, 1) for x in noisy if x > 0.5]


def adaptive(d, rng):
    first = sum(d) + rng.laplace()
    return first, max(d) + rng.laplace(0, 1 + abs(first))


def loop_of_coins(d, rng):
    chance, count = (0.3 if d[0] else 0.4), 0
    while rng.random() < chance and count < 5:
        count += 1
    return count


def global_draws(d, rng):
    return sum(d) + np.random.laplace(0, 2), max(d) + random.gauss(0, 2)  # noqa: NPY002


def own_generator(d, rng):
    return sum(d) + np.random.default_rng().laplace(0, 2)


def relative(d, rng):
    return sum(d) * (1 + rng.normal(0, 0.3))


def mean_of(d, rng):
    return (sum(d) + rng.laplace()) / len(d)


@pytest.mark.parametrize(
    "run",
    [texts, ragged, adaptive, loop_of_coins, global_draws, own_generator, relative, mean_of],
)
def test_single_calls_are_held_whatever_they_do_with_noisy_numbers(run):
    tapes = singles(run, [0, 1, 2], [1, 1, 2], 400)
    assert np.mean([tape.held[0] for tape in tapes]) > 0.995
    require_mean([tape.weights[0] for tape in tapes], 1.0)


def test_a_loop_of_coins_has_its_exact_ratio():
    for tape in singles(loop_of_coins, [0], [1], 100):
        y, odds = tape.outputs, (0.4, 0.3)
        laws = [p**y * (1 if y == 5 else 1 - p) for p in odds]
        assert np.isclose(tape.weights[0], laws[1] / laws[0])


def test_the_mechanism_meets_a_generator_and_its_types():
    seen = []

    def run(d, rng):
        values = (rng.laplace(), rng.integers(5), rng.random(3), rng.permutation(3))
        seen.append((isinstance(rng, np.random.Generator), *(type(one) for one in values)))
        return [float(np.sum(values[2])), int(values[1]), values[0] + sum(d)]

    assert hold(run, [0], [1], bits(1)).held.all()
    # The calls whose outputs are compared get what numpy would have given them.
    assert seen[1] == seen[3] == (True, float, int, np.ndarray, np.ndarray)


def test_every_method_of_a_generator_is_on_the_tape():
    def run(d, rng):
        made = [rng.random(), rng.uniform(1, 2), rng.normal(), rng.standard_normal(), rng.laplace(),
                rng.gumbel(), rng.logistic(), rng.exponential(), rng.standard_exponential(),
                rng.gamma(2.0), rng.standard_gamma(2.0), rng.beta(2, 3), rng.chisquare(3),
                rng.standard_t(4), rng.standard_cauchy(), rng.geometric(0.2), rng.poisson(3),
                rng.binomial(5, 0.3), rng.negative_binomial(3, 0.5), rng.lognormal(), rng.f(3, 4),
                rng.rayleigh(), rng.weibull(2), rng.pareto(3), rng.power(2), rng.vonmises(0, 1),
                rng.wald(1, 1), rng.triangular(0, 1, 2), rng.zipf(3), rng.logseries(0.5),
                rng.hypergeometric(3, 4, 2), rng.noncentral_chisquare(3, 1),
                rng.noncentral_f(3, 4, 1), rng.integers(10), rng.choice(7)]  # fmt: skip
        shuffled = list(range(5))
        rng.shuffle(shuffled)
        arrays = [rng.multinomial(4, [0.5, 0.5]), rng.dirichlet([1, 2]),
                  rng.multivariate_normal([0, 0], np.eye(2)), rng.permutation(4),
                  rng.permuted([1, 2, 3]), rng.choice([3, 4, 5], 2, replace=False),
                  rng.choice(3, 4, p=[0.2, 0.3, 0.5])]  # fmt: skip
        return (
            [float(one) for one in made],
            shuffled,
            [one.tolist() for one in arrays],
            rng.bytes(3),
        )

    for tape in singles(run, [0], [1], 5):
        assert tape.held.all()
        assert np.all(tape.log_weights == 0)


@pytest.mark.parametrize(
    ("name", "parameters", "grid"),
    [
        ("laplace", (0.5, 2.0), np.linspace(-60, 60, 400_001)),
        ("normal", (0.5, 2.0), np.linspace(-40, 40, 200_001)),
        ("gumbel", (0.5, 2.0), np.linspace(-15, 90, 400_001)),
        ("logistic", (0.5, 2.0), np.linspace(-90, 90, 400_001)),
        ("exponential", (2.0,), np.linspace(0, 90, 400_001)),
        ("gamma", (2.5, 2.0), np.linspace(0, 120, 400_001)),
        ("beta", (2.5, 2.0), np.linspace(0, 1, 200_001)),
        ("uniform", (0.5, 2.0), np.linspace(0.5, 2, 1001)),
        ("standard_t", (5.0,), np.linspace(-400, 400, 800_001)),
    ],
)
def test_densities_have_the_shape_of_a_law(name, parameters, grid):
    """Each integrates to what a ratio needs: its constant, up to one that no parameter changes."""

    def mass(values):
        heights = np.exp(LOG_DENSITY[name](grid, *map(np.asarray, values)))
        return np.trapezoid(heights, grid)

    other = tuple(1.1 * value for value in parameters)
    if name == "uniform":
        assert mass(parameters) == pytest.approx(1.0)
    else:
        assert mass(other) == pytest.approx(mass(parameters), rel=1e-3)


def test_masses_of_whole_numbers_add_up_to_one():
    for name, parameters in product(("geometric", "poisson", "binomial", "integers"), (1.0,)):
        values = {"geometric": (0.3,), "poisson": (2.5,), "binomial": (7.0, 0.3),
                  "integers": (-2.0, 5.0)}[name]  # fmt: skip
        with np.errstate(all="ignore"):
            logs = LOG_DENSITY[name](np.arange(-10.0, 200.0), *map(np.asarray, values))
        assert sum(map(exp, logs)) == pytest.approx(parameters)
