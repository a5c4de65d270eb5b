"""Counting again: the same events on the same streams must give the same integers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ...mechanisms.model import Mechanism
from ..asked import require
from ..errors import EvidenceFormatError, InvalidArgument
from ..evidence.read import (
    drawn_part,
    read_bets,
    read_claim,
    read_count,
    read_exact,
    read_number,
    read_pair,
)
from ..evidence.record import EvidenceRecord, LookRecord, ResultRecord
from ..results.results import Bets, Count, ExactResult, Pair, Verdict
from ..sampling.sampling import Sampler
from ..tape.exact import exact_pair, exact_verdict
from . import request, retrace
from .attempt import Test, bound_of
from .betting import bound_of_bets, in_groups, share
from .budget import Budget

LAWS_BELIEVED = ("exact.scope", "exact.pairs", "exact.runs", "exact.outcomes", "exact.asked")
"""What the laws of the worst pair alone do not decide."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Replay:
    """What counting again gave, and in what it differs from the record.

    `verdict` is the one the new counts support: those of the worst pair, and of the smaller one
    where the record has it; `counts` has them in this order. For a mechanism that is not `seeded`
    the counts are a repetition of the experiment, and `differences` holds only what does not
    follow from the recorded counts. `believed` are the fields of the record that nothing was
    compared with.
    """

    verdict: Verdict
    epsilon_lower: float
    counts: tuple[Count, ...]
    differences: tuple[str, ...]
    seeded: bool
    believed: tuple[str, ...] = retrace.BELIEVED

    def __repr__(self) -> str:
        """The verdict and how much came out otherwise, in a line."""
        verdict = self.verdict.value.replace("_", " ")
        count = len(self.differences)
        told = "as recorded" if self.same else f"{count} difference{'s' * (count > 1)}"
        return f"<replay: {verdict}, {told}>"

    @property
    def same(self) -> bool:
        """Whether every integer came out as recorded, and all that follows from them."""
        return not self.differences


def recount(
    mechanism: Any,
    record: ResultRecord,
    *,
    name: str = "",
    workers: int = 1,
    timeout: float = 10.0,
) -> Replay:
    """Draw the recorded streams again, count the recorded events, and work out all that follows.

    `record` is one entry of `results` in an evidence file, `name` what the mechanism is called
    where it brings no name of its own. What cannot be worked out is listed in
    `retrace.NOT_RECOMPUTED`. Raises EvidenceFormatError when the record is malformed and
    ContractError when the mechanism fails.
    """
    with _damage():
        base = drawn_part(record)
        told = read_exact(record["exact"]) if "exact" in record else None
    outcome = _recounted(mechanism, base, name, workers, timeout)
    if told is None:
        return outcome
    return _by_law(outcome, mechanism, record, told, (name, workers, timeout))


def _by_law(
    outcome: Replay,
    mechanism: Any,
    record: ResultRecord,
    told: ExactResult,
    how: tuple[str, int, float],
) -> Replay:
    """The outcome with what the exact laws of the recorded worst pair say now."""
    name, workers, timeout = how
    base = drawn_part(record)
    _, test, _, _, sampler = read_record(mechanism, base, workers, timeout)
    with _damage():
        target, plan = str(record["target"]), record["plan"]
        subject = request.subject(mechanism, name, target, bool(record["seeded"]))
        domain = str(plan.get("domain", ""))
        differences = [*retrace.pair_again(told.pair, test, subject, domain, "exact")]
        found = exact_pair(sampler, told.pair, test.claim)
        sampler.door.close()
        differences += retrace.law_again(record, told, found)
        alone = plan.get("search") == "given"
        verdict = exact_verdict(told, Verdict(base["verdict"]), alone=alone)
        if not differences and verdict is not Verdict(record["verdict"]):
            differences.append(
                f"verdict: recorded {record['verdict']}, the counts and the laws give "
                f"{verdict.value}"
            )
    refuted = verdict is Verdict.REFUTED
    return replace(
        outcome,
        verdict=verdict if outcome.verdict is Verdict(base["verdict"]) else outcome.verdict,
        epsilon_lower=max(outcome.epsilon_lower, told.epsilon)
        if refuted
        else outcome.epsilon_lower,
        differences=(*outcome.differences, *dict.fromkeys(differences)),
        believed=(*outcome.believed, *LAWS_BELIEVED),
    )


