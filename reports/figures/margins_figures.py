"""Invariants: how far the cases looked at are from breaking the bound."""

from typing import TYPE_CHECKING

import numpy as np

from ...mechanisms.model import InvariantClaim
from ..drawing.svg import INK, few_ticks
from ..statements.statements import Statement, abridged
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Formatter
    from numpy.typing import NDArray

MOST_POINTS = 120
FARTHEST = 1e9


def margin_figure(statement: Statement) -> PendingPicture:
    """Share of the cases with at most some margin, zero and the worst case marked."""
    claim, result = statement.claim, statement.result
    assert isinstance(claim, InvariantClaim)
    assert result.finding.table is not None
    least, worst = result.finding.table.rows[0]
    every = np.sort(np.array([*result.finding.details["margins"], least], dtype=float))
    # No picture has room for margins that exceed the others by hundreds of powers of ten.
    finite = np.clip(every[np.isfinite(every)], -FARTHEST, FARTHEST)
    # Hundreds of cases look the same at some of them; the ends stay.
    kept = np.unique(np.linspace(0, len(finite) - 1, MOST_POINTS).round().astype(int))
    shares = (kept + 1) / len(every)
    unbounded = int(np.count_nonzero(every == np.inf))

    def paint(axes: "Axes") -> None:
        left, right = _edges(finite, claim.tolerance)
        wide = _linear_part(finite, claim.tolerance)
        if wide is not None:
            axes.set_xscale("symlog", linthresh=wide, linscale=0.5)
            axes.xaxis.set_major_formatter(_plain())
        axes.axvspan(left, 0, color=INK, alpha=0.06, linewidth=0)
        axes.axvline(
            0, color=marks.BOUND, linewidth=1.7, linestyle=marks.DASHES, label="bound: margin 0"
        )
        marks.measured_curve(
            axes,
            np.append(finite[kept], right),
            np.append(shares, shares[-1:]),
            label="cases looked at",
            drawstyle="steps-post",
        )
        if result.refuted:
            marks.counterexample(axes, max(least, left), 0.0)
        else:
            marks.measured_points(axes, [least], [0.0], label="worst case", clip_on=False)
        axes.set_xlim(left, right)
        axes.set_ylim(0, 1.04)
        if wide is None:
            axes.xaxis.set_major_locator(few_ticks())
        if np.abs(finite).max(initial=0.0) <= claim.tolerance:
            marks.remark(axes, "every margin is 0 up to rounding", y=0.5)
        axes.set_xlabel("margin: bound less measured; below 0 the statement is false")
        axes.set_ylabel("share of cases")
        if unbounded:
            marks.remark(axes, f"{unbounded:,} cases without a bound to meet", y=0.12)

    return PendingPicture(
        key="margins",
        title="Margins of the cases",
        caption=(
            f"{result.finding.details['cases']:,} cases, searched for small margins"
            + (" until one broke the bound, which was then made small" if result.refuted else "")
            + f". The worst, at {least:.4g}: {abridged(worst, 150)}"
        ),
        paint=paint,
    )


def _edges(finite: "NDArray[np.float64]", tolerance: float) -> tuple[float, float]:
    """Ends of the axis, with zero inside and some room at either side."""
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    if high - low <= tolerance:
        return -1.0, 1.0
    room = 0.07 * (high - low)
    return low - room, high + room


def _linear_part(finite: "NDArray[np.float64]", tolerance: float) -> float | None:
    """Half the width of the linear part of an axis too long to be linear; None for another."""
    sizes = np.abs(finite[np.abs(finite) > tolerance])
    if not len(sizes) or sizes.max() <= 1e4 * np.median(sizes):
        return None
    return float(10 ** np.floor(np.log10(np.quantile(sizes, 0.25))))


def _plain() -> "Formatter":
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:g}")
