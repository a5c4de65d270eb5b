"""The page of a gallery: what came out, what is printed wrongly, every statement in turn."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...auditors.results import Verdict
from ..faces.claim_faces import bound_phrase, counterexample, exact_phrase, measured_phrase
from ..faces.wording import verdict_word
from ..reproduce.sections import CONTROLS, Gallery, Section
from ..terminal import printable
from .page_sections import article, shown_result, text, verdict_span

HERE = Path(__file__).parent
WEAK = "below a twentieth of the bound: a wrong mechanism could hide"


def gallery_page(gallery: Gallery, names: Mapping[str, str]) -> str:
    """The page as HTML without anything from elsewhere; `names` are anchors and file names.

    It reads without scripts; one inside it filters the statements.
    """
    style = (HERE.parent / "faces" / "page.css").read_text(encoding="utf-8")
    style += (HERE / "gallery.css").read_text(encoding="utf-8")
    script = (HERE / "gallery.js").read_text(encoding="utf-8")
    sections = gallery.sections
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(section.group, []).append(section)
    parts = (
        _masthead(gallery),
        _contents(sections, groups),
        _surprises(sections, names),
        _errata(sections, names),
        _summary(sections, names),
        *(_group(place, name, groups[name], names) for place, name in enumerate(groups)),
    )
    body = "\n".join(part for part in parts if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{text(_headline(sections))} dpwitness</title>
<style>
{style}</style>
</head>
<body>
{body}
<footer>{_made(gallery)}</footer>
<script>
{script}</script>
</body>
</html>
"""


def _headline(sections: Iterable[Section]) -> str:
    every = list(sections)
    unexpected = sum(not section.as_expected for section in every)
    wrong = sum(section.printed_wrongly for section in every)
    controls = sum(section.group == CONTROLS for section in every)
    number = len(every) - controls
    told = f"{number} statement{'s' if number != 1 else ''}"
    told += f", {wrong} of them printed wrongly" if wrong else ""
    told += f", and {controls} negative control{'s' if controls != 1 else ''}" if controls else ""
    if unexpected:
        return f"{told}: {unexpected} came out otherwise than expected."
    return f"{told}: every verdict is as expected."


def _masthead(gallery: Gallery) -> str:
    counts = "".join(
        f'<li class="{verdict.value}"><span class="count">{count}</span> '
        f'<span class="verdict">{verdict_word(verdict).lower()}</span> <span class="told">{told}'
        "</span></li>"
        for verdict, told in TOLD.items()
        if (count := _count(gallery.sections, verdict))
    )
    return f"""<div class="top"><h1>dpwitness</h1> &middot; theorems and their measurements</div>
<header class="lead"><p class="headline">{text(_headline(gallery.sections))}</p>
<ul class="tally">{counts}</ul>
<p class="saying">Each statement is checked by drawing from its mechanism and, where the law is
known, exactly. Together the draws refute any true statement with probability at most
{gallery.alpha:g}. In every figure:</p>
{_key()}</header>"""


TOLD: Mapping[Verdict, str] = {
    Verdict.PROVED: "by exact laws, on the cases named",
    Verdict.NOT_REFUTED: "no draw speaks against it",
    Verdict.REFUTED: "with a counterexample",
    Verdict.INCONCLUSIVE: "this run cannot say",
}


def _count(sections: Iterable[Section], verdict: Verdict) -> int:
    return sum(shown_result(section).result.verdict is verdict for section in sections)


def _key() -> str:
    return (
        '<ul class="marks"><li><svg viewBox="0 0 34 10" aria-hidden="true"><path d="M1 5h32" '
        'style="stroke: #009e73; stroke-width: 2; stroke-dasharray: 7 3"/></svg> bound</li>'
        '<li><svg viewBox="0 0 34 10" aria-hidden="true"><path d="M1 1h32v8h-32z" style="fill: '
        '#0072b2; opacity: 0.2"/><path d="M1 5h32" style="stroke: #0072b2; stroke-width: 2"/>'
        '<circle cx="17" cy="5" r="3" style="fill: #0072b2"/></svg> measured, with its interval'
        '</li><li><svg viewBox="0 0 34 10" aria-hidden="true"><path d="M1 5h32" style="stroke: '
        '#d55e00; stroke-width: 2"/></svg> exact</li><li><svg viewBox="0 0 34 10" '
        'aria-hidden="true"><path d="M13 1l8 8m0 -8l-8 8" style="stroke: currentColor; '
        'stroke-width: 2.5"/></svg> counterexample</li></ul>'
    )


def _contents(every: Sequence[Section], groups: Mapping[str, list[Section]]) -> str:
    # A colon is in no anchor made from an identifier.
    parts = "".join(
        f'<li><a href="#part:{place}">{text(name)}</a> <span class="n">{len(groups[name])}</span>'
        "</li>"
        for place, name in enumerate(groups)
    )
    first = "".join(
        f'<li><a href="#{anchor}">{told}</a></li>'
        for anchor, told, shown in (
            ("unexpected", "Not as expected", not all(section.as_expected for section in every)),
            (
                "errata",
                "What the printed statements get wrong",
                any(section.printed_wrongly for section in every),
            ),
            ("summary", "All statements in one table", True),
        )
        if shown
    )
    return f'<nav aria-label="Contents"><ul class="first">{first}</ul><ul>{parts}</ul></nav>'


