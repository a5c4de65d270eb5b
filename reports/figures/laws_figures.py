"""Pictures of what a statement says of numbers: means, growth, laws, identities and invariants.

Means stand with their limits, and on logarithmic axes if they grow, where a power is a line. Two
laws stand side by side, numbers that should come out as stated beside what is stated, and of an
invariant how far the cases looked at are from breaking the bound.
"""

from typing import TYPE_CHECKING

import numpy as np

from ...auditors.bounds.tails_and_means import intervals
from ...auditors.claims.derive import slope_weights
from ...auditors.claims.equality import PILOT
from ...auditors.outputs.encoding import show
from ...mechanisms.model import (
    Array,
    EqualityClaim,
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    InvariantClaim,
    Parameter,
)
from ..drawing.svg import INK, few_ticks, label_text
from ..statements.statements import Statement, TableRow, abridged, columns_of
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Formatter
    from numpy.typing import NDArray


POINTS = 13
"""Values of a parameter at which both sides of an equation are computed."""
MOST_CELLS = 10
"""Cells of a law that a picture shows, the first of the table."""
DRAWS, BINS = 5000, 40
"""Fresh draws of each sampler for two histograms, and bins of these."""
MOST_POINTS = 120
"""Cases of an invariant that a picture shows; of more, evenly spread ones with both ends."""
FARTHEST = 1e9
"""Margins beyond it are drawn at it."""


def mean_figure(statement: Statement) -> PendingPicture:
    """The mean on each database with its limits, and the bound."""
    claim, rows = statement.claim, list(columns_of(statement.result))
    assert isinstance(claim, ExpectationClaim)
    places = np.arange(len(rows), dtype=float)
    names = [str(number + 1) for number in range(len(rows))]
    means, low, high = (np.array([row[name] for row in rows]) for name in ("mean", "low", "high"))

    def paint(axes: "Axes") -> None:
        marks.bound_level(axes, claim.bound)
        # An end at the end of the range says nothing and would flatten the rest.
        shown = np.where(high < claim.high, high, np.nan)
        marks.measured_points(axes, places, means, low, shown)
        marks.exact_points(axes, places.tolist(), [row["exact"] for row in rows])
        values = [claim.bound, *means, *low[np.isfinite(low)], *shown[np.isfinite(shown)]]
        bottom, top = min(0.0, *values), max(0.0, *values)
        axes.set_ylim(bottom - 0.1 * (top - bottom) * (bottom < 0), top + 0.15 * (top - bottom))
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.set_xticks(places, names)
        axes.set_xlabel("database, as in the table")
        axes.set_ylabel("mean of the quantity")

    return PendingPicture(
        key="mean",
        title="Mean and bound",
        caption=(
            "The mean may not be above the bound. Its limits hold together but for chance "
            f"{statement.result.finding.error:.2g} at either end."
        ),
        paint=paint,
    )


