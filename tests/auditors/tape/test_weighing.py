"""Draws that count for both databases: their sums are the laws of both, and teach events."""

import re

import numpy as np
import pytest
from scipy.stats import laplace

from dpwitness import audit
from dpwitness.auditors.choosing.choose import promised, softly
from dpwitness.auditors.events.learners import additive
from dpwitness.auditors.events.ledger import Ledger
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.sampling.calls import Calls
from dpwitness.auditors.tape.weighing import LITTLE, PRICE, weighed
from dpwitness.auditors.workers import Key, Worker

KEY = Key(29, 0, "tape", 0)
ROWS, SINGLES = Calls(True, True, True, "error"), Calls(False, False, True, "error")


def noisy_sum(rows, rng, *, size=None):
    return sum(rows) + rng.laplace(0.0, 4.0, size)


def one_sided_max(scores, rng, *, size=None):
    noise = rng.exponential(4.0, (size or 1, len(scores)))
    found = (np.asarray(scores) + noise).argmax(axis=1)
    return found if size else int(found[0])


def dropping(rows, rng, *, size=None):
    """Keeps the rows of a call apart only by their number."""
    found = sum(rows) + rng.laplace(0.0, 4.0, size or 1)
    kept = np.flatnonzero(found > 0)
    found[kept] += rng.laplace(0.0, 4.0, len(kept))
    return found if size else found[0]


def above(rows, rng):
    return [i for i, row in enumerate(rows) if row + rng.laplace(0.0, 5.0) > 1]


def weigh(run, pair, calls, draws, *, enough=np.inf):
    return weighed(Worker(run, alone=False), pair, calls, KEY, draws, enough)


def rates(found, inside):
    """The probabilities of an event under both databases, and their standard errors."""
    counts = found.counts * inside
    return counts.sum(axis=1) / len(inside), counts.std(axis=1) / np.sqrt(len(inside))


@pytest.mark.parametrize("cut", [-3.0, 0.0, 2.0, 9.0])
def test_counts_of_a_noisy_sum_are_the_laws_of_both_databases(cut):
    found = weigh(noisy_sum, ([1, 1], [1, 2]), ROWS, 5000)
    value, error = rates(found, np.array(found.outputs.rows()) > cut)
    exact = laplace.sf(cut, loc=[2, 3], scale=4.0)
    # Five standard errors of eight numbers: a true law fails with probability below 1e-5.
    assert np.all(np.abs(value - exact) < 5 * error + 1e-9)
    assert found.worth > 20


@pytest.mark.parametrize("winner", [0, 1, 2])
def test_moves_out_of_the_support_of_one_sided_noise_are_counted_by_their_own_side(winner):
    pair = ([1.0, 0.0, 0.0], [0.0, 1.0, 1.0])
    found = weigh(one_sided_max, pair, ROWS, 8000)
    value, error = rates(found, np.array(found.outputs.rows()) == winner)
    rng = np.random.default_rng(29)
    drawn = [np.mean(one_sided_max(side, rng, size=400_000) == winner) for side in pair]
    assert np.all(np.abs(value - drawn) < 5 * (error + 0.5 / np.sqrt(400_000)))


def test_rows_that_share_draws_are_weighed_as_single_calls():
    found = weigh(dropping, ([1], [2]), ROWS, 600)
    assert found.reason == ""
    value, error = rates(found, np.array(found.outputs.rows()) <= 0)
    rng = np.random.default_rng(29)
    drawn = [np.mean(dropping(side, rng, size=200_000) <= 0) for side in ([1], [2])]
    assert np.all(np.abs(value - drawn) < 5 * (error + 0.5 / np.sqrt(200_000)))


def test_what_is_not_held_or_too_heavy_says_so_and_teaches_nothing():
    def parted(rows, rng):
        return rng.normal(size=len(rows)).sum() if len(rows) > 1 else rng.laplace()

    found = weigh(parted, ([1], [1, 2]), SINGLES, 200)
    assert found.reason == (
        "a draw (normal) is asked for under one database and another one (laplace) under the other"
    )
    assert not len(found.outputs)

    def narrow(rows, rng, *, size=None):
        return sum(rows) + rng.normal(0.0, 0.5, size)

    far = weigh(narrow, ([0], [1]), ROWS, 2000)
    assert far.reason.endswith("for weighted runs to teach more than ordinary ones")


def test_a_call_is_weighed_only_if_it_is_worth_what_it_takes():
    """At a tenth of the scale one is worth hundreds, at the whole of it three."""

    def one(rows, rng):
        return sum(rows) + rng.laplace(0.0, 4.0)

    ask = (SINGLES, KEY, 300, np.inf, 0.0, True, (0.0, PRICE))
    near, far = (weighed(Worker(one, alone=False), ([0], [k]), *ask) for k in (0.4, 4.0))
    assert not near.reason
    assert near.worth > PRICE
    assert far.reason == LITTLE
    assert far.made < 50


