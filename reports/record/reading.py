"""Reading files of others that may be damaged, or made to do harm: evidence, and points of a curve.

Everything is checked before use: size and syntax here, kinds and ranges by the types that state the
shape of the file. Nothing named in the file is imported here.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import msgspec

from ...auditors.errors import EvidenceFormatError, InvalidArgument
from ...auditors.evidence.record import MOST_RESULTS, SCHEMA, CountedRecord, ResultRecord
from ..writing.files import read_limited

LARGEST, MOST_VALUES, DEEPEST = 64 * 2**20, 6_000_000, 200
"""Bytes of a file, values in it, and levels of these in one another."""
MOST_DIGITS = 300
"""Of a whole number: with more it would be no double, and work that takes one would fail."""
LONGEST = 4300
"""Digits of a whole number in databases and outputs, which may be longer: Python reads no more."""
MOST_DRAWS = 2 * 10**10
"""Draws of both sides that counting one result again may take: days, and no more."""
WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`int | float`": "a number",
    "`int | float | str`": "a number or 'inf'",
    "`str`": "a string",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
}
"""What the messages of msgspec call the kinds of JSON."""
LARGEST_CURVE = 1 << 20
"""Bytes of a file of points, at most."""


def load_document(path: str, what: str = "an evidence file", limit: int = LARGEST) -> Any:
    """The whole of a JSON file of at most `limit` bytes, parsed and not yet checked.

    `what` says in the EvidenceFormatError what was expected.
    """
    try:
        return parse_json(read_limited(path, limit, what), path)
    except EvidenceFormatError as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            raise EvidenceFormatError(f"{error}; expected {what}") from None
        raise


def entries_of(data: object, label: str) -> list[ResultRecord]:
    """The entries of `results` in evidence that is read already, checked field by field.

    `label` names the source in the EvidenceFormatError.
    """
    if not isinstance(data, dict) or "schema" not in data:
        raise EvidenceFormatError(
            f"{label} is JSON but not an evidence file: it has no field 'schema'"
        )
    if data["schema"] != SCHEMA:
        raise EvidenceFormatError(
            f"{label} follows the schema {data['schema']!r:.60}; this version reads {SCHEMA!r}"
        )
    results = data.get("results")
    if not isinstance(results, list) or not (results or data.get("claims")):
        raise EvidenceFormatError(f"{label} holds no results")
    if len(results) > MOST_RESULTS:
        raise EvidenceFormatError(f"{label} holds more than {MOST_RESULTS:,} results")
    for index, result in enumerate(results):
        require(result, ResultRecord, f"results[{index}]")
        for part in ("evidence", "smaller"):
            if result[part] is not None:
                _check_counts(result[part], f"results[{index}].{part}")
    return cast(list[ResultRecord], results)


def parse_json(text: str, label: str, digits: int = MOST_DIGITS) -> Any:
    """Strict JSON: no NaN, no number beyond the floats, no repeated key, no endless nesting.

    `label` names the source in the EvidenceFormatError; `digits` a whole number may have.
    """
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise EvidenceFormatError(f"{label} holds more than {MOST_VALUES:,} values")
    try:
        data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=partial(whole, digits=digits),
        )
        _limit_depth(data)
    except RecursionError:
        raise EvidenceFormatError(f"{label}: values are nested too deeply") from None
    except EvidenceFormatError as error:
        raise EvidenceFormatError(f"{label}: {error}") from None
    except json.JSONDecodeError as error:
        raise EvidenceFormatError(
            f"{label} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    return data


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise EvidenceFormatError(f"the key {twice!r:.60} occurs twice in one object")
    return data


def _no_constant(name: str) -> None:
    raise EvidenceFormatError(f'{name} is not JSON; write "inf" or {{"$float": "nan"}}')


def whole(text: str, digits: int = LONGEST) -> int:
    """The whole number that a text of JSON says; EvidenceFormatError if it has more `digits`."""
    if len(text.lstrip("-")) > digits:
        raise EvidenceFormatError(
            f"the whole number {text[:20]}... has too many digits, {len(text.lstrip('-'))}; at "
            f"most {digits} are read"
        )
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise EvidenceFormatError(f"the number {text:.40} is too large")
    return number


def _limit_depth(data: object) -> None:
    layer = [data]
    for _ in range(DEEPEST):
        layer = [
            inner
            for item in layer
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not layer:
            return
    raise EvidenceFormatError(f"values are nested more than {DEEPEST} deep")


def require(value: object, shape: type[object], place: str) -> None:
    """EvidenceFormatError that names the `place` unless the value is of this shape.

    A `shape` is a typed dictionary whose fields say their limits, as those of
    `auditors.evidence.record` do; fields that it does not have are let be.
    """
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise EvidenceFormatError(_sentence(str(error), value, place)) from None


def _sentence(message: str, value: object, place: str) -> str:
    """What msgspec says of a value, with its place and the value itself."""
    what, _, path = message.partition(" - at ")
    steps = re.findall(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]", path.strip("`").removeprefix("$"))
    for key, index in steps:
        if not (key or index):
            # A value of a mapping, whose key msgspec does not give.
            return f"{place}.*: {what}"
        inner: Any = value
        value = inner[key] if key else inner[int(index)]
        place += f".{key}" if key else f"[{index}]"
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", what):
        return f"{place}.{missing[1]} is missing; is the file complete?"
    if words := re.fullmatch(r"Expected `str` matching regex '\^\((.*)\)\$'", what):
        allowed = words[1].replace("\\", "").split("|")
        wanted = f"one of {', '.join(allowed)}" if len(allowed) > 1 else repr(allowed[0])
        wanted = f"a number or {wanted}" if "inf" in allowed else wanted
    else:
        wanted = what.removeprefix("Expected ").partition(", got")[0]
        for said, plain in WORDS.items():
            wanted = wanted.replace(said, plain)
    return f"{place} must be {wanted}, got {abridged(value)}"


def _check_counts(evidence: CountedRecord, place: str) -> None:
    for index, count in enumerate(evidence["counts"]):
        inner = f"{place}.counts[{index}]"
        if any(hits > trials for hits, trials in zip(count["hits"], count["trials"], strict=True)):
            raise EvidenceFormatError(
                f"{inner} has more hits than trials: {count['hits']} of {count['trials']}"
            )
    draws = sum(sum(count["trials"]) for count in evidence["counts"])
    if draws > MOST_DRAWS:
        raise EvidenceFormatError(
            f"{place} asks for {draws:,} draws; at most {MOST_DRAWS:,} are made again"
        )


def abridged(value: object) -> str:
    """The value as JSON, in at most 60 characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


