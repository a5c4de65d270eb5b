"""What `dpwitness judge` does, apart from reading its options."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import ceil, exp, log
from typing import Any

import numpy as np

from ...auditors import conformance
from ...auditors.errors import InvalidArgument
from ...auditors.evidence.derive import usual
from ...auditors.outputs.features import Feature
from ...auditors.recorded import Judged, JudgedKept, judge_kept, judge_samples
from ...auditors.results.results import Verdict
from ..faces import wording
from ..faces.as_text import told as told_text
from ..formats.plain import plain, tell
from ..formats.table import require_places
from ..formats.told import Lines, ToldClaim
from ..record.reading import renyi_from
from ..shell.computed import INCONCLUSIVE, REFUTED
from ..shell.console import Console
from ..targets.targets import find_curve
from ..writing.terminal import printable
from .sample_files import PIPE, Kept, compared, read_kept, read_outputs, read_sample, same_file

UNSAID = (
    "Not examined: other databases (nothing was searched, and nothing can be replayed or made "
    "smaller), whether these two are neighbours, the low-order bits of numbers, and whether the "
    "outputs of each sample are independent draws of one law, without which the error "
    "probability does not hold."
)
UNSAID_OF_KEPT = (
    "Not examined: other databases, the low-order bits of numbers, and whether the draws are "
    "independent, without which the error probability does not hold: an audit that ends makes some "
    "of them again, and this one did not come to that."
)
CLAIMS = ("epsilon", "mu", "rho", "renyi", "curve")
MOST_SHOWN = 200
"""Letters of a pair that are told."""
STATUS = {Verdict.REFUTED: REFUTED, Verdict.INCONCLUSIVE: INCONCLUSIVE}


def judge(
    console: Console,
    /,
    first: str,
    second: str | None,
    *,
    law: str | None,
    paths: Mapping[str, str | None],
    renyi: Sequence[str] = (),
    curve: str | None = None,
    **stated: Any,
) -> int:
    """Judge a claim on two recorded samples, on kept draws or against a law; the exit status.

    `stated` are the numbers of the claim and alpha, None for those that nobody stated.
    """
    require_places(paths)
    stated["renyi"] = renyi_from(renyi) if renyi else None
    stated["curve"] = find_curve(curve) if curve else None
    claim = {name: value for name, value in stated.items() if value is not None}
    if law is not None:
        return _judge_law(console, first, second, law, claim, paths)
    if second is None:
        return _judge_kept(console, first, claim, paths)
    if claim.keys().isdisjoint(CLAIMS):
        raise InvalidArgument(
            "nobody said what is claimed; give it with --epsilon, --mu, --rho, --renyi or --curve"
        )
    if first == second == PIPE:
        raise InvalidArgument("only one of the samples can come through the pipe; name a file")
    if remark := same_file(first, second):
        console.warn(remark)
    judged = judge_samples(*compared(read_sample(first), read_sample(second)), **claim)
    names = ("standard input" if first == PIPE else first,
             "standard input" if second == PIPE else second)  # fmt: skip
    return _tell(console, paths, judged, names, _judged_data(judged, names))


def _tell(
    console: Console,
    paths: Mapping[str, str | None],
    judged: Judged,
    names: tuple[str, str],
    data: dict[str, object],
    kept: Kept | None = None,
    place: str = "",
) -> int:
    """Say the verdict and write it; the exit status."""
    return _told(
        console, paths, judged.verdict, data,
        headline(judged, names, kept, place), tuple(story(judged, names, kept)),
        place=place or " and ".join(names),
        claim=_claim(judged),
        bound=_bound(judged),
        draws=sum(judged.count.trials),
    )  # fmt: skip


def _told(
    console: Console,
    paths: Mapping[str, str | None],
    verdict: Verdict,
    data: dict[str, object],
    head: str,
    lines: Lines,
    *,
    place: str,
    claim: str,
    bound: str,
    draws: int,
) -> int:
    status = STATUS.get(verdict, 0)
    one = ToldClaim(
        mechanism=place, claim=claim, verdict=verdict.value, bound=bound, power="", draws=draws,
        seconds=0.0, story=lines,
    )  # fmt: skip
    told = plain(
        "judge", told_text(head, lines, 80), data, story=lines, judged=one, place=place,
        sentence=head.partition(": ")[2] if status else "",
    )  # fmt: skip
    text = told_text(head, () if console.quiet else lines, console.width).rstrip("\n")
    return tell(console, paths, told, text, status)


def _judge_kept(
    console: Console, place: str, stated: dict[str, Any], paths: Mapping[str, str | None]
) -> int:
    """Judge the draws that an audit kept in a file."""
    kept = read_kept(place)
    if curves := [name for name in CLAIMS[1:] if name in stated]:
        raise InvalidArgument(
            f"draws that were kept are judged against (epsilon, delta), and --{curves[0]} came; "
            "of a curve the audit kept its point, which is judged without any option"
        )
    own = {**kept.claim, "distance": int(kept.claim["distance"])}
    judged = judge_kept(*kept.sides, **{**own, **stated})
    names = "D", "D'"
    data = {
        **_judged_data(judged, names),
        "not_examined": UNSAID_OF_KEPT,
        "kept": {
            "mechanism": kept.mechanism,
            "pair": json.loads(kept.pair),
            "alpha_spent": kept.spent,
            "log_wealth": judged.wealth,
            "log_wealth_needed": judged.needed,
        },
    }
    return _tell(console, paths, judged, names, data, kept, place)


def _bound(judged: Judged) -> str:
    """What is known of the loss, in the parameter that is claimed: ">= 1.2", "mu >= 1.1"."""
    curve = judged.curve
    if curve is None:
        return f">= {wording.at_least(max(0.0, judged.epsilon_lower), judged.epsilon)}"
    shown = wording.at_least(judged.size_lower, curve.size)
    if curve.parameter == "factor":
        return f">= {shown} times its epsilon"
    return f"{curve.parameter} >= {shown}"


def _claim(judged: Judged) -> str:
    if judged.curve is not None:
        steps = f" ({judged.distance} steps apart)" if judged.distance > 1 else ""
        return f"{judged.curve}{steps}"
    claim = f"epsilon {judged.epsilon:g}" + (f", delta {judged.delta:g}" if judged.delta else "")
    return claim + (f" ({judged.distance} steps apart)" if judged.distance > 1 else "")


def _judged_data(judged: Judged, names: tuple[str, str]) -> dict[str, object]:
    count = judged.count
    return {
        "verdict": judged.verdict.value,
        "samples": [
            {"name": name, "outputs": size, "judged": trials, "hits": hits}
            for name, size, trials, hits in zip(
                names, judged.sizes, count.trials, count.hits, strict=True
            )
        ],
        "claim": {
            "epsilon": judged.epsilon,
            "delta": judged.delta,
            "distance": judged.distance,
            **({} if judged.curve is None else {"curve": judged.curve.to_json()}),
        },
        "alpha": judged.alpha,
        "level": judged.level,
        "events": judged.events,
        "epsilon_lower": max(0.0, judged.epsilon_lower),
        **({} if judged.curve is None else {"size_lower": judged.size_lower}),
        "detectable_epsilon": judged.detectable if judged.detectable < float("inf") else None,
        "event": count.event.to_json(),
        "event_in_words": count.event.describe(),
        "likelier": names[1] if count.reversed else names[0],
        "remarks": list(judged.remarks),
        "not_examined": UNSAID,
    }


def headline(
    judged: Judged, names: tuple[str, str], kept: Kept | None = None, place: str = ""
) -> str:
    """The verdict in a sentence; `names` are those of the samples.

    For the draws that an audit kept, `kept` says what they are and `place` which file has them.
    """
    claim = _claim(judged)
    pair = printable(f"the draws in {place}" if kept is not None else " and ".join(names))
    if judged.verdict is Verdict.REFUTED:
        sure = f"with {100 * (1 - judged.alpha):.6g} % confidence"
        return f"Refuted: {pair} contradict {claim}: privacy loss {_bound(judged)}, {sure}."
    if judged.verdict is Verdict.NOT_REFUTED:
        return f"Not refuted: no violation of {claim} found in {pair}."
    if judged.dependent:
        return (
            f"Inconclusive: {pair} do not hold independent draws, so nothing follows for {claim}."
        )
    return f"Inconclusive: {pair} are too few outputs to judge {claim}."


def story(
    judged: Judged, names: tuple[str, str], kept: Kept | None = None
) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below the headline."""
    count = judged.count
    yield "event", printable(count.event.describe())
    for side in (1, 0) if count.reversed else (0, 1):
        hits, trials = count.hits[side], count.trials[side]
        one = f"{wording.share(hits, trials)} of the outputs ({wording.count_phrase(hits, trials)})"
        yield "", f"in {one} of {printable(names[side])}"
    if judged.curve is not None:
        point = f"epsilon {judged.epsilon:.4g}, delta {judged.delta:.4g}"
        yield "point", f"{point}, which {judged.curve} promises of these databases"
    learnt = [size - trials for size, trials in zip(judged.sizes, count.trials, strict=True)]
    if kept is not None and isinstance(judged, JudgedKept):
        yield from _kept_lines(judged, kept)
    else:
        chosen = "the event" if judged.events == 1 else f"{judged.events} events"
        most = "" if judged.events == 1 else "; this one gives the largest bound"
        yield (
            "split",
            f"the first {learnt[0]:,} and {learnt[1]:,} outputs chose {chosen}, the rest were "
            f"counted once{most}",
        )
    judged_once = kept is None or judged.detectable < float("inf")
    if judged.verdict is not Verdict.REFUTED and not judged.dependent and judged_once:
        at = "" if judged.curve is None else f" at delta {judged.delta:.4g}"
        seen = (
            f"epsilon {judged.detectable:.4g} or more{at}"
            if judged.detectable < float("inf")
            else "no epsilon at all"
        )
        likely = f"an event of probability {usual(judged.delta):g}"
        yield "power", f"would have detected {seen} by {likely}, 9 times in 10"
    for remark in judged.remarks:
        yield "beware", f"{remark}."
    yield "unseen", (UNSAID if kept is None else UNSAID_OF_KEPT).removeprefix("Not examined: ")


