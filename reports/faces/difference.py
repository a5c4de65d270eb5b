"""Two databases side by side as a difference, row by row where they have rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from ...auditors.databases.records import is_frame, unlike
from ...auditors.outputs.encoding import canonical, is_long, show
from ...mechanisms.model import Database, Pair
from ..writing.terminal import printable

LONGEST, MOST_LINES = 2000, 60
"""Rows up to which two databases are compared row by row, and lines that are shown of it."""
LONG = 400
"""Letters of a database beyond which the rows are shown that changed."""
MOST_CHANGED = 3
"""Rows of either long database that the other has not: up to so many are named."""
CONTEXT = 2
"""Rows that both have, shown before and after one that only one has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One row, or a run of equal rows; `mark` is "-" only in D, "+" only in D', " " in both."""

    mark: str
    text: str
    times: int = 1


def difference(pair: Pair) -> tuple[DiffLine, ...]:
    """The lines that lead from the database to its neighbour.

    Lists, tuples and dicts are compared entry by entry and everything else as a whole. Long
    differences are cut short, with a last line that says so.
    """
    if is_long(pair.database) or is_long(pair.neighbour):
        return _whole(pair)
    one, two = _rows(pair.database), _rows(pair.neighbour)
    if one is None or two is None or type(pair.database) is not type(pair.neighbour):
        return _whole(pair)
    if max(len(one), len(two)) > LONGEST:
        return _whole(pair)
    lines = tuple(_folded(list(_runs(one, two))))
    if len(lines) > MOST_LINES:
        rest = len(lines) - MOST_LINES
        lines = (*lines[:MOST_LINES], DiffLine(mark=" ", text=f"... {rest} more lines"))
    return lines or (DiffLine(mark=" ", text="(both empty)"),)


def _rows(database: Database) -> list[tuple[bytes, str]] | None:
    """(what to compare, what to show) of every row; None for what has no rows."""
    if isinstance(database, dict):
        items: Sequence[object] = list(database.items())
        shown = [f"{show(key)}: {show(value)}" for key, value in database.items()]
    elif isinstance(database, (list, tuple)) or getattr(database, "ndim", 0) == 1:
        items = list(database)
        shown = [show(item) for item in items]
    elif is_frame(database) and len(database) <= LONGEST:
        items = _rows_of_frame(database)
        shown = [show(item) for item in items]
    else:
        return None
    return [(canonical(item), printable(text)) for item, text in zip(items, shown, strict=True)]


def _rows_of_frame(frame: Database) -> list[dict[str, object]]:
    """The rows of a table by the names of its columns."""
    names = list(frame.columns)
    columns = [frame[name].tolist() if hasattr(frame[name], "tolist") else frame[name].to_list()
               for name in names]  # fmt: skip
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def changed_rows(pair: Pair) -> tuple[str, str] | None:
    """Two long tables in short: how many records each has, and those that make the difference.

    None if they are short, have no rows, or differ in more than a few.
    """
    if isinstance(pair.database, dict):
        return None
    database, neighbour, long = pair.database, pair.neighbour, is_long(pair.database)
    if long and not is_frame(database):
        database, neighbour = unlike(database, neighbour)
    one, two = _rows(database), _rows(neighbour)
    if one is None or two is None or not (long or sum(len(text) for _, text in one) > LONG):
        return None
    first, second = (Counter(key for key, _ in rows) for rows in (one, two))
    if first == second:
        return None
    texts = dict([*one, *two])
    here, there = (
        [texts[key] for key, times in apart.items() for _ in range(times)]
        for apart in (first - second, second - first)
    )
    if max(len(here), len(there)) > MOST_CHANGED:
        return None
    told = f"{len(pair.database):,} records"
    if not here:
        return told, f"the same and {', '.join(there)}"
    it = "it" if len(here) == 1 else "them"
    other = f"with {', '.join(there)} in place of {it}" if there else f"without {it}"
    return f"{told} with {', '.join(here)} among them", f"the same {other}"


def _whole(pair: Pair) -> tuple[DiffLine, ...]:
    sides = zip("-+", (pair.database, pair.neighbour), strict=True)
    return tuple(DiffLine(mark=mark, text=printable(show(side))) for mark, side in sides)


def _runs(one: list[tuple[bytes, str]], two: list[tuple[bytes, str]]) -> Iterator[DiffLine]:
    for same, part, other in _stretches(one, two):
        yield from _grouped(" " if same else "-", part)
        yield from _grouped("+", other)


def _folded(lines: list[DiffLine]) -> Iterator[DiffLine]:
    """The lines without those far from any difference; how many these were is said."""
    groups = [list(group) for _, group in groupby(lines, lambda line: line.mark == " ")]
    for place, group in enumerate(groups):
        before = CONTEXT if place > 0 else 0
        after = CONTEXT if place < len(groups) - 1 else 0
        hidden = group[before : len(group) - after]
        if group[0].mark != " " or len(groups) == 1 or len(hidden) < 3:
            yield from group
            continue
        rows = sum(line.times for line in hidden)
        yield from group[:before]
        yield DiffLine(mark=" ", text=f"... {rows:,} rows that both have")
        yield from group[len(group) - after :]


def _stretches(
    one: list[tuple[bytes, str]], two: list[tuple[bytes, str]]
) -> Iterator[tuple[bool, list[tuple[bytes, str]], list[tuple[bytes, str]]]]:
    """(whether equal, rows of D, rows of D' if they are others), from the top down."""
    if len(one) == len(two):
        # A replaced record keeps its place, so that rows are compared where they stand.
        for same, group in groupby(
            zip(one, two, strict=True), lambda rows: rows[0][0] == rows[1][0]
        ):
            left, right = zip(*group, strict=True)
            yield same, list(left), [] if same else list(right)
        return
    matcher = SequenceMatcher(None, [key for key, _ in one], [key for key, _ in two], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        yield tag == "equal", one[i:j], [] if tag == "equal" else two[k:m]


def _grouped(mark: str, rows: list[tuple[bytes, str]]) -> Iterator[DiffLine]:
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end][0] != rows[start][0]:
            yield DiffLine(mark=mark, text=rows[start][1], times=end - start)
            start = end
