"""The gate as Markdown for a job summary, and as annotations of a GitHub workflow."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..terminal import printable
from .baseline import Worse
from .gate import Gated

__all__ = ["annotations", "markdown"]

MARKS = {"refuted": "**refuted**", "not_refuted": "not refuted", "inconclusive": "inconclusive",
         "failed": "**failed**", "proved": "proved"}  # fmt: skip


def markdown(gated: Sequence[Gated], worse: Sequence[Worse], *, alpha: float, seed: int) -> str:
    """A table with a line for each claim, the reasons to stop, and each witness."""
    head = "Stopped" if worse else "Nothing stands against this change"
    lines = [f"## Differential privacy: {head.lower() if worse else head}", ""]
    lines += [f"- **{_inline(r.name)}** ({r.kind}): {_inline(r.sentence)}" for r in worse]
    lines += [""] if worse else []
    lines += ["| target | claim | verdict | epsilon at least | could have seen | draws |",
              "|---|---|---|---|---|---|"]  # fmt: skip
    lines += [row for one in gated for row in _rows(one)]
    for one in gated:
        for result in one.results:
            lines += _witness(result)
    lines += ["", f"alpha {alpha:g} for the whole gate, seed {seed}. Not refuted is not proved."]
    return "\n".join(lines) + "\n"


def _rows(one: Gated) -> list[str]:
    target = _inline(one.entry.target)
    if one.problem:
        return [f"| {target} | | {MARKS['failed']} | | | |"]
    return [
        f"| {target} | {_claim(result['claim'])} | {MARKS[result['verdict']]} | "
        f"{_number(result['epsilon_lower'])} | {_number(result['detectable_epsilon'])} | "
        f"{result['draws']:,} |"
        for result in one.results
    ]


def _claim(claim: Mapping[str, Any]) -> str:
    delta = f", delta {claim['delta']:g}" if claim["delta"] else ""
    return f"epsilon {claim['epsilon']:g}{delta} ({claim['relation']})"


def _number(value: Any) -> str:
    if isinstance(value, str):
        return "none" if value.startswith("-") else value
    return f"{max(value, 0.0):.3f}"


def _witness(result: Mapping[str, Any]) -> list[str]:
    witness = result.get("witness")
    if not witness:
        return []
    hits, trials = result["evidence"]["hits"], result["evidence"]["trials"]
    return [
        "",
        f"<details><summary>Witness against {_inline(result['mechanism'])}</summary>",
        "",
        f"- D: {_code(witness['database'])}",
        f"- D': {_code(witness['neighbour'])}",
        f"- event: {_code(witness['event']['description'])}",
        f"- happened {hits[0]:,} of {trials[0]:,} times from D, {hits[1]:,} of {trials[1]:,} "
        "from D'",
        "",
        "</details>",
    ]


def _inline(text: str) -> str:
    """Text that no Markdown or HTML in it can break out of."""
    shown = " ".join(printable(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    for sign in "\\|`*_[]":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def _code(value: Any) -> str:
    text = " ".join(printable(str(value)).split())[:400].replace("`", "'").replace("|", "\\|")
    return f"`{text}`"


def annotations(gated: Sequence[Gated], worse: Sequence[Worse]) -> str:
    """Workflow commands, one line for each reason; the host shows them beside the code."""
    places = {one.entry.name: one.source for one in gated}
    lines = []
    for reason in worse:
        place = places.get(reason.name)
        where = f"file={_property(place[0])},line={place[1]}," if place else ""
        level = "warning" if reason.kind == "inconclusive" else "error"
        title = _property(f"dpwitness: {reason.kind}")
        message = _message(f"{reason.name}: {reason.sentence}")
        lines.append(f"::{level} {where}title={title}::{message}")
    return "\n".join(lines)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
