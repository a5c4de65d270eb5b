"""A family of results in one picture: bound and measurement against the swept parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from ...auditors.claims.claim_results import ClaimResult
from ...mechanisms.model import Theorem
from ..drawing.svg import few_ticks, label_text
from ..faces.claim_faces import FACES
from ..figures import marks
from ..figures.marks import PendingPicture
from ..statements.sections import Reproduction
from ..statements.statements import abridged

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
