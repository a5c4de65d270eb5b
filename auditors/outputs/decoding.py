"""Databases and outputs back from JSON, without running anything.

Reading imports nothing that a file names, and runs none of its code: a dataclass, named tuple or
Enum is rebuilt only if its class is already loaded, which it is once the mechanism that uses it has
been, and its fields are set without calling it. Any other object is rebuilt if its class is loaded,
is no part of Python itself and does nothing when objects come or go; else it comes back as a
`StandIn` with the same name and attributes, equal to others of the same.

The libraries of tables are named here and not by the file: reading imports pandas, polars or scipy
where a file has a value of theirs, and nothing that a file could choose.
"""

import base64
import dataclasses
import importlib
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from ...mechanisms.model import Output
from ..errors import EvidenceFormatError
from .encoding import EXTENSION, POLARS, SPARSE, ZONE, ZONED, StandIn, harmless
from .kinds import DEEPEST, foreign

Decode = Callable[[object], Output]

MOST_PADDED = 2**24
"""Bytes that an array in a file may need beyond 64 for each of its characters."""
MOST_ALIKE = 1000
"""Members of a set, or keys, with one hash: more would take quadratic time, as an attack does."""
LARGEST_EXPONENT = 10_000
"""Of a decimal in a file: a larger one is an attack on what prints or compares it."""
LONGEST_RANGE = 10_000_000
"""Numbers of a range in a file, which is three numbers long and is listed by whoever reads it."""
WHOLE = re.compile(r"-?[0-9]+", re.ASCII)
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)
MOST_ROWS = 10_000_000
"""Rows of a table, or of a sparse matrix, that a file may ask for in a few characters."""
TAGS = (
    "$dataframe", "$series", "$pandas.Timestamp", "$pandas.Timedelta", "$pandas.missing", "$polars",
    "$polars.series", "$sparse",
)  # fmt: skip


def from_json(data: object, depth: int = 0) -> Output:
    """The value that `to_json` wrote. Raises EvidenceFormatError on anything else."""
    if depth > DEEPEST:
        raise EvidenceFormatError(f"values may be nested {DEEPEST} deep; this one is deeper")
    if isinstance(data, list):
        return [from_json(item, depth + 1) for item in data]
    if not isinstance(data, dict):
        return data
    tags = [key for key in data if isinstance(key, str) and key.startswith("$")]
    if not tags:
        return {key: from_json(item, depth + 1) for key, item in data.items()}
    if len(data) != 1 or tags[0] not in _READERS:
        raise EvidenceFormatError(
            f"expected a plain value or one known tag, got an object with keys {sorted(data)!r:.80}"
        )
    try:
        return _READERS[tags[0]](data[tags[0]], depth + 1)
    except (
        TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, MemoryError,
        InvalidOperation, ZeroDivisionError,
    ) as error:  # fmt: skip
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(f"a {tags[0]} value is malformed: {error}") from None


def _dtype(
    kind: str | list[tuple[str, str]], entries: int, written: Iterable[object]
) -> np.dtype[np.generic]:
    """The dtype, refused where the entries would need far more room than they take in the file."""
    dtype = np.dtype(kind)
    if dtype.itemsize > 64:
        longest = max((len(str(item)) for item in written), default=0)
        if dtype.itemsize > 64 * (longest + 16) or entries * dtype.itemsize > MOST_PADDED:
            raise EvidenceFormatError(
                f"{entries} entries of type {kind!r:.40} would take {entries * dtype.itemsize} "
                "bytes, far more than the file has for them"
            )
    return dtype


def _shape(sizes: Iterable[int], entries: int) -> tuple[int, ...]:
    shape = tuple(sizes)
    if len(shape) > 32 or not all(type(size) is int and 0 <= size <= 2**40 for size in shape):
        raise EvidenceFormatError("the shape of an array must be up to 32 whole numbers")
    if math.prod(shape) != entries:
        raise EvidenceFormatError(f"an array of shape {shape} needs {math.prod(shape)} entries")
    return shape


