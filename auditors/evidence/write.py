"""From what an audit counted to its record, and from its result to what other programs are told."""

from math import inf, isfinite
from typing import cast

from ...mechanisms.model import Pair, PrivacyClaim
from ..events.events import Event
from ..outputs.encoding import to_json
from ..results.results import (
    AuditFacts,
    AuditResult,
    Bets,
    Cause,
    Count,
    ExactResult,
    Learning,
    Reach,
    Sketch,
    Smaller,
    Witness,
)
from .pairs import judged_record, named_record, pair_record
from .record import (
    BatchRecord,
    BetsRecord,
    CauseRecord,
    ClaimRecord,
    ComparedRecord,
    CountedRecord,
    CountRecord,
    CurveRecord,
    EventRecord,
    ExactRecord,
    FindingRecord,
    LearningRecord,
    Number,
    PartitionRecord,
    PlanRecord,
    ReachRecord,
    ResultRecord,
    SketchRecord,
    WitnessRecord,
)


def record_of(facts: AuditFacts, *, replay: str = "") -> ResultRecord:
    """The record of what was asked and counted; `replay` is the command that counts again."""
    small = facts.smaller
    record: ResultRecord = {
        "mechanism": facts.mechanism,
        "target": facts.target,
        "claim": claim_record(facts.claim),
        "pair": judged_record(facts.pair),
        "evidence": {**_counted(facts), "alpha": float(facts.alpha)},
        "smaller": None
        if small is None
        else {**pair_record(small.pair), "trials": int(small.trials), **_counted(small)},
        "learning": _learning(facts.learning),
        "unread": facts.unread,
        "draws": int(facts.draws),
        "seed": int(facts.seed),
        "seconds": round(float(facts.seconds), 3),
        "seeded": bool(facts.seeded),
        "remark": facts.remark,
        "sketch": _sketch(facts.sketch),
        "plan": cast(PlanRecord, {key: to_json(value) for key, value in facts.plan.items()}),
        "replay": replay,
        "source": facts.source,
    }
    if facts.types:
        record["types"] = facts.types
    if facts.reached is not None:
        record["reached"] = _reached(facts.reached)
    if facts.cause is not None:
        record["cause"] = _cause(facts.cause)
    if facts.exact is not None:
        record["exact"] = _exact(facts.exact)
    if facts.not_exact:
        record["not_exact"] = facts.not_exact
    return record


def counted_part(record: ResultRecord) -> ResultRecord:
    """The record without what is for pictures and pages: what the history is told."""
    part = {key: value for key, value in record.items() if key != "cause"}
    return cast(ResultRecord, {**part, "sketch": None})


def finding_of(result: AuditResult) -> FindingRecord:
    """What `derive` makes of a result, for programs that read no counts."""
    evidence, witness = result.evidence, result.witness
    hits, trials = (evidence.hits, evidence.trials) if evidence.counts else ((0, 0), (0, 0))
    return {
        "verdict": result.verdict.value,
        "epsilon_lower": number(result.epsilon_lower),
        "detectable_epsilon": number(result.detectable_epsilon),
        "detectable_probability": number(result.detectable_probability),
        "power": [
            {"probability": number(p), "epsilon": number(epsilon)} for p, epsilon in result.power
        ],
        "note": result.note,
        "hits": list(map(int, hits)),
        "trials": list(map(int, trials)),
        "level": float(evidence.level),
        "decided_after": evidence.decided_after,
        "growth": [[int(draws), number(bound)] for draws, bound in result.growth],
        "witness": None if witness is None else _witness(witness, result.pair),
    }


def claim_record(claim: PrivacyClaim) -> ClaimRecord:
    """A privacy claim; of its labels those it has, so that each one in a file says something."""
    record: ClaimRecord = {
        "kind": claim.kind,
        "epsilon": number(claim.epsilon),
        "delta": number(claim.delta),
        "relation": claim.relation.value,
        "distance": int(claim.distance),
    }
    if claim.identifier:
        record["identifier"] = claim.identifier
    if claim.statement:
        record["statement"] = claim.statement
    if claim.reference:
        record["reference"] = claim.reference
    if claim.curve is not None:
        record["curve"] = cast(CurveRecord, claim.curve.to_json())
    return record


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
    return {
        "scope": found.scope,
        "pairs": int(found.pairs),
        "runs": int(found.runs),
        "outcomes": int(found.outcomes),
        "asked": bool(found.asked),
        "epsilon": number(found.epsilon),
        "delta": number(found.delta),
        "tail": number(found.tail),
        "pair": judged_record(found.pair),
        "event": None if event is None else _event(event, told=True),
        "chances": list(found.chances),
    }


def _event(event: Event, *, told: bool = False) -> EventRecord:
    words = {"description": event.describe()} if told else {}
    return cast(EventRecord, {**event.to_json(), **words})


def _learning(learning: Learning | None) -> LearningRecord | None:
    if learning is None:
        return None
    compared: ComparedRecord | None = None
    if learning.compared is not None:
        draws, new, old = learning.compared
        compared = {"draws": int(draws), "hits": list(map(int, new)), "before": list(map(int, old))}
    return {
        "draws": int(learning.draws),
        "compared": compared,
        "noticed": list(map(int, learning.noticed)),
    }


def _witness(witness: Witness, judged: Pair) -> WitnessRecord:
    evidence = witness.evidence
    return {
        **named_record(witness, judged),
        "event": _event(witness.event, told=True),
        "epsilon_lower": number(witness.epsilon_lower),
        "hits": None if evidence is None else list(map(int, evidence.hits)),
        "trials": None if evidence is None else list(map(int, evidence.trials)),
    }


def _counted(made: AuditFacts | Smaller) -> CountedRecord:
    counted: CountedRecord = {"counts": [_count(count) for count in made.judged]}
    if made.bets is not None:
        counted["bets"] = _bets(made.bets)
    return counted


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
        "attempt": int(count.attempt),
        "cost": int(count.cost),
        "level": None if count.level is None else float(count.level),
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
