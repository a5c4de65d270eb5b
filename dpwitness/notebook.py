"""Results in Python's hands: shown in a notebook, drawn, written to files.

`audit`, `audit_claims` and `check` are those of the auditors; what they return can do what a
report can, and what they are asked about may be a name of the catalogue. `reproduce` sets several
statements beside what is measured, those of a notebook too.
Reports are loaded when one of that is asked for.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from hashlib import blake2b
from inspect import signature
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from .auditors.arguments import checked
from .auditors.claims import check as checking
from .auditors.claims.claim_results import ClaimResult
from .auditors.errors import InvalidArgument
from .auditors.looking import is_a
from .auditors.privacy import run
from .auditors.results.results import AuditResult
from .mechanisms.model import BrokenStatement, NegativeControl, Subject, Theorem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .reports.figures.marks import PendingPicture
    from .reports.statements.statements import Gallery

Statement = Theorem | Subject | NegativeControl | BrokenStatement
UNSEEN_OF_CLAIM = (
    "Settings and databases other than those that the claim names.",
    "Not examined: the low-order bits of floating-point outputs, and running time.",
)
WIDTH = 80
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditReport(AuditResult):
    """An `AuditResult` that can be shown, drawn and written.

    In a notebook it shows the witness, or the pair it was judged on, and both histograms.
    """

    def __bool__(self) -> bool:
        """No truth value: `assert audit(...)` would pass for a refuted claim too."""
        raise TypeError("a report is neither true nor false; ask its .refuted or its .verdict")

    def __str__(self) -> str:
        """The report, as `dpwitness audit` prints it."""
        from .reports.faces import as_text

        return as_text.render(self)

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
        from .reports.faces.as_html import render
        from .reports.record import evidence

        place = fspath(path)
        again = replayed_by(place, self.target)
        data = evidence.document([self], replay=again)
        write_as(
            place,
            {".json": lambda: evidence.to_text(data), ".html": lambda: render([self], data)},
        )

    def plot(self) -> "Figure":
        """The outputs of both databases with the event shaded, and how the bound grew (nats).

        A matplotlib figure that belongs to no window: a notebook shows it, `savefig` writes it.
        """
        from .reports.drawing.svg import plotted

        return plotted(self)

    def _repr_html_(self) -> str:
        """The witness and both histograms for a notebook."""
        from .reports.drawing.svg import SIDES, sketch_figure
        from .reports.faces import wording
        from .reports.faces.templates import page, raw

        counts = wording.shown_counts(self) or (("", ""), ("", ""))
        found = zip(("D", "D'"), wording.count_phrases(self), strict=False) if self.by_law else ()
        chances = [f"{name}: {chance}" for name, chance in found]
        databases = wording.databases_phrases(wording.shown_pair(self))
        key = _key(f"{self.mechanism} {self.claim} {self.seed} {self.draws}")
        drawn = self.sketch is not None and any(map(sum, self.sketch.counts))
        return page(
            "notebook.html",
            headline=wording.headline(self),
            sides=[
                (*side, text, *(f"{number:,}" if number != "" else "" for number in count))
                for side, text, *count in zip(SIDES, databases, *counts, strict=True)
            ],
            event=wording.event_phrase(self),
            bound=f"{wording.bound_sentence(self)}.",
            exact=[*chances, *wording.exact_sentences(self)],
            worst=wording.worst_sentence(self),
            histograms=raw(sketch_figure(self.sketch, ("D", "D′"), key=key))
            if drawn and self.sketch is not None
            else "",
            pictured=wording.pictured_sentence(self) if drawn else "",
            power=wording.power_rows(self),
            no_power=wording.no_power(self),
            unseen=list(wording.unseen(self, detail=False)),
            words=wording,
        )


class AuditReports(tuple[AuditReport, ...]):
    """Reports of several claims, which a notebook shows one below the other."""

    __slots__ = ()

    def __str__(self) -> str:
        """All reports."""
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return '<div style="margin-top: 1.5rem"></div>'.join(one._repr_html_() for one in self)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClaimReport(ClaimResult):
    """A `ClaimResult` that can be shown, drawn and written.

    In a notebook it shows bound, measurement, counterexample and pictures; a privacy claim that
    was judged by draws shows its witness and both histograms.
    """

    about: Statement = field(compare=False)
    parameters: Mapping[str, float] = field(default_factory=dict, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """What was found as plain JSON data, with the words of `dpwitness reproduce --json`."""
        from .reports.faces.claim_faces import finding_to_json

        said = (self.identifier, self.kind, self.statement, self.reference)
        labels = zip(("id", "kind", "statement", "reference"), said, strict=True)
        return {**dict(labels), **finding_to_json(self)}

    def to_json(self) -> str:
        """The same as strict JSON text."""
        from .reports.record import evidence

        return evidence.to_text(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the numbers (.json) or a page (.html).

        Raises InvalidArgument for another ending, and where the file cannot be written.
        """
        write_as(fspath(path), {".json": self.to_json, ".html": self._page})

    def _page(self) -> str:
        from .reports.faces import claim_faces
        from .reports.faces.templates import page, raw

        head = claim_faces.headline(self, self._name())
        return page(
            "claim.html",
            title=head,
            subject="claim",
            told=raw(self._repr_html_()),
            could_not_see=[("not seen", UNSEEN_OF_CLAIM)],
        )

    def plot(self) -> "Figure":
        """The claim beside what was measured: a matplotlib figure that belongs to no window.

        Raises InvalidArgument where the result has no picture.
        """
        from .reports.drawing.svg import on_paper

        drawn = self._drawn()
        if not drawn:
            raise InvalidArgument(f"there is no picture of {self.identifier or 'this claim'}")
        return on_paper([one.paint for one in drawn])

    def _drawn(self) -> "list[PendingPicture]":
        from .reports.gallery.figures import drawn_of

        return drawn_of(self, self.about, self.parameters)

    def __str__(self) -> str:
        """The report, as a terminal shows it."""
        from .reports.faces import as_text, claim_faces

        return as_text.told(
            claim_faces.headline(self, self._name()), claim_faces.story(self), WIDTH
        )

    def __repr__(self) -> str:
        """The verdict in a line."""
        from .reports.faces import claim_faces

        return f"<{claim_faces.headline(self, self._name()).rstrip('.')}>"

    def _name(self) -> str:
        mechanism = checking.subject_of(self.about, self.parameters).mechanism
        return mechanism.name if mechanism is not None else "the statement"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .reports.faces import claim_faces
        from .reports.faces.templates import page, raw
        from .reports.figures.marks import picture

        judged = self.finding.details.get("audit")
        key = _key(f"{self.identifier} {self.kind} {self.seed} {self.finding.claimed}")
        pictures = [] if isinstance(judged, AuditResult) else self._drawn()
        return page(
            "notebook_claim.html",
            headline=claim_faces.headline(self, self._name()),
            story=[one for one in claim_faces.story(self) if one[0] != "witness"],
            counterexample=claim_faces.counterexample(self),
            pictures=[(raw(made.svg), made.caption) for one in pictures
                      for made in [picture(one, prefix=key)]],
            audit=raw(reported(judged)._repr_html_()) if isinstance(judged, AuditResult) else "",
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reproductions(Sequence[ClaimReport]):
    """Statements beside what was measured: the results in order, and a table of them.

    `str` is the table that `dpwitness reproduce` prints; a notebook shows it with the pictures.
    """

    gallery: "Gallery"
    theorems: Mapping[str, Theorem] = field(default_factory=dict, compare=False)
    """The statements by their identifiers."""

    @overload
    def __getitem__(self, place: int) -> ClaimReport: ...
    @overload
    def __getitem__(self, place: slice) -> list[ClaimReport]: ...
    @overload
    def __getitem__(self, place: str) -> ClaimReport | list[ClaimReport]: ...
    def __getitem__(self, place: int | slice | str) -> ClaimReport | list[ClaimReport]:
        """The report, or the reports, at a place; or that of the statement with this name."""
        results = [
            _of_claim(one.result, self.theorems[section.identifier], parameters=one.parameters)
            for section in self.gallery.sections
            for one in section.reproductions
        ]
        if isinstance(place, str):
            found = [one for one in results if one.identifier == place]
            if not found:
                raise KeyError(place)
            return found[0] if len(found) == 1 else found
        return results[place]

    def __len__(self) -> int:
        """How many checks were made."""
        return sum(len(section.reproductions) for section in self.gallery.sections)

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(section.as_expected for section in self.gallery.sections)

    def __str__(self) -> str:
        """The table, as on a terminal."""
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        """How many checks, and whether they came out as expected."""
        said = "as expected" if self.as_expected else "NOT as expected"
        return f"<{len(self)} check{'s' * (len(self) != 1)}, {said}>"

    def _lines(self, width: int = 100) -> Iterator[str]:
        from .reports.reproduce import as_table

        yield as_table.heading(width)
        for section in self.gallery.sections:
            yield as_table.rows(section, width, lambda text, _: text)
        yield ""
        yield as_table.summary(self.gallery, width)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON data, as `dpwitness reproduce --json` writes it."""
        from .reports.formats.statements_as_json import document

        return document(self.gallery)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the numbers (.json), or into a folder the gallery: pages, figures and tables.

        Raises InvalidArgument for another ending, and where it cannot be written.
        """
        from .reports.gallery.gallery import write_gallery
        from .reports.record import evidence

        place = Path(path)
        if place.suffix.lower() == ".json":
            write_as(fspath(path), {".json": lambda: evidence.to_text(self.to_dict())})
            return
        if place.suffix:
            raise InvalidArgument(
                "save writes the numbers to a name that ends in .json and the gallery of pages, "
                f"figures and tables into a folder, a name without an ending, got {fspath(path)!r}"
            )
        try:
            place.mkdir(parents=True, exist_ok=True)
            write_gallery(self.gallery, place)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InvalidArgument(f"cannot write {fspath(path)!r}: {reason}") from None

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .reports.faces.templates import page, raw
        from .reports.reproduce import as_table

        shown = [
            {
                "cells": cells,
                "statement": section.statement,
                "notes": as_table.notes(section, one),
                "pictures": [(raw(one.svg), one.caption) for one in section.pictures],
            }
            for section in self.gallery.sections
            for one, cells in zip(section.reproductions, as_table.cells(section), strict=True)
        ]
        summary = as_table.summary(self.gallery, 10_000)
        return page("notebook_table.html", columns=as_table.COLUMNS, rows=shown, summary=summary)


def write_as(place: str, texts: Mapping[str, Callable[[], str]]) -> None:
    """Write the text for the ending of `place`: .json or .html."""
    from .reports.writing import files

    suffix = Path(place).suffix.lower()
    if suffix not in texts:
        raise InvalidArgument(
            "save writes evidence to a name that ends in .json and a page to one that ends in "
            f".html, got {suffix or 'no ending'} in {place!r}"
        )
    try:
        files.write_atomically(place, texts[suffix]())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidArgument(f"cannot write {place!r}: {reason}") from None


def _key(said: str) -> str:
    """What makes the ids of a picture unique among the outputs of a notebook."""
    return f"dp{blake2b(said.encode(errors='replace'), digest_size=6).hexdigest()}"


def replayed_by(path: str, target: str) -> str:
    """The command that counts again; what had no name the user has to put in."""
    from .reports.targets import targets

    if target:
        return targets.replay_command(path, target)
    return f"dpwitness replay {shlex.quote(path)} FILE.py:NAME"


def reported(result: AuditResult) -> AuditReport:
    """The same result as a report."""
    return AuditReport(**{one.name: getattr(result, one.name) for one in fields(AuditResult)})


def reporting(function: Callable[P, R], then: Callable[..., S], kind: object) -> Callable[P, S]:
    """The function with what it returns made a report; signature and documentation are its own.

    `then` gets the result and what was asked.
    """

    @wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> S:
        return then(function(*args, **kwargs), *args, **kwargs)

    asked.__annotations__ = {**function.__annotations__, "return": kind}
    told = signature(function).replace(return_annotation=kind)
    asked.__signature__ = told  # type: ignore[attr-defined]
    del asked.__wrapped__
    return asked


def _one(result: AuditResult, *_: object, **__: object) -> AuditReport:
    return reported(result)


def _all(results: tuple[AuditResult, ...], *_: object, **__: object) -> AuditReports:
    return AuditReports(map(reported, results))


def _of_claim(
    result: ClaimResult,
    statement: Statement,
    *,
    parameters: Mapping[str, float] | None = None,
    **_: object,
) -> ClaimReport:
    given = {one.name: getattr(result, one.name) for one in fields(ClaimResult)}
    return ClaimReport(**given, about=statement, parameters=dict(parameters or {}))


def by_name(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which takes the text that names a target for a mechanism too."""

    @wraps(function)
    def asked(*args: Any, **kwargs: Any) -> R:
        named = args[0] if args else kwargs.get("mechanism")
        if not is_a(named, str):
            return function(*args, **kwargs)
        from .reports.targets.targets import find_target

        target = find_target(named)
        known = {"target": target.text, "name": target.name, **kwargs}
        if args:
            return function(target.mechanism, *args[1:], **known)
        return function(**{**known, "mechanism": target.mechanism})  # type: ignore[call-arg]

    return asked


def _check(
    statement: Statement | str,
    *,
    parameters: Mapping[str, float] | None = None,
    alpha: float = 1e-3,
    trials: int = 200_000,
    seed: int = 0,
) -> ClaimReport:
    if isinstance(statement, str):
        from .reports.reproduce.run import find

        statement = find(statement)
    found = checking.check(statement, parameters=parameters, alpha=alpha, trials=trials, seed=seed)
    return _of_claim(found, statement, parameters=parameters)


_check.__name__ = _check.__qualname__ = "check"
_check.__doc__ = checking.check.__doc__


@checked
def reproduce(
    statements: Theorem | str | Sequence[Theorem | str] = (),
    *,
    parameters: Mapping[str, float | Sequence[float]] | None = None,
    controls: bool = False,
    trials: int = 100_000,
    alpha: float = 1e-3,
    seed: int = 0,
    workers: int = 1,
    pictures: bool = False,
) -> Reproductions:
    """Set the bounds of statements beside what is measured, as `dpwitness reproduce` does.

    Of `statements` each is a name of the catalogue, a pattern such as "PMW-*", the text
    file.py:NAME, or a Theorem made here; give one or a list of them. Without one all theorems are
    taken, with `controls` the negative controls too. `parameters` sets them, or sweeps those for
    which several values are given, and `seed` decides all randomness. Each statement has
    `trials` runs; one known to be false that fewer do not refute has 100,000. `alpha` bounds the
    chance that sampling refutes any true statement of the run: theorems made here share it, and
    those of the catalogue have the shares that they have in a run of all; where there are both,
    each kind has half of it. `workers` are processes and change no number; theorems made here come
    first and are checked in this one. `pictures` are drawn too.

    Raises InvalidArgument for a name, a parameter or a value there is not.
    """
    from .auditors.asked import Budget
    from .reports.reproduce.run import combinations, find, run, section_of, select
    from .reports.statements.statements import OWN, Gallery, PaperStyle

    started, allowed = monotonic(), Budget(trials=trials, alpha=alpha, seed=seed)
    swept = {
        name: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        for name, value in (parameters or {}).items()
    }
    for name, values in swept.items():
        if wrong := [one for one in values if not isinstance(one, Real)]:
            raise InvalidArgument(f"the parameter {name} takes numbers, got {wrong[0]!r:.60}")
    asked = (statements,) if isinstance(statements, Theorem | str) else tuple(statements)
    made = [replace(one, part=one.part or OWN) for one in asked if isinstance(one, Theorem)]
    names = [one for one in asked if isinstance(one, str)]
    if len(made) + len(names) < len(asked):
        raise InvalidArgument("statements must be names of the catalogue or Theorems")
    if made and names:
        allowed = replace(allowed, alpha=alpha / 2)
    style = PaperStyle() if pictures else None
    sections = []
    if made:
        settings = combinations(made, swept)
        sections += [section_of(one, settings, len(made), allowed, style) for one in made]
    theorems = {one.identifier: one for one in made}
    if names or not made:
        assigned = [f"{name}={','.join(map(repr, map(float, v)))}" for name, v in swept.items()]
        chosen = select(names, assigned, with_controls=controls)
        sections += run(chosen, allowed, workers=workers, pictures=pictures)
        found = (find(one.identifier) for one in chosen)
        theorems |= {one.identifier: one for one in found}
    return Reproductions(
        theorems=theorems,
        gallery=Gallery(
            sections=tuple(sections),
            alpha=alpha,
            seed=seed,
            trials=trials,
            seconds=monotonic() - started,
            command="",
        ),
    )


audit = reporting(by_name(run.audit), _one, AuditReport)
audit_claims = reporting(by_name(run.audit_claims), _all, AuditReports)
check = checked(_check)