def law_figure(statement: Statement) -> PendingPicture:
    """Both laws, cell by cell, on the first database or on the one where they differ."""
    claim, result = statement.claim, statement.result
    assert isinstance(claim, EqualityClaim)
    every = list(columns_of(result))
    if any(" <= " in str(row["cell"]) for row in every):
        return _density_figure(statement, claim)
    database = max(every, key=_gap)["database"]
    rows = sorted(
        [row for row in every if row["database"] == database][:MOST_CELLS],
        key=lambda row: _order(row["cell"]),
    )
    draws = max(1, round((1 - PILOT) * result.finding.draws / 2 / len(claim.databases)))
    places = np.arange(len(rows), dtype=float)

    def paint(axes: "Axes") -> None:
        for side, (name, colour, label) in enumerate(
            (("other", marks.BOUND, "stated law"), ("mechanism", marks.MEASURED, "mechanism"))
        ):
            shares = np.array([row[name] for row in rows])
            limits = intervals(
                [round(share * draws) for share in shares], draws, result.finding.error
            )
            low, high = np.array(limits).T
            at = places + (side - 0.5) * 0.38
            axes.bar(
                at, shares, 0.36, color=colour, alpha=0.75, label=label, linewidth=0,
                hatch="///" if side == 0 else "", edgecolor="white",
            )  # fmt: skip
            axes.errorbar(
                at, shares, yerr=np.abs([shares - low, high - shares]), linestyle="none",
                color=colour, linewidth=1.2, capsize=2,
            )  # fmt: skip
            marks.exact_points(axes, at.tolist(), [row[f"exact {name}"] for row in rows])
        names = [label_text(str(row["cell"]), 14) for row in rows]
        crowded = len(rows) > 6 or any(len(name) > 6 for name in names)
        axes.set_xticks(
            places, names, rotation=35 if crowded else 0, ha="right" if crowded else "center"
        )
        axes.set_xlabel("output")
        axes.set_ylabel("probability")
        axes.set_ylim(bottom=0)

    return PendingPicture(
        key="law",
        title="Two laws",
        caption=(
            f"Shares of outputs on {abridged(database)}: the mechanism and the law it is said to "
            f"have, {draws:,} draws each, with Clopper-Pearson limits that hold together for each "
            f"law but for chance {result.finding.error:.2g}."
            + (" Diamonds are exact." if rows[0]["exact mechanism"] is not None else "")
        ),
        paint=paint,
    )


def _density_figure(statement: Statement, claim: EqualityClaim) -> PendingPicture:
    """Fresh draws of both samplers as histograms, for outputs too many to be listed."""
    database = claim.databases[0]
    runs = (None, claim.other)
    first, second = (
        np.asarray(statement.draw(database, DRAWS, run, side), dtype=float).reshape(DRAWS, -1)[:, 0]
        for side, run in enumerate(runs)
    )
    # Edges from one sample only, without its few largest values.
    low, high = np.quantile(second, [0.002, 0.998])
    edges = np.linspace(low, high, BINS + 1)
    width = edges[1] - edges[0]

    def paint(axes: "Axes") -> None:
        for values, colour, label, dash in (
            (second, marks.BOUND, "stated law", marks.DASHES),
            (first, marks.MEASURED, "mechanism", "-"),
        ):
            shares = np.histogram(values, edges)[0] / DRAWS / width
            axes.stairs(shares, edges, color=colour, linewidth=1.5, linestyle=dash, label=label)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("output")
        axes.set_ylabel("density")

    return PendingPicture(
        key="law",
        title="Two laws",
        caption=(
            f"{DRAWS:,} fresh draws each of the mechanism and of the law it is said to have, on "
            f"{abridged(show(database))}. The check compares their counts on learnt cells."
        ),
        paint=paint,
    )


def _gap(row: TableRow) -> float:
    first, second = row["exact mechanism"], row["exact other"]
    if first is None or second is None:
        first, second = row["mechanism"], row["other"]
    return abs(first - second) if abs(first - second) > 1e-9 else 0.0


def _order(cell: object) -> tuple[int, float, str]:
    try:
        return 0, float(str(cell)), ""
    except ValueError:
        return 1, 0.0, str(cell)


def identity_figure(statement: Statement) -> PendingPicture:
    """Stated and computed values, over the range of a parameter where there is one."""
    swept = _swept(statement)
    if swept is None:
        return _single_identity(statement)
    name, parameter, values, stated, computed = swept
    own = statement.parameters.get(name, parameter.default)
    row = next(columns_of(statement.result))

    def paint(axes: "Axes") -> None:
        marks.bound_curve(axes, values, stated, "stated")
        axes.plot(
            values, computed, color=marks.EXACT, linestyle="none", marker="D", markersize=5,
            markerfacecolor="none", markeredgewidth=1.4, label="computed",
        )  # fmt: skip
        if statement.result.refuted:
            marks.counterexample(axes, own, row["computed"])
        axes.xaxis.set_major_locator(few_ticks(whole=parameter.within.integer))
        axes.yaxis.set_major_locator(few_ticks())
        axes.set_xlabel(f"{name} ({abridged(label_text(parameter.meaning), 50)})")
        axes.set_ylabel("value")

    return PendingPicture(
        key="values",
        title="Stated and computed",
        caption=(
            f"Both sides of the equation over {name}. It is checked at {own:g}, where "
            f"{row['computed']:.6g} is computed and {row['stated']:.6g} stated."
        ),
        paint=paint,
    )


