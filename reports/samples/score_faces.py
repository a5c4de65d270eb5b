"""What the scores of two sides prove, as text and as JSON."""

from collections.abc import Iterator
from math import isfinite

from ...auditors.evidence.conversion import claim_record
from ...auditors.recorded import OneRun, Scores
from ...auditors.results.results import Verdict
from ...mechanisms.model import PrivacyClaim
from ..faces import wording
from ..writing.terminal import printable

UNSAID = (
    "Not examined: other data sets and other attacks, whether the two data sets are neighbours, "
    "and whether the scores of each file are independent draws of one law, as the same attack on "
    "runs made anew gives them, without which the error probability does not hold. A bound from "
    "below proves no privacy."
)


def claim_words(claim: PrivacyClaim) -> str:
    """The claim in a few words, without its neighbours."""
    words = wording.point_phrase(claim) if claim.curve is None else str(claim.curve)
    return words + (f" ({claim.distance} steps apart)" if claim.distance > 1 else "")


def headline(made: Scores) -> str:
    """The verdict or the bound in a sentence."""
    if made.dependent and made.claim is not None:
        claim = claim_words(made.claim)
        return f"Inconclusive: the scores are no independent draws, so nothing follows for {claim}."
    return verdict_sentence(made, "scores", max(0.0, made.epsilon_lower))


def verdict_sentence(made: Scores | OneRun, what: str, bound: float) -> str:
    """The verdict, or without a claim the bound on epsilon; `what` is what was counted."""
    sure = f"with confidence {100 * (1 - made.alpha):.6g} %"
    at = f" at delta {made.delta:g}" if made.delta else ""
    if made.claim is None:
        if bound <= 0:
            return f"The {what} do not prove any privacy loss{at}, {sure}."
        least = wording.at_least(bound)
        return f"The {what} prove a loss of at least epsilon {least}{at}, {sure}."
    claim = claim_words(made.claim)
    if made.verdict is Verdict.REFUTED:
        return f"Refuted: the {what} contradict {claim}; {_loss(made)}, {sure}."
    if made.verdict is Verdict.NOT_REFUTED:
        return f"Not refuted: the {what} do not contradict {claim}."
    return f"Inconclusive: there are too few {what} to judge {claim}."


def _loss(made: Scores | OneRun) -> str:
    assert made.claim is not None
    curve = made.claim.curve
    claimed = made.claim.epsilon if curve is None else curve.size
    least = wording.at_least(made.lower, claimed)
    if curve is None:
        return f"the loss is at least epsilon {least}"
    if curve.parameter == "factor":
        return f"the loss is at least {least} times its epsilon"
    return f"the loss is at least {curve.parameter} {least}"


def _least(bound: float) -> str:
    return wording.at_least(max(0.0, bound))


def story(made: Scores, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below the headline."""
    one = made.threshold
    if one is not None:
        yield "event", one.describe()
        likelier, other = names if one.inside else names[::-1]
        yield "hits", f"{one.hits:,} of {one.trials:,} scores of {printable(likelier)}"
        rank = f"number {one.rank:,} of {one.others:,} from that end"
        yield "rank", f"{rank}, of the scores of {printable(other)}"
    at = f" at delta {made.delta:g}" if made.delta else ""
    yield "bounds", f"epsilon at least {_least(made.epsilon_lower)}{at}"
    yield "", f"mu at least {_least(made.mu_lower)}, rho at least {_least(made.rho_lower)}"
    yield "", f"all together with confidence {100 * (1 - made.alpha):.6g} %"
    yield (
        "counted",
        f"{made.thresholds} thresholds on {made.sizes[0] - made.taught[0]:,} and "
        f"{made.sizes[1] - made.taught[1]:,} scores; {made.taught[0]:,} and {made.taught[1]:,}, "
        "drawn by lot, chose how much of alpha each threshold gets",
    )
    if made.detectable is not None and not made.dependent:
        yield "power", _power(made)
    for remark in made.remarks:
        yield "beware", f"{remark}."
    yield "unseen", UNSAID.removeprefix("Not examined: ")


def _power(made: Scores) -> str:
    assert made.claim is not None
    if made.detectable is None or not isfinite(made.detectable):
        return "no loss at all would have been detected"
    curve = made.claim.curve
    name = "epsilon" if curve is None else curve.parameter
    seen = f"{name} {made.detectable:.4g}"
    if name == "factor":
        seen = f"{made.detectable:.4g} times its epsilon"
    return f"{seen} or more, on the best threshold, would have been refuted with probability .9"


def data(made: Scores, names: tuple[str, ...]) -> dict[str, object]:
    """The result as plain JSON data."""
    one = made.threshold
    return {
        "verdict": None if made.verdict is None else made.verdict.value,
        "samples": [
            {"name": name, "scores": size, "taught": taught}
            for name, size, taught in zip(names, made.sizes, made.taught, strict=True)
        ],
        "claim": None if made.claim is None else claim_record(made.claim),
        "delta": made.delta,
        "distance": made.distance,
        "alpha": made.alpha,
        "epsilon_lower": made.epsilon_lower,
        "mu_lower": made.mu_lower,
        "rho_lower": made.rho_lower,
        "factor_lower": made.factor_lower,
        "detectable": made.detectable
        if made.detectable is not None and isfinite(made.detectable)
        else None,
        "thresholds": made.thresholds,
        "event": None
        if one is None
        else {
            "above": one.above,
            "score": one.score if isfinite(one.score) else None,
            "ties": one.ties,
            "likelier": names[0 if one.inside else 1],
            "hits": one.hits,
            "trials": one.trials,
            "rank": one.rank,
            "others": one.others,
            "level": one.level,
        },
        "event_in_words": None if one is None else one.describe(),
        "remarks": list(made.remarks),
        "not_examined": UNSAID,
    }
