"""What an audit found, as JSON that others can read and replay."""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import inf, isfinite, isnan
from typing import Any

from ...auditors.outputs.encoding import to_json
from ...auditors.results import AuditResult, Count, Evidence, Learning, Look, Sketch, Witness
from ...mechanisms.model import Claim, PrivacyClaim

SCHEMA = "dpwitness/1"


def document(results: Sequence[AuditResult], *, replay: str) -> dict[str, Any]:
    """The whole evidence file as plain JSON data; its schema is dpwitness-1.schema.json.

    `replay` is the command that counts again.
    """
    return {
        "schema": SCHEMA,
        "results": [_result(result, replay) for result in results],
        "environment": environment(),
    }


def to_text(data: Mapping[str, Any]) -> str:
    """Strict JSON text: no NaN or Infinity, ASCII only, one line break at the end."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def release() -> str:
    """The version of dpwitness that is installed."""
    try:
        return version("dpwitness")
    except PackageNotFoundError:
        return "unknown"


def environment() -> dict[str, str]:
    """The versions a number may depend on. No host name and no path."""
    import numpy
    import scipy

    return {
        "dpwitness": release(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """A claim as JSON data; of claims other than privacy only what can be written down."""
    words = {
        key: text
        for key, text in (("identifier", claim.identifier), ("statement", claim.statement))
        if text
    }
    if not isinstance(claim, PrivacyClaim):
        return {"kind": claim.kind, **words, "reference": claim.reference}
    return {
        "kind": claim.kind,
        "epsilon": _number(claim.epsilon),
        "delta": _number(claim.delta),
        "relation": claim.relation.value,
        "distance": int(claim.distance),
        **words,
        "reference": claim.reference,
    }


def _result(result: AuditResult, replay: str) -> dict[str, Any]:
    return {
        "mechanism": result.mechanism,
        "target": result.target,
        "claim": claim_to_json(result.claim),
        "verdict": result.verdict.value,
        "epsilon_lower": _number(result.epsilon_lower),
        "detectable_epsilon": _number(result.detectable_epsilon),
        "detectable_probability": _number(result.detectable_probability),
        "power": [
            {"probability": _number(p), "epsilon": _number(epsilon)} for p, epsilon in result.power
        ],
        "learning": _learning(result.learning),
        "unread": result.unread,
        "witness": _witness(result.witness),
        "pair": {
            "database": to_json(result.pair.database),
            "neighbour": to_json(result.pair.neighbour),
        },
        "evidence": _evidence(result.evidence),
        "draws": int(result.draws),
        "seed": int(result.seed),
        "seconds": round(float(result.seconds), 3),
        "seeded": bool(result.seeded),
        "note": result.note,
        "growth": [[int(draws), _number(bound)] for draws, bound in result.growth],
        "sketch": _sketch(result.sketch),
        "plan": {key: to_json(value) for key, value in result.plan.items()},
        "replay": replay,
        "source": result.source,
        **_judged(result),
        **_reached(result),
    }


def _reached(result: AuditResult) -> dict[str, Any]:
    """What the search looked at, where there was one."""
    found = result.reached
    if found is None:
        return {}
    return {
        "reached": {
            "databases": found.databases,
            "pairs": found.pairs,
            "smallest": found.smallest,
            "largest": found.largest,
            "unreached": None if found.unreached is None else list(found.unreached),
        }
    }


def _judged(result: AuditResult) -> dict[str, Any]:
    """All counts of the pair where they are not the ones the verdict rests on."""
    if result.judged in ((), result.evidence.counts):
        return {}
    return {"judged": [_count(count) for count in result.judged]}


def _learning(learning: Learning | None) -> dict[str, Any] | None:
    if learning is None:
        return None
    gain = None if isnan(learning.gain) else _number(learning.gain)
    return {"draws": int(learning.draws), "gain": gain}


def _witness(witness: Witness | None) -> dict[str, Any] | None:
    if witness is None:
        return None
    return {
        "database": to_json(witness.database),
        "neighbour": to_json(witness.neighbour),
        "event": {**witness.event.to_json(), "description": witness.event.describe()},
        "epsilon_lower": _number(witness.epsilon_lower),
        "evidence": None if witness.evidence is None else _evidence(witness.evidence),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "hits": [int(n) for n in evidence.hits] if evidence.counts else [0, 0],
        "trials": [int(n) for n in evidence.trials] if evidence.counts else [0, 0],
        "alpha": _number(evidence.alpha),
        "level": _number(evidence.level),
        "decided_after": None if evidence.decided_after is None else int(evidence.decided_after),
        "counts": [_count(count) for count in evidence.counts],
        "looks": [_look(look) for look in evidence.looks],
    }


def _look(look: Look) -> dict[str, Any]:
    return {
        "attempt": int(look.attempt),
        "draws": int(look.draws),
        "hits": [int(n) for n in look.hits],
        "trials": [int(n) for n in look.trials],
        "level": _number(look.level),
        "epsilon_lower": _number(look.epsilon_lower),
    }


def _count(count: Count) -> dict[str, Any]:
    return {
        "stage": count.stage,
        "chunk": int(count.chunk),
        "event": count.event.to_json(),
        "reversed": bool(count.reversed),
        "hits": [int(n) for n in count.hits],
        "trials": [int(n) for n in count.trials],
        "predicted": _number(count.predicted),
        "spread": _number(count.spread),
        "rates": [_number(rate) for rate in count.rates],
    }


def _sketch(sketch: Sketch | None) -> dict[str, Any] | None:
    if sketch is None:
        return None
    return {
        "feature": sketch.feature,
        "edges": [_number(edge) for edge in sketch.edges],
        "labels": list(sketch.labels),
        "counts": [[int(n) for n in side] for side in sketch.counts],
        "inside": [bool(inside) for inside in sketch.inside],
    }


def _number(value: float) -> int | float | str:
    """A JSON number; infinities, which JSON has not, as "inf" and "-inf"."""
    if isinstance(value, int):
        return int(value)
    number = float(value)
    if isfinite(number):
        return number
    return {inf: "inf", -inf: "-inf"}.get(number, "nan")
