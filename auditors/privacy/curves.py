"""A whole curve of one pair: which point of a claimed one is judged, and bounds without a claim.

**The point** is the line that draws look worst against or show most at.
A curve promises (epsilon, delta) for many pairs of numbers at once (`mechanisms/model/curves.py`).
Events are learnt on draws that judge nothing, for lines from flat to steep, and the line is taken
that the best of them is farthest beyond, in standard errors; if none is beyond its line, the one
whose bound is foreseen to be the largest part of the epsilon allowed there. From there on the audit
is that of one (epsilon, delta): the line was fixed before the draws that are counted, so every
theorem about an audit holds as it stands, and who refutes the line has refuted the curve. A curve
bends little within the error to which the rates are known, so a test of the whole curve by events
would gain little. What no event shows, a divergence spread over all outputs, is bet against
(`attempt`).

**The bounds** are lower ones, on the privacy of one pair as a whole curve.
A curve is more than one number from one set of counts: delta(epsilon), Gaussian and
zero-concentrated DP.

Events are learnt on pilot draws, one for each of several epsilons, and counted once on fresh
draws. Clopper-Pearson limits p_j >= p_j^L and q_j <= q_j^U of every event in its own direction
hold together except with probability alpha. Whatever is computed from them holds with them:

* delta(epsilon) >= max_j (p_j^L - exp(epsilon) q_j^U), for all epsilon at once;
* mu-Gaussian DP says that no test does better than N(0,1) against N(mu,1), that is
  p <= Phi(Phi^-1(q) + mu); so mu >= max_j Phi^-1(p_j^L) - Phi^-1(q_j^U);
* rho-zCDP says D_a(P || Q) <= rho a for all orders a > 1 (and, in the limit, KL <= rho). The event
  alone makes two Bernoulli laws, whose divergence is at most that (data processing) and only
  grows as p rises above q; so rho >= max over j and a of D_a(p_j^L || q_j^U) / a.

Where rho is asked for, half of alpha goes to a moment of the likelihood ratio, of all outputs at
once, which is bounded by bets on the same draws (`bounds/wealth.py`). An event tells .7 of the rho
of Gaussian noise, a moment all of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp, inf, log, sqrt
from operator import itemgetter
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from ...mechanisms.model import Line, Pair, PrivacyClaim, lines_of
from ..bounds.wealth import rho_lower, telling
from ..choosing.choose import Choice, Lesson
from ..events.events import Event, Partition, promised
from ..evidence.derive import moments_bet_on
from ..outputs.outputs import Outputs
from ..sampling.gate import pass_gate
from ..sampling.sampling import Sampler
from ..sampling.teaching import count_also
from .attempt import moments_beyond

POINT_LEAST, POINT_FIRST, POINT_MOST = 16, 512, 65_536
"""Draws a side that tell which line to judge: from the second number they double."""
POINT_SHARE = 1 / 8
"""Part of the trials that may tell; they teach as well."""
CLEAR = 3.0
"""Standard errors beyond a line that settle the choice."""
EVERY = 8
"""Of the lines, which lie close, every so many is tried."""
Draw = Callable[[int, int], tuple[Outputs, Outputs]]
"""Draws of both sides by chunk and number."""
MOMENT = 0.5
"""Part of the curve's alpha that pays for a moment, if rho is asked for."""
EPSILONS = tuple(np.round(np.linspace(0, 4, 81), 9).tolist())
"""Epsilons at which delta is bounded if nobody names any: 0 to 4 nats, every 0.05."""
ORDERS = (1.0, 1.01, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0)
"""Renyi orders whose divergence bounds rho."""
AIMS = (0.0, 1e-3, 1e-2, 0.1, 0.3)
"""Deltas for which events are learnt: the larger, the likelier the event must be."""
PILOT = 0.2
"""Part of the draws that choose the events and are not counted."""
MOST_PILOT = 100_000
"""Draws a side that choose the events, at most."""
CHUNK = 65_536
"""Draws a side counted at a time, so that memory stays flat."""


# The point of a claimed curve. -------------------------------------------------------------------


