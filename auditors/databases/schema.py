"""Databases described by a JSON document, for those who would rather not write a strategy.

    {
      "columns": {
        "age":  {"type": "integer", "low": 0, "high": 120, "outside": true},
        "city": {"type": "category", "values": ["Oslo", "Rome"], "rare": ["Vaduz"]},
        "pay":  {"type": "number", "low": 0, "high": 1e5, "missing": true},
        "name": {"type": "text", "longest": 12},
        "seen": {"type": "date", "low": "2020-01-01", "high": "2026-12-31"},
        "well": {"type": "boolean"}
      },
      "rows": {"least": 0, "most": 40},
      "as": "records"
    }

Every column may be "missing" (None among its values). Numbers may go "outside" their bounds: what a
mechanism does with such a value is for the mechanism to decide, and often forgotten. A "rare"
category has at most one holder in a database. "as" is what the mechanism is given: "records" (a
list of dicts, the default), "rows" (a list of lists), "columns" (a dict of lists), "values" (a
list, for one column), "pandas" or "polars" (a table).
"""

import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from ...mechanisms.model import Database
from ..arguments import meant
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

OUTSIDE = {"integer": 10**6, "number": 1e9}
"""How far outside its bounds a number may go."""
KEYS = {
    "integer": ("low", "high", "outside"),
    "number": ("low", "high", "outside"),
    "category": ("values", "rare"),
    "text": ("longest", "letters"),
    "date": ("low", "high"),
    "boolean": (),
}
FORMS = ("records", "rows", "columns", "values", "pandas", "polars")
LONGEST = 20
"""Letters of a text whose column states no other length."""
MOST = 40
"""Rows of a table whose schema states no other number."""
MOST_ROWS = 10_000
"""Rows that a schema may ask for."""


def from_schema(data: Any) -> "SearchStrategy[object]":
    """The databases that a schema describes, as a strategy; see the module for its form.

    Raises InvalidArgument with one sentence naming the entry that is wrong.
    """
    from hypothesis import strategies as st

    _require_keys(data, "the schema", ("columns", "rows", "as"))
    columns = data.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise InvalidArgument(
            'the schema needs "columns", an object of column names, as in '
            '{"columns": {"age": {"type": "integer", "low": 0, "high": 120}}}'
        )
    form = data.get("as", "records")
    if form not in FORMS:
        raise InvalidArgument(
            f'"as" must be one of {", ".join(FORMS)}, got {form!r}{meant(str(form), FORMS)}'
        )
    if form == "values" and len(columns) != 1:
        raise InvalidArgument(f'"as": "values" is for one column, and there are {len(columns)}')
    least, most = _rows(data.get("rows", {}))
    strategies = {name: _column(name, column) for name, column in columns.items()}
    rare = {name: _rare(column) for name, column in columns.items() if _rare(column)}
    build = builder(form, list(columns))
    rows = st.fixed_dictionaries(strategies)
    return st.lists(rows, min_size=least, max_size=most).map(
        lambda made: build(_with_single_holders(made, rare, columns))
    )


def _with_single_holders(
    rows: list[dict[str, object]], rare: Mapping[str, list[object]], columns: Mapping[str, Any]
) -> list[dict[str, object]]:
    """The rows with every rare category kept by its first holder only."""
    held: set[tuple[str, str]] = set()
    made = []
    for row in rows:
        # Hypothesis draws the columns in any order.
        kept = {name: row[name] for name in columns}
        for name, values in rare.items():
            if kept[name] in values:
                key = (name, repr(kept[name]))
                if key in held:
                    kept[name] = columns[name]["values"][0]
                held.add(key)
        made.append(kept)
    return made


def builder(form: str, names: list[str]) -> Callable[[list[dict[str, object]]], Database]:
    """What makes a database of one of FORMS of a list of dicts, one for each row."""
    match form:
        case "records":
            return lambda rows: rows
        case "rows":
            return lambda rows: [[row[name] for name in names] for row in rows]
        case "values":
            return lambda rows: [row[names[0]] for row in rows]
        case "columns":
            return lambda rows: {name: [row[name] for row in rows] for name in names}
    try:
        library = __import__(form)
    except ImportError:
        raise InvalidArgument(
            f'"as": "{form}" needs the package {form}, which is not installed here'
        ) from None
    return lambda rows: library.DataFrame({name: [row[name] for row in rows] for name in names})


