"""E-values: reference values and expectations, computed exactly."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import entropy

from dpwitness.auditors.privacy.accumulate import event_log_es


def log_e_of(hits, trials, rates, *, epsilon, delta=0.0):
    """The e-value of one event against one null."""
    return event_log_es(hits, trials, [rates], [(epsilon, delta)]).item()


def nearest_rates(rates, trials, *, epsilon, delta):
    """The point of the null's edge with the least n KL(p1 | p0) + m KL(q1 | q0), by a library."""

    def divergence(q0):
        points = (math.exp(epsilon) * q0 + delta, q0)
        return sum(
            n * entropy([one, 1 - one], [other, 1 - other])
            for n, one, other in zip(trials, rates, points, strict=True)
        )

    low, high = rates[1], (rates[0] - delta) / math.exp(epsilon)
    found = minimize_scalar(divergence, bounds=(low, high), options={"xatol": 1e-12})
    return math.exp(epsilon) * found.x + delta, found.x


@pytest.mark.parametrize(
    ("rates", "trials", "epsilon", "delta", "nearest", "logs"),
    [
        ((0.9, 0.1), (10, 10), 0, 0, (0.5, 0.5), {(5, 0): 0.7696104114}),
        (
            (0.9, 0.1), (10, 10), 1, 0, (0.8545158441, 0.3143588112),
            {(5, 0): 1.105216802, (9, 1): 1.394838499},
        ),
        (
            (0.3, 0.02), (1000, 500), 1, 0.01, (0.2684755631, 0.09508784571),
            {(280, 12): 19.56205877},
        ),
        (
            (0.999, 0.2), (200, 300), 0.5, 0, (0.8551437094, 0.5186708782),
            {(200, 55): 103.1594886},
        ),
    ],
)  # fmt: skip
def test_single_event_reference(rates, trials, epsilon, delta, nearest, logs):
    assert nearest_rates(rates, trials, epsilon=epsilon, delta=delta) == pytest.approx(
        nearest, abs=1e-6
    )
    for hits, value in logs.items():
        log_e = log_e_of(hits, trials, rates, epsilon=epsilon, delta=delta)
        assert log_e == pytest.approx(value, rel=1e-8)


def test_log_e_is_not_monotone_in_epsilon():
    # Hence a bound from it must use the initial segment of a grid, like every other here.
    found = [
        log_e_of((5, 0), (10, 10), (0.9, 0.1), epsilon=epsilon)
        for epsilon in (0, 0.2, 0.4, 0.6, 0.8, 1)
    ]
    assert found == pytest.approx([0.770, 0.689, 0.847, 1.102, 1.204, 1.105], abs=6e-4)


def _chances(trials, p):
    return np.array(
        [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
    )


@pytest.mark.parametrize(
    ("rates", "epsilon", "delta"),
    [
        ((0.9, 0.1), 1.0, 0.0),
        ((0.6, 0.3), 0.1, 0.05),
        ((1.0, 0.0), 0.0, 0.0),
        ((0.2, 0.0), 0.5, 0.1),
        ((1.0, 0.3), 1.0, 0.0),
    ],
)
def test_expectation_of_the_single_event_value_is_at_most_one(rates, epsilon, delta):
    n, m = 15, 12
    values = np.exp(
        [
            [log_e_of((x, y), (n, m), rates, epsilon=epsilon, delta=delta) for y in range(m + 1)]
            for x in range(n + 1)
        ]
    )

    def expectation(p, q):
        return float(_chances(n, p) @ values @ _chances(m, q))

    rng = np.random.default_rng(40)  # the law holds at every point of the null
    for q in [0.0, 1.0, *rng.uniform(0, 1, 200)]:
        limit = min(1.0, math.exp(epsilon) * q + delta)
        for p in (limit, limit * rng.uniform()):
            assert expectation(p, q) <= 1 + 1e-9
    clamped = [min(max(rate, 1 / (4 * (n + m))), 1 - 1 / (4 * (n + m))) for rate in rates]
    nearest = nearest_rates((clamped[0], clamped[1]), (n, m), epsilon=epsilon, delta=delta)
    assert expectation(*nearest) == pytest.approx(1, abs=1e-9)


def test_no_evidence_when_the_foreseen_rates_are_allowed():
    assert log_e_of((5, 4), (10, 10), (0.5, 0.4), epsilon=1) == 0
    assert log_e_of((5, 4), (10, 10), (0.9, 0.1), epsilon=1, delta=1) == 0
    assert log_e_of((0, 0), (0, 10), (0.9, 0.1), epsilon=1) == 0
    assert log_e_of((5, 4), (10, 10), (math.nan, 0.1), epsilon=1) == 0
    assert log_e_of((5, 0), (10, 10), (0.9, 0.1), epsilon=900) == 0


def test_extreme_batches_stay_finite():
    n = 10**7
    for hits in ((n, 0), (0, n), (0, 0), (n, n)):
        for epsilon, delta in ((0, 0), (1, 1e-9), (12, 0)):
            for rates in ((1, 0), (0.5, 0), (1e-6, 0), (1, 0.3)):
                assert math.isfinite(log_e_of(hits, (n, n), rates, epsilon=epsilon, delta=delta))


def test_e_values_of_many_rates_and_nulls_are_those_of_each():
    chance = np.random.default_rng(0)
    for _ in range(40):
        n, m = (int(size) for size in chance.integers(0, 5000, 2))
        hits = int(chance.integers(0, n + 1)), int(chance.integers(0, m + 1))
        rates = chance.random((4, 2)) ** chance.integers(1, 8)
        rates[0] = chance.integers(0, 2, 2)
        nulls = np.column_stack([chance.exponential(1, 20), chance.random(20) ** 6])
        nulls[:3] = [(0, 0), (700, 0), (1, 1)]
        found = event_log_es(hits, (n, m), rates, nulls)
        each = [
            [log_e_of(hits, (n, m), tuple(pair), epsilon=e, delta=d) for e, d in nulls]
            for pair in rates
        ]
        np.testing.assert_allclose(found, each, rtol=1e-9, atol=1e-9)
