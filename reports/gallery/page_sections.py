"""One statement on the page of a gallery: what it says, what was found, figures and tables."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from ...auditors.claims.claim_results import ClaimResult, Table
from ...auditors.results import Verdict
from ..faces.claim_faces import (
    FACES,
    bound_phrase,
    counterexample,
    exact_phrase,
    measured_phrase,
    number,
)
from ..faces.wording import verdict_word
from ..reproduce.sections import CONTROLS, Picture, Reproduction, Section
from ..terminal import printable

MOST_ROWS = 12
MOST_CELL = 120


def text(told: str) -> str:
    """Text made harmless for a page, with the signs that a page has."""
    return escape(printable(told).replace(" <= ", " ≤ ").replace(" >= ", " ≥ "))


def verdict_span(verdict: Verdict | None) -> str:
    """The verdict as a coloured word; a dash where a method was not used."""
    if verdict is None:
        return '<span class="none">not used</span>'
    return f'<span class="verdict {verdict.value}">{verdict_word(verdict)}</span>'


def shown_result(section: Section) -> Reproduction:
    """The setting that stands for the section: the first not as expected, or else the first."""
    odd = (one for one in section.reproductions if not one.as_expected)
    return next(odd, section.reproductions[0])


def article(section: Section, names: Mapping[str, str]) -> str:
    """The part of the page about one statement; its anchor is its name."""
    one, name = shown_result(section), names[section.identifier]
    result = one.result
    words = f"{section.identifier} {section.statement} {section.group}".lower()
    badges = "".join(
        f'<span class="badge">{told}</span>'
        for told, shown in (
            (result.kind, True),
            ("as printed, false", section.printed_wrongly),
            ("negative control", section.group == CONTROLS),
            ("weak", result.finding.weak),
        )
        if shown
    )
    return "\n".join(
        (
            f'<article id="{name}" class="{result.verdict.value}" data-kind="{result.kind}" '
            f'data-group="{text(section.group)}" data-verdict="{result.verdict.value}" '
            f'data-words="{text(words)}">',
            f'<header><p class="code"><a href="#{name}">{text(section.identifier)}</a>{badges}</p>'
            f"<h3>{text(section.statement)}</h3>{_found(section, one)}</header>",
            _wrong(section, one, names),
            _pictures(section.pictures, name),
            '<div class="two">',
            f"<section><h4>The check</h4>{_facts(section, result)}</section>",
            f"<section>{_parameters(section, one)}</section></div>",
            _settings(section) if len(section.reproductions) > 1 else "",
            _table(result.finding.table, name),
            "</article>",
        )
    )


def _found(section: Section, one: Reproduction) -> str:
    """Expected and found, and both kinds of method side by side."""
    result, found = one.result, one.result.finding
    agree = "as expected" if one.as_expected else "<strong>not as expected</strong>"
    return (
        f'<p class="found">{verdict_span(result.verdict)}, {agree}'
        f'<span class="told"> &middot; by draws: {verdict_span(found.sampled)} &middot; exactly: '
        f"{verdict_span(found.proved)}</span></p>"
    )


def _wrong(section: Section, one: Reproduction, names: Mapping[str, str]) -> str:
    if section.holds and not one.result.refuted:
        return ""
    lines = [f"<p>{text(line)}</p>" for line in counterexample(one.result)]
    if section.remark:
        lines.insert(0, f'<p class="remark">{text(section.remark)}</p>')
    if section.corrected and section.corrected != section.identifier:
        known = names.get(section.corrected)
        told = text(section.corrected)
        told = f'<a href="#{known}">{told}</a>' if known else told
        lead = "The form that holds" if section.printed_wrongly else "Made to break"
        lines.append(f"<p>{lead}: {told}</p>")
    return f'<div class="wrong"><h4>What is wrong</h4>{"".join(lines)}</div>'


def _pictures(pictures: tuple[Picture, ...], name: str) -> str:
    figures = "".join(
        f'<figure id="{name}:{picture.key}"><div class="picture">{picture.svg}</div>'
        f"<figcaption>{text(picture.caption)} "
        f'<span class="files"><a href="figures/{name}-{picture.key}.svg">SVG</a> '
        f'<a href="figures/{name}-{picture.key}.pdf">PDF</a></span></figcaption></figure>'
        for picture in pictures
    )
    return f'<div class="figures n{min(3, len(pictures))}">{figures}</div>' if pictures else ""


def _facts(section: Section, result: ClaimResult) -> str:
    rows = "".join(
        f"<dt>{label}</dt><dd>{told}</dd>" for label, told in _told(section, result) if told
    )
    return f'<dl class="facts">{rows}</dl>'


def _told(section: Section, result: ClaimResult) -> Iterator[tuple[str, str]]:
    found = result.finding
    error = found.measured.error if found.measured is not None else 0.0
    confidence = f" with confidence {100 * (1 - error):.6g} %" if error else ""
    yield "Bound", text(bound_phrase(result))
    yield "Measured", text(f"{measured_phrase(result)}{confidence}")
    yield "Exact", text(exact_phrase(result))
    yield "Method", text(found.method)
    yield "Exactly on", text(found.scope)
    yield "Note", text(found.note)
    weak = "The measured quantity is below a twentieth of the bound: a wrong mechanism could hide."
    yield "Weak", weak if found.weak else ""
    spent = FACES[result.kind].spent
    yield (
        "Cost",
        f"{found.draws:,} {spent}, {result.seconds:.2g} s" if found.draws else "",
    )
    if found.error:
        yield (
            "Error",
            f"refutes a true statement with probability at most {found.error:.2g}",
        )
    yield "Source", text(section.reference)


def _parameters(section: Section, one: Reproduction) -> str:
    if not one.parameters:
        return ""
    rows = "".join(
        f'<tr><td><code>{text(name)}</code></td><td class="n">{text(number(value))}</td>'
        f"<td>{text(section.meanings.get(name, ''))}</td></tr>"
        for name, value in one.parameters.items()
    )
    return (
        '<h4>Parameters</h4><div class="scroll"><table><thead><tr><th>Name</th>'
        f'<th class="n">Value</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _settings(section: Section) -> str:
    first = section.reproductions[0].parameters
    names = [
        name
        for name in first
        if len({one.parameters.get(name) for one in section.reproductions}) > 1
    ]
    rows = "".join(
        f"<tr>{_cells(one.parameters.get(name) for name in names)}"
        f"<td>{text(bound_phrase(one.result))}</td><td>{text(measured_phrase(one.result))}</td>"
        f"<td>{text(exact_phrase(one.result))}</td><td>{verdict_span(one.result.verdict)}"
        f"{'' if one.as_expected else ' <strong>unexpected</strong>'}</td></tr>"
        for one in section.reproductions
    )
    heads = "".join(f'<th class="n">{text(name)}</th>' for name in names)
    return (
        f"<h4>Settings</h4><div class='scroll'><table><thead><tr>{heads}<th>Bound</th>"
        "<th>Measured</th><th>Exact</th><th>Verdict</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _table(table: Table | None, name: str) -> str:
    link = f'<a href="tables/{name}.csv">CSV</a>'
    if table is None:
        return f'<p class="files">Numbers: {link}</p>'
    heads = "".join(f"<th>{text(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{_cells(row)}</tr>" for row in table.rows[:MOST_ROWS])
    count = len(table.rows)
    most = f", the first {MOST_ROWS} here" if count > MOST_ROWS else ""
    return (
        f"<details><summary>Table of the check ({count} row{'s' if count != 1 else ''}{most})"
        f"</summary><div class='scroll'><table class='rows'><thead><tr>{heads}</tr></thead><tbody>"
        f'{rows}</tbody></table></div></details><p class="files">All digits: {link}</p>'
    )


def _cells(values: Any) -> str:
    return "".join(_cell(value) for value in values)


def _cell(value: Any) -> str:
    told = number(value)
    shown = told if len(told) <= MOST_CELL else f"{told[: MOST_CELL - 1]}…"
    kind = "" if isinstance(value, str) else ' class="n"'
    return f"<td{kind}>{text(shown)}</td>"
