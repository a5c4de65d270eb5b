"""Outputs of every form, as Hypothesis strategies."""

import datetime as dt
import enum
import fractions
import uuid
from array import array
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Release:
    mean: object
    count: object = None


class Holder:
    def __init__(self, held):
        self.held = held


class Slotted:
    __slots__ = ("held", "unset")

    def __init__(self, held):
        self.held = held


numbers = (
    st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.sampled_from([2**53, 2**53 + 1, 2**63, -(2**63) - 1, 10**400])
    | st.floats()
    | st.sampled_from([0.0, -0.0, 1.0, float("nan")])
    | st.sampled_from([np.float32(0.1), np.float64(0.1), np.int8(1), np.uint64(2**64 - 1)])
    | st.sampled_from([np.bool_(True), np.longdouble(1) + np.finfo(np.longdouble).eps])
    | st.fractions()
    | st.sampled_from([fractions.Fraction(10**30 + 1, 3 * 10**30), fractions.Fraction(1, 3)])
    | st.decimals(allow_nan=True)
)
leaves = (
    st.none()
    | numbers
    | st.text(max_size=2)
    | st.binary(max_size=2)
    | st.sampled_from([np.str_("a"), bytearray(b"a"), Colour.RED, Colour.BLUE, 1j, range(3), pd.NA])
    | st.sampled_from([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 1), dt.timedelta(1, 2)])
    | st.sampled_from([uuid.UUID(int=1), pd.Timestamp(0), pd.NaT, np.datetime64("2020-01-01")])
)
typed = st.builds(array, st.sampled_from("dfbq"), st.lists(st.integers(0, 3), max_size=2))
keys = st.sampled_from(["F", "M", 1, 1.0, True, None, (1, 2), "absent"])
arrays = st.sampled_from(
    [
        np.float64,
        ">f8",
        np.float32,
        np.int64,
        np.int8,
        np.uint64,
        np.bool_,
        "U2",
        "S1",
        ">i4",
        object,
    ]
).flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
        elements=st.integers(0, 3) if dtype is object else None,
    )
)
records = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), max_size=2).map(
    lambda rows: np.array(rows, dtype=[("a", int), ("b", float)])
)
tables = st.lists(st.floats() | st.integers(0, 3), min_size=1, max_size=3).flatmap(
    lambda cells: st.sampled_from(
        [pd.Series(cells), pd.DataFrame({"a": cells, "b": cells}), sp.csr_matrix([cells])]
    )
)


def containers(inner):
    return (
        st.lists(inner, max_size=7)
        | st.tuples(inner, inner)
        | st.tuples(inner, inner).map(lambda pair: Point(*pair))
        | st.dictionaries(keys, inner, max_size=3)
        | st.sets(st.sampled_from(["a", "b", 1, None]), max_size=3)
        | st.frozensets(st.integers(0, 3), max_size=3)
        | inner.map(Release)
        | inner.map(Holder)
        | inner.map(Slotted)
    )


outputs = st.recursive(leaves | arrays | typed | records | tables, containers, max_leaves=6)
# Blocks of one or two forms repeat them, as mechanisms do.
blocks = st.lists(outputs, min_size=1, max_size=4).flatmap(
    lambda forms: st.lists(st.sampled_from(forms), min_size=1, max_size=10)
) | st.lists(outputs, min_size=1, max_size=8)
