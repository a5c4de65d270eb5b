"""How a bound, a measurement and an exact value look: the same marks in every picture.

The bound is a dashed green line, what was measured is blue with its interval, what is known
exactly is vermilion, a counterexample is a cross in the colour of the text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np

from ..drawing.svg import CLAIM, FIRST, INK, SECOND, few_ticks, figure, legend_above, pdf, svg
from ..statements.statements import PaperStyle, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

BOUND = CLAIM
MEASURED = FIRST
EXACT = SECOND
DASHES = (0, (5, 2))
"""Dashes of a bound: where they begin, and the lengths of a dash and of a gap in line widths."""
PLAIN = PaperStyle()
HANDLE, LETTER, ROW = 30.0, 5.9, 350.0
"""Widths in points: of a legend's sign, of a letter, and what there is room for."""


class LineLook(TypedDict, total=False):
    """How a line or its points are drawn, in the words of matplotlib."""

    color: str
    linewidth: float
    linestyle: str | tuple[int, tuple[float, ...]]
    drawstyle: str
    marker: str
    markersize: float
    clip_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPicture:
    """A picture yet to be made: `paint` puts it on empty axes."""

    key: str
    title: str
    caption: str
    paint: Callable[["Axes"], None]


def picture(drawn: PendingPicture, *, prefix: str, style: PaperStyle = PLAIN) -> Picture:
    """Make it, once for both formats; `prefix` makes the ids of the SVG unique in a page."""
    with figure(style.width, style.size, serif=style.serif) as (drawing, axes):
        drawn.paint(axes)
        _legend(axes, style)
        # Where everything goes is settled once: each format would work it out again, by a drawing.
        if (layout := drawing.get_layout_engine()) is not None:
            layout.execute(drawing)
        drawing.set_layout_engine(None)
        text = svg(drawing, f"{prefix}-{drawn.key}", drawn.title, drawn.caption)
        return Picture(
            key=drawn.key, title=drawn.title, caption=drawn.caption, svg=text, pdf=pdf(drawing)
        )


def _legend(axes: "Axes", style: PaperStyle) -> None:
    handles, labels = axes.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    names = sorted(found, key=_rank)
    # A legend too long for one row would make the picture narrower; it takes two.
    length = sum(HANDLE + LETTER * len(name) for name in names) * style.size / PLAIN.size
    columns = 4 if length < ROW * style.width / PLAIN.width else 2
    legend_above(axes, [found[name] for name in names], columns=columns)


def _rank(label: str) -> int:
    """Bound, measurement, exact value, counterexample: in this order in every legend."""
    for rank, starts in ((0, ("bound", "claim", "stated")), (2, ("exact", "computed"))):
        if label.startswith(starts):
            return rank
    return 3 if label.startswith(("counterexample", "confirmed", "refuted")) else 1


def bound_level(axes: "Axes", value: float, label: str = "bound") -> None:
    """The bound as a level across the picture."""
    axes.axhline(value, color=BOUND, linewidth=1.7, linestyle=DASHES, label=label, zorder=3)


def smallest_curve(axes: "Axes", x: "ArrayLike", y: "ArrayLike") -> None:
    """The bound with the smallest constant that still holds on the hardest instance found."""
    axes.plot(x, y, color=BOUND, linewidth=1.2, linestyle=(0, (1, 2)), label="smallest that holds")


def bound_curve(axes: "Axes", x: "ArrayLike", y: "ArrayLike", label: str = "bound") -> None:
    """The bound as a function."""
    axes.plot(x, y, color=BOUND, linewidth=1.7, linestyle=DASHES, label=label, zorder=3)


def bound_points(axes: "Axes", x: "ArrayLike", y: "ArrayLike", label: str = "bound") -> None:
    """The bound where it is stated at a few points only."""
    axes.plot(
        x, y, color=BOUND, linestyle="none", marker="_", markersize=13, markeredgewidth=2.2,
        label=label,
    )  # fmt: skip


def bound_step(axes: "Axes", place: float, value: float, label: str = "bound") -> None:
    """The bound of one column of the picture, the column around `place`."""
    axes.plot(
        [place - 0.4, place + 0.4], [value, value], color=BOUND, linewidth=1.7, linestyle=DASHES,
        label=label,
    )  # fmt: skip


