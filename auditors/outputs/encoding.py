"""Databases and outputs as JSON, without loss; `decoding` reads them back.

Plain JSON values stand for themselves. Everything else is an object with one key that starts
with a dollar sign: `{"$tuple": [...]}`, `{"$float": "nan"}`, `{"$ndarray": {...}}` and so on.
Columns of tables are written with the dtype they have; those that are not in a list of harmless
ones are refused.
"""

import base64
import dataclasses
import json
import math
import re
import sys
import types
from array import array as packed
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import prod
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Database, Output
from ..errors import InvalidArgument
from .kinds import DEEPEST, Foreign
from .tables import attributes

Codes = NDArray[np.int64]
Encode = Callable[[Output], object]

LONGEST_INT = 990
"""Bits of a whole number that is written as a number; others are written as texts."""
PLAIN = frozenset({bool, int, str, type(None)})
STAMPED = frozenset({bool, int, float, type(None)})
"""Types whose repr is short and says everything."""
SHOWN = 240
"""Characters of a value in a sentence; the rest is told by their number."""
DEEPEST_SHOWN = 8
"""Levels of a value in a sentence; what lies deeper is left out."""
SHORT = 100
"""Items up to which the repr of a row costs nothing."""
DOUBLED = 2**53
"""Whole numbers up to it are doubles, each another."""
LARGE = 10_000
"""Rows from which a database is long: its JSON form takes a good part of a second."""
LONG_LOOK = 4_000
"""Fields of all records from which the repr of a list of records takes a millisecond."""
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
NOT_A_NUMBER = -np.finfo(float).max


def to_json(value: Output, depth: int = 0) -> object:
    """The JSON form of any value made of the types named in the module's description.

    Raises InvalidArgument for a type that has no JSON form or for nesting beyond 60 levels.
    """
    if depth > DEEPEST:
        raise InvalidArgument(f"values may be nested {DEEPEST} deep; this one is deeper")
    # Databases are mostly lists of plain values, and are encoded once for every pair.
    kind = type(value)
    if kind is int:
        return value if _is_written(value) else {"$int": _digits(value)}
    if kind in PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        kinds = set(map(type, value)) if depth < DEEPEST else {object}
        plain = PLAIN.issuperset(kinds) and (int not in kinds or all(map(_is_written, value)))
        if plain or (kinds == {float} and all(map(math.isfinite, value))):
            return list(value)
        return [to_json(item, depth + 1) for item in value]
    if kind is tuple:
        return {"$tuple": [to_json(item, depth + 1) for item in value]}
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, Enum)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Enum):
        return {"$enum": [_class_name(type(value)), value.name]}
    if isinstance(value, np.generic):
        item = value.item()  # what no double holds is its own item, and goes as text
        held = str(item) if isinstance(item, np.generic) else to_json(item, depth + 1)
        return {"$numpy": [value.dtype.str, held]}
    if isinstance(value, int):
        return to_json(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.ndarray):
        return _array_to_json(value, depth)
    return _container_to_json(value, depth)


def _is_written(value: Output) -> bool:
    """Whether JSON has a number for it that every reader takes: not a whole one beyond doubles."""
    return type(value) is not int or value.bit_length() < LONGEST_INT


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise InvalidArgument(
            f"a whole number of {value.bit_length()} bits has more digits than Python writes"
        ) from None


def _container_to_json(value: Output, depth: int) -> object:
    def inner(item: Output) -> object:
        return to_json(item, depth + 1)

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: inner(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"$dataclass": [_class_name(type(value)), fields]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"$namedtuple": [_class_name(type(value)), [inner(item) for item in value]]}
    if isinstance(value, list):
        return [inner(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [inner(item) for item in value]}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: inner(item) for key, item in value.items()}
        return {"$dict": [[inner(key), inner(item)] for key, item in value.items()]}
    if isinstance(value, (set, frozenset)):
        items = sorted((inner(item) for item in value), key=lambda item: json.dumps(item))
        return {"$frozenset" if isinstance(value, frozenset) else "$set": items}
    table = table_to_json(value, inner)
    if table is not None:
        return table
    for kind, name, write in _SCALARS:
        if isinstance(value, kind):
            return {name: write(value)}
    if isinstance(value, Foreign):
        held = list(value.content) if isinstance(value.content, tuple) else value.content
        return {"$as": [value.told, value.how, inner(held)]}
    if isinstance(value, StandIn):
        return {"$object": [value.name, {name: inner(v) for name, v in value.held.items()}]}
    held = attributes(value) if _plain_object(value) else {}
    if held:
        fields = {step[1]: inner(item) for step, item in held.items() if not isinstance(step, int)}
        return {"$object": [_class_name(type(value)), fields]}
    raise InvalidArgument(
        f"a value of type {type(value).__name__} cannot be written as JSON; use numbers, strings, "
        "None, lists, tuples, dicts, sets, dates, dataclasses, Enums, objects with attributes, "
        "numpy arrays, pandas or polars tables or sparse matrices"
    )


