"""Bets against a moment of the likelihood ratio: what Renyi and concentrated claims promise.

Let phi be convex, phi(t) = t^a for an order a > 1, or t ln t - t + 1 for the order 1; its conjugate
is phi*(h) = sup over t >= 0 of t h - phi(t): (a - 1) (max(h, 0) / a)^(a / (a - 1)), or e^h - 1.

Theorem. Let the claim be E_Q phi(dP/dQ) <= C. Then E_P h - E_Q phi*(h) <= C for every bounded
function h of an output. Where the claim leaves out a part of P and one of Q, each of probability at
most delta, the right side is C + delta (sup h - inf h + sup phi*(h) - inf phi*(h)).

Proof. With t = dP/dQ, E_P h = E_Q t h <= E_Q phi(t) + E_Q phi*(h), by the definition of phi*. A
part of probability at most delta moves an expectation by at most delta times the span of the
function. []

That is one linear inequality for every h, of all cells of the outputs at once and not of one event.
So weight * h(x) may be added to what is bet on a draw x from P, and weight * phi*(h(y)) taken from
what is bet on y from Q, if weight * C is paid of the 2 that `wealth` may spend: see `Part`.

The best h is phi'(dP/dQ): a r^(a-1), or ln r, of the likelihood ratio r. `experts` takes the ratios
that earlier draws promise, cut where few outputs lie, with the weight of about the largest growth.
"""

from math import log
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Moment

Floats = NDArray[np.float64]

SHARES = np.array([0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0])
"""Parts of the first side's outputs, of the largest ratios, that are taken for equal."""
SCALES = np.array([1.0, 0.5, 0.2])
"""Parts of the weight of the largest growth that the experts bet."""
CAUTION = 0.7
"""No output takes more than this part of the money."""
RHO_ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0)
"""Orders of the moments by which a rho is bounded from below."""
RATES = np.array([0.5, 1.0, 2.0])
"""Parts of the weight that is foreseen to be best, where a moment is bounded."""
SPARE = 1e-12
"""What is left of the 2 for rounding."""
NOTHING = 1e-9
"""Draws that every cell is taken to have had more."""


class Part(NamedTuple):
    """A bet against the moment of one order: `weight` * `values`, one for each group of cells.

    h is of the first side and phi*(h) of the second, or if `turned` the other way round.
    """

    order: float
    turned: bool
    weight: float
    values: tuple[float, ...]


def conjugate(h: Floats, order: float) -> Floats:
    """phi*(h)."""
    if order == 1:
        found: Floats = np.expm1(h)
        return found
    power: Floats = (order - 1) * (np.maximum(h, 0) / order) ** (order / (order - 1))
    return power


def price(h: Floats, moment: Moment) -> Floats:
    """The most that E_P h - E_Q phi*(h) can be if the claim holds; h has the cells last."""
    if not moment.delta:
        return np.full(h.shape[:-1], moment.bound)
    spans = np.ptp(h, axis=-1) + np.ptp(conjugate(h, moment.order), axis=-1)
    found: Floats = moment.bound + moment.delta * spans
    return found


def paid(part: Part, moments: tuple[Moment, ...]) -> tuple[Floats, Floats, float]:
    """What a part adds to the bets on the two sides in each group, and what it costs.

    ValueError where the claim has no moment of this order, or for a weight below 0.
    """
    known = [moment for moment in moments if moment.order == part.order]
    h = np.asarray(part.values, dtype=np.float64)
    if not known or not part.weight >= 0:
        raise ValueError(f"the claim has no moment of order {part.order!r}")
    sides = part.weight * h, -part.weight * conjugate(h, part.order)
    one, two = sides[::-1] if part.turned else sides
    return one, two, part.weight * float(price(h, known[0]))


class Experts(NamedTuple):
    """Bets (experts, cells) as those of `wealth`, with the weight and h of each one's part."""

    a: Floats
    b: Floats
    f: Floats
    g: Floats
    weights: Floats
    h: Floats
    excess: float
    """The largest excess over a moment that is foreseen, in standard errors of one draw a side."""


def kinds(moments: tuple[Moment, ...]) -> list[tuple[Moment, bool]]:
    """The order and direction that each `len(SCALES)` experts bet against."""
    return [(moment, turned) for moment in moments for turned in (False, True)]


def experts(past: Floats, odds: Floats, moments: tuple[Moment, ...]) -> Experts:
    """Bets from earlier draws of both sides in each cell, and the log-ratios that they promise."""
    share = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    p, q = (past + NOTHING) * share, (past + NOTHING) * (1 - share)
    laws = p / p.sum(), q / q.sum()
    made: list[tuple[Any, ...]] = []
    largest = -np.inf
    for moment, turned in kinds(moments):
        one, two = laws[::-1] if turned else laws
        h, excess, spread = _best(one, two, moment)
        largest = max(largest, excess / spread)
        star, middle = conjugate(h, moment.order), float(one @ h) - excess / 2
        cost = float(price(h, moment))
        lowest = max(middle - h.min(), cost + star.max() - middle, 1e-300)
        for scale in SCALES:
            weight = min(CAUTION / lowest, scale * max(excess, 0.0) / spread**2)
            first, second = 1 - weight * middle, 1 - SPARE - weight * (cost - middle)
            sides = [first, first + weight * h], [second, second - weight * star]
            (a, f), (b, g) = sides[::-1] if turned else sides
            made.append((a, b, f, g, weight, h))
    a, b, f, g, weights, values = (
        np.array(one, dtype=np.float64) for one in zip(*made, strict=True)
    )
    return Experts(a, b, f, g, weights, values, float(largest))


