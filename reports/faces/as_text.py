"""An audit as text for a terminal or a log."""

import shlex
from collections.abc import Callable, Iterator
from textwrap import wrap

from ...auditors.results import AuditResult, Verdict
from ..terminal import printable
from . import wording

__all__ = ["NARROWEST", "WIDEST", "command_lines", "render", "wrapped"]

NARROWEST = 40
WIDEST = 100
LABEL = 10

Paint = Callable[[str, Verdict], str]


def _plain(text: str, verdict: Verdict) -> str:
    return text


def render(result: AuditResult, *, replay: str = "", width: int = 80, paint: Paint = _plain) -> str:
    """The whole story of one audit, no line longer than `width` (40 to 100).

    `replay` is the command that counts again. `paint` colours the first word of the headline.
    """
    width = min(max(width, NARROWEST), WIDEST)
    head = wrapped(wording.headline(result), width)
    word = wording.verdict_word(result.verdict)
    lines = [paint(word, result.verdict) + head[0].removeprefix(word), *head[1:], ""]
    for label, text in _facts(result):
        lines += _entry(label, text, width)
    if replay:
        lines += ["", "  Replay it:", *command_lines(replay, width)]
    return "\n".join(lines)


def _facts(result: AuditResult) -> Iterator[tuple[str, str]]:
    claim = result.claim
    source = f"; {claim.reference}" if claim.reference else ""
    yield "claim", printable(f"{wording.claim_phrase(claim)}{source}")
    one, two = wording.databases_phrases(wording.shown_pair(result))
    yield "D", one
    yield "D'", two
    counts = wording.count_phrases(result)
    if counts:
        yield "event", wording.event_phrase(result)
        yield "happened", f"in {counts[0]}"
        yield "", f"in {counts[1]}"
    yield "bound", wording.bound_sentence(result)
    decided = wording.decided_sentence(result)
    if decided:
        yield "", decided
    if result.verdict in (Verdict.NOT_REFUTED, Verdict.INCONCLUSIVE):
        yield from zip(("power", ""), wording.power_sentences(result), strict=False)
        yield "", wording.NOT_EXAMINED
    if result.note:
        yield "note", printable(result.note)
    yield "draws", wording.draws_sentence(result)


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """The text in lines of at most `width`; words longer than a line are cut."""
    return wrap(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    ) or [""]


def _entry(label: str, text: str, width: int) -> list[str]:
    first = f"  {label}".ljust(LABEL + 2)
    return wrapped(text, width, " " * (LABEL + 2), first)


def command_lines(command: str, width: int) -> list[str]:
    """A shell command, broken between words with backslashes so that it can be pasted whole."""
    lines, line = [], "   "
    for word in map(shlex.quote, shlex.split(command)):
        if line.strip() and len(line) + 1 + len(word) + 2 > width:
            lines.append(f"{line} \\")
            line = "     "
        line += f" {word}"
    return [*lines, line]
