"""Means with their limits, two laws side by side, and numbers that should come out as stated."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...auditors.bounds.tails_and_means import intervals
from ...auditors.outputs.encoding import show
from ...mechanisms.model import EqualityClaim, ExpectationClaim, IdentityClaim, Parameter
from ..drawing.svg import few_ticks, label_text
from ..statements.statements import Statement, abridged, columns_of
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 13
MOST_CELLS = 10
PILOT = 0.1
DRAWS, BINS = 5000, 40


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


def _gap(row: Mapping[str, Any]) -> float:
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


def _swept(statement: Statement) -> tuple[str, Parameter, Any, Any, Any] | None:
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
