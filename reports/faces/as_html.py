"""An audit as one self-contained page: no network, no scripts, the numbers inside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

from ...auditors.results import AuditResult, Verdict
from ..terminal import printable
from . import wording
from .difference import DiffLine, difference
from .svg import growth_figure, sketch_figure

MOST_DATA = 120_000
MOST_PICTURES = 4
MOST_COUNTS = 12
CHECK = (
    '<p class="saying">Without dpwitness, from the counts alone: <code>python3 -I -S '
    "check_evidence.py evidence.json</code> works out bound, error probability and verdict again. "
    "It is one file, <code>docs/check_evidence.py</code> of the project&rsquo;s sources, which "
    "needs Python&rsquo;s standard library only.</p>"
)


def render(results: Sequence[AuditResult], data: Mapping[str, Any]) -> str:
    """The page of these results.

    `data` is their evidence document, which the page also carries as
    `<script type="application/json" id="dpwitness-result">`, without its databases and counts
    when these are too long for a page.
    """
    title = "; ".join(wording.headline(result) for result in results)
    body = "\n".join(
        _article(result, record, f"r{index}", pictures=index < MOST_PICTURES)
        for index, (result, record) in enumerate(zip(results, data["results"], strict=True))
    )
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{_safe(title[:200])}</title>
<style>
{style}</style>
</head>
<body>
<div class="top"><h1>dpwitness</h1> &middot; privacy audit</div>
{_overview(results) if len(results) > 1 else ""}
{body}
<footer>{_environment(data["environment"])}</footer>
<script type="application/json" id="dpwitness-result">
{_embedded(data)}
</script>
</body>
</html>
"""


def _safe(text: str) -> str:
    """Text made harmless, with the signs and spaces that a page has and a terminal may not."""
    signs = printable(text).replace("epsilon >= ", "epsilon ≥ ")
    return escape(signs.replace("epsilon ", "epsilon\u00a0").replace(" %", "\u00a0%"))


def _overview(results: Sequence[AuditResult]) -> str:
    rows = "\n".join(
        f'<tr class="{result.verdict.value}"><td><a href="#r{index}">{_safe(result.mechanism)}</a>'
        f'</td><td>{_safe(wording.claim_phrase(result.claim))}</td><td class="verdict">'
        f'{wording.verdict_word(result.verdict)}</td><td class="n">{_bound(result)}</td></tr>'
        for index, result in enumerate(results)
    )
    return (
        '<div class="scroll overview"><table><thead><tr><th>Mechanism</th><th>Claim</th>'
        f'<th>Verdict</th><th class="n">Bound</th></tr></thead>\n<tbody>{rows}</tbody>'
        "</table></div>"
    )


def _bound(result: AuditResult) -> str:
    bound = result.epsilon_lower
    if bound <= 0:
        return "none"
    above = result.claim.epsilon if result.refuted else 0.0
    return _safe(f"epsilon >= {wording.at_least(bound, above)}")


def _article(result: AuditResult, record: Mapping[str, Any], key: str, *, pictures: bool) -> str:
    word = wording.verdict_word(result.verdict)
    rest = wording.headline(result).removeprefix(f"{word}: ")
    if not result.refuted:
        rest = rest[:1].upper() + rest[1:] if not rest.startswith(result.mechanism) else rest
    note = f'<p class="note">{_safe(result.note)}</p>' if result.note else ""
    return "\n".join(
        (
            f'<article id="{key}" class="{result.verdict.value}">',
            f'<header><h2><span class="verdict">{word}.</span> {_safe(rest)}</h2>{note}</header>',
            _witness(result),
            _pictures(result, key) if pictures else "",
            _power(result),
            _facts(result),
            _counts(result),
            f"<h3>Replay</h3>\n<pre>{_safe(record['replay'])}</pre>",
            CHECK,
            "</article>",
        )
    )


def _witness(result: AuditResult) -> str:
    title = "Witness" if result.witness is not None else "The pair it was judged on"
    lines = "\n".join(_diff_line(line) for line in difference(wording.shown_pair(result)))
    event = wording.event_phrase(result)
    told = (
        "The event that gives them away"
        if result.witness is not None
        else "The event it was judged by"
    )
    counts = "".join(
        f'<tr><td class="side-{side}">{name}</td>{cells}</tr>'
        for side, name, cells in zip(
            ("first", "second"), ("D", "D′"), _count_cells(result), strict=False
        )
    )
    table = (
        '<div class="scroll"><table><thead><tr><th>From</th><th class="n">In the event</th>'
        f'<th class="n">Of outputs</th><th class="n">Share</th></tr></thead><tbody>{counts}'
        "</tbody></table></div>"
    )
    more = wording.worst_sentence(result)
    worst = f'<p class="saying">{_safe(more)}</p>' if more else ""
    right = f'<p class="event"><code>{_safe(event)}</code></p>{table}' if counts else ""
    return (
        f'<div class="two"><section><h3>{title}</h3>\n{_both(result)}'
        '<p class="key"><span class="side-first">'
        '&minus; only in D</span> &nbsp; <span class="side-second">+ only in D′</span></p>\n'
        f'<div class="diff data">{lines}</div></section>\n<section><h3>{told}</h3>\n{right}'
        f'<p class="bound">{_safe(_sentence(wording.bound_sentence(result)))}</p>{worst}'
        "</section></div>"
    )