class StandIn:
    """An object of a class that is not loaded: its name and attributes."""

    def __init__(self, name: str, held: dict[str, Output]) -> None:
        """`name` is module:class."""
        self.name, self.held = name, held

    def __eq__(self, other: object) -> bool:
        """Equal by name and attributes."""
        return isinstance(other, StandIn) and (self.name, self.held) == (other.name, other.held)

    def __hash__(self) -> int:
        """Of the name alone: attributes may be lists."""
        return hash(self.name)

    def __repr__(self) -> str:
        """As a person would write it."""
        held = ", ".join(f"{name}={item!r}" for name, item in self.held.items())
        return f"{self.name.partition(':')[2]}({held})"


def _plain_object(value: Output) -> bool:
    """Whether the value is an object of the user's own, with nothing but attributes."""
    kind = type(value)
    ours = not isinstance(value, type) and harmless(kind)
    return ours and not hasattr(kind, "__next__") and not callable(value)


def harmless(kind: type) -> bool:
    """Whether objects of the class can be made and dropped without running anything."""
    library = kind.__module__.partition(".")[0]
    return (
        library not in sys.stdlib_module_names
        and kind.__new__ is object.__new__  # type: ignore[comparison-overlap]
        and not hasattr(kind, "__del__")
        and not any("__set__" in type(held).__dict__ for held in vars(kind).values()
                    if not isinstance(held, (property, types.MemberDescriptorType,
                                             types.GetSetDescriptorType)))
    )  # fmt: skip


_SCALARS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (complex, "$complex", lambda z: [to_json(z.real), to_json(z.imag)]),
    (bytes, "$bytes", lambda b: base64.b64encode(b).decode()),
    (Fraction, "$fraction", str),
    (Decimal, "$decimal", str),
    (bytearray, "$bytearray", lambda b: base64.b64encode(b).decode()),
    (range, "$range", lambda r: [r.start, r.stop, r.step]),
    (UUID, "$uuid", str),
    (timedelta, "$timedelta", lambda d: [d.days, d.seconds, d.microseconds]),
    (time, "$time", lambda t: t.isoformat()),
    (datetime, "$datetime", lambda d: d.isoformat()),
    (date, "$date", lambda d: d.isoformat()),
)


def _array_to_json(array: Array, depth: int) -> object:
    if array.dtype.names is not None:
        rows = [list(row) for row in array.ravel().tolist()]
        kind: object = [[name, array.dtype[name].str] for name in array.dtype.names]
        return {"$records": {"dtype": kind, "shape": list(array.shape), "data": to_json(rows)}}
    kind = "object" if array.dtype.hasobject else array.dtype.str
    # The items come as a list of their own, which is mostly one of plain values.
    data = to_json(array.ravel().tolist(), depth)
    return {"$ndarray": {"dtype": kind, "shape": list(array.shape), "data": data}}


def _class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def canonical(value: Output) -> bytes:
    """Bytes that are equal exactly when two values have the same JSON form, in any key order."""
    if _is_json(value):
        with suppress(ValueError):  # a number that is not finite
            return _text(value).encode()
    return _text(_ordered(to_json(value))).encode()


def _is_json(value: Output) -> bool:
    """Whether a value is a list of plain values, and of dicts of them, that is its own JSON form.

    Most databases are, and each is encoded for every pair it is in.
    """
    if type(value) is not list:
        return False
    kinds: set[type] = set()
    names: set[object] = set()
    for row in value:
        if type(row) is dict:
            kinds.update(map(type, row.values()))
            names.update(row)
        else:
            kinds.add(type(row))
    plain = kinds <= PLAIN | {float}
    return plain and all(type(name) is str and not name.startswith("$") for name in names)


