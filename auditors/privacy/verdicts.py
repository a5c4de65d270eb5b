"""The last steps of an audit: shrink and confirm what was refuted, size up what was not."""

from dataclasses import dataclass, field, replace
from math import exp, inf
from time import monotonic

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..bounds import two_sample
from ..databases.neighbours import Source
from ..events.choose import Choice
from ..events.pilot import MOST_FIT
from ..outputs.outputs import Outputs
from ..results import AuditResult, Count, Evidence, Pair, Verdict, Witness
from ..sampling.fingerprint import fingerprint
from ..sampling.sampling import Sampler
from ..search.hunt import Found
from ..search.plan import SearchPlan
from ..search.shrink import shrink
from . import power
from .confirm import confirm, confirm_size
from .judge import Judgement, Test, growth
from .sketch import sketch

__all__ = ["Audit", "Clock", "not_refuted", "refuted"]

MOST_EPSILON = 12.0
LEAST_STEP = 0.005
STEPS = 30

LESSON = 99
"""Chunk of the stage "shrink" that teaches the event to confirm; earlier ones only test."""

USEFUL = (2.0, 0.5)
"""A run says something useful if it could have refuted 2 epsilon + 0.5."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How much of a wall-clock budget is left; without a budget it is never late."""

    seconds: float | None
    started: float = field(default_factory=monotonic)

    def spent(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    def late(self, share: float = 1.0) -> bool:
        """Whether this share of the budget is used up."""
        return self.seconds is not None and self.spent() > share * self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What every step of one audit works with."""

    subject: Mechanism
    target: str
    source: Source | None
    sampler: Sampler
    test: Test
    clock: Clock
    note: str = ""

    @property
    def plan(self) -> SearchPlan:
        """How much the search may draw."""
        return SearchPlan.for_trials(self.test.trials)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A pair to confirm the refutation on, with the event and the draws that taught it."""

    pair: Pair
    choice: Choice
    first: Outputs
    second: Outputs


def refuted(audit: Audit, found: Found | None, pair: Pair, judgement: Judgement) -> AuditResult:
    """Shrink, then confirm on streams never used before; only that makes the verdict."""
    test = audit.test
    candidates = [_Candidate(pair, judgement.choice, judgement.first, judgement.second)]
    if audit.source is not None and found is not None and not audit.clock.late():
        candidates = _smallest(audit, audit.source, found, judgement) + candidates
    level = test.alpha / len(candidates)
    for chunk, candidate in enumerate(candidates):
        count, bound = confirm(
            audit.sampler,
            candidate.pair,
            candidate.choice,
            replace(test, alpha=level),
            chunk=chunk,
            draws=confirm_size(judgement, candidate.choice, test),
        )
        if bound >= test.claim.epsilon:
            return _result(audit, candidate, judgement, Verdict.REFUTED, (count,), level, bound)
    audit = replace(
        audit,
        note="the judged draws refuted the claim but the confirmation on new draws did not; "
        "run again with more trials",
    )
    return _result(audit, candidate, judgement, Verdict.INCONCLUSIVE, (count,), level, bound)


def _smallest(audit: Audit, source: Source, found: Found, judgement: Judgement) -> list[_Candidate]:
    """A smaller pair that still refutes, with the event learnt for it; none if there is none."""
    budget = min(audit.test.trials, max(8192, 4 * judgement.draws))

    def refutes(pair: Pair) -> bool:
        return _still_refutes(audit, pair, budget)

    small = shrink(source, found, refutes, seed=audit.sampler.seed)
    if small is found.pair:
        return []
    first, second = audit.sampler.draw(small, "shrink", LESSON, min(budget, 65536))
    return [_Candidate(small, audit.test.learn(first, second), first, second)]


def _still_refutes(audit: Audit, pair: Pair, budget: int) -> bool:
    """Whether cheap draws of this pair refute the claim.

    Draws grow fourfold until the claim is rejected, or is foreseen never to be.
    """
    epsilon, delta = audit.test.null
    draws, chunk = min(1024, budget), 0
    while True:
        first, second = audit.sampler.draw(pair, "shrink", chunk, 2 * draws)
        choice = audit.test.learn(first[:draws], second[:draws])
        sides = (second, first) if choice.reversed else (first, second)
        x, y = (int(choice.event.contains(side[draws:]).sum()) for side in sides)
        if two_sample.rejects(
            (x, y), (draws, draws), epsilon=epsilon, delta=delta, level=audit.test.alpha / 2
        ):
            return True
        hopeless = choice.predicted + 3 * choice.spread < epsilon and y > 30
        if draws >= budget or hopeless or audit.clock.late():
            return False
        draws, chunk = min(4 * draws, budget), chunk + 1


def not_refuted(audit: Audit, pair: Pair, judgement: Judgement) -> AuditResult:
    """The result of an audit that found nothing, with what it could have found."""
    verdict = Verdict.NOT_REFUTED
    if not judgement.complete:
        verdict = Verdict.INCONCLUSIVE
        audit = replace(audit, note="the time budget ran out before the planned draws were made")
    judged = _Candidate(pair, judgement.choice, judgement.first, judgement.second)
    counts, level = judgement.counts, judgement.level
    result = _result(audit, judged, judgement, verdict, counts, level, judgement.epsilon_lower)
    factor, addend = USEFUL
    useful = factor * audit.test.claim.epsilon + addend
    if verdict is Verdict.NOT_REFUTED and result.detectable_epsilon > useful:
        note = f"too few trials to have refuted even epsilon {useful:g}; give more"
        return replace(result, verdict=Verdict.INCONCLUSIVE, note=result.note or note)
    return result


def _power(
    audit: Audit, judgement: Judgement, counts: tuple[Count, ...], level: float
) -> tuple[float, float]:
    """(epsilon, probability of an impossible output) that this run would have refuted.

    The epsilon is for an event as likely as the one judged last. The impossible output must be
    noticed among the draws that taught the event of the largest chunk, and refute on that chunk.
    """
    if not counts:
        return inf, inf
    claim, last = audit.test.claim, counts[-1]
    everything = sum(count.trials[0] for count in counts)
    epsilon = _detectable(last.rates[0], everything, claim, level)
    probability = power.detectable_probability(
        last.trials,
        epsilon=claim.epsilon,
        delta=claim.delta,
        level=level,
        distance=claim.distance,
        learnt_on=max(2, min(len(judgement.first) // 3, MOST_FIT)),
    )
    return epsilon, probability


def _detectable(p: float, trials: int, claim: PrivacyClaim, level: float) -> float:
    """Smallest epsilon refuted with probability 0.9 by an event of probability p.

    It is the fixed point of the power at the other side's probability that the epsilon implies.
    """

    def needed(epsilon: float) -> float:
        total, delta = two_sample.at_distance(epsilon, claim.delta, claim.distance)
        return power.detectable_epsilon(
            (p, max(p - delta, 0.0) * exp(-total)),
            (trials, trials),
            epsilon=claim.epsilon,
            delta=claim.delta,
            level=level,
            distance=claim.distance,
        )

    # A larger epsilon means fewer hits on the other side and asks for more: the steps only rise.
    # An event so likely that the null leaves no room is tried at ever larger epsilons.
    epsilon = claim.epsilon
    for _ in range(STEPS):
        following = needed(epsilon)
        if following <= epsilon * (1 + 1e-4):
            return max(following, epsilon)
        room = following < inf
        epsilon = following if room else 2 * epsilon - claim.epsilon + LEAST_STEP
        if epsilon > claim.epsilon + MOST_EPSILON:
            return inf
    return epsilon


def _result(
    audit: Audit,
    judged: _Candidate,
    judgement: Judgement,
    verdict: Verdict,
    counts: tuple[Count, ...],
    level: float,
    bound: float,
) -> AuditResult:
    test, sampler = audit.test, audit.sampler
    detectable, seen = _power(audit, judgement, counts, level)
    event = counts[-1].event if counts else judgement.choice.event
    witness, sides = None, (judged.first, judged.second)
    if verdict is Verdict.REFUTED:
        turned = counts[-1].reversed
        likelier = judged.pair.reversed() if turned else judged.pair
        witness = Witness(database=likelier.database, neighbour=likelier.neighbour, event=event)
        sides = sides[::-1] if turned else sides
    return AuditResult(
        mechanism=audit.subject.name,
        target=audit.target,
        claim=test.claim,
        verdict=verdict,
        epsilon_lower=bound,
        detectable_epsilon=detectable,
        detectable_probability=seen,
        pair=judged.pair,
        witness=witness,
        evidence=Evidence(
            counts=counts,
            alpha=test.alpha,
            level=level,
            log_wealth=judgement.log_wealth,
            decided_after=judgement.decided_after,
        ),
        draws=sampler.tally.draws,
        seed=sampler.seed,
        seconds=audit.clock.spent(),
        seeded=sampler.seeded,
        note=audit.note,
        growth=growth(judgement.counts, test, judgement.level),
        sketch=sketch(event, *sides),
        plan={
            "trials": test.trials,
            "block": sampler.block,
            "vectorised": sampler.vectorised,
            **({} if sampler.exceptions == "error" else {"exceptions": sampler.exceptions}),
        },
        judged=judgement.counts,
        source=fingerprint(audit.subject.run),
    )
