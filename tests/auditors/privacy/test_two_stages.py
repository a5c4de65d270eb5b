"""One alpha, spent once; a refutation stops; two witnesses, each with counts of its own.

Seeds are fixed, so every assertion is about one fixed computation.
"""

import re
from dataclasses import replace
from time import monotonic, sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness import Pair, PrivacyClaim, Relation, audit
from dpwitness.auditors.bounds.power import early_looks, last_looks
from dpwitness.auditors.bounds.two_sample import rejects
from dpwitness.auditors.choosing.choose import Choice
from dpwitness.auditors.events.events import Among
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.privacy import run
from dpwitness.auditors.privacy.attempt import Test as Claimed
from dpwitness.auditors.privacy.attempt import foreseen, last_plan
from dpwitness.auditors.privacy.judge import Judging
from dpwitness.auditors.privacy.planning import Errors
from dpwitness.auditors.privacy.replay import recount
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.reports.faces import as_html, as_text, wording
from dpwitness.reports.record import evidence

EVENT = Among(Feature(), (1,))
CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE)


def answer(database, rng, *, size=None):
    return np.where(rng.random(size) < 1 / (1 + np.exp(-2.0)), database, 1 - database)


def summed(database, rng, *, size=None):
    """Loses 2 for a record of 2, and 3 for a record of 3."""
    return sum(database) + rng.laplace(size=() if size is None else size)


