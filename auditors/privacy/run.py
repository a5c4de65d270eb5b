"""One audit from end to end: search, judge, shrink, and say what could have been seen.

After a refutation a smaller pair is asked for and the bound sharpened; what was asked and counted
becomes the facts that everything told is derived from. An `Allowance` is the part of the draws that
one step may make: it reads the sampler's own tally, so that no draw escapes it.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from time import monotonic

from ...mechanisms.model import Pair
from ..arguments import asking
from ..asked import KEYWORDS, Budget
from ..choosing.choose import Choice, Lesson, learn
from ..databases.neighbours import Source
from ..errors import ContractError, InvalidArgument, MechanismDied, MechanismHangs
from ..evidence.derive import (
    NO_RETURN,
    NOT_READ,
    ONLY_NAN,
    OUT_OF_TIME,
    derive,
    moments_bet_on,
    rejected,
    rough_z,
)
from ..outputs.encoding import identity
from ..outputs.outputs import Outputs
from ..results.results import UNKNOWN, AuditFacts, AuditResult, Count, Sketch, Smaller
from ..sampling.calls import MechanismRaised
from ..sampling.fingerprint import fingerprint
from ..sampling.gate import pass_gate
from ..sampling.kept import KeptDraws
from ..sampling.sampling import OutOfTime, Tally
from ..search.hunt import hunt
from ..search.scout import Found
from ..search.shrink import shrink
from ..tape.exact import LONG, Wanted, with_exact
from ..tape.weighing import asked_draws
from . import request as asked
from .attempt import Test, moments_beyond
from .curves import at_point
from .judge import Judging
from .planning import (
    GROSS,
    KEPT_BACK,
    SEARCHING,
    WORST,
    share,
    trials_within,
)
from .preparing import Audit, Clock, fit_to_time, is_slow, last_moment, prepared, told_beforehand
from .request import AuditRequest, Progress
from .shown import cause_of, sketch

MOST_NAMED = 3
"""Files, databases and addresses that are named of those which the mechanism uses."""
CALLS_OF_LAWS, A_DRAW = 3_000_000, 1
"""Calls that trying the exact laws may take: so many at least, about half a second, and so many for
each draw, about a quarter of what an audit takes that draws rows. With as long again as the audit
they took a quarter of the CPU of the catalogue's audits (20,000 trials)."""
DEAR = 2e-6
"""CPU seconds that each of these calls may take on average, five to ten times what it does take.
They decide only if one call hides what others need ten for: then what is found depends on the
machine."""
SOON = 2048
"""A claim refuted after so few draws a side is grossly violated."""
AFTER, AFTER_GROSS = 64, 16
"""How many times the draws that refuted a claim may follow: where the violation is not gross, and
where it is."""
SMALL_FIRST = 32
"""Draws a side of the first lesson about a smaller pair."""
UNLIKELY = -1.0
"""Score below which a count of a smaller pair speaks for the claim."""
DEAREST = 8
"""One smaller pair may be tried on one part in so many of what is left, counted a side."""
DOWN = 0.75
"""Part of the draws for a smaller pair that goes into finding it; the rest counts it."""
MARGIN = 2
"""A count of a pair is given so many times the draws that asking about it took, at least."""
SMALL_LEAST = 256
"""Draws a side below which no smaller pair is counted."""
CLEAR = 4.0
"""Standard errors by which a moment is too large where a smaller pair is taken for bad."""
LOOSE = 1e-3
"""Level at which a smaller pair looks bad; it decides nothing."""
TYPES = "the Python type of the outputs alone breaks the claim"


# From a request to a result. ---------------------------------------------------------------------


@asking(AuditRequest, first=("epsilon",), told=KEYWORDS)
def audit(request: AuditRequest) -> AuditResult:
    """Audit one privacy claim of a mechanism: search a pair that breaks it, and test it there.

    Of a mechanism that states one epsilon, and curves beside it, the epsilon is audited. Raises
    InvalidArgument when it carries several and the arguments do not single one out: use
    `audit_claims` then.
    """
    audits = prepared(request, request.budget, request.epsilon, single=True)
    if len(audits) > 1:
        raise InvalidArgument(
            f"{audits[0].subject.name} has {len(audits)} privacy claims; call audit_claims for all "
            "of them, or single one out with epsilon=, delta= and relation=",
            keywords=("epsilon", "delta", "relation"),
        )
    with audits[0].sampler.engine.connected(request.workers):
        return run_audit(audits[0], request.progress)


