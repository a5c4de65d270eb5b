"""Pairs of long databases: how alike they are, how they are shown, how evidence holds them."""

import json

import numpy as np
import pytest

from dpwitness.auditors.databases.distance import apart
from dpwitness.auditors.databases.records import alike
from dpwitness.auditors.errors import EvidenceFormatError
from dpwitness.auditors.evidence.conversion import judged_record, named_record, read_pair
from dpwitness.auditors.outputs.encoding import LARGE, canonical, show
from dpwitness.mechanisms.model import Pair, Relation

NUMBERS = [float(n) for n in range(LARGE + 2)]
RECORDS = [{"age": n % 90, "town": f"t{n % 7}"} for n in range(LARGE)]


def with_another(database, place, record):
    changed = database.copy()
    changed[place] = record
    return changed


LONG = {
    "the last is gone": (NUMBERS, NUMBERS[:-1]),
    "the first is gone": (NUMBERS, NUMBERS[1:]),
    "one more": (NUMBERS, [*NUMBERS[:77], 0.5, *NUMBERS[77:]]),
    "one replaced": (NUMBERS, with_another(NUMBERS, 5, -0.0)),
    "not a number": (NUMBERS, with_another(NUMBERS, 5, float("nan"))),
    "records": (RECORDS, with_another(RECORDS, 3, {"age": 3, "town": "other"})),
    "an array": (np.arange(LARGE), np.arange(LARGE - 1)),
    "rows of an array": (np.zeros((LARGE, 2)), np.zeros((LARGE - 1, 2))),
    "all other": (NUMBERS, [n + 0.5 for n in NUMBERS]),
    "of two kinds": (NUMBERS, tuple(NUMBERS[1:])),
}


@pytest.mark.parametrize("name", LONG)
def test_a_pair_is_read_as_it_was_written(name):
    pair = Pair(*LONG[name])
    data = json.loads(json.dumps(judged_record(pair), allow_nan=False))
    found = read_pair(data)
    assert canonical(found.database) == canonical(pair.database)
    assert canonical(found.neighbour) == canonical(pair.neighbour)
    if "kinds" not in name and "other" not in name:
        assert len(json.dumps(data["neighbour"])) < 300


def test_what_follows_names_the_long_databases_of_its_pair():
    pair = Pair(NUMBERS, NUMBERS[:-1])
    assert named_record(pair.reversed(), pair) == {
        "database": {"$pair": "neighbour"},
        "neighbour": {"$pair": "database"},
    }
    assert named_record(Pair([1], []), pair) == {"database": [1], "neighbour": []}


@pytest.mark.parametrize("edit", [{"start": 4}, {"gone": 2}, {"come": [1.0]}, {"start": -1},
                                  {"digest": "0"}, {"come": "text"}])  # fmt: skip
def test_an_edited_difference_is_refused(edit):
    data = judged_record(Pair(NUMBERS, with_another(NUMBERS, 5, 0.5)))
    data["neighbour"]["$changed"].update(edit)
    with pytest.raises(EvidenceFormatError):
        read_pair(data)


ALIKE = [
    ([1.5, 0.0, 3.0], [1.5, -0.0, 3.0], (1, 1)),
    ([1, True], [1, 1], (1, 0)),
    ([1, 1], [1], (1, 0)),
    ([], [1], (0, 0)),
    ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], (1, 0)),
    (np.array([1.0, np.nan, 2.0]), np.array([1.0, np.nan, 3.0]), (2, 0)),
    (np.arange(3), np.arange(3.0), (0, 0)),
    ([1], (1,), None),
    ({"a": 1}, {"a": 1}, None),
]


@pytest.mark.parametrize(("one", "two", "both"), ALIKE)
def test_records_that_begin_and_end_alike(one, two, both):
    assert alike(one, two) == both


def test_columns_of_other_names_are_not_alike():
    pandas = pytest.importorskip("pandas")
    one, two = (pandas.DataFrame({name: [1, 2, 3]}) for name in "ab")
    assert alike(one, two) is None
    assert alike(one, one.iloc[:-1]) == (2, 0)
    assert apart(Pair(one, two), Relation.REPLACE_ONE) == 3


def test_long_databases_are_shown_by_how_they_begin():
    assert show(NUMBERS).endswith(f"... ({len(NUMBERS):,} items)")
    assert show(NUMBERS).startswith("[0.0, 1.0, 2.0")
    assert show([0] * LARGE + [1]) == f"[0] * {LARGE} + [1]"
