"""Databases of any kind, taken apart into records, compared and put together again.

A database is a list, a tuple, an array (structured arrays too), a table or a column of pandas or
polars, a sparse matrix, a dict of records, or a dict, dataclass or plain object that holds columns
of equal length. Its records are rows; they can be taken out, and exchanged for rows of another
database of the same kind. None of these libraries is imported here: a table is recognised by the
library that made it, which is loaded already.

How two large databases begin and end alike is found without taking them apart, so that what is
between them is looked at alone.
"""

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Database
from ..errors import InvalidArgument
from ..looking import is_a
from ..outputs.encoding import canonical, is_plain_list

SINGLE = (bool, int, float, complex, str, bytes, Enum, np.generic, type(None))
"""What can only be one record."""
Pick = Callable[[Sequence[int]], Database]

AT_ONCE = 4096
"""Records that are compared at a time, until some differ."""
NUMBERS = frozenset({bool, int, float})


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a database.

    `rows` holds one value for each, to look at and to compare. `pick(places)` is the database of
    the records at these places in that order, and `put(place, row, cell)` the database with
    another row at a place, or another entry in one column of it. `cells` names the columns whose
    entries can be exchanged; it is empty where records have none.
    """

    kind: str
    rows: tuple[Any, ...]
    pick: Pick
    put: Callable[[int, Any, str | None], Database]
    cells: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, places: Sequence[int]) -> Database:
        """The database without the records at these places."""
        gone = set(places)
        return self.pick([place for place in range(len(self)) if place not in gone])

    def exchanged(self, place: int, row: Any, cell: str | None = None) -> object:
        """The database with another record at a place, or with one cell of that record."""
        return self.put(place, row, cell)


def records(database: Database) -> Records | None:
    """The records of a database; None for a single value and for what has no records."""
    if is_a(database, SINGLE):
        return None
    if is_a(database, (list, tuple)):
        return _of_sequence(database)
    if is_a(database, np.ndarray):
        return _of_array(database) if database.ndim else None
    library = type(database).__module__.partition(".")[0]
    if library == "pandas" and library in sys.modules:
        return _of_pandas(database)
    if library == "polars" and library in sys.modules:
        return _of_polars(database)
    if library == "scipy" and hasattr(database, "tocsr"):
        return _of_sparse(database)
    return _of_fields(database)


def _of_sequence(database: Database) -> Records:
    def rebuilt(rows: list[object]) -> object:
        return rows if isinstance(database, list) else _tuple_like(database, rows)

    def put(place: int, row: Any, cell: str | None) -> Database:
        rows = list(database)
        rows[place] = row if cell is None else _with_cell(rows[place], cell, row)
        return rebuilt(rows)

    mappings = any(issubclass(kind, Mapping) for kind in set(map(type, database)))
    keys = [set(row) for row in database if isinstance(row, Mapping)] if mappings else []
    cells = tuple(database[0]) if keys and all(k == keys[0] for k in keys) else ()
    named = len(keys) == len(database) and all(isinstance(name, str) for name in cells)
    return Records(
        type(database).__name__,
        tuple(database),
        lambda places: rebuilt([database[place] for place in places]),
        put,
        cells if named else (),
    )


def _tuple_like(database: tuple[object, ...], rows: list[object]) -> object:
    return tuple(rows) if type(database) is tuple else type(database)(rows)


def _with_cell(row: Any, cell: str, other: Any) -> object:
    return {**row, cell: other[cell]}


def _of_array(database: Array) -> Records:
    names = database.dtype.names

    def put(place: int, row: Any, cell: str | None) -> Database:
        made = database.copy()
        if cell is None:
            made[place] = row
        else:
            made[cell][place] = row[cell]
        return made

    return Records("ndarray", tuple(database), lambda p: database[list(p)], put, names or ())


def _of_pandas(database: Database) -> Records | None:
    kind = type(database).__name__
    if kind not in ("DataFrame", "Series"):
        return None
    rows = tuple(database.iloc[place : place + 1] for place in range(len(database)))

    def put(place: int, row: Any, cell: str | None) -> Database:
        pandas = sys.modules["pandas"]
        if cell is not None:
            made = database.copy()
            column = made.columns.get_loc(cell)
            made[cell] = made[cell].astype(row[cell].dtype) if not len(made) else made[cell]
            made.iloc[place, column] = row[cell].iloc[0]
            return made
        made = pandas.concat([database.iloc[:place], row, database.iloc[place + 1 :]])
        # The label of a row stays where it was; only what the row says is exchanged.
        made.index = database.index
        return made

    named = kind == "DataFrame" and all(isinstance(name, str) for name in database.columns)
    cells = tuple(database.columns) if named and database.columns.is_unique else ()
    return Records(kind, rows, lambda places: database.iloc[list(places)], put, cells)


def _of_polars(database: Database) -> Records | None:
    kind = type(database).__name__
    if kind not in ("DataFrame", "Series"):
        return None
    rows = tuple(database[place : place + 1] for place in range(len(database)))

    def put(place: int, row: Any, cell: str | None) -> Database:
        polars = sys.modules["polars"]
        if cell is None:
            parts = [database[:place], row, database[place + 1 :]]
            return polars.concat([part for part in parts if len(part)])
        columns = {name: database[name] for name in database.columns}
        old = columns[cell]
        parts = [old[:place], row[cell], old[place + 1 :]]
        columns[cell] = polars.concat([part for part in parts if len(part)])
        return polars.DataFrame(columns)

    cells = tuple(database.columns) if kind == "DataFrame" else ()
    return Records(f"polars {kind}", rows, lambda places: database[list(places)], put, cells)


def _of_sparse(database: Database) -> Records:
    matrix = database.tocsr()

    def put(place: int, row: Any, cell: str | None) -> Database:
        made = matrix.tolil(copy=True)
        made[place] = row
        return made.asformat(database.format)

    rows = tuple(matrix[place] for place in range(matrix.shape[0]))
    return Records("sparse matrix", rows, lambda p: matrix[list(p)].asformat(database.format), put)


def _of_fields(database: Database) -> Records | None:
    """A dict of records, or columns of equal length in a dict, a dataclass or an object."""
    fields = _fields(database)
    if fields is None:
        return None
    columns = {name: part for name, value in fields.items() if (part := _column(value)) is not None}
    lengths = {len(part) for part in columns.values()}
    if (
        columns
        and len(lengths) == 1
        and (len(columns) == len(fields) or not isinstance(database, Mapping))
    ):
        return _of_columns(database, columns)
    if isinstance(database, Mapping):
        return _of_items(database)
    return None


def _fields(database: Database) -> dict[object, Database] | None:
    if isinstance(database, Mapping):
        return dict(database)
    if isinstance(database, type):
        return None
    if dataclasses.is_dataclass(database):
        return {f.name: getattr(database, f.name) for f in dataclasses.fields(database)}
    found = getattr(database, "__dict__", None)
    return dict(found) if isinstance(found, dict) and found else None


def _column(value: Database) -> Records | None:
    if isinstance(value, (list, tuple, np.ndarray)) or type(value).__name__ in (
        "Series", "DataFrame",
    ):  # fmt: skip
        return records(value)
    return None


def _of_columns(database: Database, columns: dict[object, Records]) -> Records:
    count = len(next(iter(columns.values())))
    rows = tuple({name: part.rows[i] for name, part in columns.items()} for i in range(count))

    def pick(places: Sequence[int]) -> object:
        return _replaced(database, {name: part.pick(places) for name, part in columns.items()})

    def put(place: int, row: Any, cell: str | None) -> Database:
        chosen = columns if cell is None else {cell: columns[cell]}
        changed = {name: part.exchanged(place, row[name]) for name, part in chosen.items()}
        return _replaced(database, changed)

    names = tuple(name for name in columns if isinstance(name, str))
    kind = f"columns of {type(database).__name__}"
    return Records(kind, rows, pick, put, names if len(names) == len(columns) else ())


def _replaced(database: Database, changes: dict[Any, Database]) -> object:
    if isinstance(database, Mapping):
        return {**database, **changes}
    if dataclasses.is_dataclass(database) and not isinstance(database, type):
        return dataclasses.replace(database, **changes)
    made = copy.copy(database)
    made.__dict__.update(changes)
    return made


def _of_items(database: Mapping[object, object]) -> Records:
    items = tuple(database.items())

    def put(place: int, row: Any, cell: str | None) -> Database:
        # The key stays: a record is replaced by what another says.
        return {k: row[1] if i == place else v for i, (k, v) in enumerate(items)}

    return Records("dict", items, lambda places: dict(items[place] for place in places), put)


def said(row: Any) -> bytes:
    """What a record says, as bytes that are equal for equal records; labels of rows left out."""
    library = type(row).__module__.partition(".")[0]
    if library in ("pandas", "polars"):
        row = (
            row.to_dict("list")
            if type(row).__name__ == "DataFrame" and library == "pandas"
            else (row.to_dicts() if hasattr(row, "to_dicts") else list(row))
        )
    elif library == "scipy" and hasattr(row, "toarray"):
        row = row.toarray().tolist()
    try:
        # The same bytes without the way through JSON; a database may have a million such rows.
        return b"%d" % row if type(row) is int else canonical(row)
    except InvalidArgument:
        return repr(row).encode()


def is_frame(rows: Database) -> bool:
    """Whether this is one table of pandas or polars."""
    library = type(rows).__module__.partition(".")[0]
    return library in ("pandas", "polars") and type(rows).__name__ == "DataFrame"


def alike(one: Database, two: Database) -> tuple[int, int] | None:
    """How many records two databases begin with, and end with, that are surely equal.

    None for two whose records do not stand in one order, as in a dict, or are not of one kind. No
    record is counted twice.
    """
    if type(one) is not type(two) or _names(one) != _names(two):
        return None
    ours, theirs = _columns_of(one), _columns_of(two)
    if ours is None or theirs is None:
        return None
    most = min(len(one), len(two))
    start = min((_agree(x, y, most) for x, y in zip(ours, theirs, strict=True)), default=0)
    left = most - start
    end = min(
        (_agree(x[::-1], y[::-1], left) for x, y in zip(ours, theirs, strict=True)), default=0
    )
    return start, end


def unlike(one: Database, two: Database) -> tuple[Database, Database]:
    """Both without the records they begin and end with alike: of a million few are left."""
    both = alike(one, two)
    if both is None:
        return one, two
    start, end = both
    return part(one, start, len(one) - end), part(two, start, len(two) - end)


def part(database: Database, start: int, stop: int) -> Database:
    """The records from one place to another, as a database of the same kind."""
    rows = database.iloc if _library(database) == "pandas" else database
    return rows[start:stop]


def _columns_of(database: Database) -> list[Database] | None:
    """Arrays of numbers or texts, or lists, that hold all that a database's records say."""
    if type(database) in (list, tuple):
        return [database]
    if type(database) is np.ndarray:
        plain = database.ndim > 0 and not database.dtype.hasobject
        return [database] if plain else None
    library, kind = _library(database), type(database).__name__
    if library not in ("pandas", "polars") or kind not in ("DataFrame", "Series"):
        return None
    if kind == "Series":
        return [_entries(database)]
    names = _names(database)
    return [_entries(database[name]) for name in names] if len(set(names)) == len(names) else None


