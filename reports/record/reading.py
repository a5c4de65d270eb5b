"""Reading an evidence file that may be damaged, or made to do harm.

Everything is checked by hand before use: size, syntax, kinds, ranges. Nothing named in the file
is imported here.
"""

import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from ...auditors.errors import EvidenceFormatError
from ...auditors.evidence.record import ResultRecord
from ...mechanisms.model import Relation
from ..writing.files import read_limited
from .evidence import SCHEMA

LARGEST = 64 * 2**20
DEEPEST = 200
MOST_VALUES = 6_000_000
MOST_RESULTS = 10_000
MOST_COUNTS = 1000
LARGEST_WHOLE = 2**1000
MOST_DIGITS = 300
"""Of a whole number: with more it would be no double, and work that takes one would fail."""
LONGEST_TEXT = 20_000
MOST_DRAWS = 2 * 10**10
"""Draws of both sides that counting one result again may take: days, and no more."""
VERDICTS = ("refuted", "not_refuted", "inconclusive", "proved")


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
        require(result, _RESULT, f"results[{index}]")
        _check_counts(result["evidence"], f"results[{index}].evidence")
        if "exact" in result:
            require(result["exact"], _EXACT, f"results[{index}].exact")
    return cast(list[ResultRecord], results)


def parse_json(text: str, label: str) -> Any:
    """Strict JSON: no NaN, no number beyond the floats, no repeated key, no endless nesting.

    `label` names the source in the EvidenceFormatError.
    """
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise EvidenceFormatError(f"{label} holds more than {MOST_VALUES:,} values")
    try:
        data = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise EvidenceFormatError(f"the key {twice!r:.60} occurs twice in one object")
    return data


def _no_constant(name: str) -> None:
    raise EvidenceFormatError(f'{name} is not JSON; write "inf" or {{"$float": "nan"}}')


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise EvidenceFormatError(
            f"the whole number {text[:20]}... has too many digits, {len(text)}; at most "
            f"{MOST_DIGITS} are read"
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


Check = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_WHOLE


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return value in ("inf", "-inf")
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_two_wholes(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))


def _is_two_numbers(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_anything(value: object) -> bool:
    return True


Shape = dict[str, "tuple[Check, str] | Shape"]

RELATIONS = tuple(one.value for one in Relation)
TEXT = (_is_text, f"a string of at most {LONGEST_TEXT:,} characters")
RELATION = (
    lambda value: isinstance(value, str) and value in RELATIONS,
    f"one of {', '.join(RELATIONS)}",
)
WHOLE = (_is_whole, "a whole number, at least 0 and below 2**1000")
NUMBER = (_is_number, "a number or 'inf'")
_TRUTH = (_is_truth, "true or false")
LIST = (_is_list, "a list")
OBJECT = (_is_object, "an object")
_TWO_WHOLES = (_is_two_wholes, "two whole numbers, at least 0")
ANYTHING = (_is_anything, "a value")
_DATABASES: Shape = dict.fromkeys(("database", "neighbour"), ANYTHING)

_RESULT: Shape = {
    "mechanism": TEXT,
    "target": TEXT,
    "claim": {
        "kind": (lambda value: value == "privacy", "'privacy'"),
        "epsilon": NUMBER,
        "delta": NUMBER,
        "relation": RELATION,
        "distance": WHOLE,
    },
    "verdict": (lambda value: value in VERDICTS, f"one of {', '.join(VERDICTS)}"),
    "epsilon_lower": NUMBER,
    "pair": _DATABASES,
    "evidence": {
        "hits": _TWO_WHOLES,
        "trials": _TWO_WHOLES,
        "alpha": NUMBER,
        "level": NUMBER,
        "counts": LIST,
    },
    "seed": WHOLE,
    "seeded": _TRUTH,
    "plan": {"trials": WHOLE, "block": WHOLE},
}

_EXACT: Shape = {
    "verdict": (lambda value: value in ("proved", "refuted"), "'proved' or 'refuted'"),
    "scope": TEXT,
    **dict.fromkeys(("pairs", "runs", "outcomes"), WHOLE),
    "asked": _TRUTH,
    **dict.fromkeys(("epsilon", "delta", "tail"), NUMBER),
    "pair": _DATABASES,
    "event": ANYTHING,
    "chances": LIST,
    "drawn": {
        "verdict": (lambda value: value in VERDICTS, f"one of {', '.join(VERDICTS)}"),
        "epsilon_lower": NUMBER,
    },
}

_COUNT: Shape = {
    "stage": TEXT,
    "chunk": WHOLE,
    "event": OBJECT,
    "reversed": _TRUTH,
    "hits": _TWO_WHOLES,
    "trials": _TWO_WHOLES,
    "predicted": NUMBER,
    "spread": NUMBER,
    "rates": (_is_two_numbers, "two numbers"),
}


def require(value: object, shape: Shape, place: str) -> None:
    """EvidenceFormatError that names the `place` unless the value is an object of this shape."""
    if not isinstance(value, dict):
        raise EvidenceFormatError(f"{place} must be an object, got {abridged(value)}")
    for key, wanted in shape.items():
        inner = f"{place}.{key}"
        if key not in value:
            raise EvidenceFormatError(f"{inner} is missing; is the file complete?")
        if isinstance(wanted, dict):
            require(value[key], wanted, inner)
            continue
        holds, words = wanted
        if not holds(value[key]):
            raise EvidenceFormatError(f"{inner} must be {words}, got {abridged(value[key])}")


def _check_counts(evidence: dict[str, Any], place: str) -> None:
    if len(evidence["counts"]) > MOST_COUNTS:
        raise EvidenceFormatError(f"{place} has more than {MOST_COUNTS} counts")
    for index, count in enumerate(evidence["counts"]):
        inner = f"{place}.counts[{index}]"
        require(count, _COUNT, inner)
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
