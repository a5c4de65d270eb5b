"""What every step of one audit works with, and how a request becomes that.

An audit is of one claim. It has a share of the budget, a sampler that makes its draws, the source
of its pairs or the pair that was given, and a clock. What a budget of seconds buys is decided here
too, before the first draw that is judged.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

from ...mechanisms.model import Histogram, Mechanism, Pair, PrivacyClaim, Relation, Value
from ..asked import Budget, require
from ..attackers.seen import seen_by
from ..bounds.power import LAST
from ..databases.distance import HISTOGRAMS, require_neighbours
from ..databases.neighbours import Source, pair_source, relation_of_pairs, yields_pairs
from ..engines.engine import Engine
from ..errors import InvalidArgument
from ..sampling.again import alone_against
from ..sampling.kept import SLOW, Keeping
from ..sampling.sampling import Sampler
from ..search.constants import constants_of
from ..search.scout import SearchPlan
from . import request as asked
from .attempt import Test
from .planning import (
    CHEAP,
    KEPT_BACK,
    SEARCHING,
    WORST,
    Price,
    foretold,
    remaking,
    share,
    trials_to_notice,
    trials_within,
)
from .request import News, Request

ENOUGH = 0.05
"""Seconds of drawing from which the cost of a draw can be told."""


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
    databases: object = None
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


def is_slow(sampler: Sampler, pair: Pair) -> bool:
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


def fit_to_time(audit: Audit, pair: Pair, asked_for: int) -> Audit:
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


def told_beforehand(audit: Audit, price: Price) -> str:
    """What can be seen in the time that there is, in a sentence."""
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


def last_moment(audit: Audit) -> Callable[[], bool]:
    """When drawing must end so that draws can be made again within the time."""
    if audit.clock.seconds is None or audit.price is None:
        return lambda: False
    most = (1 + KEPT_BACK) * audit.clock.seconds
    until = most - remaking(audit.budget.trials, audit.price)
    return lambda: audit.clock.spent() > until