def at_point(
    claim: PrivacyClaim, lesson: Lesson, draw: Draw, *, trials: int, level: float
) -> tuple[PrivacyClaim, tuple[Outputs, Outputs]]:
    """The claim at the point of its curve that is to be judged, and the draws that chose it.

    `lesson` may know others already. `trials` draws a side at `level` are to judge the point.
    """
    assert claim.curve is not None
    lines = lines_of(claim.curve, claim.distance)
    most = max(POINT_LEAST, min(POINT_MOST, int(POINT_SHARE * trials)))
    parts: list[tuple[Outputs, Outputs]] = []
    made, beyond, line = 0, 0.0, lines[0]
    found: list[tuple[float, tuple[float, float], Line, Choice]] = []
    moments = moments_bet_on(claim)
    while not parts or (made < most and beyond * sqrt(made) < CLEAR):
        parts.append(draw(len(parts), min(max(made, POINT_FIRST), most - made)))
        made += len(parts[-1][0])
        lesson.add(*parts[-1])
        found = list(_worst(lesson, lines, trials, level))
        beyond, _, line, choice = max(found, key=itemgetter(0))
        if moments and moments_beyond(*lesson.partition(choice.event), moments) >= CLEAR:
            break  # no line need be known
    if beyond <= 0:
        shown = [(_part(rates, one, trials, level), one) for _, rates, *_ in found for one in lines]
        part, telling = max(shown)
        line = telling if part > 0 else line
    first, second = (Outputs.concatenate(list(side)) for side in zip(*parts, strict=True))
    return replace(claim, epsilon=line[0], delta=line[1]), (first, second)


def point_for(claim: PrivacyClaim, rates: tuple[float, float]) -> PrivacyClaim:
    """The claim at the point of its curve that two known rates lie farthest beyond."""
    if claim.curve is None:
        return claim
    lines = lines_of(claim.curve, claim.distance)
    epsilon, delta = max(lines, key=lambda line: _beyond(rates, line))
    return replace(claim, epsilon=epsilon, delta=delta)


def _worst(
    lesson: Lesson, lines: tuple[Line, ...], trials: int, level: float
) -> Iterator[tuple[float, tuple[float, float], Line, Choice]]:
    """For some lines, how far beyond it the event learnt for it is foreseen to lie; its rates."""
    for epsilon, delta in lines[::EVERY]:
        choice = lesson.choice(epsilon=epsilon, delta=delta, trials=trials, level=level, more=True)
        # The ratio foreseen is steadier than the rates that were seen.
        q, least = choice.rates[1], choice.predicted - choice.spread
        p = min(max(delta + q * exp(min(least, 300.0)), 1e-12), 1 - 1e-12)
        yield _beyond((p, q), (epsilon, delta)), (p, q), (epsilon, delta), choice


def _beyond(rates: tuple[float, float], line: Line) -> float:
    """How far two rates lie beyond a line, in standard errors of one draw a side."""
    (p, q), (epsilon, delta) = rates, line
    ratio = exp(min(epsilon, 300.0))
    return (p - delta - ratio * q) / sqrt(p * (1 - p) + ratio * ratio * q * (1 - q) + 1e-12)


def _part(rates: tuple[float, float], line: Line, trials: int, level: float) -> float:
    """The bound on epsilon foreseen at a line's delta, as a part of the line's epsilon."""
    (p, q), (epsilon, delta) = rates, line
    if p <= delta or epsilon <= 0:
        return -inf
    # The logarithm of (p - delta) / q has about this variance for one draw a side.
    variance = p * (1 - p) / (p - delta) ** 2 + (1 - q) / max(q, 1e-300)
    away = NormalDist().inv_cdf(1 - level) * sqrt(variance / max(trials, 1))
    return (log((p - delta) / max(q, 1e-300)) - away) / epsilon


# Bounds without a claim. -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyCurve:
    """Lower bounds that hold together except with probability `alpha`, for one pair.

    `delta_lower[i]` is for `epsilons[i]` (nats, of this pair). `counts` are
    (event, reversed, hits of the likelier side, hits of the other) of `draws` each.
    """

    epsilons: tuple[float, ...]
    delta_lower: tuple[float, ...]
    mu_lower: float
    rho_lower: float
    alpha: float
    draws: int
    counts: tuple[tuple[Event, bool, int, int], ...]
    rho_order: float | None = None
    """The order of the moment that bounds rho; None if an event does."""