def _hashed(items: list[Output]) -> list[Output]:
    """The items, refused where so many have one hash that a set of them would take for ever."""
    if len(items) > MOST_ALIKE:
        ((_, alike),) = Counter(map(hash, items)).most_common(1)
        if alike > MOST_ALIKE:
            raise EvidenceFormatError(
                f"{alike} members of a set or dict have one hash; at most {MOST_ALIKE} are read"
            )
    return items


def _read_dict(data: Any, depth: int) -> object:
    pairs = [(from_json(key, depth), from_json(item, depth)) for key, item in data]
    _hashed([key for key, _ in pairs])
    return dict(pairs)


def _read_fraction(data: object, _: int) -> Fraction:
    if not FRACTION.fullmatch(str(data)):
        raise EvidenceFormatError(f"a fraction is written as 3/4 or 3, got {data!r:.40}")
    return Fraction(str(data))


def _read_int(data: object, _: int) -> int:
    if not WHOLE.fullmatch(str(data)):
        raise EvidenceFormatError(f"a whole number is written as digits, got {data!r:.40}")
    return int(str(data))


def _read_decimal(data: object, _: int) -> Decimal:
    number = Decimal(str(data))
    if number.is_finite() and abs(number.adjusted()) > LARGEST_EXPONENT:
        raise EvidenceFormatError(
            f"a decimal may have an exponent of at most {LARGEST_EXPONENT}, got {data!r:.40}"
        )
    return number


def _read_range(data: Any, _: int) -> range:
    numbers = range(*(int(number) for number in data))
    if len(numbers) > LONGEST_RANGE:
        raise EvidenceFormatError(
            f"a range may have at most {LONGEST_RANGE} numbers, got {numbers!r:.60}"
        )
    return numbers


def _read_array(data: Any, depth: int) -> object:
    kind = data["dtype"]
    shape = _shape(data["shape"], len(data["data"]))
    items = [from_json(item, depth) for item in data["data"]]
    if kind == "object":
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(shape)
    dtype = _dtype(str(kind), len(items), data["data"])
    if dtype.kind not in "biufcSUmM":
        raise EvidenceFormatError(f"arrays of type {kind!r:.40} are not read")
    return np.array(items, dtype=dtype).reshape(shape)


def _read_records(data: Any, depth: int) -> object:
    kinds = [(str(name), str(kind)) for name, kind in data["dtype"]]
    dtype = _dtype(kinds, len(data["data"]), data["data"])
    if dtype.hasobject:
        raise EvidenceFormatError("records of Python objects are not read")
    rows = [tuple(row) for row in from_json(data["data"], depth)]
    return np.array(rows, dtype=dtype).reshape(_shape(data["shape"], len(rows)))


def _read_numpy(data: Any, depth: int) -> object:
    dtype = np.dtype(str(data[0]))
    if dtype.kind not in "biufcSU":
        raise EvidenceFormatError(f"numpy values of type {data[0]!r:.40} are not read")
    value = from_json(data[1], depth)
    if not isinstance(value, (bool, int, float, complex, str, bytes)):
        raise EvidenceFormatError(
            f"a numpy value is made of one number or string, got {value!r:.40}"
        )
    return dtype.type(value)


def _loaded_class(name: object, expected: Callable[[type], bool]) -> Any:
    module, _, path = str(name).partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not expected(found):
        raise EvidenceFormatError(
            f"the file needs the class {str(name)!r:.100}, which is not loaded; is it the "
            "mechanism this file was made with?"
        )
    return found


def _read_dataclass(data: Any, depth: int) -> object:
    kind = _loaded_class(data[0], dataclasses.is_dataclass)
    names = {field.name for field in dataclasses.fields(kind)}
    fields = {str(key): from_json(item, depth) for key, item in data[1].items()}
    if set(fields) != names or not harmless(kind):
        raise EvidenceFormatError(f"the fields of {data[0]!r:.80} are not those of the file")
    return _with_attributes(kind, fields)


