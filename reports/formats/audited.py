"""From the result of an audit to what every format tells of it."""

from collections.abc import Sequence
from typing import cast

from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.claims.derive import record_of
from ...auditors.evidence.record import ClaimFindingRecord, number
from ...auditors.results.results import AuditResult, Verdict
from ..faces import claim_faces, wording
from ..writing.terminal import printable
from .statements_as_json import finding_to_json
from .told import Reason, ToldClaim


def judged(result: AuditResult, *, replay: str, rerun: str, change: str = "") -> ToldClaim:
    """One audited claim; `replay` is the command that counts again, `rerun` audits anew.

    `change` is what differs from the last run.
    """
    bound, power = result.epsilon_lower, result.detectable_epsilon
    proved = result.verdict is Verdict.PROVED
    return ToldClaim(
        mechanism=result.mechanism,
        claim=wording.claim_phrase(result.claim),
        verdict=result.verdict.value,
        bound=wording.bound_phrase(result),
        power="" if result.refuted or proved else wording.at_most(power),
        draws=result.draws,
        seconds=result.seconds,
        scope=result.exact.scope if proved and result.exact is not None else "",
        change=change,
        story=(
            *wording.story(result),
            ("check", replay),
            *(("next", f"{text}.") for text in [wording.next_step(result, rerun)] if text),
        ),
        facts={
            "verdict": result.verdict.value,
            "claimed": wording.claimed_size(result.claim),
            "epsilon_lower": wording.plain_number(bound),
            "detectable_epsilon": wording.plain_number(power),
            "draws": str(result.draws),
            "seed": str(result.seed),
        },
    )


def reason(result: AuditResult, name: str) -> Reason | None:
    """Why an audit alone ends with another status than 0; None where it does not."""
    kind = {Verdict.REFUTED: "refuted", Verdict.INCONCLUSIVE: "inconclusive"}.get(result.verdict)
    if kind is None:
        return None
    claim = wording.claim_phrase(result.claim)
    return Reason(kind=kind, name=name, sentence=wording.sentence(result), claim=claim)


def judged_beside(check: ClaimCheck, *, rerun: str) -> ToldClaim:
    """One claim of another kind than privacy; `rerun` audits anew, with the same draws."""
    result, found = check.result, check.result.finding
    measured = claim_faces.measured_phrase(result) or claim_faces.exact_phrase(result)
    step = claim_faces.next_step(result.verdict.value, rerun)
    return ToldClaim(
        mechanism=check.mechanism,
        claim=_claimed(check),
        verdict=result.verdict.value,
        bound=f"measured {measured}" if measured else "",
        power="",
        draws=found.draws,
        seconds=result.seconds,
        scope=found.scope if result.verdict is Verdict.PROVED else "",
        story=(
            *claim_faces.story(result),
            ("check", rerun),
            *((("next", f"{step}."),) if step else ()),
        ),
        facts={
            "verdict": result.verdict.value,
            "claimed": str(number(found.claimed)),
            "draws": str(found.draws),
            "seed": str(result.seed),
        },
    )


def reason_beside(check: ClaimCheck, name: str) -> Reason | None:
    """Why a claim of another kind ends an audit with another status than 0, or None."""
    if not check.result.refuted:
        return None
    sentence = claim_faces.headline(check.result, check.mechanism).partition(": ")[2]
    return Reason(kind="refuted", name=name, sentence=sentence, claim=_claimed(check))


def _claimed(check: ClaimCheck) -> str:
    """A claim of another kind in a few words, its source with it: two may have one bound."""
    result = check.result
    source = result.identifier or result.reference
    told = f"{result.kind}: {claim_faces.bound_phrase(result)}"
    return f"{told} ({printable(source)})" if source else told


def claims_part(checks: Sequence[ClaimCheck]) -> dict[str, object]:
    """What an evidence file holds of claims beside privacy; nothing if there are none."""
    if not checks:
        return {}
    return {
        "claims": list(map(record_of, checks)),
        "claim_findings": list(map(finding_beside, checks)),
    }


def finding_beside(check: ClaimCheck) -> ClaimFindingRecord:
    """What follows from the counts of one claim, for programs that read no counts."""
    words = {"headline": claim_faces.headline(check.result, check.mechanism)}
    return cast(ClaimFindingRecord, {**finding_to_json(check.result), **words})
