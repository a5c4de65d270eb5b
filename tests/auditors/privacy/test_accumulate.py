"""Evidence over many runs: refusals, power, and how often it is wrong at the boundary."""

import json
from math import exp, inf, log

import numpy as np
import pytest

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.auditors.privacy.accumulate import (
    FixedCount,
    capital_from_json,
    carried,
    epsilon_lower,
    log_wealth,
    refutes,
    start,
)
from dpwitness.mechanisms.model import PrivacyClaim, Relation


def claim(epsilon=1.0, delta=0.0, distance=1):
    return PrivacyClaim(
        epsilon=epsilon, delta=delta, distance=distance, relation=Relation.REPLACE_ONE
    )


def a_bet(hits, trials=(400, 400), rates=(0.6, 0.2), place="here"):
    return FixedCount(place=place, hits=hits, trials=trials, rates=rates)


def test_the_first_run_starts_with_nothing_won():
    capital = start(claim(0.123456789123))
    assert (log_wealth(capital), epsilon_lower(capital), capital.runs) == (0.0, -inf, 0)
    assert capital.epsilon in capital.grid
    assert list(capital.grid) == sorted(set(capital.grid))


def test_what_one_run_leaves_the_next_starts_with():
    whole = carried(start(claim()), [a_bet((250, 80)), a_bet((240, 90))], seed="1")
    parts = carried(start(claim()), [a_bet((250, 80))], seed="1")
    parts = carried(parts, [a_bet((240, 90))], seed="2")
    assert parts.strands == whole.strands
    assert parts.highest == whole.highest
    assert (whole.runs, parts.runs) == (1, 2)


def test_a_seed_is_counted_once_and_none_means_fresh_entropy():
    capital = carried(start(claim()), [a_bet((250, 80))], seed="7")
    with pytest.raises(InvalidArgument, match="seed 7 are in the evidence"):
        carried(capital, [a_bet((250, 80))], seed="7")
    for _ in range(2):
        capital = carried(capital, [a_bet((250, 80))], seed="")
    assert capital.runs == 3


def test_runs_that_show_little_refute_together():
    capital, wealth = start(claim()), []
    for run in range(20):
        capital = carried(capital, [a_bet((250, 80))], seed=str(run))
        wealth.append(log_wealth(capital))
    assert not refutes(carried(start(claim()), [a_bet((250, 80))], seed="0"))
    assert refutes(capital)
    assert wealth == sorted(wealth)
    assert 1.0 <= epsilon_lower(capital) < log(250 / 80)


def test_the_bound_is_an_initial_segment_and_never_falls():
    capital = start(claim())
    for run in range(10):
        capital = carried(capital, [a_bet((300, 60))], seed=f"a{run}")
    best = epsilon_lower(capital)
    for run in range(10):
        capital = carried(capital, [a_bet((100, 100))], seed=f"b{run}")
    assert epsilon_lower(capital) == best > 1


def test_strands_are_few_and_weights_at_most_one():
    capital = start(claim())
    for run in range(40):
        capital = carried(capital, [a_bet((200, 200), place=str(run))], seed=str(run))
    assert len(capital.strands) == 13
    assert max(capital.highest) < log(1 / 1e-3)


def test_capital_survives_json():
    capital = carried(start(claim(delta=1e-3, distance=2)), [a_bet((250, 80))], seed="1")
    again = capital_from_json(json.loads(json.dumps(capital.to_json())))
    assert again == capital
    with pytest.raises(EvidenceFormatError):
        capital_from_json({"grid": []})


@pytest.mark.parametrize(("hits", "trials"), [(60, 60), (3, 40)])
def test_one_bet_expects_at_most_nothing_on_the_boundary(hits, trials):
    # Exactly, over every outcome of a second run that learnt its rates from the first.
    epsilon, q = 0.5, 0.3
    p = exp(epsilon) * q
    before = carried(
        start(claim(epsilon)), [a_bet((hits, hits // 3), (trials, trials), (0.8, 0.3))], seed="1"
    )
    at = before.grid.index(epsilon)
    n = 4
    expected = np.zeros(4)
    for x in range(n + 1):
        for y in range(n + 1):
            after = carried(before, [a_bet((x, y), (n, n), (0.7, 0.2))], seed="2")
            chance = _binomial(n, x, p) * _binomial(n, y, q)
            won = [
                new[at] - old[at]
                for new, old in zip(after.strands[1].logs, before.strands[1].logs, strict=True)
            ]
            expected += chance * np.exp(won)
    assert (expected <= 1 + 1e-12).all()
    assert expected.min() > 0.5


def _binomial(n, k, p):
    from math import comb

    return comb(n, k) * p**k * (1 - p) ** (n - k)


def nights(rng, p, q, runs, level):
    """After how many runs the evidence refutes; each run foresees its rates from a small pilot."""
    capital = start(claim(0.5))
    # Only the grid point of the claim matters here, and takes a hundredth of the time.
    capital = capital_from_json(
        {
            **capital.to_json(),
            "grid": [0.5],
            "highest": [0.0],
            "strands": [
                {"place": "", "logs": [[0.0]] * len(capital.strands[0].logs), "hits": [0, 0],
                 "trials": [0, 0]}
            ],
        }
    )  # fmt: skip
    for run in range(runs):
        pilot = (rng.binomial(200, p) + 0.5) / 201, (rng.binomial(200, q) + 0.5) / 201
        bets = []
        for size in (200, 400):
            hits = (int(rng.binomial(size, p)), int(rng.binomial(size, q)))
            place = "fixed" if run % 2 else str(run)
            bets.append(a_bet(hits, (size, size), pilot, place))
        capital = carried(capital, bets, seed=str(run))
        if refutes(capital, level):
            return run + 1
    return None


@pytest.mark.quality
def test_sound_and_tight_over_many_runs_false_alarms_stay_below_alpha():
    rng = np.random.default_rng(2026)
    histories, alpha = 300, 0.05
    q = 0.3
    alarms = sum(nights(rng, exp(0.5) * q, q, 25, alpha) is not None for _ in range(histories))
    # 26 or more of 300 have probability below 0.005 at a rate of 0.05.
    assert alarms <= 25


def test_a_small_excess_is_found_in_some_nights():
    rng = np.random.default_rng(2027)
    found = [nights(rng, exp(0.7) * 0.3, 0.3, 60, 1e-3) for _ in range(10)]
    assert all(found)
    assert min(found) > 1
