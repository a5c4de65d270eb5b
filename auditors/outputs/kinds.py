"""What values of each Python type are made of, decided once a type.

Nothing here calls a method that an output defines itself, other than `__repr__` for types that
show no parts: subclasses of built-in containers are read as the built-in would. A value of a type
that another process has and this one has not was taken apart there: it says of which type it was
and holds what would have been read of it, so that it is packed, named and judged as it would have
been in this process. A type is a name there, and nothing is looked up under it.
"""

import array
import ipaddress
import types
from collections import abc, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from pathlib import PurePath
from typing import Any, ClassVar, NoReturn
from uuid import UUID

import numpy as np

from ...mechanisms.model import Array, Output
from ..errors import ContractError, EvidenceFormatError
from .nodes import Step
from .tables import attributes, open_table

DEEPEST = 60
"""Levels of an output, and of a value in a file. Python is left 1,000 frames, and a level takes
several."""
NOT_LOOKED_AT = (
    "identity of objects (which two are the same one), reference counts and addresses",
    "memory layout of arrays: strides, order, flags and base",
    "payload and sign of NaN",
    "which type holds a number, a text or a list, unless asked for (--attacker types)",
    "whether the key of a dict is of a type of numpy",
    "low-order mantissa bits of floats, apart from a value that repeats, unless asked for "
    "(--attacker bits)",
    "iteration order of sets",
    "functions, modules, classes, locks, files and other values without parts: their type only",
    "attributes added to instances of built-in types' subclasses, properties and methods",
    "two classes of one module with the same qualified name",
    "the time a call takes, unless asked for (--attacker clock), and what it prints",
    "the message of an exception",
)
"""What the value attacker does not look at in an output; reports and documentation list it."""
HOWS = (
    "object", "record", "list", "mapping", "set", "array", "float", "int", "text", "printed", "all",
)  # fmt: skip
"""What the content is: (role, name, value) of each part for objects and records; items for lists
and sets, (key, value) pairs for mappings; an array; a number, of many digits in hexadecimal;
(text, length) for the rest, of values that are only printed, or not looked at."""


class Raised:
    """Stands for a call that raised; the output is the type of the exception."""

    __slots__ = ("name",)

    def __init__(self, error: BaseException) -> None:
        """Keep the type's name and nothing that could be changed or is costly to keep."""
        self.name = type_name(type(error))

    def __repr__(self) -> str:
        """What an event calls it."""
        return f"raised {self.name}"

    def __eq__(self, other: object) -> bool:
        """Equal for exceptions of one type."""
        return isinstance(other, Raised) and other.name == self.name

    def __hash__(self) -> int:
        """Equal for equal types."""
        return hash(self.name)


class Foreign:
    """A value of another process; subclasses say of which type it was and how it was read."""

    __slots__ = ("content",)
    told: ClassVar[str]
    how: ClassVar[str]

    def __init__(self, content: Output) -> None:
        """`content` is nobody else's."""
        self.content = content

    def __reduce__(self) -> tuple[object, ...]:
        """The type is made anew in another process."""
        return foreign, (self.told, self.how, self.content)

    def __deepcopy__(self, _: object) -> "Foreign":
        """Nobody can change it."""
        return self

    @property
    def parts(self) -> dict[Step, Output]:
        """The steps of an object with what is there."""
        return {(role, name): value for role, name, value in self.content}


def foreign(told: object, how: object, content: Output) -> Foreign:
    """A value of the type named `told`; EvidenceFormatError for content of another form."""
    if not isinstance(told, str) or how not in HOWS or not _fits(how, content):
        raise EvidenceFormatError(
            f"a value of another process is a type's name, one of {', '.join(HOWS)}, and what it "
            f"holds, got {told!r:.60}, {how!r:.20} and {content!r:.80}"
        )
    if how == "int":
        content = int(content, 16) if isinstance(content, str) else content
    return _type(told, how)(tuple(content) if how in ("text", "printed", "all") else content)


