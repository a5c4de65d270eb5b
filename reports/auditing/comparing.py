"""Two pieces of JSON data set beside each other: where they differ, by the paths of fields."""

import json
from collections.abc import Iterator, Mapping, Set
from math import isclose
from typing import Any

MOST_NAMED = 8
"""Fields that one sentence after another is spent on."""


def without(data: Mapping[str, object], fields: Set[str]) -> dict[str, Any]:
    """The data with nothing in these fields; whether they are there still shows."""
    return {key: None if key in fields else value for key, value in data.items()}


def unlike(
    then: object, now: object, place: str, gives: str = "the same audit now gives"
) -> Iterator[str]:
    """Each field that differs, by its path, with both values; `gives` introduces the second."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            inner = f"{place}.{key}" if place else key
            if key not in then or key not in now:
                which = "missing" if key not in then else "not one that this audit writes"
                yield f"{inner}: {which}"
            else:
                yield from unlike(then[key], now[key], inner, gives)
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from unlike(one, other, f"{place}[{index}]", gives)
    elif type(then) is bool or type(now) is bool or not _near(then, now):
        if then is not now:
            yield f"{place}: recorded {_short(then)}, {gives} {_short(now)}"


def _near(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