def _surprises(sections: Iterable[Section], names: Mapping[str, str]) -> str:
    found = [section for section in sections if not section.as_expected]
    if not found:
        return ""
    rows = "".join(
        f'<li><a href="#{names[section.identifier]}">{text(section.identifier)}</a> '
        f"{text(section.statement)} &mdash; expected "
        f"{verdict_word(shown_result(section).expected).lower()}, found "
        f"{verdict_span(shown_result(section).result.verdict)}</li>"
        for section in found
    )
    return f'<section id="unexpected"><h2>Not as expected</h2><ul>{rows}</ul></section>'


def _errata(sections: Sequence[Section], names: Mapping[str, str]) -> str:
    wrong = [section for section in sections if section.printed_wrongly]
    if not wrong:
        return ""
    statements = {section.identifier: section.statement for section in sections}
    cards = "\n".join(_erratum(section, names, statements) for section in wrong)
    return (
        '<section id="errata"><h2>What the printed statements get wrong</h2>\n<p class="saying">'
        "Taken literally these statements are false. Each stands here with what is wrong, a "
        "counterexample this run found, and the form that holds.</p>\n"
        f'<div class="cards">{cards}</div></section>'
    )


def _erratum(section: Section, names: Mapping[str, str], statements: Mapping[str, str]) -> str:
    one = shown_result(section)
    known = names.get(section.corrected)
    right = text(section.corrected)
    if known:
        right = f'<a href="#{known}">{right}</a>: {text(statements[section.corrected])}'
    found = " ".join(f"<p>{text(line)}</p>" for line in counterexample(one.result))
    facts = "".join(
        f"<dt>{name}</dt><dd>{told}</dd>"
        for name, told in (
            ("Wrong", text(section.remark)),
            ("Counterexample", found or "<p>None was found in this run.</p>"),
            ("Right", right),
        )
        if told
    )
    return (
        f'<div class="card {one.result.verdict.value}"><h3><a href="#{names[section.identifier]}">'
        f"{text(section.identifier)}</a> {verdict_span(one.result.verdict)}</h3>"
        f'<p class="printed">{text(section.statement)}</p><dl>{facts}</dl></div>'
    )


def _summary(sections: Iterable[Section], names: Mapping[str, str]) -> str:
    every = list(sections)
    rows = "\n".join(_row(section, names) for section in every)
    return f"""<section id="summary"><h2>All statements</h2>
{_filter(every)}
<table class="summary"><thead><tr><th>Statement</th><th>Bound</th><th>Measured</th><th>Exact</th>
<th>Verdict</th></tr></thead>
<tbody>{rows}</tbody></table>
<p class="files">The same with all digits: <a href="summary.csv">summary.csv</a></p></section>"""


def _filter(sections: list[Section]) -> str:
    choices = (
        ("group", "part", [section.group for section in sections]),
        ("kind", "kind", [shown_result(section).result.kind for section in sections]),
        ("verdict", "verdict", [shown_result(s).result.verdict.value for s in sections]),
    )
    selects = "".join(
        f'<label>{label} <select name="{name}"><option value="">all</option>'
        + "".join(
            f'<option value="{text(value)}">{text(value.replace("_", " "))}</option>'
            for value in dict.fromkeys(values)
        )
        + "</select></label>"
        for name, label, values in choices
    )
    return (
        '<form id="filter" hidden><label class="search">search <input type="search" name="search" '
        f'autocomplete="off"></label>{selects}<output></output></form>'
    )


def _row(section: Section, names: Mapping[str, str]) -> str:
    one, name = shown_result(section), names[section.identifier]
    result, number = one.result, len(section.reproductions)
    settings = f' <span class="told">{number} settings</span>' if number > 1 else ""
    weak = f' <abbr class="weak" title="{WEAK}">weak</abbr>' if result.finding.weak else ""
    odd = "" if section.as_expected else ' <strong class="odd">unexpected</strong>'
    cells = "".join(
        f'<td data-label="{label}">{text(told)}</td>'
        for label, told in (
            ("bound", bound_phrase(result)),
            ("measured", measured_phrase(result)),
            ("exact", exact_phrase(result)),
        )
    )
    return (
        f'<tr data-of="{name}"><td class="what"><a href="#{name}">{text(section.identifier)}</a> '
        f"<span>{text(section.statement)}</span>{settings}</td>{cells}"
        f'<td class="came">{verdict_span(result.verdict)}{weak}{odd}</td></tr>'
    )


def _group(place: int, name: str, sections: list[Section], names: Mapping[str, str]) -> str:
    articles = "\n".join(article(section, names) for section in sections)
    return f'<section class="group" id="part:{place}"><h2>{text(name)}</h2>\n{articles}</section>'


def _made(gallery: Gallery) -> str:
    return text(
        f"{printable(gallery.command)} · seed {gallery.seed}, budget {gallery.budget} "
        f"({gallery.draws:,} draws a statement), {gallery.seconds:.0f} s"
    )
