"""The audit of a given pair made again from what was asked, and compared in all that it says.

Counting again shows that the counts are those of the mechanism. What was learnt and foreseen, the
plan, the power and the picture follow from draws that are not counted; where the pair was given,
the record holds all that was asked, and the whole audit can be made again.
"""

from dataclasses import replace
from typing import Any

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..evidence.record import ResultRecord
from ..results import AuditResult
from .budget import Budget
from .replay import read_record
from .request import subject
from .retrace import FITTED
from .run import run_audit
from .verdicts import OUT_OF_TIME, Audit, Clock

__all__ = ["audited_again"]

MOST_TRIALS = 2_000_000
"""Trials above which an audit is not made again only to compare what does not bear on the bound."""


def audited_again(
    mechanism: Any, record: ResultRecord, *, name: str, workers: int, timeout: float
) -> AuditResult | None:
    """The result that the same request gives now; None where the record does not hold all of it.

    It does not where the pair was searched for, where the mechanism draws its own randomness, where
    a clock decided, and for a witness counted again. Raises EvidenceFormatError for a malformed
    record and ContractError when the mechanism fails.
    """
    note = str(record.get("note", ""))
    timed = note == OUT_OF_TIME or FITTED in note
    if record.get("reached") is not None or timed or not record["seeded"]:
        return None
    pair, test, counts, _, sampler = read_record(mechanism, record, workers, timeout)
    if counts[0].stage != "attempt" or test.trials > MOST_TRIALS:
        return None
    audited = subject(mechanism, name, "", True)
    plan = record["plan"]
    budget = Budget(trials=test.trials, alpha=test.alpha, seed=sampler.seed,
                    precision=plan.get("precision", 0.05))  # fmt: skip
    audit = Audit(
        subject=audited,
        target=str(record["target"]),
        claim=_worded(audited, test.claim),
        budget=budget,
        given=pair,
        source=None,
        sampler=sampler,
        clock=Clock(None),
        domain=str(plan.get("domain", "")),
    )
    return run_audit(audit)


def _worded(audited: Mechanism, claim: PrivacyClaim) -> PrivacyClaim:
    """The claim with the words of the mechanism's own of the same form, where there is one."""
    own = [one for one in audited.claims if isinstance(one, PrivacyClaim)]
    numbers = (claim.relation, claim.distance, claim.epsilon, claim.delta)
    exact = [one for one in own if (one.relation, one.distance, one.epsilon, one.delta) == numbers]
    for one in (*exact, *own):
        return replace(claim, identifier=one.identifier, statement=one.statement,
                       reference=one.reference)  # fmt: skip
    return claim
