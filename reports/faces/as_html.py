"""An audit or an estimate as one self-contained page: no network, no scripts, the numbers inside.

The page of an audit shows the trade-off of the two errors in telling the databases apart, from the
draws of that audit. Who tells D from D' by an output errs in two ways: "D" for an output of D'
(type I) and "D'" for one of D (type II). A claim (epsilon, delta) is a curve that no test of
outputs goes below (Wasserman and Zhou, 2010; Dong, Roth and Su, 2022).

The page of an estimate has the bound, and a map of every claim that it rules out. A point is
(epsilon, delta), epsilon across and delta up, and what lies below the proved line is false, all at
one confidence. A claim that the mechanism states is the line of the delta that it leaves to each
epsilon: it is contradicted where it dips below.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import exp, floor, inf, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from ...auditors.bounds.two_sample import at_distance, confidence_box
from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.privacy.estimate import EpsilonEstimate
from ...auditors.results.results import AuditResult
from ...mechanisms.model import PrivacyClaim, lines_of
from ..drawing.svg import (
    CLAIM,
    FIRST,
    INK,
    SECOND,
    bets_refute_a_curve,
    figure,
    growth_figure,
    legend_above,
    sketch_figure,
    svg,
)
from . import claim_faces, wording
from .difference import difference
from .templates import page, raw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SIDES = (("first", "D"), ("second", "D′"))
"""Class and name of both databases on a page."""
MOST_DATA = 120_000
"""Characters of the data that a page carries; of more, databases and sketches are left out."""
MOST_PICTURES = 4
"""Results of a page that have pictures, the first ones."""
MOST_COUNTS = 12
"""Counts of a result that its page lists, the last ones."""
ZOOM = 0.12
"""A test below this chance of saying "D" is drawn larger than life."""
LOWEST = 1e-12
"""No delta below this is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What stands on top of the page of a gate: the outcome, what stops the change, all entries.

    `reasons` are (kind, entry, sentence); a row has verdict, word, name, claim, bound and change.
    """

    head: str
    failed: bool
    closing: str
    reasons: tuple[tuple[str, str, str], ...]
    rows: Sequence[Mapping[str, str]]


def render(
    results: Sequence[AuditResult],
    data: Mapping[str, Any],
    reruns: Sequence[str] = (),
    *,
    beside: Sequence[ClaimCheck] = (),
    summary: Summary | None = None,
) -> str:
    """The page of these results.

    `data` is their evidence document, which the page also carries as
    `<script type="application/json" id="dpwitness-result">`, without its databases and counts
    when these are too long for a page. `reruns` are the commands that audit anew, one for each.
    `beside` are claims of other kinds than privacy. `summary` is that of a gate.
    """
    heads_beside = [claim_faces.headline(one.result, one.mechanism) for one in beside]
    heads = [*map(wording.headline, results), *heads_beside]
    commands = [*reruns, *[""] * (len(results) - len(reruns))]
    return page(
        "audit.html",
        title=summary.head if summary is not None else "; ".join(heads)[:200],
        summary=summary,
        when=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        beside=[
            (*head.partition(": ")[::2], list(claim_faces.story(one.result)))
            for head, one in zip(heads_beside, beside, strict=True)
        ],
        subject="privacy audit" if summary is None else "privacy gate",
        words=wording,
        told=[
            _told(result, record, rerun, f"r{index}", pictured=index < MOST_PICTURES)
            for index, (result, record, rerun) in enumerate(
                zip(results, data["results"], commands, strict=True)
            )
        ],
        environment=", ".join(f"{name} {value}" for name, value in data["environment"].items()),
        embedded=raw(embedded(data)),
    )


def _told(
    result: AuditResult, record: Mapping[str, object], rerun: str, key: str, *, pictured: bool
) -> dict[str, object]:
    """What the template says of one claim."""
    word = wording.verdict_word(result.verdict)
    rest = wording.headline(result).removeprefix(f"{word}: ")
    pair, counts = wording.shown_pair(result), wording.shown_counts(result)
    sides = SIDES
    judged = result.evidence.counts
    pictures = list(_pictures(result, key)) if pictured else []
    # The histogram stands under the databases, unless it is of another pair.
    beside = 1 if result.sketch is not None and not wording.pictured_sentence(result) else 0
    return {
        "result": result,
        "note": wording.note(result) or (result.note if result.exact is None else ""),
        "chances": [
            (*side, chance)
            for side, chance in zip(sides, wording.count_phrases(result), strict=False)
            if result.by_law
        ],
        "key": key,
        "verdict": result.verdict.value,
        "word": word,
        "rest": rest if rest.startswith(result.mechanism) else _sentence(rest),
        "bound": wording.bound_phrase(result),
        "bound_sentence": f"{_sentence(wording.bound_sentence(result))}.",
        "sides": sides_of(result),
        "difference": difference(pair),
        "counts": [
            (*side, *count) for side, count in zip(sides, zip(*counts, strict=True), strict=True)
        ]
        if counts
        else [],
        "power": wording.power_rows(result),
        "unseen": wording.by_label(
            [
                *(("power", text) for text in [wording.no_power(result)] if text),
                *wording.unseen(result),
            ]
        ),
        "pictured": wording.pictured_sentence(result) if pictured else "",
        "outputs": pictures[:beside],
        "pictures": pictures[beside:],
        "facts": _facts(result),
        "replay": record["replay"],
        "saved": _saved(str(record["replay"])),
        "next": _sentence(f"{step}.") if (step := wording.next_step(result, rerun)) else "",
        "judged": judged[-MOST_COUNTS:],
        "turned": result.witness is not None and bool(judged) and judged[-1].reversed,
    }


def _saved(replay: str) -> str:
    """The evidence file that a command counts again; "" for a command that audits anew."""
    words = shlex.split(replay)
    return words[2] if words[1:2] == ["replay"] and len(words) > 2 else ""


def sides_of(result: AuditResult) -> list[tuple[str, str, str]]:
    """Both databases in a line each, so that an empty one is seen to be empty."""
    told = wording.databases_phrases(wording.shown_pair(result))
    return [(*side, one) for side, one in zip(SIDES, told, strict=True)]


def _sentence(phrase: str) -> str:
    """A phrase with a capital letter, unless it starts with a symbol's name."""
    return phrase if phrase.startswith("epsilon") else phrase[:1].upper() + phrase[1:]


