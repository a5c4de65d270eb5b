"""Growth claims: the exponent by which a mean grows, by a line through its logarithms.

At each point the mean has a lower and an upper bound by betting, and all of them hold together
with probability 1 - alpha by the union bound. The slope of the line of least squares through
(ln x, ln mean) is a sum of the logarithms with fixed weights, so that the worst ends of the
intervals give an interval of the slope which holds at the same alpha. It needs no model of how the
draws scatter about the line. The exponent of the stated bound is the slope of the same line
through (ln x, ln bound) at the same points, logarithmic factors included.
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import GrowthClaim
from ..bounds.means import betting_lower, betting_upper
from ..errors import HarnessError, InvalidArgument
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws
from .claim_results import Estimate, Finding, Table
from .edge import edge_of, hardest

COLUMNS = ("x", "bound", "mean", "low", "high", "share", "draws")
ROUNDING = 1e-9

Floats = NDArray[np.float64]


def slope_weights(points: Floats) -> Floats:
    """What each logarithm of a value counts in the slope of the line of least squares."""
    logs = np.log(points) - np.log(points).mean()
    return logs / (logs @ logs)


def audit_growth(claim: GrowthClaim, budget: Budget) -> Finding:
    """Fit the exponent, the budget's trials in all shared out evenly among the points.

    Refuted where the interval of the exponent lies beyond the slack, or a mean above its bound;
    a true claim with probability at most alpha.
    """
    points = np.array(claim.points, dtype=float)
    if len(points) < 2 or (points <= 0).any() or len(np.unique(points)) < len(points):
        raise InvalidArgument(
            f"a growth claim needs two points or more, positive and all different; got "
            f"{claim.points}"
        )
    each = max(1, budget.trials // len(points))
    error = budget.alpha / (2 * len(points))
    weights = slope_weights(points)
    bounds = np.array([claim.bound(x) for x in claim.points])
    stated = float(weights @ np.log(bounds))
    sources: list[Draws] = []
    rows = []
    for place, x in enumerate(claim.points):
        run, database = claim.instance(x)
        source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
        parts = [
            np.asarray(claim.quantity(x, database, outputs), dtype=float).reshape(-1)
            for outputs in source.blocks(database, "claim", place, each)
        ]
        values, high = np.concatenate(parts), claim.high(x)
        if not ((values >= -ROUNDING) & (values <= high * (1 + ROUNDING))).all():
            raise HarnessError(
                f"the claim says its quantity is in [0, {high:g}] at {x:g}, but draws gave values "
                f"from {values.min():.6g} to {values.max():.6g}"
            )
        values = np.clip(values, 0.0, high)
        low = betting_lower(values, 0.0, error)
        rows.append((values.mean(), low, min(betting_upper(values, high, error), high)))
        sources.append(source)
    means, lows, highs = np.array(rows).T
    with np.errstate(divide="ignore"):
        slope = float(weights @ np.log(means)) if (means > 0).all() else -inf
        ends = np.log([lows, highs])
    rising = weights >= 0
    least = float((weights * np.where(rising, ends[0], ends[1])).sum())
    most = float((weights * np.where(rising, ends[1], ends[0])).sum())
    slower = claim.attained and most < stated - claim.slack
    beyond = least > stated + claim.slack or slower
    above = lows > bounds
    refuted = beyond or bool(above.any())
    for source in sources:
        source.gate(refuted=refuted)
    shares = means / bounds
    return Finding(
        claimed=stated,
        measured=Estimate(value=slope, low=least, high=most, error=budget.alpha),
        sampled=Verdict.REFUTED if refuted else Verdict.NOT_REFUTED,
        edge=hardest(
            *(
                edge_of(float(mean), float(bound), "mean", f"{each:,} draws")
                for mean, bound in zip(means, bounds, strict=True)
            )
        ),
        draws=each * len(points),
        error=budget.alpha,
        method="a line through logarithms of means, each within its bounds by betting",
        table=Table(
            columns=COLUMNS,
            rows=tuple(
                (float(x), float(bound), float(mean), float(low), float(high), float(share), each)
                for x, bound, mean, low, high, share in zip(
                    points, bounds, means, lows, highs, shares, strict=True
                )
            ),
        ),
        witness=float(points[int(np.argmax(lows / bounds))]) if refuted else None,
        details={
            "grows": claim.grows, "over": claim.over, "slack": claim.slack,
            "attained": claim.attained,
            "above_bound": bool(above.any()),
        },
    )  # fmt: skip
