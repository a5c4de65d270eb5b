"""The plugin's last words: every audit in a line, and what Holm's procedure adds."""

from collections.abc import Mapping
from typing import Any

from ..faces.as_text import wrapped
from ..writing.terminal import one_line
from .ledger import holm
from .state import Line, Run

Records = Mapping[tuple[str, int], Line]

WORDS = {"refuted": "REFUTED", "not_refuted": "not refuted", "inconclusive": "inconclusive",
         "proved": "proved"}  # fmt: skip
OLD_WITNESS = {
    "holds": "the witness of an earlier run still holds",
    "changed": "the code changed and the witness of an earlier run no longer holds: retired",
    "below": "the witness of an earlier run now shows less than the claim: retired",
    "unreadable": "the witness of an earlier run cannot be read: retired",
    "kept": "the witness of an earlier run was not confirmed this time; the code is the same, "
    "so it is kept",
}


def added_by_holm(records: Records, alpha: float) -> set[tuple[str, int]]:
    """Audits that were not refuted alone but are by Holm's procedure over the whole run."""
    named = {f"{test} {number}": (test, number) for test, number in records}
    p_values = {name: records[key]["p_value"] for name, key in named.items()}
    shares = {name: records[key]["alpha"] for name, key in named.items()}
    found = holm(p_values, shares, alpha)
    return {named[name] for name in found if records[named[name]]["verdict"] == "not_refuted"}


def summary_lines(run: Run, width: int) -> list[tuple[str, str]]:
    """(line, verdict) for every audit, ordered by test."""
    lines = []
    for key, record in sorted(run.records.items()):
        verdict = "refuted" if key in run.added else record["verdict"]
        lines.append((_line(key[0], record, verdict, width), verdict))
        if key in run.added:
            lines.append(("    by Holm's procedure over the run: give it more draws", verdict))
        if record["old_witness"]:
            lines.append((f"    {OLD_WITNESS[record['old_witness']]}", verdict))
        if record["note"] and verdict in ("inconclusive", "not_refuted", "proved"):
            note = wrapped(one_line(record["note"]), width, "    ", "    ")
            lines += [(line, verdict) for line in note]
    for test in sorted(set(run.raised) & run.weights.keys()):
        lines.append(
            (f"no result     {one_line(test)}: it failed before an audit ended", "crashed")
        )
    for test in sorted(set(run.crashed)):
        if not run.weights or test in run.weights:
            lines.append(
                (f"no result     {one_line(test)}: the worker died while it ran", "crashed")
            )
    return lines


def _line(test: str, record: Line, verdict: str, width: int) -> str:
    bound = record["bound"]
    if verdict == "refuted" != record["verdict"]:  # by all audits of the run together
        bound = f"epsilon > {record['claimed']:.4g}"
    bound = "no privacy loss found" if bound == "none" else bound
    seen = record["detectable_epsilon"]
    power = (
        f", would detect a loss of {seen:.3g}"
        if isinstance(seen, float) and verdict != "refuted"
        else ""
    )
    if scope := record.get("scope", ""):
        power = f", only here: {one_line(scope)}"
    figures = f"{bound}{power}, {record['draws']:,} runs, {record['seconds']:.1f} s"
    line = f"{WORDS[verdict]:<13} {one_line(record['mechanism'])}, {record['claim']}: {figures}"
    name = one_line(test.rpartition("/")[2])
    return f"{line}  {name}" if len(line) + len(name) + 2 <= width else f"{line}\n    {name}"


def write_summary(reporter: Any, run: Run) -> None:
    """Write the section at the end of pytest's output."""
    width = reporter._tw.fullwidth
    spent = sum(record["alpha"] for record in run.records.values())
    reporter.section("differential privacy", sep="=")
    colours = {"refuted": {"red": True}, "crashed": {"red": True}, "inconclusive": {"yellow": True}}
    for line, verdict in summary_lines(run, width):
        reporter.write_line(line, **colours.get(verdict, {}))
    for sentence in run.told:
        reporter.write_line(one_line(f"history: {sentence}"))
    reporter.write_line(
        f"alpha {run.settings.alpha:g} for all audits, {spent:.3g} used by these; seed {run.seed}, "
        f"profile {run.settings.profile}, {run.settings.budget}. Not refuted is not proved."
    )
