"""The picture that a theorem brings with it as data, whatever it is about."""

from typing import TYPE_CHECKING

import numpy as np

from ...auditors.bounds.tails_and_means import betting_lower, betting_upper
from ...mechanisms.model import Axis, ExpectationClaim, Plot, Series, Subject
from ..drawing.svg import INK, few_ticks
from ..statements.statements import Statement
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS, ERROR = 200, 1e-3
"""Runs for each mean, and the chance that a limit at one end of any of them is wrong."""
LEAST = 1e-4
"""A mean below this is drawn at the lower edge of a logarithmic axis."""
ROOM = 1.5
"""By what factor a logarithmic axis goes beyond its points."""


def plot_figure(statement: Statement) -> PendingPicture | None:
    """The theorem's own picture at the parameters of the statement; None where it has none."""
    plot = statement.theorem.plot_at(**statement.parameters)
    if plot is None:
        return None
    places = sorted(plot.means)
    limits = [_limits(statement, plot.means[at], len(places)) for at in places]
    note = (
        f" Each mean is of {RUNS} runs; the limits, by betting, hold together but for chance "
        f"{ERROR:g} at either end."
    )

    def paint(axes: "Axes") -> None:
        for series in plot.series:
            if len(series.x):
                _draw(axes, series)
        if places:
            mean, low, high = np.array(limits).T
            low = np.maximum(low, LEAST) if plot.y.log else low
            marks.measured_points(axes, places, mean, low, high, "mean")
        _set_axis(axes, "x", plot.x, [*places, *_joined(plot, "x")])
        _set_axis(axes, "y", plot.y, [*(mean for mean, _, _ in limits), *_joined(plot, "y")])

    return PendingPicture(
        key=plot.key,
        title=plot.title,
        caption=plot.caption + (note if places else ""),
        paint=paint,
    )


def _limits(statement: Statement, subject: Subject, of: int) -> tuple[float, float, float]:
    """Mean and limits on the first of the claim's databases, the hardest, one of so many means."""
    claim, mechanism = subject.claim, subject.mechanism
    assert isinstance(claim, ExpectationClaim)
    assert mechanism is not None
    database = claim.databases[0]
    outputs = statement.draw(database, RUNS, mechanism.run)
    values = np.asarray(claim.quantity(database, outputs), dtype=float)
    low = betting_lower(values, claim.low, ERROR / of)
    return float(values.mean()), low, betting_upper(values, claim.high, ERROR / of)


def _draw(axes: "Axes", series: Series) -> None:
    x, y, label = series.x, series.y, series.label or series.meaning
    match series.meaning, series.style:
        case "counterexample", _:
            for at, value in zip(x, y, strict=True):
                marks.counterexample(axes, at, value, label)
        case "contrast", _:
            axes.plot(
                x, y, color=INK, linestyle="none", marker="X", markersize=6, markeredgewidth=0,
                label=label,
            )  # fmt: skip
        case "exact", "points":
            marks.exact_points(axes, x.tolist(), y.tolist(), label)
        case "measured", "points":
            marks.measured_points(axes, x, y, label=label)
        case "exact", style:
            marks.exact_curve(axes, x, y, label, **_look(style))
        case "measured", style:
            marks.measured_curve(axes, x, y, label, **_look(style))
        case "bound", "points":
            marks.bound_points(axes, x, y, label)
        case "bound", "dotted":
            axes.plot(x, y, color=marks.BOUND, label=label, **_look("dotted"))
        case "bound", _:
            marks.bound_curve(axes, x, y, label)


def _look(style: str) -> marks.LineLook:
    looks: dict[str, marks.LineLook] = {
        "marked": {"marker": "o", "markersize": 3.5},
        "dotted": {"linewidth": 1.2, "linestyle": (0, (1, 1.5))},
        "steps": {"drawstyle": "steps-post"},
        "dots": {"marker": "o", "markersize": 2.5, "linestyle": "none"},
    }
    return looks.get(style, {})


def _joined(plot: Plot, which: str) -> list[float]:
    return [float(value) for one in plot.series for value in getattr(one, which)]


def _set_axis(axes: "Axes", which: str, axis: Axis, values: list[float]) -> None:
    """Ends, ticks and the label; an end that is not given leaves some room for the points."""
    known = [value for value in values if np.isfinite(value) and (value > 0 or not axis.log)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if axis.log:
        room = ROOM if which == "y" else 1.15
        low = low / room if axis.low is None else axis.low
        marks.log_axis(axes, which, low, high * room if axis.high is None else axis.high)
    else:
        low = min(0.0, low) if axis.low is None else axis.low
        high = low + (1.15 if which == "y" else 1.05) * (high - low or 1.0)
        getattr(axes, f"set_{which}lim")(low, high if axis.high is None else axis.high)
        ticks = getattr(axes, f"{which}axis").set_major_locator
        ticks(few_ticks(whole=axis.whole))
    if axis.ticks:
        getattr(axes, f"set_{which}ticks")(list(axis.ticks.values()), list(axis.ticks))
    getattr(axes, f"set_{which}label")(axis.label)