def _pictures(result: AuditResult, key: str) -> Iterator[tuple[str, object, str]]:
    """(title, figure, caption) of each."""
    sketch = result.sketch
    if sketch is not None and any(map(sum, sketch.counts)):
        yield (
            "Outputs of both databases",
            raw(sketch_figure(sketch, ("D", "D′"), key=f"{key}-outputs")),
            f"{sum(map(sum, sketch.counts)):,} outputs, drawn before the counted runs"
            f"{_by(sketch.feature)}; the event is shaded.",
        )
    if (shown := trade_off(result)) is not None:
        yield (
            "How well one output tells D from D′",
            raw(trade_off_figure(shown, key=f"{key}-tradeoff")),
            trade_off_caption(shown, of_event=not wording.by_bets(result)),
        )
    yield (
        "What bets against the claim won" if bets_refute_a_curve(result) else "How the bound grew",
        raw(growth_figure(result, key=f"{key}-growth")),
        _growth_caption(result),
    )


def _by(feature: str) -> str:
    return "" if feature == "output" else f", by {feature}"


def _growth_caption(result: AuditResult) -> str:
    decided = wording.decided_sentence(result)
    bound, bets = result.epsilon_lower, result.evidence.bets
    if bets is not None and bets_refute_a_curve(result):
        return (
            "Somebody starts with 1 and bets on each run that the claim is false, at odds that are "
            f"fair if it is true. If it is true, the money ever reaches {1 / bets.level:,.0f} "
            f"with probability at most {bets.level:.2g}. {decided}"
        )
    if result.refuted:
        of = f" Of the pair {wording.judged_as(result)}." if wording.two_pairs(result) else ""
        return f"{decided}{of} All bounds shown are valid together.".strip()
    if isfinite(bound) and bound > 0:
        return f"The claim would be refuted if the bound reached {result.claim.epsilon:g}."
    return "No privacy loss found so far."


