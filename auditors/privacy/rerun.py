"""An earlier result asked for again: the whole audit of a record, or its witness on new draws.

**The whole audit** is made from what was asked, and compared in all that it says. Counting again
shows that the counts are those of the mechanism. What was searched, learnt and foreseen, the plan,
the power and the picture follow from draws that are not counted. Where the pair was given, or
searched among the databases that the mechanism brings, the record holds all that was asked.

**A witness** found before is counted again on draws it has never seen: does it still hold?
"""

from dataclasses import replace
from time import monotonic
from typing import Any, Literal, cast

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..asked import Budget
from ..choosing.choose import Choice
from ..errors import EvidenceFormatError
from ..evidence.derive import OUT_OF_TIME, derive, evidence_of
from ..evidence.record import ResultRecord
from ..results.results import AuditFacts, AuditResult
from ..sampling.again import require_inside
from ..sampling.fingerprint import fingerprint
from ..sampling.gate import pass_gate
from ..sampling.sampling import Tally
from .attempt import Test, attempt
from .curves import point_for
from .preparing import Audit, Clock, prepared
from .replay import FITTED, read_record
from .request import AuditRequest, subject
from .run import run_audit

MOST_TRIALS = 2_000_000
"""Trials above which an audit is not made again only to compare what does not bear on the bound."""


# The whole audit. --------------------------------------------------------------------------------


def audited_again(
    mechanism: object,
    record: ResultRecord,
    *,
    name: str,
    workers: int,
    timeout: float,
    boldly: bool = False,
) -> AuditResult | None:
    """The result that the same request gives now; None where the record does not hold all of it.

    It does not where the pair came from other databases than the mechanism's own, where the
    mechanism draws its own randomness, where a clock decided, and for a witness counted again.
    With `boldly` the first and the third are tried as if the record were wrong about them.
    Raises EvidenceFormatError for a malformed record and ContractError when the mechanism fails.
    """
    facts, sampler = read_record(mechanism, record, workers, timeout)
    timed = facts.remark.startswith(OUT_OF_TIME) or FITTED in facts.remark
    searched, plan = facts.reached is not None, facts.plan
    where = str(plan.get("search"))
    if where not in (("own", "asked") if searched else ("given",)):
        raise EvidenceFormatError(
            f"plan.search says where the pair came from, {'own or asked' if searched else 'given'} "
            f"in this record, got {where!r:.40}"
        )
    own = where == "own" or (searched and boldly)
    if ((where == "asked" or timed) and not boldly) or not facts.seeded:
        return None
    trials = int(plan["trials"])
    if facts.judged[0].stage == "recheck" or trials > MOST_TRIALS:
        return None
    audited = subject(mechanism, name, facts.target, True)
    budget = Budget(trials=trials, alpha=facts.alpha, seed=facts.seed,
                    precision=plan.get("precision", 0.05))  # fmt: skip
    told = bool(facts.not_exact) or (facts.exact is not None and facts.exact.asked)
    exact = True if told else None if facts.exact is not None else False
    claim = replace(facts.claim, identifier="", statement="", reference="")
    if own:
        audit = _searching(audited, facts, claim, budget, workers, timeout)
        return run_audit(replace(audit, exact=exact, patient=True))
    audit = Audit(
        subject=audited,
        target=facts.target,
        claim=_worded(audited, claim),
        budget=budget,
        given=facts.pair,
        source=None,
        sampler=sampler,
        clock=Clock(None),
        domain=str(plan.get("domain", "")),
        exact=exact,
        patient=True,
    )
    return run_audit(audit)


def _searching(
    audited: Mechanism,
    facts: AuditFacts,
    claim: PrivacyClaim,
    budget: Budget,
    workers: int,
    timeout: float,
) -> Audit:
    """The audit that searches the mechanism's own databases for this claim."""
    own = {_numbers(one) for one in audited.claims if isinstance(one, PrivacyClaim)}
    if audited.databases is None or not own:
        raise EvidenceFormatError(
            f"by the evidence the pair was searched for among the databases and the claims "
            f"that {audited.name} brings, and it brings none"
        )
    carried = _numbers(claim) in own
    request = AuditRequest(
        audited,
        **({} if carried else _stated(claim)),
        target=facts.target,
        workers=workers,
        timeout=timeout,
        exceptions=cast(Literal["error", "output"], str(facts.plan.get("exceptions", "error"))),
    )
    for audit in prepared(request, budget, request.epsilon):
        if _numbers(audit.claim) == _numbers(claim):
            return replace(audit, budget=budget)
    raise EvidenceFormatError(
        f"the evidence is about another relation or distance than the claims of {audited.name}, "
        "and says that nothing but the mechanism was given"
    )


