"""One audit from end to end: search, judge, shrink, and say what could have been seen."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic

from ...mechanisms.model import Histogram, Pair, PrivacyClaim, Relation, Value
from ..arguments import asking
from ..asked import KEYWORDS, require
from ..attackers import seen_by
from ..bounds.power import LAST
from ..choosing.choose import Lesson, learn
from ..databases.neighbours import Source, pair_source, relation_of_pairs, yields_pairs
from ..databases.records import HISTOGRAMS, require_neighbours
from ..engines.engine import Engine
from ..errors import ContractError, InvalidArgument, MechanismDied, MechanismHangs
from ..evidence.derive import NO_RETURN, NOT_READ, ONLY_NAN, OUT_OF_TIME, derive
from ..outputs.encoding import identity
from ..outputs.outputs import Outputs
from ..results.results import UNKNOWN, AuditResult
from ..sampling.calls import MechanismRaised
from ..sampling.gate import alone_against
from ..sampling.kept import SLOW, KeptDraws
from ..sampling.sampling import Sampler
from ..search.constants import constants_of
from ..search.hunt import hunt
from ..search.scout import Found
from ..tape.exact import LONG, Wanted, with_exact
from ..tape.weighing import asked_draws
from . import request as asked
from .betting import share
from .budget import Allowance, Budget
from .cause import cause_of
from .judge import Judging
from .planning import (
    CHEAP,
    KEPT_BACK,
    SEARCHING,
    Price,
    foretold,
    remaking,
    trials_to_notice,
    trials_within,
)
from .point import at_point
from .request import AuditRequest, Progress, Request
from .verdicts import (
    Audit,
    Clock,
    conclude,
)

MOST_NAMED = 3
"""Files, databases and addresses that are named of those which the mechanism uses."""
LEAST = 0.5
"""CPU seconds that trying the exact laws may take at least, by themselves."""
EXACT_SHARE = 0.25
"""The part of an audit's time that they may take if that is more. With as long again as the audit,
they took a quarter of the CPU of the catalogue's audits (20,000 trials)."""
ENOUGH = 0.05
"""Seconds of drawing from which the cost of a draw can be told."""


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


