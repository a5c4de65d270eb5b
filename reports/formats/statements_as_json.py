"""A run of reproduce as JSON data and its tables as rows."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np

from ...auditors.claims.claim_results import ClaimResult, Edge
from ...auditors.outputs.encoding import show
from ..faces.claim_faces import FACES, witness_words
from ..record.evidence import environment
from ..statements.sections import Gallery, Reproduction, Section

SCHEMA = "dpwitness-reproduce/1"


def schema() -> dict[str, Any]:
    """The JSON schema of `document`: that of the file, with the kinds of claim this version has."""
    text = Path(__file__).with_name("dpwitness-reproduce-1.schema.json").read_text("utf-8")
    known: dict[str, Any] = json.loads(text)
    known["$defs"]["result"]["properties"]["kind"]["enum"] = [*FACES]
    return known


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
        "expected_verdict": reproduction.expected.value,
        "as_expected": reproduction.as_expected,
        **finding_to_json(result),
        "weak_reason": section.weak if result.finding.weak and section.weak else None,
        "smallest_constant": _smallest(result.finding.edge, section.constant),
    }


def _smallest(edge: Edge | None, constant: float) -> dict[str, Any] | None:
    """The smallest constant that still holds on the hardest instance found."""
    if edge is None:
        return None
    return {
        "stated": constant,
        "holds": _plain(edge.share * constant),
        "share": _plain(edge.share),
        "of": edge.of,
        "method": edge.method,
    }


def finding_to_json(result: ClaimResult) -> dict[str, Any]:
    """What was found of one claim, as JSON data."""
    found = result.finding
    return {
        "claimed": _plain(found.claimed),
        "measured": _plain(found.measured),
        "exact": _plain(found.exact),
        "weak": found.weak,
        "verdict": result.verdict.value,
        "sampled": found.sampled.value if found.sampled else None,
        "proved": found.proved.value if found.proved else None,
        "scope": found.scope,
        "method": found.method,
        "note": found.note,
        "draws": found.draws,
        "seconds": round(result.seconds, 4),
        "seed": result.seed,
        "alpha": found.error,
        "witness": witness_words(result) or None,
        "table": _plain(found.table),
    }


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
