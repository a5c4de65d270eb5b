"""The whole audit of a record made again from what was asked, and compared in all that it says.

Counting again shows that the counts are those of the mechanism. What was searched, learnt and
foreseen, the plan, the power and the picture follow from draws that are not counted. Where the
pair was given, or searched among the databases that the mechanism brings, the record holds all
that was asked.
"""

from dataclasses import replace
from typing import Any, cast

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..errors import EvidenceFormatError
from ..evidence.derive import OUT_OF_TIME
from ..evidence.record import ResultRecord
from ..results.results import AuditFacts, AuditResult
from .budget import Budget
from .replay import read_record
from .request import AuditRequest, subject
from .retrace import FITTED
from .run import prepared, run_audit
from .verdicts import Audit, Clock

MOST_TRIALS = 2_000_000
"""Trials above which an audit is not made again only to compare what does not bear on the bound."""


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
        exceptions=cast(Any, str(facts.plan.get("exceptions", "error"))),
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


def _numbers(claim: PrivacyClaim) -> tuple[Any, ...]:
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
