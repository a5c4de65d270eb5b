"""The result of an audit in Python's hands: shown in a notebook, drawn, written to files.

`audit` and `audit_claims` are those of the auditors; what they return can do what a report can.
Reports are loaded when one of that is asked for.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from hashlib import blake2b
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .auditors.errors import InvalidArgument
from .auditors.privacy import run
from .auditors.results import AuditResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditReport(AuditResult):
    """An `AuditResult` that can be shown, drawn and written.

    In a notebook it shows the witness, or the pair it was judged on, and both histograms.
    """

    def to_dict(self) -> dict[str, Any]:
        """The evidence as plain JSON data, as `dpwitness audit --json` writes it."""
        from .reports.record import evidence

        return dict(evidence.document([self], replay=""))

    def to_json(self) -> str:
        """The same as strict JSON text."""
        from .reports.record import evidence

        return evidence.to_text(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the evidence (.json), which `dpwitness.replay` reads, or the report page (.html).

        Raises InvalidArgument for another ending, and where the file cannot be written.
        """
        from .reports import files, targets
        from .reports.record import evidence

        place = fspath(path)
        again = targets.replay_command(place, self.target) if self.target else _call(place)
        data = evidence.document([self], replay=again)
        match Path(place).suffix.lower():
            case ".json":
                text = evidence.to_text(data)
            case ".html":
                from .reports.faces.as_html import render

                text = render([self], data)
            case suffix:
                raise InvalidArgument(
                    "save writes evidence to a name that ends in .json and a page to one that "
                    f"ends in .html, got {suffix or 'no ending'} in {place!r}"
                )
        try:
            files.write_atomically(place, text)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InvalidArgument(f"cannot write {place!r}: {reason}") from None

    def plot(self) -> "Figure":
        """The outputs of both databases with the event shaded, and how the bound grew (nats).

        A matplotlib figure that belongs to no window: a notebook shows it, `savefig` writes it.
        """
        from .reports.faces.svg import plotted

        return plotted(self)

    def _repr_html_(self) -> str:
        """The witness and both histograms for a notebook."""
        from .reports.faces import wording
        from .reports.faces.svg import sketch_figure
        from .reports.faces.templates import page, raw

        counts = wording.shown_counts(self) or (("", ""), ("", ""))
        databases = wording.databases_phrases(wording.shown_pair(self))
        said = f"{self.mechanism} {self.claim} {self.seed} {self.draws}"
        key = f"dp{blake2b(said.encode(errors='replace'), digest_size=6).hexdigest()}"
        drawn = self.sketch is not None and any(map(sum, self.sketch.counts))
        return page(
            "notebook.html",
            headline=wording.headline(self),
            sides=[
                (name, text, *(f"{number:,}" if number != "" else "" for number in count))
                for name, text, *count in zip(("D", "D′"), databases, *counts, strict=True)
            ],
            event=wording.event_phrase(self),
            bound=f"{wording.bound_sentence(self)}.",
            worst=wording.worst_sentence(self),
            histograms=raw(sketch_figure(self.sketch, ("D", "D′"), key=key))
            if drawn and self.sketch is not None
            else "",
            pictured=wording.pictured_sentence(self) if drawn else "",
            unseen=list(wording.unseen(self)),
        )


def _call(path: str) -> str:
    """The command that counts again what had no name: the user has to put one in."""
    return f"dpwitness replay {shlex.quote(path)} FILE.py:NAME"


def reported(result: AuditResult) -> AuditReport:
    """The same result as a report."""
    return AuditReport(**{one.name: getattr(result, one.name) for one in fields(AuditResult)})


def _reporting(function: Callable[P, R], then: Callable[[R], S], kind: Any) -> Callable[P, S]:
    """The function with what it returns made a report; signature and documentation are its own."""

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> S:
        return then(function(*args, **kwargs))

    asked.__annotations__ = {**function.__annotations__, "return": kind}
    told = signature(function).replace(return_annotation=kind)
    asked.__signature__ = told  # type: ignore[attr-defined]
    del asked.__wrapped__
    return asked


def _all_reported(results: tuple[AuditResult, ...]) -> tuple[AuditReport, ...]:
    return tuple(map(reported, results))


audit = _reporting(run.audit, reported, AuditReport)
audit_claims = _reporting(run.audit_claims, _all_reported, tuple[AuditReport, ...])
