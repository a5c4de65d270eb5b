"""The clock: work that depends on the database is told, equal work is not accused.

The clock itself is replaced, so that nothing here depends on the machine.
"""

import numpy as np
import pytest

from dpwitness import Pair, Verdict
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.recorded import clock
from dpwitness.auditors.recorded.clock import judge_times


@pytest.fixture
def machine(monkeypatch):
    """A clock that advances by what a call says it costs, and slows down as it goes."""
    state = {"now": 0, "drift": 1.0}
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: int(state["now"]))
    noise = np.random.default_rng(5)

    def work(units):
        state["drift"] *= 1.0002
        state["now"] += state["drift"] * 1000 * (units + noise.exponential(0.2))

    return work


def test_work_that_depends_on_the_database_is_refuted(machine):
    def run(database, rng):
        machine(1.0 + database)

    found = judge_times(run, Pair(0, 1), epsilon=1.0, trials=1500, seeded=False)
    assert found.verdict is Verdict.REFUTED
    assert found.typical[0] < found.typical[1]


def test_equal_work_is_not_accused_on_a_machine_that_drifts(machine):
    # The seed is fixed; with blocks of one side after the other the drift alone would tell.
    def run(database, rng):
        machine(1.0)

    for seed in range(5):
        found = judge_times(run, Pair(0, 1), epsilon=0.0, trials=400, seed=seed, seeded=False)
        assert found.judged.verdict is not Verdict.REFUTED
    assert "noisy" in found.warning
    with pytest.raises(InvalidArgument, match="at least 200"):
        judge_times(run, Pair(0, 1), epsilon=1.0, trials=100)


def test_a_machine_that_tells_a_database_from_itself_decides_nothing(machine, monkeypatch):
    calls = []

    def run(database, rng):
        calls.append(database)
        machine(1.0)

    real = clock.judge_samples

    def skewed(first, second, **claim):
        return real(first, clock._outputs(np.full(len(second), 7)), **claim)

    monkeypatch.setattr(clock, "judge_samples", skewed)
    found = judge_times(run, Pair(0, 1), epsilon=1.0, trials=400, seeded=False)
    assert found.control.verdict is Verdict.REFUTED
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "proves nothing" in found.warning