def _kept_lines(judged: JudgedKept, kept: Kept) -> Iterator[tuple[str, str]]:
    """What is told of draws that were kept: whose they are, the bets, and whose error is whose."""
    shown = printable(kept.pair)
    yield "pair", f"{shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + ' ...'}"
    yield (
        "draws",
        f"{judged.sizes[0]:,} of each database by {printable(kept.mechanism)}, in the "
        "order in which they were made",
    )
    won, needed = exp(min(judged.wealth, 700.0)), exp(min(judged.needed, 700.0))
    yield "bets", f"made {won:.3g} of 1 on them; {needed:,.4g} refute"
    yield (
        "error",
        f"{judged.alpha:g} at most, whatever ended the audit; it had {kept.spent:g} of "
        f"its own, so that either of the two refutes a true claim with probability "
        f"{judged.alpha + kept.spent:g} at most",
    )


def _judge_law(
    console: Console,
    place: str,
    second: str | None,
    law: str,
    stated: dict[str, Any],
    paths: Mapping[str, str | None],
) -> int:
    """Test whether recorded numbers follow a law."""
    alpha = stated.pop("alpha", 1e-6)
    if second is not None or stated:
        other = f"--{next(iter(stated))}" if stated else f"a second sample, {second}"
        raise InvalidArgument(
            f"--law is about one sample and is the whole claim, and {other} came too; leave one out"
        )
    declared = conformance.parse_law(law)
    sample = read_outputs(place)
    column = sample.column(Feature())
    if column.labelled().any() or sample.paths() != [()]:
        raise InvalidArgument(
            f"{place} holds other things than single numbers; a law is of one number a draw"
        )
    found = conformance.conform(np.asarray(column.values), declared, name=law, alpha=alpha)
    name = "standard input" if place == PIPE else place

    return _told(
        console, paths, found.verdict, {**asdict(found), "verdict": found.verdict.value},
        law_headline(found, name), tuple(law_story(found)),
        place=name, claim=f"follows {found.law}", bound="", draws=found.size,
    )  # fmt: skip