def stamp(value: Output) -> bytes:
    """Bytes by which a change of a value shows, for one process; quick for plain ones."""
    if type(value) is np.ndarray and not value.dtype.hasobject:
        # Its form is part of it, which a mechanism may change too.
        return repr((value.dtype, value.shape)).encode() + value.tobytes()
    if type(value) is list and STAMPED.issuperset(map(type, value)):
        return _packed(value)
    return repr(value).encode() if is_plain_list(value) else canonical(value)


def identity(database: Database) -> bytes:
    """Bytes that are equal where two databases of one process are; quick for long ones."""
    return stamp(database) if is_long(database) else canonical(database)


def looks_long(database: Database) -> bool:
    """Whether looking at the whole database takes longer than many calls of a mechanism."""
    if is_long(database):
        return True
    if type(database) is not list or not database:
        return False
    width = len(database[0]) if type(database[0]) in (dict, list, tuple) else 0
    return len(database) * width >= LONG_LOOK


def is_long(database: Database) -> bool:
    """Whether a database has so many records that looking at all of them takes long."""
    kind = type(database)
    return (database.size if kind is np.ndarray else len(database) if kind is list else 0) >= LARGE


def is_plain_list(value: Output) -> bool:
    """Whether a value is a list of plain values, and of lists, tuples and dicts of them."""
    if type(value) is not list:
        return False
    kinds: set[type] = set()
    for row in value:
        kind = type(row)
        if kind is dict:
            kinds.update(map(type, row), map(type, row.values()))
        elif kind is tuple or kind is list:
            kinds.update(map(type, row))
        else:
            kinds.add(kind)
    return kinds <= PLAIN | {float}


def _packed(items: Sequence[Output]) -> bytes:
    kind = type(items).__name__.encode()
    if set(map(type, items)) == {float}:
        return kind + packed("d", items).tobytes()  # their repr takes long
    return kind + repr(items).encode()


def told(row: Output) -> bytes:
    """Bytes that are equal where two rows of outputs are equal, and only there.

    A whole number is told as the double that it is: one output is 0 in a column of whole numbers
    and 0.0 in a column that holds a fraction too, and what stands beside it must not matter.
    """
    kind = type(row)
    if kind in (list, tuple):
        if len(row) > SHORT and STAMPED.issuperset(kinds := set(map(type, row))):
            return _packed(list(row) if kinds == {float} else list(map(_as_double, row)))
        return b"(" + b",".join(map(told, row)) + b")"
    if kind is dict:
        parts = (repr(name).encode("utf-8", "surrogatepass") + b":" + told(part)
                 for name, part in row.items())  # fmt: skip
        return b"{" + b",".join(parts) + b"}" if row else told(())
    return repr(_as_double(row)).encode("utf-8", "surrogatepass")


def _as_double(value: Output) -> object:
    return float(value) if type(value) in (int, bool) and abs(value) <= DOUBLED else value


_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def _text(data: object) -> str:
    return _WRITER.encode(data)


def _ordered(data: object) -> object:
    if isinstance(data, list):
        # Most lists have nothing in them to order.
        nested = not {list, dict}.isdisjoint(map(type, data))
        return [_ordered(item) for item in data] if nested else data
    if not isinstance(data, dict):
        return data
    inner = {key: _ordered(item) for key, item in data.items()}
    pairs = inner.get("$dict")
    return {"$dict": sorted(pairs, key=_text)} if isinstance(pairs, list) else inner


def show(value: Output) -> str:
    """A short text for people: Python notation, long repetitions and long values abridged."""
    if isinstance(value, np.ndarray) and value.ndim and len(value) >= LARGE:
        return _beginning(value[:SHOWN].tolist(), len(value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)) and len(value) >= LARGE:
        head = _head(value)
        if head < len(value):
            return _beginning(value[:head], len(value))
    value = _readable(value)
    if isinstance(value, (list, tuple)) and len(value) > 6:
        text = _show_runs(value)
    elif hasattr(value, "columns"):
        if hasattr(value, "__len__") and len(value) >= LARGE:
            text = " ".join(_shown_table(value[:SHOWN]).split())
            return f"{text[: SHOWN - 30]} ... ({len(value):,} rows)"
        text = " ".join(_shown_table(value).split())
    else:
        text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 30]} ... ({len(text)} characters)"