def _facts(result: AuditResult) -> tuple[tuple[str, str], ...]:
    claim, evidence, worst = result.claim, result.evidence, result.worst
    level = (worst.evidence if worst and worst.evidence else evidence).level
    return (
        ("Claim", wording.claim_phrase(claim)),
        ("Promised by", claim.reference),
        ("Target", result.target),
        (
            "Error budget",
            f"alpha {evidence.alpha:.3g} for this claim: {level:.3g} for the test that gives the "
            "bound, the rest for the other tests"
            + (" and for a smaller pair." if result.refuted else "."),
        ),
    )


def embedded(data: Mapping[str, Any]) -> str:
    """The data as JSON that cannot end its script element, however hostile its strings."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_DATA:
        omitted = [
            {**result, "pair": None, "smaller": None, "sketch": None, "omitted": "too long"}
            for result in data["results"]
        ]
        text = json.dumps({**data, "results": omitted}, allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_DATA:
        text = json.dumps({"schema": data["schema"], "omitted": "too long; see the JSON evidence"})
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Curves as (type I, type II) points, from (0, 1) to (1, 0).

    `claimed` is the least any test may reach. `above` is a limit from above for the smallest type
    II error of any test at each type I error: except with probability `error` the true curve lies
    between it and the axes. `point` is the counted event, and `drawn` the curve of the histogram
    of the draws that taught, which has no guarantee; empty where there is none. `names` are the
    likelier side and the other.
    """

    claimed: tuple[tuple[float, float], ...]
    above: tuple[tuple[float, float], ...]
    point: tuple[float, float]
    drawn: tuple[tuple[float, float], ...]
    error: float
    names: tuple[str, str]


def trade_off(result: AuditResult) -> TradeOff | None:
    """The trade-off on the pair that is shown; None where nothing was counted."""
    evidence = result.evidence
    if result.witness is not None and result.witness.evidence is not None:
        evidence = result.witness.evidence
    # Of a refutation the likelier side comes first everywhere.
    turned = bool(evidence.counts) and evidence.counts[-1].reversed and not result.refuted
    if not evidence.counts or min(evidence.trials) < 1:
        return None
    hits, trials = evidence.hits, evidence.trials
    # Two of the four limits are used, each wrong with probability level / 2 at this look; the
    # levels of all looks, of which the counts chose one, add up to alpha.
    box = confidence_box(hits, trials, min(2 * evidence.level, 0.5))
    corner = (box.q_high, 1 - box.p_low)
    above = ((0.0, 1.0), corner, (1.0, 0.0)) if sum(corner) < 1 else ((0.0, 1.0), (1.0, 0.0))
    claim = result.claim
    return TradeOff(
        claimed=claimed_trade_off(claim),
        above=above,
        point=(hits[1] / trials[1], 1 - hits[0] / trials[0]),
        drawn=_drawn(result, turned),
        error=evidence.alpha,
        names=("D′", "D") if turned else ("D", "D′"),
    )


def claimed_trade_off(claim: PrivacyClaim) -> tuple[tuple[float, float], ...]:
    """The least errors that the claim allows, of a whole curve where one is claimed."""
    if claim.curve is None:
        return claimed_curve(*at_distance(claim.epsilon, claim.delta, claim.distance))
    lines = np.array(lines_of(claim.curve, claim.distance), dtype=float)
    one = np.concatenate([np.geomspace(1e-7, 0.01, 60), np.linspace(0.01, 1, 200)])
    allowed = np.exp(np.minimum(lines[:, :1], 700.0)) * one + lines[:, 1:]
    two = np.clip(1 - allowed.min(axis=0), 0, 1)
    # The promise holds in both orders of the databases, so the curve is its own mirror image.
    back = np.interp(one, two[::-1], one[::-1])
    return ((0.0, 1.0), *zip(one.tolist(), np.maximum(two, back).tolist(), strict=True))


def claimed_curve(epsilon: float, delta: float) -> tuple[tuple[float, float], ...]:
    """The corners of max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a))."""
    corner = (1 - delta) / (1 + exp(epsilon)) if epsilon < 700 else 0.0
    return ((0.0, 1 - delta), (corner, corner), (1 - delta, 0.0))


