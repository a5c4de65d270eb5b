"""Counting again: the same events on the same streams must give the same integers.

What follows from the integers is worked out by `evidence.derive`, from those that are recorded and
from those that come out now alike.

**What was asked** is checked against what such an audit asks; each fault is named. The counts are
made again by `replay`, and what follows from them is derived. Left to check here is what was
planned before the counts: looks and their levels, which are those that the scheme of `judge` may
spend, so that a record cannot buy its verdict with a level of its own; the part of the bets; the
mechanism and its version, the words of its claim and the distance of the pairs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from math import isclose

from ...mechanisms.model import Choices, Mechanism, Pair, PrivacyClaim, Relation, Value, lines_of
from ..asked import Budget, require
from ..bounds.power import Plan, early_looks
from ..choosing.choose import Choice
from ..databases.distance import HISTOGRAMS, require_neighbours
from ..errors import EvidenceFormatError, InvalidArgument
from ..evidence.conversion import read_facts
from ..evidence.derive import BET, UNSAID, derive, looks_at
from ..evidence.record import ResultRecord
from ..outputs.encoding import canonical
from ..results.results import AuditFacts, Bets, Count, ExactResult, Verdict
from ..sampling.fingerprint import fingerprint
from ..sampling.sampling import Sampler
from ..tape.exact import Checked, exact_pair
from . import request
from .attempt import Test, foreseen, in_groups, last_plan
from .judge import MOST_EARLY, early_share
from .planning import WORST, share

LAWS_BELIEVED = ("exact.scope", "exact.pairs", "exact.runs", "exact.outcomes", "exact.asked")
"""What the laws of the worst pair alone do not decide."""
NOT_RECOMPUTED = (
    "draws", "seconds", "learning", "reached", "unread", "types", "sketch", "replay", "environment",
    "cause",
)  # fmt: skip
"""Fields that counting again cannot decide: they are read from the file, and believed.

Where the record holds all that was asked the whole audit is made again (`rerun`), and only the
seconds, the words of the target and of the replay, and the environment are believed.
"""
INPUTS = (
    "claim", "plan.trials", "plan.precision", "plan.vectorised", "plan.search",
    "evidence.counts.predicted", "evidence.counts.spread", "evidence.counts.rates",
    "evidence.bets.partitions", "evidence.bets.batches.f", "evidence.bets.batches.g",
    "smaller.bets.partitions", "smaller.bets.batches.f", "smaller.bets.batches.g",
)  # fmt: skip
"""What was asked and what was foreseen. A change is named where a plan of looks follows from it, or
the draws of a batch: a cell that no draw fell into decides nothing, whatever was bet on it."""
OBSERVED = ("plan.made_again", "plan.rng", "plan.globals")
"""What the run saw beside the counts. Every audit says it, and nothing follows from it."""
BELIEVED = ("target", *NOT_RECOMPUTED, *INPUTS, *OBSERVED)
REPEATED = ("target", *NOT_RECOMPUTED, "claim", "plan", "evidence", "pair", "seed")
"""The same for a mechanism with randomness of its own: the experiment is made once more, and no
count of the first has anything to be compared with."""
CLOSE = 1e-9
"""Part of itself by which a level may differ by rounding."""
FITTED = " trials a side instead of "
"""In the remark of an audit whose trials a clock decided."""
DOMAINS = {"value": Value(row=Choices(values=(0, 1))), "histogram": HISTOGRAMS}
"""Domains that a record names itself, with which the distance of its pair is counted."""


# Counting again. ---------------------------------------------------------------------------------


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
    believed: tuple[str, ...] = BELIEVED

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
    `NOT_RECOMPUTED`. Raises EvidenceFormatError when the record is malformed and
    ContractError when the mechanism fails.
    """
    facts, sampler = read_record(mechanism, record, workers, timeout)
    with damage():
        subject = request.subject(mechanism, name, facts.target, facts.seeded)
        stated = [*asked_for(facts, subject, name or subject.name)]
    differences = [*_moved((int(facts.plan["block"]), sampler.block))]
    judged, bets = _again(sampler, facts.pair, facts.judged, facts.bets, differences)
    again = replace(facts, judged=judged, bets=bets)
    if (small := facts.smaller) is not None:
        judged, bets = _again(sampler, small.pair, small.judged, small.bets, differences)
        again = replace(again, smaller=replace(small, judged=judged, bets=bets))
    if facts.exact is not None:
        found = exact_pair(sampler, facts.exact.pair, facts.claim)
        sampler.door.close()
        stated += law_again(facts.exact, found)
    with damage():
        if not sampler.seeded and _is_seeded(sampler, facts.pair, facts.judged):
            stated.append("seeded: recorded as false, but the recorded streams give these counts")
        now = derive(again)
    counts = now.evidence.counts
    if now.witness is not None and now.witness.evidence not in (None, now.evidence):
        counts += now.witness.evidence.counts
    believed = BELIEVED if sampler.seeded else REPEATED
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


