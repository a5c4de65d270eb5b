"""Tails of a loss against the bound, and errors against the number of records."""

from math import isfinite, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from ...auditors.bounds.tails_and_means import intervals
from ...auditors.errors import DpWitnessError
from ...auditors.outputs.encoding import show
from ...auditors.sampling.draws import some_databases
from ...mechanisms.model import Database, FiniteLaw, NotListable, ThresholdClaim, UtilityClaim
from ..drawing.svg import thousands
from ..statements.statements import Statement, TableRow, abridged, columns_of
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWS, GRID = 4000, 30
"""Fresh draws for the curve of a tail, and points at which its band is worked out."""
ERROR = 0.01
"""Chance that a band is wrong anywhere."""
LEAST = 1e-3
"""The lowest probability that a picture of a tail shows."""
SIZES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
"""Numbers of records at which an error is drawn, in parts of the number that the claim needs."""

Floats = NDArray[np.float64]


def tail_figure(statement: Statement) -> PendingPicture:
    """P[loss >= t] against t with the bound, or row by row where the bound has no such curve."""
    claim = statement.claim
    assert isinstance(claim, UtilityClaim)
    bounds = [float(claim.bound(level)) for level in claim.levels]
    if max(bounds) - min(bounds) <= 1e-9 * max(1.0, abs(max(bounds))):
        return levels_figure(statement)
    database, rows = _headline(statement, claim)
    losses = np.asarray(claim.loss(database, statement.draw(database, DRAWS)), dtype=float)
    betas = _levels(claim)
    curve = np.array([float(claim.bound(beta)) for beta in betas])
    grid = np.linspace(min(0.0, curve.min()), curve.max() * 1.08, GRID)
    hits = [int(np.count_nonzero(losses >= t)) for t in grid]
    limits = np.array(intervals(hits, len(losses), ERROR))
    law = _exact_tail(statement, claim, database)
    edge = statement.result.finding.edge

    def paint(axes: "Axes") -> None:
        whole = len(betas) > len(claim.levels)
        drawn = marks.bound_curve if whole else marks.bound_points
        drawn(axes, curve, betas)
        if edge is not None and isfinite(edge.share):
            marks.smallest_curve(axes, edge.share * curve, betas)
        # The tail falls: a limit at one point of the grid holds up to the next.
        low, high = np.append(limits[1:, 0], 0.0), limits[:, 1]
        marks.band(axes, grid, np.maximum(low, LEAST / 10), high, step="post")
        marks.measured_curve(axes, *_survival(losses), drawstyle="steps-pre")
        marks.measured_points(
            axes,
            [row["bound"] for row in rows],
            [row["measured"] or np.nan for row in rows],
            [max(row["low"], LEAST / 10) for row in rows],
            [row["high"] for row in rows],
        )
        if law is not None:
            marks.exact_curve(axes, *law, drawstyle="steps-pre")
        marks.log_axis(axes, "y", LEAST * 0.7, 1.25)
        axes.set_xlim(grid[0], grid[-1])
        axes.set_xlabel("loss t")
        axes.set_ylabel("P[loss ≥ t]")

    return PendingPicture(
        key="tail",
        title="Tail of the loss",
        caption=(
            f"P[loss ≥ t] may not be above the bound, here on {abridged(show(database))}. Points "
            f"with limits are the checked levels. The curve is of {len(losses):,} fresh draws; the "
            f"band holds for all t together but for chance {ERROR:g} (Clopper-Pearson at {GRID} "
            "points, Bonferroni)."
        ),
        paint=paint,
    )


def _survival(losses: Floats) -> tuple[Floats, Floats]:
    """P[loss >= t] of a sample, at no more than some points, the far tail in full."""
    ordered = np.sort(losses.ravel())
    ranks = np.unique(np.geomspace(1, len(ordered), 110).round().astype(int))[::-1]
    return ordered[len(ordered) - ranks], ranks / len(ordered)


def _levels(claim: UtilityClaim) -> Floats:
    """The levels the bound is drawn at: all in (0, 1), or those the claim names."""
    named = claim.levels != UtilityClaim.__dataclass_fields__["levels"].default
    return np.array(claim.levels) if named else np.geomspace(0.999, LEAST, 60)


def _headline(statement: Statement, claim: UtilityClaim) -> tuple[Database, list[TableRow]]:
    """The database that comes nearest to the bound, and its rows of the table."""
    databases = claim.databases or some_databases(statement.mechanism)
    rows, each = list(columns_of(statement.result)), len(claim.levels)
    place = statement.result.finding.details["headline"] // each
    return databases[place], rows[place * each : (place + 1) * each]


def _exact_tail(
    statement: Statement, claim: UtilityClaim, database: Database
) -> tuple[Floats, Floats] | None:
    mechanism = statement.mechanism
    try:
        law = mechanism.law(database) if mechanism is not None and mechanism.law else None
    except NotListable:
        return None
    if not isinstance(law, FiniteLaw):
        return None
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    losses = np.asarray(claim.loss(database, law.outcomes), dtype=float)
    atoms, places = np.unique(losses[chances > 0], return_inverse=True)
    tail = np.cumsum(np.bincount(places.ravel(), weights=chances[chances > 0])[::-1])[::-1]
    # A law of thousands of atoms looks the same at some of them.
    kept = np.unique(np.linspace(0, len(atoms) - 1, 200).round().astype(int))
    edge, end = min(0.0, float(atoms[0])) - 1.0, float(atoms[-1])
    return (
        np.array([edge, *atoms[kept], end]),
        np.array([1.0, *np.maximum(tail[kept], LEAST / 100), LEAST / 100]),
    )


