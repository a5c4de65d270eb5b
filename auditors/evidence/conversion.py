"""From what an audit asked and counted to its record, and back; and what other programs are told.

**Pairs.** Each database stands in evidence whole, and of two long ones the second as a difference.
Two neighbours of a million records differ in one, so the file holds the first whole, of the second
what it has instead, and the digest by which a reader knows that it put the same database together.
A finding that follows from the counts names the databases of its pair and does not repeat them.
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import isfinite
from typing import cast

import numpy as np

from ...mechanisms.model import Database, Pair, PrivacyClaim, Relation, curve_from_json
from ..bounds.wealth import Bet, Part
from ..databases.records import alike, part
from ..errors import EvidenceFormatError
from ..events.events import Event, Partition
from ..events.rebuilding import event_from_json, partition_from_json
from ..outputs.decoding import from_json
from ..outputs.encoding import canonical, is_long, to_json
from ..results.results import (
    AuditFacts,
    AuditResult,
    Batch,
    Bets,
    Cause,
    CauseLine,
    Count,
    ExactResult,
    Learning,
    Reach,
    Sketch,
    Smaller,
    Witness,
)
from ..sampling.calls import STAGES
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
    PairRecord,
    PartitionRecord,
    PlanRecord,
    ReachRecord,
    ResultRecord,
    SketchRecord,
    SmallerRecord,
    StatedRecord,
    WitnessRecord,
    number,
)

CHANGED = "$changed"
"""The key of a neighbour that is told as a difference: records `start` to `start` + `gone` of the
database are replaced by `come`, and the whole has the digest `digest`."""
OF_PAIR = "$pair"
"""The key of a database that is one of those of the pair that was judged, and of which."""
MOST_TRIALS = 10**10
"""Draws a side that a file may state for one count, or for one batch of bets."""


# Pairs of databases. -----------------------------------------------------------------------------


def pair_record(pair: Pair | Witness) -> PairRecord:
    """The two databases, whole."""
    return {"database": to_json(pair.database), "neighbour": to_json(pair.neighbour)}


def judged_record(pair: Pair) -> PairRecord:
    """The two databases; of long ones the neighbour as its difference."""
    one, two = pair.database, pair.neighbour
    both = alike(one, two) if is_long(one) and type(one) in (list, np.ndarray) else None
    if both is None or 2 * sum(both) < len(two):
        return pair_record(pair)
    start, end = both
    changed = {
        "digest": digest(two),
        "start": start,
        "gone": len(one) - start - end,
        "come": to_json(part(two, start, len(two) - end)),
    }
    return {"database": to_json(one), "neighbour": {CHANGED: changed}}


def named_record(found: Pair | Witness, judged: Pair) -> PairRecord:
    """The two databases, or their names where they are the long ones of the pair judged."""
    if not is_long(judged.database):
        return pair_record(found)
    sides = (("database", judged.database), ("neighbour", judged.neighbour))

    def named(database: Database) -> object:
        names = [name for name, side in sides if side is database]
        return {OF_PAIR: names[0]} if names else to_json(database)

    return {"database": named(found.database), "neighbour": named(found.neighbour)}


def read_pair(data: PairRecord) -> Pair:
    """The two databases of a pair; EvidenceFormatError for a difference that does not fit."""
    one, told = from_json(data["database"]), data["neighbour"]
    if not (isinstance(told, dict) and list(told) == [CHANGED]):
        return Pair(one, from_json(told))
    changed = told[CHANGED]
    start, gone, come = changed["start"], changed["gone"], from_json(changed["come"])
    whole = all(type(number) is int and number >= 0 for number in (start, gone))
    if type(one) not in (list, np.ndarray) or type(come) is not type(one) or not whole:
        raise EvidenceFormatError(
            "a neighbour that is told as a difference has start, gone and come, and stands beside "
            "a list or an array"
        )
    parts = [part(one, 0, start), come, part(one, start + gone, len(one))]
    two = [*parts[0], *parts[1], *parts[2]] if type(one) is list else np.concatenate(parts)
    if digest(two) != changed["digest"]:
        raise EvidenceFormatError(
            "the neighbour of a pair is told as a difference and does not have the digest that "
            "stands beside it: the file was edited"
        )
    return Pair(one, two)


def digest(database: Database) -> str:
    """128 bits of a database's JSON form, in hexadecimal digits: equal for equal databases."""
    return blake2b(canonical(database), digest_size=16).hexdigest()


