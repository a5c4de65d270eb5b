"""What a run could have seen, checked against the test it speaks about."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dpwitness.auditors.bounds.two_sample import at_distance, rejects
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.privacy.power import detectable_epsilon, detectable_probability


def _chances(trials, p):
    return np.array(
        [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    )


def _power(p, q, trials, null, level):
    """Exact power of the test by enumeration."""
    n, m = trials
    region = np.array(
        [
            [
                rejects((x, y), trials, epsilon=null[0], delta=null[1], level=level)
                for y in range(m + 1)
            ]
            for x in range(n + 1)
        ],
        dtype=float,
    )
    return float(_chances(n, p) @ region @ _chances(m, q))


@pytest.mark.parametrize(
    ("q", "trials", "epsilon", "delta", "distance"),
    [
        (0.1, (40, 40), 0.3, 0.0, 1),
        (0.05, (60, 40), 1.0, 0.0, 1),
        (0.1, (40, 40), 0.2, 0.05, 2),
    ],
)
def test_power_is_reached_and_hardly_more(q, trials, epsilon, delta, distance):
    found = detectable_epsilon(
        (0.5, q), trials, epsilon=epsilon, delta=delta, level=0.05, distance=distance
    )
    total, group_delta = at_distance(found, delta, distance)
    p = math.exp(total) * q + group_delta
    null = at_distance(epsilon, delta, distance)
    # The coarser lattice and the rounding up of the rejection region only ask for more.
    assert 0.9 <= _power(p, q, trials, null, 0.05) + 1e-6
    assert _power(p - 0.06, q, trials, null, 0.05) < 0.9


@pytest.mark.parametrize(
    ("trials", "claim", "p", "expected"),
    [
        (10**4, 1.0, 0.5, 1.069),
        (10**5, 1.0, 0.5, 1.022),
        (10**6, 1.0, 0.1, 1.0174),
        (10**6, 1.0, 0.001, 1.183),
        (10**5, 0.1, 0.1, 0.141),
    ],
)
def test_normal_form(trials, claim, p, expected):
    # Expected values solve the textbook power equation for the test's normal limit.
    found = detectable_epsilon(
        (p, p * math.exp(-expected)), (trials, trials), epsilon=claim, delta=0, level=0.05
    )
    assert found - claim == pytest.approx(expected - claim, rel=0.1)


def test_power_of_the_normal_form_by_simulation():
    trials, q, claim = 20_000, 0.05, 0.5
    found = detectable_epsilon((0.1, q), (trials, trials), epsilon=claim, delta=0, level=0.01)
    rng = np.random.default_rng(50)
    runs = 400
    first = rng.binomial(trials, q * math.exp(found), runs)
    second = rng.binomial(trials, q, runs)
    detected = sum(
        rejects((int(x), int(y)), (trials, trials), epsilon=claim, delta=0, level=0.01)
        for x, y in zip(first, second, strict=True)
    )
    # Five standard errors (error chance below 1e-6) and .03 for the approximation.
    assert abs(detected / runs - 0.9) < 0.03 + 5 * math.sqrt(0.09 / runs)


def test_more_draws_see_more():
    sizes = (100, 1000, 10**4, 10**6, 10**8)
    found = [
        detectable_epsilon((0.5, 0.1), (n, n), epsilon=0.5, delta=1e-5, level=1e-3) for n in sizes
    ]
    assert all(left > right for left, right in pairwise(found))
    assert found[-1] > 0.5
    rare = [
        detectable_probability((n, n), epsilon=0.5, delta=1e-5, level=1e-3, learnt_on=n)
        for n in sizes
    ]
    assert all(left > right for left, right in pairwise(rare))
    assert rare[-1] > 1e-5


def test_undetectable():
    null = {"epsilon": 1.0, "delta": 0.0, "level": 1e-3}
    assert detectable_epsilon((0.9, 0.4), (1000, 1000), **null) == math.inf
    assert detectable_epsilon((1.0, 0.3), (20, 20), **null) == math.inf
    assert detectable_epsilon((1.0, 0.0), (1000, 1000), **null) == math.inf
    assert detectable_probability((5, 5), **null, learnt_on=100) == math.inf
    assert detectable_probability((1000, 1000), **null, learnt_on=3) == math.inf


def test_detectable_probability_by_enumeration():
    trials, level = (60, 60), 0.05
    found = detectable_probability(
        trials, epsilon=1.0, delta=0.02, level=level, learnt_on=10**6, needed=7
    )
    verdicts = np.array(
        [rejects((x, 0), trials, epsilon=1.0, delta=0.02, level=level) for x in range(61)]
    )
    assert _chances(60, found) @ verdicts == pytest.approx(0.9, abs=1e-9)


def test_detectable_probability_must_also_be_learnt():
    found = detectable_probability(
        (10**6, 10**6), epsilon=1.0, delta=0.0, level=0.05, learnt_on=50, needed=7
    )
    assert _chances(50, found)[7:].sum() == pytest.approx(0.9, abs=1e-9)


def test_senseless_requests_are_refused():
    with pytest.raises(InvalidArgument):
        detectable_epsilon((0.5, 0.1), (0, 10), epsilon=1, delta=0, level=0.05)
    with pytest.raises(InvalidArgument):
        detectable_epsilon((0.5, 1.1), (10, 10), epsilon=1, delta=0, level=0.05)
    with pytest.raises(InvalidArgument):
        detectable_probability((10, 10), epsilon=1, delta=0, level=0, learnt_on=5)
