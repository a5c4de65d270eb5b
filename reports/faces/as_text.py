"""An audit as text for a terminal or a log."""

import shlex
from collections.abc import Callable, Iterable
from textwrap import wrap

from ...auditors.results import AuditResult, Verdict
from ..terminal import one_line, printable
from . import wording

NARROWEST = 40
WIDEST = 100
LABEL = 10

Paint = Callable[[str, Verdict], str]


def _plain(text: str, verdict: Verdict) -> str:
    return text


def render(
    result: AuditResult,
    *,
    replay: str = "",
    rerun: str = "",
    width: int = 80,
    paint: Paint = _plain,
) -> str:
    """The whole story of one audit, no line longer than `width` (40 to 100).

    `replay` is the command that counts again, `rerun` the one that audits anew once something
    was mended. `paint` colours the first word of the headline.
    """
    width = min(max(width, NARROWEST), WIDEST)
    head = wrapped(wording.headline(result), width)
    word = wording.verdict_word(result.verdict)
    lines = [paint(word, result.verdict) + head[0].removeprefix(word), *head[1:], ""]
    for label, text in wording.story(result):
        lines += _entry(label, text, width)
    return "\n".join([*lines, *_after(replay, wording.next_step(result, rerun), width)])


def told(
    head: str,
    story: Iterable[tuple[str, str]],
    width: int,
    *,
    replay: str = "",
    step: str = "",
) -> str:
    """A headline, its (label, text) lines, the command that counts again and what to do next."""
    width = min(max(width, NARROWEST), WIDEST)
    lines = [*wrapped(head, width), ""]
    for label, text in story:
        lines += _entry(label, text, width)
    return "\n".join([*lines, *_after(replay, step, width)])


def _after(replay: str, step: str, width: int) -> list[str]:
    lines = ["", "  Replay it:", *command_lines(replay, width)] if replay else []
    return [*lines, "", *wrapped(f"Next: {step}.", width, "  ")] if step else lines


def wrapped(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """The text in lines of at most `width`; words longer than a line are cut."""
    # A share keeps its sign: a line never begins with "%)".
    lines = wrap(
        text.replace(" %", "\xa0%"),
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    # A word that was cut may begin a line with what no build server should obey.
    return [printable(line.replace("\xa0", " ")) for line in lines] or [""]


def _entry(label: str, text: str, width: int) -> list[str]:
    first = f"  {label}".ljust(LABEL + 2)
    return wrapped(text, width, " " * (LABEL + 2), first)


def command_lines(command: str, width: int) -> list[str]:
    """A shell command, broken between words with backslashes so that it can be pasted whole."""
    lines, line = [], "   "
    for word in map(_quoted, shlex.split(command)):
        if line.strip() and len(line) + 1 + len(word) + 2 > width:
            lines.append(f"{line} \\")
            line = "     "
        line += f" {word}"
    return [*lines, line]


def _quoted(word: str) -> str:
    """The word for a shell; one that could steer a log in the quotes that take escapes."""
    if one_line(word) == word:
        return shlex.quote(word)
    inner = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{one_line(inner)}'"
