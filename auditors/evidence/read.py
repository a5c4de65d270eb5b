"""From the record of a result back to it, whole or in parts."""

from collections.abc import Sequence
from math import isfinite, nan
from typing import cast

from ...mechanisms.model import PrivacyClaim, Relation, curve_from_json
from ..bounds.moments import Part
from ..bounds.wealth import Bet
from ..errors import EvidenceFormatError
from ..events.events import event_from_json
from ..events.partition import Partition, partition_from_json
from ..outputs.decoding import from_json
from ..results.results import (
    AuditResult,
    Batch,
    Bets,
    Cause,
    CauseLine,
    Count,
    Evidence,
    ExactResult,
    Learning,
    Look,
    Pair,
    Reach,
    Sketch,
    Verdict,
    Witness,
)
from ..sampling.calls import STAGES
from .record import (
    BatchRecord,
    CauseRecord,
    ClaimRecord,
    CountRecord,
    EvidenceRecord,
    ExactRecord,
    LearningRecord,
    LookRecord,
    PairRecord,
    ReachRecord,
    ResultRecord,
    SketchRecord,
    StatedRecord,
    WitnessRecord,
)

MOST_TRIALS = 10**10


def revived(record: ResultRecord) -> AuditResult:
    """The result that one entry of `results` in an evidence file was written from.

    The file is one that dpwitness wrote a moment ago; a damaged one raises KeyError, TypeError,
    ValueError or EvidenceFormatError.
    """
    return AuditResult(
        mechanism=record["mechanism"],
        target=record["target"],
        claim=read_claim(record["claim"]),
        verdict=Verdict(record["verdict"]),
        epsilon_lower=float(record["epsilon_lower"]),
        detectable_epsilon=float(record["detectable_epsilon"]),
        detectable_probability=float(record["detectable_probability"]),
        pair=read_pair(record["pair"]),
        witness=_witness(record["witness"]),
        evidence=_evidence(record["evidence"]),
        draws=record["draws"],
        seed=record["seed"],
        seconds=record["seconds"],
        seeded=record["seeded"],
        note=record["note"],
        growth=tuple((int(draws), float(bound)) for draws, bound in record["growth"]),
        sketch=_sketch(record["sketch"]),
        plan={key: from_json(value) for key, value in record["plan"].items()},
        judged=tuple(read_count(count) for count in record.get("judged", ())),
        source=str(record.get("source", "")),
        power=tuple((float(one["probability"]), float(one["epsilon"])) for one in record["power"]),
        learning=_learning(record["learning"]),
        unread=record["unread"],
        reached=_reached(record.get("reached")),
        cause=_cause(record.get("cause")),
        exact=read_exact(record["exact"]) if "exact" in record else None,
        not_exact=str(record.get("not_exact", "")),
    )


def read_exact(data: ExactRecord) -> ExactResult:
    """What exact laws said; EvidenceFormatError or ValueError for what they cannot say."""
    chances = [str(chance) for chance in data["chances"]]
    verdict, event = Verdict(data["verdict"]), data["event"]
    if len(chances) != 2 or verdict not in (Verdict.PROVED, Verdict.REFUTED):
        raise EvidenceFormatError("exact: expected proved or refuted, and two probabilities")
    if (event is None) is (verdict is Verdict.REFUTED):
        raise EvidenceFormatError("exact: there is an event exactly where the laws refute")
    drawn = data["drawn"]
    return ExactResult(
        verdict=verdict,
        scope=str(data["scope"]),
        pairs=int(data["pairs"]),
        runs=int(data["runs"]),
        outcomes=int(data["outcomes"]),
        asked=data["asked"] is True,
        epsilon=read_number(data["epsilon"]),
        delta=read_number(data["delta"]),
        tail=read_number(data["tail"]),
        pair=read_pair(data["pair"]),
        event=None if event is None else event_from_json(event),
        chances=(chances[0], chances[1]),
        drawn=(Verdict(drawn["verdict"]), read_number(drawn["epsilon_lower"])),
    )


def drawn_part(record: ResultRecord) -> ResultRecord:
    """The record as the draws alone have it, without what exact laws say."""
    if "exact" not in record and "not_exact" not in record:
        return record
    drawn = record["exact"]["drawn"] if "exact" in record else None
    part = {key: value for key, value in record.items() if key not in ("exact", "not_exact")}
    if drawn is not None:
        part |= drawn
        if drawn["verdict"] != record["verdict"]:
            part["witness"] = None
    return cast(ResultRecord, part)


