"""What a record says that it asked, checked against what such an audit asks; each fault is named.

The counts are made again by `replay`, and what follows from them is derived. Left to check here is
what was planned before the counts: looks and their levels, which are those that the scheme of
`judge` may spend, so that a record cannot buy its verdict with a level of its own; the part of the
bets; the mechanism and its version, the words of its claim and the distance of the pairs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isclose
from typing import Any

from ...mechanisms.model import Choices, Mechanism, Pair, PrivacyClaim, Relation, Value, lines_of
from ..bounds.power import Plan, early_looks
from ..choosing.choose import Choice
from ..databases.records import HISTOGRAMS, require_neighbours
from ..errors import InvalidArgument
from ..evidence.derive import BET, UNSAID, looks_at
from ..outputs.encoding import canonical
from ..results.results import AuditFacts, Bets, Count, ExactResult
from ..sampling.fingerprint import fingerprint
from ..tape.exact import Checked
from .attempt import Test, foreseen, last_plan
from .betting import share
from .budget import WORST
from .judge import MOST_EARLY, early_share

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


DOMAINS = {"value": Value(row=Choices(values=(0, 1))), "histogram": HISTOGRAMS}


def pair_again(
    pair: Pair, claim: PrivacyClaim, subject: Mechanism, domain: str, place: str
) -> Iterator[str]:
    """Whether the databases are as near as the claim says."""
    known: Any = subject.databases
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
