"""A run of `dpwitness reproduce` as a folder: a page, its pictures and its tables.

The page says what came out, what is printed wrongly, and every statement in turn. The tables are
CSV with the numbers in full, and each picture of the page is a file of its own too.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from ...auditors.claims.claim_results import ClaimResult
from ...auditors.errors import InvalidArgument
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
from ..statements.statements import CONTROLS, Gallery, PaperStyle, Reproduction, Section
from ..writing.files import write_atomically
from .mathml import formulas

HERE = Path(__file__).parent
MOST_ROWS, MOST_CELL = 12, 120
"""Rows of a table that the page shows, and letters of a cell; the CSV has all."""
MOST_ENTRIES = 12
"""Entries of a list that is shown whole; of a longer one half as many are."""
FEW = 3
"""Statements up to which all of them are unfolded."""
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
SUMMARY = (
    "identifier", "kind", "holds", "bound", "measured", "low", "high", "error", "exact",
    "smallest", "of", "weak", "expected", "verdict", "sampled", "proved", "scope", "draws", "seed",
)  # fmt: skip
LONGEST = 80
"""Letters of the name of a file that is made of an identifier."""
SANS = "'DejaVu Sans',Verdana,sans-serif"
SERIF = "'DejaVu Serif',Georgia,serif"
STYLE = f"background:#fff;color:#1c2128;font-family:{SANS}"


def write_gallery(gallery: Gallery, out: Path) -> None:
    """Write `index.html`, `summary.csv`, `figures/` and `tables/` into the folder `out`.

    The page needs nothing but itself; it links to the other files and is written last. Every
    file is whole or not there. Raises InvalidArgument where the folder cannot be written.
    """
    try:
        for folder in (out, out / "figures", out / "tables"):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in _files(gallery):
            write_atomically(str(out / name), content)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InvalidArgument(f"cannot write the gallery to {os.fspath(out)!r}: {reason}") from None


def _files(gallery: Gallery) -> Iterator[tuple[str, str | bytes]]:
    names = plain_names(section.identifier for section in gallery.sections)
    for section in gallery.sections:
        yield from _section_files(section, names[section.identifier], gallery.style)
    yield "summary.csv", summary_csv(gallery.sections)
    yield "index.html", gallery_page(gallery, names)


def _section_files(
    section: Section, name: str, style: PaperStyle
) -> Iterator[tuple[str, str | bytes]]:
    for picture in section.pictures:
        yield f"figures/{name}-{picture.key}.svg", standalone(picture.svg, serif=style.serif)
        yield f"figures/{name}-{picture.key}.pdf", picture.pdf
    yield f"tables/{name}.csv", section_csv(section)


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


def section_csv(section: Section) -> str:
    """The rows of every setting's table, the setting's parameters first.

    Where a check makes no table the row is that of the summary.
    """
    names = sorted({name for one in section.reproductions for name in one.parameters})
    tables = [one.result.finding.table for one in section.reproductions]
    columns = next((table.columns for table in tables if table is not None), None)
    if columns is None:
        rows = [(*_setting(one, names), *_summary(section, one)) for one in section.reproductions]
        return _written((*names, *SUMMARY), rows)
    return _written(
        (*names, *columns),
        [
            (*_setting(one, names), *row)
            for one in section.reproductions
            for table in [one.result.finding.table]
            for row in (table.rows if table is not None else ())
        ],
    )


def summary_csv(sections: Sequence[Section]) -> str:
    """One row for every setting of every section; parameters as name=value."""
    rows = [
        (
            *_summary(section, one),
            " ".join(f"{name}={value!r}" for name, value in one.parameters.items()),
        )
        for section in sections
        for one in section.reproductions
    ]
    return _written((*SUMMARY, "parameters"), rows)


def _setting(one: Reproduction, names: Sequence[str]) -> tuple[float | None, ...]:
    return tuple(one.parameters.get(name) for name in names)


def _summary(section: Section, one: Reproduction) -> tuple[object, ...]:
    result, found = one.result, one.result.finding
    measured = found.measured
    return (
        section.identifier,
        result.kind,
        section.holds,
        found.claimed,
        *(
            (None,) * 4
            if measured is None
            else (measured.value, measured.low, measured.high, measured.error)
        ),
        found.exact,
        *((None, None) if found.edge is None else (found.edge.share, found.edge.of)),
        found.weak,
        one.expected.value,
        result.verdict.value,
        None if found.sampled is None else found.sampled.value,
        None if found.proved is None else found.proved.value,
        found.scope,
        found.draws,
        result.seed,
    )


def _written(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_plain(value) for value in row] for row in rows])
    return out.getvalue()


def _plain(value: object) -> object:
    """Numbers of numpy as Python's, which the writer spells so that they read back the same."""
    return value.item() if hasattr(value, "item") else value


def plain_names(identifiers: Iterable[str]) -> dict[str, str]:
    """A name of letters, digits, dot, dash and underscore for each identifier, none twice.

    A star is written out, so that "T-COMP-HET*" is T-COMP-HET-star. Names differ even where
    capital and small letters are one.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for identifier in identifiers:
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", identifier.replace("*", "-star"))
        # A letter first: no hidden file, no name of a device, no anchor a browser reads otherwise.
        name = name if re.match(r"[A-Za-z][A-Za-z0-9]*-", name) else f"S-{name.lstrip('.')}"
        name, trial, count = name[:LONGEST], name[:LONGEST], 1
        while trial.lower() in taken:
            count += 1
            trial = f"{name}-{count}"
        taken.add(trial.lower())
        found[identifier] = trial
    return found


def standalone(svg: str, *, serif: bool = False) -> str:
    """The same picture with a size, its own letters and a white background."""
    box = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', svg)
    size = f' width="{box[1]}pt" height="{box[2]}pt"' if box else ""
    letters = STYLE.replace(SANS, SERIF) if serif else STYLE
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<svg{size} style="{letters}"'
    return svg.replace("<svg", head, 1) + "\n"
