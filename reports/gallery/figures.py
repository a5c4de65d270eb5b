"""Which pictures a theorem gets: the one it brings as data, and those of its kind of claim."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...auditors.claims.check import subject_of
from ...auditors.claims.claim_results import ClaimResult
from ...mechanisms.model import BrokenStatement, NegativeControl, Subject, Theorem
from ..faces.claim_faces import FACES, smallest_phrase
from ..figures.marks import PendingPicture, picture
from ..figures.plot_figures import plot_figure
from ..statements.sections import PaperStyle, Picture, Reproduction, pictured
from ..statements.statements import Statement
from .sweep_figures import sweep_figure, swept_parameter

PLAIN = PaperStyle()


def pictures_of(
    theorem: Theorem, reproductions: Sequence[Reproduction], *, seed: int, style: PaperStyle = PLAIN
) -> tuple[Picture, ...]:
    """The pictures of a theorem checked at one or several settings.

    Several settings make a family in one picture; the others are of the one that is `pictured`.
    Fresh draws for a picture are made with `seed` on streams no check uses, so the same results
    give the same bytes.
    """
    drawn: list[PendingPicture] = []
    swept = swept_parameter(reproductions)
    if swept is not None:
        drawn.append(sweep_figure(theorem, reproductions, swept))
    middle = reproductions[pictured(theorem, reproductions)]
    own = _drawn(_statement(theorem, middle.result, middle.parameters, seed))
    smallest = smallest_phrase(middle.result, theorem.constant)
    if own and smallest:
        caption = f"{own[0].caption} Smallest constant: {smallest}."
        own[0] = replace(own[0], caption=caption)
    drawn += own
    prefix = re.sub(r"[^A-Za-z0-9-]", "_", theorem.identifier)
    return tuple(picture(one, prefix=prefix, style=style) for one in drawn)


def drawn_of(
    result: ClaimResult,
    about: Theorem | Subject | NegativeControl | BrokenStatement,
    parameters: Mapping[str, float],
) -> list[PendingPicture]:
    """What there is to draw of one result, on streams that its check did not use."""
    theorem = about
    if not isinstance(theorem, Theorem):
        subject = subject_of(about)
        theorem = Theorem(
            identifier=result.identifier,
            statement=result.statement,
            reference=result.reference,
            subject=lambda: subject,
        )
    return _drawn(_statement(theorem, result, parameters, result.seed))


def _statement(
    theorem: Theorem, result: ClaimResult, given: Mapping[str, float], seed: int
) -> Statement:
    defaults = {name: parameter.default for name, parameter in theorem.parameters.items()}
    return Statement(
        theorem=theorem,
        parameters={**defaults, **given},
        result=result,
        subject=subject_of(theorem, given),
        seed=seed,
    )


def _drawn(statement: Statement) -> list[PendingPicture]:
    result = statement.result
    draws = (plot_figure, *FACES[result.kind].pictures(result))
    return [one for draw in draws if (one := draw(statement)) is not None]
