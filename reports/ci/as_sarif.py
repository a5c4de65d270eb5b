"""The gate as SARIF 2.1.0, which code hosts show beside the lines of the mechanism."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from ..record.evidence import release
from .baseline import Worse
from .gate import Gated

__all__ = ["sarif"]

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
}  # fmt: skip


def sarif(gated: Sequence[Gated], worse: Sequence[Worse]) -> str:
    """One run with one result for each reason to stop."""
    places = {one.entry.name: one.source for one in gated}
    targets = {one.entry.name: one.entry.target for one in gated}
    driver = {
        "name": "dpwitness",
        "semanticVersion": _semantic(release()),
        "rules": [_rule(kind) for kind in RULES],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not any(reason.kind == "failed" for reason in worse)}
        ],
        "results": [_result(reason, places, targets) for reason in worse],
    }
    data = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(data, indent=1) + "\n"


def _semantic(text: str) -> str:
    return text if text[:1].isdigit() else "0.0.0"


def _rule(kind: str) -> dict[str, Any]:
    name, level, short, full = RULES[kind]
    return {
        "id": f"dpwitness/{kind}",
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "defaultConfiguration": {"level": level},
    }


def _result(
    reason: Worse,
    places: Mapping[str, tuple[str, int] | None],
    targets: Mapping[str, str],
) -> dict[str, Any]:
    place = places.get(reason.name)
    digest = blake2b(f"{reason.kind}\n{reason.name}".encode(), digest_size=16).hexdigest()
    found: dict[str, Any] = {
        "ruleId": f"dpwitness/{reason.kind}",
        "ruleIndex": list(RULES).index(reason.kind),
        "level": RULES[reason.kind][1],
        "message": {"text": f"{reason.name}: {reason.sentence}"},
        "partialFingerprints": {"dpwitness/v1": digest},
    }
    location: dict[str, Any] = {
        "logicalLocations": [{"fullyQualifiedName": targets.get(reason.name, reason.name)}]
    }
    if place is not None:
        file, line = place
        location["physicalLocation"] = {
            "artifactLocation": {"uri": file, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
    found["locations"] = [location]
    return found
