"""A command that judges no mechanism, told in every format: its text, and its numbers."""

from collections.abc import Iterable, Mapping, Sequence

from ..record.evidence import release
from ..shell.computed import UNUSABLE
from ..shell.console import Console
from ..writing.terminal import printable
from .told import Case, Reason, Told, ToldClaim

VERDICTS = ("Refuted", "Not refuted", "Inconclusive")
"""The words with which the headline of a verdict begins."""


def plain(
    command: str,
    text: str,
    data: Mapping[str, object],
    *,
    story: Iterable[tuple[str, str]] = (),
    judged: ToldClaim | None = None,
    place: str = "",
    sentence: str = "",
) -> Told:
    """What the command found: its report as `text`, its numbers as `data`, and which release did.

    Its page shows the lines of `story` as a list of facts, and the text as it is if there are none.

    A command that judges a claim gives it as `judged`, with the `place` of what was judged and the
    `sentence` that says why the run ends with another status than 0, empty if it does not.
    """
    story = tuple(story)

    def page() -> str:
        from ..faces.templates import page
        from ..faces.wording import by_label

        top, _, rest = text.partition("\n\n")
        head = " ".join(top.split())
        word, _, said = head.partition(": ")
        verdict = word.lower().replace(" ", "_") if word in VERDICTS else ""
        return page(
            "text.html", title=head, subject=command, verdict=verdict,
            word=word if verdict else "", rest=said if verdict else head,
            facts=by_label(story), text=rest,
        )  # fmt: skip

    reasons: Sequence[Reason] = ()
    if judged is not None and sentence:
        reasons = (Reason(kind=judged.verdict, name=place, sentence=sentence),)
    return Told(
        command=command,
        cases=() if judged is None else (Case(name=place, target=place, judged=(judged,)),),
        reasons=tuple(reasons),
        closing="",
        document={**data, "dpwitness": release()},
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
