"""Tables, series and sparse matrices of other libraries as JSON and back.

The libraries are named here and not by the file: reading imports pandas, polars or scipy where a
file has a value of theirs, and nothing that a file could choose. Columns come back with the dtype
they had; dtypes that are not in a list of harmless ones are refused.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import EvidenceFormatError, InvalidArgument

Encode = Callable[[Any], Any]

EXTENSION = re.compile(r"(U?Int(8|16|32|64)|Float(32|64)|boolean|string|str)")
ZONE = re.compile(r"[A-Z][A-Za-z0-9_+:-]{0,30}(/[A-Z][A-Za-z0-9_+-]{0,30}){0,2}")
"""A key of the time zones. To pandas other names mean a path, such as what follows dateutil/."""
ZONED = re.compile(rf"datetime64\[(s|ms|us|ns), {ZONE.pattern}\]")
POLARS = frozenset(
    {
        "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32",
        "Float64", "Boolean", "String", "Date", "Time", "Binary", "Null",
    }
)  # fmt: skip
SPARSE = frozenset(
    {f"{name}_{form}" for name in ("csr", "csc", "coo") for form in ("matrix", "array")}
)


def table_to_json(value: Any, encode: Encode) -> dict[str, Any] | None:
    """The JSON form of a table; None for what is no table.

    Raises InvalidArgument for a column of a dtype that is not written.
    """
    kind = type(value)
    library = kind.__module__.partition(".")[0]
    name = (library, kind.__name__)
    if library == "pandas" and hasattr(value, "iloc") and kind.__name__ == "DataFrame":
        columns = [value.iloc[:, place] for place in range(value.shape[1])]
        return {
            "$dataframe": {
                "columns": _index_to_json(value.columns, encode),
                "index": _index_to_json(value.index, encode),
                "data": [_column_to_json(column.array, encode) for column in columns],
            }
        }
    if name == ("pandas", "Series"):
        return {
            "$series": {
                "name": encode(value.name),
                "index": _index_to_json(value.index, encode),
                "data": _column_to_json(value.array, encode),
            }
        }
    if library == "pandas" and kind.__name__ in ("Timestamp", "Timedelta"):
        zone = getattr(value, "tzinfo", None)
        return {f"$pandas.{kind.__name__}": [int(value.value), None if zone is None else str(zone)]}
    if library == "pandas" and kind.__name__ in ("NaTType", "NAType"):
        return {"$pandas.missing": kind.__name__}
    if library == "polars" and kind.__name__ == "DataFrame":
        return {"$polars": [_polars_to_json(column, encode) for column in value.get_columns()]}
    if library == "polars" and kind.__name__ == "Series":
        return {"$polars.series": _polars_to_json(value, encode)}
    if library == "scipy" and kind.__name__ in SPARSE:
        parts = ("row", "col") if value.format == "coo" else ("indices", "indptr")
        return {
            "$sparse": {
                "kind": kind.__name__,
                "shape": [int(size) for size in value.shape],
                "data": encode(value.data),
                "places": [encode(np.asarray(getattr(value, part))) for part in parts],
            }
        }
    return None


def _index_to_json(index: Any, encode: Encode) -> object:
    names = [encode(name) for name in index.names]
    if type(index).__name__ == "RangeIndex":
        return {"range": [index.start, index.stop, index.step], "names": names}
    if index.nlevels > 1:
        return {"tuples": [encode(tuple(entry)) for entry in index], "names": names}
    return {"data": _column_to_json(index.array, encode), "names": names}


def _column_to_json(array: Any, encode: Encode) -> object:
    dtype = array.dtype
    if hasattr(dtype, "categories"):
        return {
            "categories": _column_to_json(dtype.categories.array, encode),
            "codes": [int(code) for code in array.codes],
            "ordered": bool(dtype.ordered),
        }
    if isinstance(dtype, np.dtype) or type(array).__name__ == "NumpyExtensionArray":
        return {"numpy": encode(np.asarray(array))}
    if ZONED.fullmatch(str(dtype)):
        return {"dtype": str(dtype), "counts": [int(count) for count in array.asi8]}
    if EXTENSION.fullmatch(str(dtype)):
        missing = np.asarray(array.isna())
        cells = [None if gone else encode(v) for v, gone in zip(array, missing, strict=True)]
        return {"dtype": str(dtype), "cells": cells}
    raise InvalidArgument(
        f"a column of dtype {dtype} cannot be written as JSON; use numbers, strings, booleans, "
        "dates or categories"
    )


def _polars_to_json(series: Any, encode: Encode) -> object:
    dtype = str(series.dtype)
    if dtype not in POLARS:
        raise InvalidArgument(
            f"a polars column of type {dtype} cannot be written as JSON; use one of "
            f"{', '.join(sorted(POLARS))}"
        )
    return [series.name, dtype, [encode(cell) for cell in series.to_list()]]


MOST_ROWS = 10_000_000
"""Rows of a table, or of a sparse matrix, that a file may ask for in a few characters."""


def table_from_json(tag: str, data: Any, decode: Encode) -> Any:
    """The table that `table_to_json` wrote. Raises EvidenceFormatError without its library."""
    match tag:
        case "$dataframe":
            pandas = _library("pandas")
            columns = [_column_from_json(column, pandas, decode) for column in data["data"]]
            index = _index_from_json(data["index"], pandas, decode)
            frame = pandas.DataFrame(dict(enumerate(columns)), index=range(len(index)))
            frame.index = index
            frame.columns = _index_from_json(data["columns"], pandas, decode)
            return frame
        case "$series":
            pandas = _library("pandas")
            column = _column_from_json(data["data"], pandas, decode)
            index = _index_from_json(data["index"], pandas, decode)
            return pandas.Series(column, index=index, name=decode(data["name"]), copy=False)
        case "$pandas.Timestamp":
            stamp = _library("pandas").Timestamp(int(data[0]))
            if data[1] is None:
                return stamp
            if not ZONE.fullmatch(str(data[1])):
                raise EvidenceFormatError(f"{data[1]!r:.60} is no name of a time zone")
            return stamp.tz_localize("UTC").tz_convert(str(data[1]))
        case "$pandas.Timedelta":
            return _library("pandas").Timedelta(int(data[0]))
        case "$pandas.missing":
            return {"NaTType": _library("pandas").NaT, "NAType": _library("pandas").NA}[data]
        case "$polars":
            return _library("polars").DataFrame([_polars_from_json(c, decode) for c in data])
        case "$polars.series":
            return _polars_from_json(data, decode)
        case "$sparse":
            return _sparse_from_json(data, decode)
    raise EvidenceFormatError(f"no table is written as {tag!r:.40}")


TAGS = (
    "$dataframe", "$series", "$pandas.Timestamp", "$pandas.Timedelta", "$pandas.missing", "$polars",
    "$polars.series", "$sparse",
)  # fmt: skip


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EvidenceFormatError(
            f"the file holds a table of {name}, which is not installed; install {name} to read it"
        ) from None


def _index_from_json(data: Any, pandas: Any, decode: Encode) -> Any:
    names = [decode(name) for name in data["names"]]
    if "range" in data:
        start, stop, step = (int(number) for number in data["range"])
        if len(range(start, stop, step)) > MOST_ROWS:
            raise EvidenceFormatError(f"a table may have at most {MOST_ROWS} rows")
        return pandas.RangeIndex(start, stop, step, name=names[0])
    if "tuples" in data:
        return pandas.MultiIndex.from_tuples([decode(t) for t in data["tuples"]], names=names)
    return pandas.Index(_column_from_json(data["data"], pandas, decode), name=names[0])


def _column_from_json(data: Any, pandas: Any, decode: Encode) -> Any:
    if "numpy" in data:
        found = decode(data["numpy"])
        if not isinstance(found, np.ndarray) or found.ndim != 1:
            raise EvidenceFormatError("a column of a table must be an array of one axis")
        return found
    if "categories" in data:
        categories = pandas.Index(_column_from_json(data["categories"], pandas, decode))
        return pandas.Categorical.from_codes(
            [int(code) for code in data["codes"]], categories, ordered=data["ordered"] is True
        )
    dtype = str(data["dtype"])
    if "counts" in data and ZONED.fullmatch(dtype):
        unit, zone = dtype[len("datetime64[") : -1].split(", ")
        counts = np.array([int(count) for count in data["counts"]], dtype=np.int64)
        stamps = pandas.DatetimeIndex(counts.view(f"M8[{unit}]"))
        return stamps.tz_localize("UTC").tz_convert(zone).array
    if not EXTENSION.fullmatch(dtype):
        raise EvidenceFormatError(f"columns of dtype {dtype!r:.40} are not read")
    return pandas.array([decode(cell) for cell in data["cells"]], dtype=dtype)


def _polars_from_json(data: Any, decode: Encode) -> Any:
    polars = _library("polars")
    name, dtype, cells = data
    if dtype not in POLARS:
        raise EvidenceFormatError(f"polars columns of type {dtype!r:.40} are not read")
    return polars.Series(str(name), [decode(c) for c in cells], dtype=getattr(polars, str(dtype)))


def _sparse_from_json(data: Any, decode: Encode) -> Any:
    if data["kind"] not in SPARSE:
        raise EvidenceFormatError(f"sparse matrices of kind {data['kind']!r:.40} are not read")
    build = getattr(_library("scipy.sparse"), data["kind"])
    values, (one, two) = decode(data["data"]), [decode(places) for places in data["places"]]
    shape = tuple(int(size) for size in data["shape"])
    if len(shape) != 2 or not all(0 <= size <= MOST_ROWS for size in shape):
        raise EvidenceFormatError(f"a sparse matrix may have up to {MOST_ROWS} rows and columns")
    if data["kind"].startswith("coo"):
        return build((values, (one, two)), shape=shape)
    matrix = build((values, one, two), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
