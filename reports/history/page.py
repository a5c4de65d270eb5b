"""The history as one self-contained page: bounds over time, runs and changes of source."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from ...auditors.privacy.accumulate import ALPHA
from ..faces import svg as figures
from ..terminal import printable
from .reading import Subject, claim_text, refuted_together

MOST_ROWS = 60
MOST_PICTURES = 80
JOINTLY = "The runs of this source together refute the claim"


def render(subjects: Sequence[Subject], broken: str) -> str:
    """The page; `broken` is what is wrong with the chain of the rows, empty for nothing."""
    style = (Path(__file__).parents[1] / "faces" / "page.css").read_text(encoding="utf-8")
    body = "\n".join(
        _article(subject, f"m{index}", pictured=index < MOST_PICTURES)
        for index, subject in enumerate(subjects)
    )
    changed = f'<p class="note">The history was changed: {_safe(broken)}.</p>' if broken else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>dpwitness: history of {len(subjects)} claims</title>
<style>
{style}</style>
</head>
<body>
<div class="top"><h1>dpwitness</h1> &middot; history</div>
{changed}
{_overview(subjects)}
{body}
</body>
</html>
"""


def _safe(text: str) -> str:
    return escape(printable(text).replace("epsilon ", "epsilon\u00a0"))


def _overview(subjects: Sequence[Subject]) -> str:
    rows = "\n".join(
        f'<tr class="{_safe(last["verdict"])}"><td><a href="#m{index}">{_safe(one.mechanism)}</a>'
        f'</td><td>{_safe(claim_text(one.claim))}</td><td class="verdict">{_word(last)}</td>'
        f'<td class="n">{_bound(last["epsilon_lower"])}</td>'
        f'<td class="n">{_bound(last["joint_bound"])}</td><td class="n">{len(one.audits)}</td></tr>'
        for index, one in enumerate(subjects)
        for last in one.audits[-1:]
    )
    return (
        '<div class="scroll overview"><table><thead><tr><th>Mechanism</th><th>Claim</th>'
        '<th>Last verdict</th><th class="n">Last bound</th><th class="n">All runs</th>'
        f'<th class="n">Audits</th></tr></thead>\n<tbody>{rows}</tbody></table></div>'
    )


def _word(row: Mapping[str, Any]) -> str:
    return _safe(row["verdict"].replace("_", " ").capitalize())


def _bound(value: float | None) -> str:
    return f"{value:.3f}" if value is not None and isfinite(value) and value > 0 else "none"


def _article(subject: Subject, key: str, *, pictured: bool) -> str:
    last = subject.audits[-1]
    figure = (
        f"<h3>Lower bound on epsilon over the runs</h3>\n<figure>{_figure(subject, key)}"
        "<figcaption>Each run by itself, and all runs of the same source together at error "
        f"probability {ALPHA:g}. Upright lines: the source changed, and the evidence starts "
        "afresh.</figcaption></figure>"
        if pictured
        else ""
    )
    joint = (
        f'<p class="note">{JOINTLY}, whatever one of them says by itself.</p>'
        if refuted_together(last)
        else ""
    )
    return (
        f'<article id="{key}" class="{_safe(last["verdict"])}">\n<header><h2>'
        f'<span class="verdict">{_word(last)}.</span> {_safe(subject.mechanism)}, '
        f'{_safe(claim_text(subject.claim))}</h2>{joint}</header>\n<div class="two"><section>'
        f"{figure}</section>\n<section>{_sources(subject)}</section></div>\n{_runs(subject)}"
        "</article>"
    )


def _changes(audits: Sequence[Mapping[str, Any]]) -> list[int]:
    """Where an audit has another source than the one before it."""
    pairs = pairwise(audits)
    return [i for i, (a, b) in enumerate(pairs, start=1) if a["source"] != b["source"]]


def _figure(subject: Subject, key: str) -> str:
    audits = subject.audits
    places = range(1, len(audits) + 1)
    single = [_height(row["epsilon_lower"]) for row in audits]
    joint = [_height(row["joint_bound"]) for row in audits]
    claimed = float(subject.claim.get("epsilon", 0.0))
    with figures.figure() as (drawing, axes):
        axes.plot(places, single, color=figures.FIRST, marker="o", markersize=3.5, linewidth=1,
                  label="single run")  # fmt: skip
        axes.plot(places, joint, color=figures.SECOND, drawstyle="steps-post", linewidth=1.8,
                  label="all runs")  # fmt: skip
        axes.axhline(
            claimed, color=figures.CLAIM, linewidth=1.6, linestyle=(0, (5, 2)), label="claim"
        )
        for change in _changes(audits):
            axes.axvline(change + 0.5, color=figures.INK, alpha=0.35, linewidth=1)
        highest = max([claimed, *single, *joint])
        axes.set_ylim(0, 1.12 * highest if highest > 0 else 1)
        axes.set_xlim(0.5, len(audits) + 0.5)
        axes.xaxis.set_major_locator(figures.few_ticks(whole=True))
        axes.set_xlabel("audit, in order of recording")
        axes.set_ylabel("epsilon (nats)")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False)
        return figures.svg(
            drawing, key, "Lower bound on epsilon over the runs",
            f"{len(audits)} audits of {subject.mechanism}; the claim is {claimed:g}.",
        )  # fmt: skip


def _height(value: float | None) -> float:
    return value if value is not None and isfinite(value) and value > 0 else 0.0


def _sources(subject: Subject) -> str:
    audits = subject.audits
    if not audits[-1]["source"]:
        return '<p class="note">Its source is not known, so its runs do not add up.</p>'
    starts = [0, *_changes(audits)]
    rows = "\n".join(
        f"<tr><td><code>{_safe(audits[i]['source'][:12])}</code></td>"
        f'<td>{_safe(audits[i]["recorded"])}</td><td class="n">{end - i}</td></tr>'
        for i, end in zip(starts, [*starts[1:], len(audits)], strict=True)
    )
    return (
        '<h3>Source</h3>\n<div class="scroll"><table><thead><tr><th>Fingerprint</th><th>Since</th>'
        f'<th class="n">Audits</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _runs(subject: Subject) -> str:
    rows = "\n".join(
        f'<tr class="{_safe(row["verdict"])}"><td>{_safe(row["recorded"])}</td>'
        f'<td>{_safe(row["test"])}</td><td class="verdict">{_word(row)}</td>'
        f'<td class="n">{_bound(row["epsilon_lower"])}</td>'
        f'<td class="n">{_bound(row["joint_bound"])}</td><td class="n">{row["draws"]:,}</td>'
        f"<td>{_safe(row['remark'] or '')}</td></tr>"
        for row in reversed(subject.audits[-MOST_ROWS:])
    )
    more = len(subject.audits) - MOST_ROWS
    left = f'<p class="key">{more:,} older audits are not shown.</p>' if more > 0 else ""
    return (
        '<h3>Runs</h3>\n<div class="scroll"><table><thead><tr><th>Recorded</th><th>Test</th>'
        '<th>Verdict</th><th class="n">Bound</th><th class="n">All runs</th>'
        f'<th class="n">Draws</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>{left}'
    )
