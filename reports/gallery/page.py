"""The page of a gallery: what came out, what is printed wrongly, every statement in turn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.results.results import Verdict
from ..faces.claim_faces import (
    FACES,
    bound_phrase,
    caveat,
    counterexample,
    exact_phrase,
    measured_phrase,
    number,
    smallest_phrase,
)
from ..faces.templates import page, raw
from ..faces.wording import verdict_word
from ..statements.sections import CONTROLS, Gallery, Reproduction, Section
from .mathml import formulas

HERE = Path(__file__).parent
MOST_ROWS = 12
MOST_CELL = 120
MOST_ENTRIES = 12
FEW = 3
TALLY: Mapping[Verdict, str] = {
    Verdict.PROVED: "by exact laws, on the cases named",
    Verdict.NOT_REFUTED: "no violation found",
    Verdict.REFUTED: "with a counterexample",
    Verdict.INCONCLUSIVE: "this run cannot say",
}
NOT_SEEN = (
    "Every statement was checked at the settings and on the databases that stand with it, and at "
    "no others; one that is proved is proved on those.",
    "Not examined: the low-order bits of floating-point outputs, and running time.",
)


def gallery_page(gallery: Gallery, names: Mapping[str, str], *, alone: bool = False) -> str:
    """The page as HTML without anything from elsewhere; `names` are anchors and file names.

    It reads without scripts; one inside it filters the statements. `alone` is for a page without
    the files of a gallery beside it, which it then links to nowhere.
    """
    sections = gallery.sections
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(section.group, []).append(section)
    return page(
        "gallery.html",
        title=f"{_headline(sections)} dpwitness",
        subject="theorems and their measurements",
        gallery_style=raw((HERE / "gallery.css").read_text(encoding="utf-8")),
        script=raw((HERE / "gallery.js").read_text(encoding="utf-8")),
        gallery=gallery,
        names=names,
        alone=alone,
        unfolded=len(sections) <= FEW,
        groups=groups,
        headline=_headline(sections),
        tally=[
            (verdict, told, count)
            for verdict, told in TALLY.items()
            if (count := sum(shown(one).result.verdict is verdict for one in sections))
        ],
        could_not_see=list(_unseen(sections)),
        odd=[section for section in sections if not section.as_expected],
        errata=[section for section in sections if section.printed_wrongly],
        statements={section.identifier: section.statement for section in sections},
        choices=_choices(sections),
        made=f"{gallery.command} · seed {gallery.seed}, "
        f"{gallery.trials:,} trials a statement, {gallery.seconds:.0f} s",
        most_rows=MOST_ROWS,
        word=verdict_word,
        shown=shown,
        badges=_badges,
        facts=_facts,
        varied=_varied,
        number=number,
        cell=_cell,
        raw=raw,
        formulas=formulas,
        shortened=shortened,
        bound=bound_phrase,
        measured=measured_phrase,
        exact=exact_phrase,
        counterexample=counterexample,
    )


def shown(section: Section) -> Reproduction:
    """The setting that stands for the section, which its figures are of."""
    return section.reproductions[section.pictured]


def _headline(sections: Sequence[Section]) -> str:
    unexpected = sum(not section.as_expected for section in sections)
    wrong = sum(section.printed_wrongly for section in sections)
    controls = sum(section.group == CONTROLS for section in sections)
    count = len(sections) - controls
    told = f"{count} statement{'s' if count != 1 else ''}"
    told += f", {wrong} of them printed wrongly" if wrong else ""
    told += f", and {controls} negative control{'s' if controls != 1 else ''}" if controls else ""
    if unexpected:
        return f"{told}: {unexpected} came out otherwise than expected."
    return f"{told}: every verdict is as expected."


def _unseen(sections: Sequence[Section]) -> Iterator[tuple[str, list[str]]]:
    """What the run could not see, as (label, sentences)."""
    findings = [(section, shown(section).result.finding) for section in sections]
    drawn = sum(one.sampled is not None and one.proved is None for _, one in findings)
    weak = [section.identifier for section, one in findings if one.weak]
    vacuous = [section.identifier for section, one in findings if one.vacuous]
    power = []
    if drawn:
        power.append(
            f"{drawn} of {len(sections)} were judged by draws alone: what is smaller than the "
            "interval that stands with them would not have been seen."
        )
    if weak:
        power.append(
            "What was measured is below a twentieth of the bound, so that a wrong mechanism could "
            f"hide, for {', '.join(weak)}."
        )
    if vacuous:
        power.append(f"Every mechanism keeps the bound of {', '.join(vacuous)}.")
    if power:
        yield "power", power
    yield "not seen", list(NOT_SEEN)


def _choices(sections: Sequence[Section]) -> list[tuple[str, str, list[str]]]:
    """(field, label, values) of every filter."""
    results = [shown(section).result for section in sections]
    return [
        ("group", "part", list(dict.fromkeys(section.group for section in sections))),
        ("kind", "kind", list(dict.fromkeys(result.kind for result in results))),
        ("verdict", "verdict", list(dict.fromkeys(result.verdict.value for result in results))),
    ]


def _badges(section: Section) -> list[str]:
    result = shown(section).result
    badges = (
        (result.kind, True),
        ("as printed, false", section.printed_wrongly),
        ("negative control", section.group == CONTROLS),
        ("weak", result.finding.weak),
        ("vacuous", result.finding.vacuous),
    )
    return [told for told, holds in badges if holds]


def _facts(section: Section, result: ClaimResult) -> tuple[tuple[str, str], ...]:
    found = result.finding
    error = found.measured.error if found.measured is not None else 0.0
    confidence = f" with confidence {100 * (1 - error):.6g} %" if error else ""
    label, little = caveat(result, section.weak) or ("weak", "")
    cost = f"{found.draws:,} {FACES[result.kind].spent}, {result.seconds:.2g} s"
    wrong = f"refutes a true statement with probability at most {found.error:.2g}"
    return (
        ("Bound", bound_phrase(result)),
        ("Measured", f"{measured_phrase(result)}{confidence}"),
        ("Exact", exact_phrase(result)),
        ("Smallest constant", smallest_phrase(result, section.constant)),
        ("Method", found.method),
        ("Exactly on", found.scope),
        ("Note", found.note),
        (label.capitalize(), little),
        ("Cost", cost if found.draws else ""),
        ("Error", wrong if found.error else ""),
        ("Source", section.reference),
    )


def _varied(section: Section) -> list[str]:
    """The parameters that differ from one setting to another."""
    every = section.reproductions
    return [
        name for name in every[0].parameters if len({one.parameters.get(name) for one in every}) > 1
    ]


def _cell(value: object) -> str:
    told = shortened(number(value))
    return told if len(told) <= MOST_CELL else f"{told[: MOST_CELL - 1]}…"


def shortened(told: str) -> str:
    """The text with long lists in it made short: "[0.289] * 12", "[1, 2, 3, … 40 more …, 44]"."""
    signs = told.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")
    return re.sub(r"([\[(])([^\[\]()]*)([\])])", _short_list, signs)


def _short_list(found: re.Match[str]) -> str:
    entries = found[2].split(", ")
    if len(entries) <= MOST_ENTRIES // 2:
        return found[0]
    if len(set(entries)) == 1:
        return f"{found[1]}{entries[0]}{found[3]} * {len(entries)}"
    if len(entries) <= MOST_ENTRIES:
        return found[0]
    left = len(entries) - MOST_ENTRIES // 2
    kept = [*entries[: MOST_ENTRIES // 2 - 1], f"… {left} more …", entries[-1]]
    return f"{found[1]}{', '.join(kept)}{found[3]}"
