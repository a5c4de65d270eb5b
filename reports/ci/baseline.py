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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict, cast

from ...auditors.errors import EvidenceFormatError
from ...auditors.evidence.read import read_claim, revived
from ...auditors.evidence.record import ClaimCheckRecord, Number, ResultRecord, one_of
from ...auditors.evidence.write import number
from ...mechanisms.model import size_lower, size_upper
from ..faces import wording
from ..formats.audited import reason_beside
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
            f"{path} is not a baseline of dpwitness ({error}); write it anew with --accept"
        ) from None
    entries, claims = data["entries"], data.get("claims", {})
    if not any(entries.values()) and not claims:
        raise BaselineError(
            f"{path} holds no results, so nothing could be compared with it; write it anew with "
            "--accept"
        )
    return Baseline(results=entries, claims=claims)


def _upper(result: ResultRecord) -> float:
    """An upper limit, per step as the lower bound is, of the loss the last event judged shows.

    Of a curve in its own parameter, at whatever point of it the event is looked at.
    """
    from ...auditors.bounds.binomial_tails import confidence_box
    from ...auditors.bounds.two_sample import epsilon_upper

    evidence, claim = result["evidence"], read_claim(result["claim"])
    (a, b), (n, m), level = evidence["hits"], evidence["trials"], float(evidence["alpha"])
    if not (n and m):
        return inf
    if claim.curve is not None:
        box = confidence_box((a, b), (n, m), 2 * level)
        return size_upper(claim.curve, box.p_high, box.q_low, claim.distance)
    return epsilon_upper((a, b), (n, m), delta=claim.delta, level=level, distance=claim.distance)


def _bound(result: ResultRecord | Accepted) -> float:
    """The lower bound in the claim's own parameter: those of two points of a curve compare."""
    kept = result.get("size_lower")
    if kept is not None:
        return max(float(cast(Number, kept)), 0.0)
    return _sized(result, max(float(result["epsilon_lower"]), 0.0))


def _sized(result: ResultRecord | Accepted, epsilon: float) -> float:
    claim = read_claim(result["claim"])
    if claim.curve is None:
        return epsilon
    return size_lower(claim.curve, min(epsilon, LARGEST_BOUND), claim.delta, claim.distance)


def _measure(result: ResultRecord) -> str:
    curve = read_claim(result["claim"]).curve
    return "epsilon" if curve is None else curve.parameter


def baseline_text(gated: Sequence[Gated]) -> str:
    """The baseline that accepts these results."""
    entries = {
        one.entry.name: list(map(_accepted, one.results)) for one in gated if not one.problem
    }
    claims = {
        one.entry.name: [_called(claim) for claim in one.claims if claim["verdict"] == "refuted"]
        for one in gated
        if not one.problem and one.claims
    }
    data = {"schema": SCHEMA, "entries": entries, **({"claims": claims} if claims else {})}
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _called(claim: ClaimCheckRecord) -> str:
    return f"{claim['kind']} {claim['identifier']}: {claim['bound_words']}"


def _accepted(result: ResultRecord) -> Accepted:
    kept: Accepted = {
        "mechanism": result["mechanism"],
        "claim": result["claim"],
        "verdict": result["verdict"],
        "epsilon_lower": max(float(result["epsilon_lower"]), 0.0),
        "epsilon_upper": number(_upper(result)),
        "pair": result["pair"],
        "seed": result["seed"],
    }
    if result["plan"].get("domain") == "histogram":
        kept["histogram"] = True
    if "curve" in result["claim"]:
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
        accepted = {_claim(result) for result in old if result["verdict"] == "refuted"}
        made = {_claim(result) for result in one.results}
        for result in (*one.results, *one.again):
            told = _claim(result) in accepted or _claim(result) not in made
            if result["verdict"] == "refuted" and not told:
                found.append(Reason(kind="refuted", name=name, sentence=_refuted(result)))
                accepted.add(_claim(result))  # one witness says it
        known = () if baseline is None else baseline.claims.get(name, ())
        for claim in one.claims:
            why = reason_beside(claim, name)
            if why is not None and _called(claim) not in known:
                found.append(why)
        if strict and one.verdict == "inconclusive":
            found.append(Reason(kind="inconclusive", name=name, sentence=_note(one)))
        for before, after in zip(old, one.again, strict=False):
            given_up = _claim(after) not in made and _claim(after) not in accepted
            if after["verdict"] == "refuted" and given_up:
                found.append(Reason(kind="rose", name=name, sentence=_given_up(one, after)))
            elif _bound(after) > max(_bound(before) + rise, float(before.get("epsilon_upper", 0))):
                found.append(Reason(kind="rose", name=name, sentence=_rose(before, after, rise)))
    if baseline is not None:
        present = {one.entry.name for one in gated}
        found += [
            Reason(kind="vanished", name=name, sentence="it is in the baseline and no longer "
                  "listed; put it back, or accept with --accept")
            for name in baseline.results if name not in present
        ]  # fmt: skip
    return tuple(dict.fromkeys(found))


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


def _claim(result: ResultRecord | Accepted) -> tuple[Number, ...]:
    claim = result["claim"]
    promised: tuple[Number, ...] = (claim["epsilon"], claim["delta"])
    if "curve" in claim:
        promised = (json.dumps(claim["curve"], sort_keys=True),)
    return *promised, claim["relation"], claim["distance"]


def _refuted(result: ResultRecord) -> str:
    return wording.sentence(revived(result))


def _note(one: Gated) -> str:
    notes = [r.get("note", "") for r in one.results if r["verdict"] == "inconclusive"]
    return f"the audit cannot say: {notes[0] if notes else 'give it more draws'}"


def _rose(before: Accepted, after: ResultRecord, rise: float) -> str:
    return (
        f"on the pair of the baseline the draws now show {_measure(after)} >= "
        f"{_bound(after):.3f}, and showed {_bound(before):.3f}: more than {rise:g} above"
    )


def _given_up(one: Gated, after: ResultRecord) -> str:
    claims = " and ".join(wording.claim_phrase(revived(result).claim) for result in one.results)
    return (
        f"it claimed {wording.claim_phrase(revived(after).claim)} when the baseline was accepted, "
        f"and claims {claims or 'nothing'} now; on the pair of the baseline the draws show "
        f"{_measure(after)} >= {_bound(after):.3f}, which is more"
    )