@asking(AuditRequest, first=("epsilon",), told=KEYWORDS)
def audit_claims(request: AuditRequest) -> tuple[AuditResult, ...]:
    """Audit the privacy claims of a mechanism and return one result for each.

    The claims are those that the mechanism carries, or the one that the arguments state. Pairs of
    neighbouring databases are searched for among `databases`, or are the one `pair`.

    Raises InvalidArgument for a request that makes no sense and ContractError when the
    mechanism fails or is not a function of (database, rng).
    """
    audits = prepared(request, request.budget, request.epsilon)
    with audits[0].sampler.engine.connected(request.workers):
        return tuple(run_audit(one, request.progress) for one in audits)


def run_audit(audit: Audit, progress: Progress | None = None) -> AuditResult:
    """One audit from the check of the contract to its result, telling `progress` of its draws."""
    seconds, now = audit.budget.seconds, monotonic()
    begun = now if seconds is None else min(now, audit.clock.started)
    started = replace(audit, clock=Clock(seconds, begun))
    whole = False
    try:
        result = _run(started, progress)
        whole = not result.remark.startswith(OUT_OF_TIME)
        return result
    except ContractError as error:
        # What is no function of (database, rng) has no draws that anybody could judge.
        whole = not isinstance(error, (MechanismRaised, MechanismHangs, MechanismDied))
        raise
    finally:
        if not whole:
            _keep(started)
        audit.sampler.door.close()


def _keep(audit: Audit) -> None:
    """Hand on the draws of the pair that was judged, if there are any."""
    draws = audit.sampler.tally.kept
    if audit.kept is None or draws.pair is None or draws.claim is None:
        return
    if pairs := draws.pairs():
        audit.kept(
            KeptDraws(
                mechanism=audit.subject.name,
                target=audit.target,
                claim=draws.claim,
                pair=draws.pair,
                seed=audit.sampler.seed,
                spent=audit.budget.alpha,
                pairs=tuple(pairs),
            )
        )


def _report(audit: Audit, progress: Progress | None) -> None:
    """Have `progress` told of all draws from now on, and of how many there may be."""
    if progress is None:
        return
    tally = audit.sampler.tally
    searching = audit.plan.total if audit.source is not None else 0
    total = searching + audit.budget.deciding

    def tell(draws: int) -> None:
        stage = "searching" if tally.made < searching else "judging"
        progress(stage, min(tally.made, total), total)

    tally.listener = tell


def _run(audit: Audit, progress: Progress | None) -> AuditResult:
    _report(audit, progress)
    if audit.given is not None:
        pair = audit.given
    elif audit.source is not None:
        pair = audit.source.first(audit.sampler.seed)
    audit.sampler.check_call(pair)
    audit.sampler.tally.slow = is_slow(audit.sampler, pair)
    asked_for = audit.budget.trials
    audit = fit_to_time(audit, pair, asked_for)
    if audit.news is not None and audit.price is not None and audit.budget.trials < asked_for:
        audit.news("plan", told_beforehand(audit, audit.price))
    _report(audit, progress)
    found = None
    if audit.source is not None:
        found = _hunt(audit, audit.source)
        pair = found.pair
        if audit.searched is not None:
            # What the search took and what a call on this pair takes are known now.
            audit = fit_to_time(replace(audit, searched=0), pair, asked_for)
    taught, opening = (found.first, found.second) if found is not None else None, None
    if audit.claim.curve is not None:
        # The draws that tell the point teach, and are the first of the judging if none are yet.
        audit, opening = _pointed(audit, pair, taught)
    elif found is not None and found.enough:
        # The claim can be tried at once, on fresh draws, by an event learnt from these alone.
        opening, taught = taught, None
    judging = Judging(
        audit.sampler,
        pair,
        audit.test,
        precision=audit.budget.precision,
        bounding=audit.bounding,
        out_of_time=audit.clock.late,
        news=partial(_tell_known, audit),
    )
    tally = audit.sampler.tally
    if tally.slow:
        tally.kept.begin(pair, audit.claim)
    tally.late = last_moment(audit)
    tally.deciding.against(*audit.test.null)
    if audit.clock.seconds is not None:
        tally.deciding.within(audit.clock.seconds)
    judging.run(taught=taught, opening=opening)
    # No verdict before what was counted came out alike in a fresh process.
    pass_gate(audit.sampler, refuted=judging.refuted)
    facts = conclude(audit, found, judging)
    if outside := audit.sampler.door.outside():
        facts = replace(facts, plan={**facts.plan, "outside": list(outside[:MOST_NAMED])})
    facts = replace(facts, plan={**facts.plan, **_randomness(audit, pair)})
    result = derive(replace(facts, reached=found.reach if found is not None else None))
    unreadable = result.remark.startswith((NO_RETURN, ONLY_NAN, NOT_READ))
    other = audit.bounding or asked.attacker_of(audit.target) != "values"
    if audit.exact is not False and not (other or unreadable or audit.clock.late()):
        known = with_exact(result, audit.sampler, _wanted(audit, found, result))
        result = result if known is result else derive(known)
    cause = cause_of(result, audit.test.null, audit.sampler, audit.explain)
    # What exact laws and the cause take belongs to the audit as well.
    return replace(result, cause=cause, seconds=audit.clock.spent())


