"""Databases and outputs as JSON and back, without loss and without running anything.

Plain JSON values stand for themselves. Everything else is an object with one key that starts
with a dollar sign: `{"$tuple": [...]}`, `{"$float": "nan"}`, `{"$ndarray": {...}}` and so on.
Reading imports nothing that a file names, and runs none of its code: a dataclass, named tuple or
Enum is rebuilt only if its class is already loaded, which it is once the mechanism that uses it has
been, and its fields are set without calling it. Any other object is rebuilt if its class is loaded,
is no part of Python itself and does nothing when objects come or go; else it comes back as a
`StandIn` with the same name and attributes, equal to others of the same.
"""

import base64
import dataclasses
import json
import math
import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from ..errors import EvidenceFormatError, InvalidArgument
from .encoding_tables import TAGS, table_from_json, table_to_json
from .kinds import attributes

DEEPEST = 60
PLAIN = frozenset({bool, int, str, type(None)})
SHOWN = 240


def to_json(value: Any, depth: int = 0) -> Any:
    """The JSON form of any value made of the types named in the module's description.

    Raises InvalidArgument for a type that has no JSON form or for nesting beyond 60 levels.
    """
    if depth > DEEPEST:
        raise InvalidArgument(f"values may be nested {DEEPEST} deep; this one is deeper")
    # Databases are mostly lists of plain values, and are encoded once for every pair.
    kind = type(value)
    if kind in PLAIN or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [to_json(item, depth + 1) for item in value]
    if value is None or (isinstance(value, (bool, str)) and not isinstance(value, Enum)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Enum):
        return {"$enum": [_class_name(type(value)), value.name]}
    if isinstance(value, np.generic):
        return {"$numpy": [value.dtype.str, to_json(value.item(), depth + 1)]}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, np.ndarray):
        return _array_to_json(value, depth)
    return _container_to_json(value, depth)


def _container_to_json(value: Any, depth: int) -> Any:
    def inner(item: Any) -> Any:
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

    def __init__(self, name: str, held: dict[str, Any]) -> None:
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


def _plain_object(value: Any) -> bool:
    """Whether the value is an object of the user's own, with nothing but attributes."""
    kind = type(value)
    ours = not isinstance(value, type) and _harmless(kind)
    return ours and not hasattr(kind, "__next__") and not callable(value)


def _harmless(kind: type) -> bool:
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


def _array_to_json(array: np.ndarray[Any, Any], depth: int) -> Any:
    if array.dtype.names is not None:
        rows = [list(row) for row in array.ravel().tolist()]
        kind: Any = [[name, array.dtype[name].str] for name in array.dtype.names]
        return {"$records": {"dtype": kind, "shape": list(array.shape), "data": to_json(rows)}}
    kind = "object" if array.dtype.hasobject else array.dtype.str
    data = [to_json(item, depth + 1) for item in array.ravel().tolist()]
    return {"$ndarray": {"dtype": kind, "shape": list(array.shape), "data": data}}


def _class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def from_json(data: Any, depth: int = 0) -> Any:
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


MOST_PADDED = 2**24
"""Bytes that an array in a file may need beyond 64 for each of its characters."""
MOST_ALIKE = 1000
"""Members of a set, or keys, with one hash: more would take quadratic time, as an attack does."""
LARGEST_EXPONENT = 10_000
LONGEST_RANGE = 10_000_000
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)


def _dtype(kind: Any, entries: int, written: Any) -> np.dtype[Any]:
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


def _shape(sizes: Any, entries: int) -> tuple[int, ...]:
    shape = tuple(sizes)
    if len(shape) > 32 or not all(type(size) is int and 0 <= size <= 2**40 for size in shape):
        raise EvidenceFormatError("the shape of an array must be up to 32 whole numbers")
    if math.prod(shape) != entries:
        raise EvidenceFormatError(f"an array of shape {shape} needs {math.prod(shape)} entries")
    return shape


def _hashed(items: list[Any]) -> list[Any]:
    """The items, refused where so many have one hash that a set of them would take for ever."""
    if len(items) > MOST_ALIKE:
        ((_, alike),) = Counter(map(hash, items)).most_common(1)
        if alike > MOST_ALIKE:
            raise EvidenceFormatError(
                f"{alike} members of a set or dict have one hash; at most {MOST_ALIKE} are read"
            )
    return items


def _read_dict(data: Any, depth: int) -> Any:
    pairs = [(from_json(key, depth), from_json(item, depth)) for key, item in data]
    _hashed([key for key, _ in pairs])
    return dict(pairs)


def _read_fraction(data: Any, _: int) -> Fraction:
    if not FRACTION.fullmatch(str(data)):
        raise EvidenceFormatError(f"a fraction is written as 3/4 or 3, got {data!r:.40}")
    return Fraction(str(data))


def _read_decimal(data: Any, _: int) -> Decimal:
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


def _read_array(data: Any, depth: int) -> Any:
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