def _recounted(
    mechanism: Any, record: ResultRecord, name: str, workers: int, timeout: float
) -> Replay:
    pair, test, counts, level, sampler = read_record(mechanism, record, workers, timeout)
    with _damage():
        blocks = (int(record["plan"]["block"]), sampler.block)
        judged = tuple(read_count(data) for data in record.get("judged", ())) or counts
        small = _smaller(record, test, pair)
        target = str(record["target"])
        subject = request.subject(mechanism, name, target, bool(record["seeded"]))
        stated = [*_follows(record, pair, test, judged, small, subject, name)]
    again = tuple(_again(sampler, pair, count) for count in judged)
    differences = [*_moved(blocks), *_differences(judged, again)]
    won = _bet_again(sampler, pair, read_bets(record["evidence"]), differences)
    with _damage():
        looks, counted = record["evidence"].get("looks", ()), _counted(again)
        bounds = _bounds(looks[1:] if won else looks, counted, test)
        bounds += [bound_of_bets(won.batches, test.claim, won.level)] if won else []
        shown = [count for count in again if _stream(count) in set(map(_stream, counts))]
        found = list(shown or again)
        bound = largest = (
            bounds[-1] if won and not _counted(found) else bound_of(tuple(found), test, level)
        )
        if small is not None:
            new = tuple(_again(sampler, small.pair, count) for count in small.counts)
            differences += _differences(small.counts, new)
            found += new
            won = _bet_again(sampler, small.pair, read_bets(small.told), differences)
            smaller = (
                bound_of_bets(won.batches, test.claim, won.level)
                if won
                else bound_of(new, test, small.level)
            )
            largest = max(bound, smaller)
            # Both sentences of a refutation must hold.
            if smaller < test.claim.epsilon:
                bounds = []
        verdict = retrace.verdict_again(record, [*bounds, *([bound] if bounds else [])],
                                        test.claim)  # fmt: skip
        if not differences and verdict is not Verdict(record["verdict"]):
            stated.append(f"verdict: recorded {record['verdict']}, the counts give {verdict.value}")
        if not sampler.seeded and _is_seeded(sampler, pair, judged):
            stated.append("seeded: recorded as false, but the recorded streams give these counts")
    if not sampler.seeded:
        differences = []
    return Replay(
        verdict=verdict,
        epsilon_lower=largest,
        counts=tuple(found),
        differences=(*differences, *dict.fromkeys(stated)),
        seeded=sampler.seeded,
        believed=retrace.BELIEVED if sampler.seeded else retrace.REPEATED,
    )


