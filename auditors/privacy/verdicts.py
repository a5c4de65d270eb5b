"""The last steps of an audit: a smaller pair for what was refuted, the power for what was not."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import Any

from ...mechanisms.model import Mechanism, Pair, PrivacyClaim
from ..bounds import two_sample
from ..choosing.choose import Choice, Lesson
from ..databases.neighbours import Source
from ..evidence.derive import NO_RETURN, NOT_READ, ONLY_NAN, OUT_OF_TIME, moments_bet_on
from ..outputs.encoding import identity
from ..results.results import AuditFacts, Count, Sketch, Smaller
from ..sampling.fingerprint import fingerprint
from ..sampling.kept import Keeping
from ..sampling.sampling import OutOfTime, Sampler
from ..search.scout import Found, SearchPlan
from ..search.shrink import shrink
from .attempt import Test
from .betting import moments_beyond, share
from .budget import GROSS, WORST, Allowance, Budget
from .judge import Judging
from .planning import KEPT_BACK, Price, trials_within
from .request import News
from .sketch import sketch

SOON = 2048
"""A claim refuted after so few draws a side is grossly violated."""
AFTER, AFTER_GROSS = 64, 16
"""How many times the draws that refuted a claim may follow: where the violation is not gross, and
where it is."""
FIRST = 32
"""Draws a side of the first lesson about a smaller pair."""
UNLIKELY = -1.0
"""Score below which a count of a smaller pair speaks for the claim."""
DEAREST = 8
"""One smaller pair may be tried on one part in so many of what is left, counted a side."""
DOWN = 0.75
"""Part of the draws for a smaller pair that goes into finding it; the rest counts it."""
MARGIN = 2
"""A count of a pair is given so many times the draws that asking about it took, at least."""
LEAST = 256
"""Draws a side below which no smaller pair is counted."""
CLEAR = 4.0
"""Standard errors by which a moment is too large where a smaller pair is taken for bad."""
LOOSE = 1e-3
"""Level at which a smaller pair looks bad; it decides nothing."""

TYPES = "the Python type of the outputs alone breaks the claim"


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
    claim: PrivacyClaim
    budget: Budget
    given: Pair | None
    source: Source | None
    sampler: Sampler
    clock: Clock
    note: str = ""
    domain: str = ""
    """"value" where a whole database is one record, "histogram" where it counts them, for who
    checks how far a pair is apart."""
    bounding: bool = False
    """Whether only a bound is wanted: no smaller pair is asked for, and the hunt is thorough."""
    explain: bool | None = False
    """Whether the result says which lines spend the loss; None: if the claim is refuted."""
    own: bool = False
    """Whether the search follows from the mechanism and the budget alone, so that a record tells
    enough to make it again."""
    exact: bool | None = None
    """Whether exact laws are asked for; None tries them where that costs little."""
    patient: bool = False
    """Whether trying them may take long, because they are known to be found."""
    unsaid: bool = False
    """Whether nobody named a relation, and the given pair is of none that is known."""
    databases: Any = None
    """The domain that the pairs come from, if it is one."""
    searched: int | None = None
    """Outputs that there is time to search with, where calls are slow."""
    price: Price | None = None
    """What a draw costs, if there is a time limit."""
    news: News | None = None
    kept: Keeping | None = None

    @property
    def test(self) -> Test:
        """The test of the worst pair: all of alpha where no smaller pair will be asked for."""
        share = WORST if self.source is not None and not self.bounding else 1.0
        return Test(claim=self.claim, trials=self.budget.trials, alpha=share * self.budget.alpha)

    @property
    def plan(self) -> SearchPlan:
        """How much the search may draw; where the largest bound is wanted it goes on to the end."""
        largest = self.bounding or self.budget.precision == 0
        brief = self.budget.precision is None
        whole = SearchPlan.for_trials(self.budget.trials, thorough=largest, brief=brief)
        return whole if self.searched is None else whole.within(self.searched)


def conclude(audit: Audit, found: Found | None, judging: Judging) -> AuditFacts:
    """What is known of an audit whose pair has been judged, after all that follows a refutation."""
    if not judging.refuted:
        return _facts(audit, judging)
    tally = audit.sampler.tally
    after = _after(tally.draws, judging.decided_after or 0)
    after = max(0, min(after, audit.budget.everything - tally.draws, _affordable(audit)))
    rest = Allowance(tally, after)
    small = None
    wanted = audit.source is not None and found is not None and not audit.bounding
    if wanted and audit.source is not None and found is not None and after:
        share = Allowance(tally, min(audit.budget.shrinking, after // 2))
        with suppress(OutOfTime):
            small = _smallest(audit, audit.source, found, judging, share)
    if audit.budget.precision and after:
        # A finer wish than the usual one may cost what it costs, but for time.
        finer = max(1.0, (Budget().precision or 1.0) / audit.budget.precision) ** 2
        with suppress(OutOfTime):
            judging.sharpen(min(int(finer * rest.left), _affordable(audit)) // 2)
        audit.sampler.gate(refuted=True)
    facts = _facts(audit, judging)
    if small is None:
        return facts
    # The picture is of the pair that is shown.
    smaller = Smaller(
        pair=small.pair, trials=small.test.trials, judged=small.counts, bets=small.bets
    )
    return replace(facts, smaller=smaller, sketch=_picture(small))


def _affordable(audit: Audit) -> int:
    """Outputs, of both sides, that there is time for, with making some of them again."""
    if audit.price is None or audit.clock.seconds is None:
        return 2 * audit.budget.everything
    left = (1 - KEPT_BACK) * audit.clock.seconds - audit.clock.spent()
    trials = trials_within(left, audit.price)
    return 2 * trials if trials > 2 else 0


def _after(spent: int, decided: int) -> int:
    """Outputs, of both sides, for what follows a refutation after `decided` draws a side.

    Where finding it was cheap, the whole audit stays within GROSS, unless a pair is dear to ask
    about; where the search was long, half as much again may follow.
    """
    cheap = spent <= 0.75 * GROSS
    after = GROSS - spent if cheap else spent // 2
    return max(after, (AFTER_GROSS if decided <= SOON else AFTER) * 2 * decided)


def _smallest(
    audit: Audit, source: Source, found: Found, judging: Judging, allowance: Allowance
) -> Judging | None:
    """The judging of a smaller pair that breaks the claim by a count of its own; None for none.

    It is the smallest that what is left can be expected to refute, from what asking about it took.
    """
    most = max(LEAST, 4 * (judging.decided_after or 0))
    going_down = Allowance(audit.sampler.tally, int(DOWN * allowance.left))
    paid: dict[tuple[bytes, bytes], int] = {}

    def refutes(pair: Pair) -> bool:
        before = going_down.left
        answer = _still_refutes(audit, pair, going_down, most)
        paid[_key(pair)] = before - going_down.left
        return answer

    *way, _ = shrink(source, found, refutes, late=audit.clock.late)
    if not way or allowance.left < 2 * LEAST or audit.clock.late():
        return None
    able = [pair for pair in way if MARGIN * paid[_key(pair)] <= allowance.left]
    small = able[0] if able else min(way, key=lambda pair: paid[_key(pair)])
    trials = allowance.left // 2
    alpha = (1 - WORST) * audit.budget.alpha
    counting = Judging(
        audit.sampler,
        small,
        Test(claim=audit.claim, trials=trials, alpha=alpha),
        precision=audit.budget.precision or None,
        out_of_time=audit.clock.late,
    )
    counting.run()
    audit.sampler.gate(refuted=counting.refuted)
    if not counting.refuted:
        return None
    counting.sharpen(allowance.left // 2)
    audit.sampler.gate(refuted=True)
    return counting


def _key(pair: Pair) -> tuple[bytes, bytes]:
    return identity(pair.database), identity(pair.neighbour)


def _still_refutes(audit: Audit, pair: Pair, allowance: Allowance, most: int) -> bool:
    """Whether cheap draws of this pair speak against the claim.

    Draws double until the claim is rejected, or is foreseen never to be. This only guides the
    way down; the pair it ends on is counted again.
    """
    if identity(pair.database) == identity(pair.neighbour):
        return False
    (epsilon, delta), lesson, draws, chunk = audit.test.null, Lesson(), FIRST, 0
    moments = moments_bet_on(audit.claim)
    most = min(most, max(FIRST, allowance.left // DEAREST))
    while allowance.pays(2 * draws) and not audit.clock.late():
        first, second = audit.sampler.draw(pair, "shrink", chunk, 2 * draws)
        lesson.add(first[:draws], second[:draws])
        choice = lesson.choice(epsilon=epsilon, delta=delta, trials=draws, level=LOOSE)
        sides = (second, first) if choice.reversed else (first, second)
        x, y = (int(choice.event.contains(side[draws:]).sum()) for side in sides)
        known = lesson.partition(choice.event)
        beyond = moments_beyond(*known, moments) if moments else -inf
        against = {"epsilon": epsilon, "delta": delta, "level": LOOSE}
        if beyond > CLEAR or two_sample.rejects((x, y), (draws, draws), **against):
            return True
        z = two_sample.normal_z((x, y), (draws, draws), epsilon, delta)
        unlikely = z < UNLIKELY or choice.predicted + 2 * choice.spread < epsilon
        unlikely = unlikely and beyond < -1
        # Few draws show nothing of a moment, whose function of the output must be learnt.
        early = max(LEAST // 2, most // DEAREST**2 if moments else 0)
        if 2 * draws > most or (unlikely and draws >= early):
            return False
        lesson.add(first[draws:], second[draws:])
        draws, chunk = 2 * draws, chunk + 1
    return False


def _types(audit: Audit, judging: Judging) -> str:
    """What the types of the outputs say where they tell more than the claim allows; else "".

    No verdict: the attacker who is asked for judges values, and who sees types is another.
    """
    one, two = (side.types for side in judging.shown)
    if one is None or two is None or not one.count or not two.count:
        return ""
    (epsilon, delta), sizes = audit.test.null, (one.count, two.count)
    names = sorted({*one.compact().names, *two.compact().names})
    for name in names if len(names) > 1 else ():
        x, y = (
            int((side.codes == side.names.index(name)).sum()) if name in side.names else 0
            for side in (one, two)
        )
        for hits, trials in (((x, y), sizes), ((y, x), sizes[::-1])):
            level = audit.budget.alpha / (2 * len(names))
            if two_sample.rejects(hits, trials, epsilon=epsilon, delta=delta, level=level):
                return (
                    f"{TYPES}: {x:,} of {sizes[0]:,} outputs from D are of type {name:.100}, and "
                    f"{y:,} of {sizes[1]:,} from D'; values are judged here and types are not, so "
                    "return one type, as float(x) does, or audit with attacker types"
                )
    return ""


def _unsaid(judging: Judging) -> str:
    """Why an audit that found nothing says nothing, whatever its power; "" if it says something."""
    if all(side.nothing_but_none for side in judging.shown):
        return NO_RETURN
    if all(side.nothing_but_nan for side in judging.shown):
        return ONLY_NAN
    if judging.unread:
        return NOT_READ
    return "" if judging.complete else OUT_OF_TIME


def _picture(judging: Judging) -> Sketch | None:
    """The outputs of the pair and the event of its bound, of a refutation the likelier first."""
    counts = judging.evidence.counts
    shown: Choice | Count = counts[-1] if counts else judging.choice
    turned = shown.reversed and judging.refuted
    return sketch(shown.event, *judging.shown[:: -1 if turned else 1])


def _facts(audit: Audit, judging: Judging) -> AuditFacts:
    """What was asked and counted on the pair that was judged."""
    sampler, stands = audit.sampler, not judging.refuted
    return AuditFacts(
        mechanism=audit.subject.name,
        target=audit.target,
        claim=audit.claim,
        pair=judging.pair,
        alpha=audit.budget.alpha,
        judged=judging.counts,
        bets=judging.bets,
        draws=sampler.tally.draws,
        seed=sampler.seed,
        seconds=audit.clock.spent(),
        seeded=sampler.seeded,
        remark=(stands and _unsaid(judging)) or audit.note,
        types=_types(audit, judging) if stands else "",
        sketch=_picture(judging),
        plan={
            "trials": audit.budget.trials,
            "precision": audit.budget.precision,
            "betting": 0.0
            if judging.betting is None
            else share(audit.budget.precision, audit.claim, seeded=sampler.seeded),
            "block": sampler.block,
            "vectorised": sampler.vectorised,
            "trust_rows": sampler.vectorised and sampler.trust_rows,
            "made_again": sampler.seeded and sampler.door.remakes,
            **({} if sampler.exceptions == "error" else {"exceptions": sampler.exceptions}),
            **({"domain": audit.domain} if audit.domain else {}),
            **({"relation": "unsaid"} if audit.unsaid else {}),
            **({"tape": judging.tape} if judging.tape else {}),
            "search": _searched(audit),
        },
        source=fingerprint(audit.subject.run),
        learning=judging.learning() if stands else None,
        unread=judging.unread if stands else "",
    )


def _searched(audit: Audit) -> str:
    """Where the pair came from: whether a record alone tells how it was searched for."""
    if audit.given is not None:
        return "given"
    return "own" if audit.own and not audit.bounding else "asked"