def prepared(
    request: Request, budget: Budget, epsilon: float | None, *, single: bool = False
) -> tuple[Audit, ...]:
    """One audit for each claim, at its share of the budget; the errors are those of `audit_claims`.

    With `single` the only claim of an epsilon stands for all, whatever curves are stated beside it.
    The numbers of the request's own budget are not looked at.
    """
    begun = monotonic()
    target = asked.target_seen(request.attacker, request.target)
    subject = asked.subject(request.mechanism, request.name, request.target, request.seeded)
    if request.trust_rows is not None:
        subject = replace(subject, trust_rows=request.trust_rows)
    subject = seen_by(request.attacker, subject)
    pair, databases = request.pair, request.databases
    asked.require_one(pair, databases)
    of_pairs = pair is None and yields_pairs(databases, budget.seed)
    histogram = request.histogram
    if histogram and pair is None and not of_pairs:
        raise InvalidArgument(
            "histogram=True says what the numbers of a pair= or of a strategy of Pair mean; give "
            "other databases of counts as the domain Histogram",
            keywords=("histogram", "pair"),
        )
    domain = HISTOGRAMS if histogram else subject.databases
    claims = asked.claims(
        subject, epsilon, request.delta, request.relation, request.distance, pair,
        of_pairs=of_pairs, domain=domain, curve=request.stated_curve,
    )  # fmt: skip
    points = [claim for claim in claims if claim.curve is None]
    if single and len(points) == 1:
        claims = (points[0],)
    if of_pairs and request.relation is None and not subject.claims:
        known = relation_of_pairs(
            databases, request.distance or 1, budget.seed, histogram=histogram
        )
        claims = tuple(replace(claim, relation=known) for claim in claims)
    require(workers=request.workers, timeout=request.timeout)
    if request.exceptions not in ("error", "output"):
        raise InvalidArgument(
            f'exceptions must be "error" or "output", got {request.exceptions!r}',
            keywords=("exceptions",),
        )
    given = asked.given_pair(pair)
    unsaid = given is not None and request.relation is None and not subject.claims
    if given is not None:
        for claim in claims:
            require_neighbours(given, claim.relation, claim.distance, domain)
    constants = constants_of(subject.run) if given is None else ()
    own = databases is None
    databases = subject.databases if own else databases
    if given is None and databases is None:
        raise InvalidArgument(
            f"{subject.name} comes without databases; give a strategy of them with databases=, or "
            "two databases with pair=",
            keywords=("databases", "pair"),
        )
    seconds = budget.seconds / len(claims) if budget.seconds else None
    share = replace(budget, alpha=budget.alpha / len(claims), seconds=seconds)
    notice = request.notice
    budgets = [
        share
        if notice is None
        else replace(share, trials=trials_to_notice(claim, notice, share.alpha))
        for claim in claims
    ]
    asked_more = (request.relation, request.distance, seconds) != (None, None, None)
    stated = (epsilon, request.delta, request.stated_curve) != (None, None, None)
    alone = own and given is None and not asked_more and not (stated and len(claims) > 1)
    return tuple(
        Audit(
            subject=subject,
            target=target,
            claim=claim,
            budget=own_budget,
            given=given,
            source=None
            if given is not None
            else _source(claim, databases, constants, budget.seed, own=own, histogram=histogram),
            sampler=Sampler(
                run=subject.run,
                seed=budget.seed,
                seeded=subject.seeded,
                workers=request.workers,
                limit=request.timeout,
                exceptions=request.exceptions,
                show_output=request.show_output,
                trust_rows=subject.trust_rows,
                in_process=request.in_process,
                engine=request.engine or Engine(),
            ),
            # What is done before the first draw is of its time, too.
            clock=Clock(seconds, begun + number * (seconds or 0.0)),
            domain=_domain(given, databases, histogram),
            own=alone,
            explain=request.explain,
            exact=request.exact,
            unsaid=unsaid and claim.relation is Relation.DECLARED,
            databases=databases,
            news=request.news,
            kept=request.kept,
        )
        for number, (claim, own_budget) in enumerate(zip(claims, budgets, strict=True))
    )


def _domain(given: Pair | None, databases: object, histogram: bool) -> str:
    """How who reads the evidence is to read its databases, where they are no lists of records."""
    if histogram or (given is None and isinstance(databases, Histogram)):
        return "histogram"
    return "value" if given is None and isinstance(databases, Value) else ""


