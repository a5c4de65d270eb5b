"""Bets against moments: Young's inequality, and what two laws at the edge of a claim allow."""

from math import exp, log

import numpy as np
import pytest
from scipy.special import bdtrc
from scipy.stats import norm

from dpwitness.auditors.bounds.wealth import (
    Bet,
    Bettor,
    Part,
    Telling,
    conjugate,
    experts,
    kinds,
    log_gain,
    price,
    rho_lower,
    rho_of,
    telling,
)
from dpwitness.mechanisms.model.curves import (
    ConcentratedCurve,
    GaussianCurve,
    Moment,
    PointsCurve,
    RenyiCurve,
    lines_of,
    moments_of,
)

ORDERS = (1.0, 1.5, 2.0, 8.0)


def phi(t, order):
    return t * np.log(t) - t + 1 if order == 1 else t**order


def laws(seed, size):
    """Two laws whose likelihood ratios are moderate."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(size, 3.0), 2) + 0.02
    return p / p.sum(), q / q.sum()


def divergence(p, q, order):
    if order == 1:
        return float(p @ np.log(p / q))
    return log(q @ (p / q) ** order) / (order - 1)


def edge(p, q, order):
    """The Renyi claim that the laws keep exactly, one direction of them tightly."""
    return RenyiCurve(((order, max(divergence(p, q, order), divergence(q, p, order))),))


@pytest.mark.parametrize("order", ORDERS)
def test_the_conjugate_is_the_largest_excess_of_a_line(order):
    t = np.geomspace(1e-9, 1e4, 200_001)
    for h in (-2.0, -0.1, 0.0, 0.7, 3.0):
        assert conjugate(np.array([h]), order)[0] == pytest.approx(
            (t * h - phi(t, order)).max(), abs=1e-6
        )


@pytest.mark.parametrize("order", ORDERS)
def test_no_function_gains_more_than_the_moment(order):
    for seed in range(20):
        p, q = laws(seed, 6)
        bound = float(q @ phi(p / q, order))
        best = np.log(p / q) if order == 1 else order * (p / q) ** (order - 1)
        for h in (best, np.random.default_rng(seed).normal(0, 2, 6)):
            gained = p @ h - q @ conjugate(h, order)
            assert gained <= bound * (1 + 1e-12)
        assert p @ best - q @ conjugate(best, order) == pytest.approx(bound)


@pytest.mark.parametrize("order", ORDERS)
def test_parts_left_out_are_paid_for(order):
    """Parts of probability delta anywhere, on the one side, the other, or both."""
    delta = 0.05
    for seed in range(20):
        p, q = laws(seed, 5)
        moment = Moment(order, float(q @ phi(p / q, order)), delta)
        h = np.random.default_rng(seed).normal(0, 2, 5)
        most = price(h, moment)
        for cell in range(5):
            for other in range(5):
                for a, b in ((delta, 0.0), (0.0, delta), (delta, delta)):
                    one = (1 - a) * p + a * np.eye(5)[cell]
                    two = (1 - b) * q + b * np.eye(5)[other]
                    assert one @ h - two @ conjugate(h, order) <= most + 1e-12


@pytest.mark.parametrize("order", [1.3, 2.0, 6.0])
def test_no_bet_wins_at_the_edge_of_a_claim(order):
    """E_P f E_Q g is exactly worked out, in both directions, whatever was learnt."""
    for seed in range(15):
        p, q = laws(seed, 7)
        curve = edge(p, q, order)
        bettor = Bettor(*lines_of(curve)[seed], moments_of(curve))
        rng = np.random.default_rng(seed)
        past, odds = (p + q) * 500, np.log(p / q) * rng.uniform(0.5, 3)
        for _ in range(3):
            bet = bettor.bet(past, odds.tolist(), 10)
            for one, two in ((p, q), (q, p)):
                assert (one @ np.array(bet.f)) * (two @ np.array(bet.g)) <= 1 + 1e-12
            counts = tuple(rng.multinomial(10, law) for law in (p, q))
            log_gain(bet, counts, bettor.epsilon, bettor.delta, bettor.moments)
            bettor.learn(counts)


def test_a_bet_on_a_moment_that_is_too_large_wins():
    p, q = laws(3, 7)
    curve = edge(p, q, 2.0).scaled(0.8)
    bettor, odds = Bettor(*lines_of(curve)[10], moments_of(curve)), np.log(p / q).tolist()
    bettor.logs[: -6 * len(moments_of(curve))] = -50
    bet = bettor.bet((p + q) * 1e6, odds, 10)
    assert p @ np.log(bet.f) + q @ np.log(bet.g) > 1e-4
    assert bet.parts


@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.01])
@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 10.0])
def test_what_a_bettor_bets_is_a_bet_against_every_curve(size, delta):
    """Rounding never makes it none, whatever it has learnt."""
    rng = np.random.default_rng(7)
    curve = ConcentratedCurve(size, delta)
    for cells in (1, 2, 17):
        bettor = Bettor(*curve.line(0.01), moments_of(curve))
        for draws in (10, 1000, 10**6):
            past, odds = rng.integers(0, 200, cells), np.sort(rng.normal(0, 20, cells))[::-1]
            bet = bettor.bet(past, odds.tolist(), draws)
            counts = tuple(rng.integers(0, draws, cells) for _ in range(2))
            gain = log_gain(bet, counts, bettor.epsilon, bettor.delta, bettor.moments)
            assert np.isfinite(gain)
            bettor.learn(counts)


def test_a_part_that_promises_too_much_is_no_bet():
    """Order 2, C = 2: 2 r - r^2 with r = 1 in one cell and 2 in the other, weight .1."""
    moments = (Moment(2.0, 2.0, 0.0),)
    part = Part(2.0, False, 0.1, (2.0, 4.0))
    a, b = 0.8, 1.0
    f, g = (1.0, 1.2), (0.9, 0.6)
    fair = Bet(a, b, f, g, (part,))
    assert log_gain(fair, ((3, 1), (2, 2)), 1.0, 0.0, moments) == pytest.approx(
        log(1.2) + 2 * log(0.9) + 2 * log(0.6)
    )
    for forged in (
        fair._replace(a=0.81),
        fair._replace(g=(0.91, 0.6)),
        fair._replace(f=(1.0, 1.21)),
        fair._replace(parts=(part._replace(weight=0.11),)),
        fair._replace(parts=(part._replace(weight=-0.1),)),
        fair._replace(parts=(part._replace(order=3.0),)),
        fair._replace(parts=()),
    ):
        with pytest.raises(ValueError, match=r"no bet|no moment"):
            log_gain(forged, ((3, 1), (2, 2)), 1.0, 0.0, moments)


def test_moments_that_curves_bound():
    rho = {one.order: one.bound for one in moments_of(ConcentratedCurve(0.5))}
    assert rho[1.0] == pytest.approx(0.5)
    assert rho[2.0] == pytest.approx(exp(1.0))
    assert moments_of(GaussianCurve(1.0)) == moments_of(ConcentratedCurve(0.5))
    assert moments_of(GaussianCurve(0.5), 2) == moments_of(ConcentratedCurve(0.5))
    assert moments_of(ConcentratedCurve(0.125), 2) == moments_of(ConcentratedCurve(0.5))
    renyi = RenyiCurve(((2.0, 1.0), (3.0, 1.5)))
    assert [one.order for one in moments_of(renyi)] == [2.0, 3.0]
    assert moments_of(renyi, 2) == ()
    assert moments_of(ConcentratedCurve(0.5, 0.1), 2) == ()
    assert moments_of(PointsCurve(((1.0, 0.1),))) == ()


@pytest.mark.parametrize("order", [1.0, 2.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_bound_of_rho_is_above_the_truth_no_more_often_than_promised(order, turned):
    """h = phi' of the true ratios: E_P h - E_Q phi*(h) is the moment itself, not less."""
    p, q = laws(3, 6)
    one, two = (q, p) if turned else (p, q)
    ratio, draws, level, runs = one / two, 200, 0.2, 400
    h = np.log(ratio) if order == 1 else order * ratio ** (order - 1)
    star = conjugate(h, order)
    means = float(one @ h), float(two @ star)
    moment = float(two @ phi(ratio, order))
    assert means[0] - means[1] == pytest.approx(moment)
    spread = np.sqrt(one @ h**2 - means[0] ** 2 + two @ star**2 - means[1] ** 2)
    weights = np.array([0.5, 1.0, 2.0]) * np.sqrt(-2 * log(level) / draws) / spread
    test = Telling(order, turned, h, means, weights)
    rng = np.random.default_rng(7)  # fixed: fails with probability 1e-6 at most if it were drawn
    counts = np.stack([rng.multinomial(draws, law, runs) for law in (p, q)], axis=1)
    true = rho_of(order, moment)
    bounds = np.array([rho_lower(test, one, level=level) for one in counts])
    wrong = int((bounds > true * (1 + 1e-9)).sum())
    assert bdtrc(wrong - 1, runs, level) > 1e-6
    assert (bounds > 0).mean() > 0.1


