"""From the result of an audit to what every format tells of it."""

from ...auditors.evidence.record import ClaimCheckRecord
from ...auditors.results.results import AuditResult, Verdict
from ..faces import claim_faces, wording
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
    return Reason(kind=kind, name=name, sentence=wording.sentence(result))


def judged_beside(record: ClaimCheckRecord, *, rerun: str) -> ToldClaim:
    """One claim of another kind than privacy; `rerun` audits anew, with the same draws."""
    return ToldClaim(
        mechanism=record["mechanism"],
        claim=f"{record['kind']}: {record['bound_words']}",
        verdict=record["verdict"],
        bound=f"measured {record['found_words']}" if record["found_words"] else "",
        power="",
        draws=record["draws"],
        seconds=record["seconds"],
        scope=record.get("scope", "") if record["verdict"] == Verdict.PROVED.value else "",
        story=(
            *((label, text) for label, text in record["story"]),
            ("check", rerun),
            *(
                ("next", f"{text}.")
                for text in [claim_faces.next_step(record["verdict"], rerun)]
                if text
            ),
        ),
        facts={
            "verdict": record["verdict"],
            "claimed": str(record["claimed"]),
            "draws": str(record["draws"]),
            "seed": str(record["seed"]),
        },
    )


def reason_beside(record: ClaimCheckRecord, name: str) -> Reason | None:
    """Why a claim of another kind ends an audit with another status than 0, or None."""
    if record["verdict"] != Verdict.REFUTED.value:
        return None
    return Reason(kind="refuted", name=name, sentence=record["headline"].partition(": ")[2])