@pytest.mark.long
@given(
    st.lists(st.tuples(st.floats(0.5, 4), st.floats(0, 0.5), st.floats(0.05, 0.9)), min_size=40,
             max_size=40),
    st.sampled_from([200, 1000, 3000]),
    st.sampled_from([None, 0.05, 0.0]),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_the_levels_of_all_looks_add_up_to_at_most_alpha(promises, trials, precision):
    """Whatever the selection promises, and whenever it does."""

    class Promising(Judging):
        def _learn(self, most=None):
            predicted, spread, rate = promises.pop() if promises else (1.0, 0.1, 0.5)
            rates = (rate, rate * np.exp(-predicted))
            self._choice = Choice(EVENT, True, predicted, spread, rates)
            return self._choice

    judging = Promising(
        Sampler(run=answer, seed=0),
        Pair(0, 1),
        Claimed(claim=CLAIM, trials=trials, alpha=0.05),
        precision=precision,
    )
    judging.run()
    judging.sharpen(trials)
    planned = sum(level for one in judging.attempts for _, level in one.planned)
    assert planned <= 0.05 * (1 + 1e-9)
    assert judging.made <= trials
    assert judging.errors.left >= 0


@pytest.mark.parametrize(("precision", "share"), [(None, 0.5), (0.05, 0.3)])
def test_a_judging_that_ends_with_the_refutation_attempts_sooner(precision, share):
    class Promising(Judging):
        def _learn(self, most=None):
            self._choice = Choice(EVENT, True, 3.0, 0.1, (0.9, 0.9 * np.exp(-3.0)))
            return self._choice

    judging = Promising(
        Sampler(run=answer, seed=0),
        Pair(0, 1),
        Claimed(claim=replace(CLAIM, epsilon=2.0), trials=100_000, alpha=0.05),
        precision=precision,
    )
    # As for a mechanism with randomness of its own, on which nothing is bet.
    judging.betting, judging.errors = None, Errors(0.05)
    judging.run()
    assert not judging.refuted
    first, second, _ = judging.attempts
    assert sum(level for _, level in first.planned) == pytest.approx(0.05 * share)
    assert sum(level for _, level in second.planned) == pytest.approx(0.05 * (1 - share) * share)
    before = second.looks[0].draws - second.looks[0].trials[0]
    assert (before == first.looks[-1].draws) == (precision is None)


def test_looks_grow_and_share_the_level():
    for plan in (early_looks(1000, 0.01), last_looks(1000, 0.01, sooner=True)):
        sizes, levels = zip(*plan, strict=True)
        assert list(sizes) == sorted(set(sizes))
        assert sum(levels) == pytest.approx(0.01)
    assert last_looks(1000, 0.01, sooner=False) == ((1000, 0.01),)


@pytest.mark.parametrize(
    ("precision", "bet", "of_half_more", "of_three_times"),
    [(None, True, 4, 4), (None, False, 1, 4), (0.05, True, 1, 4), (0.0, False, 1, 1)],
)
def test_the_last_looks_come_sooner_if_a_part_of_the_draws_is_foreseen_to_do(
    precision, bet, of_half_more, of_three_times
):
    beyond = Choice(EVENT, False, 1.5, 0.1, (0.5, 0.5 * np.exp(-1.5)))
    needed = foreseen(beyond, (1.0, 0.0), 0.01)
    for times, looks in ((1.5, of_half_more), (3, of_three_times)):
        draws = int(times * needed)
        plan = last_plan(beyond, (1.0, 0.0), draws, 0.01, precision=precision, bet=bet)
        assert plan == last_looks(draws, 0.01, sooner=looks > 1)
        assert len(plan) == looks


def test_no_attempt_is_foreseen_for_an_event_within_the_claim():
    within = Choice(EVENT, False, 1.2, 0.3, (0.5, 0.15))
    assert foreseen(within, (1.0, 0.0), 0.01) == np.inf
    beyond = replace(within, predicted=2.0)
    assert 16 <= foreseen(beyond, (1.0, 0.0), 0.01) < 1000


@pytest.mark.long
def test_a_gross_violation_costs_little_and_the_sooner_the_less():
    stop, told, everything = (
        audit(answer, pair=(0, 1), epsilon=0.5, precision=precision, exact=False)
        for precision in (None, 0.05, 0.0)
    )
    assert stop.refuted
    assert 2 * stop.evidence.decided_after < 1000
    assert stop.draws < told.draws < 40_000 < everything.draws
    assert stop.epsilon_lower < told.epsilon_lower < everything.epsilon_lower <= 2


@pytest.mark.long
def test_the_seconds_of_an_audit_are_all_that_it_took(monkeypatch):
    """The lines at fault come last; whatever they take is told as time of the audit."""
    asked = []

    def slow(*_):
        sleep(0.2)
        asked.append(monotonic())

    monkeypatch.setattr(run, "cause_of", slow)
    began = monotonic()
    found = audit(answer, pair=(0, 1), epsilon=1.0, trials=1000)
    assert asked
    assert 0.2 <= found.seconds <= monotonic() - began


@pytest.mark.long
def test_the_evidence_is_two_plain_counts_that_anybody_can_recheck():
    result = audit(answer, pair=(0, 1), epsilon=1.0, exact=False)
    hits, trials, level = result.evidence.hits, result.evidence.trials, result.evidence.level
    assert rejects(hits, trials, epsilon=1.0, delta=0.0, level=level)
    shown = [look for look in result.evidence.looks if look.hits == hits]
    assert shown[0].epsilon_lower == result.epsilon_lower
    assert result.epsilon_lower == max(look.epsilon_lower for look in result.evidence.looks)


@pytest.mark.slow
@pytest.mark.parametrize("precision", [None, 0.05])
def test_no_bound_anywhere_is_larger_than_the_one_in_the_headline(precision):
    # If an audit stops once it refutes, bets refute most pairs, whose bounds are then the claim,
    # and the smaller pair is sometimes counted, and has the larger bound.
    def wrong_sum(database, rng, *, size=None):
        return sum(min(age, 100) for age in database) + rng.laplace(scale=70, size=size)

    ages, larger = st.lists(st.integers(0, 120), max_size=30), 0
    for seed in range(6):
        result = audit(wrong_sum, epsilon=1.0, relation="add-remove", databases=ages,
                       trials=20_000, precision=precision, seed=seed)  # fmt: skip
        of_pair = max(look.epsilon_lower for look in result.evidence.looks)
        of_witness = result.witness.epsilon_lower
        larger += of_witness > of_pair
        assert result.epsilon_lower == max(of_pair, of_witness) == result.worst.epsilon_lower
        document = evidence.document([result], replay="")
        (record,) = document["results"]
        told = as_text.render(result, replay="x"), as_html.render([result], document)
        # Where bets alone refute, all that is known is that the claim is exceeded.
        sign = ">= " if result.epsilon_lower > 1.0 else "> "
        headline = float(wording.headline(result).rsplit(sign, 1)[1].rstrip("."))
        text = " ".join(" ".join(told).split()).replace("&gt;", ">")
        shown = [float(n.rstrip(".")) for n in re.findall(r"(?:epsilon|loss) >= ([0-9.]+)", text)]
        assert shown or sign == "> "
        assert max(shown, default=headline) == headline
        if of_witness >= of_pair:
            assert "the largest bound" not in " ".join(" ".join(told).split())
        assert recount(wrong_sum, record).epsilon_lower == result.epsilon_lower
    # The law was tried on what it is about.
    assert larger > 0 or precision is not None


@pytest.mark.long
def test_the_smallest_pair_stands_beside_the_worst_and_both_replay():
    rows = st.lists(st.integers(0, 9), max_size=5)
    options = {"epsilon": 1.0, "relation": "add-remove", "databases": rows, "trials": 50_000}
    result = audit(summed, **options)
    assert result.draws <= 4 * 2 * 50_000
    assert result.witness.epsilon_lower > 1.0
    assert result.epsilon_lower > result.witness.epsilon_lower
    small = [result.witness.database, result.witness.neighbour]
    worst = [result.worst.database, result.worst.neighbour]
    assert sum(map(sum, small)) < sum(map(sum, worst))
    assert result.evidence.level + result.witness.evidence.level <= 1e-3
    record = evidence.document([result], replay="")["results"][0]
    again = recount(summed, record)
    assert again.same
    assert len(again.counts) == len(result.evidence.counts) + len(result.witness.evidence.counts)
    record["smaller"]["counts"][0]["hits"][0] -= 1
    assert not recount(summed, record).same


@pytest.mark.quality
@pytest.mark.parametrize("seed", range(4))
def test_a_gross_violation_is_shown_on_one_record_against_none(seed):
    """The way down to the smallest pair may be dear; a pair on it is counted all the same."""

    def unclipped(database, rng):
        return sum(database) + rng.laplace(scale=100)

    ages = st.lists(st.integers(-10, 1000), max_size=20)
    result = audit(unclipped, epsilon=1.0, relation="add-remove", databases=ages, seed=seed)
    assert result.draws <= 40_000
    sizes = sorted((len(result.witness.database), len(result.witness.neighbour)))
    assert sizes == [0, 1]
