"""Bets: their largest expectation under a claim by linear programming, and what is no bet."""

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import linprog

from dpwitness.auditors.bounds.wealth import Bet, Bettor, Part, bets_of_all, log_gain
from dpwitness.mechanisms.model import Moment


def most_expected(f, g, epsilon, delta):
    """The largest E_P f + E_Q g of two laws that keep (epsilon, delta) in both directions."""
    size, ratio = len(f), exp(epsilon)
    eye, none, ones = np.eye(size), np.zeros((size, size)), np.ones(size)
    # Variables P, Q and what each exceeds exp(epsilon) times the other by.
    upper = np.block([[eye, -ratio * eye, -eye, none], [-ratio * eye, eye, none, -eye]])
    totals = np.array([[*0 * ones, *0 * ones, *ones, *0 * ones],
                       [*0 * ones, *0 * ones, *0 * ones, *ones]])  # fmt: skip
    found = linprog(
        -np.concatenate([f, g, 0 * ones, 0 * ones]),
        A_ub=np.vstack([upper, totals]),
        b_ub=[*[0] * 2 * size, delta, delta],
        A_eq=[[*ones, *0 * ones, *0 * ones, *0 * ones], [*0 * ones, *ones, *0 * ones, *0 * ones]],
        b_eq=[1, 1],
    )
    return -found.fun


def known(seed, size):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 200, size) + 1.0, np.sort(rng.normal(0, 2, size))[::-1]


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (1, 0), (0.3, 0.01), (1, 0.1), (3, 1e-5)])
def test_no_bet_wins_more_than_one_against_any_two_laws_that_keep_the_claim(epsilon, delta):
    for seed, size in enumerate((2, 3, 9)):
        past, odds = known(seed, size)
        *_, f, g = bets_of_all(past, odds, epsilon, delta)
        assert (f > 0).all()
        assert (g > 0).all()
        for one in range(0, len(f), 31):
            assert most_expected(f[one], g[one], epsilon, delta) <= 2 + 1e-7
        bettor = Bettor(epsilon, delta)
        for _ in range(3):
            bet = bettor.bet(past, odds, 10)
            assert most_expected(np.array(bet.f), np.array(bet.g), epsilon, delta) <= 2 + 1e-7
            hits = [7] * size
            assert log_gain(bet, (hits, hits), epsilon, delta) <= 0
            bettor.learn((hits, hits))


def test_a_bet_on_two_cells_by_hand():
    """Randomized response: all on f = 2 s, g = 2 (1 - s) in the first cell, at epsilon ln 3."""
    bet = Bet(1.0, 1.0, (1.2, 0.4), (0.4, 1.2))
    assert log_gain(bet, ([3, 1], [0, 4]), log(3), 0.0) == pytest.approx(
        3 * log(1.2) + log(0.4) + 4 * log(1.2)
    )
    assert most_expected(np.array(bet.f), np.array(bet.g), log(3), 0.0) == pytest.approx(2.0)


@pytest.mark.parametrize("epsilon", [710.0, 1000.0, 1e300])
def test_nothing_is_won_of_a_claim_whose_ratio_is_no_double(epsilon):
    counts = ([500, 0], [0, 500])
    bet = Bettor(epsilon, 0.0).bet((500, 500), (9.0, -9.0), 500)
    assert log_gain(bet, counts, epsilon, 0.0) <= 0
    with pytest.raises(ValueError, match="no bet"):
        log_gain(Bet(1.0, 1.0, (1.2, 0.4), (0.4, 1.2)), counts, epsilon, 0.0)


@pytest.mark.parametrize(
    "bet",
    [
        Bet(1.0, 1.0, (1.2, 0.41), (0.4, 1.2)),
        Bet(1.0, 1.01, (1.2, 0.4), (0.4, 1.2)),
        Bet(1.0, 1.0, (1.0, 1.0), (1.0, 1.0001)),
        Bet(1.0, 1.0, (1.0, 0.0), (1.0, 1.0)),
        Bet(1.0, 1.0, (1.5, 1.5), (1.5, 1.5)),
        Bet(1.0, 1.0, (1e308, 1.0), (1.0, 1.0)),
        Bet(1e308, 1.0, (1.0, 1.0), (1e308, 1e308)),
        Bet(1.0, 1.0, (1e308, 1.0), (1.0, 1.0), (Part(1.0, False, 1e308, (1e308, -1e308)),)),
    ],
)
def test_what_promises_too_much_is_no_bet(bet):
    """Without a warning, whatever a file of somebody else says was bet."""
    with pytest.raises(ValueError, match="no bet"):
        log_gain(bet, ([1, 1], [1, 1]), log(3), 0.0, (Moment(1.0, 0.5, 0.0),))


def test_delta_is_paid_for():
    fair = Bet(1.0, 1.0, (1.2, 0.4), (0.4, 1.2))
    with pytest.raises(ValueError, match="no bet"):
        log_gain(fair, ([1, 1], [1, 1]), log(3), 0.001)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.01, 1.0, 5.0, 9.9, 12.0, 20.0, 60.0, 700.0])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-5, 0.1, 0.9, 1.0])
def test_what_a_bettor_bets_is_a_bet_against_every_claim(epsilon, delta):
    """Rounding never makes it none, whatever it has learnt."""
    rng = np.random.default_rng(7)
    for size in (1, 2, 17):
        bettor = Bettor(epsilon, delta)
        for draws in (10, 1000, 10**6):
            past, odds = known(draws, size)
            bet = bettor.bet(past, (odds * 10).tolist(), draws)
            counts = tuple(rng.integers(0, draws, size) for _ in range(2))
            assert np.isfinite(log_gain(bet, counts, epsilon, delta))
            bettor.learn(counts)
