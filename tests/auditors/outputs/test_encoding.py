"""Laws of the JSON form: nothing is lost, nothing is run, nothing hostile gets through."""

import json
import math
import struct
from collections import namedtuple
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpwitness.auditors.errors import EvidenceFormatError, InvalidArgument
from dpwitness.auditors.outputs.encoding import canonical, from_json, show, to_json

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
        {"$float": 1},
    ],
)
def test_other_types_round_trip(value):
    again = from_json(json.loads(json.dumps(to_json(value))))
    assert type(again) is type(value)
    assert again == value


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
        {"$fraction": "1/0"},
        {"$decimal": "x"},
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


def test_show_abridges_repetitions():
    assert show([0] * 30) == "[0] * 30"
    assert show([0] * 9 + [1]) == "[0] * 9 + [1]"
    assert show([0, 1]) == "[0, 1]"
    assert len(show(list(range(10_000)))) < 300