# To a record. ------------------------------------------------------------------------------------


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


# Back from a record. -----------------------------------------------------------------------------


def revived(record: ResultRecord) -> AuditResult:
    """The result that follows from one entry of `results` in an evidence file.

    A damaged one raises KeyError, TypeError, ValueError or EvidenceFormatError.
    """
    from .derive import derive  # who writes records does without the tests and their libraries

    return derive(read_facts(record))


def read_facts(record: ResultRecord) -> AuditFacts:
    """What was asked and counted, from the record; raises what `revived` raises."""
    judged, bets = _read_counted(record["evidence"])
    return AuditFacts(
        mechanism=record["mechanism"],
        target=record["target"],
        claim=read_claim(record["claim"]),
        pair=read_pair(record["pair"]),
        alpha=float(record["evidence"]["alpha"]),
        judged=judged,
        bets=bets,
        smaller=_read_smaller(record["smaller"]),
        draws=record["draws"],
        seed=record["seed"],
        seconds=record["seconds"],
        seeded=record["seeded"],
        remark=record["remark"],
        types=record.get("types", ""),
        sketch=_read_sketch(record["sketch"]),
        plan={key: from_json(value) for key, value in record["plan"].items()},
        source=str(record.get("source", "")),
        learning=_read_learning(record["learning"]),
        unread=record["unread"],
        reached=_read_reached(record.get("reached")),
        cause=_read_cause(record.get("cause")),
        exact=_read_exact(record["exact"]) if "exact" in record else None,
        not_exact=str(record.get("not_exact", "")),
    )


def _read_counted(data: CountedRecord) -> tuple[tuple[Count, ...], Bets | None]:
    return tuple(map(_read_count, data["counts"])), _read_bets(data)


def _read_smaller(data: SmallerRecord | None) -> Smaller | None:
    if data is None:
        return None
    judged, bets = _read_counted(data)
    return Smaller(pair=read_pair(data), trials=data["trials"], judged=judged, bets=bets)


def _read_exact(data: ExactRecord) -> ExactResult:
    event, (p, q) = data["event"], data["chances"]
    return ExactResult(
        scope=str(data["scope"]),
        pairs=int(data["pairs"]),
        runs=int(data["runs"]),
        outcomes=int(data["outcomes"]),
        asked=data["asked"] is True,
        epsilon=_read_number(data["epsilon"]),
        delta=_read_number(data["delta"]),
        tail=_read_number(data["tail"]),
        pair=read_pair(data["pair"]),
        event=None if event is None else event_from_json(event),
        chances=(str(p), str(q)),
    )


def read_claim(data: ClaimRecord | StatedRecord) -> PrivacyClaim:
    """The claim with its labels; ValueError for a number, relation or curve that no claim has."""
    return PrivacyClaim(
        epsilon=_read_number(data["epsilon"]),
        delta=_read_number(data["delta"]),
        relation=Relation(data["relation"]),
        distance=int(data["distance"]),
        identifier=str(data.get("identifier", "")),
        statement=str(data.get("statement", "")),
        reference=str(data.get("reference", "")),
        curve=curve_from_json(data["curve"]) if "curve" in data else None,
    )


def _read_reached(data: ReachRecord | None) -> Reach | None:
    if data is None:
        return None
    lines = data["unreached"]
    return Reach(
        databases=data["databases"],
        pairs=data["pairs"],
        smallest=data["smallest"],
        largest=data["largest"],
        unreached=None if lines is None else tuple(map(str, lines)),
        passed_over=int(data.get("passed_over", 0)),
    )


def _read_cause(data: CauseRecord | None) -> Cause | None:
    if data is None:
        return None
    lines = tuple(
        CauseLine(file=one["file"], line=one["line"], source=one["source"], reason=one["reason"])
        for one in data["lines"]
    )
    return Cause(lines=lines, summary=data["summary"], accused=data["accused"])


def _read_bets(data: CountedRecord) -> Bets | None:
    """The bets of a piece of evidence, if it has any; EvidenceFormatError for impossible ones."""
    if "bets" not in data:
        return None
    told = data["bets"]
    partitions = tuple(map(partition_from_json, told["partitions"]))
    batches = tuple(_read_batch(one, partitions) for one in told["batches"])
    return Bets(level=_read_number(told["level"]), partitions=partitions, batches=batches)