def _fits(how: object, content: Output) -> bool:
    if how in ("float", "int"):
        return type(content) is float if how == "float" else type(content) in (int, str)
    if how == "array":
        return hasattr(content, "dtype")
    if not isinstance(content, list):
        return False
    if how in ("object", "record"):
        return all(
            isinstance(part, list) and len(part) == 3 and part[0] in ("key", "field", "member")
            and isinstance(part[1], str) for part in content
        )  # fmt: skip
    if how == "mapping":
        return all(isinstance(pair, list) and len(pair) == 2 for pair in content)
    if how in ("list", "set"):
        return True
    return len(content) == 2 and isinstance(content[0], str) and isinstance(content[1], int)


@lru_cache(maxsize=4096)
def _type(told: str, how: str) -> type[Foreign]:
    return type("Foreign", (Foreign,), {"__slots__": (), "told": told, "how": how})


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of one type are read.

    `how` is "float", "int", "bool", "generic" or "array" for what numpy holds; "text" for labels
    (`read` gives the text); "exact" for numbers with an exact text (`read` gives double, text and
    parts); "list" and "mapping" for containers (`read` gives a list or a dict of steps), "object"
    for what has attributes. `unread` is what a text does not compare, see `Texts`.
    What is `refused` is a promise of values and not a value; `read` raises ContractError.
    """

    name: str
    how: str
    read: Callable[[Any], Any]
    unread: str = ""
    sized: bool = False
    plain: bool = False
    refused: bool = False


def type_name(kind: type) -> str:
    """How events name a type."""
    module = kind.__module__
    short = {"builtins", "decimal", "fractions", "datetime", "uuid", "collections"}
    return kind.__qualname__ if module in short else f"{module}.{kind.__qualname__}"


def _itself(value: object) -> object:
    return value


def number_text(value: int) -> str:
    """A whole number in full; in hexadecimal where decimal digits would take too long."""
    return str(value) if value.bit_length() < 10_000 else hex(value)


def key_text(key: Output) -> str:
    """A text for a dict key or a member of a set, equal exactly for equal values and types."""
    kind = kind_of(type(key))
    if kind.how == "int":
        text = number_text(int(key))
    elif kind.how in ("float", "bool"):
        text = repr(key)
    elif kind.how == "text":
        text = kind.read(key)[0]
    elif kind.how == "list":
        text = f"{kind.name}({', '.join(key_text(part) for part in kind.read(key))})"
    elif kind.how == "exact":
        text = kind.read(key)[1]
    elif kind.how in ("mapping", "object") and (parts := kind.read(key)) is not None:
        inner = ", ".join(f"{step[1]}={key_text(part)}" for step, part in parts.items())
        return f"{kind.name}({inner})"
    elif kind.how == "object":
        text = text_of_last_resort(key)[0]
    else:
        text = repr(key.item() if isinstance(key, np.generic) else key)
    plain = type(key) in _PLAIN_KEYS or isinstance(key, _NUMPY_KEYS)
    return text if plain else f"{kind.name} {text}"


_NUMPY_KEYS = (np.number, np.bool_, np.str_, np.bytes_)
_PLAIN_KEYS = frozenset({str, int, float, bytes, bool, type(None), tuple, frozenset})


def _mapping(value: Output) -> dict[Step, object]:
    items = dict.items(value) if isinstance(value, dict) else value.items()
    return _named((("key", key_text(key)), item) for key, item in items)


def _named(pairs: Iterable[tuple[tuple[str, str], Output]]) -> dict[Step, Output]:
    found: dict[Step, Output] = {}
    for (role, text), item in pairs:
        step, number = (role, text), 1
        while step in found:
            number += 1
            step = (role, f"{text} #{number}")
        found[step] = item
    return found


def _set(value: set[Output] | frozenset[Output]) -> dict[Step, object]:
    # Sorted by their texts: the order of a set differs between processes.
    members = _members(value)
    texts = [(key_text(member), place) for place, member in enumerate(members)]
    return _named((("member", text), members[place]) for text, place in sorted(texts))


def _members(value: set[Output] | frozenset[Output]) -> list[object]:
    return [*(frozenset.__iter__(value) if isinstance(value, frozenset) else set.__iter__(value))]


def _namedtuple(value: Output) -> dict[Step, object]:
    items = tuple.__iter__(value)
    return {("field", name): item for name, item in zip(type(value)._fields, items, strict=True)}


def _refused(what: str, instead: str) -> Callable[[Output], NoReturn]:
    def read(value: Output) -> NoReturn:
        if isinstance(value, abc.Coroutine):
            value.close()  # else Python warns that nobody awaited it
        raise ContractError(f"the mechanism returned {what}; {instead}")

    return read


def _printed(value: Output) -> tuple[str, int]:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - whatever the output's own code raises
        raise ContractError(
            f"the mechanism returned a {type(value).__name__} that cannot be printed "
            f"({type(error).__name__}); return numbers, strings, None, or containers of them"
        ) from None
    return text, -1


def _decimal(value: Decimal) -> tuple[float, str, dict[Step, object]]:
    text = str(Decimal(value))
    number = float("nan") if value.is_nan() else float(value)
    return number, text, {("field", "exponent"): Decimal(value).as_tuple().exponent}


def _fraction(value: Fraction) -> tuple[float, str, dict[Step, object]]:
    top, bottom = value.numerator, value.denominator
    return nearest(value), f"{number_text(top)}/{number_text(bottom)}", {
        ("field", "numerator"): top, ("field", "denominator"): bottom
    }  # fmt: skip


def nearest(value: int | Fraction) -> float:
    """The double next to a number, infinite for one beyond them."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _datetime(value: datetime) -> tuple[None, str, dict[Step, object]]:
    start = datetime(1970, 1, 1, tzinfo=UTC if value.tzinfo else None)
    return None, datetime.__repr__(value), {
        ("field", "timestamp()"): (value - start) / timedelta(seconds=1),
        ("field", "microsecond"): value.microsecond,
        ("field", "tzinfo"): repr(value.tzinfo), ("field", "fold"): value.fold,
    }  # fmt: skip


