"""Databases of many rows: what is remembered of them is what would be worked out again."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest

from dpwitness import audit
from dpwitness.auditors.errors import ContractError
from dpwitness.auditors.outputs import encoding
from dpwitness.auditors.outputs.encoding import LARGE, canonical, stamp, to_json, told
from dpwitness.auditors.sampling.calls import PairKeys, pair_key
from dpwitness.auditors.search import scout
from dpwitness.mechanisms.model import Pair

VALUES = (
    [0, 1, True, None], [0, 1, 1, None], [0.0, 1.0], [-0.0, 1.0], [0, 1.0], [math.nan], [math.inf],
    ["a", 1], [[1], 2], (0.0, 1.0), np.zeros(3), np.zeros((3, 1)), np.zeros(3, np.float32),
    np.array([0.0, math.nan, -math.inf]), np.array([1, "a"], object), np.array(3.0),
    np.array([True]), np.array(["ab", "c"]), [], np.array([]), [10**400, 0.5],
    *([row] * 100 for row in (
        {"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}, {"b": 1}, {"a": -0.0}, {"a": 0.0}, {1: 1},
        {"a": None}, {"a": math.nan}, {"a": np.float64(1)}, (1, "a"), [1, "a"], (1, "b"), "a",
        {"a": [1]}, ("\ud800", 10**30), {"a": 1, "b": 2},
    )),
    [{"a": 1}] * 99 + [{"a": 2}],
)  # fmt: skip


def test_a_long_database_is_not_written_out_to_be_told_apart(monkeypatch):
    """A million records took a second each time, eleven times an audit."""
    written, text = [], encoding._text

    def noted(data):
        written.append(len(found := text(data)))
        return found

    monkeypatch.setattr(encoding, "_text", noted)

    def count(database, rng):
        return len(database) + rng.laplace()

    for row in (0.5, {"age": 30, "name": "n"}, ("a", 2)):
        pair = ([row] * LARGE, [row] * (LARGE + 1))
        found = audit(count, epsilon=1.0, relation="add-remove", pair=pair, trials=500)
        assert not found.refuted
    assert all(size < LARGE for size in written)


def test_stamps_tell_apart_what_the_written_form_tells_apart():
    for one in VALUES:
        for other in VALUES:
            same = type(one) is type(other) and canonical(one) == canonical(other)
            if type(one) is type(other):
                assert (stamp(one) == stamp(other)) == same, (one, other)


def test_rows_of_outputs_are_told_apart_as_the_repr_of_their_doubles_tells_them_apart():
    def doubled(row):
        if type(row) in (list, tuple):
            return type(row)(map(doubled, row))
        return float(row) if type(row) in (int, bool) else row

    wide = [0.0] * 200
    rows = [1, 1.0, True, "a", None, (1, 2), (1.0, 2), [1, 2], ("ndarray", ((3,), wide)),
            ("ndarray", ((3,), [*wide[:-1], -0.0])), tuple(wide), wide, [*wide, "a"], [*wide, 1],
            (*wide, math.nan), ((), ((),)), ((()), ()), ["a,b"], ["a", "b"]]  # fmt: skip
    for one in rows:
        for other in rows:
            if type(one) is type(other):
                assert (told(one) == told(other)) == (repr(doubled(one)) == repr(doubled(other)))


@pytest.mark.parametrize(
    "array",
    [np.array([0.0, math.nan, -math.inf]), np.arange(6).reshape(2, 3), np.array([1, "a"], object),
     np.array(2.5), np.array([True, False]), np.array(["x"]), np.array([1 + 2j])],
)  # fmt: skip
def test_an_array_is_written_item_by_item(array):
    (written,) = to_json(array).values()
    assert written["data"] == [to_json(item) for item in array.ravel().tolist()]


def test_a_large_pair_has_the_number_of_its_content():
    keys = PairKeys()
    for size in (3, LARGE + 5):
        for make in (lambda n: [0] * n, lambda n: [0.5] * n, np.zeros):
            pair = Pair(make(size), make(size + 1))
            assert keys.of(pair) == pair_key(pair) == keys.of(pair)
            other = Pair(make(size), make(size + 1))
            assert keys.of(other) == keys.of(pair)
            other.database[0] = 7
            changed = Pair(other.database, other.neighbour[:])
            assert keys.of(changed) == pair_key(changed) != keys.of(pair)


@pytest.mark.parametrize("database", [[0.0] * 5, np.zeros(5)])
def test_a_changed_database_is_noticed(database):
    def changes(given, rng):
        given[2] += 1
        return rng.laplace()

    with pytest.raises(ContractError, match="the mechanism changed the database"):
        audit(changes, epsilon=1.0, relation="declared", pair=(database, [0.0]), trials=50)


def test_a_search_looks_at_so_much_and_no_more(monkeypatch):
    """The bound stands in for a million rows, which take tens of seconds."""
    monkeypatch.setattr(scout, "MOST_READ", 4000)
    looked, probe = [], scout.Scout.probe

    def count(database, rng):
        return len(database) + rng.laplace()

    def noted(self, database, encoded=None, noise=0):
        if len(database) not in looked:
            looked.append(len(database))
        return probe(self, database, encoded, noise)

    monkeypatch.setattr(scout.Scout, "probe", noted)

    sizes = st.integers(100, 400).map(lambda size: [0] * size)
    found = audit(count, epsilon=1.0, relation="add-remove", databases=sizes, trials=500)
    assert not found.refuted
    # Two bytes a row: some pairs, and no more than one beyond the bound and the shortest.
    assert 2 <= len(looked)
    assert sum(2 * size for size in looked) <= 4000 + 8 * 400
