"""Draws of slow mechanisms: drawn in pieces they are the same, and those made are kept."""

import json

import pytest

from dpwitness.auditors.errors import ContractError
from dpwitness.auditors.events.events import HalfLine
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.privacy import preparing
from dpwitness.auditors.privacy.run import audit
from dpwitness.auditors.results.results import Verdict
from dpwitness.auditors.sampling import sampling
from dpwitness.auditors.sampling.gate import pass_gate
from dpwitness.auditors.sampling.kept import KeptLines
from dpwitness.auditors.sampling.sampling import OutOfTime, Sampler
from dpwitness.auditors.workers.streams import Block
from dpwitness.mechanisms.model import Pair, PrivacyClaim, Relation

CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)
PAIR = Pair([], [1])


def noisy(database, rng):
    return len(database) + rng.laplace()


def leaks(database, rng):
    return len(database) and rng.random() < 0.5


def breaks(database, rng):
    value = len(database) + rng.laplace()
    if rng.random() < 0.01:
        raise ValueError("late")
    return value


def block(side, first, size, chunk=0):
    return Block(0, 1, "bet", side, chunk, 0, size, first)


def test_what_is_kept_is_a_beginning_of_both_sides():
    draws = KeptLines()
    draws.begin(PAIR, CLAIM)
    for chunk in (0, 1):
        draws.expect(PAIR, [block(side, 0, 4, chunk) for side in (0, 1)])
        for side in (0, 1):
            draws.enter(PAIR, block(side, 0, 2, chunk), [side, chunk])
    draws.enter(PAIR, block(1, 2, 2), [7, 8])
    # Of the first stream the draws 2 and 3 of D are missing, so nothing after them counts.
    assert draws.pairs() == [("0", "1"), ("0", "0")]
    draws.enter(PAIR, block(0, 2, 2), [5, 6])
    assert draws.pairs() == [("0", "1"), ("0", "0"), ("5", "7"), ("6", "8"), ("0", "1"), ("1", "1")]
    draws.enter(Pair([], [1]), block(0, 2, 2, 1), [0, 0])  # another pair, though an equal one
    assert len(draws.pairs()) == 6


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_are_the_same_draws(monkeypatch, workers):
    event, blocks = HalfLine(Feature(), 0.5, False), {}
    for slow in (False, True):
        sampler = Sampler(run=noisy, seed=3, workers=workers)
        sampler.check_call(PAIR)
        sampler.tally.slow = slow
        monkeypatch.setattr(sampling, "BUNDLE", 5 * sampler.tally.pace)
        blocks[slow] = (
            sampler.count(PAIR, event, "attempt", 0, 1500),
            [side.rows() for side in sampler.draw(PAIR, "bet", 1, 70)],
            sampler.tally.draws,
        )
        pass_gate(sampler, refuted=True)
        sampler.door.close()
    assert blocks[False] == blocks[True]


def test_time_ends_a_count_between_draws_and_never_after_the_last():
    sampler = Sampler(run=noisy, seed=3)
    sampler.check_call(PAIR)
    sampler.tally.slow, sampler.tally.late = True, lambda: True
    sampler.tally.pace = 1.0
    with pytest.raises(OutOfTime):
        sampler.draw(PAIR, "bet", 0, 2)
    sampler.tally.slow = False
    blocks = sampler.blocks(PAIR, "bet", 1, 3)[:1]
    assert len(sampler.results(PAIR, None, blocks, [-1])[1][0]) == 3
    sampler.door.close()


@pytest.fixture
def slow(monkeypatch):
    """Every mechanism counts as slow."""
    monkeypatch.setattr(preparing, "SLOW", 0.0)


def test_an_audit_that_raises_late_hands_its_draws_on(slow):
    kept, known = [], []
    with pytest.raises(ContractError, match="late"):
        audit(breaks, epsilon=1, pair=PAIR, trials=4000, kept=kept.append,
              news=lambda kind, sentence: known.append(kind))  # fmt: skip
    (draws,) = kept
    assert draws.claim.epsilon == 1
    assert len(draws.pairs) >= 12
    assert set(known) == {"known"}
    head, *lines = map(json.loads, draws.text().splitlines())
    assert head["format"] == "dpwitness draws 1"
    assert (head["pair"], head["alpha_spent"]) == ([[], [1]], 1e-3)
    assert all(len(line) == 2 for line in lines)


@pytest.mark.long
def test_an_audit_that_comes_to_its_verdict_keeps_nothing(slow):
    kept = []
    result = audit(leaks, epsilon=1, pair=PAIR, trials=400, precision=None, kept=kept.append)
    assert result.verdict is Verdict.REFUTED
    assert kept == []


def test_draws_that_are_no_independent_draws_are_kept_for_nobody(slow):
    kept, calls = [], [0]

    def remembers(database, rng):
        calls[0] += 1
        return len(database) + rng.laplace() + calls[0] / 10

    with pytest.raises(ContractError, match="two ways"):
        audit(remembers, epsilon=1, pair=PAIR, trials=400, kept=kept.append)
    assert kept == []
