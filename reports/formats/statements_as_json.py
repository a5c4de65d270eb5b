"""What was found of claims beside privacy as JSON data: of an audit, and of a run of reproduce."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import isfinite, isnan
from typing import Annotated, Any, TypedDict, cast

import numpy as np
from msgspec import Meta

from ...auditors.claims.claim_results import ClaimCheck, ClaimResult, Edge, edge_to_json
from ...auditors.claims.derive import record_of
from ...auditors.evidence.record import (
    ClaimFindingRecord,
    EdgeRecord,
    FoundRecord,
    Size,
    Whole,
    number,
    one_of,
)
from ...auditors.outputs.encoding import show
from ..faces.claim_faces import FACES, headline, witness_words
from ..record.evidence import environment, schema_of
from ..statements.statements import Gallery, Reproduction, Section

SCHEMA = "dpwitness-reproduce/1"


class ConstantRecord(EdgeRecord):
    """The same constant as a number: `share` of the stated one."""

    stated: Annotated[float, Meta(description="The constant of the statement.")]
    holds: Annotated[
        Size, Meta(description="What still holds there; an estimate if it comes from draws.")
    ]


class StatementRecord(FoundRecord):
    """One statement, printed or known to be wrong, and what was found of it."""

    id: Annotated[
        str,
        Meta(description="The identifier in the catalogue; an erratum by its ERR- identifier."),
    ]
    group: Annotated[str, Meta(description="The part of the catalogue.")]
    statement: Annotated[str, Meta(description="The statement in a line.")]
    reference: Annotated[str, Meta(description="Where it is printed.")]
    kind: Annotated[str, one_of(*FACES)]
    holds: Annotated[
        bool,
        Meta(description="False for a statement known to be wrong and for a negative control."),
    ]
    corrected: Annotated[str | None, Meta(description="The statement that says it right.")]
    remark: Annotated[str | None, Meta(description="What is wrong.")]
    parameters: Mapping[str, Any]
    expected_verdict: Annotated[
        str,
        one_of("not_refuted", "refuted"),
        Meta(description="A verdict of proved is as expected if this is not_refuted."),
    ]
    as_expected: bool
    weak_reason: Annotated[
        str | None, Meta(description="Why no instance comes nearer to the bound.")
    ]
    smallest_constant: ConstantRecord | None


class RunRecord(TypedDict):
    """Bounds of published statements beside their measurements.

    Readers ignore fields that they do not know.
    """

    schema: Annotated[str, one_of(SCHEMA)]
    command: Annotated[str, Meta(description="The command that repeats the run.")]
    seed: Whole
    alpha: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Bounds the probability that sampling refutes any true statement of the "
            "run.",
        ),
    ]
    trials: Annotated[int, Meta(ge=1)]
    seconds: float
    results: Annotated[Sequence[StatementRecord], Meta(min_length=1)]
    environment: Mapping[str, str]


def schema() -> dict[str, object]:
    """The JSON schema of `document`."""
    return schema_of(
        RunRecord, "urn:dpwitness:schema:reproduce-1", "dpwitness reproduce, version 1"
    )


def document(gallery: Gallery) -> dict[str, Any]:
    """The run as plain JSON data, one entry of `results` for each statement and setting.

    Numbers that are not finite are the strings "inf", "-inf" and "nan"; the schema is
    that of `schema`.
    """
    return {
        "schema": SCHEMA,
        "command": gallery.command,
        "seed": gallery.seed,
        "alpha": gallery.alpha,
        "trials": gallery.trials,
        "seconds": round(gallery.seconds, 3),
        "results": [
            _result(section, reproduction)
            for section in gallery.sections
            for reproduction in section.reproductions
        ],
        "environment": environment(),
    }


def _result(section: Section, reproduction: Reproduction) -> dict[str, object]:
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


def _smallest(edge: Edge | None, constant: float) -> ConstantRecord | None:
    """The smallest constant that still holds on the hardest instance found."""
    if edge is None:
        return None
    return {
        "stated": constant,
        "holds": number(edge.share * constant),
        **edge_to_json(edge),
    }


def finding_to_json(result: ClaimResult) -> dict[str, object]:
    """What was found of one claim, as JSON data."""
    found = result.finding
    return {
        "claimed": _plain(found.claimed),
        "measured": _plain(found.measured),
        "exact": _plain(found.exact),
        "weak": found.weak,
        "vacuous": found.vacuous,
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


def claims_part(checks: Sequence[ClaimCheck]) -> dict[str, object]:
    """What an evidence file holds of claims beside privacy; nothing if there are none."""
    if not checks:
        return {}
    return {
        "claims": list(map(record_of, checks)),
        "claim_findings": list(map(finding_beside, checks)),
    }


def finding_beside(check: ClaimCheck) -> ClaimFindingRecord:
    """What follows from the counts of one claim, for programs that read no counts."""
    words = {"headline": headline(check.result, check.mechanism)}
    return cast(ClaimFindingRecord, {**finding_to_json(check.result), **words})