def _follows(
    record: ResultRecord,
    pair: Pair,
    test: Test,
    judged: tuple[Count, ...],
    small: "_Small | None",
    subject: Mechanism,
    name: str,
) -> Iterator[str]:
    """What in the record does not follow from its counts."""
    evidence, epsilon, plan = record["evidence"], test.claim.epsilon, record["plan"]
    if evidence["counts"] and judged[0].stage == "judge":
        return
    looks, precision = evidence["looks"], plan.get("precision", 0.05)
    domain = str(plan.get("domain", ""))
    yield from retrace.mechanism_again(record, subject, name or subject.name)
    yield from retrace.pair_again(pair, test, subject, domain, "pair")
    known = [count for count in record.get("judged", evidence["counts"])]
    for number, count in enumerate(evidence["counts"]):
        if count not in known:
            yield f"evidence.counts[{number}]: not among the counts that were judged"
    part = float(plan.get("betting", 0.0))
    yield from retrace.betting_again(record, test.claim)
    yield from _looks_follow(
        evidence, judged, test, retrace.shares(test.alpha, small=False), part, precision, "evidence"
    )
    yield from retrace.summary_again(evidence, looks, epsilon, "evidence")
    yield from retrace.bounds_again(record, small.told if small is not None else None)
    yield from retrace.power_again(record, looks, test)
    yield from retrace.words_again(record["claim"], subject)
    yield from retrace.point_again(test.claim)
    rechecked = bool(judged) and judged[0].stage == "recheck"
    if record["growth"] or not rechecked:  # a recheck draws no picture
        yield from retrace.growth_again(record["growth"], looks)
    if not rechecked:
        yield from retrace.note_again(record, test)
    if looks and record["draws"] < 2 * looks[-1]["draws"]:
        yield f"draws: {record['draws']} are fewer than the looks of this pair took"
    witness, refuted = record["witness"], record["verdict"] == "refuted"
    if refuted != (witness is not None):
        yield "witness: there is one exactly where the verdict is refuted"
    if witness is None or not refuted:
        return
    if small is None:
        counts = tuple(read_count(count) for count in evidence["counts"])
        yield from retrace.witness_again(witness, pair, counts)
        if witness["evidence"] != evidence:
            yield "witness.evidence: not that of the pair, which is the witness"
        return
    told = small.told
    yield from retrace.witness_again(witness, small.pair, small.counts)
    yield from retrace.pair_again(small.pair, test, subject, domain, "witness")
    # A smaller pair is judged until it is refuted, where the other is counted to the end.
    seeded = bool(record["seeded"])
    part = share(precision or None, test.claim, seeded=seeded) if "betting" in plan else 0.0
    yield from _looks_follow(
        told, small.counts, test, retrace.shares(test.alpha, small=True), part, precision or None,
        "witness.evidence", whole=False,
    )  # fmt: skip
    if told["alpha"] != evidence["alpha"]:
        yield "witness.evidence.alpha: not that of the audit"
    yield from retrace.summary_again(told, told["looks"], epsilon, "witness.evidence")


def _looks_follow(
    evidence: EvidenceRecord,
    counts: tuple[Count, ...],
    test: Test,
    alphas: tuple[float, ...],
    part: float,
    precision: float | None,
    place: str,
    *,
    whole: bool = True,
) -> Iterator[str]:
    """What the looks of one pair get wrong, bets having had this part of the error probability."""
    left, staked = retrace.counted_parts(alphas, part)
    looks, counted = evidence["looks"], _counted(counts)
    if "bets" in evidence:
        shown = tuple(count for count in counts if count.stage == "bet")
        if shown or whole:
            yield from retrace.bets_again(evidence, shown, test, staked, place)
        looks = looks[1:]
    if looks or counted or whole:
        yield from retrace.looks_again(
            looks, counted, test, left, precision, f"{place}.looks", whole=whole
        )


def _counted(counts: Sequence[Count]) -> tuple[Count, ...]:
    """Those that give a bound; the others show what bets won on."""
    return tuple(count for count in counts if count.stage != "bet")


def _bet_again(
    sampler: Sampler, pair: Pair, bets: Bets | None, differences: list[str]
) -> Bets | None:
    """The bets on the same draws made again; what differs is added to the differences."""
    if bets is None:
        return None
    batches = []
    for batch in bets.batches:
        one, two = in_groups(sampler, pair, bets.partitions[batch.partition], batch)
        if (one, two) != batch.counts:
            differences.append(
                f"bet chunk {batch.chunk}: the draws fall into the cells in other numbers than "
                "recorded"
            )
        batches.append(replace(batch, counts=(one, two)))
    return replace(bets, batches=tuple(batches))


def _bounds(looks: Sequence[LookRecord], counts: Sequence[Count], test: Test) -> list[float]:
    """The bound of every look, from counts made again; empty where there is not one for each."""
    if len(looks) != len(counts):
        return []
    found = []
    for number, look in enumerate(looks):
        first = next(i for i, one in enumerate(looks) if one["attempt"] == look["attempt"])
        found.append(bound_of(tuple(counts[first : number + 1]), test, read_number(look["level"])))
    return found


def _is_seeded(sampler: Sampler, pair: Pair, counts: Sequence[Count]) -> bool:
    """Whether streams that are said to be new at each run give the recorded hits all the same."""
    telling = [c for c in counts if any(0 < h < n for h, n in zip(c.hits, c.trials, strict=True))]
    if not telling:
        return False
    least = min(telling, key=lambda count: count.trials[0])
    return _again(replace(sampler, seeded=True), pair, least).hits == least.hits


