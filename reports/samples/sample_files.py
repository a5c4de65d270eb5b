"""Recorded outputs from a pipe or a file, by its ending: arrays, tables, or a JSON value a line.

Two files of one law may be written in two ways, and a way of writing is no output. What is only
spelling is read as the same: true and True, an empty cell and nan, a byte order mark, 1 and 1.0,
the order of the keys of a JSON object, the words for a missing value that spreadsheets and data
frames write. The rest of how outputs are laid out is their `Layout`, which `compared` requires of
both before anything is counted.
"""

import csv
import filecmp
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.outputs.decoding import from_json
from ...auditors.outputs.outputs import Outputs
from ...auditors.sampling.kept import FORMAT
from ...mechanisms.model import Array, Output
from ..record.reading import LONGEST, whole
from ..writing.files import open_limited
from .endings import ENDINGS, TOLD
from .layout import Layout, layout_of

PIPE = "-"
BEGINNING = '{"format": "dpwitness draws'
"""How a file of draws begins that an audit kept."""
MOST_SHOWN = 60
"""Letters of a name, of a value or of an error of others that a sentence quotes."""
MOST_CLAIMED = 10**6
"""The largest number of a claim that a file of draws may state."""
NO_KEPT = "is no file of draws that an audit kept; give two samples, one of each database"
EXACT = 2**53
"""Whole numbers beyond it are not all doubles, and stay whole numbers."""
LARGEST = 2**36
"""Bytes of a file. Arrays take as much memory; of the rest no more than MOST_VALUES are read."""
MOST_VALUES, LONGEST_LINE = 20_000_000, 10_000_000
"""Values that are read of a file that is no array, and letters of one of its lines."""
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
WORDS = {
    "true": True, "false": False, "": math.nan, "nan": math.nan, "inf": math.inf,
    "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf,
    **dict.fromkeys(("na", "n/a", "#na", "#n/a", "#n/a n/a", "<na>", "null", "none", "nat", "-nan",
                     "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"), math.nan),
}  # fmt: skip
"""Cells that are no text, in lower case. Everything else that is no NUMBER is a label as it is."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The outputs of a file as plain values, or as an array with an output a row."""

    place: str
    values: list[Output] | Array
    shape: Layout


def same_file(first: str, second: str) -> str:
    """A remark if both places hold the same bytes, so that nothing can tell them apart; else ""."""
    with suppress(OSError):
        if PIPE not in (first, second) and filecmp.cmp(first, second, shallow=False):
            return (
                f"{first} and {second} are the same, byte by byte: if that is one sample given "
                "twice, the verdict says nothing; name one file for each database"
            )
    return ""


