"""An accepted state of the gate, and what has become worse since.

Three things fail against a baseline: a refutation it does not have, a loss that rose, and an entry
that vanished. Only a claim that the entry makes today is ever called refuted; draws that
contradict one it made when the baseline was accepted, and makes no longer, show that the loss
rose. So does a lower bound that rose by more than a stated amount. The rise is measured on the
pair of the baseline, so that a search which happens upon another pair is no rise. A bound also
differs by luck, much where draws are few; so it must lie above the old event's upper bound
besides. With the same event, a false rise then has at most twice the probability of the entry's
share of alpha: one for the old bound and one for the new. With another event, it needs one that is
better by the whole amount, which the old run missed.
"""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.errors import EvidenceFormatError
from ...auditors.evidence.conversion import claim_record, pair_record, read_claim
from ...auditors.evidence.record import number, one_of
from ...auditors.results.results import AuditResult, Verdict
from ...mechanisms.model import PrivacyClaim, size_lower, size_upper
from ..auditing.delivering import reason_beside
from ..faces import claim_faces, wording
from ..formats.told import Reason
from ..record import reading
from .gate import LARGEST_BOUND, Accepted, Gated

SCHEMA = "dpwitness-baseline/1"


class BaselineRecord(TypedDict):
    """The file of a baseline: what was found by name of entry, and other claims refuted."""

    schema: Annotated[str, one_of(SCHEMA)]
    entries: Mapping[str, Sequence[Accepted]]
    claims: NotRequired[Mapping[str, Sequence[str]]]


class BaselineError(ValueError):
    """A baseline that cannot be used, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Results by name of entry, and the names of other claims that were refuted and accepted."""

    results: Mapping[str, Sequence[Accepted]]
    claims: Mapping[str, Sequence[str]]


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file; BaselineError when it is not one."""
    if not path.exists():
        raise BaselineError(f"there is no baseline at {path}; write the first one with --accept")
    try:
        data = reading.load_document(str(path), "a baseline")
        reading.require(data, BaselineRecord, "the baseline")
    except EvidenceFormatError as error:
        raise BaselineError(
            f"{path} is not a baseline of dpwitness ({error}); name another file, and write it "
            "with --accept"
        ) from None
    entries, claims = data["entries"], data.get("claims", {})
    if not any(entries.values()) and not claims:
        raise BaselineError(
            f"{path} holds no results, so nothing could be compared with it; write it anew with "
            "--accept"
        )
    return Baseline(results=entries, claims=claims)


def _upper(result: AuditResult) -> float:
    """An upper limit, per step as the lower bound is, of the loss the last event judged shows.

    Of a curve in its own parameter, at whatever point of it the event is looked at.
    """
    from ...auditors.bounds.two_sample import confidence_box, epsilon_upper

    evidence, claim, level = result.evidence, result.claim, result.alpha
    if not evidence.counts:
        return inf
    hits, trials = evidence.hits, evidence.trials
    if claim.curve is not None:
        box = confidence_box(hits, trials, 2 * level)
        return size_upper(claim.curve, box.p_high, box.q_low, claim.distance)
    return epsilon_upper(hits, trials, delta=claim.delta, level=level, distance=claim.distance)


def _bound(result: AuditResult) -> float:
    """The lower bound in the claim's own parameter: those of two points of a curve compare."""
    return _sized(result.claim, max(result.epsilon_lower, 0.0))


def _accepted_bound(kept: Accepted) -> float:
    """The same of a result that was accepted."""
    if "size_lower" in kept:
        return max(float(kept["size_lower"]), 0.0)
    return _sized(read_claim(kept["claim"]), max(kept["epsilon_lower"], 0.0))


def _sized(claim: PrivacyClaim, epsilon: float) -> float:
    if claim.curve is None:
        return epsilon
    return size_lower(claim.curve, min(epsilon, LARGEST_BOUND), claim.delta, claim.distance)


def _measure(result: AuditResult) -> str:
    curve = result.claim.curve
    return "epsilon" if curve is None else curve.parameter


def baseline_text(gated: Sequence[Gated]) -> str:
    """The baseline that accepts these results."""
    entries = {
        one.entry.name: list(map(_accepted, one.results)) for one in gated if not one.problem
    }
    claims = {
        one.entry.name: [_called(claim) for claim in one.claims if claim.result.refuted]
        for one in gated
        if not one.problem and one.claims
    }
    data = {"schema": SCHEMA, "entries": entries, **({"claims": claims} if claims else {})}
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _called(claim: ClaimCheck) -> str:
    result = claim.result
    return f"{result.kind} {result.identifier}: {claim_faces.bound_phrase(result)}"