def _randomness(audit: Audit, pair: Pair) -> dict[str, list[str] | str | None]:
    """What calls on D and D' draw from the rng and from global generators.

    {} of a mechanism with randomness of its own; `UNKNOWN` if time is up or a call fails. Of a
    program nobody knows it: its rng is None.
    """
    sampler = audit.sampler
    if sampler.requests:
        return {"rng": None}
    if not sampler.seeded:
        return {}
    if audit.clock.late():
        return {"rng": UNKNOWN}
    try:
        given, others = sampler.door.ask(asked_draws, (pair.database, pair.neighbour), sampler.seed)
    except ContractError:
        return {"rng": UNKNOWN}
    return {"rng": given, **({"globals": others} if others else {})}


def _wanted(audit: Audit, found: Found | None, result: AuditResult) -> Wanted:
    """What the exact laws are asked for: the pairs that were judged, and others like them."""
    judged = [result.pair]
    if (small := result.witness) is not None:
        judged.append(Pair(small.database, small.neighbour))
    known = {frozenset(map(identity, (p.database, p.neighbour))): p for p in judged[::-1]}
    seen = found.scout.seen.values() if found is not None and found.scout is not None else ()
    calls = max(CALLS_OF_LAWS, A_DRAW * result.draws)
    until = inf
    if audit.clock.seconds is not None:
        until = audit.clock.started + audit.clock.seconds
    return Wanted(
        judged=tuple(known.values())[::-1],
        seen=tuple(one.pair for one in seen),
        domain=audit.databases,
        asked=bool(audit.exact),
        alone=audit.given is not None,
        calls=calls,
        seconds=max(LONG if audit.patient else 0.0, DEAR * calls),
        until=until,
    )


def _pointed(
    audit: Audit, pair: Pair, taught: tuple[Outputs, Outputs] | None
) -> tuple[Audit, tuple[Outputs, Outputs]]:
    """The audit of that point of its curve which draws look worst against, and these draws."""
    lesson, test = Lesson(), audit.test
    if taught is not None:
        lesson.add(*taught)
    draw = partial(audit.sampler.draw, pair, "pilot")
    claim, pilot = at_point(audit.claim, lesson, draw, trials=test.trials, level=test.alpha)
    return replace(audit, claim=claim), pilot


def _hunt(audit: Audit, source: Source) -> Found:
    """The worst pair for the claim; where only a bound is wanted, the one of the largest loss.

    In the second case a first hunt, against no loss at all, says about how much is lost, and a
    second one ranks the pairs by how far they exceed that.
    """
    epsilon, delta = audit.test.null
    allowance = Allowance(audit.sampler.tally, audit.budget.searching)
    found = None
    for _ in range(2 if audit.bounding else 1):
        following = hunt(
            audit.sampler,
            source,
            epsilon=epsilon,
            delta=delta,
            plan=audit.plan,
            out_of_time=lambda: audit.clock.late(SEARCHING + 0.05) or allowance.left == 0,
        )
        if found is None or _promise(audit, following) > _promise(audit, found):
            found = following
        epsilon = max(epsilon, _promise(audit, found))
    assert found is not None
    return found


