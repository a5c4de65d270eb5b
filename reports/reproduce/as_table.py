"""A run of reproduce as a table for a terminal, and as every output format tells it."""

from collections.abc import Iterator, Sequence
from math import isinf

from ...auditors.claims.claim_results import Edge, Estimate
from ...auditors.results.results import AuditResult, Verdict
from ..faces import claim_faces, wording
from ..faces.as_text import Paint
from ..faces.claim_faces import caveat, smallest_phrase, witness_words
from ..formats.statements_as_json import document
from ..formats.told import Case, Reason, Told, ToldClaim
from ..statements.statements import Gallery, Reproduction, Section
from ..writing.terminal import printable, wrapped

NARROWEST, WIDEST = 40, 140
"""Letters of a line: a narrower or wider terminal is taken for one of these."""
NUMBERS = (10, 27, 10, 15, 13)
"""Widths of the columns bound, measured, exact, constant and verdict."""
WIDE = 120
"""From this width on a statement stands beside its numbers, not above them."""
NARROW = 77
"""Below this width the smallest constant and the verdict stand under the numbers."""


COLUMNS = ("statement", "bound", "measured", "exact", "constant", "verdict")
CONSTANT = (
    "constant: the smallest that would hold on the hardest instance found, beside the one stated; "
    "estimated from runs, so that chance may put it above"
)
"""What the column of that name has."""


def cells(section: Section) -> Iterator[tuple[str, ...]]:
    """The texts under `COLUMNS` at each setting, the statement by its identifier."""
    swept = settings_words(section.reproductions)
    for one, setting in zip(section.reproductions, swept or [""], strict=True):
        found = one.result.finding
        yield (
            " ".join(filter(None, (section.identifier, setting))),
            _number(found.claimed),
            measured(found.measured),
            _number(found.exact),
            smallest(found.edge, section.constant),
            wording.verdict_word(one.result.verdict).lower()
            + ("" if one.as_expected or section.asked else ", NOT as expected"),
        )


def heading(width: int) -> str:
    """The names of the columns and a rule."""
    width = _fitted(width)
    names: tuple[str, ...] = COLUMNS[1:]
    if width < NARROW:
        names = (*names[:3], "")
    line = _beside("statement", _columns(names), width)[0].rstrip()
    return f"{line}\n{'-' * len(line)}"


def rows(section: Section, width: int, paint: Paint, *, detail: bool = False) -> str:
    """The lines of one statement: its numbers at each setting, and what is to be noticed.

    All of it with `detail`: what the parameters mean, the source and how it was checked.
    """
    width = _fitted(width)
    title = printable(f"{section.identifier}  {section.statement}")
    swept = settings_words(section.reproductions)
    lines = _whole(title, width) if swept else []
    for reproduction, setting in zip(section.reproductions, swept or [title], strict=True):
        title = f"  {setting}" if swept else setting
        lines += _row(title, reproduction, section.constant, width, paint)
        told = [settled(section, reproduction, detail=detail), *_remarks(section, reproduction)]
        if detail:
            told += _detail(section, reproduction)
        for remark in filter(None, told):
            lines += wrapped(printable(remark), width, "      ")
    return "\n".join(lines)


def settled(section: Section, one: Reproduction, *, detail: bool = False) -> str:
    """At which parameters a check was made, and what of it no column shows.

    The delta of a privacy claim, the level of a chance, and what the constant multiplies.
    """
    found = one.result.finding
    given = [
        f"{name}={value:g}" + (f" ({section.meanings[name]})" if detail else "")
        for name, value in one.parameters.items()
    ]
    told = ["at " + ", ".join(given)] if given else []
    audit = found.details.get("audit")
    if isinstance(audit, AuditResult) and audit.claim.curve is None and audit.claim.delta:
        told.append(f"delta {audit.claim.delta:.4g}")
    if one.result.kind == "utility" and "bound" in found.details:
        least = found.details["bound"]
        told.append(f"the bound is on the chance of a utility loss of {least:.4g} or more")
    if found.edge is not None:
        told.append(f"the constant multiplies the {found.edge.of}")
    return "; ".join(told)


