"""A run as Markdown, for a job summary or a comment."""

from ..writing.terminal import printable
from .told import Case, Told, ToldClaim

MARKS = {"refuted": "**refuted**", "not_refuted": "not refuted", "inconclusive": "inconclusive",
         "failed": "**failed**", "proved": "proved"}  # fmt: skip


LARGEST = 1_000_000
"""Bytes of one text: GitHub shows nothing of a job summary of more than 1 MiB."""


def render(told: Told) -> str:
    """A table with a line for each claim, the reasons to stop, and each witness.

    What does not fit into LARGEST bytes is left out, the witnesses first, and the end says so.
    """
    if told.text:
        report = [f"    {line}".rstrip() for line in printable(told.text).splitlines()]
        return "\n".join([f"## Differential privacy: {told.command}", "", *report, ""])
    head = {
        "gate": "gate failed" if told.reasons else "no violation found",
    }.get(told.command, "see below" if told.reasons else "no violation found")
    lines = [f"## Differential privacy: {head}", ""]
    lines += [f"- **{_inline(r.name)}** ({r.kind}): {_inline(r.sentence)}" for r in told.reasons]
    lines += [""] if told.reasons else []
    compared = any(one.change for case in told.cases for one in case.judged)
    heads = ["target", "claim", "verdict", "privacy loss", "would detect", "runs"]
    heads += ["last run"] if compared else []
    lines += [_row(heads), f"|{'---|' * len(heads)}"]
    lines += [row for case in told.cases for row in _rows(case, compared=compared)]
    blocks = [[line] for line in lines]
    blocks += [_witness(judged) for case in told.cases for judged in case.judged
               if judged.verdict == "refuted"]  # fmt: skip
    kept, size, left = list[str](), 0, 0
    for block in blocks:
        size += sum(len(line.encode()) + 1 for line in block)
        if size > LARGEST:
            left += 1
        else:
            kept += block
    if left:
        kept += ["", f"{left:,} more witnesses or lines do not fit here: see the JSON or the page."]
    return "\n".join([*kept, "", _inline(told.closing)]) + "\n"


def _rows(case: Case, *, compared: bool) -> list[str]:
    target = _inline(case.target)
    if case.problem:
        return [_row([target, "", MARKS["failed"], "", "", "", *([""] if compared else [])])]
    return [
        _row(
            [target, _inline(one.claim), _verdict(one), _inline(one.bound), _inline(one.power),
             f"{one.draws:,}", *([_inline(one.change)] if compared else [])]
        )
        for one in case.judged
    ]  # fmt: skip


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _verdict(judged: ToldClaim) -> str:
    scope = f", only here: {_inline(judged.scope)}" if judged.scope else ""
    return f"{MARKS[judged.verdict]}{scope}"


def _witness(judged: ToldClaim) -> list[str]:
    told = [f"- {_inline(label)}: {_code(text)}" if label else f"  {_code(text)}"
            for label, text in judged.story]  # fmt: skip
    return [
        "",
        f"<details><summary>Witness against {_inline(judged.mechanism)}</summary>",
        "",
        *told,
        "",
        "</details>",
    ]


def _inline(text: str) -> str:
    """Text that no Markdown or HTML in it can break out of."""
    shown = " ".join(printable(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\|`*_[]":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def _code(text: str) -> str:
    shown = " ".join(printable(text).split())[:2000].replace("`", "'").replace("|", "\\|")
    return f"`{shown}`"
