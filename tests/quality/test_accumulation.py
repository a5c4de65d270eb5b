"""Evidence over many whole audits of a tight mechanism: rarely wrong, and right in the end."""

from dataclasses import replace

import numpy as np
import pytest

from dpwitness.auditors.privacy.accumulate import (
    FixedCount,
    Strand,
    carried,
    log_wealth,
    refutes,
    start,
)
from dpwitness.auditors.privacy.run import audit

pytestmark = pytest.mark.quality

ALPHA = 0.05


def noisy(scale):
    def run(x, rng, *, size=None):
        return x + rng.laplace(scale=scale, size=() if size is None else size)

    return run


def first_alarm(mechanism, runs, trials, seed):
    """The run in which all so far refute epsilon 1; only the claim's grid point is kept."""
    capital = None
    for run in range(runs):
        result = audit(
            mechanism, pair=(0, 1), epsilon=1.0, trials=trials, seed=1000 * seed + run, alpha=1e-6
        )
        if capital is None:
            capital = start(result.claim)
            strand = Strand(place="", logs=((0.0,),) * len(capital.strands[0].logs))
            capital = replace(capital, grid=(1.0,), highest=(0.0,), strands=(strand,))
        bets = [
            FixedCount(place=repr((c.event, c.reversed)), hits=c.oriented.hits,
                       trials=c.oriented.trials, rates=c.rates)
            for c in result.judged
        ]  # fmt: skip
        capital = carried(capital, bets, seed=str(result.seed))
        if refutes(capital, ALPHA):
            return run
    assert np.isfinite(log_wealth(capital))
    return None


def test_tight_mechanisms_are_seldom_refuted_in_any_of_many_runs():
    histories = 120
    alarms = sum(first_alarm(noisy(1.0), 8, 1500, n) is not None for n in range(histories))
    # More than 13 of 120 have probability below 0.005 at a rate of 0.05.
    assert alarms <= 13


def test_a_small_excess_is_found_in_some_runs():
    # 1 / 0.95 against a claim of 1.
    found = [first_alarm(noisy(0.95), 10, 50_000, 500 + n) for n in range(4)]
    assert all(run is not None for run in found)