def _stated(claim: PrivacyClaim) -> dict[str, Any]:
    """The claim as a caller states it."""
    if claim.curve is None:
        return {"epsilon": claim.epsilon, "delta": claim.delta}
    told = dict(claim.curve.to_json())
    return {("curve" if key == "points" else key): value for key, value in told.items()}


def _numbers(claim: PrivacyClaim) -> tuple[object, ...]:
    promised = claim.curve or (claim.epsilon, claim.delta)
    return claim.relation, claim.distance, promised


def _worded(audited: Mechanism, claim: PrivacyClaim) -> PrivacyClaim:
    """The claim with the words of the mechanism's own of the same form, where there is one."""
    own = [one for one in audited.claims if isinstance(one, PrivacyClaim)]
    exact = [one for one in own if _numbers(one) == _numbers(claim)]
    for one in (*exact, *own):
        return replace(claim, identifier=one.identifier, statement=one.statement,
                       reference=one.reference)  # fmt: skip
    return claim


# A witness. --------------------------------------------------------------------------------------


def recheck(
    mechanism: object,
    record: ResultRecord,
    *,
    claims: tuple[PrivacyClaim, ...],
    trials: int,
    alpha: float,
    seed: int,
    timeout: float = 10.0,
) -> AuditResult | None:
    """Count the event of an earlier witness on `trials` new draws a side.

    `record` is the entry of `results` in an evidence file that refuted one of `claims`, or a
    claim of the same relation and distance with other numbers; None when there is none such.
    The event and its direction were fixed by earlier draws, on streams this stage shares with
    none, so a true claim is refuted with probability at most `alpha`. Raises
    EvidenceFormatError for a malformed record, ContractError when the mechanism fails, and
    UsesOutside when it keeps something that outlives its process, whatever was counted: a later
    audit finds it there and takes it for data.
    """
    started = monotonic()
    budget = Budget(trials=trials, alpha=alpha, seed=seed, precision=None)
    facts, sampler = read_record(mechanism, record, 1, timeout)
    pair, of = facts.pair, facts.claim
    wanted = [
        claim for claim in claims if (claim.relation, claim.distance) == (of.relation, of.distance)
    ]
    if not wanted:
        return None
    old = evidence_of(facts.judged, facts.bets, facts.alpha, of).counts[-1]
    choice = Choice(old.event, old.reversed, old.predicted, old.spread, old.rates)
    sampler = replace(sampler, seed=seed, tally=Tally())
    test = Test(claim=point_for(wanted[0], old.rates), trials=budget.trials, alpha=budget.alpha)
    counted = attempt(
        sampler, pair, choice, test, ((trials, alpha),), number=0, chunk=0, before=0,
        stage="recheck",
    )  # fmt: skip
    sampler.tally.deciding.against(*test.null)
    pass_gate(
        sampler, refuted=any(one.epsilon_lower >= test.claim.epsilon for one in counted.looks)
    )
    require_inside(sampler.door)
    counted_again = AuditFacts(
        mechanism=subject(mechanism, facts.mechanism, facts.target, None).name,
        target=facts.target,
        claim=test.claim,
        pair=pair,
        alpha=alpha,
        judged=counted.counts,
        draws=sampler.tally.draws,
        seed=seed,
        seconds=monotonic() - started,
        seeded=sampler.seeded,
        remark="a witness of an earlier run, counted again",
        plan={
            "trials": trials,
            "block": sampler.block,
            "vectorised": sampler.vectorised,
            "trust_rows": sampler.vectorised and sampler.trust_rows,
            "made_again": sampler.seeded and sampler.door.remakes,
        },
        source=fingerprint(sampler.run),
    )
    return derive(counted_again)
