"""The exact two-sample test: reference values, exact size, rigour of the shortcuts."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from dpwitness.auditors.bounds.two_sample import (
    TIE,
    at_distance,
    cells_for,
    confidence_box,
    epsilon_grid,
    epsilon_lower,
    initial_segment,
    least_mix,
    lower_bound_z,
    rejects,
    score_above,
    score_below,
    threshold,
    z_in_box,
    z_statistic,
)
from dpwitness.auditors.errors import InvalidArgument

INF = math.inf

# hits, trials, epsilon, delta, Z at beta 1e-3, Z and its conversion at beta 1e-7, and the bound
# at level .05 on a grid of step .005. From a separate implementation checked at 30 digits.
REFERENCE = [
    ((5200, 1800), (10000, 10000), 1, 0, 2.594794, 2.594794, 2.594787, 1.020),
    ((30, 3), (1000, 1000), 1, 0, 2.080962, 1.892776, 1.892774, 1.180),
    ((10, 0), (1000, 1000), 0.5, 0, 2.039634, 1.752929, 1.752927, 0.780),
    ((50, 8), (50, 50), 1, 0, 2.974704, 2.974704, 2.974683, 1.290),
    ((50, 0), (50, 50), 2, 0, 3.160046, 3.160046, 3.160009, 2.820),
    ((36, 0), (100, 100), 0, 0.25, 2.118670, 2.118670, 2.118668, 0.830),
    ((700, 200), (1000, 1000), 1, 0.01, 3.683396, 3.680501, 3.680282, 1.125),
    ((18, 30), (20, 10000), 3, 0, INF, INF, 5.199338, 5.310),
    ((9000, 4), (10000, 20), 0.5, 0, 2.923500, 2.923500, 2.923483, 0.805),
    ((512, 500), (1000, 1000), 0, 0, 0.477764, 0.477764, 0.477764, -INF),
    ((120, 20), (100000, 100000), 1, 0.0005, 0.778690, 0.778690, 0.778689, 0.755),
    ((0, 0), (100, 100), 0.5, 0, -INF, -INF, -INF, -INF),
    ((400, 400), (1000, 1000), 0, 0, -0.060334, -0.060728, -0.060728, -INF),
    ((51000, 50000), (100000, 100000), 0.01, 0.001, 1.750304, 1.750304, 1.750303, 0.010),
]


@pytest.mark.parametrize("row", REFERENCE)
def test_reference_values(row):
    hits, trials, epsilon, delta, z, z_strict, score, lower = row
    null = {"epsilon": epsilon, "delta": delta}
    assert z_statistic(hits, trials, **null, beta=1e-3) == pytest.approx(z, abs=2e-6)
    strict = z_statistic(hits, trials, **null, beta=1e-7)
    assert strict == pytest.approx(z_strict, abs=2e-6)
    assert norm.isf(min(1.0, norm.sf(strict) + 1e-7)) == pytest.approx(score, abs=2e-6)
    bound = epsilon_lower(hits, trials, delta=delta, level=0.05, beta=1e-3, grid_step=0.005)
    assert bound == pytest.approx(lower, abs=1e-9)


def test_small_reference_values():
    def z(hits, beta):
        return z_statistic(hits, (20, 20), epsilon=0, delta=0, beta=beta)

    assert z((20, 0), 1e-3) == INF
    assert z((20, 0), 1e-7) == pytest.approx(6.723147, abs=2e-6)
    assert z((20, 20), 1e-7) == -INF
    assert z((1, 0), 1e-3) == pytest.approx(-0.258928, abs=2e-6)


def test_tails():
    def above(x, n, p):
        return float(score_above(x, n, np.array([p]))[0])

    def below(y, m, q):
        return float(score_below(y, m, np.array([q]))[0])

    assert above(30, 1000, 0.01) == pytest.approx(5.063329077, abs=1e-8)
    assert above(1, 10, 1e-6) == pytest.approx(4.264891799, abs=1e-8)
    assert above(10, 10, 0.5) == pytest.approx(3.097269078, abs=1e-8)
    assert above(5200, 10000, 0.5) == pytest.approx(3.990496378, abs=1e-8)
    assert above(0, 10, 0.5) == -INF
    assert above(5, 10, 0.0) == 37  # an underflowed tail is capped, not infinite
    assert below(3, 1000, 0.01) == pytest.approx(2.323630439, abs=1e-8)
    assert below(0, 1000, 0.005) == pytest.approx(2.475420539, abs=1e-8)
    assert below(480, 1000, 0.5) == pytest.approx(1.233341735, abs=1e-8)
    assert below(20, 20, 0.3) == -INF
    assert below(0, 1, 0.5) == 0


def test_confidence_limits():
    box = confidence_box((3, 50), (1000, 50), 4 * 0.00025)
    assert box.p_low == pytest.approx(0.0001179960176, rel=1e-8)
    assert box.p_high == pytest.approx(0.01470659871, rel=1e-8)
    assert box.q_low == pytest.approx(0.8471470448, rel=1e-8)
    assert box.q_high == 1
    box = confidence_box((512, 0), (1000, 50), 4 * 2.5e-8)
    assert box.p_low == pytest.approx(0.4257577155, rel=1e-8)
    assert box.p_high == pytest.approx(0.5977592827, rel=1e-8)
    assert confidence_box((3, 0), (1000, 50), 1e-3).q_high == pytest.approx(0.1528529552, rel=1e-8)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 50), (50, 1), (7, 7), (10**7, 10**7)])
def test_edges_give_no_nan_and_no_warning(n, m):
    for x, y in product({0, 1, n // 2, n}, {0, 1, m // 2, m}):
        for epsilon, delta in product((0, 1, 50, 700), (0, 0.3, 1 - 1e-12, 1)):
            if x <= n and y <= m:
                z = z_statistic((x, y), (n, m), epsilon=epsilon, delta=delta, beta=1e-4)
                assert z == INF or z == -INF or -1e6 < z <= 37 * math.sqrt(2)


def test_a_hopeless_null_is_never_rejected():
    for epsilon, delta in [(0, 1), (50, 0), (1000, 0)]:
        assert not rejects((50, 0), (50, 50), epsilon=epsilon, delta=delta, level=0.05)


def _plain(hits, trials, epsilon, delta, beta, step=0.02):
    """The definition, cell by cell over the whole lattice, with none of the shortcuts."""
    (n, m), ratio = trials, math.exp(epsilon)
    box = confidence_box(hits, trials, beta)

    def stops(size):
        count = math.ceil(math.pi * math.sqrt(size) / step) + 1
        return np.sin(np.minimum(np.arange(count) * step / (2 * math.sqrt(size)), np.pi / 2)) ** 2

    of_p = (stops(n) - delta) / ratio
    edges = np.concatenate([stops(m), of_p[(of_p >= 0) & (of_p <= 1)]])
    edges = np.unique(np.concatenate([edges, [0, (1 - delta) / ratio, 1]]))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-15])]
    least = INF
    for a, b in pairwise(edges):
        top = ratio * b + delta
        if top < box.p_low or b < box.q_low or a > box.q_high:
            continue
        above = float(score_above(hits[0], n, np.array([min(top, 1, box.p_high)]))[0])
        below = float(score_below(hits[1], m, np.array([a]))[0])
        if top >= 1 - 1e-15:
            value = below
        elif a == 0:
            value = above
        else:
            middle = (a + b) / 2
            p = ratio * middle + delta
            w1 = math.sqrt(p * (1 - p) / n)
            w2 = ratio * math.sqrt(middle * (1 - middle) / m)
            value = (w1 * above + w2 * below) / math.hypot(w1, w2)
        least = min(least, value)
    return least


@pytest.mark.parametrize(
    ("hits", "trials", "epsilon", "delta"),
    [
        ((30, 3), (200, 200), 1.0, 0.0),
        ((200, 40), (200, 200), 1.0, 0.0),
        ((100, 0), (200, 200), 3.5, 0.0),
        ((150, 0), (2000, 100), 4.0, 0.01),
        ((36, 1), (100, 3000), 3.0, 0.25),
        ((5, 2), (20, 20), 0.0, 0.0),
    ],
)
def test_shortcuts_do_not_change_the_minimum(hits, trials, epsilon, delta):
    expected = _plain(hits, trials, epsilon, delta, 1e-3)
    actual = z_statistic(hits, trials, epsilon=epsilon, delta=delta, beta=1e-3)
    assert actual == pytest.approx(expected, abs=1e-10)


def _counts(rng):
    trials = tuple(int(size) for size in np.exp(rng.uniform(1, 11, 2)).astype(int))
    rates = rng.choice([0.0, 1e-3, 0.05, 0.4, 0.95, 1.0], 2)
    return (
        (int(rng.binomial(trials[0], rates[0])), int(rng.binomial(trials[1], rates[1]))),
        trials,
        float(rng.choice([0.0, 1e-5, 0.02])),
        int(rng.choice([1, 1, 3])),
    )


def test_block_bound_is_a_bound():
    # The claim holds for every input, so any seed will do.
    rng = np.random.default_rng(20)
    for _ in range(300):
        hits, trials, delta, distance = _counts(rng)
        box = confidence_box(hits, trials, 1e-4)
        low = float(rng.uniform(0, 5))
        high = low + float(rng.choice([0.0, 0.001, 0.05, 0.5]))
        ends = [at_distance(end, delta, distance) for end in (low, high)]
        epsilons, deltas = zip(*ends, strict=True)
        bound = lower_bound_z(
            hits, trials, box, epsilons=epsilons, deltas=deltas, cells=cells_for(3)
        )
        for point in np.linspace(low, high, 3):
            epsilon, group_delta = at_distance(float(point), delta, distance)
            assert bound <= 1e-9 + z_in_box(hits, trials, box, epsilon=epsilon, delta=group_delta)


def test_bound_equals_a_verdict_at_every_grid_point():
    rng = np.random.default_rng(21)
    for _ in range(12):
        hits, trials, delta, distance = _counts(rng)
        grid = epsilon_grid(trials[1], distance=distance, step=0.02, also=(0.5,))
        expected = -INF
        for point in grid:
            epsilon, group_delta = at_distance(float(point), delta, distance)
            if not rejects(hits, trials, epsilon=epsilon, delta=group_delta, level=0.05):
                break
            expected = float(point)
        assert expected == epsilon_lower(
            hits, trials, delta=delta, level=0.05, distance=distance, grid_step=0.02, also=(0.5,)
        )


def test_least_mix_is_the_least():
    rng = np.random.default_rng(22)
    above, below = rng.normal(0, 3, (2, 500))
    first, last = np.sort(rng.uniform(0, np.pi / 2, (2, 500)), axis=0)
    turns = np.linspace(first, last, 400)
    values = (np.sin(turns) * above + np.cos(turns) * below).min(axis=0)
    least = least_mix(above, below, first, last)
    assert (least <= values + 1e-12).all()
    assert np.abs(least - values).max() < 1e-3


def test_initial_segment_stops_at_the_first_acceptance():
    verdicts = [True] * 40 + [False] + [True] * 30

    def certified(i, j):
        return all(verdicts[i : j + 1])

    for hint in (0, 5, 40, 60, 71):
        found = initial_segment(71, verdicts.__getitem__, certified, lambda i, h=hint: i < h)
        assert found == 40
        cautious = initial_segment(
            71, verdicts.__getitem__, lambda i, j: False, lambda i, h=hint: i < h
        )
        assert cautious == 40
    assert initial_segment(3, lambda i: False, lambda i, j: False, lambda i: True) == 0
    assert initial_segment(3, lambda i: True, lambda i, j: True, lambda i: False) == 3


def test_grid_is_fixed_and_holds_the_claim():
    grid = epsilon_grid(1000, also=(0.69314718,))
    assert grid[0] == 0
    assert 0.69314718 in grid
    assert 0.123 in grid
    assert (np.diff(grid) > 0).all()
    assert math.log(1000) < grid[-1] <= math.log(1000) + 1
    assert epsilon_grid(10**9)[-1] < 11
    assert epsilon_grid(1000, distance=4)[-1] <= (math.log(1000) + 1) / 4 + 1e-3


def test_at_distance():
    assert at_distance(0.5, 0.01, 1) == (0.5, 0.01)
    assert at_distance(0.5, 0.0, 3) == (1.5, 0.0)
    assert at_distance(0.0, 0.01, 3) == pytest.approx((0.0, 0.03))
    expected = 0.01 * (1 + math.exp(0.5) + math.exp(1.0))
    assert at_distance(0.5, 0.01, 3) == pytest.approx((1.5, expected))
    assert at_distance(2.0, 0.5, 3)[1] == 1
    assert at_distance(500.0, 0.5, 3)[1] == 1


def test_bound_uses_the_epsilon_of_one_step():
    single = epsilon_lower((500, 180), (1000, 1000), delta=0, level=0.01, grid_step=0.003)
    double = epsilon_lower(
        (500, 180), (1000, 1000), delta=0, level=0.01, distance=3, grid_step=0.001
    )
    assert double == pytest.approx(single / 3, abs=1e-9)


def test_conversion_is_a_p_value_by_enumeration():
    beta, size = 1e-4, 20
    p_values = np.array(
        [
            [
                min(1.0, beta + norm.sf(z_statistic((x, y), (size, size), epsilon=0, delta=0,
                                                    beta=beta)))
                for y in range(size + 1)
            ]
            for x in range(size + 1)
        ]
    )  # fmt: skip
    for level in (beta / 2, beta, 0.01, 0.05, 0.5):
        # The slack is for sums of rounded binomials.
        assert _size(p_values <= level, 0.0, 0.0) <= level * (1 + 1e-9)


def _chances(trials, p):
    counts = np.arange(trials + 1)
    ways = np.array([math.comb(trials, count) for count in counts], dtype=float)
    return ways * p[:, None] ** counts * (1 - p[:, None]) ** (trials - counts)


def _size(region, epsilon, delta):
    """Largest chance of the region on the edge of the null, over a dense set of q."""
    n, m = region.shape[0] - 1, region.shape[1] - 1
    p = np.concatenate(
        [np.linspace(delta, 1, 300), [1e-4, 1e-3, 0.999], 1 - np.logspace(-5, -2, 9)]
    )
    p = p[p >= delta]
    q = np.clip((p - delta) * math.exp(-epsilon), 0, 1)
    return float(
        np.einsum("kx,xy,ky->k", _chances(n, p), region.astype(float), _chances(m, q)).max()
    )


@pytest.mark.parametrize("size", [20, pytest.param(50, marks=pytest.mark.quality)])
@pytest.mark.parametrize(("epsilon", "delta"), list(product((0.0, 1.0, 3.0), (0.0, 0.05))))
def test_exact_size_and_monotone_region(size, epsilon, delta):
    level, beta = 0.05, 1e-3
    needed = threshold(level, beta) + TIE
    region = np.array(
        [
            [
                z_statistic((x, y), (size, size), epsilon=epsilon, delta=delta, beta=beta) >= needed
                for y in range(size + 1)
            ]
            for x in range(size + 1)
        ]
    )
    assert (np.diff(region.astype(int), axis=0) >= 0).all()  # more hits: still rejected
    assert (np.diff(region.astype(int), axis=1) <= 0).all()
    assert _size(region, epsilon, delta) <= level


@pytest.mark.parametrize(
    "call",
    [
        lambda: z_statistic((5, 1), (4, 4), epsilon=0, delta=0, beta=1e-3),
        lambda: z_statistic((0, 0), (0, 4), epsilon=0, delta=0, beta=1e-3),
        lambda: z_statistic((1, 1), (4, 4), epsilon=-1, delta=0, beta=1e-3),
        lambda: z_statistic((1, 1), (4, 4), epsilon=0, delta=0, beta=0),
        lambda: threshold(0.01, 0.02),
    ],
)
def test_senseless_requests_are_refused(call):
    with pytest.raises(InvalidArgument):
        call()
