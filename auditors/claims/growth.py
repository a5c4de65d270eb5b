"""Growth claims: the exponent by which a mean grows, by a line through its logarithms.

At each point the mean has a lower and an upper bound by betting, and all of them hold together
with probability 1 - alpha by the union bound. The slope of the line of least squares through
(ln x, ln mean) is a sum of the logarithms with fixed weights, so that the worst ends of the
intervals give an interval of the slope which holds at the same alpha. It needs no model of how the
draws scatter about the line. The exponent of the stated bound is the slope of the same line
through (ln x, ln bound) at the same points, logarithmic factors included.
"""

from dataclasses import replace

import numpy as np

from ...mechanisms.model import GrowthClaim
from ..bounds.tails_and_means import betting_lower, betting_upper
from ..errors import HarnessError, InvalidArgument
from ..evidence.record import PointRecord, PointsRecord
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws
from .claim_results import Finding
from .derive import derive

ROUNDING = 1e-9
"""Part of the range by which a quantity may leave it by rounding."""


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
    sources: list[Draws] = []
    rows: list[PointRecord] = []
    for place, x in enumerate(claim.points):
        run, database = claim.instance(x)
        source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
        parts = [
            claim.quantity(x, database, outputs)
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
        upper = min(betting_upper(values, high, error), high)
        rows.append(
            {
                "x": float(x),
                "bound": claim.bound(x),
                "mean": float(values.mean()),
                "low": float(low),
                "high": float(upper),
            }
        )
        sources.append(source)
    told: PointsRecord = {
        "points": rows,
        "draws": each,
        "slack": float(claim.slack),
        "attained": claim.attained,
        "grows": claim.grows,
        "over": claim.over,
    }
    found = derive({"points": told}, budget)
    refuted = found.verdict is Verdict.REFUTED
    for source in sources:
        source.gate(refuted=refuted)
    return replace(found, witness=float(found.shown) if refuted else None)
