"""A table in a file, csv or parquet, as what the mechanism is given.

    --databases people.csv            a list of dicts, one for each row
    --databases people.csv:pandas     a table of pandas; also polars, rows, columns, values

Parquet files, and tables of pandas and polars, are read by these libraries. Other forms of a csv
file need none of them: a column of whole numbers, numbers, or true and false is read as such if all
its entries are, an empty entry as None, and everything else as text. What separates the columns of
a csv file is the comma, semicolon, tab or bar that its first line has most of.
"""

import csv
import importlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...auditors.databases.neighbours import TableDomain
from ...auditors.databases.schema import FORMS, builder
from ...auditors.errors import InvalidArgument

ENDINGS = (".csv", ".parquet")
FRAMES = ("pandas", "polars")
SEPARATORS = ",;\t|"
REAL = re.compile(
    r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan", re.IGNORECASE
)
LOGICAL = {"true": True, "false": False}


def is_table_file(text: str) -> bool:
    """Whether `text` names a file of a table, with a form after a colon or without."""
    return _split(text)[0].lower().endswith(ENDINGS)


def _split(text: str) -> tuple[str, str]:
    place, colon, form = text.rpartition(":")
    if colon and place.lower().endswith(ENDINGS):
        return place, form
    return text, "records"


def table_in(text: str) -> TableDomain:
    """The table that `text` names, a file and perhaps a form; else InvalidArgument."""
    place, form = _split(text)
    if form not in FORMS:
        raise InvalidArgument(
            f"{place} is read as {', '.join(FORMS[:-1])} or {FORMS[-1]}, and not as {form!r:.40}"
        )
    if not Path(place).is_file():
        what = "there is no file"
        if Path(place).is_dir():
            what = "a folder is no file:"
        elif os.path.islink(place):
            what = "a link that leads nowhere is no file:"
        raise InvalidArgument(f"{what} {place} to read a table of databases from")
    try:
        if form in FRAMES:
            return TableDomain(_frame(place, form))
        rows = _rows_of(place)
    except UnicodeError:
        raise InvalidArgument(f"{place} is no text in UTF-8; save it as UTF-8") from None
    except (OSError, csv.Error) as error:
        raise InvalidArgument(f"{place} cannot be read as a table: {error}") from None
    if not rows:
        raise InvalidArgument(f"{place} has no rows; a table of databases needs at least 2")
    if form == "values" and len(rows[0]) != 1:
        raise InvalidArgument(f"{place} has {len(rows[0])} columns, and the form values is for one")
    return TableDomain(builder(form, list(rows[0]))(rows))


def _frame(place: str, library: str) -> Any:
    """The file as a table of the library; pandas and polars call their readers alike."""
    asked = {}
    if place.lower().endswith(".csv"):
        asked[{"pandas": "sep", "polars": "separator"}[library]] = _separator(place)
    try:
        module = importlib.import_module(library)
        read = module.read_csv if asked else module.read_parquet
        return read(place, **asked)
    except UnicodeError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has its own; pandas needs another
        first = str(error).partition("\n")[0]
        raise InvalidArgument(f"{place} cannot be read by {library} here: {first}") from None


def _rows_of(place: str) -> list[dict[str, object]]:
    if place.lower().endswith(".csv"):
        return _rows_of_csv(place)
    installed = [library for library in ("polars", "pandas") if find_spec(library)]
    if not installed:
        raise InvalidArgument(f"{place} needs the package polars or pandas, and neither is here")
    frame = _frame(place, installed[0])
    columns = [[_plain(entry) for entry in frame[name]] for name in frame.columns]
    return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(entry: object) -> object:
    """A number of numpy as Python's own, and NaN of a missing entry as None."""
    value = entry.item() if isinstance(entry, np.generic) else entry
    return None if value is None or value != value else value


def _separator(place: str) -> str:
    """What separates the columns: of four characters the one that is most often in the first line.

    What stands in quotes is no part of it; the comma if there is none of them.
    """
    with Path(place).open(encoding="utf-8-sig", newline="") as file:
        bare = "".join(file.readline().split('"')[::2])
    return max(SEPARATORS, key=bare.count)


def _rows_of_csv(place: str) -> list[dict[str, object]]:
    separator = _separator(place)
    with Path(place).open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file, delimiter=separator))
    lines = [line for line in lines if line]
    if not lines:
        return []
    names, *rows = lines
    if len(set(names)) < len(names):
        raise InvalidArgument(f"{place} has two columns of one name; name each in the first line")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise InvalidArgument(
                f"row {number} of {place} has {len(row)} entries, and the first line names "
                f"{len(names)} columns"
            )
    columns = [_typed(list(column)) for column in zip(*rows, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _typed(column: list[str]) -> list[object]:
    readers: tuple[Callable[[str], object], ...] = (
        _whole,
        _real,
        lambda text: LOGICAL[text.lower()],
    )
    for read in readers:
        with suppress(ValueError, KeyError):
            return [None if entry == "" else read(entry) for entry in column]
    return [None if entry == "" else entry for entry in column]


def _whole(text: str) -> int:
    """A whole number in the only way to write it: 007 is a code, and so is 1_000."""
    if str(number := int(text)) != text.removeprefix("+"):
        raise ValueError
    return number


def _real(text: str) -> float:
    if not REAL.fullmatch(text):
        raise ValueError
    return float(text)
