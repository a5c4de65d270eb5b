"""Recorded outputs from a file or a pipe: .npy, .csv, .parquet, or one JSON value a line."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...auditors.errors import InvalidArgument
from ...auditors.outputs.decoding import from_json
from ...auditors.outputs.outputs import Outputs

PIPE = "-"
MOST_SHOWN = 60
EXACT = 2**53


def read_sample(place: str) -> Outputs:
    """The outputs in a file, in their order, or those that come through the pipe for "-".

    A table becomes one named part for each column, a table of one column plain values. Raises
    InvalidArgument with the place and the line of what cannot be read.
    """
    kind = Path(place).suffix.lower()
    try:
        if place == PIPE:
            return _listed(_lines(sys.stdin, "standard input"))
        if kind == ".npy":
            return _array(place)
        if kind == ".parquet":
            return _table(_parquet(place))
        with open(place, encoding="utf-8", newline="") as file:
            return _table(_csv(file, place)) if kind == ".csv" else _listed(_lines(file, place))
    except OSError as error:
        raise InvalidArgument(
            f"{place} could not be read: {(error.strerror or str(error)).lower()}"
        ) from None
    except UnicodeDecodeError:
        raise InvalidArgument(
            f"{place} is not text; expected .npy, .csv, .parquet, or one JSON value a line"
        ) from None


def _array(place: str) -> Outputs:
    try:
        array = np.load(place, allow_pickle=False)
    except (ValueError, EOFError):
        raise InvalidArgument(
            f"{place} is not a numpy array of numbers or texts; save it with numpy.save, without "
            "Python objects"
        ) from None
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise InvalidArgument(f"{place} holds one value; expected an array with an output a row")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return _numbers(array) if array.dtype.kind in "iuf" else Outputs.of(array, len(array))


def _numbers(array: NDArray[Any]) -> Outputs:
    """Numbers as doubles, where they fit: that one file says 1 and another 1.0 means nothing."""
    whole = array.dtype.kind in "iu" and len(array) and np.abs(array.astype(float)).max() > EXACT
    return Outputs.of(array if whole else array.astype(np.float64), len(array))


def _plain(value: Any) -> Any:
    """The same for numbers inside a value."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_plain(item) for item in value)
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    return float(value) if type(value) is int and abs(value) <= EXACT else value


def _outputs(values: list[Any]) -> Outputs:
    found = [_plain(value) for value in values]
    if found and all(type(value) is float for value in found):
        return _numbers(np.array(found))
    return Outputs.of_list(found)


def _parquet(place: str) -> dict[str, list[Any]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise InvalidArgument(
            f"{place} needs the package pyarrow to be read; install it, or record .npy or .csv"
        ) from None
    found: dict[str, list[Any]] = parquet.read_table(place).to_pydict()
    return found


def _csv(file: Iterable[str], place: str) -> dict[str, list[Any]]:
    rows = [row for row in csv.reader(file) if row]
    if not rows:
        return {}
    # A first row of texts only over rows with numbers names the columns.
    texts = all(isinstance(_scalar(cell), str) for cell in rows[0])
    numbers = len(rows) > 1 and any(not isinstance(_scalar(cell), str) for cell in rows[1])
    names = rows.pop(0) if texts and numbers else [f"column {i + 1}" for i in range(len(rows[0]))]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise InvalidArgument(
                f"{place}: record {number} has {len(row)} cells; expected {len(names)}, as before"
            )
    return {name: [_scalar(row[i]) for row in rows] for i, name in enumerate(names)}


def _scalar(cell: str) -> Any:
    text = cell.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def _table(columns: dict[str, list[Any]]) -> Outputs:
    values = list(columns.values())
    if len(values) == 1:
        return _outputs(values[0])
    names = list(columns)
    return _outputs([dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)])


def _lines(file: Iterable[str], place: str) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        text = line.strip()
        if not text:
            continue
        try:
            yield float(text) if text in ("nan", "inf", "-inf") else from_json(json.loads(text))
        except (ValueError, RecursionError):
            raise InvalidArgument(
                f"{place}, line {number}: expected a number or a JSON value, one output a line, "
                f"got {text[:MOST_SHOWN]!r}"
            ) from None


def _listed(values: Iterable[Any]) -> Outputs:
    return _outputs(list(values))
