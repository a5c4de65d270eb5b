"""Laws of the JSON form: nothing is lost, nothing is run, nothing hostile gets through."""

import json
import math
import struct
from collections import namedtuple
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.auditors.outputs.decoding import from_json
from dpwitness.auditors.outputs.encoding import canonical, show, to_json

Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Person:
    name: str
    age: int


class Colour(Enum):
    RED = "r"


def same(a, b):
    """Equality that tells -0.0 from 0.0, 1 from 1.0 and True, and takes NaN as itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.fractions()
    | st.dates()
    | st.datetimes()
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers() | st.booleans(), inner)
    ),
    max_leaves=20,
)


@given(values)
def test_json_round_trip_keeps_every_value(value):
    assert same(from_json(json.loads(json.dumps(to_json(value), allow_nan=False))), value)


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_canonical_form_ignores_key_order(value):
    assert canonical(value) == canonical(dict(reversed(value.items())))


@pytest.mark.parametrize(
    "value",
    [
        Person("a", 3),
        Point(1, 2.5),
        Colour.RED,
        Decimal("1.50"),
        Fraction(1, 3),
        date(2026, 1, 2),
        datetime(2026, 1, 2, 3, 4),
        {1, 2},
        frozenset({"a"}),
        complex(1, -0.0),
        timedelta(-1, 3, 5),
        time(1, 2, 3),
        UUID(int=5),
        range(1, 9, 2),
        bytearray(b"ab"),
        pd.Timestamp("2026-01-02 03:04", tz="Europe/Paris"),
        pd.Timedelta(5),
        {"$float": 1},
        10**400,
        [1, None, -(10**4000)],
        {"a": ({10**320},)},
    ],
)
def test_other_types_round_trip(value):
    again = from_json(json.loads(json.dumps(to_json(value))))
    assert type(again) is type(value)
    assert again == value


@pytest.mark.parametrize("value", [10**400, [-(10**299), 10**300], {"a": [2**1023]}])
def test_every_number_that_is_written_is_a_double(value):
    written = json.loads(json.dumps(to_json(value)), parse_int=float)
    assert "Infinity" not in json.dumps(written)


def test_a_number_that_python_does_not_write_is_refused_with_a_sentence():
    with pytest.raises(InvalidArgument, match="more digits than Python writes"):
        to_json([10**5000])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array([1.5, math.nan, -0.0, math.inf]),
        np.array([], dtype=np.float32),
        np.array([["a", "bc"]]),
        np.array([True, False]),
        np.float32(1.25),
        np.int8(3),
        np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]),
    ],
)
def test_arrays_keep_type_shape_and_bits(array):
    again = from_json(json.loads(json.dumps(to_json(array))))
    assert type(again) is type(array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


class Holder:
    def __init__(self, held):
        raise AssertionError("reading runs no code of the class")


def holder(held):
    made = object.__new__(Holder)
    made.held = held
    return made


class Watched:
    def __del__(self):
        """Runs when the object is dropped, so that no file may make one."""


@dataclass
class Checked:
    value: int
    derived: int = field(init=False)

    def __post_init__(self):
        self.derived = self.value + 1


CELLS = [1.5, math.nan, -0.0]
TABLES = [
    pd.DataFrame({"a": [1, 2, 3], "b": CELLS, "c": ["x", None, "y"]}),
    pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.Categorical(["u", "v"])}),
    pd.DataFrame({"t": pd.to_datetime(["2026-01-02", None]), 3: [True, False]}, index=["i", "j"]),
    pd.DataFrame({"t": pd.to_datetime(["2026-01-02"]).tz_localize("Europe/Paris")}),
    pd.DataFrame([[1, 2]], columns=["a", "a"]),
    pd.DataFrame({"a": []}),
    pd.DataFrame(index=[1, 2]),
    pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([("u", 1)], names=["x", "y"])),
]


@pytest.mark.parametrize("table", TABLES, ids=map(str, range(len(TABLES))))
def test_tables_and_their_columns_round_trip(table):
    again = from_json(json.loads(json.dumps(to_json(table), allow_nan=False)))
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert canonical(again) == canonical(table)
    assert show(table).count("\n") == 0
    for place in range(table.shape[1]):
        series = table.iloc[:, place]
        read = from_json(json.loads(json.dumps(to_json(series), allow_nan=False)))
        pd.testing.assert_series_equal(read, series, check_exact=True)


@pytest.mark.parametrize("name", ["csr_matrix", "csc_array", "coo_matrix"])
def test_sparse_matrices_round_trip(name):
    matrix = getattr(scipy.sparse, name)(np.array([[0, 1.5, 0], [0, 0, -2.0]]))
    again = from_json(json.loads(json.dumps(to_json(matrix))))
    assert type(again) is type(matrix)
    assert again.dtype == matrix.dtype
    assert (again.toarray() == matrix.toarray()).all()


def test_polars_tables_round_trip():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [0.5, math.nan]})
    again = from_json(json.loads(json.dumps(to_json(frame))))
    assert again.equals(frame)
    assert again.schema == frame.schema
    assert from_json(to_json(frame["a"])).equals(frame["a"])


def test_objects_come_back_without_running_their_class():
    again = from_json(json.loads(json.dumps(to_json(holder([1, 2])))))
    assert type(again) is Holder
    assert again.held == [1, 2]
    made = Checked(1)
    made.derived = 7
    assert from_json(to_json(made)) == made


@pytest.mark.parametrize("name", ["nowhere:Thing", "subprocess:Popen", "os:system",
                                  f"{__name__}:Watched", f"{__name__}:Path.home"])  # fmt: skip
def test_objects_of_other_classes_are_stood_in_for(name):
    data = {"$object": [name, {"args": ["true"], "n": 1}]}
    one, two = from_json(data), from_json(data)
    assert type(one).__name__ == "StandIn"
    assert one == two
    assert to_json(one) == data


def test_object_arrays_round_trip():
    array = np.array([None, "a", 3], dtype=object)
    again = from_json(to_json(array))
    assert again.dtype == object
    assert list(again) == [None, "a", 3]


@pytest.mark.parametrize(
    "hostile",
    [
        {"$unknown": 1},
        {"$float": "__import__"},
        {"$tuple": 3},
        {"$ndarray": {"dtype": "O", "shape": [1], "data": [1]}},
        {"$ndarray": {"dtype": "<f8", "shape": [10**9], "data": [1]}},
        {"$ndarray": {"dtype": "no", "shape": [1], "data": [1]}},
        {"$ndarray": 5},
        {"$dataclass": ["os:system", {"command": "true"}]},
        {"$dataclass": ["nowhere:Thing", {}]},
        {"$namedtuple": ["subprocess:Popen", [["true"]]]},
        {"$enum": ["os:path", "join"]},
        {"$bytes": "%%"},
        {"$dataframe": {"columns": [], "index": 1, "data": []}},
        {
            "$series": {
                "name": None,
                "index": {"range": [0, 1, 1], "names": [None]},
                "data": {"dtype": "object", "cells": [1]},
            }
        },
        {"$sparse": {"kind": "linalg", "shape": [1], "data": 1, "places": [1, 2]}},
        {"$polars.series": ["a", "Object", [1]]},
        {"$object": 3},
        {"$fraction": "1/0"},
        {"$decimal": "x"},
        {"$int": "1_0"},
        {"$int": "1" * 5000},
        {"$int": 1.0},
        {"$float": "nan", "more": 1},
        {"$dict": [[[1], 2]]},
    ],
)
def test_hostile_json_is_refused_with_a_sentence(hostile):
    with pytest.raises(EvidenceFormatError):
        from_json(hostile)


def test_deep_nesting_is_refused_both_ways():
    deep: list = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(EvidenceFormatError, match="deep"):
        from_json(deep)
    with pytest.raises(InvalidArgument, match="deep"):
        to_json(deep)


def test_types_without_a_json_form_are_named():
    with pytest.raises(InvalidArgument, match="generator"):
        to_json(i for i in range(3))


def test_show_says_what_is_in_objects_without_words_of_their_own():
    from scipy import sparse

    class Person:
        def __init__(self, age, friends=()):
            self.age, self.friends = age, friends

    ben = Person(3)
    assert show([Person(2, [ben])]) == "[Person(age=2, friends=[Person(age=3, friends=())])]"
    assert show({"a": (ben,)}) == "{'a': (Person(age=3, friends=()),)}"
    assert show(sparse.csr_matrix([[0, 1]])) == "csr_matrix([[0, 1]])"
    assert show([sparse.coo_array([[2.5]])]) == "[coo_array([[2.5]])]"
    ben.friends = [ben]
    assert len(show(ben)) < 300


def test_show_abridges_repetitions():
    assert show([0] * 30) == "[0] * 30"
    assert show([0] * 9 + [1]) == "[0] * 9 + [1]"
    assert show([0, 1]) == "[0, 1]"
    assert len(show(list(range(10_000)))) < 300
