"""Draws that an audit left when it ended early. `tests/quality` has the true claims."""

from math import exp, inf

import numpy as np
import pytest

from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.recorded import judge_kept, judge_samples
from dpwitness.auditors.recorded.judge_samples import SHORTEST, share_of
from dpwitness.auditors.results.results import Verdict


def answers(rng, epsilon, size):
    """Randomized response at its epsilon, under a 0 and under a 1."""
    truth = exp(epsilon) / (1 + exp(epsilon))
    return [Outputs.of((rng.random(size) < p).astype(float), size) for p in (1 - truth, truth)]


def test_the_parts_of_all_counts_add_up_to_one():
    powers = range(SHORTEST, 4000)
    assert all(share_of(power) > 0 for power in powers)
    assert sum(map(share_of, powers)) == pytest.approx(1 - 1 / (len(powers) + 1))


def test_bets_are_those_of_the_beginning_however_much_follows():
    """What is said of a beginning does not change with the end, or it would not be predictable."""
    one, two = answers(np.random.default_rng(2), 1.0, 512)
    highest = 0.0
    for size in range(40, 512, 47):
        wealth = judge_kept(one[:size], two[:size], epsilon=0.9).wealth
        assert wealth >= highest
        highest = wealth


def test_a_hundred_draws_refute_an_event_of_one_half_against_never():
    rng = np.random.default_rng(3)
    for _ in range(10):
        first = Outputs.of(np.zeros(110), 110)
        second = Outputs.of((rng.random(110) < 0.5).astype(float), 110)
        judged = judge_kept(first, second, epsilon=1)
        # 110 draws do with probability above .999; seen: 10 of 10 at 100 too.
        assert judged.verdict is Verdict.REFUTED
        assert judged.epsilon_lower == 1
        assert judged.wealth >= judged.needed


def test_many_draws_are_counted_once_too_and_say_what_they_could_have_seen():
    rng = np.random.default_rng(4)
    sound = judge_kept(*answers(rng, 1.0, 6000), epsilon=1)
    assert sound.verdict is Verdict.NOT_REFUTED
    assert 1 < sound.detectable < 1.5
    assert sum(sound.count.trials) == 2 * 3072  # three quarters of 4,096 of each
    broken = judge_kept(*answers(rng, 2.0, 6000), epsilon=1)
    assert broken.verdict is Verdict.REFUTED
    assert 1 < broken.epsilon_lower <= 2


def test_too_few_draws_and_odd_numbers_are_sentences():
    one, two = answers(np.random.default_rng(1), 1.0, 31)
    with pytest.raises(InvalidArgument, match="31 draws of each database were kept"):
        judge_kept(one, two, epsilon=1)
    for claim in ({"epsilon": inf}, {"epsilon": 1, "alpha": 0.7}, {"epsilon": 1, "distance": 0}):
        with pytest.raises(InvalidArgument, match=r"must be|at least"):
            judge_kept(*answers(np.random.default_rng(1), 1.0, 64), **claim)


def test_draws_in_order_of_size_are_no_independent_draws():
    rising = np.arange(400.0)
    judged = judge_kept(Outputs.of(rising, 400), Outputs.of(rising + 500, 400), epsilon=1)
    assert judged.dependent
    assert judged.verdict is Verdict.INCONCLUSIVE
    alone = judge_samples(Outputs.of(rising, 400), Outputs.of(rising + 500, 400), epsilon=1)
    assert alone.verdict is judged.verdict