def _stream(count: Count) -> tuple[str, int]:
    return count.stage, count.chunk


@dataclass(frozen=True, slots=True)
class _Small:
    """The smaller pair that a refutation shows, with its counts and the level of its bound."""

    pair: Pair
    counts: tuple[Count, ...]
    told: EvidenceRecord
    level: float


def _smaller(record: ResultRecord, test: Test, pair: Pair) -> _Small | None:
    """The witness, where it is not the pair that is counted anyway."""
    witness = record.get("witness")
    evidence = witness.get("evidence") if witness else None
    if not witness or not evidence:
        return None
    counts = tuple(read_count(data) for data in evidence["counts"])
    small = read_pair(witness)
    small = small.reversed() if counts[-1].reversed else small
    if counts == tuple(read_count(data) for data in record["evidence"]["counts"]):
        return None
    return _Small(small, counts, evidence, _level(evidence, test.alpha))


def read_record(
    mechanism: Any, record: ResultRecord, workers: int, timeout: float
) -> tuple[Pair, Test, tuple[Count, ...], float, Sampler]:
    """(pair, test, counts, level of the bound, sampler) of one entry of `results`.

    Raises EvidenceFormatError when it is malformed.
    """
    with _damage():
        return _read(mechanism, record, workers, timeout)


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(
            f"the evidence lacks a needed field or has one of the wrong kind ({error!r:.120})"
        ) from None


def _read(
    mechanism: Any, record: ResultRecord, workers: int, timeout: float
) -> tuple[Pair, Test, tuple[Count, ...], float, Sampler]:
    evidence, claim, plan = record["evidence"], record["claim"], record["plan"]
    counts = tuple(read_count(data) for data in evidence["counts"])
    if not counts:
        raise EvidenceFormatError("the evidence holds no counts, so there is nothing to replay")
    require(workers=workers, timeout=timeout)
    seeded = bool(record["seeded"])
    subject: Mechanism = request.subject(mechanism, "", str(record.get("target", "")), seeded)
    pair = read_pair(record["pair"])
    try:
        privacy = replace(read_claim(claim), identifier="", statement="", reference="")
        trials, alpha = int(plan["trials"]), read_number(evidence["alpha"])
        Budget(trials=trials, alpha=alpha, seed=int(record["seed"]))
    except InvalidArgument as error:
        raise EvidenceFormatError(f"the evidence has an impossible value: {error}") from None
    test = Test(claim=privacy, trials=trials, alpha=alpha)
    sampler = Sampler(
        run=subject.run,
        seed=int(record["seed"]),
        seeded=seeded,
        workers=workers,
        limit=timeout,
        exceptions="output" if plan.get("exceptions") == "output" else "error",
        trust_rows=bool(plan.get("trust_rows", False)),
    )
    return pair, test, counts, _level(evidence, alpha), sampler


def _level(evidence: EvidenceRecord, alpha: float) -> float:
    level = read_number(evidence["level"])
    if not 0 < level <= alpha:
        raise EvidenceFormatError(f"level must be between 0 and alpha, got {level!r}")
    return level


def _again(sampler: Sampler, pair: Pair, count: Count) -> Count:
    hits = sampler.count(pair, count.event, count.stage, count.chunk, count.trials[0])
    return replace(count, hits=hits)


def _moved(blocks: tuple[int, int]) -> Iterator[str]:
    """What to say where draws are cut into other blocks than they were."""
    if blocks[0] != blocks[1]:
        yield (
            f"draws are now made {blocks[1]} to a block and were made {blocks[0]} to a block, so "
            "the streams differ: the mechanism gained or lost its size= argument"
        )


def _differences(old: Sequence[Count], new: Sequence[Count]) -> Iterator[str]:
    for before, after in zip(old, new, strict=True):
        if before.hits != after.hits:
            yield (
                f"{before.stage} chunk {before.chunk}: recorded {before.hits[0]} and "
                f"{before.hits[1]} hits, now {after.hits[0]} and {after.hits[1]} of "
                f"{after.trials[0]}"
            )