def _head(value: Sequence[Output]) -> int:
    """Up to where a long sequence has more runs of equal items than are shown."""
    runs = 0
    for place in range(1, len(value)):
        if value[place] is not value[place - 1] and repr(value[place]) != repr(value[place - 1]):
            runs += 1
            if runs >= SHOWN:
                return place
    return len(value)


def _beginning(head: Sequence[Output], length: int) -> str:
    """The first items of a sequence of so many, of which more are told than there is room for."""
    return f"{show(list(head))[: SHOWN - 30].partition(' ... ')[0]} ... ({length:,} items)"


class _Unspoken:
    """Stands for an object whose own words say nothing of what is in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _readable(value: Output, depth: int = 0) -> object:
    """The value with what is in plain objects and small sparse matrices, at any depth within."""
    kind = type(value)
    if depth > DEEPEST_SHOWN:
        return value
    if kind in (list, tuple):
        return kind(_readable(item, depth + 1) for item in value)
    if kind is dict:
        return {key: _readable(item, depth + 1) for key, item in value.items()}
    own: object = kind.__repr__
    if own is object.__repr__ and hasattr(value, "__dict__"):
        parts = (f"{key}={_readable(item, depth + 1)!r}" for key, item in vars(value).items())
        return _Unspoken(f"{kind.__name__}({', '.join(parts)})")
    if kind.__module__.startswith("scipy.sparse") and math.prod(value.shape) <= SHOWN:
        return _Unspoken(f"{kind.__name__}({value.toarray().tolist()!r})")
    return value


def _shown_table(table: Output) -> str:
    """A table on one line: its columns as lists."""
    cells = {name: list(table[name]) for name in list(table.columns)}
    return f"{type(table).__name__}({cells!r})"


def _show_runs(items: Sequence[Output]) -> str:
    runs: list[tuple[Output, int]] = []
    for item in items:
        if runs and repr(runs[-1][0]) == repr(item):
            runs[-1] = (item, runs[-1][1] + 1)
        else:
            runs.append((item, 1))
    if len(runs) > len(items) / 2:
        return repr(items)
    return " + ".join(f"[{item!r}]" + (f" * {times}" if times > 1 else "") for item, times in runs)


def table_to_json(value: Output, encode: Encode) -> dict[str, object] | None:
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


def _index_to_json(index: Output, encode: Encode) -> object:
    names = [encode(name) for name in index.names]
    if type(index).__name__ == "RangeIndex":
        return {"range": [index.start, index.stop, index.step], "names": names}
    if index.nlevels > 1:
        return {"tuples": [encode(tuple(entry)) for entry in index], "names": names}
    return {"data": _column_to_json(index.array, encode), "names": names}


def _column_to_json(array: Output, encode: Encode) -> object:
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


def _polars_to_json(series: Output, encode: Encode) -> object:
    dtype = str(series.dtype)
    if dtype not in POLARS:
        raise InvalidArgument(
            f"a polars column of type {dtype} cannot be written as JSON; use one of "
            f"{', '.join(sorted(POLARS))}"
        )
    return [series.name, dtype, [encode(cell) for cell in series.to_list()]]


def as_points(outputs: Array) -> NDArray[np.float64]:
    """Outputs as rows of numbers, also of no outputs at all."""
    flat = np.asarray(outputs, dtype=float).reshape(len(outputs), prod(outputs.shape[1:]))
    return np.nan_to_num(flat, nan=NOT_A_NUMBER, posinf=np.inf, neginf=-np.inf)


def codes(first: Array, second: Array) -> tuple[Codes, Codes]:
    """Whole numbers from 0, equal exactly for equal outputs, over both arrays."""
    both: Array
    if first.dtype.kind in "biuf" and second.dtype.kind in "biuf":
        both = np.concatenate([as_points(first), as_points(second)])
        # One column sorts much faster than rows.
        both = both[:, 0] if both.shape[1] == 1 else both
    else:
        rows = [*first.tolist(), *second.tolist()]
        both = np.array([canonical(row) for row in rows])
    axis = 0 if both.ndim > 1 else None
    found = np.unique(both, axis=axis, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found[: len(first)], found[len(first) :]
