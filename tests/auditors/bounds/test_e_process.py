"""E-values: reference values and expectations, computed exactly."""

import math

import numpy as np
import pytest

from dpwitness.auditors.bounds.e_process import (
    event_log_es,
    mix_log_wealth,
    multi_bin_log_e,
    nearest_bins,
    nearest_rates,
    shrunk_rates,
    single_event_log_e,
)
from dpwitness.auditors.errors import InvalidArgument

INF = math.inf


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
        nearest, abs=1e-8
    )
    for hits, value in logs.items():
        log_e = single_event_log_e(hits, trials, rates, epsilon=epsilon, delta=delta)
        assert log_e == pytest.approx(value, rel=1e-8)


def test_log_e_is_not_monotone_in_epsilon():
    # Hence a bound from it must use the initial segment of a grid, like every other here.
    found = [
        single_event_log_e((5, 0), (10, 10), (0.9, 0.1), epsilon=epsilon)
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
            [
                single_event_log_e((x, y), (n, m), rates, epsilon=epsilon, delta=delta)
                for y in range(m + 1)
            ]
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
    assert single_event_log_e((5, 4), (10, 10), (0.5, 0.4), epsilon=1) == 0
    assert single_event_log_e((5, 4), (10, 10), (0.9, 0.1), epsilon=1, delta=1) == 0
    assert single_event_log_e((0, 0), (0, 10), (0.9, 0.1), epsilon=1) == 0
    assert single_event_log_e((5, 4), (10, 10), (math.nan, 0.1), epsilon=1) == 0
    assert single_event_log_e((5, 0), (10, 10), (0.9, 0.1), epsilon=900) == 0


def test_extreme_batches_stay_finite():
    n = 10**7
    for hits in ((n, 0), (0, n), (0, 0), (n, n)):
        for epsilon, delta in ((0, 0), (1, 1e-9), (12, 0)):
            for rates in ((1, 0), (0.5, 0), (1e-6, 0), (1, 0.3)):
                assert math.isfinite(
                    single_event_log_e(hits, (n, n), rates, epsilon=epsilon, delta=delta)
                )


def test_more_hits_than_trials_are_refused():
    with pytest.raises(InvalidArgument):
        single_event_log_e((5, 0), (4, 4), (0.9, 0.1), epsilon=0)


@pytest.mark.parametrize(
    ("p_hat", "q_hat", "trials", "epsilon", "p", "q", "mu", "counts", "value"),
    [
        (
            (0.6, 0.3, 0.1), (0.1, 0.3, 0.6), (1, 1), 0.5,
            (0.4357215318, 0.3, 0.2642784682), (0.2642784682, 0.3, 0.4357215318), 1,
            ((6, 3, 1), (1, 3, 6)), 1.895449322,
        ),
        (
            (0.5, 0.25, 0.2, 0.05), (0.1, 0.2, 0.3, 0.4), (1, 1), 1,
            (0.4353279933, 0.245956623, 0.1967652984, 0.1219500852),
            (0.1601482189, 0.2033428322, 0.3050142483, 0.3314947006), 1.01643939,
            ((50, 25, 20, 5), (10, 20, 30, 40)), 5.177243232,
        ),
        (
            (0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (2, 1), 0.3,
            (0.4361524634, 0.2940364637, 0.2698110729),
            (0.3231096919, 0.312683455, 0.3642068532), 2.040563243,
            ((120, 70, 10), (20, 30, 50)), 19.81395891,
        ),
    ],
)  # fmt: skip
def test_multi_bin_reference(p_hat, q_hat, trials, epsilon, p, q, mu, counts, value):
    found = nearest_bins(np.array(p_hat), np.array(q_hat), trials, epsilon)
    assert found[0] == pytest.approx(p, abs=1e-8)
    assert found[1] == pytest.approx(q, abs=1e-8)
    assert found[2] == pytest.approx(mu, abs=1e-8)
    log_e = multi_bin_log_e(*counts, p_hat, q_hat, epsilon=epsilon)
    assert log_e == pytest.approx(value, rel=1e-8)


def _largest_expectation_slope(p_hat, q_hat, p, q, trials, epsilon):
    """Largest linearised log-expectation over all of the null, by linear programming."""
    from scipy.optimize import linprog

    (n, m), bins, ratio = trials, len(p), math.exp(epsilon)
    identity = np.eye(bins)
    result = linprog(
        -np.concatenate([n * p_hat / p, m * q_hat / q]),
        A_ub=np.block([[identity, -ratio * identity], [-ratio * identity, identity]]),
        b_ub=np.zeros(2 * bins),
        A_eq=np.array([[1.0] * bins + [0.0] * bins, [0.0] * bins + [1.0] * bins]),
        b_eq=[1, 1],
        bounds=(0, None),
    )
    assert result.status == 0
    return -result.fun - n - m


def test_multi_bin_projection_by_linear_programming():
    rng = np.random.default_rng(41)  # the certificate must hold for any input
    for _ in range(40):
        bins, epsilon = int(rng.integers(2, 9)), float(rng.choice([0.0, 0.01, 0.5, 2.0]))
        p_hat, q_hat = rng.dirichlet([0.7] * bins, 2) + 1e-6
        p_hat, q_hat = p_hat / p_hat.sum(), q_hat / q_hat.sum()
        trials = (int(rng.integers(1, 9)), int(rng.integers(1, 9)))
        p, q, mu, nu = nearest_bins(p_hat, q_hat, trials, epsilon)
        assert p.sum() == pytest.approx(1, abs=1e-9)
        assert q.sum() == pytest.approx(1, abs=1e-9)
        assert mu + nu == pytest.approx(sum(trials))
        assert (p <= math.exp(epsilon) * q * (1 + 1e-12)).all()
        assert (q <= math.exp(epsilon) * p * (1 + 1e-12)).all()
        # The tolerance is the programme's own.
        assert _largest_expectation_slope(p_hat, q_hat, p, q, trials, epsilon) <= 1e-6


def test_multi_bin_of_nearly_disjoint_sides():
    for swap in (1, -1):
        p_hat = np.array([1 - 2e-9, 1e-9, 1e-9])[::swap]
        q_hat = np.array([1e-9, 1e-9, 1 - 2e-9])[::swap]
        for trials in ((10, 10), (10, 1), (1, 1000)):
            p, q, _, _ = nearest_bins(p_hat, q_hat, trials, 0.01)
            assert p.sum() == pytest.approx(1, abs=1e-9)
            assert q.sum() == pytest.approx(1, abs=1e-9)
    log_e = multi_bin_log_e((500, 0, 0), (0, 0, 500), p_hat[::-1], q_hat[::-1], epsilon=0.01)
    assert log_e == pytest.approx(2 * 500 * math.log(2), rel=0.02)


def test_exact_expectation_of_the_multi_bin_value():
    n, m, epsilon = 4, 3, 0.4
    p_hat, q_hat = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.2, 0.6])

    def outcomes(size):
        return [(i, j, size - i - j) for i in range(size + 1) for j in range(size + 1 - i)]

    def chance(counts, law):
        ways = math.factorial(sum(counts)) / math.prod(map(math.factorial, counts))
        return ways * math.prod(p**count for p, count in zip(law, counts, strict=True))

    table = [
        (a, b, math.exp(multi_bin_log_e(a, b, p_hat, q_hat, epsilon=epsilon)))
        for a in outcomes(n)
        for b in outcomes(m)
    ]
    rng = np.random.default_rng(42)
    checked = 0
    nearest = nearest_bins(p_hat, q_hat, (n, m), epsilon)[:2]
    laws = [nearest]
    while checked < 40:
        p = rng.dirichlet([1, 1, 1])
        q = p * np.exp(rng.uniform(-epsilon, epsilon, 3))
        q = q / q.sum()
        if np.abs(np.log(p / q)).max() <= epsilon:
            laws.append((p, q))
            checked += 1
    found = [sum(chance(a, p) * chance(b, q) * e for a, b, e in table) for p, q in laws]
    assert max(found) <= 1 + 1e-9
    assert found[0] == pytest.approx(1, abs=1e-9)


