"""Gradient descent: the excess loss against the number of steps."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from ...auditors.bounds.means import betting_lower, betting_upper
from ...mechanisms.model import ExpectationClaim, InvariantClaim
from ..reproduce.statements import Statement
from . import marks
from .marks import Drawn

STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 25, 36, 50, 70, 100)
NOISY_SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)
RUNS = 200
ERROR = 1e-3
LEAST = 1e-4


def balanced_bound(parameters: dict[str, float], steps: int) -> float:
    """R G / sqrt(T)."""
    return parameters["diameter"] * parameters["lipschitz"] / sqrt(steps)


def printed_bound(parameters: dict[str, float], steps: int) -> float:
    """The printed eta / 2 + R / (2 eta T), at G = 1."""
    step_size = parameters["step_size"]
    return step_size / 2 + parameters["diameter"] / (2 * step_size * steps)


def excess_figure(bound: Callable[[dict[str, float], int], float], statement: Statement) -> Drawn:
    """The largest excess over the hand-made cases at each number of steps, and the bound."""
    within = statement.theorem.parameters["steps"].within
    counts = np.array([steps for steps in STEPS if within.low <= steps <= within.high])
    parameters = dict(statement.parameters)
    allowed = np.array([bound(parameters, int(steps)) for steps in counts])
    excess = allowed - np.array([_least_margin(statement, int(steps)) for steps in counts])

    def paint(axes: Any) -> None:
        marks.bound_curve(axes, counts, allowed)
        shown = np.maximum(excess, LEAST)
        marks.measured_curve(axes, counts, shown, "worst hand-made case", marker="o", markersize=4)
        over = np.flatnonzero(excess > allowed + 1e-9)
        if len(over):
            worst = over[(excess - allowed)[over].argmax()]
            marks.counterexample(axes, counts[worst], excess[worst])
        marks.log_axis(axes, "x", counts[0] / 1.15, counts[-1] * 1.15)
        values = np.concatenate([allowed, excess[excess > 0]])
        marks.log_axis(axes, "y", max(LEAST, values.min() / 1.5), values.max() * 1.5)
        axes.set_xlabel("steps T")
        axes.set_ylabel("excess loss of the average")

    return Drawn(
        key="excess",
        title="Excess loss and steps",
        caption=(
            "The excess of the average over the minimum, the worst of "
            f"{len(_examples(statement))} hand-made cases at each T; it may not be above the bound."
        ),
        paint=paint,
    )


def _examples(statement: Statement) -> tuple[Any, ...]:
    claim = statement.claim
    assert isinstance(claim, InvariantClaim)
    return claim.examples


def _least_margin(statement: Statement, steps: int) -> float:
    claim = statement.theorem.at(**{**statement.parameters, "steps": steps}).claim
    assert isinstance(claim, InvariantClaim)
    return min(claim.margin(case) for case in claim.examples)


def noisy_excess_figure(statement: Statement) -> Drawn:
    """The mean excess with its limits at several numbers of steps, and the bound."""
    most = statement.parameters["steps"]
    counts = sorted({max(1, round(most * share)) for share in NOISY_SHARES})
    rows = np.array([_noisy_excess(statement, steps) for steps in counts])
    allowed, means, low, high = rows.T

    def paint(axes: Any) -> None:
        marks.bound_curve(axes, counts, allowed)
        marks.measured_points(axes, counts, means, np.maximum(low, LEAST), high, "mean excess")
        marks.log_axis(axes, "x", counts[0] / 1.3, counts[-1] * 1.3)
        values = np.concatenate([allowed, means[means > 0]])
        marks.log_axis(axes, "y", max(LEAST, values.min() / 3), values.max() * 2)
        axes.set_xlabel("steps T")
        axes.set_ylabel("excess loss of the average")

    return Drawn(
        key="excess",
        title="Excess loss and steps",
        caption=(
            f"The mean of {RUNS} runs at each T, step size and noise chosen for it; limits by "
            f"betting, together but for chance {ERROR:g} at either end. It may not be above the "
            "bound."
        ),
        paint=paint,
    )


def _noisy_excess(statement: Statement, steps: int) -> tuple[float, float, float, float]:
    """Bound, mean and limits on the first of the claim's databases, the hardest."""
    subject = statement.theorem.at(**{**statement.parameters, "steps": steps})
    claim, mechanism = subject.claim, subject.mechanism
    assert isinstance(claim, ExpectationClaim)
    assert mechanism is not None
    database = claim.databases[0]
    outputs = statement.draw(database, RUNS, mechanism.run)
    values = np.asarray(claim.quantity(database, outputs), dtype=float)
    share = ERROR / len(NOISY_SHARES)
    low = betting_lower(values, 0.0, share)
    return claim.bound, float(values.mean()), low, betting_upper(values, claim.high, share)
