"""From the result of an audit to what every format tells of it."""

from ...auditors.results import AuditResult, Verdict
from ..faces import wording
from .told import Judged, Reason


def judged(result: AuditResult, *, replay: str, rerun: str) -> Judged:
    """One audited claim; `replay` is the command that counts again, `rerun` audits anew."""
    bound, power = result.epsilon_lower, result.detectable_epsilon
    return Judged(
        mechanism=result.mechanism,
        claim=wording.claim_phrase(result.claim),
        verdict=result.verdict.value,
        bound=wording.at_least(bound) if bound > 0 else "none",
        power="" if result.refuted else wording.at_most(power),
        draws=result.draws,
        seconds=result.seconds,
        story=(
            *wording.story(result),
            ("replay", replay),
            *(("next", text) for text in [wording.next_step(result, rerun)] if text),
        ),
        facts={
            "verdict": result.verdict.value,
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
    return Reason(kind=kind, name=name, sentence=wording.sentence(result))
