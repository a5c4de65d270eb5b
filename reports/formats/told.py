"""What a command has to tell, the same for every format: cases, reasons to stop, a document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Lines = tuple[tuple[str, str], ...]
"""(label, text) as the terminal shows them; an empty label goes on with the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason for an exit status other than 0.

    `kind` is refuted, rose, vanished, failed, inconclusive or unexpected; `name` is the case, and
    `claim` the one of its claims that it is about, if it is about one.
    """

    kind: str
    name: str
    sentence: str
    claim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldClaim:
    """One claim that was judged.

    `bound` is what the draws show and `power` what they could have shown, both in words, empty
    for nothing. `scope` says what a proof covers and is empty elsewhere. `change` is what differs
    from the last run, empty where runs are not compared. `story` tells the witness,
    or the pair and event of a claim that was not refuted; its last lines say how to count again and
    what to do next.
    """

    mechanism: str
    claim: str
    verdict: str
    bound: str
    power: str
    draws: int
    seconds: float
    scope: str = ""
    change: str = ""
    story: Lines = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One entry of a gate, one target of an audit or one theorem, with what was judged of it.

    `problem` says why nothing could be. `source` is the file, relative to the working directory,
    and the line where the code of the target begins.
    """

    name: str
    target: str
    judged: tuple[ToldClaim, ...] = ()
    problem: str = ""
    source: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that one command has to tell.

    `command` is the one that ran, `closing` says at which alpha and seed, and of which commit.
    `document` is the run as JSON data, `page` makes it a page. `text`
    is the whole report of a command that judges no mechanism, empty for the others.
    """

    command: str
    cases: tuple[Case, ...]
    reasons: tuple[Reason, ...]
    closing: str
    document: Mapping[str, object]
    page: Callable[[], str]
    text: str = ""

    def reasons_of(self, case: Case) -> tuple[Reason, ...]:
        """What stands against this case."""
        return tuple(reason for reason in self.reasons if reason.name == case.name)

    def of_no_case(self) -> tuple[Reason, ...]:
        """Reasons that name something the run has not judged, such as an entry that vanished."""
        known = {case.name for case in self.cases}
        return tuple(reason for reason in self.reasons if reason.name not in known)

    def story_of(self, reason: Reason) -> Lines:
        """The story behind a reason; empty where there is none."""
        wanted = {"refuted": ("refuted",), "rose": ("refuted", "not_refuted")}.get(
            reason.kind, ("refuted", "inconclusive")
        )
        found = [
            judged
            for case in self.cases
            for judged in case.judged
            if case.name == reason.name and judged.verdict in wanted
        ]
        meant = [judged for judged in found if judged.claim == reason.claim]
        return next((judged.story for judged in meant or found), ())


def as_text(lines: Lines) -> str:
    """A story as plain text, a line for each part."""
    return "\n".join(f"{label:<10}{text}".rstrip() for label, text in lines)
