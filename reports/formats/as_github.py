"""A run as annotations of a GitHub workflow, which the host shows beside the code."""

from ..terminal import printable
from .told import Told, as_text


def render(told: Told) -> str:
    """Workflow commands, one line for each reason, with the witness below the sentence."""
    places = {case.name: case.source for case in told.cases}
    lines = []
    for reason in told.reasons:
        place = places.get(reason.name)
        where = f"file={_property(place[0])},line={place[1]}," if place else ""
        level = "warning" if reason.kind == "inconclusive" else "error"
        title = _property(f"dpwitness: {reason.kind}")
        story = as_text(told.story_of(reason))
        message = _message(f"{reason.name}: {reason.sentence}" + (f"\n{story}" if story else ""))
        lines.append(f"::{level} {where}title={title}::{message}")
    return "\n".join(lines)


def _message(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
