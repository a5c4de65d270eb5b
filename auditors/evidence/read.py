"""From a record back to what was asked and counted, and to the result that follows from it."""

from collections.abc import Sequence
from math import isfinite

from ...mechanisms.model import PrivacyClaim, Relation, curve_from_json
from ..bounds.wealth import Bet, Part
from ..errors import EvidenceFormatError
from ..events.events import event_from_json
from ..events.partition import Partition, partition_from_json
from ..outputs.decoding import from_json
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
)
from ..sampling.calls import STAGES
from .derive import derive
from .pairs import read_pair
from .record import (
    BatchRecord,
    CauseRecord,
    ClaimRecord,
    CountedRecord,
    CountRecord,
    ExactRecord,
    LearningRecord,
    ReachRecord,
    ResultRecord,
    SketchRecord,
    SmallerRecord,
    StatedRecord,
)

MOST_TRIALS = 10**10


def revived(record: ResultRecord) -> AuditResult:
    """The result that follows from one entry of `results` in an evidence file.

    A damaged one raises KeyError, TypeError, ValueError or EvidenceFormatError.
    """
    return derive(read_facts(record))


def read_facts(record: ResultRecord) -> AuditFacts:
    """What was asked and counted, from the record; raises what `revived` raises."""
    judged, bets = _counted(record["evidence"])
    return AuditFacts(
        mechanism=record["mechanism"],
        target=record["target"],
        claim=read_claim(record["claim"]),
        pair=read_pair(record["pair"]),
        alpha=float(record["evidence"]["alpha"]),
        judged=judged,
        bets=bets,
        smaller=_smaller(record["smaller"]),
        draws=record["draws"],
        seed=record["seed"],
        seconds=record["seconds"],
        seeded=record["seeded"],
        remark=record["remark"],
        types=record.get("types", ""),
        sketch=_sketch(record["sketch"]),
        plan={key: from_json(value) for key, value in record["plan"].items()},
        source=str(record.get("source", "")),
        learning=_learning(record["learning"]),
        unread=record["unread"],
        reached=_reached(record.get("reached")),
        cause=_cause(record.get("cause")),
        exact=_exact(record["exact"]) if "exact" in record else None,
        not_exact=str(record.get("not_exact", "")),
    )


def _counted(data: CountedRecord) -> tuple[tuple[Count, ...], Bets | None]:
    return tuple(map(_count, data["counts"])), _bets(data)


def _smaller(data: SmallerRecord | None) -> Smaller | None:
    if data is None:
        return None
    judged, bets = _counted(data)
    return Smaller(pair=read_pair(data), trials=data["trials"], judged=judged, bets=bets)


def _exact(data: ExactRecord) -> ExactResult:
    event, (p, q) = data["event"], data["chances"]
    return ExactResult(
        scope=str(data["scope"]),
        pairs=int(data["pairs"]),
        runs=int(data["runs"]),
        outcomes=int(data["outcomes"]),
        asked=data["asked"] is True,
        epsilon=_number(data["epsilon"]),
        delta=_number(data["delta"]),
        tail=_number(data["tail"]),
        pair=read_pair(data["pair"]),
        event=None if event is None else event_from_json(event),
        chances=(str(p), str(q)),
    )


def read_claim(data: ClaimRecord | StatedRecord) -> PrivacyClaim:
    """The claim with its labels; ValueError for a number, relation or curve that no claim has."""
    return PrivacyClaim(
        epsilon=_number(data["epsilon"]),
        delta=_number(data["delta"]),
        relation=Relation(data["relation"]),
        distance=int(data["distance"]),
        identifier=str(data.get("identifier", "")),
        statement=str(data.get("statement", "")),
        reference=str(data.get("reference", "")),
        curve=curve_from_json(data["curve"]) if "curve" in data else None,
    )


def _reached(data: ReachRecord | None) -> Reach | None:
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


def _cause(data: CauseRecord | None) -> Cause | None:
    if data is None:
        return None
    lines = tuple(
        CauseLine(file=one["file"], line=one["line"], source=one["source"], reason=one["reason"])
        for one in data["lines"]
    )
    return Cause(lines=lines, summary=data["summary"], accused=data["accused"])


def _bets(data: CountedRecord) -> Bets | None:
    """The bets of a piece of evidence, if it has any; EvidenceFormatError for impossible ones."""
    if "bets" not in data:
        return None
    told = data["bets"]
    partitions = tuple(map(partition_from_json, told["partitions"]))
    batches = tuple(_batch(one, partitions) for one in told["batches"])
    return Bets(level=_number(told["level"]), partitions=partitions, batches=batches)


def _batch(data: BatchRecord, partitions: Sequence[Partition]) -> Batch:
    one, two = (tuple(map(int, side)) for side in data["counts"])
    a, b = map(_number, data["bet"])
    f, g = (tuple(map(_number, data[name])) for name in ("f", "g"))
    parts = tuple(
        Part(
            _number(one["order"]),
            bool(one["turned"]),
            _number(one["weight"]),
            tuple(map(_number, one["values"])),
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


def _learning(data: LearningRecord | None) -> Learning | None:
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


def _sketch(data: SketchRecord | None) -> Sketch | None:
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


def _count(data: CountRecord) -> Count:
    """One count of an evidence file; EvidenceFormatError for impossible integers."""
    hits, trials = (tuple(int(n) for n in both) for both in (data["hits"], data["trials"]))
    if len(hits) != 2 or len(trials) != 2 or trials[0] != trials[1]:
        raise EvidenceFormatError("hits and trials must be two whole numbers each, trials equal")
    if not all(0 <= h <= n <= MOST_TRIALS and n > 0 for h, n in zip(hits, trials, strict=True)):
        raise EvidenceFormatError(f"expected 0 <= hits <= trials, got {hits} of {trials}")
    stage, chunk = str(data["stage"]), int(data["chunk"])
    if stage not in STAGES or chunk < 0:
        raise EvidenceFormatError(f"no stream is named stage {stage!r:.40}, chunk {chunk}")
    rates = [_number(rate) for rate in data["rates"]]
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
        predicted=_number(data["predicted"]),
        spread=_number(data["spread"]),
        rates=(rates[0], rates[1]),
        attempt=int(data["attempt"]),
        cost=int(data["cost"]),
        level=level,
    )


def _number(value: object) -> float:
    """A number of the record; EvidenceFormatError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise EvidenceFormatError(f"expected a number, got {value!r:.60}")
    if isinstance(value, str) and value not in ("inf", "-inf"):
        raise EvidenceFormatError(f"expected a number or 'inf', got {value!r:.60}")
    return float(value)