def _read_records(data: Any, depth: int) -> Any:
    kinds = [(str(name), str(kind)) for name, kind in data["dtype"]]
    dtype = _dtype(kinds, len(data["data"]), data["data"])
    if dtype.hasobject:
        raise EvidenceFormatError("records of Python objects are not read")
    rows = [tuple(row) for row in from_json(data["data"], depth)]
    return np.array(rows, dtype=dtype).reshape(_shape(data["shape"], len(rows)))


def _read_numpy(data: Any, depth: int) -> Any:
    dtype = np.dtype(str(data[0]))
    if dtype.kind not in "biufcSU":
        raise EvidenceFormatError(f"numpy values of type {data[0]!r:.40} are not read")
    value = from_json(data[1], depth)
    if not isinstance(value, (bool, int, float, complex, str, bytes)):
        raise EvidenceFormatError(
            f"a numpy value is made of one number or string, got {value!r:.40}"
        )
    return dtype.type(value)


def _loaded_class(name: Any, expected: Callable[[type], bool]) -> Any:
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


def _read_dataclass(data: Any, depth: int) -> Any:
    kind = _loaded_class(data[0], dataclasses.is_dataclass)
    names = {field.name for field in dataclasses.fields(kind)}
    fields = {str(key): from_json(item, depth) for key, item in data[1].items()}
    if set(fields) != names or not _harmless(kind):
        raise EvidenceFormatError(f"the fields of {data[0]!r:.80} are not those of the file")
    return _with_attributes(kind, fields)


def _with_attributes(kind: type, held: dict[str, Any]) -> Any:
    """An object of the class with these attributes; none of its code is run."""
    made: Any = object.__new__(kind)
    for name, item in held.items():
        if isinstance(getattr(kind, name, None), property):
            raise EvidenceFormatError(f"{name!r:.60} is computed by {kind.__name__} and not stored")
        object.__setattr__(made, name, item)
    return made


def _read_object(data: Any, depth: int) -> Any:
    name, fields = str(data[0]), {str(k): from_json(item, depth) for k, item in data[1].items()}
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if isinstance(found, type) and found.__module__ == module and _harmless(found):
        return _with_attributes(found, fields)
    return StandIn(name, fields)


def _read_namedtuple(data: Any, depth: int) -> Any:
    kind = _loaded_class(data[0], lambda k: issubclass(k, tuple) and hasattr(k, "_fields"))
    return kind(*(from_json(item, depth) for item in data[1]))


def _table_reader(tag: str) -> Callable[[Any, int], Any]:
    return lambda data, depth: table_from_json(tag, data, lambda item: from_json(item, depth))


_READERS: dict[str, Callable[[Any, int], Any]] = {
    "$float": lambda data, _: float({"nan": "nan", "inf": "inf", "-inf": "-inf"}[data]),
    "$tuple": lambda data, depth: tuple(from_json(list(data), depth)),
    "$set": lambda data, depth: set(_hashed(from_json(list(data), depth))),
    "$frozenset": lambda data, depth: frozenset(_hashed(from_json(list(data), depth))),
    "$dict": _read_dict,
    "$complex": lambda data, depth: complex(from_json(data[0], depth), from_json(data[1], depth)),
    "$bytes": lambda data, _: base64.b64decode(data, validate=True),
    "$fraction": _read_fraction,
    "$decimal": _read_decimal,
    "$bytearray": lambda data, _: bytearray(base64.b64decode(data, validate=True)),
    "$range": _read_range,
    "$uuid": lambda data, _: UUID(str(data)),
    "$timedelta": lambda data, _: timedelta(*(int(number) for number in data)),
    "$time": lambda data, _: time.fromisoformat(data),
    "$object": _read_object,
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


def canonical(value: Any) -> bytes:
    """Bytes that are equal exactly when two values have the same JSON form, in any key order."""
    return _text(_ordered(to_json(value))).encode()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _ordered(data: Any) -> Any:
    if isinstance(data, list):
        # Most lists have nothing in them to order.
        nested = any(type(item) in (list, dict) for item in data)
        return [_ordered(item) for item in data] if nested else data
    if not isinstance(data, dict):
        return data
    inner = {key: _ordered(item) for key, item in data.items()}
    return {"$dict": sorted(inner["$dict"], key=_text)} if "$dict" in inner else inner


def show(value: Any) -> str:
    """A short text for people: Python notation, long repetitions and long values abridged."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)) and len(value) > 6:
        text = _show_runs(value)
    else:
        text = " ".join(_shown_table(value).split()) if hasattr(value, "columns") else repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 30]} ... ({len(text)} characters)"


def _shown_table(table: Any) -> str:
    """A table on one line: its columns as lists."""
    cells = {name: list(table[name]) for name in list(table.columns)}
    return f"{type(table).__name__}({cells!r})"


def _show_runs(items: Any) -> str:
    runs: list[tuple[Any, int]] = []
    for item in items:
        if runs and repr(runs[-1][0]) == repr(item):
            runs[-1] = (item, runs[-1][1] + 1)
        else:
            runs.append((item, 1))
    if len(runs) > len(items) / 2:
        return repr(items)
    return " + ".join(f"[{item!r}]" + (f" * {times}" if times > 1 else "") for item, times in runs)
