"""An audit as text for a terminal or a log."""

import shlex
from collections.abc import Callable, Iterable, Sequence

from ...auditors.results.results import AuditResult, Verdict
from ..writing.terminal import one_line, wrapped
from . import wording

NARROWEST, WIDEST = 40, 100
"""Letters of a line: a narrower or wider terminal is taken for one of these."""
LABEL = 8
"""Letters of the column of labels."""
BAR, LONGEST_BAR = 6, 20
"""The shortest bar that stands beside its database, and the longest."""

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
    detail: bool = False,
) -> str:
    """One audit in about 14 lines, none longer than `width` (40 to 100); all of it with `detail`.

    `replay` is the command that counts again, `rerun` the one that audits anew once something
    was fixed, which only `detail` shows. `paint` colours the first word of the headline.
    """
    width = min(max(width, NARROWEST), WIDEST)
    head = wrapped(wording.headline(result), width)
    word = wording.verdict_word(result.verdict)
    lines = [paint(word, result.verdict) + head[0].removeprefix(word), *head[1:], ""]
    lines += _sides(result, width)
    lines += _entries(wording.findings(result, detail=detail), width)
    if rows := wording.power_rows(result):
        lines += [*_entry("power", wording.POWER, width), *_table(rows, width)]
    lines += ["", *_entries(wording.unseen(result, detail=detail), width)]
    step = wording.next_step(result, rerun if detail else "")
    return "\n".join([*lines, *_after(replay, step, width)])


def _sides(result: AuditResult, width: int) -> list[str]:
    """The event, and a line for each database with a bar for its share of the runs."""
    lines = []
    if event := wording.event_phrase(result):
        lines += _entry("event", event, width)
    databases = wording.databases_phrases(wording.shown_pair(result))
    counts = wording.shown_counts(result)
    if counts is None:
        chances = wording.count_phrases(result) or ("", "")
        for name, database, chance in zip(("D", "D'"), databases, chances, strict=True):
            lines += _entry(name, f"{database}  {chance}".rstrip(), width)
        return lines
    found = tuple(zip(*counts, strict=True))
    figures = [(wording.share(*one), f"{wording.count_phrase(*one)} runs") for one in found]
    one, two = (max(map(len, texts)) for texts in zip(*figures, strict=True))
    room = width - LABEL - 2 - max(map(len, databases)) - one - two - 6
    beside = room >= BAR
    bar = max(4, min(LONGEST_BAR, room if beside else width - LABEL - one - two - 6))
    longest = max((hits / trials for hits, trials in found if trials), default=0) or 1.0
    for name, database, (hits, trials), (percent, count) in zip(
        ("D", "D'"), databases, found, figures, strict=True
    ):
        filled = "#" * max(round(bar * hits / trials / longest) if trials else 0, hits > 0)
        drawn = f"{filled:<{bar}}  {percent:>{one}}  {count:>{two}}"
        if beside:
            shown = database.ljust(max(map(len, databases)))
            lines.append(f"  {name:<{LABEL}}{shown}  {drawn}")
        else:
            lines += [*_entry(name, database, width), *_entry("", drawn, width)]
    return lines


def _table(rows: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """The rows side by side, or below each other where there is no room for that."""
    across = [(name, *parts) for name, *parts in zip(wording.POWER_ROWS, *rows, strict=True)]
    for cells in (across, [wording.POWER_ROWS, *rows], [wording.POWER_IN_SHORT, *rows]):
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "    " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        if max(map(len, lines)) <= width:
            return lines
    return [
        line
        for row in rows
        for name, cell in zip(wording.POWER_ROWS, row, strict=True)
        for line in wrapped(f"{name}: {cell}", width, "    ")
    ]


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
    lines = [*wrapped(head, width), "", *_entries(story, width)]
    return "\n".join([*lines, *_after(replay, step, width)])


def lines_of(story: Iterable[tuple[str, str]], width: int) -> str:
    """The (label, text) lines of a story; the command that counts again can be pasted whole."""
    width = min(max(width, NARROWEST), WIDEST)
    lines = []
    for label, text in story:
        entry = _command(text, width) if label == "check" else _entry(label, one_line(text), width)
        lines += entry
    return "\n".join(lines)


def _after(replay: str, step: str, width: int) -> list[str]:
    lines = _command(replay, width) if replay else []
    return [*lines, *_entry("next", f"{step}.", width)] if step else lines


def _command(command: str, width: int) -> list[str]:
    return command_lines(command, width, f"  {'check':<{LABEL}}")


def _entries(lines: Iterable[tuple[str, str]], width: int) -> list[str]:
    return [line for label, text in lines for line in _entry(label, text, width)]


def _entry(label: str, text: str, width: int) -> list[str]:
    first = f"  {label}".ljust(LABEL + 2)
    return wrapped(text, width, " " * (LABEL + 2), first)


def command_lines(command: str, width: int, first: str = "    ") -> list[str]:
    """A shell command, broken between words with backslashes so that it can be pasted whole.

    `first` stands before it; what goes on is indented as far, or less if there is no room.
    """
    lines, line, begun = list[str](), first, False
    for word in map(_quoted, shlex.split(command)):
        if begun and len(line) + 1 + len(word) + 2 > width:
            lines.append(f"{line} \\")
            line, begun = " " * min(len(first), 6), False
        line += f" {word}" if begun else word
        begun = True
    return [*lines, line]


def _quoted(word: str) -> str:
    """The word for a shell; one that could steer a log in the quotes that take escapes."""
    if one_line(word) == word:
        return shlex.quote(word)
    inner = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{one_line(inner)}'"
