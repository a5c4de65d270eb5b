"""A run of reproduce as JSON data."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from ...auditors.claims.claim_results import Edge, edge_to_json
from ...auditors.evidence.record import (
    EdgeRecord,
    FoundRecord,
    Size,
    Whole,
    number,
    one_of,
)
from ..faces.claim_faces import FACES, finding_to_json, plain_data
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


def document(gallery: Gallery) -> dict[str, object]:
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
        "parameters": plain_data(reproduction.parameters),
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