def _source(
    claim: PrivacyClaim,
    databases: object,
    constants: tuple[object, ...],
    seed: int,
    *,
    own: bool,
    histogram: bool,
) -> Source:
    """Pairs over the databases, and over the mechanism's own those the claim names."""
    source = pair_source(
        databases,
        claim.relation,
        claim.distance,
        seed,
        histogram=histogram,
        constants=constants,
    )
    named = tuple(Pair(*example) for example in claim.examples) if own else ()
    return replace(source, templates=(*source.templates, *named), constants=constants)


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
    audit.sampler.tally.slow = _is_slow(audit.sampler, pair)
    asked_for = audit.budget.trials
    audit = _fit_to_time(audit, pair, asked_for)
    if audit.news is not None and audit.price is not None and audit.budget.trials < asked_for:
        audit.news("plan", _foretold(audit, audit.price))
    _report(audit, progress)
    found = None
    if audit.source is not None:
        found = _hunt(audit, audit.source)
        pair = found.pair
        if audit.searched is not None:
            # What the search took and what a call on this pair takes are known now.
            audit = _fit_to_time(replace(audit, searched=0), pair, asked_for)
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
    tally.late = _last_moment(audit)
    tally.deciding.against(*audit.test.null)
    if audit.clock.seconds is not None:
        tally.deciding.within(audit.clock.seconds)
    judging.run(taught=taught, opening=opening)
    # No verdict before what was counted came out alike in a fresh process.
    audit.sampler.gate(refuted=judging.refuted)
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
    cause = cause_of(result, audit.test, audit.sampler, audit.explain)
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
    left = LONG if audit.patient else max(LEAST, EXACT_SHARE * audit.clock.spent())
    until = inf
    if audit.clock.seconds is not None:
        until = audit.clock.started + audit.clock.seconds
    return Wanted(
        judged=tuple(known.values())[::-1],
        seen=tuple(one.pair for one in seen),
        domain=audit.databases,
        asked=bool(audit.exact),
        alone=audit.given is not None,
        seconds=left,
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


def _is_slow(sampler: Sampler, pair: Pair) -> bool:
    """Whether calls take long, and not only the first ones or while the machine was busy."""
    if sampler.tally.pace < SLOW:
        return False
    made = sampler.tally.draws
    sampler.draw(pair, "contract", 9, 1 if sampler.tally.pace > ENOUGH else 8)
    sampler.tally.draws = made  # the clock decides whether there are any: no record holds them
    return sampler.tally.pace >= SLOW


def _price(audit: Audit, pair: Pair) -> Price:
    """Seconds of one draw, from as many draws as make a twentieth of a second."""
    alone, lone = audit.sampler.tally.pace, alone_against(*audit.test.null)
    if alone >= ENOUGH and audit.sampler.door.workers == 1:
        return Price(draw=alone, alone=alone, lone=lone)
    for chunk, draws in enumerate((2, 32, 512, 8192), start=1):
        draws = max(draws, audit.sampler.door.workers) if draws == 2 else draws
        before = audit.clock.spent()
        audit.sampler.draw(pair, "contract", chunk, draws)
        seconds = audit.clock.spent() - before
        if seconds > ENOUGH:
            break
    draw = max(seconds, 1e-9) / (2 * draws)
    return Price(draw=draw, alone=max(alone, draw), lone=lone)


def _fit_to_time(audit: Audit, pair: Pair, asked_for: int) -> Audit:
    """Fewer trials where the budget of seconds could not pay for them, decided beforehand.

    The number is fixed before the first judged draw: a sample cut by the clock would be biased
    whenever the running time depends on the output.
    """
    seconds = audit.clock.seconds
    if seconds is None:
        return audit
    price = _price(audit, pair)
    if audit.sampler.tally.slow:
        left = (1 - KEPT_BACK) * seconds - audit.clock.spent()
        if audit.source is not None and audit.searched is None:
            audit = replace(audit, searched=int(SEARCHING * left / price.draw))
            left -= SEARCHING * left
        affordable = trials_within(left, price)
    else:
        affordable = max(2, int(CHEAP * seconds / price.draw))
    audit = replace(audit, price=price)
    if affordable >= audit.budget.trials:
        return audit
    note = f"{affordable} trials a side instead of {asked_for}, to fit the time budget"
    return replace(audit, budget=replace(audit.budget, trials=affordable), note=note)


def _foretold(audit: Audit, price: Price) -> str:
    part = share(
        audit.budget.precision,
        audit.claim,
        seeded=audit.sampler.seeded,
        bounding=audit.bounding,
    )
    return foretold(
        audit.claim,
        seconds=audit.clock.seconds or 0.0,
        price=price,
        trials=audit.budget.trials,
        # What is left of alpha for the last look of a judging that bets on the draws that teach.
        level=(1 - part) * audit.test.alpha * LAST[-1][1],
        searching=audit.source is not None,
    )


def _last_moment(audit: Audit) -> Callable[[], bool]:
    """When drawing must end so that draws can be made again within the time."""
    if audit.clock.seconds is None or audit.price is None:
        return lambda: False
    most = (1 + KEPT_BACK) * audit.clock.seconds
    until = most - remaking(audit.budget.trials, audit.price)
    return lambda: audit.clock.spent() > until


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
