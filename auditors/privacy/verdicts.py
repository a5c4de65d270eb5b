"""The last steps of an audit: a smaller pair for what was refuted, the power for what was not."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf, log10
from time import monotonic
from typing import Any

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..bounds import two_sample
from ..choosing.choose import Lesson
from ..databases.neighbours import Source
from ..outputs.encoding import identity
from ..results.results import AuditResult, Count, Evidence, Look, Pair, Verdict
from ..sampling.fingerprint import fingerprint
from ..sampling.kept import Keeping
from ..sampling.sampling import OutOfTime, Sampler
from ..search.hunt import Found
from ..search.plan import SearchPlan
from ..search.shrink import shrink
from . import power
from .attempt import LAST, Test, totals
from .betting import moments_bet_on, moments_beyond, share
from .budget import GROSS, WORST, Allowance, Budget
from .judge import Judging
from .planning import KEPT_BACK, Price, trials_within
from .request import News
from .sketch import sketch

LARGE_DELTA = 0.25

SOON = 2048
"""A claim refuted after so few draws a side is grossly violated."""
AFTER, AFTER_GROSS = 64, 16
"""How many times the draws that refuted a claim may follow: where the violation is not gross, and
where it is."""
FIRST = 32
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

OUT_OF_TIME = "the time budget ran out before the planned draws were made"
USEFUL = (2.0, 0.5)
"""A run says something useful if it could have refuted 2 epsilon + 0.5 by a usual event."""

NO_RETURN = (
    "every output was None, as from a function that forgot its return statement; return what is "
    "released"
)
ONLY_NAN = (
    "every output was NaN, so none of them says anything of a database; let the mechanism return "
    "numbers"
)
TYPES = "the Python type of the outputs alone breaks the claim"
NOT_READ = (
    "nobody read the outputs as a whole, see power; let the mechanism return numbers, texts or "
    "collections of them"
)


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


def conclude(audit: Audit, found: Found | None, judging: Judging) -> AuditResult:
    """The result of an audit whose pair has been judged, after all that follows a refutation."""
    if not judging.refuted:
        return _not_refuted(audit, judging)
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
    result = _result(audit, judging, Verdict.REFUTED)
    if small is None:
        return replace(result, witness=result.worst)
    largest = max(result.epsilon_lower, small.epsilon_lower)
    # The picture is of the pair that is shown.
    return replace(result, witness=small.worst, sketch=small.sketch, epsilon_lower=largest)


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
) -> AuditResult | None:
    """The audit of a smaller pair that breaks the claim by a count of its own; None for none.

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

    *way, _ = shrink(source, found, refutes)
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
    return _result(audit, counting, Verdict.REFUTED)


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
        unlikely = unlikely and beyond < 0
        if 2 * draws > most or (unlikely and draws >= LEAST // 2):
            return False
        lesson.add(first[draws:], second[draws:])
        draws, chunk = 2 * draws, chunk + 1
    return False


def _not_refuted(audit: Audit, judging: Judging) -> AuditResult:
    """The result of an audit that found nothing, with what it could have found."""
    result = _unsaid(audit, judging)
    note = "; ".join(filter(None, (result.note, _types(audit, judging))))
    return replace(result, note=note)


def _unsaid(audit: Audit, judging: Judging) -> AuditResult:
    verdict = Verdict.NOT_REFUTED
    if not judging.complete:
        verdict = Verdict.INCONCLUSIVE
        audit = replace(audit, note=OUT_OF_TIME)
    if all(side.nothing_but_none for side in judging.shown):
        verdict = Verdict.INCONCLUSIVE
        audit = replace(audit, note=NO_RETURN)
    elif all(side.nothing_but_nan for side in judging.shown):
        verdict = Verdict.INCONCLUSIVE
        audit = replace(audit, note=ONLY_NAN)
    elif judging.unread:
        verdict = Verdict.INCONCLUSIVE
        audit = replace(audit, note=NOT_READ)
    result = _with_power(_result(audit, judging, verdict), judging)
    if judging.unread:
        # Nobody could say what would have been seen of outputs that are not looked into.
        result = replace(result, unread=judging.unread, power=(), detectable_epsilon=inf,
                         detectable_probability=inf, learning=None)  # fmt: skip
        return result
    if verdict is Verdict.NOT_REFUTED and not useful(result.power, audit.claim):
        factor, addend = USEFUL
        told = f"epsilon {factor * audit.claim.epsilon + addend:g} by an event of probability "
        told += f"{usual(audit.claim.delta):g}"
        note = f"too few trials to have refuted even {told}; give more"
        return replace(result, verdict=Verdict.INCONCLUSIVE, note=result.note or note)
    return result


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


def usual(delta: float) -> float:
    """The probability of an event by which runs are compared: a half, or more where delta is large.

    How much a budget can show is asked of this event, which is the same for every run. The event
    counted last says it no better: where nothing is wrong all are much alike, and which of them is
    learnt, a likely one or a rare one, is luck.
    """
    return 0.5 if delta < LARGE_DELTA else two_digits((1 + delta) / 2)


def useful(figures: tuple[tuple[float, float], ...], claim: PrivacyClaim) -> bool:
    """Whether the run could have refuted something worth the name by an event of usual size."""
    factor, addend = USEFUL
    seen = dict(figures).get(usual(claim.delta), inf)
    return seen <= factor * claim.epsilon + addend


def _with_power(result: AuditResult, judging: Judging) -> AuditResult:
    """The same result with what its last attempt could have refuted.

    Given all that came before it, the last attempt refutes an event with these probabilities with
    probability 0.9, and so does the audit. It makes one look, or four where few draws are foreseen
    to do; the figures are for four, which see a little less. They grow as the event gets rarer, so
    an event of usual size and two rarer ones stand beside the one that was counted. A value that
    is impossible on the other side must be noticed among the draws that teach and then refute.
    """
    last = judging.last
    if last is None or not last.looks:
        return result
    claim, trials = result.claim, last.planned[-1][0]
    spent = sum(level for _, level in last.planned)
    figures, judged = figures_of(claim, last.looks[-1], trials=trials, spent=spent)
    probability = power.detectable_probability(
        (trials, trials),
        epsilon=claim.epsilon,
        delta=claim.delta,
        level=spent,
        distance=claim.steps,
        noticed=judging.lesson.noticing(
            trials=trials, delta=judging.test.null[1], level=spent
        ).chance,
    )
    return replace(
        result,
        power=figures,
        detectable_epsilon=judged,
        detectable_probability=probability,
        learning=judging.learning(),
    )


def figures_of(
    claim: PrivacyClaim, look: Look, *, trials: int, spent: float
) -> tuple[tuple[tuple[float, float], ...], float]:
    """What a last attempt on `trials` draws a side could have refuted, `spent` being its level.

    (probability, epsilon) of the event counted at its last look, of one of usual size and of two
    rarer ones, the likeliest first; and the epsilon of the counted one by itself.
    """
    level = power.one_look_level(tuple((part, share * spent) for part, share in LAST))

    def figure(p: float) -> float:
        return power.refutable_epsilon(
            p,
            (trials, trials),
            epsilon=claim.epsilon,
            delta=claim.delta,
            level=level,
            distance=claim.steps,
        )

    # The event counted last is as likely as it was seen to be, in two digits; never seen says
    # nothing.
    judged = two_digits(max(look.hits[0], 1) / look.trials[0])
    magnitude = floor(log10(judged / 10) + 1e-9)
    rates = {judged, usual(claim.delta), 10.0**magnitude, 10.0 ** (magnitude - 1)}
    figures = {p: figure(p) for p in sorted(rates, reverse=True)}
    return tuple(figures.items()), figures[judged]


def two_digits(p: float) -> float:
    """A probability rounded up to two digits, as it is told: "or more" stays true."""
    if not 0 < p < 1:
        return p
    digits = 1 - floor(log10(p))
    return min(round(ceil(p * 10**digits - 1e-9) / 10**digits, digits), 1.0)


def _result(audit: Audit, judging: Judging, verdict: Verdict) -> AuditResult:
    sampler, best = audit.sampler, judging.best
    counts: tuple[Count, ...] = ()
    level, bound = judging.test.alpha, -inf
    event, turned = judging.choice.event, judging.choice.reversed
    if best is not None:
        one, number = best
        counts = one.counts if one.bets is not None else one.counts[:number]
        look = one.looks[number - 1]
        level, bound = look.level, look.epsilon_lower
        event, turned = one.choice.event, one.choice.reversed
        assert totals(counts) == (look.hits, look.trials)
    sides = judging.shown[::-1] if turned and verdict is Verdict.REFUTED else judging.shown
    return AuditResult(
        mechanism=audit.subject.name,
        target=audit.target,
        claim=audit.claim,
        verdict=verdict,
        epsilon_lower=bound,
        detectable_epsilon=inf,
        detectable_probability=inf,
        pair=judging.pair,
        witness=None,
        evidence=Evidence(
            counts=counts,
            alpha=audit.budget.alpha,
            level=level,
            looks=judging.looks,
            decided_after=judging.decided_after,
            bets=judging.bets,
        ),
        draws=sampler.tally.draws,
        seed=sampler.seed,
        seconds=audit.clock.spent(),
        seeded=sampler.seeded,
        note=audit.note,
        growth=_growth(judging),
        sketch=sketch(event, *sides),
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
            **({"tape": judging.tape} if judging.tape else {}),
            "search": _searched(audit),
        },
        judged=judging.counts,
        source=fingerprint(audit.subject.run),
    )


def _searched(audit: Audit) -> str:
    """Where the pair came from: whether a record alone tells how it was searched for."""
    if audit.given is not None:
        return "given"
    return "own" if audit.own and not audit.bounding else "asked"


def _growth(judging: Judging) -> tuple[tuple[int, float], ...]:
    """(draws a side, largest bound so far) at every look; all hold together."""
    points, highest = [], 0.0
    for look in judging.looks:
        highest = max(highest, look.epsilon_lower)
        points.append((look.draws, highest))
    return tuple(points)