def privacy_curve(
    sampler: Sampler,
    pair: Pair,
    *,
    alpha: float,
    draws: int,
    epsilons: tuple[float, ...] = EPSILONS,
    moment: bool = False,
) -> PrivacyCurve:
    """Bound delta(epsilon), mu and rho of the mechanism from below, `draws` draws a side.

    With `moment` half of alpha bounds rho by a moment of all outputs.
    """
    pilot = max(24, min(MOST_PILOT, round(PILOT * draws)))
    judged = max(1, draws - pilot)
    staked = MOMENT * alpha if moment else 0.0
    lesson = Lesson()
    lesson.add(*sampler.draw(pair, "pilot", 0, pilot))
    chosen = _events(lesson, judged, alpha)
    counted: list[Event | Partition] = [event for event, _ in chosen]
    if moment:
        partition, cells = lesson.partition(chosen[0][0])
        test = telling(cells.sum(axis=0), promised(partition, cells), draws=judged, level=staked)
        counted.append(partition)
    sizes = [min(CHUNK, judged - start) for start in range(0, judged, CHUNK)]
    parts = [
        count_also(sampler, pair, None, counted, "claim", chunk, size, size)[1]
        for chunk, size in enumerate(sizes)
    ]
    found: NDArray[np.int64] = np.sum(parts, axis=0)
    pass_gate(sampler, refuted=False)
    hits, cells = found[: len(chosen)], found[len(chosen) :].T
    hits = np.array(
        [row[::-1] if turned else row for row, (_, turned) in zip(hits, chosen, strict=True)]
    )
    low, high = _limits(hits, judged, (alpha - staked) / (2 * len(chosen)))
    deltas = np.maximum(low[:, None] - np.exp(epsilons) * high[:, None], 0).max(axis=0)
    rho = max(renyi_lower(p, q) for p, q in zip(low.tolist(), high.tolist(), strict=True))
    by_moment = rho_lower(test, cells, level=staked) if moment else 0.0
    return PrivacyCurve(
        epsilons=tuple(epsilons),
        delta_lower=tuple(deltas.tolist()),
        mu_lower=max(0.0, float((ndtri(low) - ndtri(high)).max())),
        rho_lower=max(rho, by_moment),
        alpha=alpha,
        draws=judged,
        counts=tuple(
            (event, turned, int(x), int(y))
            for (event, turned), (x, y) in zip(chosen, hits, strict=True)
        ),
        rho_order=test.order if by_moment > rho else None,
    )


def _events(lesson: Lesson, judged: int, alpha: float) -> list[tuple[Event, bool]]:
    found: dict[str, tuple[Event, bool]] = {}
    for aim in AIMS:
        choice = lesson.choice(epsilon=0.0, delta=aim, trials=judged, level=alpha, more=True)
        found[f"{choice.event.to_json()} {choice.reversed}"] = (choice.event, choice.reversed)
    return list(found.values())


def _limits(
    hits: NDArray[np.int64], draws: int, share: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower limits of the first column's probabilities and upper ones of the second's."""
    x, y = hits.astype(float).T
    low = np.where(x > 0, betaincinv(np.maximum(x, 1), draws - x + 1, share), 0.0)
    misses = draws - y
    high = np.where(misses > 0, 1 - betaincinv(np.maximum(misses, 1), y + 1, share), 1.0)
    return low, high


def renyi_lower(p: float, q: float) -> float:
    """The largest D_a(Bernoulli(p) || Bernoulli(q)) / a over ORDERS; 0 unless p > q."""
    if p <= q:
        return 0.0
    if q <= 0:
        return inf
    logs = np.log([p / q, (1 - p) / (1 - q)]) if p < 1 else np.array([np.log(1 / q), -inf])
    best = 0.0
    for order in ORDERS:
        if order == 1:
            best = max(best, p * logs[0] + ((1 - p) * logs[1] if p < 1 else 0.0))
            continue
        powers = (order - 1) * logs
        top = float(powers.max())
        total = top + np.log(p * exp(powers[0] - top) + (1 - p) * exp(powers[1] - top))
        best = max(best, float(total) / (order - 1) / order)
    return float(best)