# What was asked. ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """All counts of one pair, with what they were allowed to cost.

    `alphas` are the error probabilities that the judging may have started with, of which bets had
    this `part`.
    """

    place: str
    pair: Pair
    judged: tuple[Count, ...]
    bets: Bets | None
    test: Test
    alphas: tuple[float, ...]
    part: float
    precision: float | None


def countings(facts: AuditFacts) -> Iterator[Counting]:
    """The worst pair, and the smaller one where there is one."""
    alpha, precision = facts.alpha, facts.plan.get("precision", 0.05)
    yield Counting(
        place="evidence",
        pair=facts.pair,
        judged=facts.judged,
        bets=facts.bets,
        test=Test(claim=facts.claim, trials=int(facts.plan["trials"]), alpha=alpha),
        alphas=(alpha, WORST * alpha),
        part=float(facts.plan.get("betting", 0.0)),
        precision=precision,
    )
    if (small := facts.smaller) is not None:
        # It is judged until it is refuted, where the other is counted to the end.
        part = (
            share(precision or None, facts.claim, seeded=facts.seeded)
            if "betting" in facts.plan
            else 0.0
        )
        yield Counting(
            place="smaller",
            pair=small.pair,
            judged=small.judged,
            bets=small.bets,
            test=Test(claim=facts.claim, trials=small.trials, alpha=(1 - WORST) * alpha),
            alphas=((1 - WORST) * alpha,),
            part=part,
            precision=precision or None,
        )


def asked_for(facts: AuditFacts, subject: Mechanism, name: str) -> Iterator[str]:
    """What in the record no audit of this mechanism asks."""
    plan, domain = facts.plan, str(facts.plan.get("domain", ""))
    yield from mechanism_again(facts, subject, name)
    yield from words_again(facts.claim, subject)
    yield from point_again(facts.claim)
    part = share(plan.get("precision", 0.05), facts.claim, seeded=facts.seeded)
    if plan.get("betting", 0.0) not in (0.0, part):
        yield f"plan.betting: {_short(plan['betting'])} is no part of alpha that bets may have"
    refuted = []
    for one in countings(facts):
        yield from pair_again(one.pair, facts.claim, subject, domain, one.place)
        yield from bets_again(one)
        yield from looks_again(one)
        looks = looks_at(one.judged, one.bets, facts.claim)
        refuted.append(any(look.epsilon_lower >= facts.claim.epsilon for look in looks))
    if facts.exact is not None:
        yield from pair_again(facts.exact.pair, facts.claim, subject, domain, "exact")
    if facts.draws < 2 * max(count.cost for count in facts.judged):
        yield f"draws: {facts.draws} are fewer than the looks of this pair took"
    if facts.smaller is not None and not all(refuted):
        yield "smaller: there is one exactly where both pairs refute the claim"
    rechecked = facts.judged[0].stage == "recheck"
    remark, trials = facts.remark, int(plan["trials"])
    fitted = remark.startswith(f"{trials}{FITTED}") and remark.endswith(", to fit the time budget")
    if not (rechecked or fitted or remark in ("" if all(refuted) else ("", *UNSAID))):
        yield f"remark: {_short(remark)} is none that such an audit makes"


def bets_again(one: Counting) -> Iterator[str]:
    """What the bets get wrong, beside the draws of each batch by cell."""
    counts, bets = [count for count in one.judged if count.stage == BET], one.bets
    if bets is None:
        if counts:
            yield f"{one.place}.counts: some are of bets, and there are none"
        return
    if not any(isclose(bets.level, one.part * alpha, rel_tol=CLOSE) for alpha in one.alphas):
        yield f"{one.place}.bets.level: {_short(bets.level)} is not what bets may spend"
    made = [(batch.chunk, batch.draws) for batch in bets.batches]
    shown = [(count.chunk, count.trials[0]) for count in counts]
    if (
        shown != made[-len(shown) :]
        or not shown
        or counts != list(one.judged[: len(counts)])
        or [chunk for chunk, _ in made] != sorted({chunk for chunk, _ in made})
    ):
        yield f"{one.place}.counts: not the last batches that were bet on"
    elif not sum(draws for _, draws in made) <= counts[-1].cost <= one.test.trials:
        yield f"{one.place}.cost: {counts[-1].cost} does not fit the batches or the trials"


def looks_again(one: Counting) -> Iterator[str]:
    """What was planned wrongly: the attempts, their costs, and the levels of their looks."""
    place, made = (
        f"{one.place}.counts",
        [list(group) for _, group in groupby(one.judged, key=lambda count: count.attempt)],
    )
    if [attempt[0].attempt for attempt in made] != list(range(len(made))):
        yield f"{place}.attempt: the attempts must be numbered from 0 in their order"
    for number, attempt in enumerate(made):
        if any(_fixed(count) != _fixed(attempt[0]) for count in attempt):
            yield (
                f"{place}: the counts of attempt {number} differ in what was fixed before it "
                "(stage, event, reversed, predicted, spread or rates)"
            )
        if any((count.level is None) is not (count.stage == BET) for count in attempt):
            yield f"{place}.level: every count has a look, but for those of bets"
            return
        before = attempt[0].cost - attempt[0].trials[0]
        for count in attempt:
            before += count.trials[0]
            if count.cost != before or not count.trials[0] <= before <= one.test.trials:
                yield f"{place}.cost: {count.cost} does not fit into {one.test.trials} trials"
    looks = looks_at(one.judged, one.bets, one.test.claim)
    rows = any(count.stage == "standing" for count in one.judged)
    if rows and any(look.epsilon_lower >= one.test.claim.epsilon for look in looks):
        yield f"{place}: rows, which only bound a claim that stands, are said to refute it"
    counted = [attempt for attempt in made if attempt[0].stage != BET]
    if counted and counted[0][0].stage != "recheck":
        found = [_levels(counted, one, (1 - one.part) * alpha) for alpha in one.alphas]
        if all(found):
            yield from found[-1]


def _fixed(count: Count) -> tuple[object, ...]:
    return (
        count.stage, count.event, count.reversed, count.predicted, count.spread, count.rates
    )  # fmt: skip


def _levels(attempts: Sequence[Sequence[Count]], one: Counting, left: float) -> list[str]:
    """Where the sizes and levels of the looks are not ones that the scheme plans."""
    wrong, part = [], early_share(one.precision)
    for number, attempt in enumerate(attempts):
        first, size, made = attempt[0], 0, []
        for count in attempt:
            size += count.trials[0]
            made.append((size, count.level or 0.0))
        choice = Choice(first.event, first.reversed, first.predicted, first.spread, first.rates)
        early = part * left
        plans: list[tuple[float, Plan]] = []
        needed = foreseen(choice, one.test.null, early)
        if number < MOST_EARLY and one.precision != 0 and needed < one.test.trials:
            plans.append((early, early_looks(needed, early)))
        draws = one.test.trials - (first.cost - first.trials[0])
        last = last_plan(
            choice, one.test.null, max(draws, 1), left, precision=one.precision, bet=one.part > 0
        )
        plans.append((left, last))
        plans.append((left, ((made[0][0], left),)))
        spent = next((level for level, plan in plans if _begins(plan, made)), None)
        if spent is None:
            wrong.append(
                f"{one.place}.level: the looks of attempt {number}, "
                f"{', '.join(f'{draws} draws at {level:.3g}' for draws, level in made)}, are not "
                f"ones that alpha {one.test.alpha:.3g}, the claim and the prediction lead to"
            )
            spent = early
        left = max(left - spent, 0.0)
    return wrong


def _begins(plan: Plan, made: Sequence[tuple[int, float]]) -> bool:
    return len(made) <= len(plan) and all(
        abs(planned - draws) <= 1 and isclose(level, share, rel_tol=CLOSE)
        for (planned, level), (draws, share) in zip(plan, made, strict=False)
    )


def law_again(told: ExactResult, found: Checked | str) -> Iterator[str]:
    """What a record gets wrong of the exact laws of its worst pair, `found` anew."""
    if isinstance(found, str):
        yield f"exact: the laws cannot be enumerated now: {found}"
        return
    if found.verdict is not told.verdict:
        word, law = told.verdict.value, found.verdict.value
        yield f"exact.event: by the record the claim is {word}, by the laws {law}"
        return
    for field in ("epsilon", "delta"):
        one, two = getattr(told, field), getattr(found, field)
        if one != two and not _near(one, two):
            yield f"exact.{field}: recorded {one!r}, the laws give {two!r}"
    if told.tail < found.tail and not _near(told.tail, found.tail):
        yield f"exact.tail: recorded {told.tail!r}, that of the pair is {found.tail!r}"
    if canonical((told.pair.database, told.pair.neighbour)) != canonical(
        (found.pair.database, found.pair.neighbour)
    ):
        yield "exact.pair: its worse order is the other one"
    if told.chances != found.chances:
        yield f"exact.chances: recorded {_short(told.chances)}, the laws give other ones"
    events = [None if one is None else one.to_json() for one in (told.event, found.event)]
    if canonical(events[0]) != canonical(events[1]):
        yield "exact.event: not the one of the laws"


def _near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


def point_again(claim: PrivacyClaim) -> Iterator[str]:
    """Whether epsilon and delta are a point of the curve that is claimed."""
    if claim.curve is None:
        return
    try:
        lines = lines_of(claim.curve, claim.distance)
    except ValueError as error:
        yield f"claim.curve: {error}"
        return
    if (claim.epsilon, claim.delta) not in lines:
        yield f"claim: epsilon and delta are no point of the curve, {claim.curve}, that is judged"


def words_again(claim: PrivacyClaim, subject: Mechanism) -> Iterator[str]:
    """Whether the words of the claim are ones that the mechanism says; a function says none."""
    own = [one for one in subject.claims if isinstance(one, PrivacyClaim)]
    for field in ("identifier", "statement", "reference"):
        said = {getattr(one, field) for one in own} or {""}
        if getattr(claim, field) not in said:
            yield f"claim.{field}: not what the mechanism says of its claim"


def mechanism_again(facts: AuditFacts, subject: Mechanism, name: str) -> Iterator[str]:
    """The name of the mechanism and the fingerprint of its code; an unknown name is ''."""
    if name and facts.mechanism != name:
        yield f"mechanism: recorded {_short(facts.mechanism)}, now {_short(name)}"
    now = fingerprint(subject.run)
    if facts.source != now:
        yield (
            f"source: the fingerprint of the code is now {now or 'unknown'}, recorded "
            f"{facts.source or 'unknown':.40}; the code is another version"
        )


def pair_again(
    pair: Pair, claim: PrivacyClaim, subject: Mechanism, domain: str, place: str
) -> Iterator[str]:
    """Whether the databases are as near as the claim says."""
    known: object = subject.databases
    if domain in DOMAINS:
        known = DOMAINS[domain]
    try:
        require_neighbours(pair, claim.relation, claim.distance, known)
    except InvalidArgument as error:
        if known is not None and domain not in DOMAINS and claim.relation is not Relation.DECLARED:
            try:
                require_neighbours(pair, claim.relation, claim.distance, None)
            except InvalidArgument:
                pass
            else:
                return
        yield f"{place}: {error}"


def _short(value: object) -> str:
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