def _names(database: Database) -> list[object]:
    return list(getattr(database, "columns", ()))


def _entries(column: Database) -> object:
    """One column of a table, as an array of plain numbers or as a list."""
    if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
        return column.to_numpy()
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _library(database: Database) -> str:
    library = type(database).__module__.partition(".")[0]
    return library if library in sys.modules else ""


def _agree(one: Database, two: Database, most: int) -> int:
    """Up to where two columns surely agree, of their first `most` entries."""
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        if one.dtype != two.dtype or one.shape[1:] != two.shape[1:] or not most:
            return 0
        differ = (_bytes(one[:most]) != _bytes(two[:most])).any(axis=1)
        return int(differ.argmax()) if differ.any() else most
    for start, x, y in _pieces(one, two, most):
        if not _surely(x, y):
            return start + next((i for i, (a, b) in enumerate(zip(x, y, strict=True))
                                 if not _surely([a], [b])), len(x))  # fmt: skip
    return most


def _bytes(array: Array) -> NDArray[np.uint8]:
    plain = np.ascontiguousarray(array)
    return plain.view(np.uint8).reshape(len(plain), -1)


def _pieces(one: Database, two: Database, most: int) -> Iterator[tuple[int, Database, Database]]:
    for start in range(0, most, AT_ONCE):
        stop = min(start + AT_ONCE, most)
        yield start, one[start:stop], two[start:stop]


def _surely(one: Sequence[object], two: Sequence[object]) -> bool:
    """Whether records are surely equal: the same objects, or plain values that read alike."""
    if all(map(is_, one, two)):
        return True
    kinds = list(map(type, one))
    if kinds != list(map(type, two)):
        return False
    if NUMBERS.issuperset(kinds):
        # 0.0 equals -0.0 and nan does not equal itself.
        return (one == two and 0 not in one) or repr(one) == repr(two)
    return is_plain_list(list(one)) and repr(one) == repr(two)