def _rows(data: Any) -> tuple[int, int]:
    _require_keys(data, '"rows"', ("least", "most"))
    least, most = data.get("least", 0), data.get("most", MOST)
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (least, most))
    if not whole or not 0 <= least <= most or not 1 <= most <= MOST_ROWS:
        raise InvalidArgument(
            f'"rows" takes whole numbers 0 <= "least" <= "most" <= {MOST_ROWS}, got {least!r:.40} '
            f"and {most!r:.40}"
        )
    return least, most


def _column(name: str, column: object) -> "SearchStrategy[object]":
    from hypothesis import strategies as st

    where = f"column {name!r}"
    if not isinstance(column, Mapping) or "type" not in column:
        raise InvalidArgument(f'{where} needs a "type", one of {", ".join(KEYS)}')
    kind = column["type"]
    if not isinstance(kind, str) or kind not in KEYS:
        raise InvalidArgument(
            f"{where} has type {kind!r}{meant(str(kind), tuple(KEYS))}; known are {', '.join(KEYS)}"
        )
    _require_keys(column, where, ("type", "missing", *KEYS[kind]))
    made = _of_kind(where, kind, column)
    return made | st.none() if _flag(where, column, "missing") else made


def _of_kind(where: str, kind: str, column: Mapping[str, object]) -> "SearchStrategy[object]":
    from hypothesis import strategies as st

    match kind:
        case "integer" | "number":
            return _numbers(where, kind, column)
        case "category":
            values = column.get("values")
            if not isinstance(values, list) or not values:
                raise InvalidArgument(f'{where} needs "values", a list of its categories')
            return st.sampled_from([*values, *_rare(column)])
        case "text":
            longest = column.get("longest", LONGEST)
            if not isinstance(longest, int) or isinstance(longest, bool) or longest < 0:
                raise InvalidArgument(f'{where}: "longest" is a number of letters, got {longest!r}')
            letters = column.get("letters")
            if letters is not None and (not isinstance(letters, str) or not letters):
                raise InvalidArgument(
                    f'{where}: "letters" is a text of the letters, got {letters!r}'
                )
            if letters is None:
                return st.text(max_size=longest)
            return st.text(alphabet=letters, max_size=longest)
        case "date":
            low, high = (
                _date(where, column.get(end, default), end)
                for end, default in (("low", "1900-01-01"), ("high", "2100-12-31"))
            )
            if low > high:
                raise InvalidArgument(f"{where}: low {low} is after high {high}")
            return st.dates(low, high)
    return st.booleans()


def _numbers(where: str, kind: str, column: Mapping[str, object]) -> "SearchStrategy[object]":
    from hypothesis import strategies as st

    bounds: list[Any] = [column.get("low"), column.get("high")]
    for end, bound in zip(("low", "high"), bounds, strict=True):
        good = isinstance(bound, (int, float)) and not isinstance(bound, bool)
        if not good or not math.isfinite(bound) or (kind == "integer" and bound != int(bound)):
            raise InvalidArgument(
                f'{where} needs "{end}", a {"whole " if kind == "integer" else ""}number, '
                f"got {bound!r}"
            )
    low, high = bounds
    if low > high:
        raise InvalidArgument(f"{where}: low {low:g} is above high {high:g}")
    far = OUTSIDE[kind] if _flag(where, column, "outside") else 0
    if kind == "integer":
        low, high, far = int(low), int(high), int(far)
        inside = st.integers(low, high)
        return (
            inside | st.integers(low - far, low - 1) | st.integers(high + 1, high + far)
            if (far)
            else inside
        )
    low, high = float(low), float(high)
    found = st.floats(low, high, allow_nan=False) | st.sampled_from([low, high])
    if far:
        found |= st.floats(low - far, high + far, allow_nan=False)
    return found


def _rare(column: object) -> list[object]:
    found = column.get("rare", []) if isinstance(column, Mapping) else []
    if not isinstance(found, list):
        raise InvalidArgument(f'"rare" is a list of categories, got {found!r}')
    return found


def _date(where: str, text: Any, end: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f'{where}: "{end}" is a date such as "2026-11-22", got {text!r}'
        ) from None


def _flag(where: str, column: Mapping[str, object], name: str) -> bool:
    found = column.get(name, False)
    if not isinstance(found, bool):
        raise InvalidArgument(f'{where}: "{name}" is true or false, got {found!r}')
    return found


def _require_keys(data: object, where: str, known: tuple[str, ...]) -> None:
    if not isinstance(data, Mapping):
        raise InvalidArgument(f"{where} must be a JSON object, got {type(data).__name__}")
    for key in data:
        if key not in known:
            raise InvalidArgument(
                f"{where} has an unknown entry {key!r}{meant(str(key), known)}; known are "
                f"{', '.join(known)}"
            )