@pytest.mark.parametrize("turned", [False, True])
def test_the_function_foreseen_to_prove_most_is_told_by_few_draws(turned):
    p, q = laws(5, 12)
    one, two = (q, p) if turned else (p, q)
    known = 4000 * (one + two)
    test = telling(known, np.log(one / two), draws=50_000, level=1e-3)
    counts = np.random.default_rng(1).multinomial(50_000, np.stack([one, two]))
    truth = max(divergence(a, b, 1.0) for a, b in ((p, q), (q, p)))
    most = max(divergence(a, b, o) / o for a, b in ((p, q), (q, p)) for o in (1.25, 1.5, 2.0, 3.0))
    assert 0.8 * truth < rho_lower(test, counts, level=1e-3) <= max(truth, most)


def test_experts_foresee_the_excess_of_a_gaussian():
    """sigma .9 against rho 1/2 at order 1: the divergence is 1 / 1.62, in standard errors .06."""
    edges = np.linspace(-4, 5, 60)
    p, q = (np.diff(norm.cdf([-np.inf, *edges, np.inf], side, 0.9)) for side in (1, 0))
    moments = (Moment(1.0, 0.5, 0.0),)
    made = experts((p + q) * 1e6, np.log(p / q), moments)
    assert len(made.a) == 3 * len(kinds(moments))
    assert made.excess == pytest.approx((1 / 1.62 - 0.5) / 1.9, rel=0.2)
    assert 0.0015 < (np.log(made.f) @ p + np.log(made.g) @ q).max() < 0.003
