"""The same seed makes the same examples, whatever else the process has loaded."""

import importlib
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpwitness.auditors.databases.examples import explore, harvest
from dpwitness.auditors.errors import InvalidArgument

NUMBERS = st.lists(st.integers(0, 10**6) | st.floats(0, 1) | st.text(max_size=5), max_size=4)


def explored(strategy):
    seen = []

    def visit(example):
        seen.append(example)
        return float(len(example))

    explore(strategy, 3, 300, visit)
    return seen


@pytest.fixture
def loads(tmp_path, monkeypatch):
    """Loads a module of its own, whose constants Hypothesis would take up."""

    def load(first):
        constants = [*range(first, first + 100), str(first), 1 / first]
        (tmp_path / f"loaded_{first}.py").write_text(f"SECRETS = {constants!r}\n")
        monkeypatch.syspath_prepend(tmp_path)
        importlib.import_module(f"loaded_{first}")

    return load


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "first"), [(partial(harvest, seed=3, examples=300), 700_000), (explored, 800_000)]
)
def test_what_was_loaded_does_not_count(made, first, loads):
    before = made(NUMBERS)
    loads(first)

    # Hypothesis remembers constants by the limits they were asked for: a run of the user's own
    # makes it take up the new ones for these very limits.
    @settings(max_examples=300, database=None, deadline=None)
    @given(NUMBERS)
    def users_own(example):
        pass

    users_own()
    assert made(NUMBERS) == before
    assert not set(range(first, first + 100)) & {entry for example in before for entry in example}


def test_hypothesis_is_left_as_it_was():
    from hypothesis.internal.conjecture.providers import HypothesisProvider

    drawn = HypothesisProvider._maybe_draw_constant
    harvest(NUMBERS, seed=0, examples=5)
    with pytest.raises(ZeroDivisionError):
        explore(NUMBERS, 0, 5, lambda _: 1 / 0)
    assert HypothesisProvider._maybe_draw_constant is drawn


@pytest.mark.long
def test_threads_leave_hypothesis_as_it_was():
    from threading import Barrier, Thread

    from hypothesis.internal.conjecture.providers import HypothesisProvider

    drawn = HypothesisProvider._maybe_draw_constant
    begin, found = Barrier(4), []

    def work():
        begin.wait()
        found.append(harvest(NUMBERS, seed=3, examples=30))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [harvest(NUMBERS, seed=3, examples=30)] * 4
    assert HypothesisProvider._maybe_draw_constant is drawn


@pytest.mark.parametrize(
    ("strategy", "said"),
    [(NUMBERS.filter(lambda _: False), "makes no example"),
     (NUMBERS.map(lambda _: 1 / 0), r"raised ZeroDivisionError: division by zero at test_examples"),
     (st.lists(st.integers(), min_size=3, max_size=2), "cannot be used")],
    ids=["filtered", "raising", "no strategy"],
)  # fmt: skip
def test_a_strategy_that_makes_no_database_is_named(strategy, said):
    with pytest.raises(InvalidArgument, match=f"the strategy of databases {said}"):
        harvest(strategy, seed=0)
    with pytest.raises(InvalidArgument, match=f"the strategy of databases {said}"):
        explore(strategy, 0, 20, lambda _: 0.0)