def _promise(audit: Audit, found: Found) -> float:
    """The log-ratio that the draws of a found pair promise, a standard error below the guess."""
    epsilon, delta = audit.test.null
    choice = learn(
        found.first, found.second, epsilon=epsilon, delta=delta, trials=audit.budget.trials,
        level=audit.budget.alpha,
    )  # fmt: skip
    return choice.predicted - choice.spread


def _tell_known(audit: Audit, judging: Judging) -> None:
    """Tell how often the event learnt last happened among the draws that taught it."""
    if audit.news is None or not audit.sampler.tally.slow:
        return
    choice, draws = judging.choice, judging.lesson.draws
    p, q = choice.rates[::-1] if choice.reversed else choice.rates
    known = (
        f"{choice.event.describe()}: about {p:.2g} of D, {q:.2g} of D', {draws:,} runs per database"
    )
    audit.news("known", known)


# What follows the judging. -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allowance:
    """The outputs, of both sides together, that one step may draw from now on."""

    tally: Tally
    draws: int
    start: int = field(init=False)

    def __post_init__(self) -> None:
        """Remember where the tally stands."""
        object.__setattr__(self, "start", self.tally.draws)

    @property
    def left(self) -> int:
        """How many outputs may still be drawn; 0 when none."""
        return max(0, self.start + self.draws - self.tally.draws)

    def pays(self, draws: int) -> bool:
        """Whether `draws` outputs of each of two sides may still be drawn."""
        return 2 * draws <= self.left


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
        pass_gate(audit.sampler, refuted=True)
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
    most = max(SMALL_LEAST, 4 * (judging.decided_after or 0))
    going_down = Allowance(audit.sampler.tally, int(DOWN * allowance.left))
    paid: dict[tuple[bytes, bytes], int] = {}

    def refutes(pair: Pair) -> bool:
        before = going_down.left
        answer = _still_refutes(audit, pair, going_down, most)
        paid[_key(pair)] = before - going_down.left
        return answer

    *way, _ = shrink(source, found, refutes, late=audit.clock.late)
    if not way or allowance.left < 2 * SMALL_LEAST or audit.clock.late():
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
    pass_gate(audit.sampler, refuted=counting.refuted)
    if not counting.refuted:
        return None
    counting.sharpen(allowance.left // 2)
    pass_gate(audit.sampler, refuted=True)
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
    (epsilon, delta), lesson, draws, chunk = audit.test.null, Lesson(), SMALL_FIRST, 0
    moments = moments_bet_on(audit.claim)
    most = min(most, max(SMALL_FIRST, allowance.left // DEAREST))
    while allowance.pays(2 * draws) and not audit.clock.late():
        first, second = audit.sampler.draw(pair, "shrink", chunk, 2 * draws)
        lesson.add(first[:draws], second[:draws])
        choice = lesson.choice(epsilon=epsilon, delta=delta, trials=draws, level=LOOSE)
        sides = (second, first) if choice.reversed else (first, second)
        x, y = (int(choice.event.contains(side[draws:]).sum()) for side in sides)
        known = lesson.partition(choice.event)
        beyond = moments_beyond(*known, moments) if moments else -inf
        if beyond > CLEAR or rejected((x, y), (draws, draws), audit.test.null, LOOSE):
            return True
        z = rough_z((x, y), (draws, draws), audit.test.null)
        unlikely = z < UNLIKELY or choice.predicted + 2 * choice.spread < epsilon
        unlikely = unlikely and beyond < -1
        # Few draws show nothing of a moment, whose function of the output must be learnt.
        early = max(SMALL_LEAST // 2, most // DEAREST**2 if moments else 0)
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
    sizes = one.count, two.count
    names = sorted({*one.compact().names, *two.compact().names})
    for name in names if len(names) > 1 else ():
        x, y = (
            int((side.codes == side.names.index(name)).sum()) if name in side.names else 0
            for side in (one, two)
        )
        for hits, trials in (((x, y), sizes), ((y, x), sizes[::-1])):
            level = audit.budget.alpha / (2 * len(names))
            if rejected(hits, trials, audit.test.null, level):
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