def _with_attributes(kind: type, held: dict[str, Output]) -> object:
    """An object of the class with these attributes; none of its code is run."""
    made: object = object.__new__(kind)
    for name, item in held.items():
        if isinstance(getattr(kind, name, None), property):
            raise EvidenceFormatError(f"{name!r:.60} is computed by {kind.__name__} and not stored")
        object.__setattr__(made, name, item)
    return made


def _read_object(data: Any, depth: int) -> object:
    name, fields = str(data[0]), {str(k): from_json(item, depth) for k, item in data[1].items()}
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if isinstance(found, type) and found.__module__ == module and harmless(found):
        return _with_attributes(found, fields)
    return StandIn(name, fields)


def _read_namedtuple(data: Any, depth: int) -> object:
    kind = _loaded_class(data[0], lambda k: issubclass(k, tuple) and hasattr(k, "_fields"))
    return kind(*(from_json(item, depth) for item in data[1]))


def _table_reader(tag: str) -> Callable[[Any, int], Output]:
    return lambda data, depth: table_from_json(tag, data, lambda item: from_json(item, depth))


_READERS: dict[str, Callable[[Any, int], Output]] = {
    "$float": lambda data, _: float({"nan": "nan", "inf": "inf", "-inf": "-inf"}[data]),
    "$tuple": lambda data, depth: tuple(from_json(list(data), depth)),
    "$set": lambda data, depth: set(_hashed(from_json(list(data), depth))),
    "$frozenset": lambda data, depth: frozenset(_hashed(from_json(list(data), depth))),
    "$dict": _read_dict,
    "$complex": lambda data, depth: complex(from_json(data[0], depth), from_json(data[1], depth)),
    "$bytes": lambda data, _: base64.b64decode(data, validate=True),
    "$int": _read_int,
    "$fraction": _read_fraction,
    "$decimal": _read_decimal,
    "$bytearray": lambda data, _: bytearray(base64.b64decode(data, validate=True)),
    "$range": _read_range,
    "$uuid": lambda data, _: UUID(str(data)),
    "$timedelta": lambda data, _: timedelta(*(int(number) for number in data)),
    "$time": lambda data, _: time.fromisoformat(data),
    "$object": _read_object,
    "$as": lambda data, depth: foreign(data[0], data[1], from_json(data[2], depth)),
    **{tag: _table_reader(tag) for tag in TAGS},
    "$datetime": lambda data, _: datetime.fromisoformat(data),
    "$date": lambda data, _: date.fromisoformat(data),
    "$ndarray": _read_array,
    "$records": _read_records,
    "$numpy": _read_numpy,
    "$enum": lambda data, _: _loaded_class(data[0], lambda k: issubclass(k, Enum))[data[1]],
    "$dataclass": _read_dataclass,
    "$namedtuple": _read_namedtuple,
}
"""What makes a value of the data behind each tag, given how deep it is nested."""


def table_from_json(tag: str, data: Any, decode: Decode) -> Output:
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


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EvidenceFormatError(
            f"the file holds a table of {name}, which is not installed; install {name} to read it"
        ) from None


def _index_from_json(data: Any, pandas: Any, decode: Decode) -> Output:
    names = [decode(name) for name in data["names"]]
    if "range" in data:
        start, stop, step = (int(number) for number in data["range"])
        if len(range(start, stop, step)) > MOST_ROWS:
            raise EvidenceFormatError(f"a table may have at most {MOST_ROWS} rows")
        return pandas.RangeIndex(start, stop, step, name=names[0])
    if "tuples" in data:
        return pandas.MultiIndex.from_tuples([decode(t) for t in data["tuples"]], names=names)
    return pandas.Index(_column_from_json(data["data"], pandas, decode), name=names[0])


def _column_from_json(data: Any, pandas: Any, decode: Decode) -> Output:
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


def _polars_from_json(data: Any, decode: Decode) -> Output:
    polars = _library("polars")
    name, dtype, cells = data
    if dtype not in POLARS:
        raise EvidenceFormatError(f"polars columns of type {dtype!r:.40} are not read")
    return polars.Series(str(name), [decode(c) for c in cells], dtype=getattr(polars, str(dtype)))


def _sparse_from_json(data: Any, decode: Decode) -> Output:
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
