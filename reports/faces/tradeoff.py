"""The trade-off of the two errors in telling the databases apart, from the draws of one audit.

Who tells D from D' by an output errs in two ways: "D" for an output of D' (type I) and "D'"
for one of D (type II). A claim (epsilon, delta) is a curve that no test of outputs goes below
(Wasserman and Zhou, 2010; Dong, Roth and Su, 2022).
"""

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from ...auditors.bounds.two_sample import at_distance, confidence_box
from ...auditors.results.results import AuditResult
from ...mechanisms.model import PrivacyClaim, lines_of
from ..drawing.svg import CLAIM, FIRST, INK, SECOND, figure, legend_above, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZOOM = 0.12
"""A test below this chance of saying "D" is drawn larger than life."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Curves as (type I, type II) points, from (0, 1) to (1, 0).

    `claimed` is the least any test may reach. `above` is a limit from above for the smallest type
    II error of any test at each type I error: except with probability `error` the true curve lies
    between it and the axes. `point` is the counted event, and `drawn` the curve of the histogram
    of the draws that taught, which has no guarantee; empty where there is none. `names` are the
    likelier side and the other.
    """

    claimed: tuple[tuple[float, float], ...]
    above: tuple[tuple[float, float], ...]
    point: tuple[float, float]
    drawn: tuple[tuple[float, float], ...]
    error: float
    names: tuple[str, str]


def trade_off(result: AuditResult) -> TradeOff | None:
    """The trade-off on the pair that is shown; None where nothing was counted."""
    evidence = result.evidence
    if result.witness is not None and result.witness.evidence is not None:
        evidence = result.witness.evidence
    # Of a refutation the likelier side comes first everywhere.
    turned = bool(evidence.counts) and evidence.counts[-1].reversed and not result.refuted
    if not evidence.counts or min(evidence.trials) < 1:
        return None
    hits, trials = evidence.hits, evidence.trials
    # Two of the four limits are used, each wrong with probability level / 2 at this look; the
    # levels of all looks, of which the counts chose one, add up to alpha.
    box = confidence_box(hits, trials, min(2 * evidence.level, 0.5))
    corner = (box.q_high, 1 - box.p_low)
    above = ((0.0, 1.0), corner, (1.0, 0.0)) if sum(corner) < 1 else ((0.0, 1.0), (1.0, 0.0))
    claim = result.claim
    return TradeOff(
        claimed=claimed_trade_off(claim),
        above=above,
        point=(hits[1] / trials[1], 1 - hits[0] / trials[0]),
        drawn=_drawn(result, turned),
        error=evidence.alpha,
        names=("D′", "D") if turned else ("D", "D′"),
    )


def claimed_trade_off(claim: PrivacyClaim) -> tuple[tuple[float, float], ...]:
    """The least errors that the claim allows, of a whole curve where one is claimed."""
    if claim.curve is None:
        return claimed_curve(*at_distance(claim.epsilon, claim.delta, claim.distance))
    lines = np.array(lines_of(claim.curve, claim.distance), dtype=float)
    one = np.concatenate([np.geomspace(1e-7, 0.01, 60), np.linspace(0.01, 1, 200)])
    allowed = np.exp(lines[:, :1]) * one + lines[:, 1:]
    two = np.clip(1 - allowed.min(axis=0), 0, 1)
    # The promise holds in both orders of the databases, so the curve is its own mirror image.
    back = np.interp(one, two[::-1], one[::-1])
    return ((0.0, 1.0), *zip(one.tolist(), np.maximum(two, back).tolist(), strict=True))


def claimed_curve(epsilon: float, delta: float) -> tuple[tuple[float, float], ...]:
    """The corners of max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a))."""
    corner = (1 - delta) / (1 + exp(epsilon)) if epsilon < 700 else 0.0
    return ((0.0, 1 - delta), (corner, corner), (1 - delta, 0.0))


def _drawn(result: AuditResult, turned: bool) -> tuple[tuple[float, float], ...]:
    """The curve of the histogram: its bins in the order of their likelihood ratios."""
    sketch = result.sketch
    if sketch is None or not all(map(sum, sketch.counts)):
        return ()
    first, second = (
        np.asarray(side, dtype=float) for side in sketch.counts[:: -1 if turned else 1]
    )
    order = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
    one, two = (np.cumsum(side[order]) / side.sum() for side in (first, second))
    return ((0.0, 1.0), *zip(two.tolist(), (1 - one).tolist(), strict=True))


def trade_off_figure(shown: TradeOff, *, key: str) -> str:
    """Events by how often they happen under both databases: what the claim allows, what was found.

    It is the trade-off upside down, so that up is likelier under the first side.
    """
    claimed, proved, drawn = (
        [(x, 1 - y) for x, y in curve] for curve in (shown.claimed, shown.above, shown.drawn)
    )
    with figure() as (drawing, axes):
        x, y = zip(*sorted([*claimed, (1.0, 1.0)]), strict=True)
        axes.fill_between(x, 0, y, color=CLAIM, alpha=0.16, linewidth=0, label="allowed")
        axes.plot(x, y, color=CLAIM, linewidth=1.2)
        if drawn:
            axes.plot(
                *zip(*drawn, strict=True), color=SECOND, linewidth=1.2,
                linestyle=(0, (4, 1.5)), label="estimated",
            )  # fmt: skip
        axes.plot(*zip(*proved, strict=True), color=FIRST, linewidth=1.7, label="proved")
        axes.plot(
            [shown.point[0]], [1 - shown.point[1]], color=INK, marker="o", markersize=5,
            linestyle="none", label="event",
        )  # fmt: skip
        _frame(axes, shown)
        one, two = shown.names
        axes.set_xlabel(f"share of {two} in the event")
        axes.set_ylabel(f"share of {one} in the event")
        legend_above(axes)
        return svg(
            drawing,
            key,
            f"How well one output tells {one} from {two}",
            "How often events happen under both databases, and how often the claim allows; the "
            f"event counted happens in {1 - shown.point[1]:.4g} and {shown.point[0]:.4g} of the "
            "outputs.",
        )


def _frame(axes: "Axes", shown: TradeOff) -> None:
    """The whole square, or for a rare event the corner where it happens."""
    rare = 1 - shown.point[1]
    if 0 < rare < ZOOM:
        axes.set_xlim(0, 1.6 * rare)
        axes.set_ylim(0, 1.8 * rare)
    else:
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)


def trade_off_caption(shown: TradeOff, *, of_event: bool = True) -> str:
    """What to see, and what holds; `of_event`: the counts of the event decide."""
    one, two = shown.names
    leaves = (
        "the claim is refuted if it leaves the green area"
        if of_event
        else "a sequential test of all outputs refuted the claim; the dot is one event"
    )
    return (
        f"A point is an event: how often it happens under {two} (across) and under {one} (up). "
        "The claim allows the green area only. The dot is the counted event. The blue line "
        f"holds with {100 * (1 - shown.error):.6g} % confidence: {leaves}. Orange: an estimate "
        "without guarantee."
    )