def read_outputs(place: str) -> Outputs:
    """The outputs of one file; see `read_sample`."""
    (found,) = _as_outputs(read_sample(place))
    return found


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file of draws that an audit kept says of them, and both sides; all of it is data.

    `spent` is the error probability of that audit.
    """

    mechanism: str
    claim: dict[str, float]
    pair: str
    spent: float
    sides: tuple[Outputs, Outputs]


def read_kept(place: str) -> Kept:
    """The draws that an audit kept. Raises InvalidArgument for a file that is no such one."""
    try:
        with open_limited(place, LARGEST) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            head = _head(text.readline(LONGEST_LINE), place)
            rows = list(_lines(text, place))
    except EvidenceFormatError as error:
        raise InvalidArgument(str(error)) from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{place} {NO_KEPT}") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidArgument(f"{place} could not be read: {reason}") from None
    for number, row in enumerate(rows, start=2):
        if type(row) is not list or len(row) != 2:
            raise InvalidArgument(
                f"{place}, line {number}: expected [output, output], one of each database"
            )
    one, two = _as_outputs(*(_listed([row[side] for row in rows], place) for side in (0, 1)))
    return replace(head, sides=(one, two))


def _is_claimed(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= MOST_CLAIMED


def _head(line: str, place: str) -> Kept:
    """What the first line says; its sides are still to come."""
    data = None
    if line.startswith(BEGINNING):
        with suppress(ValueError, RecursionError):
            data = json.loads(line, parse_int=whole)
    if not isinstance(data, dict):
        raise InvalidArgument(f"{place} {NO_KEPT}")
    claim, spent, name = data.get("claim"), data.get("alpha_spent"), data.get("mechanism")
    if (
        data["format"] != FORMAT
        or not isinstance(name, str)
        or not isinstance(claim, dict)
        or set(claim) != {"epsilon", "delta", "distance"}
        or not all(map(_is_claimed, [*claim.values(), spent]))
        or type(claim["distance"]) is not int
    ):
        raise InvalidArgument(
            f"{place}: its first line is none that this version of dpwitness writes; expected the "
            f"format {FORMAT!r} with a mechanism, a claim of epsilon, delta and distance, and "
            "alpha_spent"
        )
    nothing = Outputs.of_list([])
    pair = json.dumps(data.get("pair"))
    assert isinstance(spent, int | float)
    return Kept(name[:MOST_SHOWN], claim, pair, spent, (nothing, nothing))


def compared(first: Sample, second: Sample) -> tuple[Outputs, Outputs]:
    """The outputs of both. Raises InvalidArgument, with both shapes, where these differ."""
    if apart := first.shape.difference(second.shape):
        raise InvalidArgument(
            f"the samples have other shapes, so nothing was compared: {first.place} has "
            f"{first.shape}; {second.place} has {second.shape}: {apart}; record both in one way. "
            "If the mechanism itself releases another shape under the second database, that alone "
            "tells the databases apart"
        )
    one, two = _as_outputs(first, second)
    return one, two


def _as_outputs(*samples: Sample) -> list[Outputs]:
    """As arrays where all samples are; else all as plain values, so that no type tells them."""
    arrays = [_array_of(sample.values) for sample in samples]
    if all(array is not None for array in arrays) and (
        len({(array.shape[1:], array.dtype.kind) for array in arrays if array is not None}) == 1
    ):
        return [Outputs.of(array, len(array)) for array in arrays if array is not None]
    return [
        Outputs.of_list(one.values if isinstance(one.values, list) else _plain(one.values.tolist()))
        for one in samples
    ]


def _array_of(values: list[Output] | Array) -> Array | None:
    """The values as one array of numbers, where that is what they are."""
    if isinstance(values, np.ndarray):
        return values
    if not values:
        return None
    if all(type(value) is float for value in values):
        return np.array(values)
    if all(type(value) is list and value for value in values) and all(map(_numeric, values)):
        try:
            return np.array(values, dtype=np.float64)
        except ValueError:
            return None
    return None


def _numeric(value: object) -> bool:
    return all(map(_numeric, value)) if type(value) is list else type(value) is float


def read_sample(place: str) -> Sample:
    """The outputs in a file, in their order, or those that come through the pipe for "-".

    A table has a named part for each column, a table of one column plain values. Raises
    InvalidArgument with the place and the line of what cannot be read.
    """
    kind = next((one for one in ENDINGS if one == Path(place).suffix.lower()), None)
    try:
        if place == PIPE:
            return _listed(_lines(sys.stdin, "standard input"), "standard input")
        with open_limited(place, LARGEST) as file:
            match kind:
                case ".npy":
                    return _array(place)
                case ".parquet":
                    return _named(_parquet(file, place), place)
                case ".csv" | None:
                    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
                    return _csv(text, place) if kind else _listed(_lines(text, place), place)
    except EvidenceFormatError as error:
        raise InvalidArgument(f"{error}; {PIPE} reads what comes through a pipe") from None
    except OSError as error:
        raise InvalidArgument(
            f"{place} could not be read: {(error.strerror or str(error)).lower()}"
        ) from None
    except UnicodeDecodeError:
        raise InvalidArgument(
            f"{place} is not text; expected {TOLD}, or one JSON value a line"
        ) from None


def _array(place: str) -> Sample:
    try:
        # Mapped, so that a header cannot ask for more than the file has.
        with warnings.catch_warnings(action="ignore"):
            mapped = np.load(place, allow_pickle=False, mmap_mode="r")
        whole = isinstance(mapped, np.ndarray) and mapped.ndim > 0
        array = np.array(mapped) if whole else np.array(0)
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - numpy parses a header with several modules of Python
        raise InvalidArgument(
            f"{place} is not a numpy array of numbers or texts; save it with numpy.save, without "
            "Python objects"
        ) from None
    if not whole or not array.size:
        raise InvalidArgument(
            f"{place} holds {'no' if whole else 'one'} value; expected an array with an output a "
            "row"
        )
    return _of_array(array, place)


def sample_of(values: Output, place: str) -> Sample:
    """The outputs that a Python caller holds, as if they had come from a file called `place`."""
    if hasattr(values, "columns"):
        return _named({str(name): list(values[name]) for name in values.columns}, place)
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.ndim and values.dtype != object:
        return _of_array(values, place)
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgument(
            f"{place} must be outputs, an entry for each run, as a list or an array, got "
            f"{type(values).__name__}"
        )
    plain = (one.tolist() if isinstance(one, np.generic | np.ndarray) else one for one in values)
    return _listed(plain, place)


def _of_array(array: Array, place: str) -> Sample:
    if array.dtype.names:
        return _named({name: array[name].tolist() for name in array.dtype.names}, place)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind in "iuf":
        found = _numbers(array)
        return Sample(place, found, layout_of(found))
    if array.dtype.kind in "bU":
        return _listed(array.tolist(), place)
    return Sample(place, array, layout_of(array))


def _numbers(array: Array) -> Array:
    """Numbers as doubles, where they fit: that one file says 1 and another 1.0 means nothing."""
    whole = array.dtype.kind in "iu" and len(array) and np.abs(array.astype(float)).max() > EXACT
    return array if whole else array.astype(np.float64)


def _plain(value: Output) -> Output:
    """A value without what is only spelling; see the module."""
    if value is None:
        return math.nan
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_plain(item) for item in value)
    if type(value) is dict:
        keys = sorted(value) if all(isinstance(key, str) for key in value) else list(value)
        return {key: _plain(value[key]) for key in keys}
    return float(value) if type(value) is int and abs(value) <= EXACT else value


def _listed(values: Iterable[object], place: str) -> Sample:
    found = [_plain(value) for value in values]
    array = _array_of(found)
    return Sample(place, found, layout_of(found if array is None else array))


def _named(columns: Mapping[str, Sequence[Output]], place: str) -> Sample:
    """A table whose columns have names, which a single column may do without."""
    if len(columns) == 1:
        (values,) = columns.values()
        return _listed(values, place)
    plain = {name: [_plain(value) for value in column] for name, column in columns.items()}
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    parts = tuple(map(layout_of, plain.values()))
    shape = Layout(frozenset({"objects"}), "objects", tuple(map(repr, plain)), parts, ordered=True)
    # Statistics must not see the order of the columns, as other formats have none.
    return Sample(place, [_plain(row) for row in rows], shape)


def _parquet(file: object, place: str) -> dict[str, list[object]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidArgument(
            f"{place} needs the package pyarrow to be read; install it, or record .npy or .csv"
        ) from None
    try:
        table = parquet.ParquetFile(file)
        _require_few(table.metadata.num_rows * table.metadata.num_columns, place)
        found: dict[str, list[object]] = table.read().to_pydict()
    except InvalidArgument:
        raise
    except (pyarrow.ArrowException, ValueError, TypeError, OSError) as error:
        said = (str(error).strip().splitlines() or [""])[0][:MOST_SHOWN]
        raise InvalidArgument(
            f"{place} cannot be read as parquet ({said}); write it anew, or record .npy or .csv"
        ) from None
    return found


def _require_few(values: int, place: str) -> None:
    if values > MOST_VALUES:
        raise InvalidArgument(
            f"{place} holds more than {MOST_VALUES:,} values; record fewer outputs, or an array of "
            "numbers as .npy"
        )


def _csv(file: TextIO, place: str) -> Sample:
    rows: list[list[str]] = []
    cells = blank = 0
    reader = csv.reader(_limited(file, place))
    try:
        for row in reader:
            if not row:
                blank = blank or reader.line_num
            else:
                if blank and len(row) == 1:
                    raise _nothing_there(place, blank)
                rows.append(row)
                cells += len(row)
                _require_few(cells, place)
    except csv.Error as error:
        raise InvalidArgument(
            f"{place}, line {reader.line_num}: {error}; is a quote left open?"
        ) from None
    if not rows:
        return _listed([], place)
    width = len(rows[0])
    # A first row of texts over rows with numbers names the columns; an index has no name.
    first = [_scalar(cell) for cell in rows[0]]
    texts = all(isinstance(v, str) or v != v for v in first) and any(
        isinstance(v, str) or cell == "" for v, cell in zip(first, rows[0], strict=True)
    )
    other = len(rows) > 1 and any(not isinstance(_scalar(cell), str) for cell in rows[1])
    header = [cell.strip() for cell in rows.pop(0)] if texts and other else None
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InvalidArgument(
                f"{place}: record {number} has {len(row)} cells; expected {width}, as before"
            )
    if header is not None and len(set(header)) < width:
        raise InvalidArgument(f"{place}: two of its columns have one name; name each differently")
    if header is None and width > 1:
        return _listed(([_scalar(cell) for cell in row] for row in rows), place)
    names = header or [""]
    return _named({name: [_scalar(row[i]) for row in rows] for i, name in enumerate(names)}, place)


def _scalar(cell: str) -> object:
    text = cell.strip()
    if NUMBER.fullmatch(text):
        if len(text) <= LONGEST:
            return int(text) if text.lstrip("+-").isdigit() else float(text)
        return text
    return WORDS.get(text.lower(), text)


def _limited(file: TextIO, place: str) -> Iterator[str]:
    """The lines, none of which may be endless."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise InvalidArgument(
                f"{place}, line {number}: it has {LONGEST_LINE:,} characters or more; expected one "
                "output a line"
            )
        yield line


def _nothing_there(place: str, line: int) -> InvalidArgument:
    """A blank line before others may be an output of its own, and nobody can know."""
    return InvalidArgument(
        f"{place}, line {line}: expected an output, got a blank line; if an output is missing "
        "there, write nan, and otherwise remove the line"
    )


def _lines(file: TextIO, place: str) -> Iterator[Output]:
    values = blank = 0
    for number, line in enumerate(_limited(file, place), start=1):
        text = line.strip().removeprefix("\ufeff")
        if not text:
            blank = blank or number
            continue
        if blank:
            raise _nothing_there(place, blank)
        if text.startswith(BEGINNING) and number == 1:
            raise InvalidArgument(
                f"{place} has draws that an audit kept, of both databases; judge it alone, as in "
                f"dpwitness judge {place}"
            )
        values += 1 + text.count(",")
        _require_few(values, place)
        try:
            yield (
                float(text)
                if text in ("nan", "inf", "-inf")
                else from_json(json.loads(text, parse_int=whole))
            )
        except (ValueError, RecursionError):
            raise InvalidArgument(
                f"{place}, line {number}: expected a number or a JSON value, one output a line, "
                f"got {text[:MOST_SHOWN]!r}"
            ) from None
