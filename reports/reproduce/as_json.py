"""A run of reproduce as JSON data and its tables as rows."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite, isnan
from typing import Any

import numpy as np

from ...auditors.claims.claim_results import ClaimResult, Estimate, Table
from ...auditors.outputs.encoding import show
from ...auditors.results import Witness
from ..record.evidence import environment
from .sections import Gallery, Reproduction, Section

SCHEMA = "dpwitness-reproduce/1"


def document(gallery: Gallery) -> dict[str, Any]:
    """The run as plain JSON data, one entry of `results` for each statement and setting.

    Numbers that are not finite are the strings "inf", "-inf" and "nan"; the schema is
    dpwitness-reproduce-1.schema.json.
    """
    return {
        "schema": SCHEMA,
        "command": gallery.command,
        "seed": gallery.seed,
        "alpha": gallery.alpha,
        "budget": gallery.budget,
        "draws": gallery.draws,
        "seconds": round(gallery.seconds, 3),
        "results": [
            _result(section, reproduction)
            for section in gallery.sections
            for reproduction in section.reproductions
        ],
        "environment": environment(),
    }


def _result(section: Section, reproduction: Reproduction) -> dict[str, Any]:
    result = reproduction.result
    return {
        "id": section.identifier,
        "group": section.group,
        "statement": section.statement,
        "reference": section.reference,
        "kind": result.kind,
        "holds": section.holds,
        "corrected": section.corrected or None,
        "remark": section.remark or None,
        "parameters": _plain(reproduction.parameters),
        "claimed": _plain(result.claimed),
        "measured": None if result.measured is None else _estimate(result.measured),
        "exact": None if result.exact is None else _plain(result.exact),
        "weak": result.weak,
        "verdict": result.verdict.value,
        "expected_verdict": reproduction.expected.value,
        "as_expected": reproduction.as_expected,
        "sampled": result.sampled.value if result.sampled else None,
        "proved": result.proved.value if result.proved else None,
        "scope": result.scope,
        "method": result.method,
        "note": result.note,
        "draws": result.draws,
        "seconds": round(result.seconds, 4),
        "seed": result.seed,
        "alpha": result.alpha,
        "witness": witness_words(result) or None,
        "table": None if result.table is None else _table(result.table),
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": _plain(estimate.value),
        "low": _plain(estimate.low),
        "high": _plain(estimate.high),
        "error": _plain(estimate.error),
    }


def _table(table: Table) -> dict[str, Any]:
    return {"columns": list(table.columns), "rows": [_plain(row) for row in table.rows]}


def witness_words(result: ClaimResult) -> str:
    """The counterexample of a refuted claim in words; empty where there is none."""
    witness = result.witness
    if witness is None:
        return ""
    if isinstance(witness, Witness):
        return (
            f"D = {show(witness.database)}, D' = {show(witness.neighbour)}, "
            f"event: {witness.event.describe()}"
        )
    return show(witness)


def _plain(value: Any) -> Any:
    """A value as JSON data; what JSON has no word for as the text a reader is shown."""
    match value:
        case None | bool() | str() | int():
            return value
        case np.generic():
            return _plain(value.item())
        case float():
            return value if isfinite(value) else "nan" if isnan(value) else f"{value:+}".lstrip("+")
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case np.ndarray():
            return _plain(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return show(value)
