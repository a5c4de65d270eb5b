import math

import numpy as np
import pytest

from dpwitness.mechanisms.model import Interval, Relation, Rows
from dpwitness.mechanisms.noise.geometric import GEOMETRIC, geometric, geometric_mechanism
from dpwitness.mechanisms.queries import count, histogram, total

ROWS = Rows(row=Interval(low=0, high=1, integer=True))


def law(reach, ratio):
    """Probabilities of noise <= -reach, 1 - reach, ..., reach - 1, >= reach."""
    inside = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(1 - reach, reach))
    end = ratio**reach / (1 + ratio)
    return np.concatenate([[end], inside, [end]])


# numpy draws one-sided geometric variables in two ways, changing over where
# 1 - exp(-epsilon / sensitivity) = 1/3.
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (1, 0.3), (2, 1), (1, 3)])
def test_noise_is_two_sided_geometric(rng, assert_frequencies, sensitivity, epsilon):
    draws = geometric(
        [7, 8], rng, query=total, sensitivity=sensitivity, epsilon=epsilon, size=50_000
    )
    ratio = math.exp(-epsilon / sensitivity)
    reach = int(math.log(200) / -math.log(ratio))
    seen = np.clip(draws - 15, -reach, reach) + reach
    assert_frequencies(np.bincount(seen, minlength=2 * reach + 1), law(reach, ratio))


def test_outputs_are_whole_numbers_and_negative_counts_happen(rng):
    draws = GEOMETRIC([], rng, size=1_000)
    assert draws.dtype == np.int64
    assert draws.min() < 0


def test_loss_of_one_row_is_exactly_epsilon(rng, assert_rate):
    ratio = math.exp(-1)
    assert_rate(GEOMETRIC([], rng, size=50_000) <= 0, 1 / (1 + ratio))
    assert_rate(GEOMETRIC([0], rng, size=50_000) <= 0, ratio / (1 + ratio))


def test_vector_queries_get_independent_noise(rng, assert_frequencies):
    draws = geometric(
        [0, 1, 1],
        rng,
        query=lambda rows: histogram(rows, categories=2),
        sensitivity=1,
        epsilon=1,
        size=30_000,
    )
    assert draws.shape == (30_000, 2)
    seen = np.clip(draws - [1, 2], -2, 2) + 2
    joint = np.bincount(seen @ [5, 1], minlength=25)
    single = law(2, math.exp(-1))
    assert_frequencies(joint, np.outer(single, single).ravel())


def test_utility_claim_is_exact_at_whole_numbers(rng, assert_rate):
    utility = GEOMETRIC.claims[1]
    beta = 2 * math.exp(-3) / (1 + math.exp(-1))
    assert utility.bound(beta) == pytest.approx(3)
    errors = utility.loss([1, 0], GEOMETRIC([1, 0], rng, size=50_000))
    assert_rate(errors >= 3, beta)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1}, "epsilon must be positive, got -1"),
        ({"sensitivity": 0}, "sensitivity must be positive, got 0"),
        ({"epsilon": 1e-15}, r"epsilon / sensitivity must be at least 2\*\*-40, got 1e-15"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        geometric([1], rng, query=count, **({"sensitivity": 1, "epsilon": 1} | parameters))


def test_builder_checks_too():
    with pytest.raises(ValueError, match=r"^epsilon must be positive, got -1$"):
        geometric_mechanism(
            query=count,
            sensitivity=1,
            epsilon=-1,
            relation=Relation.ADD_REMOVE,
            databases=ROWS,
        )


def test_fractional_answers_are_refused(rng):
    with pytest.raises(ValueError, match=r"^query must give whole numbers, got float64$"):
        geometric([0.5], rng, query=total, sensitivity=1, epsilon=1)


def test_flattest_noise_still_fits(rng):
    draws = geometric([1], rng, query=count, sensitivity=2**40, epsilon=1, size=100)
    assert np.abs(draws).max() < 2**50