def _drawn(result: AuditResult, turned: bool) -> tuple[tuple[float, float], ...]:
    """The curve of the histogram: its bins in the order of their likelihood ratios."""
    sketch = result.sketch
    if sketch is None or not all(map(sum, sketch.counts)):
        return ()
    first, second = (
        np.asarray(side, dtype=float) for side in sketch.counts[:: -1 if turned else 1]
    )
    order = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
    one, two = (np.cumsum(side[order]) / side.sum() for side in (first, second))
    return ((0.0, 1.0), *zip(two.tolist(), (1 - one).tolist(), strict=True))


def trade_off_figure(shown: TradeOff, *, key: str) -> str:
    """Events by how often they happen under both databases: what the claim allows, what was found.

    It is the trade-off upside down, so that up is likelier under the first side.
    """
    claimed, proved, drawn = (
        [(x, 1 - y) for x, y in curve] for curve in (shown.claimed, shown.above, shown.drawn)
    )
    with figure() as (drawing, axes):
        x, y = zip(*sorted([*claimed, (1.0, 1.0)]), strict=True)
        axes.fill_between(x, 0, y, color=CLAIM, alpha=0.16, linewidth=0, label="allowed")
        axes.plot(x, y, color=CLAIM, linewidth=1.2)
        if drawn:
            axes.plot(
                *zip(*drawn, strict=True), color=SECOND, linewidth=1.2,
                linestyle=(0, (4, 1.5)), label="estimated",
            )  # fmt: skip
        axes.plot(*zip(*proved, strict=True), color=FIRST, linewidth=1.7, label="proved")
        axes.plot(
            [shown.point[0]], [1 - shown.point[1]], color=INK, marker="o", markersize=5,
            linestyle="none", label="event",
        )  # fmt: skip
        _frame(axes, shown)
        one, two = shown.names
        axes.set_xlabel(f"share of {two} in the event")
        axes.set_ylabel(f"share of {one} in the event")
        legend_above(axes)
        return svg(
            drawing,
            key,
            f"How well one output tells {one} from {two}",
            "How often events happen under both databases, and how often the claim allows; the "
            f"event counted happens in {1 - shown.point[1]:.4g} and {shown.point[0]:.4g} of the "
            "outputs.",
        )


def _frame(axes: "Axes", shown: TradeOff) -> None:
    """The whole square, or for a rare event the corner where it happens."""
    rare = 1 - shown.point[1]
    if 0 < rare < ZOOM:
        axes.set_xlim(0, 1.6 * rare)
        axes.set_ylim(0, 1.8 * rare)
    else:
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)


def trade_off_caption(shown: TradeOff, *, of_event: bool = True) -> str:
    """What to see, and what holds; `of_event`: the counts of the event decide."""
    one, two = shown.names
    leaves = (
        "the claim is refuted if it leaves the green area"
        if of_event
        else "a sequential test of all outputs refuted the claim; the dot is one event"
    )
    return (
        f"A point is an event: how often it happens under {two} (across) and under {one} (up). "
        "The claim allows the green area only. The dot is the counted event. The blue line "
        f"holds with {100 * (1 - shown.error):.6g} % confidence: {leaves}. Orange: an estimate "
        "without guarantee."
    )


def render_estimate(
    made: EpsilonEstimate,
    data: Mapping[str, Any],
    *,
    head: str,
    lines: Sequence[tuple[str, str]],
    replay: str,
) -> str:
    """The page of an estimate.

    `data` is its evidence document, which the page carries too; `head` and `lines` are its
    headline and its (label, sentence) lines, and `replay` the command that counts again.
    """
    result = made.result
    pictures = []
    if made.curve is not None and any(made.curve.delta_lower):
        pictures.append(
            ("Claims that these runs rule out", raw(curve_figure(made)), curve_caption(made))
        )
    sketch = result.sketch
    if sketch is not None and any(map(sum, sketch.counts)):
        pictures.append(
            (
                "Outputs of both databases",
                raw(sketch_figure(sketch, ("D", "D′"), key="outputs")),
                f"{sum(map(sum, sketch.counts)):,} outputs from before the counted runs, by "
                f"{sketch.feature}; the event is shaded.",
            )
        )
    counts = wording.shown_counts(result) if made.witness is not None else None
    return page(
        "estimate.html",
        title=head,
        subject=f"privacy estimate, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        head=head,
        sides=sides_of(result),
        difference=difference(wording.shown_pair(result)),
        event=wording.event_phrase(result),
        counts=[
            (side, name, *count)
            for (side, name), count in zip(SIDES, zip(*counts, strict=True), strict=True)
        ]
        if counts
        else [],
        facts=wording.by_label(lines),
        pictures=pictures,
        replay=replay,
        environment=", ".join(f"{name} {value}" for name, value in data["environment"].items()),
        embedded=raw(embedded(data)),
    )


