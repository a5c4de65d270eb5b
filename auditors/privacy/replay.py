"""Counting again: the same events on the same streams must give the same integers.

What follows from the integers is worked out by `evidence.derive`, from those that are recorded and
from those that come out now alike.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...mechanisms.model import Mechanism, Pair
from ..asked import require
from ..errors import EvidenceFormatError, InvalidArgument
from ..evidence.conversion import read_facts
from ..evidence.derive import derive
from ..evidence.record import ResultRecord
from ..results.results import AuditFacts, Bets, Count, Verdict
from ..sampling.sampling import Sampler
from ..tape.exact import exact_pair
from . import request, retrace
from .betting import in_groups
from .budget import Budget

LAWS_BELIEVED = ("exact.scope", "exact.pairs", "exact.runs", "exact.outcomes", "exact.asked")
"""What the laws of the worst pair alone do not decide."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Replay:
    """What counting again gave, and in what it differs from the record.

    `verdict` and `epsilon_lower` are those that the new counts give; `counts` are those of the
    worst pair's bound, and of the smaller one's where there is one, in this order. For a mechanism
    that is not `seeded` the counts are a repetition of the experiment, and `differences` holds only
    what no such audit asks. `believed` are the fields of the record that nothing was compared with.
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
        """Whether every integer came out as recorded, and all that is asked could be."""
        return not self.differences


def recount(
    mechanism: object,
    record: ResultRecord,
    *,
    name: str = "",
    workers: int = 1,
    timeout: float = 10.0,
) -> Replay:
    """Draw the recorded streams again, count the recorded events, and derive what follows.

    `record` is one entry of `results` in an evidence file, `name` what the mechanism is called
    where it brings no name of its own. What cannot be worked out is listed in
    `retrace.NOT_RECOMPUTED`. Raises EvidenceFormatError when the record is malformed and
    ContractError when the mechanism fails.
    """
    facts, sampler = read_record(mechanism, record, workers, timeout)
    with damage():
        subject = request.subject(mechanism, name, facts.target, facts.seeded)
        stated = [*retrace.asked_for(facts, subject, name or subject.name)]
    differences = [*_moved((int(facts.plan["block"]), sampler.block))]
    judged, bets = _again(sampler, facts.pair, facts.judged, facts.bets, differences)
    again = replace(facts, judged=judged, bets=bets)
    if (small := facts.smaller) is not None:
        judged, bets = _again(sampler, small.pair, small.judged, small.bets, differences)
        again = replace(again, smaller=replace(small, judged=judged, bets=bets))
    if facts.exact is not None:
        found = exact_pair(sampler, facts.exact.pair, facts.claim)
        sampler.door.close()
        stated += retrace.law_again(facts.exact, found)
    with damage():
        if not sampler.seeded and _is_seeded(sampler, facts.pair, facts.judged):
            stated.append("seeded: recorded as false, but the recorded streams give these counts")
        now = derive(again)
    counts = now.evidence.counts
    if now.witness is not None and now.witness.evidence not in (None, now.evidence):
        counts += now.witness.evidence.counts
    believed = retrace.BELIEVED if sampler.seeded else retrace.REPEATED
    return Replay(
        verdict=now.verdict,
        epsilon_lower=now.epsilon_lower,
        counts=counts,
        differences=(*(differences if sampler.seeded else ()), *dict.fromkeys(stated)),
        seeded=sampler.seeded,
        believed=believed if facts.exact is None else (*believed, *LAWS_BELIEVED),
    )


def _again(
    sampler: Sampler,
    pair: Pair,
    judged: Sequence[Count],
    bets: Bets | None,
    differences: list[str],
) -> tuple[tuple[Count, ...], Bets | None]:
    """The counts and the bets on the same draws made again; what differs is told."""
    counts = tuple(_counted(sampler, pair, count) for count in judged)
    for before, after in zip(judged, counts, strict=True):
        if before.hits != after.hits:
            differences.append(
                f"{before.stage} chunk {before.chunk}: recorded {before.hits[0]} and "
                f"{before.hits[1]} hits, now {after.hits[0]} and {after.hits[1]} of "
                f"{after.trials[0]}"
            )
    if bets is None:
        return counts, None
    batches = []
    for batch in bets.batches:
        one, two = in_groups(sampler, pair, bets.partitions[batch.partition], batch)
        if (one, two) != batch.counts:
            differences.append(
                f"part {batch.chunk} of the sequential test: the runs have other outputs than "
                "recorded"
            )
        batches.append(replace(batch, counts=(one, two)))
    return counts, replace(bets, batches=tuple(batches))


def _counted(sampler: Sampler, pair: Pair, count: Count) -> Count:
    hits = sampler.count(pair, count.event, count.stage, count.chunk, count.trials[0])
    return replace(count, hits=hits)


def _is_seeded(sampler: Sampler, pair: Pair, counts: Sequence[Count]) -> bool:
    """Whether streams that are said to be new at each run give the recorded hits all the same."""
    telling = [c for c in counts if any(0 < h < n for h, n in zip(c.hits, c.trials, strict=True))]
    if not telling:
        return False
    least = min(telling, key=lambda count: count.trials[0])
    return _counted(replace(sampler, seeded=True), pair, least).hits == least.hits


def _moved(blocks: tuple[int, int]) -> Iterator[str]:
    """What to say where draws are cut into other blocks than they were."""
    if blocks[0] != blocks[1]:
        yield (
            f"draws are now made {blocks[1]} to a block and were made {blocks[0]} to a block, so "
            "the streams differ: the mechanism gained or lost its size= argument"
        )


def read_record(
    mechanism: object, record: ResultRecord, workers: int, timeout: float
) -> tuple[AuditFacts, Sampler]:
    """What one entry of `results` asked and counted, and what makes its draws again.

    Raises EvidenceFormatError when it is malformed.
    """
    with damage():
        facts = read_facts(record)
        if not facts.judged:
            raise EvidenceFormatError("the evidence holds no counts, so there is nothing to replay")
        require(workers=workers, timeout=timeout)
        subject: Mechanism = request.subject(mechanism, "", facts.target, facts.seeded)
        try:
            Budget(trials=int(facts.plan["trials"]), alpha=facts.alpha, seed=facts.seed)
        except InvalidArgument as error:
            raise EvidenceFormatError(f"the evidence has an impossible value: {error}") from None
        sampler = Sampler(
            run=subject.run,
            seed=facts.seed,
            seeded=facts.seeded,
            workers=workers,
            limit=timeout,
            exceptions="output" if facts.plan.get("exceptions") == "output" else "error",
            trust_rows=bool(facts.plan.get("trust_rows", False)),
        )
        return facts, sampler


@contextmanager
def damage() -> Iterator[None]:
    """Failures to read a record as EvidenceFormatError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(
            f"the evidence lacks a needed field or has one of the wrong kind ({error!r:.120})"
        ) from None
