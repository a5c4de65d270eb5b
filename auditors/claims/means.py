"""Claims about means: E[quantity] <= bound, and the exponent by which a mean grows.

**Expectation.** A mean is bounded by betting or Catoni, and is exact where possible. Refuting needs
a lower confidence bound above the claim: by betting when the quantity is bounded below, which may
stop at any time, else by Catoni's bound from a variance. An upper confidence bound below the claim
confirms it; it exists when the quantity is bounded above or its variance is. Both are proved in
`tails_and_means`.

**Growth.** The exponent is the slope of a line through logarithms. At each point the mean has a
lower and an upper bound by betting, and all of them hold together with probability 1 - alpha by the
union bound. The slope of the line of least squares through (ln x, ln mean) is a sum of the
logarithms with fixed weights, so that the worst ends of the intervals give an interval of the slope
which holds at the same alpha. It needs no model of how the draws scatter about the line. The
exponent of the stated bound is the slope of the same line through (ln x, ln bound) at the same
points, logarithmic factors included.
"""

from dataclasses import replace
from math import inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, ExpectationClaim, FiniteLaw, GrowthClaim, Mechanism
from ..asked import Budget
from ..bounds.tails_and_means import Wealth, betting_lower, betting_upper, catoni_upper, looks
from ..errors import HarnessError, InvalidArgument, UnsupportedClaim
from ..evidence.record import MeanRecord, MeansRecord, PointRecord, PointsRecord, number
from ..outputs.encoding import show
from ..results.results import Verdict
from ..sampling.draws import Draws
from .claim_results import Finding
from .derive import derive
from .follows_law import ERROR

ROUNDING = 1e-9
"""Part of itself by which a value or a mean may leave its range by rounding."""
Floats = NDArray[np.float64]


# Expectation. ------------------------------------------------------------------------------------


def audit_expectation(
    claim: ExpectationClaim,
    mechanism: Mechanism | None,
    budget: Budget,
) -> Finding:
    """Test the claim on each of its databases, the budget's trials in all.

    A true claim is refuted by sampling with probability at most its alpha, shared out among the
    databases; upper bounds spend as much again.
    """
    if not isfinite(claim.low) and not isfinite(claim.variance):
        raise UnsupportedClaim(
            "an expectation that is not bounded below and has no bound on its variance cannot be "
            "refuted from draws; state low or variance"
        )
    alpha, source = budget.alpha, Draws.of(mechanism, budget.seed)
    share, each = alpha / len(claim.databases), max(1, budget.trials // len(claim.databases))
    found = [
        (database, _measure(claim, mechanism, source, database, share, each))
        for database in claim.databases
    ]
    means: MeansRecord = {
        "rows": [row for _, row in found],
        "bound": float(claim.bound),
        "floor": number(claim.low),
        "ceiling": number(claim.high),
    }
    concluded = derive({"means": means}, budget)
    if not concluded.shown:
        return concluded
    database = next(database for database, row in found if row["database"] == concluded.shown)
    return replace(concluded, witness=database)


def _measure(
    claim: ExpectationClaim,
    mechanism: Mechanism | None,
    source: Draws,
    database: Database,
    alpha: float,
    draws: int,
) -> MeanRecord:
    values, stopped = _collect(claim, source, database, alpha, draws)
    complete = len(values) == draws
    infinite = bool(np.isposinf(values).any())
    low, high = (inf, inf) if infinite else _bounds(claim, values, alpha, complete)
    # At the top of what it may be the quantity is no more often than in the rest (Markov).
    span = claim.high - claim.low
    room = (claim.high - claim.bound) / span if isfinite(span) and span > 0 else 0.5
    source.gate(refuted=stopped or low > claim.bound, unlike=room)
    if infinite:
        # Undefined with positive probability, and nothing limits it: no mean is small enough.
        return _row(database, inf, (inf, inf), None, len(values), stopped=True)
    exact = _exact(claim, mechanism, database)
    if exact is not None:
        sure = _bounds(claim, values, ERROR, complete)
        if not sure[0] - ROUNDING <= exact <= sure[1] + ROUNDING:
            raise HarnessError(
                f"the exact law gives the mean {exact:.6g} but draws show it between "
                f"{sure[0]:.6g} and {sure[1]:.6g}; the sampler, the law or the quantity is wrong"
            )
    mean = float(values.mean())
    return _row(database, mean, (low, high), exact, len(values), stopped=stopped)


def _row(
    database: Database,
    mean: float,
    bounds: tuple[float, float],
    exact: float | None,
    draws: int,
    *,
    stopped: bool,
) -> MeanRecord:
    return {
        "database": show(database),
        "mean": number(mean),
        "low": number(bounds[0]),
        "high": number(bounds[1]),
        "exact": None if exact is None else number(exact),
        "draws": draws,
        "stopped": stopped,
    }


def _collect(
    claim: ExpectationClaim, source: Draws, database: Database, alpha: float, draws: int
) -> tuple[Floats, bool]:
    """Values of the quantity until the betting refutes the claim or all draws are made."""
    wealth = Wealth(claim.bound, claim.low) if isfinite(claim.low) else None
    parts: list[Floats] = []
    made = 0
    for chunk, look in enumerate(looks(draws, alpha)):
        for outputs in source.blocks(database, "claim", chunk, look.draws - made):
            part = claim.quantity(database, outputs)
            # A quantity that is no number counts as the worst that the claim allows for.
            part = np.where(np.isnan(part), claim.high, part)
            parts.append(part)
            if np.isposinf(part).any():
                return np.concatenate(parts), True
            _require_range(claim, part)
            if wealth is not None and wealth.after(part) >= log(1 / alpha):
                return np.concatenate(parts), True
        made = look.draws
    return np.concatenate(parts), False


def _require_range(claim: ExpectationClaim, values: Floats) -> None:
    slack = ROUNDING * max(1.0, abs(claim.low) if isfinite(claim.low) else 1.0)
    least, most = float(values.min(initial=inf)), float(values.max(initial=-inf))
    if least < claim.low - slack or most > claim.high + slack:
        raise HarnessError(
            f"the claim says its quantity is in [{claim.low:g}, {claim.high:g}], but draws gave "
            f"values from {least:.6g} to {most:.6g}"
        )
    np.clip(values, claim.low, claim.high, out=values)


def _bounds(
    claim: ExpectationClaim, values: Floats, alpha: float, complete: bool
) -> tuple[float, float]:
    """Lower and upper bound, each wrong with probability at most `alpha`.

    Catoni's needs a number of draws fixed beforehand: there is none after an early stop.
    """
    low, high = -inf, inf
    spread = claim.variance
    if isfinite(claim.low):
        low = betting_lower(values, claim.low, alpha)
    elif complete:
        low = -catoni_upper(-values, spread, alpha)
    # Which bound is used is a matter of the claim, not of the values.
    if isfinite(spread) and complete:
        high = catoni_upper(values, spread, alpha)
    elif isfinite(claim.high) and not isfinite(spread):
        high = betting_upper(values, claim.high, alpha)
    return low, min(high, claim.high)


def _exact(
    claim: ExpectationClaim, mechanism: Mechanism | None, database: Database
) -> float | None:
    law = mechanism.law(database) if mechanism is not None and mechanism.law is not None else None
    if not isinstance(law, FiniteLaw):
        return None
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    values = claim.quantity(database, law.outcomes)
    return float(values[chances > 0] @ chances[chances > 0])


# Growth. -----------------------------------------------------------------------------------------


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
