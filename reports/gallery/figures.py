"""Which pictures a theorem gets: the one it brings as data, and those of its kind of claim.

Several settings of a theorem are a family in one picture: bound and measurement against the
parameter that was swept.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from ...auditors.claims.check import subject_of
from ...auditors.claims.claim_results import ClaimResult
from ...mechanisms.model import BrokenStatement, NegativeControl, Subject, Theorem
from ..drawing.svg import few_ticks, label_text
from ..faces.claim_faces import FACES, smallest_phrase
from ..figures import marks
from ..figures.marks import PendingPicture, picture
from ..figures.plot_figures import plot_figure
from ..statements.statements import PaperStyle, Picture, Reproduction, Statement, abridged, pictured

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def swept_parameter(reproductions: Sequence[Reproduction]) -> str | None:
    """The parameter with most values; None where all settings are the same."""
    names = sorted({name for one in reproductions for name in one.parameters})
    values = {name: {one.parameters.get(name) for one in reproductions} for name in names}
    varied = [name for name in names if len(values[name]) > 1]
    return max(varied, key=lambda name: len(values[name]), default=None)


def sweep_figure(
    theorem: Theorem, reproductions: Sequence[Reproduction], name: str
) -> PendingPicture:
    """Bound, measurement and exact value at every setting, against the parameter `name`."""
    rows = sorted(reproductions, key=lambda one: one.parameters[name])
    x = np.array([one.parameters[name] for one in rows], dtype=float)
    results = [one.result for one in rows]
    found, face = [one.finding for one in results], FACES[results[0].kind]
    points = at_one_level(results) or [_headline(one) for one in results]
    claimed, value, low, high = (
        np.array([getattr(one, end) for one in points], dtype=float)
        for end in ("claimed", "value", "low", "high")
    )
    exact = [one.exact for one in points]
    where = _levels_words(points)
    meaning = theorem.parameters[name].meaning if name in theorem.parameters else ""

    def paint(axes: "Axes") -> None:
        marks.bound_curve(axes, x, claimed, face.curve)
        marks.measured_points(axes, x, value, low, high, face.points)
        marks.exact_points(axes, x.tolist(), exact)
        for at, one, seen in zip(x, results, value, strict=True):
            if one.refuted and np.isfinite(seen):
                marks.counterexample(axes, at, seen, "refuted")
        if x[0] > 0 and x[-1] >= 30 * x[0]:
            marks.log_axis(axes, "x", x[0] / 1.2, x[-1] * 1.2)
        else:
            axes.xaxis.set_major_locator(few_ticks())
        _set_heights(axes, [*claimed, *value, *high, *(one or 0.0 for one in exact)])
        axes.margins(x=0.06)
        axes.set_xlabel(label_text(f"{name} ({abridged(meaning, 50)})" if meaning else name))
        axes.set_ylabel(face.axis)

    return PendingPicture(
        key="sweep",
        title=f"Over {name}",
        caption=(
            f"{len(rows)} settings of {name}, each checked on its own with error probability "
            f"{max(one.error for one in found):.2g}.{where}"
        ),
        paint=paint,
    )


@dataclass(frozen=True, slots=True)
class Point:
    """What a sweep shows of one setting; of a tail also the `loss` whose probability it is."""

    claimed: float
    value: float
    low: float
    high: float
    exact: float | None
    loss: float | None = None


def _headline(result: ClaimResult) -> Point:
    found = result.finding
    seen = found.measured
    ends = (nan, nan, nan) if seen is None else (seen.value, seen.low, seen.high)
    return Point(nan if found.claimed is None else found.claimed, *ends, found.exact)


def at_one_level(results: Sequence[ClaimResult]) -> list[Point]:
    """Of tails checked at several probabilities the one nearest the bounds that all settings have.

    At each setting the database where the loss is most frequent. Empty if the claims are no tails
    or have no level in common: a line through different levels would mean nothing.
    """
    tables = []
    for one in results:
        made = one.finding.table
        if made is None or "beta" not in made.columns:
            return []
        tables.append([dict(zip(made.columns, row, strict=True)) for row in made.rows])
    common = set.intersection(*({row["beta"] for row in rows} for rows in tables))
    if not common:
        return []
    middle = np.median([np.log(one.finding.claimed) for one in results])
    level = min(sorted(common), key=lambda beta: abs(np.log(beta) - middle))
    points = []
    for rows in tables:
        at = [row for row in rows if row["beta"] == level]
        row = max(at, key=lambda one: one["measured"] if one["exact"] is None else one["exact"])
        beta, measured, low, high = (row[end] for end in ("beta", "measured", "low", "high"))
        points.append(Point(beta, measured, low, high, row["exact"], row["bound"]))
    return points


def _levels_words(points: Sequence[Point]) -> str:
    losses = [one.loss for one in points if one.loss is not None]
    if not losses:
        return ""
    ends = f"{losses[0]:.4g}" + (f" to {losses[-1]:.4g}" if losses[-1] != losses[0] else "")
    return (
        f" All at the level {points[0].claimed:.3g}, which is stated for a loss t of {ends}; the "
        "table has each setting at the level of its own bound."
    )


def _set_heights(axes: "Axes", values: list[float]) -> None:
    known = [float(value) for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = 0.12 * ((high - low) or 1.0)
    axes.set_ylim(low - room * (low in known), high + room)
    axes.yaxis.set_major_locator(few_ticks())