def notes(section: Section, one: Reproduction) -> list[str]:
    """What is told below the numbers of a check, beside the statement: settings and remarks."""
    told = (settled(section, one), *_remarks(section, one), section.reference)
    return [printable(text) for text in told if text]


def _detail(section: Section, one: Reproduction) -> Iterator[str]:
    """What only --verbose tells: the source, how the constant is known, the draws and the seed."""
    result = one.result
    yield section.reference
    if result.finding.edge is not None:
        yield f"constant: {smallest_phrase(result, section.constant)}"
    yield f"{result.finding.draws:,} runs, {result.seconds:.1f} s, seed {result.seed}"


def _row(
    title: str, reproduction: Reproduction, constant: float, width: int, paint: Paint
) -> list[str]:
    result = reproduction.result
    least = smallest(result.finding.edge, constant)
    numbers = _columns(
        (
            _number(result.finding.claimed),
            measured(result.finding.measured),
            _number(result.finding.exact),
            *(() if width < NARROW else (least,)),
            "",
        )
    )
    word = wording.verdict_word(result.verdict).lower()
    above = _whole(title, width) if width < WIDE else []
    beside, *more = _beside(title, numbers, width)
    if width < NARROW:
        return [*above, beside.rstrip(), f"  {paint(word, result.verdict)}, constant {least}"]
    return [*above, beside + paint(word, result.verdict), *more]


def _whole(text: str, width: int) -> list[str]:
    """The text on as many lines as it needs."""
    indent = text[: len(text) - len(text.lstrip())]
    return wrapped(text.strip(), width, f"{indent}    ", indent)


def _remarks(section: Section, reproduction: Reproduction) -> Iterator[str]:
    result = reproduction.result
    if section.printed_wrongly:
        right = f"; {section.corrected} is the form that holds" if section.corrected else ""
        yield f"false as printed{right}{': ' * bool(section.remark)}{section.remark}"
        if reproduction.as_expected and (words := witness_words(result)):
            yield f"counterexample: {words}"
    if not reproduction.as_expected:
        if not section.asked:
            yield f"EXPECTED {wording.verdict_word(reproduction.expected).upper()}"
        if witness_words(result):
            yield f"witness: {witness_words(result)}"
        if result.finding.note:
            yield result.finding.note
    if result.verdict is Verdict.PROVED:
        yield f"proved for these inputs alone: {result.finding.scope}"
    if (told := caveat(result, section.weak)) is not None:
        yield ": ".join(told)


def settings_words(reproductions: Sequence[Reproduction]) -> list[str]:
    """What differs between the settings of a sweep, for each: "epsilon=0.5"; empty without."""
    first = reproductions[0].parameters
    swept = [n for n in first if any(one.parameters[n] != first[n] for one in reproductions)]
    if not swept:
        return []
    return [", ".join(f"{n}={one.parameters[n]:g}" for n in swept) for one in reproductions]


def measured(estimate: Estimate | None) -> str:
    """A measured number with its interval; an end that is infinite is left out."""
    if estimate is None:
        return "-"
    value = _number(estimate.value)
    if estimate.low == estimate.high == estimate.value:
        return value
    if isinf(estimate.high):
        return f">= {wording.at_least(estimate.low)}"
    return f"{value} [{estimate.low:.3g}, {estimate.high:.3g}]"


def smallest(edge: Edge | None, constant: float) -> str:
    """The smallest constant that still holds, of the stated one; "-" where there is none."""
    return "-" if edge is None else f"{edge.share * constant:.3g} of {constant:.3g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _columns(texts: Sequence[str]) -> str:
    return (
        "".join(
            text.ljust(width) if width <= len(text) else text.rjust(width - 2) + "  "
            for text, width in zip(texts[:-1], NUMBERS, strict=False)
        )
        + texts[-1]
    )


def _beside(title: str, numbers: str, width: int) -> list[str]:
    """The numbers, beside the first line of the title if there is room for that."""
    if width < WIDE:
        return [f"  {numbers}"]
    room = width - sum(NUMBERS)
    first, *more = _whole(title, room - 2)
    return [first.ljust(room) + numbers, *more]


def _fitted(width: int) -> int:
    return min(max(width, NARROWEST), WIDEST)


