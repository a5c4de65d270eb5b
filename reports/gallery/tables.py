"""The results of a section as CSV, numbers in full."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from ..statements.sections import Reproduction, Section

SUMMARY = (
    "identifier", "kind", "holds", "bound", "measured", "low", "high", "error", "exact",
    "smallest", "of", "weak", "expected", "verdict", "sampled", "proved", "scope", "draws", "seed",
)  # fmt: skip


def section_csv(section: Section) -> str:
    """The rows of every setting's table, the setting's parameters first.

    Where a check makes no table the row is that of the summary.
    """
    names = sorted({name for one in section.reproductions for name in one.parameters})
    tables = [one.result.finding.table for one in section.reproductions]
    columns = next((table.columns for table in tables if table is not None), None)
    if columns is None:
        rows = [(*_setting(one, names), *_summary(section, one)) for one in section.reproductions]
        return _written((*names, *SUMMARY), rows)
    return _written(
        (*names, *columns),
        [
            (*_setting(one, names), *row)
            for one in section.reproductions
            for table in [one.result.finding.table]
            for row in (table.rows if table is not None else ())
        ],
    )


def summary_csv(sections: Sequence[Section]) -> str:
    """One row for every setting of every section; parameters as name=value."""
    rows = [
        (
            *_summary(section, one),
            " ".join(f"{name}={value!r}" for name, value in one.parameters.items()),
        )
        for section in sections
        for one in section.reproductions
    ]
    return _written((*SUMMARY, "parameters"), rows)


def _setting(one: Reproduction, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(one.parameters.get(name) for name in names)


def _summary(section: Section, one: Reproduction) -> tuple[object, ...]:
    result, found = one.result, one.result.finding
    measured = found.measured
    return (
        section.identifier,
        result.kind,
        section.holds,
        found.claimed,
        *(
            (None,) * 4
            if measured is None
            else (measured.value, measured.low, measured.high, measured.error)
        ),
        found.exact,
        *((None, None) if found.edge is None else (found.edge.share, found.edge.of)),
        found.weak,
        one.expected.value,
        result.verdict.value,
        None if found.sampled is None else found.sampled.value,
        None if found.proved is None else found.proved.value,
        found.scope,
        found.draws,
        result.seed,
    )


def _written(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_plain(value) for value in row] for row in rows])
    return out.getvalue()


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's, which the writer spells so that they read back the same."""
    return value.item() if hasattr(value, "item") else value
