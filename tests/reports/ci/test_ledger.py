"""How alpha is shared out, and Holm's procedure."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpwitness.reports.ci.pytest_run import Lock, LockError, holm, lock_text, read_lock, shares

WEIGHTS = st.dictionaries(
    st.sampled_from([f"test_{i}" for i in range(8)]), st.floats(0.01, 100), min_size=1
)


@given(WEIGHTS, st.floats(1e-9, 0.49))
def test_shares_are_proportional_and_add_up_to_alpha(weights, alpha):
    found = shares(weights, alpha)
    assert sum(found.values()) == pytest.approx(alpha)
    for name, weight in weights.items():
        assert found[name] / alpha == pytest.approx(weight / sum(weights.values()))


@given(WEIGHTS, WEIGHTS, st.floats(0.1, 50), st.data())
def test_with_a_lock_nothing_shifts_a_listed_share(listed, collected, reserve, data):
    lock = Lock(weights=listed, reserve=reserve)
    every = shares(collected, 0.01, lock)
    assert sum(every.values()) <= 0.01 * (1 + 1e-12)
    subset = data.draw(st.sets(st.sampled_from(sorted(collected)), min_size=1))
    some = shares({name: collected[name] for name in subset}, 0.01, lock)
    for name in subset & listed.keys():
        assert some[name] == every[name]
        assert some[name] == 0.01 * listed[name] / (sum(listed.values()) + reserve)


@given(WEIGHTS, WEIGHTS, st.floats(0.1, 50), st.data())
def test_over_any_split_of_the_tests_the_shares_add_up_to_at_most_alpha(
    listed, others, reserve, data
):
    lock = Lock(weights=listed, reserve=reserve)
    every = {**others, **{f"new_{name}": weight for name, weight in others.items()}, **listed}
    machines = data.draw(
        st.lists(st.integers(0, 9), min_size=len(every), max_size=len(every)), label="machines"
    )
    spent = 0.0
    for machine in range(10):
        own = {n: w for (n, w), m in zip(every.items(), machines, strict=True) if m == machine}
        found = shares(own, 0.01, lock)
        spent += sum(found.values())
        assert found.keys() <= own.keys()
        assert set(found) == set(own) or not set(own) & set(listed)
    assert spent <= 0.01 * (1 + 1e-12)


def test_ten_machines_with_a_new_test_each_do_not_each_take_the_reserve():
    lock = Lock(weights={f"old_{i}": 1.0 for i in range(5)}, reserve=1.0)
    machines = [{f"old_{i}": 1.0} if i < 5 else {} for i in range(10)]
    found = [shares({**own, f"new_{i}": 1.0}, 0.01, lock) for i, own in enumerate(machines)]
    assert sum(sum(one.values()) for one in found) == pytest.approx(0.01)
    assert all(f"new_{i}" in one for i, one in enumerate(found[:5]))
    assert found[5:] == [{}] * 5


def test_new_tests_live_on_the_reserve_together():
    lock = Lock(weights={"old": 3.0}, reserve=1.0)
    found = shares({"old": 9.0, "new": 1.0, "newer": 3.0}, 0.04, lock)
    assert found == pytest.approx({"old": 0.03, "new": 0.0025, "newer": 0.0075})


def test_a_lock_reads_back(tmp_path):
    path = tmp_path / "dpwitness.lock"
    assert read_lock(path) is None
    path.write_text(lock_text({"b": 2.0, "a": 1.0}))
    assert read_lock(path) == Lock(weights={"a": 1.0, "b": 2.0}, reserve=1.0)
    path.write_text(lock_text({"a": 50.0}))
    assert read_lock(path).reserve == 10.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": "other", "tests": {}, "reserve": 1}',
        '{"schema": "dpwitness-lock/1", "tests": {"a": -1}, "reserve": 1}',
        '{"schema": "dpwitness-lock/1", "tests": {"a": true}, "reserve": 1}',
        '{"schema": "dpwitness-lock/1", "tests": [1], "reserve": 1}',
        '{"schema": "dpwitness-lock/1", "tests": {"a": NaN}, "reserve": 1}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_lock_is_refused_in_a_sentence(tmp_path, text):
    path = tmp_path / "dpwitness.lock"
    path.write_text(text)
    with pytest.raises(LockError, match=r"is not a lock file of dpwitness .*--dp-lock"):
        read_lock(path)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 10)), min_size=1, max_size=6),
    st.floats(0.001, 0.3),
)
def test_holm_only_adds_to_what_the_shares_reject(tests, alpha):
    p_values = {str(i): p for i, (p, _) in enumerate(tests)}
    own = shares({str(i): weight for i, (_, weight) in enumerate(tests)}, alpha)
    found = holm(p_values, own, alpha)
    assert {name for name, p in p_values.items() if p <= own[name]} <= found
    assert all(p_values[name] <= alpha * (1 + 1e-9) for name in found)


def test_holm_on_equal_shares_is_the_textbook_procedure():
    p_values = dict(zip("abcd", (0.01, 0.014, 0.03, 0.04), strict=True))
    own = shares(dict.fromkeys("abcd", 1.0), 0.05)
    assert holm(p_values, own, 0.05) == {"a", "b"}
    assert holm({"a": 0.02, "b": 0.02}, {"a": 0.025, "b": 0.025}, 0.05) == {"a", "b"}


def test_holm_keeps_the_family_wise_error_for_every_mix_of_nulls():
    """Exact enumeration over a grid of p-values, uniform under the null and 0 otherwise."""
    grid = (np.arange(40) + 1) / 40
    own = {"a": 0.05, "b": 0.025, "c": 0.025}
    for nulls in ("abc", "ab", "ac", "bc", "a"):
        wrong = 0
        for values in product(grid, repeat=len(nulls)):
            p_values = {name: 0.0 for name in own} | dict(zip(nulls, values, strict=True))
            wrong += bool(holm(p_values, own, 0.1) & set(nulls))
        assert wrong / len(grid) ** len(nulls) <= 0.1 + 1e-12


def test_the_lock_is_plain_json():
    data = json.loads(lock_text({"a": 1.0}))
    assert data["schema"] == "dpwitness-lock/1"
