"""A run as SARIF 2.1.0, which code hosts show beside the lines of the mechanism."""

import json
from hashlib import blake2b

from ..record.evidence import release
from ..writing.terminal import printable
from .told import Reason, Told, as_text

RULES = {
    "refuted": ("PrivacyClaimRefuted", "error", "A differential-privacy claim is refuted.",
                "An event is more likely on one of two neighbouring databases than the claim "
                "allows; the finding was confirmed on fresh draws."),
    "rose": ("PrivacyLossRose", "error", "The privacy loss is larger than in the baseline.",
             "The lower bound on epsilon rose, on the same pair, by more than is allowed."),
    "vanished": ("AuditVanished", "error", "An audit of the baseline is no longer listed.",
                 "A mechanism that was audited before is audited no more."),
    "failed": ("AuditFailed", "error", "The mechanism could not be audited.",
               "It broke its contract, died, or could not be found."),
    "inconclusive": ("AuditInconclusive", "warning", "An audit had too few draws.",
                     "Its budget was too small to say anything useful."),
    "unexpected": ("VerdictUnexpected", "error", "A statement was not judged as expected.",
                   "A theorem was refuted, or a statement known to be false was not."),
}  # fmt: skip


def render(told: Told) -> str:
    """One run with one result for each reason to stop."""
    driver = {
        "name": "dpwitness",
        "semanticVersion": _semantic(release()),
        "rules": [_rule(kind) for kind in RULES],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not any(reason.kind == "failed" for reason in told.reasons)}
        ],
        "results": [_result(told, reason) for reason in told.reasons],
    }
    data = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(data, indent=1) + "\n"


def _semantic(text: str) -> str:
    return text if text[:1].isdigit() else "0.0.0"


def _rule(kind: str) -> dict[str, object]:
    name, level, short, full = RULES[kind]
    return {
        "id": f"dpwitness/{kind}",
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "defaultConfiguration": {"level": level},
    }


def _result(told: Told, reason: Reason) -> dict[str, object]:
    case = next((case for case in told.cases if case.name == reason.name), None)
    place = case.source if case else None
    story = as_text(told.story_of(reason))
    digest = blake2b(f"{reason.kind}\n{reason.name}".encode(), digest_size=16).hexdigest()
    found: dict[str, object] = {
        "ruleId": f"dpwitness/{reason.kind}",
        "ruleIndex": list(RULES).index(reason.kind),
        "level": RULES[reason.kind][1],
        "message": {
            "text": printable(f"{reason.name}: {reason.sentence}" + (f"\n{story}" if story else ""))
        },
        "partialFingerprints": {"dpwitness/v1": digest},
    }
    location: dict[str, object] = {
        "logicalLocations": [{"fullyQualifiedName": case.target if case else reason.name}]
    }
    if place is not None:
        file, line = place
        location["physicalLocation"] = {
            "artifactLocation": {"uri": file, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
    found["locations"] = [location]
    return found