def measured_curve(
    axes: "Axes", x: "ArrayLike", y: "ArrayLike", label: str = "measured", **how: Unpack[LineLook]
) -> None:
    """What was measured, as a function."""
    look: LineLook = {"color": MEASURED, "linewidth": 1.5, **how}
    axes.plot(x, y, label=label, **look)


def band(
    axes: "Axes",
    x: "ArrayLike",
    low: "ArrayLike",
    high: "ArrayLike",
    step: Literal["pre", "post", "mid"] | None = None,
) -> None:
    """A band in which the measured function lies; `step` "post" holds each limit to the right."""
    axes.fill_between(x, low, high, color=MEASURED, alpha=0.18, linewidth=0, step=step)


def measured_points(
    axes: "Axes",
    x: "ArrayLike",
    y: "ArrayLike",
    low: "ArrayLike | None" = None,
    high: "ArrayLike | None" = None,
    label: str = "measured",
    **how: Unpack[LineLook],
) -> None:
    """Measurements with their intervals; an end that is not finite is left out."""
    y = np.asarray(y, dtype=float)
    ends = [
        np.zeros_like(y) if end is None else np.abs(y - np.where(np.isfinite(end), end, y))
        for end in (_floats(low), _floats(high))
    ]
    axes.errorbar(
        x, y, yerr=ends, color=MEASURED, linestyle="none", marker="o", markersize=4.5,
        linewidth=1.4, capsize=2.5, label=label, **how,
    )  # fmt: skip


def _floats(values: "ArrayLike | None") -> "NDArray[np.float64] | None":
    return None if values is None else np.asarray(values, dtype=float)


def exact_curve(
    axes: "Axes", x: "ArrayLike", y: "ArrayLike", label: str = "exact", **how: Unpack[LineLook]
) -> None:
    """What is known exactly, as a function."""
    look: LineLook = {"color": EXACT, "linewidth": 1.5, **how}
    axes.plot(x, y, label=label, **look)


def exact_points(
    axes: "Axes", x: Sequence[float], y: Sequence[float | None], label: str = "exact"
) -> None:
    """Exact values; those not known are left out."""
    known = [(at, value) for at, value in zip(x, y, strict=True) if _known(value)]
    if known:
        axes.plot(
            *zip(*known, strict=True), color=EXACT, linestyle="none", marker="D", markersize=8.5,
            markerfacecolor="none", markeredgewidth=1.5, label=label,
        )  # fmt: skip


def _known(value: float | None) -> bool:
    return value is not None and isfinite(value)


def counterexample(axes: "Axes", x: float, y: float, label: str = "counterexample") -> None:
    """A case that breaks the bound."""
    axes.plot(
        [x], [y], color=INK, linestyle="none", marker="X", markersize=8, markeredgewidth=0,
        label=label, clip_on=False, zorder=5,
    )  # fmt: skip


def remark(axes: "Axes", text: str, *, x: float = 0.98, y: float = 0.95) -> None:
    """A line of small text inside the picture, right-aligned at (x, y) of the axes."""
    axes.text(x, y, text, transform=axes.transAxes, ha="right", va="top", fontsize="small",
              alpha=0.75)  # fmt: skip


def room_above(axes: "Axes", *values: float, least: float = 0.0) -> None:
    """Let the axis of y start at `least` and leave some room above the largest value."""
    highest = max([value for value in values if isfinite(value)], default=1.0)
    axes.set_ylim(least, least + 1.15 * (highest - least) if highest > least else least + 1.0)
    axes.yaxis.set_major_locator(few_ticks())


def log_axis(axes: "Axes", which: str, lowest: float, highest: float) -> None:
    """A logarithmic axis of x or y with plain numbers at powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(lowest, highest)
    narrow = highest < 100 * lowest
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,), numticks=8))
    # Plain numbers: formulas would take longer to set than the rest of the picture to draw.
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axis.set_minor_formatter(NullFormatter())
    if not narrow:
        axis.set_minor_locator(LogLocator(subs=(), numticks=8))