def test_shrunk_rates_keep_a_bin_for_the_unseen():
    p, q = shrunk_rates((6, 0), (0, 2), 2.0)
    assert p.shape == (3,)
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    assert p.min() > 0
    assert q.min() > 0
    pooled = np.array([6.5, 2.5, 0.5]) / 9.5
    assert p == pytest.approx((np.array([6, 0, 0]) + 6 * pooled) / 12)
    log_e = multi_bin_log_e((0, 0, 5), (5, 0, 0), p, q, epsilon=0.1)
    assert math.isfinite(log_e)


def test_bins_must_agree_and_be_possible():
    with pytest.raises(InvalidArgument, match="bins"):
        multi_bin_log_e((1, 2), (1, 2, 3), (0.5, 0.5), (0.5, 0.5), epsilon=0)
    with pytest.raises(InvalidArgument, match="positive"):
        multi_bin_log_e((1, 2), (1, 2), (1.0, 0.0), (0.5, 0.5), epsilon=0)
    assert multi_bin_log_e((0, 0), (1, 2), (0.5, 0.5), (0.5, 0.5), epsilon=0) == 0


def test_mixture_of_wealth():
    assert mix_log_wealth([0.0, 0.0]) == 0
    assert mix_log_wealth([math.log(3), math.log(5)]) == pytest.approx(math.log(4))
    assert mix_log_wealth([1000.0, -INF]) == pytest.approx(1000 - math.log(2))
    assert mix_log_wealth([-INF, -INF]) == -INF
    assert mix_log_wealth([INF, -INF]) == INF
    with pytest.raises(InvalidArgument):
        mix_log_wealth([])


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
            [single_event_log_e(hits, (n, m), tuple(pair), epsilon=e, delta=d) for e, d in nulls]
            for pair in rates
        ]
        np.testing.assert_allclose(found, each, rtol=1e-9, atol=1e-9)
