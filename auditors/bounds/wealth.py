"""Betting against a claim on every pair of draws, over all outputs at once and in both directions.

Theorem. Let the claim be P[E] <= e^epsilon Q[E] + delta and Q[E] <= e^epsilon P[E] + delta for
every event E, x be a draw from P and y one from Q, independent given the past. Let u, v >= 0 be
bounded functions of an output, and a + b + delta (sup u + sup v) <= 2, all fixed by the past, with

    f = a + u - e^epsilon v > 0,    g = b - e^epsilon u + v > 0.

Then f(x) g(y) has expectation at most 1 given the past.

Proof. The claim gives E_P h <= e^epsilon E_Q h + delta sup h for every h >= 0, and the same with P
and Q exchanged; so E_P f + E_Q g <= a + b + delta (sup u + sup v) <= 2, and the expectation is
E_P f E_Q g <= ((E_P f + E_Q g) / 2)^2 <= 1. []

The product over all pairs is therefore a supermartingale from 1, the wealth, and it reaches
1 / level at any time with probability at most `level` (Ville 1939). Where a smaller epsilon is
enough the same bets are valid, so a wealth that refutes the claim refutes all that promise more.
`log_gain` asks of f and g, whoever chose them, whether there are such u and v: nothing rests on
how they came. Where the claim bounds moments, a bet may have parts against these (see below): what
they add to f and g is taken off first, and what they cost is paid of the 2 as well.

How they are chosen. Outputs come in cells that earlier draws put in order, from the one that speaks
most for the first database. An expert believes that an output of a cell comes from the first
database with probability s, or says nothing of the cell. One kind gives the cells at the top, a
share of all, s = e^l / (1 + e^l), those at the bottom 1 - s, or both, with l somewhat above
epsilon; the other takes the log-ratios promised, cut at l. Given a and b = 2 - a, the best u is
s b e^-epsilon - (1 - s) a, and the best v the same with the sides exchanged; a is nearly the one of
the largest growth foreseen. The mean of the bets of all experts, each with the part of the money
that it would have by now, is a bet too, and is the one that is made.

**Moments.** Renyi and concentrated claims promise a moment of the likelihood ratio.
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
what is bet on y from Q, if weight * C is paid of the 2 that may be spent: see `Part`.

The best h is phi'(dP/dQ): a r^(a-1), or ln r, of the likelihood ratio r. `experts` takes the ratios
that earlier draws promise, cut where few outputs lie, with the weight of about the largest growth.
"""

from collections.abc import Iterator, Sequence
from math import exp, log
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Moment

