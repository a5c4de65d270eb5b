"""A family of results in one picture: bound and measurement against the swept parameter."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

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
    claimed = np.array([one.claimed for one in found], dtype=float)
    measured = [one.measured for one in found]
    value, low, high = (
        np.array([np.nan if one is None else getattr(one, end) for one in measured], dtype=float)
        for end in ("value", "low", "high")
    )
    meaning = theorem.parameters[name].meaning if name in theorem.parameters else ""

    def paint(axes: "Axes") -> None:
        marks.bound_curve(axes, x, claimed, face.curve)
        marks.measured_points(axes, x, value, low, high, face.points)
        marks.exact_points(axes, x.tolist(), [one.exact for one in found])
        for at, one, seen in zip(x, results, value, strict=True):
            if one.refuted and np.isfinite(seen):
                marks.counterexample(axes, at, seen, "refuted")
        if x[0] > 0 and x[-1] >= 30 * x[0]:
            marks.log_axis(axes, "x", x[0] / 1.2, x[-1] * 1.2)
        else:
            axes.xaxis.set_major_locator(few_ticks())
        _set_heights(axes, [*claimed, *value, *high, *(one.exact or 0.0 for one in found)])
        axes.set_xlabel(label_text(f"{name} ({abridged(meaning, 50)})" if meaning else name))
        axes.set_ylabel(face.axis)

    return PendingPicture(
        key="sweep",
        title=f"Over {name}",
        caption=(
            f"{len(rows)} settings of {name}, each checked on its own with error probability "
            f"{max(one.error for one in found):.2g}."
        ),
        paint=paint,
    )


def _set_heights(axes: "Axes", values: list[float]) -> None:
    known = [float(value) for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = 0.12 * ((high - low) or 1.0)
    axes.set_ylim(low - room * (low < 0), high + room)
    axes.yaxis.set_major_locator(few_ticks())