def summary(gallery: Gallery, width: int) -> str:
    """What the whole run found, in a few sentences."""
    every = [one for section in gallery.sections for one in section.reproductions]
    found: dict[Verdict, int] = dict.fromkeys(Verdict, 0)
    for one in every:
        found[one.result.verdict] += 1
    words = ", ".join(
        f"{count} {wording.verdict_word(verdict).lower()}"
        for verdict, count in found.items()
        if count
    )
    odd = [section for section in gallery.sections if not section.as_expected]
    wrong = [section.identifier for section in odd if not section.asked]
    expected = f"NOT as expected: {', '.join(wrong)}" if wrong else ""
    if any(section.asked for section in odd):
        names = ", ".join(section.identifier for section in odd if section.asked)
        expected = f"{expected}; " * bool(expected) + f"refuted: {names}"
    expected = expected or "every verdict as expected"
    text = (
        f"{_plural(len(every), 'check')} of {_plural(len(gallery.sections), 'statement')}: "
        f"{words}; {expected}. "
        f"{sum(one.result.finding.draws for one in every):,} runs, seed {gallery.seed}, all true "
        f"statements together at error probability {gallery.alpha:g}, {gallery.seconds:.1f} s."
    )
    edges = any(one.result.finding.edge is not None for one in every)
    told = [text, *([f"{CONSTANT}."] if edges else [])]
    return "\n".join(line for one in told for line in wrapped(one, _fitted(width)))


def _plural(number: int, word: str) -> str:
    return f"{number} {word}" + ("s" if number != 1 else "")


def told_of(gallery: Gallery) -> Told:
    """Each statement as a case; a verdict that was not the expected one is a reason."""

    def page() -> str:
        from ..gallery.gallery import gallery_page, plain_names

        names = plain_names(section.identifier for section in gallery.sections)
        return gallery_page(gallery, names, alone=True)

    return Told(
        command="reproduce",
        cases=tuple(_case(section, gallery.command) for section in gallery.sections),
        reasons=tuple(
            Reason(
                kind="unexpected",
                name=section.identifier,
                sentence=_sentence(section, one),
                claim=_claimed(one, setting),
            )
            for section in gallery.sections
            for one, setting in _with_settings(section)
            if not one.as_expected
        ),
        closing=f"alpha {gallery.alpha:g} for all true statements, seed {gallery.seed}. Not "
        "refuted is not proved.",
        document=document(gallery),
        page=page,
    )


def _case(section: Section, command: str) -> Case:
    return Case(
        name=section.identifier,
        target=section.identifier,
        judged=tuple(
            _judged(section, one, setting, command) for one, setting in _with_settings(section)
        ),
    )


def _with_settings(section: Section) -> Iterator[tuple[Reproduction, str]]:
    settings = settings_words(section.reproductions) or [""] * len(section.reproductions)
    return zip(section.reproductions, settings, strict=True)


def _claimed(one: Reproduction, setting: str) -> str:
    return claim_faces.bound_phrase(one.result) + (f" at {setting}" if setting else "")


def _judged(section: Section, one: Reproduction, setting: str, command: str) -> ToldClaim:
    result = one.result
    measured = claim_faces.measured_phrase(result) or claim_faces.exact_phrase(result)
    return ToldClaim(
        mechanism=section.identifier,
        claim=_claimed(one, setting),
        verdict=result.verdict.value,
        bound=measured,
        power="",
        draws=result.finding.draws,
        seconds=result.seconds,
        scope=result.finding.scope if result.verdict is Verdict.PROVED else "",
        story=(*claim_faces.story(result), ("replay", command)),
        facts={
            "verdict": result.verdict.value,
            "expected_verdict": one.expected.value,
            "claimed": repr(float(result.finding.claimed)),
            "draws": str(result.finding.draws),
            "seed": str(result.seed),
        },
    )


def _sentence(section: Section, one: Reproduction) -> str:
    said = one.result.verdict.value.replace("_", " ")
    wanted = one.expected.value.replace("_", " ")
    if section.asked:
        return f"{section.identifier} is {said}"
    return f"{section.identifier} is {said}, and was expected to be {wanted}"