Pairs = tuple[tuple[float, float], ...]


def points_from(given: Any) -> Pairs:
    """The points of a file, JSON [[epsilon, delta], ..] or CSV with a pair on a line.

    What is a list of points already is taken as it is. Raises InvalidArgument, which names the
    file and what it should hold.
    """
    if not isinstance(given, str):
        return tuple((one, two) for one, two in given)
    text = read_limited(given, LARGEST_CURVE, "a file of points")
    try:
        if text.lstrip().startswith("["):
            rows = parse_json(text, repr(given))
        else:
            rows = [line.split(",") for line in text.splitlines() if line.strip()]
            rows = rows[1:] if rows and rows[0][0].strip().casefold() == "epsilon" else rows
        return tuple(_pair(row, number) for number, row in enumerate(rows, 1))
    except (ValueError, EvidenceFormatError) as error:
        raise InvalidArgument(
            f"--curve {given!r} must hold pairs of numbers, epsilon and delta, as JSON "
            f"[[1, 1e-5], [2, 1e-9]] or as lines 1,1e-5; {error!s:.100}"
        ) from None


def _pair(row: object, number: int) -> tuple[float, float]:
    """A row of the file; ValueError, which shows it, if it is none."""
    shown: object = row
    if isinstance(row, list):
        shown = ",".join(map(str, row))
        with suppress(ValueError, TypeError):
            one, two = row
            return float(one), float(two)
    raise ValueError(f"pair {number} is {shown!r:.60}")


def renyi_from(given: Sequence[object]) -> Pairs:
    """The (alpha, epsilon) of texts such as "2:0.5"; InvalidArgument for another text."""
    found = []
    for text in given:
        one, _, two = str(text).partition(":")
        try:
            found.append((float(one), float(two)))
        except ValueError:
            raise InvalidArgument(
                f"--renyi takes ALPHA:EPSILON, the order and its epsilon, as 2:0.5, got {text!r}"
            ) from None
    return tuple(found)
