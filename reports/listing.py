"""What the catalogue holds, for machines and for a terminal."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, PARTS, THEOREMS
from ..mechanisms.model import (
    BrokenStatement,
    Claim,
    Mechanism,
    NegativeControl,
    Parameter,
    PrivacyClaim,
    Theorem,
)
from .faces.as_text import NARROWEST, WIDEST, wrapped
from .faces.wording import claim_phrase
from .record.evidence import claim_to_json
from .terminal import printable

SCHEMA = "dpwitness-list/1"

# Few identifiers are longer; those push their own text only.
COLUMN = 13


def as_data() -> dict[str, Any]:
    """The catalogue as plain JSON data, in its own order. Keys are added, never changed.

    "schema": SCHEMA.
    "mechanisms": name, identifier, reference, claims, each with the keys of `claim_to_json`.
    "controls": those of a mechanism, and breaks, the claim to be refuted; defect; detectable,
    false where draws at the default budget cannot show the defect.
    "theorems": identifier, statement, kind (as in a claim), reference; parameters, by name with
    default, low, high, integer and meaning; mechanism, the name of the one it is about or "";
    holds, corrected (the identifier of the form that holds, or "") and remark.
    "broken_statements": identifier, breaks, the claim to be refuted, and defect.
    """
    return {
        "schema": SCHEMA,
        "mechanisms": [_mechanism(mechanism) for mechanism in CATALOGUE],
        "controls": [_control(control) for control in NEGATIVE_CONTROLS],
        "theorems": [_theorem(theorem) for theorem in THEOREMS],
        "broken_statements": [_broken_statement(statement) for statement in BROKEN_STATEMENTS],
    }


def _mechanism(mechanism: Mechanism) -> dict[str, Any]:
    return {
        "name": mechanism.name,
        "identifier": mechanism.identifier,
        "reference": mechanism.reference,
        "claims": [claim_to_json(claim) for claim in mechanism.claims],
    }


def _control(control: NegativeControl) -> dict[str, Any]:
    return {
        **_mechanism(control.mechanism),
        "identifier": control.identifier or control.mechanism.identifier,
        "breaks": claim_to_json(control.breaks),
        "defect": control.defect,
        "detectable": control.detectable,
    }


def _theorem(theorem: Theorem) -> dict[str, Any]:
    subject = theorem.at()
    return {
        "identifier": theorem.identifier,
        "statement": theorem.statement,
        "kind": claim_to_json(subject.claim)["kind"],
        "reference": theorem.reference,
        "parameters": {name: _parameter(p) for name, p in theorem.parameters.items()},
        "mechanism": subject.mechanism.name if subject.mechanism else "",
        "holds": theorem.holds,
        "corrected": theorem.corrected,
        "remark": theorem.remark,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "default": parameter.default,
        "low": parameter.within.low,
        "high": parameter.within.high,
        "integer": parameter.within.integer,
        "meaning": parameter.meaning,
    }


def _broken_statement(statement: BrokenStatement) -> dict[str, Any]:
    return {
        "identifier": statement.identifier,
        "breaks": claim_to_json(statement.claim),
        "defect": statement.defect,
    }


def render(width: int = 80) -> str:
    """The catalogue as text, no line longer than `width` (40 to 100).

    Mechanisms with all their claims, controls with what they break; theorems and broken
    statements in one line each, cut to fit.
    """
    width = min(max(width, NARROWEST), WIDEST)
    lines = ["Mechanisms", ""]
    for mechanism in CATALOGUE:
        lines += _title(mechanism.name, mechanism.identifier, width)
        lines += _claims(mechanism, width)
        lines += wrapped(mechanism.reference, width, "      ")
    lines += ["", "Negative controls, each to be refuted", ""]
    for control in NEGATIVE_CONTROLS:
        code = control.identifier or control.mechanism.identifier
        lines += _title(control.mechanism.name, code, width)
        lines += wrapped(f"breaks {_claim(control.breaks)}", width, "      ")
        lines += wrapped(control.defect, width, "      ")
    for part, theorems in groupby(_by_part(), key=lambda theorem: theorem.part):
        lines += ["", *wrapped(f"Theorems: {part}", width), ""]
        said = [(t.identifier, t.statement if t.holds else f"(false) {t.statement}")
                for t in theorems]  # fmt: skip
        lines += _table(said, width)
    lines += ["", "Broken statements, each to be refuted", ""]
    lines += _table([(s.identifier, s.defect) for s in BROKEN_STATEMENTS], width)
    return "\n".join(map(printable, lines))


def _title(name: str, code: str, width: int) -> list[str]:
    return wrapped(name + (f"  [{code}]" if code and code != name else ""), width, "    ", "  ")


def _claims(mechanism: Mechanism, width: int) -> list[str]:
    return [
        line
        for claim in mechanism.claims
        for line in wrapped(_claim(claim), width, "        ", "      ")
    ]


def _claim(claim: Claim) -> str:
    """A claim in a few words, its code in front: "EM-3.10: epsilon 1 (replace-one)"."""
    code = f"{claim.identifier}: " if claim.identifier else ""
    if isinstance(claim, PrivacyClaim):
        return code + claim_phrase(claim)
    return f"{code}{claim_to_json(claim)['kind']}, {claim.statement or claim.reference}"


def _by_part() -> list[Theorem]:
    """The theorems with those of one part together."""
    return sorted(THEOREMS, key=lambda theorem: [*PARTS].index(theorem.part))


def _table(said: Sequence[tuple[str, str]], width: int) -> list[str]:
    """One line for each code and text, the text cut where the line ends."""
    lines = [f"  {code:<{COLUMN}}  {text}" for code, text in said]
    return [line if len(line) <= width else f"{line[: width - 3].rstrip()}..." for line in lines]