def _best(p: Floats, q: Floats, moment: Moment) -> tuple[Floats, float, float]:
    """Of h = phi'(r), r cut at several heights: the one of the largest excess, in its spread."""
    h, gain, spread = _cut(p, q, moment.order)
    excess = gain - price(h, moment)
    best = int(np.argmax(excess / spread))
    return h[best], float(excess[best]), float(spread[best])


def _cut(p: Floats, q: Floats, a: float) -> tuple[Floats, Floats, Floats]:
    """For r cut at several heights: h = phi'(r), E_P h - E_Q phi*(h), and its spread in a pair."""
    ratio = np.log(np.maximum(p, 1e-12) / np.maximum(q, 1e-12))
    order = np.argsort(-ratio)
    reached = p[order].cumsum()
    places = np.searchsorted(reached, SHARES, side="left").clip(0, len(p) - 1)
    cut = np.minimum(ratio, ratio[order][places][:, None])
    h = cut if a == 1 else a * np.exp((a - 1) * cut)
    star = conjugate(h, a)
    variance = h**2 @ p - (h @ p) ** 2 + star**2 @ q - (star @ q) ** 2
    return h, h @ p - star @ q, np.sqrt(np.maximum(variance, 1e-30))


class Telling(NamedTuple):
    """A function h of the cell of an output, by which a moment is bounded from below.

    `means` are those foreseen of h and of phi*(h), `weights` what is bet on pairs of draws.
    """

    order: float
    turned: bool
    h: Floats
    means: tuple[float, float]
    weights: Floats


def telling(past: Floats, odds: Floats, *, draws: int, level: float) -> Telling:
    """The h that is foreseen to prove the largest rho by `draws` pairs at this level.

    `past` are earlier draws of both sides in each cell, `odds` the log-ratios that they promise.
    """
    share = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    p, q = (past + NOTHING) * share, (past + NOTHING) * (1 - share)
    laws, z = (p / p.sum(), q / q.sum()), -NormalDist().inv_cdf(level)
    found: list[tuple[float, int, float, bool, Floats, float]] = []
    for order in RHO_ORDERS:
        for turned in (False, True):
            one, two = laws[::-1] if turned else laws
            for h, gain, spread in zip(*_cut(one, two, order), strict=True):
                proved = rho_of(order, float(gain - z * spread / np.sqrt(draws)))
                found.append((proved, len(found), order, turned, h, float(spread)))
    _, _, order, turned, h, spread = max(found)
    one, two = laws[::-1] if turned else laws
    star = conjugate(h, order)
    means = float(one @ h), float(two @ star)
    lowest = max(means[0] - h.min(), star.max() - means[1], 1e-300)
    best = np.sqrt(-2 * log(level) / draws) / spread
    return Telling(order, turned, h, means, np.minimum(RATES * best, CAUTION / lowest))


def rho_of(order: float, moment: float) -> float:
    """The smallest rho that allows a moment, E_Q phi(dP/dQ), of this order."""
    return max(moment, 0.0) if order == 1 else log(max(moment, 1.0)) / (order * (order - 1))


def rho_lower(test: Telling, counts: NDArray[np.int64], *, level: float) -> float:
    """A lower bound on rho, wrong with probability at most `level`.

    `counts` (side, cell) are fresh draws, as many of each side.

    Let C = E_P h - E_Q phi*(h), which is at most E_Q phi(dP/dQ), m and m' the means foreseen, and
    d = m - m' - c for a number c. If f = 1 + w (h - m + d / 2) and g = 1 + w (m' + d / 2 - phi*(h))
    are positive, E_P f + E_Q g = 2 + w (C - c), so for C <= c the product of f(x) g(y) over the
    draws is at least 1 / level with probability at most `level` (`wealth`), and so is its mean
    over fixed w. It falls as c grows: the c that it refutes are a half-line.
    """
    one, two = counts[::-1] if test.turned else counts
    star, (first, second) = conjugate(test.h, test.order), test.means
    weights = test.weights[:, None]

    def refutes(moment: float) -> bool:
        half = (first - second - moment) / 2
        f = 1 + weights * (test.h - first + half)
        g = 1 + weights * (second + half - star)
        legal = (f > 0).all(axis=1) & (g > 0).all(axis=1)
        logs = np.log(np.where(f > 0, f, 1)) @ one + np.log(np.where(g > 0, g, 1)) @ two
        wealth = np.logaddexp.reduce(np.where(legal, logs, -np.inf)) - log(len(weights))
        return bool(wealth >= -log(level))

    low, high = 0.0 if test.order == 1 else 1.0, max(float(test.h.max() - star.min()), 1.0)
    if not refutes(low):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return rho_of(test.order, low)