def _accepted(result: AuditResult) -> Accepted:
    kept: Accepted = {
        "mechanism": result.mechanism,
        "claim": claim_record(result.claim),
        "verdict": result.verdict.value,
        "epsilon_lower": max(result.epsilon_lower, 0.0),
        "epsilon_upper": number(_upper(result)),
        "pair": pair_record(result.pair),
        "seed": result.seed,
    }
    if result.plan.get("domain") == "histogram":
        kept["histogram"] = True
    if result.claim.curve is not None:
        kept["size_lower"] = _bound(result)
    return kept


def compare(
    gated: Sequence[Gated], baseline: Baseline | None, *, rise: float, strict: bool
) -> tuple[Reason, ...]:
    """Reasons to stop the change, in the order of the entries; none is good news."""
    found: list[Reason] = []
    for one in gated:
        name = one.entry.name
        if one.problem:
            found.append(Reason(kind="failed", name=name, sentence=one.problem))
            continue
        old = () if baseline is None else baseline.results.get(name, ())
        accepted = {
            _promise(read_claim(kept["claim"])) for kept in old if kept["verdict"] == "refuted"
        }
        made = {_promise(result.claim) for result in one.results}
        for result in (*one.results, *one.again):
            promise = _promise(result.claim)
            if result.refuted and promise in made - accepted:
                sentence = wording.sentence(result)
                about = wording.claim_phrase(result.claim)
                found.append(Reason(kind="refuted", name=name, sentence=sentence, claim=about))
                accepted.add(promise)  # one witness says it
        known = () if baseline is None else baseline.claims.get(name, ())
        for claim in one.claims:
            why = reason_beside(claim, name)
            if why is not None and _called(claim) not in known:
                found.append(why)
        if strict and one.verdict == "inconclusive":
            found.append(Reason(kind="inconclusive", name=name, sentence=_note(one)))
        for before, after in zip(old, one.again, strict=False):
            if after.refuted and _promise(after.claim) not in made | accepted:
                found.append(_rose_of(name, after, _given_up(one, after)))
            elif _bound(after) > max(
                _accepted_bound(before) + rise, float(before.get("epsilon_upper", 0))
            ):
                found.append(_rose_of(name, after, _rose(before, after, rise)))
    if baseline is not None:
        present = {one.entry.name for one in gated}
        found += [
            Reason(kind="vanished", name=name, sentence="it is in the baseline and no longer "
                  "listed; put it back, or accept with --accept")
            for name in baseline.results if name not in present
        ]  # fmt: skip
    return tuple(dict.fromkeys(found))


def _rose_of(name: str, result: AuditResult, sentence: str) -> Reason:
    claim = wording.claim_phrase(result.claim)
    return Reason(kind="rose", name=name, sentence=sentence, claim=claim)


def remarks(
    gated: Sequence[Gated], baseline: Baseline | None, worse: Sequence[Reason]
) -> Iterator[str]:
    """What is no reason to stop and must not go without a word."""
    if baseline is None:
        return
    stopped = {reason.name for reason in worse}
    for one in gated:
        if one.problem:
            continue
        name = one.entry.name
        if not baseline.results.get(name) and name not in baseline.claims:
            yield f"{name} is not in the baseline and was not compared; --accept adds it"
        elif one.verdict == "refuted" and name not in stopped:
            yield f"{name} is refuted, and the baseline accepts that"


def _promise(claim: PrivacyClaim) -> tuple[Hashable, ...]:
    """What tells two claims apart: of a curve the curve, and not the point that was judged."""
    return claim.curve or (claim.epsilon, claim.delta), claim.relation, claim.distance


def _note(one: Gated) -> str:
    notes = [r.note for r in one.results if r.verdict is Verdict.INCONCLUSIVE]
    return f"the audit cannot say: {notes[0] if notes else 'give it more draws'}"


def _rose(before: Accepted, after: AuditResult, rise: float) -> str:
    return (
        f"on the pair of the baseline the draws now show {_measure(after)} >= "
        f"{_bound(after):.3f}, and showed {_accepted_bound(before):.3f}: more than {rise:g} above"
    )


def _given_up(one: Gated, after: AuditResult) -> str:
    claims = " and ".join(wording.claim_phrase(result.claim) for result in one.results)
    return (
        f"it claimed {wording.claim_phrase(after.claim)} when the baseline was accepted, "
        f"and claims {claims or 'nothing'} now; on the pair of the baseline the draws show "
        f"{_measure(after)} >= {_bound(after):.3f}, which is more"
    )