def _both(result: AuditResult) -> str:
    """Both databases in a line each, so that an empty one is seen to be empty."""
    one, two = wording.databases_phrases(wording.shown_pair(result))
    return "".join(
        f'<p class="side"><span class="side-{side}">{name}</span> <code>{_safe(text)}</code></p>\n'
        for side, name, text in (
            ("first", "D", one),
            ("second", "D′", two),
        )
    )


def _sentence(phrase: str) -> str:
    """A phrase as a sentence, unless it starts with a symbol's name."""
    start = phrase if phrase.startswith("epsilon") else phrase[:1].upper() + phrase[1:]
    return f"{start}."


def _diff_line(line: DiffLine) -> str:
    kind = {"-": "minus", "+": "plus"}.get(line.mark, "same")
    mark = "−" if line.mark == "-" else line.mark
    times = f' <span class="times">× {line.times}</span>' if line.times > 1 else ""
    return f'<div class="{kind}">{mark} {_safe(line.text)}{times}</div>'


def _count_cells(result: AuditResult) -> Iterator[str]:
    counts = wording.shown_counts(result)
    if counts is None:
        return
    for hits, trials in zip(*counts, strict=True):
        share = f"{100 * hits / trials:.3g} %" if trials else ""
        yield f'<td class="n">{hits:,}</td><td class="n">{trials:,}</td><td class="n">{share}</td>'


def _pictures(result: AuditResult, key: str) -> str:
    parts = []
    if result.sketch is not None and any(map(sum, result.sketch.counts)):
        parts.append(
            f"<section><h3>Outputs of both databases</h3><figure>"
            f"{sketch_figure(result.sketch, ('D', 'D′'), key=f'{key}-outputs')}<figcaption>"
            f"{sum(map(sum, result.sketch.counts)):,} outputs drawn before the counted ones, by "
            f"{_safe(result.sketch.feature)}; the event is shaded.</figcaption></figure></section>"
        )
    parts.append(
        f"<section><h3>How the bound grew</h3><figure>{growth_figure(result, key=f'{key}-growth')}"
        f"<figcaption>{_safe(_growth_caption(result))}</figcaption></figure></section>"
    )
    return f'<div class="two">{"".join(parts)}</div>'


def _growth_caption(result: AuditResult) -> str:
    decided = wording.decided_sentence(result)
    bound = result.epsilon_lower
    if result.refuted:
        return f"{decided} All bounds shown hold together.".strip()
    if isfinite(bound) and bound > 0:
        return f"The claim would be refuted if the bound reached {result.claim.epsilon:g}."
    return "The draws show no privacy loss so far."


def _power(result: AuditResult) -> str:
    if result.verdict not in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        return ""
    sentences = (*wording.power_sentences(result), wording.not_examined(result))
    return "<h3>What this run could have seen</h3>\n" + "\n".join(
        f'<p class="saying">{_safe(sentence)}</p>' for sentence in sentences
    )


def _facts(result: AuditResult) -> str:
    claim, evidence = result.claim, result.evidence
    facts = [
        ("Claim", wording.claim_phrase(claim)),
        ("Promised by", claim.reference),
        ("Target", result.target),
        ("Cost", wording.draws_sentence(result)),
        (
            "Error budget",
            f"alpha {evidence.alpha:.3g} for this claim, of which {evidence.level:.3g} for the "
            "look that gives the bound; the rest paid for other looks"
            + (" and for a smaller pair." if result.refuted else "."),
        ),
    ]
    rows = "\n".join(f"<dt>{name}</dt><dd>{_safe(text)}</dd>" for name, text in facts if text)
    return f'<h3>The audit</h3>\n<dl class="facts">{rows}</dl>'


def _counts(result: AuditResult) -> str:
    counts = result.evidence.counts
    if not counts:
        return ""
    rows = "\n".join(
        f"<tr><td>{_safe(count.stage)} {count.chunk}</td><td><code>"
        f'{_safe(count.event.describe())}</code></td><td class="n">{count.hits[0]:,}</td>'
        f'<td class="n">{count.hits[1]:,}</td><td class="n">{count.trials[0]:,}</td>'
        f"<td>{'D′, D' if count.reversed else 'D, D′'}</td></tr>"
        for count in counts[-MOST_COUNTS:]
    )
    turned = result.witness is not None and counts[-1].reversed
    order = " D and D′ are here as they were judged, the reverse of the witness." if turned else ""
    return (
        "<details><summary>The counts the verdict rests on</summary>\n"
        '<div class="scroll"><table><thead><tr><th>Draws</th><th>Event</th><th class="n">Hits D'
        '</th><th class="n">Hits D′</th><th class="n">Draws a side</th><th>Likelier first</th></tr>'
        f'</thead><tbody>{rows}</tbody></table></div>\n<p class="key">Every event was fixed '
        f"before the draws it is counted on were made.{order}</p></details>"
    )


def _environment(environment: Mapping[str, str]) -> str:
    return _safe(", ".join(f"{name} {value}" for name, value in environment.items()))


def _embedded(data: Mapping[str, Any]) -> str:
    """The data as JSON that cannot end its script element, however hostile its strings."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_DATA:
        omitted = [
            {**result, "pair": None, "witness": None, "sketch": None, "omitted": "too long"}
            for result in data["results"]
        ]
        text = json.dumps({**data, "results": omitted}, allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_DATA:
        text = json.dumps({"schema": data["schema"], "omitted": "too long; see the JSON evidence"})
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
