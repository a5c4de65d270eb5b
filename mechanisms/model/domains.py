"""Which databases a mechanism works on, and when two of them are neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Database = Any
Size = int | tuple[int, ...] | None


class Relation(Enum):
    """The relation between two databases that a privacy claim protects."""

    ADD_REMOVE = "add-remove"
    """One record is added or removed."""
    REPLACE_ONE = "replace-one"
    """Exactly one record is replaced; the number of records is public."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number in [low, high]; whole numbers only when `integer`."""

    low: float
    high: float
    integer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """One of finitely many values, simplest first."""

    values: tuple[Any, ...]


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
    """Lists of between `least` and `most` rows: databases, or a field of a larger record."""

    row: "Row"
    least: int = 0
    most: int = 40


Row = Interval | Choices | Record | Product | Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Databases that are lists of `bins` counts, each at most `most`.

    With `total` the counts add up to it, whatever `most` says: the number of records is public.
    """

    bins: int
    most: int = 20
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Databases that are a single record, as in local differential privacy."""

    row: Row


Domain = Rows | Histogram | Value
