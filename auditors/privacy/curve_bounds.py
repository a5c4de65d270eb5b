"""Lower bounds on the privacy of one pair as a whole curve, without any claim.

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

from dataclasses import dataclass
from math import exp, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from ...mechanisms.model import Pair
from ..bounds.wealth import rho_lower, telling
from ..choosing.choose import Lesson
from ..events.events import Event, Partition, promised
from ..sampling.sampling import Sampler
from ..sampling.teaching import count_also

MOMENT = 0.5
"""Part of the curve's alpha that pays for a moment, if rho is asked for."""
EPSILONS = tuple(np.round(np.linspace(0, 4, 81), 9).tolist())
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
    found: Any = 0
    for chunk, start in enumerate(range(0, judged, CHUNK)):
        size = min(CHUNK, judged - start)
        found = found + count_also(sampler, pair, None, counted, "claim", chunk, size, size)[1]
    sampler.gate(refuted=False)
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
