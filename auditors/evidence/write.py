"""From a result to its record."""

from math import inf, isfinite, isnan
from typing import cast

from ...mechanisms.model import PrivacyClaim
from ..events.events import Event
from ..outputs.encoding import to_json
from ..results.results import (
    AuditResult,
    Bets,
    Cause,
    Count,
    Evidence,
    ExactResult,
    Learning,
    Look,
    Pair,
    Reach,
    Sketch,
    Witness,
)
from .record import (
    BatchRecord,
    BetsRecord,
    CauseRecord,
    ClaimRecord,
    CountRecord,
    CurveRecord,
    EventRecord,
    EvidenceRecord,
    ExactRecord,
    JudgedRecord,
    LearningRecord,
    LookRecord,
    Number,
    PairRecord,
    PartitionRecord,
    PlanRecord,
    ReachRecord,
    ResultRecord,
    SketchRecord,
    WitnessRecord,
)


def record_of(result: AuditResult, *, replay: str = "") -> ResultRecord:
    """The record of one result; `replay` is the command that counts again."""
    record: ResultRecord = {
        "mechanism": result.mechanism,
        "target": result.target,
        "claim": claim_record(result.claim),
        "verdict": result.verdict.value,
        "epsilon_lower": number(result.epsilon_lower),
        "detectable_epsilon": number(result.detectable_epsilon),
        "detectable_probability": number(result.detectable_probability),
        "power": [
            {"probability": number(p), "epsilon": number(epsilon)} for p, epsilon in result.power
        ],
        "learning": _learning(result.learning),
        "unread": result.unread,
        "witness": _witness(result.witness),
        "pair": _pair(result.pair),
        "evidence": _evidence(result.evidence),
        "draws": int(result.draws),
        "seed": int(result.seed),
        "seconds": round(float(result.seconds), 3),
        "seeded": bool(result.seeded),
        "note": result.note,
        "growth": [[int(draws), number(bound)] for draws, bound in result.growth],
        "sketch": _sketch(result.sketch),
        "plan": cast(PlanRecord, {key: to_json(value) for key, value in result.plan.items()}),
        "replay": replay,
        "source": result.source,
    }
    if result.judged not in ((), result.evidence.counts):
        # All counts of the pair where they are not the ones the verdict rests on.
        record["judged"] = [_count(count) for count in result.judged]
    if result.reached is not None:
        record["reached"] = _reached(result.reached)
    if result.cause is not None:
        record["cause"] = _cause(result.cause)
    if result.exact is not None:
        record["exact"] = _exact(result.exact)
    if result.not_exact:
        record["not_exact"] = result.not_exact
    return record


def judged_part(record: ResultRecord) -> JudgedRecord:
    """The record without what is for pictures and pages."""
    drawn = ("growth", "sketch", "witness", "cause")
    return cast(JudgedRecord, {key: value for key, value in record.items() if key not in drawn})


def claim_record(claim: PrivacyClaim) -> ClaimRecord:
    """A privacy claim; its identifier and statement where it has them."""
    record: ClaimRecord = {
        "kind": claim.kind,
        "epsilon": number(claim.epsilon),
        "delta": number(claim.delta),
        "relation": claim.relation.value,
        "distance": int(claim.distance),
        "reference": claim.reference,
    }
    if claim.identifier:
        record["identifier"] = claim.identifier
    if claim.statement:
        record["statement"] = claim.statement
    if claim.curve is not None:
        record["curve"] = cast(CurveRecord, claim.curve.to_json())
    return record


def _pair(pair: Pair | Witness) -> PairRecord:
    return {"database": to_json(pair.database), "neighbour": to_json(pair.neighbour)}


def _reached(found: Reach) -> ReachRecord:
    data: ReachRecord = {
        "databases": found.databases,
        "pairs": found.pairs,
        "smallest": found.smallest,
        "largest": found.largest,
        "unreached": None if found.unreached is None else list(found.unreached),
    }
    if found.passed_over:
        data["passed_over"] = found.passed_over
    return data


def _cause(cause: Cause) -> CauseRecord:
    return {
        "lines": [
            {"file": one.file, "line": int(one.line), "source": one.source, "reason": one.reason}
            for one in cause.lines
        ],
        "summary": cause.summary,
        "accused": bool(cause.accused),
    }


