"""A command that judges no mechanism, told in every format: its text, and its numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..shell.console import UNUSABLE, Console
from ..writing.terminal import printable
from .told import Case, Judged, Reason, Told


def plain(
    command: str,
    text: str,
    data: Mapping[str, Any],
    *,
    judged: Judged | None = None,
    place: str = "",
    sentence: str = "",
) -> Told:
    """What the command found: its report as `text`, its numbers as `data`.

    A command that judges a claim gives it as `judged`, with the `place` of what was judged and the
    `sentence` that says why the run ends with another status than 0, empty if it does not.
    """

    def page() -> str:
        from ..faces.templates import page

        head, _, rest = text.partition("\n\n")
        return page(
            "text.html", title=" ".join(head.split()), subject=command,
            headline=" ".join(head.split()), text=rest,
        )  # fmt: skip

    reasons: Sequence[Reason] = ()
    if judged is not None and sentence:
        reasons = (Reason(kind=judged.verdict, name=place, sentence=sentence),)
    return Told(
        command=command,
        cases=() if judged is None else (Case(name=place, target=place, judged=(judged,)),),
        reasons=tuple(reasons),
        closing="",
        document=data,
        page=page,
        text=printable(text),
    )


def tell(
    console: Console, paths: Mapping[str, str | None], told: Told, text: str, status: int = 0
) -> int:
    """Say the text, which may be shorter, and write the files asked for; the exit status."""
    from . import table

    saved = table.write(console, told, paths)
    console.say(text)
    return status if saved else UNUSABLE