def _swept(statement: Statement) -> tuple[str, Parameter, Array, Array, Array] | None:
    """Values of the parameter that matters most with both sides of the equation."""
    for name, parameter in statement.theorem.parameters.items():
        within = parameter.within
        span = min(within.high, max(4 * abs(parameter.default), within.low))
        values = np.linspace(within.low, span, POINTS)
        if within.integer:
            values = np.unique(values.round())
        sides = []
        for value in values:
            chosen = round(value) if within.integer else float(value)
            claim = statement.theorem.at(**{**statement.parameters, name: chosen}).claim
            assert isinstance(claim, IdentityClaim)
            sides.append((claim.stated, float(claim.compute())))
        stated, computed = np.array(sides).T
        if len(values) > 2 and np.isfinite(computed).all() and np.ptp(computed) > 1e-9:
            return name, parameter, values, stated, computed
    return None


def _single_identity(statement: Statement) -> PendingPicture:
    row = next(columns_of(statement.result))
    stated, computed = row["stated"], row["computed"]

    def paint(axes: "Axes") -> None:
        axes.bar([0], [stated], 0.45, color=marks.BOUND, alpha=0.75, linewidth=0)
        axes.bar([1], [computed], 0.45, color=marks.EXACT, alpha=0.75, linewidth=0)
        for place, value in enumerate((stated, computed)):
            axes.annotate(
                f"{value:.10g}", (place, value), xytext=(0, 4), textcoords="offset points",
                ha="center",
            )  # fmt: skip
        axes.set_xlim(-0.7, 1.7)
        axes.set_xticks([0, 1], ["stated", "computed"])
        axes.set_ylabel("value")
        marks.room_above(axes, stated, computed)

    return PendingPicture(
        key="values",
        title="Stated and computed",
        caption=f"They differ by {row['difference']:.4g}; {row['tolerance']:g} is allowed.",
        paint=paint,
    )


def growth_figure(statement: Statement) -> PendingPicture:
    """The mean at each point with its limits, the fitted line and the bound."""
    claim, rows = statement.claim, list(columns_of(statement.result))
    assert isinstance(claim, GrowthClaim)
    x, bound, mean, low, high = (
        np.array([row[name] for row in rows], dtype=float)
        for name in ("x", "bound", "mean", "low", "high")
    )
    found = statement.result.finding
    assert found.measured is not None
    positive = bool((mean > 0).all())

    def paint(axes: "Axes") -> None:
        marks.bound_curve(axes, x, bound)
        marks.measured_points(axes, x, mean, low, high)
        if positive:
            slope = float(slope_weights(x) @ np.log(mean))
            middle = np.log(mean).mean() - slope * np.log(x).mean()
            marks.measured_curve(axes, x, np.exp(middle + slope * np.log(x)), "fitted line")
        known = [*bound, *mean[mean > 0], *low[low > 0]]
        marks.log_axis(axes, "x", float(x.min()) / 1.15, float(x.max()) * 1.15)
        marks.log_axis(axes, "y", min(known) / 1.3, max(known) * 1.3)
        axes.set_xlabel(label_text(claim.over))
        axes.set_ylabel(label_text(claim.grows))

    return PendingPicture(
        key="growth",
        title="Growth",
        caption=(
            f"A power is a line here. The line through the means has the slope "
            f"{found.measured.value:.3g}, between {found.measured.low:.3g} and "
            f"{found.measured.high:.3g} but for chance {found.error:.2g}; that through the bound "
            f"has {found.claimed:.3g}."
        ),
        paint=paint,
    )


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
