"""Databases of any kind, taken apart into records and put together again.

A database is a list, a tuple, an array (structured arrays too), a table or a column of pandas or
polars, a sparse matrix, a dict of records, or a dict, dataclass or plain object that holds columns
of equal length. Its records are rows; they can be taken out, and exchanged for rows of another
database of the same kind. None of these libraries is imported here: a table is recognised by the
library that made it, which is loaded already.
"""

import copy
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..errors import InvalidArgument
from ..outputs.encoding import canonical

SINGLE = (bool, int, float, complex, str, bytes, Enum, np.generic, type(None))
"""What can only be one record."""

Pick = Callable[[Sequence[int]], Any]


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
    put: Callable[[int, Any, str | None], Any]
    cells: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, places: Sequence[int]) -> Any:
        """The database without the records at these places."""
        gone = set(places)
        return self.pick([place for place in range(len(self)) if place not in gone])

    def exchanged(self, place: int, row: Any, cell: str | None = None) -> object:
        """The database with another record at a place, or with one cell of that record."""
        return self.put(place, row, cell)


def records(database: Any) -> Records | None:
    """The records of a database; None for a single value and for what has no records."""
    if isinstance(database, SINGLE):
        return None
    if isinstance(database, (list, tuple)):
        return _of_sequence(database)
    if isinstance(database, np.ndarray):
        return _of_array(database) if database.ndim else None
    library = type(database).__module__.partition(".")[0]
    if library == "pandas" and library in sys.modules:
        return _of_pandas(database)
    if library == "polars" and library in sys.modules:
        return _of_polars(database)
    if library == "scipy" and hasattr(database, "tocsr"):
        return _of_sparse(database)
    return _of_fields(database)


def _of_sequence(database: Any) -> Records:
    def rebuilt(rows: list[Any]) -> object:
        return rows if isinstance(database, list) else _tuple_like(database, rows)

    def put(place: int, row: Any, cell: str | None) -> Any:
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


def _tuple_like(database: tuple[Any, ...], rows: list[Any]) -> object:
    return tuple(rows) if type(database) is tuple else type(database)(rows)


def _with_cell(row: Any, cell: str, other: Any) -> object:
    return {**row, cell: other[cell]}


def _of_array(database: np.ndarray[Any, Any]) -> Records:
    names = database.dtype.names

    def put(place: int, row: Any, cell: str | None) -> Any:
        made = database.copy()
        if cell is None:
            made[place] = row
        else:
            made[cell][place] = row[cell]
        return made

    return Records("ndarray", tuple(database), lambda p: database[list(p)], put, names or ())


def _of_pandas(database: Any) -> Records | None:
    kind = type(database).__name__
    if kind not in ("DataFrame", "Series"):
        return None
    rows = tuple(database.iloc[place : place + 1] for place in range(len(database)))

    def put(place: int, row: Any, cell: str | None) -> Any:
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


def _of_polars(database: Any) -> Records | None:
    kind = type(database).__name__
    if kind not in ("DataFrame", "Series"):
        return None
    rows = tuple(database[place : place + 1] for place in range(len(database)))

    def put(place: int, row: Any, cell: str | None) -> Any:
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


def _of_sparse(database: Any) -> Records:
    matrix = database.tocsr()

    def put(place: int, row: Any, cell: str | None) -> Any:
        made = matrix.tolil(copy=True)
        made[place] = row
        return made.asformat(database.format)

    rows = tuple(matrix[place] for place in range(matrix.shape[0]))
    return Records("sparse matrix", rows, lambda p: matrix[list(p)].asformat(database.format), put)


def _of_fields(database: Any) -> Records | None:
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


def _fields(database: Any) -> dict[Any, Any] | None:
    if isinstance(database, Mapping):
        return dict(database)
    if isinstance(database, type):
        return None
    if dataclasses.is_dataclass(database):
        return {f.name: getattr(database, f.name) for f in dataclasses.fields(database)}
    found = getattr(database, "__dict__", None)
    return dict(found) if isinstance(found, dict) and found else None


def _column(value: Any) -> Records | None:
    if isinstance(value, (list, tuple, np.ndarray)) or type(value).__name__ in (
        "Series", "DataFrame",
    ):  # fmt: skip
        return records(value)
    return None


def _of_columns(database: Any, columns: dict[Any, Records]) -> Records:
    count = len(next(iter(columns.values())))
    rows = tuple({name: part.rows[i] for name, part in columns.items()} for i in range(count))

    def pick(places: Sequence[int]) -> object:
        return _replaced(database, {name: part.pick(places) for name, part in columns.items()})

    def put(place: int, row: Any, cell: str | None) -> Any:
        chosen = columns if cell is None else {cell: columns[cell]}
        changed = {name: part.exchanged(place, row[name]) for name, part in chosen.items()}
        return _replaced(database, changed)

    named = all(isinstance(name, str) for name in columns)
    kind = f"columns of {type(database).__name__}"
    return Records(kind, rows, pick, put, tuple(columns) if named else ())


def _replaced(database: Any, changes: dict[Any, Any]) -> object:
    if isinstance(database, Mapping):
        return {**database, **changes}
    if dataclasses.is_dataclass(database) and not isinstance(database, type):
        return dataclasses.replace(database, **changes)
    made = copy.copy(database)
    made.__dict__.update(changes)
    return made


def _of_items(database: Mapping[Any, Any]) -> Records:
    items = tuple(database.items())

    def put(place: int, row: Any, cell: str | None) -> Any:
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