def levels_figure(statement: Statement) -> PendingPicture:
    """Every row of the check: its probability with limits beside the level it may reach."""
    rows = list(columns_of(statement.result))
    if len(rows) > 12:
        rows = sorted(rows, key=lambda row: -row["measured"] / row["beta"])[:12]
    places = np.arange(len(rows), dtype=float)

    def paint(axes: "Axes") -> None:
        for place, row in zip(places, rows, strict=True):
            marks.bound_step(axes, place, row["beta"])
        _probabilities(axes, places, rows)
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.set_xticks(places, [f"{row['beta']:.3g}" for row in rows])
        axes.set_xlabel(f"level beta, at a loss of {rows[0]['bound']:.4g}")
        axes.set_ylabel("P[loss ≥ bound]")
        marks.room_above(axes, *(row["beta"] for row in rows), *(row["high"] for row in rows))

    return PendingPicture(
        key="levels",
        title="Checked levels",
        caption=(
            f"How often the loss reaches the bound, with limits that hold together but for chance "
            f"{statement.result.finding.error:.2g}. It is measured on "
            f"{abridged(rows[0]['database'])}."
        ),
        paint=paint,
    )


def _probabilities(axes: "Axes", places: Floats, rows: list[TableRow]) -> None:
    measured, low, high = ([row[name] for row in rows] for name in ("measured", "low", "high"))
    marks.measured_points(axes, places, measured, low, high)
    marks.exact_points(axes, places.tolist(), [row["exact"] for row in rows])


def records_figure(statement: Statement) -> PendingPicture:
    """The error that is exceeded with probability beta, against the number of records."""
    claim = statement.claim
    assert isinstance(claim, ThresholdClaim)
    sizes = sorted({max(2, round(claim.needed * share)) for share in SIZES})
    found = [one for size in sizes if (one := _quantile(statement, claim, size)) is not None]
    records, value, low, high = np.array(found, dtype=float).T
    zero = claim.level / 300
    failing = next(columns_of(statement.result))
    edge = statement.result.finding.edge

    def paint(axes: "Axes") -> None:
        marks.bound_level(axes, claim.level)
        axes.axvline(claim.needed, color=marks.BOUND, linewidth=1.2, linestyle=(0, (1, 2)))
        if edge is not None and edge.of == claim.counted:
            enough = edge.share * claim.needed
            marks.smallest_curve(axes, [enough, enough], [zero * 0.7, claim.level])
        top = 2 * max(claim.level, float(high[np.isfinite(high)].max(initial=0)), value.max())
        marks.band(axes, records, np.maximum(low, zero), np.clip(high, zero, top))
        marks.measured_curve(axes, records, np.maximum(value, zero), marker="o", markersize=4)
        marks.log_axis(axes, "y", zero * 0.7, top)
        marks.log_axis(axes, "x", records[0] / 1.15, records[-1] * 1.15)
        axes.xaxis.set_major_formatter(thousands())
        axes.set_xlabel(f"{claim.counted} n")
        axes.set_ylabel(f"error exceeded with probability {claim.beta:g}")
        axes.annotate(
            f"needed: {claim.needed:,}", (claim.needed, 0.33), xycoords=("data", "axes fraction"),
            xytext=(-4, 0), textcoords="offset points", rotation=90, ha="right", va="bottom",
            fontsize="small",
        )  # fmt: skip

    return PendingPicture(
        key="records",
        title=f"Error and {claim.counted}",
        caption=(
            f"The error exceeded in {100 * claim.beta:g} % of runs, against the {claim.counted}; "
            f"from {claim.needed:,} on it may not be above {claim.level:g}. There the check saw it "
            f"above in {failing['hits']:,} of {failing['draws']:,} runs. The band holds for all "
            f"sizes together but for chance {ERROR:g} (order statistics); an error of 0 is drawn "
            "at the lower edge."
        ),
        paint=paint,
    )


def _quantile(
    statement: Statement, claim: ThresholdClaim, records: int
) -> tuple[float, float, float, float] | None:
    """The 1 - beta quantile of the loss with limits; None where there is no such instance."""
    share = ERROR / len(SIZES) / 2
    # A little more than enough for the largest of the losses to be an upper limit.
    runs = round(1.3 * log(share) / log1p(-claim.beta))
    try:
        run, database = claim.instance(records)
        outputs = statement.draw(database, runs, run)
        losses = np.sort(np.asarray(claim.loss(database, outputs), dtype=float).ravel())
    except (DpWitnessError, ValueError):
        return None
    below = bdtr(np.arange(runs + 1), runs, 1 - claim.beta)
    first, last = np.searchsorted(below, [share, 1 - share])
    at = min(runs - 1, int(np.ceil((1 - claim.beta) * runs)) - 1)
    high = losses[last] if last < runs else np.inf
    low = losses[first - 1] if first > 0 else -np.inf
    if not isfinite(losses[at]):
        return None
    return records, float(losses[at]), max(0.0, float(low)), float(high)