def _typed(value: "array.array[Output]") -> Array:
    entries = array.array.tolist(value)
    return np.array(entries, dtype=None if value.typecode in "uw" else value.typecode)


_BY_TYPE: tuple[tuple[type | tuple[type, ...], str, Callable[[Any], Any]], ...] = (
    (Raised, "text", lambda v: (repr(v), -1)),
    (str, "text", lambda v: (str.__repr__(v), str.__len__(v))),
    ((bytes, bytearray), "text", lambda v: (repr(bytes(v)), len(bytes(v)))),
    (memoryview, "text", lambda v: (repr(v.tobytes()), v.nbytes)),
    (type(None), "text", lambda v: ("None", -1)),
    (type(Ellipsis), "text", lambda v: ("Ellipsis", -1)),
    (type(NotImplemented), "text", lambda v: ("NotImplemented", -1)),
    (Decimal, "exact", _decimal),
    (Fraction, "exact", _fraction),
    (datetime, "exact", _datetime),
    (date, "exact", lambda v: (None, date.__repr__(v), {("field", "toordinal()"): v.toordinal()})),
    (
        timedelta, "exact",
        lambda v: (None, repr(v), {("field", "total_seconds()"): v.total_seconds()}),
    ),
    (time, "text", lambda v: (repr(v), -1)),
    (UUID, "exact", lambda v: (None, repr(v), {("field", "int"): v.int})),
    (PurePath, "text", lambda v: (repr(str(v)), -1)),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), "text", lambda v: (repr(str(v)), -1)),
    (complex, "object", lambda v: {("field", "real"): v.real, ("field", "imag"): v.imag}),
    (
        (range, slice), "object",
        lambda v: {("field", name): getattr(v, name) for name in ("start", "stop", "step")},
    ),
    (list, "list", lambda v: list.copy(v)),
    (tuple, "list", lambda v: tuple.__getitem__(v, slice(None))),
    (deque, "list", lambda v: [*deque.__iter__(v)]),
    (array.array, "array", _typed),
    ((set, frozenset), "mapping", _set),
    (dict, "mapping", _mapping),
    (types.MappingProxyType, "mapping", _mapping),
    ((abc.KeysView, abc.ValuesView), "list", lambda v: [*v]),
    (abc.ItemsView, "list", lambda v: [*v]),
)  # fmt: skip
"""Types with what their values become and what reads one; the first that fits is taken."""
_NOTHING_TO_READ = (
    type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType,
    types.CodeType, types.FrameType, types.TracebackType,
)  # fmt: skip


def kind_of(kind: type) -> Kind:
    """How values of the type are read."""
    return _kind_of(kind)