def test_rows_have_a_price_of_their_own():
    ask = (ROWS, KEY, 2000, np.inf, 0.0, True)
    worker, pair = Worker(noisy_sum, alone=False), ([0], [1])
    free = weighed(worker, pair, *ask)
    dear = weighed(worker, pair, *ask, (2 * free.worth, 0.0))
    assert not free.reason
    assert dear.reason == LITTLE
    assert dear.made < free.made
    assert not weighed(worker, pair, *ask, (0.0, 2 * free.worth)).reason


def test_draws_whose_weights_are_near_one_are_worth_many_and_enough_of_them_are_made():
    light = weigh(noisy_sum, ([0], [0.1]), ROWS, 50_000, enough=1e5)
    assert light.worth > 500
    assert light.made == 509


def test_an_event_is_learnt_from_few_weighed_draws_that_as_many_ordinary_ones_do_not_show():
    """The half-line of two sums a tenth of a scale apart, nearly as good as the best there is."""

    def release(rows, rng, *, size=None):
        return sum(rows) + rng.laplace(0.0, 10.0, size)

    found = weigh(release, ([0], [1]), ROWS, 2000)
    aim = {"delta": 0.0, "trials": 1_000_000, "level": 0.05}
    choice, worth = softly(found.outputs, found.times, **aim)
    outputs = [Outputs.of(release(rows, np.random.default_rng(5), size=400_000), 400_000)
               for rows in ([0], [1])]  # fmt: skip
    # The same noise on both sides: the difference is nearly that of the laws.
    p, q = (np.mean(choice.event.contains(one)) for one in outputs)
    p, q = (q, p) if choice.reversed else (p, q)
    assert np.log(p / q) > 0.095
    assert 0.08 < worth < 0.1
    assert promised(choice, found.outputs, found.times, **aim)[0] < 0.1


def test_an_audit_says_what_its_tape_taught_and_goes_on_where_it_does_not_hold():
    held = audit(above, epsilon=2.0, pair=([0.0, 1.0], [0.3, 0.7]), relation="declared",
                 trials=6000)  # fmt: skip
    told = re.match(r"(\d+) runs per database with weighted randomness helped", held.plan["tape"])
    assert 24 <= int(told[1]) <= 150
    assert held.draws <= 2 * 6000 + 8 * int(told[1]) + 10

    def own(rows, rng):
        return sum(rows) + (rng.normal() if sum(rows) else rng.laplace())

    found = audit(own, epsilon=9.0, pair=([0], [1]), relation="declared", trials=6000)
    assert found.plan["tape"] == (
        "Randomness was not weighted: a draw (normal) is asked for under one database and "
        "another one (laplace) under the other."
    )


def test_dependent_numbers_are_told_apart_by_their_regression_at_once():
    """A number that says nothing by itself shows the noise of another that does.

    Both are normal around (0, 0) and (1, 0), with variances 2 and 1 and covariance 1: the ratio is
    that of their difference, and the first alone shows half of it.
    """
    rng = np.random.default_rng(7)
    shared, own = rng.normal(size=8000), rng.normal(size=8000)
    shift = np.repeat([0.0, 0.1], 4000)
    outputs = np.stack([shared + own + shift, shared], axis=1)
    apart = outputs[:, 0] - outputs[:, 1]
    ratio = np.exp(((apart - 0.1) ** 2 - apart**2) / 2)
    counts = np.where(shift == 0, [np.ones(8000), 1 / ratio], [ratio, np.ones(8000)])
    ledger = Ledger.of_weighed(Outputs.of(outputs, 8000), 100 * counts, questions)
    gains = {one.kind: one.gain for one in additive.scores(ledger, set())}
    assert gains["joint"] > 1.5 * max(gains["own"], gains["pooled"] if "pooled" in gains else 0)


@pytest.mark.long
@pytest.mark.parametrize(("scale", "part"), [(10.0, 0.875), (None, 0.75)])
def test_fewer_draws_teach_where_weighed_ones_tell_as_much(scale, part):
    def release(rows, rng, *, size=None):
        kept = scale or (10.0 if sum(rows) else 10.5)
        noise = rng.laplace(0.0, kept, size) if scale else -kept * np.log(rng.random(size))
        return sum(rows) + noise

    found = audit(release, epsilon=1.0, pair=([0], [1]), relation="declared", trials=40_000)
    assert found.evidence.counts[-1].trials[0] == part * 40_000


@pytest.mark.long
@pytest.mark.parametrize(("behind", "most"), [(False, 1 / 8), (True, 1 / 4)])
def test_as_many_teach_as_without_a_tape_once_they_teach_a_better_event(monkeypatch, behind, most):
    """What is found to be better by the last lesson counts for the next, and not one later."""
    chosen, beside = Judging._chosen, []

    def found(self, trials):
        choice = chosen(self, trials)
        if self._weights is not None:
            beside.append(self.lesson.draws)
            # The better event comes up in the first lesson after the weighed draws.
            self._behind = behind and len(beside) > 1
        return choice

    monkeypatch.setattr(Judging, "_chosen", found)

    def release(rows, rng, *, size=None):
        return sum(rows) + rng.laplace(0.0, 10.0, size)

    told = audit(release, epsilon=1.0, pair=([0], [1]), relation="declared", trials=40_000)
    assert told.evidence.counts[-1].trials[0] == (1 - most) * 40_000