def _exact(found: ExactResult) -> ExactRecord:
    event = found.event
    verdict, bound = found.drawn
    return {
        "verdict": found.verdict.value,
        "scope": found.scope,
        "pairs": int(found.pairs),
        "runs": int(found.runs),
        "outcomes": int(found.outcomes),
        "asked": bool(found.asked),
        "epsilon": number(found.epsilon),
        "delta": number(found.delta),
        "tail": number(found.tail),
        "pair": _pair(found.pair),
        "event": None if event is None else _event(event, told=True),
        "chances": list(found.chances),
        "drawn": {"verdict": verdict.value, "epsilon_lower": number(bound)},
    }


def _event(event: Event, *, told: bool = False) -> EventRecord:
    words = {"description": event.describe()} if told else {}
    return cast(EventRecord, {**event.to_json(), **words})


def _learning(learning: Learning | None) -> LearningRecord | None:
    if learning is None:
        return None
    gain = None if isnan(learning.gain) else number(learning.gain)
    return {"draws": int(learning.draws), "gain": gain}


def _witness(witness: Witness | None) -> WitnessRecord | None:
    if witness is None:
        return None
    return {
        **_pair(witness),
        "event": _event(witness.event, told=True),
        "epsilon_lower": number(witness.epsilon_lower),
        "evidence": None if witness.evidence is None else _evidence(witness.evidence),
    }


def _evidence(evidence: Evidence) -> EvidenceRecord:
    record: EvidenceRecord = {
        "hits": [int(n) for n in evidence.hits] if evidence.counts else [0, 0],
        "trials": [int(n) for n in evidence.trials] if evidence.counts else [0, 0],
        "alpha": float(evidence.alpha),
        "level": float(evidence.level),
        "decided_after": None if evidence.decided_after is None else int(evidence.decided_after),
        "counts": [_count(count) for count in evidence.counts],
        "looks": [_look(look) for look in evidence.looks],
    }
    if evidence.bets is not None:
        record["bets"] = _bets(evidence.bets)
    return record


def _bets(bets: Bets) -> BetsRecord:
    batches: list[BatchRecord] = [
        {
            "chunk": batch.chunk,
            "draws": batch.draws,
            "partition": batch.partition,
            "groups": list(batch.groups),
            "bet": [batch.bet.a, batch.bet.b],
            "f": list(batch.bet.f),
            "g": list(batch.bet.g),
            "counts": [list(side) for side in batch.counts],
        }
        for batch in bets.batches
    ]
    for told, batch in zip(batches, bets.batches, strict=True):
        if batch.bet.parts:
            told["parts"] = [
                {"order": a, "turned": turned, "weight": weight, "values": list(values)}
                for a, turned, weight, values in batch.bet.parts
            ]
    partitions = [cast(PartitionRecord, made.to_json()) for made in bets.partitions]
    return {"level": float(bets.level), "partitions": partitions, "batches": batches}


def _look(look: Look) -> LookRecord:
    return {
        "attempt": int(look.attempt),
        "draws": int(look.draws),
        "hits": [int(n) for n in look.hits],
        "trials": [int(n) for n in look.trials],
        "level": float(look.level),
        "epsilon_lower": number(look.epsilon_lower),
    }


def _count(count: Count) -> CountRecord:
    return {
        "stage": count.stage,
        "chunk": int(count.chunk),
        "event": _event(count.event),
        "reversed": bool(count.reversed),
        "hits": [int(n) for n in count.hits],
        "trials": [int(n) for n in count.trials],
        "predicted": number(count.predicted),
        "spread": number(count.spread),
        "rates": [number(rate) for rate in count.rates],
    }


def _sketch(sketch: Sketch | None) -> SketchRecord | None:
    if sketch is None:
        return None
    return {
        "feature": sketch.feature,
        "edges": [number(edge) for edge in sketch.edges],
        "labels": list(sketch.labels),
        "counts": [[int(n) for n in side] for side in sketch.counts],
        "inside": [bool(inside) for inside in sketch.inside],
    }


def number(value: float) -> Number:
    """A JSON number; infinities, which JSON has not, as "inf" and "-inf"."""
    if isinstance(value, int):
        return int(value)
    exact = float(value)
    if isfinite(exact):
        return exact
    return {inf: "inf", -inf: "-inf"}.get(exact, "nan")
