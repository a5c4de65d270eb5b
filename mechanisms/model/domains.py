"""Which databases a mechanism works on, and when two of them are neighbours."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from math import inf
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Database = Any
Output = Any
"""What a mechanism returned: any value of Python."""
InvariantCase = Any
"""What the domain of an invariant draws: any value of Python."""
Size = int | tuple[int, ...] | None


class Relation(Enum):
    """The relation between two databases that a privacy claim protects."""

    ADD_REMOVE = "add-remove"
    """One record is added or removed."""
    REPLACE_ONE = "replace-one"
    """Exactly one record is replaced; the number of records is public."""
    DECLARED = "declared"
    """Neighbours are the pairs that whoever states the claim calls so; nothing checks it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring databases, D and D'."""

    database: Database
    neighbour: Database

    def reversed(self) -> "Pair":
        """The same two databases in the other order."""
        return Pair(self.neighbour, self.database)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number in [low, high]; whole numbers only when `integer`."""

    low: float
    high: float
    integer: bool = False

    def __post_init__(self) -> None:
        """Refuse ends in the wrong order, between which nothing lies."""
        if not self.low <= self.high:
            raise ValueError(f"low must not be above high, got low={self.low}, high={self.high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One of finitely many values, simplest first."""

    values: tuple[object, ...]

    def __post_init__(self) -> None:
        """Refuse no values at all, among which nothing can be chosen."""
        if len(self.values) == 0:
            raise ValueError("values must have one value at least, got none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record with named fields (a dict), each with a row domain of its own."""

    fields: Mapping[str, "Row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A record that is a list of values, one of each part in order, such as a labelled point."""

    parts: "tuple[Row, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Lists of between `min_size` and `max_size` rows: databases, or a field of a larger record."""

    row: "Row"
    min_size: int = 0
    max_size: int = 40

    def __post_init__(self) -> None:
        """Refuse sizes that are no whole numbers from 0."""
        _require_sizes(min_size=self.min_size, max_size=self.max_size)


Row = Interval | Choices | Record | Product | Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Databases that are lists of `bins` counts, each at most `max_count`.

    With `total` the counts add up to it, whatever `max_count` says: the number of records is
    public.
    """

    bins: int
    max_count: int = 20
    total: int | None = None

    def __post_init__(self) -> None:
        """Refuse no bins, and sizes that are no whole numbers from 0."""
        _require_sizes(bins=self.bins, max_count=self.max_count, total=self.total or 0)
        if self.bins < 1:
            raise ValueError("bins must be at least 1, got 0: a histogram counts records by bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Databases that are a single record, as in local differential privacy."""

    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Databases of a session, [data, strategy]: the data and who asks about them.

    `data` is a domain or, as the databases of a mechanism, a Hypothesis strategy.

    A strategy asks `queries` different queries, has up to `states` states and tells answers apart
    by `classes`; it is written as `Analyst.written` says. Neighbours have one strategy, and data
    that are neighbours under `relation`.
    """

    data: object
    relation: Relation
    queries: int
    classes: int
    states: int

    def __post_init__(self) -> None:
        """Refuse a session in which nothing is asked."""
        if min(self.queries, self.classes, self.states) < 1:
            raise ValueError("a session needs at least one query, one class and one state")


Domain = Rows | Histogram | Value | Asked


def _require_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, Integral) or size < 0:
            raise ValueError(f"{name} must be a whole number from 0, got {short(size)}")


def misfit(domain: Domain, database: Database) -> str:
    """What of the database lies outside the domain, in a sentence; empty where nothing does.

    Sizes are no part of it: `min_size` and `max_size` say where a search looks, while a privacy
    claim is about records of any number.
    """
    match domain:
        case Value(row=row):
            return _stranger(row, [database], "the record")
        case Rows(row=row):
            if _length(database) < 0:
                return f"the database must be a list of records, got {type(database).__name__}"
            return _stranger(row, list(database), "record")
        case Asked(data=data):
            if _length(database) != 2:
                return f"the database must be [data, strategy], got {short(database)}"
            wrong = misfit(data, database[0]) if isinstance(data, Domain) else ""
            return wrong or _no_strategy(domain, database[1])
        case Histogram(bins=bins):
            if _length(database) != bins:
                return f"the database must be a list of {bins} counts, got {short(database)}"
            # One record more must be another float.
            count = Interval(low=0, high=2**53, integer=True)
            return _stranger(count, list(database), "count")


def _no_strategy(domain: Asked, written: Database) -> str:
    """What is wrong with a strategy that a database carries; empty for nothing."""
    query, state = (
        Interval(low=0, high=many - 1, integer=True) for many in (domain.queries, 2**53)
    )
    strange = _wanted(Product(parts=(Rows(row=query), Rows(row=Rows(row=state)))), written)
    asks, moves = ((), ()) if strange else written
    if not 0 < len(asks) == len(moves) or any(len(row) != domain.classes for row in moves):
        return (
            "a strategy must be [asks, moves], a query's number for each state and the next states "
            f"by the {domain.classes} classes of answers; got {short(written)}"
        )
    if any(not after < len(asks) for row in moves for after in row):
        return f"a strategy of {len(asks)} states moves to one that it does not have"
    return ""


def _stranger(row: Row, records: Sequence[object], what: str) -> str:
    """The first record that is not in the row domain, and why."""
    if isinstance(row, Interval) and len(records) > 1 and _all_inside(row, records):
        return ""
    for place, record in enumerate(records):
        wanted = _wanted(row, record)
        if wanted:
            number = f" {place}" if len(records) > 1 else ""
            return f"{what}{number} must be {wanted}, got {short(record)}"
    return ""


def _all_inside(row: Interval, records: Sequence[object]) -> bool:
    """The quick way for many plain numbers; False where it cannot tell."""
    try:
        numbers = np.asarray(records)
    except ValueError:
        return False
    plain = numbers.ndim == 1 and numbers.dtype.kind in "iuf"
    if not plain:
        return False
    inside = (numbers >= row.low) & (numbers <= row.high) & np.isfinite(numbers)
    return bool((inside & (numbers == np.floor(numbers)) if row.integer else inside).all())


def _wanted(row: Row, record: Database) -> str:
    """What the record should have been, in a few words; empty where it is that."""
    match row:
        case Interval(low=low, high=high, integer=integer):
            number = isinstance(record, (int, float, np.number, np.bool_)) and np.ndim(record) == 0
            if number and low <= record <= high and abs(record) < inf:
                if not integer or record == np.floor(record):
                    return ""
            return f"a {'whole ' if integer else ''}number from {low:g} to {high:g}"
        case Choices(values=values):
            return "" if _among(values, record) else f"one of {short(values)}"
        case Record(fields=fields):
            if not isinstance(record, Mapping) or set(record) != set(fields):
                return f"a record with the fields {', '.join(fields)}"
            found = (
                f"with {name} {_wanted(part, record[name])}"
                for name, part in fields.items()
                if _wanted(part, record[name])
            )
            return next(found, "")
        case Product(parts=parts):
            if _length(record) != len(parts):
                return f"a list of {len(parts)} values"
            pairs = enumerate(zip(parts, record, strict=True))
            found = (
                f"a list with {_wanted(part, value)} at place {place}"
                for place, (part, value) in pairs
                if _wanted(part, value)
            )
            return next(found, "")
        case Rows(row=inner):
            if _length(record) < 0:
                return "a list"
            return next(
                (
                    f"a list of {_wanted(inner, value)}s"
                    for value in record
                    if _wanted(inner, value)
                ),
                "",
            )


def _among(values: tuple[object, ...], record: object) -> bool:
    """Whether the record is one of the values; an array, which has no one truth, is none."""
    try:
        return bool(record in values)
    except (TypeError, ValueError):
        return False


def _length(database: Database) -> int:
    """How many entries it has; -1 for what is no list: it has no length, order or repetition.

    A mapping would be read as its keys, bytes as numbers, and an iterator would be used up here.
    """
    if isinstance(database, (str, bytes, bytearray, memoryview, Mapping, AbstractSet)):
        return -1
    try:
        return len(database)
    except TypeError:
        return -1


def short(value: object) -> str:
    """The value as text on one line, cut off where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
