"""A run as annotations of a GitHub workflow, which the host shows beside the code."""

from ..writing.terminal import printable
from .told import Lines, Told

SHOWN = 300
"""Characters of one line of an annotation."""


def render(told: Told) -> str:
    """Workflow commands, one for each reason: a sentence, D, D' and how to check, four lines."""
    places = {case.name: case.source for case in told.cases}
    lines = []
    for reason in told.reasons:
        place = places.get(reason.name)
        where = f"file={_property(place[0])},line={place[1]}," if place else ""
        level = "warning" if reason.kind == "inconclusive" else "error"
        title = _property(f"dpwitness: {reason.kind}")
        sentence = f"{reason.name}: {reason.sentence}"
        message = _message("\n".join([sentence, *_witness(told.story_of(reason))]))
        lines.append(f"::{level} {where}title={title}::{message}")
    return "\n".join(lines)


def _witness(story: Lines) -> list[str]:
    """Both databases, each in a line with its count, and the command that counts again."""
    shown, label = dict[str, str](), ""
    for known, text in story:
        label = known or label
        if label in ("D", "D'", "check"):
            shown[label] = f"{shown[label]}: {text}" if label in shown else text
    return [f"{label}  {text}"[:SHOWN] for label, text in shown.items()]


def _message(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
