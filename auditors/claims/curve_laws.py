"""Whole curves against exact losses: the least mu, rho or factor that holds on one pair.

mu of Gaussian shifts is the length of the shift in scales. rho and Renyi are divergences, which add
up over independent parts: of the losses of a finite law by their sum, of Laplace noise with centres
t scales apart ln(a / (2a - 1) e^((a-1) t) + (a - 1) / (2a - 1) e^(-a t)) / (a - 1) (Mironov, 2017,
table II), of Gaussian noise a t^2 / 2. rho is asked at the orders ORDERS. Any other curve, several
steps and a rho with delta are asked at their lines: a curve says p <= e^epsilon q + delta for each.
"""

from math import exp, log, sqrt

import numpy as np

from ...mechanisms.model import (
    ORDERS,
    ConcentratedCurve,
    Curve,
    GaussianCurve,
    LossLaw,
    PointsCurve,
    RenyiCurve,
    lines_of,
)
from .loss_laws import GaussianShift, LaplaceShift, Loss, delta_curve, smallest_epsilon

HALVINGS = 40
"""Halvings of the parameter, at most; it is known to 1e-10 of itself before."""
CLOSE = 1e-12
"""Part of an allowed delta by which rounding may pass it."""
MOST = 1e3
"""Times the parameter claimed: beyond it the least one is told as infinite."""


def size_bounds(parts: list[Loss], curve: Curve, distance: int) -> tuple[float, float]:
    """The least parameter of the curve that holds in this order, where it is asked (`asked_at`).

    Twice: by losses rounded down to a grid and up, where they are rounded at all. What holds
    everywhere is at least the first.
    """
    shifts = [part.size for part in parts if isinstance(part, GaussianShift)]
    match curve:
        case GaussianCurve() if len(shifts) == len(parts):
            found = sqrt(sum(size**2 for size in shifts)) / distance
            return found, found
        case ConcentratedCurve(delta=0) if distance == 1:
            found = max((divergence(parts, a) / a for a in ORDERS.tolist()), default=0.0)
            return found, found
        case RenyiCurve() if distance == 1:
            found = max(divergence(parts, a) / e for a, e in curve.bounds)
            return found, found
        case PointsCurve() if distance == 1:
            least = [(smallest_epsilon(parts, delta), e) for e, delta in curve.points]
            found = max(one / e if e else (0.0 if one == 0 else np.inf) for one, e in least)
            return found, found
    return _by_lines(parts, curve, distance, 0), _by_lines(parts, curve, distance, 1)


def asked_at(curve: Curve, distance: int) -> str:
    """Where a curve was asked that has more orders or points than can be; "" if at all of them."""
    match curve:
        case ConcentratedCurve(delta=0) if distance == 1:
            return f"at {len(ORDERS)} orders from {ORDERS[0]:g} to {ORDERS[-1]:g}"
        case RenyiCurve() | PointsCurve() if distance == 1:
            return ""
    return f"at {len(lines_of(curve, distance))} points of the curve"


def divergence(parts: list[Loss], order: float) -> float:
    """The Renyi divergence of independent parts."""
    return float(sum(_divergence(part, order) for part in parts))


def _divergence(part: Loss, a: float) -> float:
    match part:
        case GaussianShift(size=t):
            return a * t * t / 2
        case LaplaceShift(size=t):
            terms = log(a / (2 * a - 1)) + (a - 1) * t, log((a - 1) / (2 * a - 1)) - a * t
            return float(np.logaddexp(*terms)) / (a - 1)
        case LossLaw():
            if part.infinite > 0:
                return np.inf
            chances = np.asarray(part.probabilities, dtype=float)
            seen = chances > 0
            powers = np.log(chances[seen]) + (a - 1) * np.asarray(part.losses, dtype=float)[seen]
            return max(float(np.logaddexp.reduce(powers)) / (a - 1), 0.0)


def _by_lines(parts: list[Loss], curve: Curve, distance: int, end: int) -> float:
    """The least parameter whose lines are all above the lower or upper bounds of delta."""

    def holds(size: float) -> bool:
        lines = lines_of(curve.scaled(size), distance)
        deltas = delta_curve(parts, [epsilon for epsilon, _ in lines])
        allowed = [delta for _, delta in lines]
        return all(
            found[end] <= most * (1 + CLOSE) for found, most in zip(deltas, allowed, strict=True)
        )

    low, high = 0.0, curve.size
    while not holds(high):
        low, high = high, 2 * high
        if high > MOST * curve.size:
            return np.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2 if low else high / exp(1)
        if high - low < 1e-10 * high or high < 1e-6 * curve.size:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