def _read_batch(data: BatchRecord, partitions: Sequence[Partition]) -> Batch:
    one, two = (tuple(map(int, side)) for side in data["counts"])
    a, b = map(_read_number, data["bet"])
    f, g = (tuple(map(_read_number, data[name])) for name in ("f", "g"))
    parts = tuple(
        Part(
            _read_number(one["order"]),
            bool(one["turned"]),
            _read_number(one["weight"]),
            tuple(map(_read_number, one["values"])),
        )
        for one in data.get("parts", ())
    )
    batch = Batch(
        chunk=int(data["chunk"]),
        draws=int(data["draws"]),
        partition=int(data["partition"]),
        groups=tuple(map(int, data["groups"])),
        bet=Bet(a, b, f, g, parts),
        counts=(one, two),
    )
    size = len(f)
    if not (
        0 <= batch.partition < len(partitions)
        and len(batch.groups) == partitions[batch.partition].size
        and {size} == {len(g), len(one), len(two)}
        and all(0 <= group < size for group in batch.groups)
        and all(0 <= n <= MOST_TRIALS for n in (*one, *two))
        and all(map(isfinite, (a, b, *f, *g)))
        and all(size == len(part.values) for part in parts)
        and all(isfinite(n) for part in parts for n in (part.order, part.weight, *part.values))
        and sum(one) == sum(two) == batch.draws <= MOST_TRIALS
        and batch.chunk >= 0
    ):
        raise EvidenceFormatError(
            "a batch of bets has a group for each cell of its partition, and of each group the "
            "bet with its parts and the draws of both sides, as many of each"
        )
    return batch


def _read_learning(data: LearningRecord | None) -> Learning | None:
    if data is None:
        return None
    compared, (among, least) = data["compared"], data["noticed"]
    if compared is not None:
        (a, b), (c, d) = compared["hits"], compared["before"]
        if not max(a, b, c, d) <= compared["draws"] or compared["draws"] < 1:
            raise EvidenceFormatError("learning.compared has more hits than draws")
    return Learning(
        draws=data["draws"],
        compared=None if compared is None else (compared["draws"], (a, b), (c, d)),
        noticed=(among, least),
    )


def _read_sketch(data: SketchRecord | None) -> Sketch | None:
    if data is None:
        return None
    first, second = (tuple(side) for side in data["counts"])
    return Sketch(
        feature=data["feature"],
        edges=tuple(float(edge) for edge in data["edges"]),
        labels=tuple(data["labels"]),
        counts=(first, second),
        inside=tuple(data["inside"]),
    )


def _read_count(data: CountRecord) -> Count:
    """One count of an evidence file; EvidenceFormatError for impossible integers."""
    hits, trials = (tuple(int(n) for n in both) for both in (data["hits"], data["trials"]))
    if len(hits) != 2 or len(trials) != 2 or trials[0] != trials[1]:
        raise EvidenceFormatError("hits and trials must be two whole numbers each, trials equal")
    if not all(0 <= h <= n <= MOST_TRIALS and n > 0 for h, n in zip(hits, trials, strict=True)):
        raise EvidenceFormatError(f"expected 0 <= hits <= trials, got {hits} of {trials}")
    stage, chunk = str(data["stage"]), int(data["chunk"])
    if stage not in STAGES or chunk < 0:
        raise EvidenceFormatError(f"no stream is named stage {stage!r:.40}, chunk {chunk}")
    rates = [_read_number(rate) for rate in data["rates"]]
    if len(rates) != 2:
        raise EvidenceFormatError(f"rates must be two numbers, got {len(rates)}")
    level = data["level"]
    if level is not None and not 0 < level < 0.5:
        raise EvidenceFormatError(f"level must be between 0 and 0.5, got {level!r}")
    return Count(
        stage=stage,
        chunk=chunk,
        event=event_from_json(data["event"]),
        reversed=bool(data["reversed"]),
        hits=(hits[0], hits[1]),
        trials=(trials[0], trials[1]),
        predicted=_read_number(data["predicted"]),
        spread=_read_number(data["spread"]),
        rates=(rates[0], rates[1]),
        attempt=int(data["attempt"]),
        cost=int(data["cost"]),
        level=level,
    )


def _read_number(value: object) -> float:
    """A number of the record; EvidenceFormatError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise EvidenceFormatError(f"expected a number, got {value!r:.60}")
    if isinstance(value, str) and value not in ("inf", "-inf"):
        raise EvidenceFormatError(f"expected a number or 'inf', got {value!r:.60}")
    return float(value)
