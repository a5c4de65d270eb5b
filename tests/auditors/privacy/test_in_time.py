"""What a budget of seconds buys is planned before anything is judged, and told."""

import math
import time

import pytest
from hypothesis import strategies as st

from dpwitness.auditors.privacy import preparing, run
from dpwitness.auditors.privacy.planning import Price, foretold, remaking, trials_within
from dpwitness.auditors.privacy.request import AuditRequest
from dpwitness.auditors.privacy.run import audit
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.model import Mechanism, Pair, PrivacyClaim, Relation
from dpwitness.reports.shell.console import Console

CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)


def slow_leak(database, rng):
    time.sleep(0.004)
    return float(len(database) > 0 and rng.random() < 0.5)


@pytest.mark.parametrize("draw", [0.5, 0.02, 1e-3])
@pytest.mark.parametrize("workers", [1, 4])
def test_as_many_trials_as_fit_and_no_more(draw, workers):
    price = Price(draw=draw / workers, alone=draw)
    for seconds in (30.0, 300.0, 3000.0):
        trials = trials_within(seconds, price)

        def takes(number, price=price):
            return 2 * number * price.draw + remaking(number, price)

        assert trials == 2 or takes(trials) <= seconds
        assert takes(trials + 1) > seconds


def test_nothing_costs_at_least_two_draws():
    assert trials_within(-3.0, Price(draw=0.5, alone=0.5)) == 2


def test_what_can_be_seen_grows_with_the_time():
    def told(trials):
        price = Price(draw=0.5, alone=0.5)
        return foretold(CLAIM, seconds=300.0, price=price, trials=trials, level=3e-4)

    assert told(100).startswith("about 600 calls in 300 s, 100 of them on each database")
    assert "too few to see even" in told(40)
    assert "0 on the other will be seen" in told(100)
    losses = [float(told(n).split("less than ")[1].split(" times")[0]) for n in (100, 200, 2000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 1.5


def test_a_claim_of_nothing_has_no_multiples():
    none = PrivacyClaim(epsilon=0.0, relation=Relation.ADD_REMOVE)
    price = Price(draw=0.5, alone=0.5)
    said = foretold(none, seconds=300.0, price=price, trials=200, level=3e-4)
    assert said.endswith("will be seen")
    assert math.isclose(none.epsilon, 0)


@pytest.mark.long
def test_a_slow_mechanism_is_planned_for_before_it_is_judged():
    """The plan comes first, and a gross leak is found long before the time is used up."""
    news = []
    result = audit(slow_leak, epsilon=1, pair=Pair([], [1]), seconds=60, precision=None,
                   news=lambda kind, sentence: news.append((kind, sentence)))  # fmt: skip
    assert news[0][0] == "plan"
    assert "will be seen" in news[0][1]
    assert {kind for kind, _ in news[1:]} == {"known"}
    assert "to fit the time budget" in result.note
    assert result.verdict is Verdict.REFUTED
    assert result.draws < 2000


def test_what_comes_before_the_first_draw_is_of_the_time(monkeypatch):
    """Two claims have half of the time each, and their databases are looked for within it."""
    now = [100.0]
    found = preparing._source

    def dear(*given, **more):
        now[0] += 3.0
        return found(*given, **more)

    monkeypatch.setattr(preparing, "monotonic", lambda: now[0])
    monkeypatch.setattr(preparing, "_source", dear)
    claims = tuple(PrivacyClaim(epsilon=e, relation=Relation.ADD_REMOVE) for e in (1.0, 2.0))
    databases = st.lists(st.integers(0, 9))
    mechanism = Mechanism(name="slow", run=slow_leak, claims=claims, databases=databases)
    request = AuditRequest(mechanism, seconds=20.0)
    clocks = [one.clock for one in preparing.prepared(request, request.budget, None)]
    assert [(one.started, one.seconds) for one in clocks] == [(100.0, 10.0), (110.0, 10.0)]


def test_a_command_has_what_loading_left_of_its_time():
    console = Console(
        say=str, numbers=str, warn=str, progress=lambda *_: None, paint=lambda text, _: text,
        width=80, begun=time.monotonic() - 4.0,
    )  # fmt: skip
    assert 7.0 < console.left_of(12.0) <= 8.0
    assert 3.5 < console.left_of(12.0, 2) <= 4.0
    assert console.left_of(2.0) == pytest.approx(0.2)


def sums(database, rng):
    return sum(database) + rng.laplace(scale=3)


def counts(database, rng):
    noise = rng.laplace(size=2)
    return {"all": len(database) + noise[0], "old": sum(x > 97 for x in database) + noise[1]}


@pytest.mark.long
@pytest.mark.parametrize("mechanism", [sums, counts])
@pytest.mark.parametrize("trials", [200, 1000])
def test_without_a_limit_the_clock_changes_nothing(monkeypatch, mechanism, trials):
    """A loaded machine may take calls for slow: the same pairs are seen, with the same bits."""
    found = []
    for slow in (False, True):
        monkeypatch.setattr(run, "is_slow", lambda *_, slow=slow: slow)
        found.append(
            audit(mechanism, epsilon=1, relation="add-remove", trials=trials, seed=3,
                  databases=st.lists(st.integers(0, 100), max_size=12))
        )  # fmt: skip
    one, two = ((r.pair, r.evidence, r.plan, r.draws, r.reached) for r in found)
    assert one == two