def law_headline(found: conformance.Conformance, place: str) -> str:
    """Whether the numbers follow their law, in a sentence."""
    subject, law = printable(f"{found.size:,} numbers in {place}"), printable(found.law)
    if found.verdict is Verdict.REFUTED:
        return f"Refuted: {subject} do not follow {law}."
    if found.verdict is Verdict.NOT_REFUTED:
        return f"Not refuted: {subject} do not contradict {law}."
    return (
        f"Inconclusive: {subject} are too few to say whether they follow {law}; "
        f"record {ceil(200 * log(5 / found.alpha)):,} or more."
    )


def law_story(found: conformance.Conformance) -> Iterator[tuple[str, str]]:
    """The (label, text) lines below that sentence."""
    for finding in found.findings[:5]:
        low, high = finding.expected
        chance = f"{low:.6g}" if high - low < 1e-6 * max(high, 1e-9) else f"{low:.5g} to {high:.5g}"
        text = f"{printable(finding.what)}: probability {chance}, seen {finding.seen:.6g}"
        if finding.test == "support":
            text = printable(finding.what)
        yield "differs", f"{finding.test}: {text}"
    if len(found.findings) > 5:
        yield "", f"and {len(found.findings) - 5} more places (--json has all)"
    yield (
        "alpha",
        "a sampler that follows this law, with independent outputs, is refuted with probability "
        f"at most {found.alpha:g}",
    )
    yield (
        "power",
        "a sampler whose distribution function is anywhere farther from this law than "
        f"{found.visible:.3g} would have been refuted with probability {1 - found.alpha:g} or more",
    )
