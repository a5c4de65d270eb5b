"""Mutants: planted where they should be, judged by the claims, and gone afterwards."""

import importlib.util
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import Interval, Mechanism, PrivacyClaim, Relation, Rows, UtilityClaim
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.mutants import trial
from dpwitness.auditors.mutants.faults import faults_of, is_faithful, planted
from dpwitness.auditors.mutants.sources import makers_of, recipe_of, sources_of
from dpwitness.auditors.mutants.trial import apart, mutants_of
from dpwitness.mechanisms.catalogue import CATALOGUE

CODE = '''
import numpy as np
from functools import partial
FACTOR = 1.0

def clipped(values, bound):
    """Numbers within the bound."""
    return np.clip(np.asarray(values, dtype=float), 0.0, bound)

def total(values, rng, *, bound=1.0, epsilon=1.0, size=None):
    answer = clipped(values, bound).sum() if len(values) else 0.0
    return answer + rng.laplace(scale=FACTOR * bound / epsilon, size=size)

def twice(values, rng, *, size=None):
    one = rng.laplace(scale=4.0, size=size)
    other = rng.laplace(scale=4.0, size=size)
    return np.stack([sum(values) + one, 2 * sum(values) + other], axis=-1)

def slowly(values, rng):
    left, made = 3, 0.0
    while left > 0:
        left -= 1
        made += rng.laplace(scale=6.0)
    return sum(values) + made

def maker(epsilon):
    half = epsilon / 2
    def release(values, rng, *, size=None):
        return sum(values) + rng.laplace(scale=0.5 / half, size=size)
    return release

made = maker(1.0)
'''
DATABASES = Rows(row=Interval(low=0, high=5))
BITS = Rows(row=Interval(low=0, high=1, integer=True))


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    spec = importlib.util.spec_from_file_location("_mutants_mine", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["_mutants_mine"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["_mutants_mine"]


def claiming(run, epsilon=1.0, databases=BITS, more=()):
    claim = PrivacyClaim(epsilon=epsilon, relation=Relation.ADD_REMOVE)
    return Mechanism(name="mine", run=run, databases=databases, claims=(claim, *more))


def of(mechanism, *kinds, where="", **keywords):
    return mutants_of(
        mechanism, only=lambda fault: fault.kind in kinds and where in fault.place,
        **{"trials": 20_000, "ladder": (0.5, 0.8)} | keywords,
    )  # fmt: skip


def test_the_functions_of_the_own_folder_are_reached_and_no_others(code):
    names = [source.name for source in sources_of(code.total)]
    assert names == ["total", "clipped"]
    assert all(is_faithful(source) for source in sources_of(code.total))


def test_numbers_bound_and_written_are_faults_and_texts_are_not(code):
    run = partial(code.total, epsilon=0.5)
    told = [fault.told for fault in faults_of(sources_of(run), run, vectorised=True)]
    assert any("epsilon=0.5" in one for one in told)
    assert any("bound=1.0" in one for one in told)
    assert any("FACTOR scaled" in one for one in told)
    assert any(one.endswith("-> np.asarray(values, dtype=float)") for one in told)
    assert not any("within" in one for one in told)


def test_the_numbers_of_a_closure_are_bound_ones(code):
    mechanism = claiming(code.made)
    faults = faults_of(sources_of(code.made), code.made, vectorised=True)
    (half,) = [fault for fault in faults if "half=" in fault.place]
    with planted(half.at(4.0), mechanism, None) as mutant:
        wrong = mutant.run([1], np.random.default_rng(0)) - 1
    right = mechanism.run([1], np.random.default_rng(0)) - 1
    assert wrong * 4 == pytest.approx(right)


@pytest.mark.parametrize("name", ["total", "twice", "slowly"])
def test_a_planted_fault_is_met_by_everybody_and_gone_afterwards(code, name):
    function = getattr(code, name)
    bound = partial(function)
    before = function.__code__
    expected = np.asarray(bound([1, 0], np.random.default_rng(1)))
    for fault in faults_of(sources_of(function), function, vectorised=True):
        if fault.source is None or fault.source.function is not function:
            continue
        with planted(fault.at(0.5) if fault.factor else fault, claiming(function), None):
            assert function.__code__ is not before
        assert function.__code__ is before
    assert np.array_equal(bound([1, 0], np.random.default_rng(1)), expected)


def test_a_factory_s_fault_shows_in_the_mechanism_that_it_makes_now():
    mechanism = CATALOGUE.entry("private-multiplicative-weights")
    recipe = recipe_of(mechanism)
    assert recipe.name == "PRIVATE_MULTIPLICATIVE_WEIGHTS"
    known = sources_of(mechanism.run)
    makers = makers_of(recipe, mechanism.run, known)
    assert "private_multiplicative_weights_mechanism" in [source.name for source in makers]
    rate = mechanism.run.keywords["learning_rate"]
    faults = [
        fault for fault in faults_of(makers, mechanism.run, vectorised=True)
        if fault.before == "8" and fault.kind == "constant"
    ]  # fmt: skip
    with planted(faults[0].at(16.0), mechanism, recipe) as mutant:
        assert mutant.run.keywords["learning_rate"] == pytest.approx(rate / 16)
        assert mutant.claims == mechanism.claims
    assert recipe_of(mechanism).module.PRIVATE_MULTIPLICATIVE_WEIGHTS is mechanism


@pytest.mark.quality
def test_too_little_noise_is_seen_and_the_smallest_size_is_told(code):
    score = of(claiming(code.total), "noise", where="total")
    small, large = score.mutants
    assert small.verdict == "seen"
    assert small.saw == 0.8
    assert large.verdict == "not seen"
    assert score.share == 0.5
    assert score.asked["privacy claim 1"][0] >= 2
    assert not score.blind


@pytest.mark.quality
def test_a_claim_that_sees_nothing_is_blind(code):
    lax = UtilityClaim(loss=lambda database, output: np.zeros(np.shape(output)),
                       bound=lambda beta: 1.0, databases=([1],))  # fmt: skip
    score = of(claiming(code.total, more=(lax,)), "noise", where="total",
               ladder=(0.5,), trials=5000)  # fmt: skip
    assert score.blind == ("utility claim 2",)


@pytest.mark.quality
def test_a_missing_clip_is_seen_where_the_data_need_it(code):
    # The bound is 1 and the records go up to 5.
    (mutant,) = of(claiming(code.total, databases=DATABASES), "clip removed").mutants
    assert mutant.verdict == "seen"


@pytest.mark.long
def test_a_clip_that_nothing_needs_is_equivalent(code):
    (mutant,) = of(claiming(code.total), "clip removed").mutants
    assert mutant.verdict == "equivalent"


@pytest.mark.slow
def test_a_strategy_of_databases_tells_a_mutant_from_the_original(code):
    """A strategy has no hand-made pairs; compared on nothing every mutant would be equivalent."""
    claim = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)
    ages = st.lists(st.integers(0, 5), max_size=4)
    mechanism = Mechanism(name="total", run=code.total, claims=(claim,), databases=ages)
    score = mutants_of(mechanism, trials=2000)
    told = {one.fault.kind: one.verdict for one in score.mutants}
    assert told["clip removed"] not in ("equivalent", "not tried")
    assert told["noise"] not in ("equivalent", "not tried")
    assert len(trial.probes(mechanism, trial.Court(claims=(claim,)))) > 4


def test_a_comparison_over_no_database_is_refused():
    claim = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE)
    mechanism = Mechanism(name="bare", run=lambda database, rng: 0, claims=(claim,))
    with pytest.raises(InvalidArgument, match="on none"):
        trial.probes(mechanism, trial.Court(claims=(claim,)))