def stated_deltas(claim: PrivacyClaim, epsilons: Sequence[float]) -> list[float]:
    """The delta that a claim leaves to each epsilon: max over q of f(q) - e^epsilon q."""
    q, missed = np.array(claimed_trade_off(claim)).T
    return [float(np.max(1 - missed - exp(epsilon) * q, initial=0.0)) for epsilon in epsilons]


def contradicted(made: EpsilonEstimate, claim: PrivacyClaim) -> bool:
    """Whether the curve lies above what the claim leaves, somewhere."""
    curve = made.curve
    assert curve is not None
    left = stated_deltas(claim, curve.epsilons)
    return any(low > most + 1e-9 for low, most in zip(curve.delta_lower, left, strict=True))


def curve_figure(made: EpsilonEstimate) -> str:
    """Proved delta at every epsilon as the edge of an area, and what is claimed as a line."""
    curve = made.curve
    assert curve is not None
    epsilons, deltas = np.array(curve.epsilons), np.array(curve.delta_lower)
    shown = float(epsilons[deltas > 0].max())
    right = max(shown, *(one.epsilon for one in made.claims[:1]), made.epsilon_lower) * 1.12
    right = min(max(right, 0.1), float(epsilons[-1]) * 1.5)
    least = min(float(deltas[deltas > 0].min()), made.delta or inf)
    floor_ = max(10.0 ** floor(log10(least) - 0.3), LOWEST)
    with figure() as (drawing, axes):
        axes.fill_between(
            epsilons, floor_, np.maximum(deltas, floor_), color=FIRST, alpha=0.16, linewidth=0,
            label="proved false",
        )  # fmt: skip
        axes.plot(epsilons, np.maximum(deltas, floor_ / 10), color=FIRST, linewidth=1.7)
        for claim in made.claims[:1]:
            at = np.linspace(0, right, 300)
            left = np.maximum(stated_deltas(claim, at.tolist()), floor_ / 10)
            axes.plot(at, left, color=CLAIM, linewidth=1.7, linestyle=(0, (5, 2)), label="claim")
        if made.delta and made.epsilon_lower > 0:
            axes.plot(
                [made.epsilon_lower], [made.delta], color=INK, marker="o", markersize=5,
                linestyle="none", label="bound",
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlim(0, right)
        axes.set_ylim(floor_, 1)
        axes.set_xlabel("epsilon (nats)")
        axes.set_ylabel("delta (log scale)")
        legend_above(axes)
        return svg(
            drawing,
            "curve",
            "Claims that these runs rule out",
            f"Lower bound on delta at every epsilon: {deltas[0]:.3g} at epsilon 0, and above 0 up "
            f"to epsilon {shown:.3g}.",
        )


def curve_caption(made: EpsilonEstimate) -> str:
    """What to see, and what holds."""
    told = [
        "A point is a claim: epsilon across, delta up. Every claim in the blue area is false, all "
        f"of them together at {100 * (1 - made.alpha):.6g} % confidence. Above it nothing is "
        "shown: more runs may raise the edge."
    ]
    if made.delta and made.epsilon_lower > 0:
        told.append(f"The dot is the bound at delta {made.delta:g}, from more runs than the edge.")
    for claim in made.claims[:1]:
        where = (
            "it dips into the blue area, so the claim is false"
            if contradicted(made, claim)
            else "where it dips into the blue area the claim is false, and here it does not"
        )
        told.append(f"Green: what {wording.claim_phrase(claim)} leaves to delta; {where}.")
    return " ".join(told)
