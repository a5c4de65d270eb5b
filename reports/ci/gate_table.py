"""The gate as a table: a row for each claim, and beside it what the last run had found.

The last run is read from the history before this one is added to it. The bounds of two runs
differ by chance, too: a change of them says where to look, and stops nothing by itself.
"""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from ...auditors.evidence.conversion import claim_record
from ...auditors.results.results import AuditResult
from ..formats.told import Case, ToldClaim
from ..history.recorder import Last, numbered
from ..writing.terminal import one_line
from .gate import Gated
from .summary import WORDS

COLUMNS = (("verdict", 12), ("privacy loss", 12), ("claimed", 7), ("last run", 16), ("time", 7))
ALL = sum(size + 2 for _, size in COLUMNS)
"""Characters of all columns together."""
ORDER = ("refuted", "failed", "inconclusive", "not_refuted", "proved")
"""The verdicts, what needs somebody's eyes first."""


def changes(one: Gated, last: Mapping[str, Last] | None) -> tuple[str, ...]:
    """For each privacy claim of an entry what is other than in the last run, in a few words."""
    if last is None:
        return ("not known",) * len(one.results)
    names = (numbered(one.entry.name, number) for number in count(1))
    return tuple(
        _changed(result, last.get(name)) for result, name in zip(one.results, names, strict=False)
    )


def _changed(result: AuditResult, last: Last | None) -> str:
    if last is None:
        return "first run"
    if not last.of_claim(claim_record(result.claim)):
        return "other claim"
    if last.verdict != result.verdict.value:
        return f"was {last.verdict.replace('_', ' ')}"
    now, then = (max(float(one), 0.0) for one in (result.epsilon_lower, last.epsilon_lower))
    difference = f"{now - then:+.3f}"
    return difference if float(difference) else "same"


def head(*, width: int = 0) -> str:
    """The first line of the table; on a narrow terminal columns are left out that do not fit."""
    return _line(_row([name.upper() for name, _ in COLUMNS], width), "ENTRY", "", width)


def rows(case: Case, *, width: int = 0) -> list[tuple[str, str]]:
    """(line, verdict) for each claim of an entry, the name below where it does not fit."""
    found = [_cells(case, one) for one in case.judged]
    if case.problem:
        found = [(["FAILED"], case.target, "failed")]
    lines = []
    for cells, name, verdict in found:
        name = one_line(name)
        lines.append((_line(_row(cells, width), name, f"\n    {name}", width), verdict))
    return lines


def _cells(case: Case, one: ToldClaim) -> tuple[list[str], str, str]:
    cells = [WORDS[one.verdict]]
    if one.change:
        loss = one.bound.removeprefix("epsilon ")
        return [*cells, loss, one.facts["claimed"], one.change, f"{one.seconds:.1f} s"], *(
            case.target, one.verdict,
        )  # fmt: skip
    return [*cells, "", "", "", f"{one.seconds:.1f} s"], f"{case.target}, {one.claim}", one.verdict


def _row(cells: Sequence[str], width: int) -> str:
    """The cells in their columns, without the columns for which there is no room."""
    filled = [*cells, *[""] * (len(COLUMNS) - len(cells))]
    shown, used = [], 0
    for cell, (_, size) in zip(filled, COLUMNS, strict=True):
        if not width or used + size <= width:
            shown.append(one_line(cell).ljust(size))
            used += size + 2
    return "  ".join(shown)


def _line(row: str, name: str, instead: str, width: int) -> str:
    """A row with a name behind it, or what stands in its place where there is no room."""
    whole = f"{row}  {name}".rstrip()
    fits = not width or max(len(whole), ALL) <= width
    return whole if fits else row.rstrip() + instead


def commit_of(root: Path) -> str:
    """The commit that is checked out, with "-dirty" if files differ from it; "" if unknown."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            # No program that the settings of the clone name is run.
            ["git", "-c", "core.fsmonitor=false", "-C", str(root),
             "describe", "--always", "--dirty", "--exclude", "*"],
            capture_output=True, text=True, check=True, timeout=10,
        ).stdout.strip()  # fmt: skip
    return ""


def by_verdict(verdict: str) -> int:
    """The place of a verdict among others: what stops a change stands first."""
    return ORDER.index(verdict)


def page_rows(cases: Sequence[Case]) -> list[dict[str, str]]:
    """The table of the page; `key` is the article of the claim, which stand in the same order."""
    made = [
        {"verdict": one.verdict, "word": WORDS[one.verdict].capitalize(), "name": case.target,
         "claim": one.claim, "bound": one.bound.removeprefix("epsilon "),
         "change": one.change, "key": one.change and "r"}
        for case in cases for one in case.judged
    ]  # fmt: skip
    made += [
        {"verdict": "failed", "word": "Failed", "name": case.target, "claim": "",
         "bound": "", "change": "", "key": ""}
        for case in cases if case.problem
    ]  # fmt: skip
    made.sort(key=lambda row: by_verdict(row["verdict"]))
    for index, row in enumerate(row for row in made if row["key"]):
        row["key"] = f"r{index}"
    return made
