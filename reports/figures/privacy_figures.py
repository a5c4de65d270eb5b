"""What a mechanism loses: the bound as draws come in, the curve delta(epsilon), the outputs."""

from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ...auditors.bounds.two_sample import at_distance
from ...auditors.claims.exact import delta_curve, pair_losses
from ...auditors.results.results import AuditResult
from ...mechanisms.model import PrivacyClaim, lines_of
from ..drawing.svg import confirmed_bound, draw_sketch, few_ticks, thousands
from ..statements.statements import Statement
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

POINTS, FLOOR = 41, 1e-9
"""Epsilons at which the exact curve is drawn, and the delta below which nothing is."""


def loss_figure(statement: Statement) -> PendingPicture:
    """The lower bound on epsilon against draws, with the claim and the exact loss."""
    result, claim = statement.result, statement.claim
    assert isinstance(claim, PrivacyClaim)
    audit: AuditResult = result.finding.details["audit"]
    points = [(draws, max(0.0, bound)) for draws, bound in audit.growth if isfinite(bound)]
    # A whole curve is judged at a point of its own.
    curve, point = claim.curve, claim if claim.curve is None else audit.claim
    exact = result.finding.exact if curve is None else None
    confirmed = confirmed_bound(audit)

    def paint(axes: "Axes") -> None:
        marks.bound_level(axes, point.epsilon, "claim")
        if points:
            at, bounds = np.array(points).T
            marks.measured_curve(axes, at, bounds, "lower bound", marker="o", markersize=4)
        if confirmed is not None:
            spent = max([draws for draws, _ in points], default=audit.evidence.decided_after or 0)
            marks.counterexample(axes, spent, confirmed, "refuted")
        if exact is not None and isfinite(exact):
            axes.axhline(exact, color=marks.EXACT, linewidth=1.5, label="exact")
        elif exact == inf:
            marks.remark(axes, "exact: no finite epsilon", y=0.1)
        if not points and confirmed is None:
            marks.remark(axes, "the draws show no loss", y=0.1)
        marks.room_above(
            axes, point.epsilon, confirmed or 0.0, exact or 0.0, *(bound for _, bound in points)
        )
        axes.set_xlim(left=0)
        axes.set_xlabel("runs per database")
        axes.set_ylabel("epsilon (nats)")
        axes.xaxis.set_major_locator(few_ticks())
        axes.xaxis.set_major_formatter(thousands())

    return PendingPicture(
        key="loss",
        title="Lower bound on epsilon",
        caption=(
            "A lower bound on epsilon as draws come in, wrong with probability at most "
            f"{result.finding.error:.2g}: a line above the claim refutes it, one below does not "
            "prove it."
            + (f" Exact: the largest loss on {result.finding.scope}." if exact is not None else "")
            + (f" All at delta {point.delta:.4g}." if point.delta else "")
            + (f" It is a point of {curve}." if curve is not None else "")
        ),
        paint=paint,
    )


def curve_figure(statement: Statement) -> PendingPicture | None:
    """delta(epsilon): lower bounds from draws, the exact curve and the claimed point.

    None where there is neither an exact law nor anything to be seen in the draws.
    """
    claim, details = statement.claim, statement.result.finding.details
    assert isinstance(claim, PrivacyClaim)
    curve = details["curve"]
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    width, drawn = max(1.25 * epsilon, 1e-3), max(1.25 * epsilon, min(1.0, 2 * epsilon))
    lines = lines_of(claim.curve, claim.distance) if claim.curve is not None else ()
    if lines:
        shown = [one for one, low in zip(curve.epsilons, curve.delta_lower, strict=True) if low > 0]
        width = drawn = max(width, 1.25 * max(shown, default=0.0))
    exact = _exact_curve(statement, drawn)
    where = "delta is above the dashes"
    if not lines:
        where = "delta at the claimed epsilon is above the square"
    lower = np.array(curve.delta_lower)
    inside = (np.array(curve.epsilons) <= width) & (lower > FLOOR)
    if exact is None and not inside.any():
        return None

    def paint(axes: "Axes") -> None:
        at = np.array(curve.epsilons)[inside]
        if len(at):
            marks.measured_curve(axes, at, lower[inside], label="lower bound")
            axes.fill_between(
                at, FLOOR / 10, lower[inside], color=marks.MEASURED, alpha=0.12, linewidth=0
            )
        heights = [delta, *lower[inside]]
        if exact is not None:
            x, low, high = exact
            marks.exact_curve(axes, x, np.maximum(high, FLOOR / 10))
            heights += [float(value) for value in low]
        if lines:
            claimed = np.array(lines)
            marks.bound_curve(axes, claimed[:, 0], claimed[:, 1], "claim")
        else:
            axes.plot(
                [epsilon], [delta], color=marks.BOUND, marker="s", markersize=8, linestyle="none",
                label="claim",
            )  # fmt: skip
            axes.plot(
                [epsilon, epsilon, width], [1.0, delta, delta], color=marks.BOUND, linewidth=1.2,
                linestyle=marks.DASHES,
            )  # fmt: skip
        if exact is not None and exact[2].max() <= FLOOR:
            marks.remark(axes, f"exact: below {FLOOR:g}", y=0.1)
        seen = [height for height in heights if height > FLOOR]
        marks.log_axis(axes, "y", max(FLOOR, min(seen) / 8), min(1.5, 6 * max(seen)))
        axes.set_xlim(0, width)
        axes.xaxis.set_major_locator(few_ticks())
        axes.set_xlabel("epsilon (nats)")
        axes.set_ylabel("delta")

    return PendingPicture(
        key="curve",
        title="delta as a function of epsilon",
        caption=(
            f"The claim is broken where {where}. The lower bound holds for all epsilon together "
            f"but for chance {curve.alpha:.2g}, on the pair judged, with {curve.draws:,} runs per "
            "database." + (" Exact: the worst pair of those checked." if exact is not None else "")
        ),
        paint=paint,
    )


def _exact_curve(statement: Statement, width: float) -> "tuple[NDArray[np.float64], ...] | None":
    found, mechanism = statement.result.finding.details["exact"], statement.mechanism
    if found is None or mechanism is None:
        return None
    parts = pair_losses(mechanism, found.pair)
    if parts is None:
        return None
    epsilons = np.linspace(0, width, POINTS)
    low, high = np.array(delta_curve(parts, epsilons.tolist())).T
    return epsilons, low, high


def outputs_figure(statement: Statement) -> PendingPicture | None:
    """The outputs on both databases of a refutation, with the event that tells them apart."""
    audit: AuditResult = statement.result.finding.details["audit"]
    sketch = audit.sketch
    if sketch is None or not any(map(sum, sketch.counts)):
        return None
    return PendingPicture(
        key="outputs",
        title="Outputs on the two databases",
        caption=(
            f"{sum(map(sum, sketch.counts)):,} outputs drawn before the counted ones, by "
            f"{sketch.feature}; the event that tells the databases apart is shaded."
        ),
        paint=lambda axes: draw_sketch(axes, sketch, ("D", "D′")),
    )
