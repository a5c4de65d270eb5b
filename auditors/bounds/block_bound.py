"""Rigorous lower bounds of the two-sample statistic over a whole block of epsilons.

Inverting the test over a fine grid of epsilon asks for a verdict at every grid point from 0 up
to the bound. Nearly all are certified here, many at a time; only those next to the bound need
the statistic itself, so the result is that of evaluating every point.
"""

from math import exp, inf, pi, sin

import numpy as np

from .binomial_tails import (
    CELL,
    CLOSE,
    Box,
    Floats,
    angle,
    least_mix,
    score_above,
    score_below,
    widest,
)

_CELLS = 32
"""Coarse cells that a range of q, and one of p, is cut into; a short block has four times as
many."""
_LARGEST_EPSILON = 20.0
"""Nats; a block beyond it has no bound."""


def lower_bound_z(
    hits: tuple[int, int],
    trials: tuple[int, int],
    box: Box,
    *,
    epsilons: tuple[float, float],
    deltas: tuple[float, float],
    step: float = CELL,
    cells: int = _CELLS,
) -> float:
    """A number that Z is not below at any epsilon in a block, at the cost of a few dozen tails.

    `epsilons` and `deltas` are the ends of the block (delta may grow with epsilon) and `box` the
    confidence box of the counts. Infinite when the box misses the null in the whole block.
    """
    knots = coarse_knots(trials, box, epsilons[1], deltas[1], step, cells)
    if knots.size == 0:
        return inf
    return float(bounds(hits, trials, box, knots, epsilons, deltas, step).min())


def cells_for(points: int) -> int:
    """How fine a bound over so many grid points is worth: short blocks lie near the verdict."""
    return 4 * _CELLS if points <= 8 else _CELLS


def span(
    trials: tuple[int, int], box: Box, epsilon: float, delta: float, step: float
) -> tuple[float, float] | None:
    """The least and the largest angle asin sqrt q that `coarse_knots` have; None where it is empty.

    No cell of width at most `widest` can meet the box then.
    """
    slack, ratio = widest(trials[1], step), exp(epsilon)
    start = angle(max(box.q_low, (box.p_low - delta) / ratio)) - slack
    end = angle(box.q_high) + slack
    return None if start > end - slack else (max(start, 0.0), min(end, pi / 2))


def coarse_knots(
    trials: tuple[int, int],
    box: Box,
    epsilon: float,
    delta: float,
    step: float,
    cells: int = _CELLS,
) -> Floats:
    """Angles asin sqrt q that cover every lattice cell in use, even in q's angle and in p0's."""
    ends, ratio = span(trials, box, epsilon, delta, step), exp(epsilon)
    if ends is None:
        return np.empty(0)
    start, end = ends
    low, high = angle(ratio * sin(start) ** 2 + delta), angle(ratio * sin(end) ** 2 + delta)
    of_p = (np.sin(np.linspace(low, high, cells + 1)[1:-1]) ** 2 - delta) / ratio
    of_p = np.arcsin(np.sqrt(np.clip(of_p, 0, 1)))
    of_q = np.linspace(start, end, cells + 1)
    return np.unique(np.concatenate([of_q, of_p[(of_p > start) & (of_p < end)]]))


def bounds(
    hits: tuple[int, int],
    trials: tuple[int, int],
    box: Box,
    knots: Floats,
    epsilons: tuple[float, float],
    deltas: tuple[float, float],
    step: float,
) -> Floats:
    """For each coarse cell, what no lattice cell with its middle there is below in the block.

    Such a cell reaches at most one fine width beyond the coarse one. z_a falls and z_b grows
    with q, and p0 grows with q, epsilon and delta: so both scores are bounded by their values at
    the ends, and the weights (sin t, cos t) have t in an interval (`least_mix`). The coarse
    cells may depend on the data: they only bound Z, they do not define it.
    """
    if deltas[1] >= 1 or epsilons[1] > _LARGEST_EPSILON or hits[0] == 0 or hits[1] == trials[1]:
        return np.full(knots.size - 1, -inf)
    slack = widest(trials[1], step)
    low_ratio, ratio = exp(epsilons[0]), exp(epsilons[1])
    left, right = np.sin(knots[:-1]) ** 2, np.sin(knots[1:]) ** 2
    bottom = np.sin(np.maximum(knots[:-1] - slack, knots[0])) ** 2
    top = ratio * np.sin(np.minimum(knots[1:] + slack, knots[-1])) ** 2 + deltas[1]
    above = score_above(hits[0], trials[0], np.minimum(top, min(1 - CLOSE, box.p_high)))
    below = score_below(hits[1], trials[1], np.maximum(bottom, CLOSE))
    least_p, most_p = _variances(low_ratio * left + deltas[0], ratio * right + deltas[1])
    least_q, most_q = _variances(left, right)
    first = np.arctan2(np.sqrt(least_p / trials[0]), ratio * np.sqrt(most_q / trials[1]))
    last = np.arctan2(np.sqrt(most_p / trials[0]), low_ratio * np.sqrt(least_q / trials[1]))
    first[top >= 1 - CLOSE] = 0
    last[bottom == 0] = pi / 2
    bound = least_mix(above, below, first, last)
    bound[(bottom == 0) & (top >= 1 - CLOSE)] = -inf
    return bound


def _variances(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Least and greatest p (1 - p) for p between `low` and `high`, both clipped at 1."""
    low, high = np.minimum(low, 1), np.minimum(high, 1)
    ends = low * (1 - low), high * (1 - high)
    most = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*ends))
    return np.minimum(*ends), most