Floats = NDArray[np.float64]
TOPS = np.array([0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.0])
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
SHARES = (0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""Parts of all outputs that an expert bets on at one end."""
EXCESS = tuple(0.03 * 2.0**k for k in range(8))
"""By how much (nats) a log-ratio is believed to exceed the claim."""
ENDS = ((True, True, 0.35), (True, False, 0.125), (False, True, 0.125))
"""Whether an expert bets at the top and at the bottom, and its part of the money."""
GRADED = 0.4
"""Part of the money of those who take the log-ratios promised."""
MOVING, MOVED = 0.03, 0.02
"""Part of the money that is dealt anew before each batch, so that late experts have their say. It
is bet on every pair of the batch, so it is less where these are many: in all no more than MOVED."""
NEWTON = 8
"""Steps of Newton towards the best bet; a bet is valid wherever they end."""
WIDE = 1.2
"""By how much the cells of an end may exceed the share that is wanted of it."""
LARGEST_EPSILON = 50.0
"""Nats; nothing is bet against a claim beyond it."""
GRAIN = 1e-8
"""f and g are rounded down to multiples of it."""
PRIOR = np.repeat(
    [part / len(SHARES) / len(EXCESS) for _ in SHARES for *_, part in ENDS]
    + [GRADED / len(EXCESS)],
    len(EXCESS),
)
"""Each expert's part of the money."""
MOMENTS = 0.7
"""Part of the money of the experts on moments, if the claim bounds any."""
Counts = Sequence[int]


# Bets against a moment of the likelihood ratio. --------------------------------------------------


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
    places = np.searchsorted(reached, TOPS, side="left").clip(0, len(p) - 1)
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


# Bets on all outputs at once. --------------------------------------------------------------------


class Bet(NamedTuple):
    """What is bet on a pair of draws: f and g of each cell, and the numbers a and b.

    `parts` are what f and g hold of bets against moments.
    """

    a: float
    b: float
    f: Sequence[float]
    g: Sequence[float]
    parts: tuple[Part, ...] = ()


def log_gain(
    bet: Bet,
    counts: tuple[Counts, Counts],
    epsilon: float,
    delta: float,
    moments: tuple[Moment, ...] = (),
) -> float:
    """The logarithm of what the bet makes of 1; `counts` are draws of each side in each cell.

    ValueError for a bet that is none against (epsilon, delta) and the moments: with u and v no
    larger than f and g need beside its parts, what is asked of them fails.
    """
    # A bet that is fair at e^700 wins less than any draws can show, however large the claim.
    ratio, (a, b) = exp(min(epsilon, 700.0)), bet[:2]
    f, g = np.asarray(bet.f, dtype=np.float64), np.asarray(bet.g, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is no bet
        rest_f, rest_g, left = f, g, 2.0
        for part in bet.parts:
            one, two, cost = paid(part, moments)
            rest_f, rest_g, left = rest_f - one, rest_g - two, left - cost
        u, v = np.maximum(rest_f - a, 0), np.maximum(rest_g - b, 0)
        fair = (np.minimum(rest_f, a) + ratio * v <= a) & (np.minimum(rest_g, b) + ratio * u <= b)
        spent = a + b + delta * (u.max() + v.max())
    if not (min(f.min(), g.min()) > 0 and fair.all() and spent <= left):
        raise ValueError("f and g are no bet against the claim")
    return float(np.log(f) @ np.asarray(counts[0]) + np.log(g) @ np.asarray(counts[1]))


def ends(past: Floats) -> list[tuple[int, int]]:
    """For each share, how many cells make the top and how many the bottom."""
    shares = WIDE * np.array(SHARES)[:, None] * past.sum()
    found = [(one.cumsum() <= shares).sum(axis=1) for one in (past, past[::-1])]
    top, low = (np.clip(one, 1, len(past) - 1).tolist() for one in found)
    return list(zip(top, low, strict=True))


def beliefs(past: Floats, odds: Floats, epsilon: float) -> Floats:
    """The belief of every expert (experts, cells) that an output is of the first side; else NaN."""
    places = np.arange(len(past))
    tops, lows = np.array(ends(past)).T[:, :, None, None]
    at_top, at_bottom = np.array([one[:2] for one in ENDS]).T[:, None, :, None]
    one, two = (places < tops) & at_top, (places >= len(past) - lows) & at_bottom
    sided = np.where(one == two, 0, np.where(one, 1, -1))[:, :, None, :]
    likelier = 1 / (1 + np.exp(-epsilon - np.array(EXCESS)))[:, None]
    found = np.where(sided > 0, likelier, np.where(sided < 0, 1 - likelier, np.nan))
    most = epsilon + np.array(EXCESS)[:, None]
    graded = 1 / (1 + np.exp(-np.clip(odds, -most, most)))
    graded = np.where(np.abs(odds) > epsilon, graded, np.nan)
    return np.concatenate([found.reshape(-1, len(past)), graded])


def bets_of_all(
    past: Floats, odds: Floats, epsilon: float, delta: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """a, b (experts,) and f, g (experts, cells), from what is known before the draws.

    `past` are earlier draws of both sides in each cell, `odds` the log-ratios they promise. Nothing
    is bet (all are 1) where there is one cell, or no claim to speak of.
    """
    size, experts = len(past), len(PRIOR)
    if size < 2 or epsilon > LARGEST_EPSILON or delta >= 1:
        return (
            np.ones(experts),
            np.ones(experts),
            np.ones((experts, size)),
            np.ones((experts, size)),
        )
    s, ratio, mass = beliefs(past, odds, epsilon), exp(epsilon), 2 * past / past.sum()
    above, below = s > 0.5, s < 0.5
    s = np.where(above | below, s, 0)
    top, low = above @ mass, below @ mass
    first = np.maximum(1 - s @ mass, 1e-4)
    second = np.maximum(1 - top - low + s @ mass, 1e-4)
    a = np.ones(len(s))
    for _ in range(NEWTON):
        up, down = (ratio - 1) / (2 + a * (ratio - 1)), (ratio - 1) / (2 * ratio - a * (ratio - 1))
        slope = top * up - low * down + first / a - second / (2 - a)
        curve = top * up**2 + low * down**2 + first / a**2 + second / (2 - a) ** 2
        a = np.clip(a + slope / curve, 0.1, 1.9)
    a, b = a[:, None], 2 - SPARE - a[:, None]
    u = np.where(above, np.maximum(s * b / ratio - (1 - s) * a, 0), 0)
    v = np.where(below, np.maximum((1 - s) * a / ratio - s * b, 0), 0)
    pay = delta * (u.max(axis=1) + v.max(axis=1))[:, None] / 2
    # Who cannot pay bets less.
    part = np.minimum(1.0, np.minimum(a, b) / 2 / np.maximum(pay, 1e-300))
    u, v, a, b = part * u, part * v, a - part * pay, b - part * pay
    u, v = np.minimum(u, 0.999 * b / ratio), np.minimum(v, 0.999 * a / ratio)
    return a[:, 0], b[:, 0], a + u - ratio * v, b - ratio * u + v


class Bettor:
    """Chooses bets against (epsilon, delta) and moments, and remembers how each expert has done."""

    def __init__(self, epsilon: float, delta: float, moments: tuple[Moment, ...] = ()) -> None:
        """Nothing has been bet yet."""
        self.epsilon, self.delta, self.moments = epsilon, delta, moments
        prior = PRIOR
        if moments:
            more = len(kinds(moments)) * len(SCALES)
            prior = np.concatenate([(1 - MOMENTS) * PRIOR, np.full(more, MOMENTS / more)])
        self.prior, self.logs = prior, np.log(prior)
        self._made = (np.zeros(0), np.zeros(0))

    def bet(self, past: Counts, odds: Sequence[float], draws: int) -> Bet:
        """The bet on so many pairs, from earlier draws of both sides in each cell, and odds."""
        dealt = min(MOVING, MOVED / draws)
        shares = np.exp(self.logs - np.logaddexp.reduce(self.logs))
        money = (1 - dealt) * shares + dealt * self.prior
        self.logs = np.log(money)
        known = np.asarray(past, dtype=np.float64), np.asarray(odds, dtype=np.float64)
        made = bets_of_all(*known, self.epsilon, self.delta)
        parts: tuple[Part, ...] = ()
        if self.moments:
            more = experts(*known, self.moments)
            made = (
                np.concatenate([made[0], more.a]),
                np.concatenate([made[1], more.b]),
                np.concatenate([made[2], more.f]),
                np.concatenate([made[3], more.g]),
            )
            parts = tuple(self._parts(money[len(PRIOR) :], more.weights, more.h))
        a, b, f, g = made
        self._made = np.log(f), np.log(g)
        # Rounded down they are a bet all the more.
        f, g = (np.floor((money @ part) / GRAIN - 0.1) * GRAIN for part in (f, g))
        # A mean of ones is one, whatever its parts are rounded to; other bets have some to spare.
        whole = [1.0 if (part == 1).all() else float(money @ part) for part in (a, b)]
        return Bet(whole[0], whole[1], tuple(f.tolist()), tuple(g.tolist()), parts)

    def _parts(self, money: Floats, weights: Floats, h: Floats) -> Iterator[Part]:
        """One part for each moment and direction: phi* is convex, so the mean h costs no more."""
        size = len(SCALES)
        for place, (moment, turned) in enumerate(kinds(self.moments)):
            own = slice(place * size, (place + 1) * size)
            stakes = money[own] * weights[own]
            if (weight := float(stakes.sum())) > 0:
                values = tuple((stakes @ h[own] / weight).tolist())
                yield Part(moment.order, turned, weight, values)

    def learn(self, counts: Sequence[Counts]) -> None:
        """The draws that were bet on, of each side in each cell."""
        f, g = self._made
        self.logs = self.logs + f @ np.asarray(counts[0]) + g @ np.asarray(counts[1])