@lru_cache(maxsize=4096)
def _kind_of(kind: type) -> Kind:
    if issubclass(kind, Foreign):
        return _foreign(kind)
    name = type_name(kind)
    if kind in (bool, float):
        return Kind(name, kind.__name__, _itself, plain=True)
    if issubclass(kind, Enum):
        return Kind(name, "text", lambda v: (f"{kind.__qualname__}.{v._name_}", -1))
    if issubclass(kind, np.generic):
        return _numpy_scalar(kind, name)
    if issubclass(kind, float):
        return Kind(name, "float", lambda v: float.__float__(v))
    if issubclass(kind, int):
        return Kind(name, "int", lambda v: int.__int__(v), plain=kind is int)
    if issubclass(kind, np.ndarray) and not issubclass(kind, np.ma.MaskedArray):
        return Kind(name, "array", lambda v: np.asarray(v))
    if issubclass(kind, (abc.Coroutine, types.AsyncGeneratorType)):
        read = _refused("a coroutine", "run it and return its result")
        return Kind(name, "list", read, refused=True)
    if issubclass(kind, abc.Iterator):
        what = "a generator" if kind is types.GeneratorType else f"a {name}, an iterator"
        read = _refused(what, "return its values, for instance as a list")
        return Kind(name, "list", read, refused=True)
    opened = open_table(kind)
    if opened is not None:
        return Kind(name, "object", opened)
    if issubclass(kind, _NOTHING_TO_READ):
        return Kind(name, "text", lambda v: (_a(name), -1), unread="all")
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Kind(name, "object", _namedtuple, sized=True)
    for types_, how, read in _BY_TYPE:
        if issubclass(kind, types_):
            return Kind(name, how, read, sized=how in ("list", "mapping"), plain=kind is types_)
    return _object(kind, name)


def _foreign(kind: type[Foreign]) -> Kind:
    """How a value of another process is read: as its content was taken apart there."""
    how = kind.how
    if how in ("text", "printed", "all"):
        unread = {"text": "", "printed": "text", "all": "all"}[how]
        return Kind(kind.told, "text", lambda v: v.content, unread=unread)
    if how in ("object", "record"):
        return Kind(kind.told, "object", lambda v: v.parts, sized=how == "record")
    if how == "mapping":
        return Kind(kind.told, how, lambda v: _mapping(dict(v.content)), sized=True)
    if how == "set":
        return Kind(kind.told, "mapping", lambda v: _set(frozenset(v.content)), sized=True)
    return Kind(kind.told, how, lambda v: v.content, sized=how == "list")


def _numpy_scalar(kind: type, name: str) -> Kind:
    if issubclass(kind, (np.bool_, np.number)) and not issubclass(kind, np.complexfloating):
        return Kind(name, "generic", _itself)
    if issubclass(kind, np.str_):
        return Kind(name, "text", lambda v: (str.__repr__(v), len(v)))
    if issubclass(kind, np.bytes_):
        return Kind(name, "text", lambda v: (bytes.__repr__(v), len(v)))
    if issubclass(kind, np.complexfloating):
        return Kind(
            name, "object", lambda v: {("field", "real"): v.real, ("field", "imag"): v.imag}
        )
    if issubclass(kind, np.void):
        return Kind(
            name,
            "object",
            lambda v: (
                {("key", repr(n)): v[n] for n in v.dtype.names}
                if v.dtype.names
                else {("field", "bytes"): v.tobytes()}
            ),
        )
    # Dates and durations: the count of their unit is a number.
    return Kind(
        name,
        "object",
        lambda v: {
            ("field", "unit"): np.datetime_data(v.dtype)[0],
            ("field", "count"): None if np.isnat(v) else int(v.astype(np.int64)),
        },
    )


def _object(kind: type, name: str) -> Kind:
    """A class that nothing else is known of: attributes if it holds any, else its text."""

    def read(value: Output) -> dict[Step, Output] | None:
        return attributes(value) or None

    return Kind(name, "object", read)


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def text_of_last_resort(value: Output) -> tuple[str, str]:
    """(text, what it leaves unread) of a value that shows no parts."""
    if type(value).__repr__ is object.__repr__:  # type: ignore[comparison-overlap]
        return _a(type_name(type(value))), "all"
    text = _printed(value)[0]
    if " at 0x" in text:
        return _a(type_name(type(value))), "all"
    return text, "text"
