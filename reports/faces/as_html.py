"""An audit as one self-contained page: no network, no scripts, the numbers inside."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.results.results import AuditResult
from ..drawing.svg import bets_refute_a_curve, growth_figure, sketch_figure
from . import claim_faces, wording
from .difference import difference
from .templates import page, raw
from .tradeoff import trade_off, trade_off_caption, trade_off_figure

SIDES = (("first", "D"), ("second", "D′"))
"""Class and name of both databases on a page."""
MOST_DATA = 120_000
MOST_PICTURES = 4
MOST_COUNTS = 12


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
) -> dict[str, Any]:
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
