"""Asking again whether a witness found before still holds, on draws it has never seen."""

from dataclasses import replace
from time import monotonic

from ...mechanisms.model import PrivacyClaim
from ..choosing.choose import Choice
from ..evidence.derive import derive, evidence_of
from ..evidence.record import ResultRecord
from ..results.results import AuditFacts, AuditResult
from ..sampling.fingerprint import fingerprint
from ..sampling.gate import require_inside
from ..sampling.sampling import Tally
from . import request
from .attempt import Test, attempt
from .budget import Budget
from .point import point_for
from .replay import read_record


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
    sampler.gate(refuted=any(one.epsilon_lower >= test.claim.epsilon for one in counted.looks))
    require_inside(sampler.door)
    counted_again = AuditFacts(
        mechanism=request.subject(mechanism, facts.mechanism, facts.target, None).name,
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