@pytest.mark.long
def test_reused_noise_is_seen(code):
    # The second answer with the first one's noise: the difference tells the total exactly.
    score = of(claiming(code.twice), "noise reused", where="twice:15", trials=5000)
    assert {mutant.verdict for mutant in score.mutants} <= {"seen", "equivalent"}
    assert score.count("seen") == 1


@pytest.mark.quality
def test_mutants_that_do_not_end_or_raise_are_told_as_such(code):
    score = of(claiming(code.slowly), "sign", "statement", where="slowly", trials=500, timeout=1.0)
    verdicts = {mutant.fault.before: mutant.verdict for mutant in score.mutants}
    assert verdicts["left -= 1"] == "does not end"


def test_what_is_refuted_without_a_fault_is_not_scored(code):
    with pytest.raises(InvalidArgument, match="already without a fault"):
        of(claiming(code.total, epsilon=0.2), "noise")


def test_what_has_no_text_or_no_claim_is_refused_in_words(code):
    with pytest.raises(InvalidArgument, match="text of mine is not at hand"):
        of(claiming(np.random.default_rng(0).permutation), "noise")
    with pytest.raises(InvalidArgument, match="claims nothing"):
        mutants_of(Mechanism(name="mine", run=code.total))


@pytest.mark.long
def test_what_is_left_when_the_seconds_are_spent_is_told(code):
    score = of(claiming(code.total), "noise", "constant", seconds=1e-6)
    assert {mutant.verdict for mutant in score.mutants} == {"not tried"}
    assert score.share is None


def test_work_apart_may_hang_or_die_without_harm():
    assert apart(lambda: {"a": [1, 2]}, 20.0) == {"a": [1, 2]}
    assert apart(lambda: __import__("time").sleep(60), 0.2) is None
    assert apart(lambda: __import__("os").kill(__import__("os").getpid(), 9), 20.0) is None
    assert apart(lambda: object(), 20.0) is None


def test_what_an_interruption_leaves_is_told_as_not_tried(monkeypatch):
    """What was tried before Ctrl-C keeps its verdict."""

    def answered(work, seconds):
        tried.append(work)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return {"verdict": "seen", "by": ["a claim"]}

    tried = []
    (known,) = (one for one in CATALOGUE if one.name == "laplace")
    monkeypatch.setattr(trial, "apart", answered)
    found = mutants_of(known, trials=500)
    assert found.stopped
    assert (len(tried), found.count("seen")) == (2, 1)
    assert found.count("not tried") == len(found.mutants) - 1
