"""Bets on clumps: fair for independent draws by exact sums, quick to see draws that share."""

from math import comb, exp, factorial, log, prod

import numpy as np
import pytest

from dpwitness.auditors.bounds.one_law import Dispersion, _split


@pytest.mark.parametrize(("n", "m", "hits"), [(5, 5, 3), (32, 17, 30), (40, 200, 1), (100, 100, 3)])
def test_a_bet_is_fair_whatever_the_events_probability(n, m, hits):
    # The sum of the bet over the hypergeometric law, which does not know the probability.
    total = np.zeros(5)
    for a in range(max(0, hits - m), min(n, hits) + 1):
        chance = comb(n, a) * comb(m, hits - a) / comb(n + m, hits)
        total += chance * np.exp(_split(a, hits - a, n, m))
    assert (total <= 1).all()


def test_the_mixture_starts_at_one_and_one_block_says_nothing():
    assert exp(Dispersion().log_e) == 1
    assert Dispersion().after([3], [10]) == Dispersion()


def test_the_whole_process_is_fair():
    # Two counts of two blocks, all outcomes: the expectation of the e-value is at most 1.
    p, n = 0.3, 4
    chance = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    mean = sum(
        chance[a] * chance[b] * chance[c] * chance[d]
        * exp(Dispersion().after([a, b], [n, n]).after([c, d], [n, n]).log_e)
        for a in range(n + 1) for b in range(n + 1) for c in range(n + 1) for d in range(n + 1)
    )  # fmt: skip
    assert 0.5 < mean <= 1


def test_bets_on_two_events_of_the_same_draws_are_fair_together():
    # Three outputs; events {0} and {0, 1}. All counts of two blocks of three draws.
    p, n = (0.2, 0.5, 0.3), 3
    laws = [
        (a, b, factorial(n) / prod(map(factorial, (a, b, n - a - b)))
         * p[0] ** a * p[1] ** b * p[2] ** (n - a - b))
        for a in range(n + 1) for b in range(n + 1 - a)
    ]  # fmt: skip
    mean = sum(
        one * two * exp(Dispersion().after([a, c], [n, n], [a + b, c + d]).log_e)
        for a, b, one in laws
        for c, d, two in laws
    )
    assert 0.5 < mean <= 1


def test_a_clump_in_either_event_is_seen():
    still, clumped = [100] * 8, [100, 140] * 4
    for hits, other in ((still, clumped), (clumped, still)):
        alone = Dispersion().after(clumped, [200] * 8).log_e
        together = Dispersion().after(hits, [200] * 8, other).log_e
        assert alone - log(2) - 0.01 < together < alone + 0.01


def test_two_rates_are_seen_and_one_is_not():
    rng = np.random.default_rng(5)  # fixed: the bound at the end is a rate, not a proof
    shared, sound = Dispersion(), Dispersion()
    for _ in range(4):
        rates = np.where(np.arange(8) % 3 == 0, 0.5, 0.6)
        shared = shared.after(rng.binomial(2000, rates).tolist(), [2000] * 8)
        sound = sound.after(rng.binomial(2000, 0.55, size=8).tolist(), [2000] * 8)
    assert shared.log_e > log(1e6) > 3 > sound.log_e
