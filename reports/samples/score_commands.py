"""What `dpwitness scores` does, apart from reading its options."""

import json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...auditors.errors import InvalidArgument
from ...auditors.evidence.write import claim_record
from ...auditors.outputs.features import Feature
from ...auditors.recorded import Scores
from ...auditors.recorded import scores as judge_scores
from ...auditors.results import Verdict
from ...mechanisms.model import PrivacyClaim
from ..console import INCONCLUSIVE, REFUTED, Console
from ..faces import wording
from ..faces.as_text import told, wrapped
from ..record.curve_files import points_from, renyi_from
from ..terminal import printable
from .sample_files import PIPE, read_outputs

UNSAID = (
    "Not examined: other data sets and other attacks, whether the two data sets are neighbours, "
    "and whether the scores of each file are independent draws of one law, as the same attack on "
    "runs made anew gives them, without which the error probability does not hold. A bound from "
    "below proves no privacy."
)
STATUS = {Verdict.REFUTED: REFUTED, Verdict.INCONCLUSIVE: INCONCLUSIVE}


def scores(
    console: Console,
    /,
    inside: str,
    outside: str,
    *,
    as_json: bool,
    renyi: Sequence[str],
    curve: str | None,
    **given: Any,
) -> int:
    """Judge the scores of two files, tell it, and give the exit status."""
    if inside == outside == PIPE:
        raise InvalidArgument("only one of the files can come through the pipe; name the other")
    given["renyi"] = renyi_from(renyi) if renyi else None
    given["curve"] = points_from(curve) if curve else None
    made = judge_scores(numbers_of(inside), numbers_of(outside), **given)
    names = tuple("standard input" if one == PIPE else one for one in (inside, outside))
    if as_json:
        console.say(json.dumps(_data(made, names), indent=2, allow_nan=False))
    elif console.quiet:
        console.say("\n".join(wrapped(headline(made), console.width)))
    else:
        console.say(told(headline(made), _story(made, names), console.width, replay=""))
    return STATUS.get(made.verdict, 0) if made.verdict else 0


def numbers_of(place: str) -> NDArray[np.float64]:
    """The numbers of a file, one an output; InvalidArgument where it holds anything else."""
    sample = read_outputs(place)
    column = sample.column(Feature())
    if column.labelled().any() or sample.paths() != [()]:
        raise InvalidArgument(
            f"{place} holds other things than single numbers; give one score for each run"
        )
    return np.asarray(column.values, dtype=float)


def claim_words(claim: PrivacyClaim) -> str:
    """The claim in a few words, without its neighbours."""
    words = wording.point_phrase(claim) if claim.curve is None else str(claim.curve)
    return words + (f" ({claim.distance} steps apart)" if claim.distance > 1 else "")


def headline(made: Scores) -> str:
    """The verdict or the bound in a sentence."""
    sure = f"with confidence {100 * (1 - made.alpha):.6g} %"
    at = f" at delta {made.delta:g}" if made.delta else ""
    if made.claim is None:
        if made.epsilon_lower <= 0:
            return f"The scores show no privacy loss{at}."
        bound = wording.at_least(made.epsilon_lower)
        return f"The scores prove a loss of at least epsilon {bound}{at}, {sure}."
    claim = claim_words(made.claim)
    if made.verdict is Verdict.REFUTED:
        return f"Refuted: the scores contradict {claim}; {_loss(made)}, {sure}."
    if made.verdict is Verdict.NOT_REFUTED:
        return f"Not refuted: the scores do not contradict {claim}."
    if made.dependent:
        return f"Inconclusive: the scores are no independent draws, so nothing follows for {claim}."
    return f"Inconclusive: there are too few scores to judge {claim}."


def _loss(made: Scores) -> str:
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


def _story(made: Scores, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
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
        "drawn by lot, said which of them are likely to tell most",
    )
    if made.detectable is not None and not made.dependent:
        yield "power", _power(made)
    for remark in made.remarks:
        yield "beware", f"{remark}."
    yield "unseen", UNSAID.removeprefix("Not examined: ")


def _power(made: Scores) -> str:
    assert made.claim is not None
    if made.detectable is None or not isfinite(made.detectable):
        return "no loss at all would have been seen"
    curve = made.claim.curve
    name = "epsilon" if curve is None else curve.parameter
    seen = f"{name} {made.detectable:.4g}"
    if name == "factor":
        seen = f"{made.detectable:.4g} times its epsilon"
    return f"{seen} or more, on the best threshold, would have been refuted with probability .9"


def _data(made: Scores, names: tuple[str, ...]) -> dict[str, Any]:
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