def read_claim(data: ClaimRecord | StatedRecord) -> PrivacyClaim:
    """The claim with its labels; ValueError for a number, relation or curve that no claim has."""
    return PrivacyClaim(
        epsilon=read_number(data["epsilon"]),
        delta=read_number(data["delta"]),
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


def _evidence(data: EvidenceRecord) -> Evidence:
    return Evidence(
        counts=tuple(read_count(count) for count in data["counts"]),
        alpha=float(data["alpha"]),
        level=float(data["level"]),
        looks=tuple(_look(look) for look in data["looks"]),
        decided_after=data["decided_after"],
        bets=read_bets(data),
    )


def read_bets(data: EvidenceRecord) -> Bets | None:
    """The bets of a piece of evidence, if it has any; EvidenceFormatError for impossible ones."""
    if "bets" not in data:
        return None
    told = data["bets"]
    partitions = tuple(map(partition_from_json, told["partitions"]))
    batches = tuple(_batch(one, partitions) for one in told["batches"])
    return Bets(level=read_number(told["level"]), partitions=partitions, batches=batches)


def _batch(data: BatchRecord, partitions: Sequence[Partition]) -> Batch:
    one, two = (tuple(map(int, side)) for side in data["counts"])
    a, b = map(read_number, data["bet"])
    f, g = (tuple(map(read_number, data[name])) for name in ("f", "g"))
    parts = tuple(
        Part(
            read_number(one["order"]),
            bool(one["turned"]),
            read_number(one["weight"]),
            tuple(map(read_number, one["values"])),
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


def _look(data: LookRecord) -> Look:
    (x, y), (n, m) = data["hits"], data["trials"]
    return Look(
        attempt=data["attempt"],
        draws=data["draws"],
        hits=(x, y),
        trials=(n, m),
        level=float(data["level"]),
        epsilon_lower=float(data["epsilon_lower"]),
    )


def _learning(data: LearningRecord | None) -> Learning | None:
    if data is None:
        return None
    return Learning(draws=data["draws"], gain=nan if data["gain"] is None else float(data["gain"]))


def read_pair(data: PairRecord) -> Pair:
    """The two databases of a pair or of a witness."""
    return Pair(from_json(data["database"]), from_json(data["neighbour"]))


def _witness(data: WitnessRecord | None) -> Witness | None:
    if data is None:
        return None
    pair = read_pair(data)
    return Witness(
        database=pair.database,
        neighbour=pair.neighbour,
        event=event_from_json(data["event"]),
        epsilon_lower=float(data["epsilon_lower"]),
        evidence=None if data["evidence"] is None else _evidence(data["evidence"]),
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


def read_count(data: CountRecord) -> Count:
    """One count of an evidence file; EvidenceFormatError for impossible integers."""
    hits, trials = (tuple(int(n) for n in both) for both in (data["hits"], data["trials"]))
    if len(hits) != 2 or len(trials) != 2 or trials[0] != trials[1]:
        raise EvidenceFormatError("hits and trials must be two whole numbers each, trials equal")
    if not all(0 <= h <= n <= MOST_TRIALS and n > 0 for h, n in zip(hits, trials, strict=True)):
        raise EvidenceFormatError(f"expected 0 <= hits <= trials, got {hits} of {trials}")
    stage, chunk = str(data["stage"]), int(data["chunk"])
    if stage not in STAGES or chunk < 0:
        raise EvidenceFormatError(f"no stream is named stage {stage!r:.40}, chunk {chunk}")
    rates = [read_number(rate) for rate in data["rates"]]
    if len(rates) != 2:
        raise EvidenceFormatError(f"rates must be two numbers, got {len(rates)}")
    return Count(
        stage=stage,
        chunk=chunk,
        event=event_from_json(data["event"]),
        reversed=bool(data["reversed"]),
        hits=(hits[0], hits[1]),
        trials=(trials[0], trials[1]),
        predicted=read_number(data["predicted"]),
        spread=read_number(data["spread"]),
        rates=(rates[0], rates[1]),
    )


def read_number(value: object) -> float:
    """A number of the record; EvidenceFormatError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise EvidenceFormatError(f"expected a number, got {value!r:.60}")
    if isinstance(value, str) and value not in ("inf", "-inf"):
        raise EvidenceFormatError(f"expected a number or 'inf', got {value!r:.60}")
    return float(value)
