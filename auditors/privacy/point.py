"""Which point of a curve is judged: the line that draws look worst against or show most at.

A curve promises (epsilon, delta) for many pairs of numbers at once (`mechanisms/model/curves.py`).
Events are learnt on draws that judge nothing, for lines from flat to steep, and the line is taken
that the best of them is farthest beyond, in standard errors; if none is beyond its line, the one
whose bound is foreseen to be the largest part of the epsilon allowed there. From there on the audit
is that of one (epsilon, delta): the line was fixed before the draws that are counted, so every
theorem about an audit holds as it stands, and who refutes the line has refuted the curve. A curve
bends little within the error to which the rates are known, so a test of the whole curve by events
would gain little. What no event shows, a divergence spread over all outputs, is bet against
(`betting`).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import exp, inf, log, sqrt
from operator import itemgetter
from statistics import NormalDist

from ...mechanisms.model import Line, PrivacyClaim, lines_of
from ..choosing.choose import Choice, Lesson
from ..evidence.derive import moments_bet_on
from ..outputs.outputs import Outputs
from .betting import moments_beyond

LEAST, FIRST, MOST = 16, 512, 65_536
"""Draws a side that tell which line to judge: from the second number they double."""
SHARE = 1 / 8
"""Part of the trials that may tell; they teach as well."""
CLEAR = 3.0
"""Standard errors beyond a line that settle the choice."""
EVERY = 8
"""Of the lines, which lie close, every so many is tried."""

Draw = Callable[[int, int], tuple[Outputs, Outputs]]
"""Draws of both sides by chunk and number."""


def at_point(
    claim: PrivacyClaim, lesson: Lesson, draw: Draw, *, trials: int, level: float
) -> tuple[PrivacyClaim, tuple[Outputs, Outputs]]:
    """The claim at the point of its curve that is to be judged, and the draws that chose it.

    `lesson` may know others already. `trials` draws a side at `level` are to judge the point.
    """
    assert claim.curve is not None
    lines = lines_of(claim.curve, claim.distance)
    most = max(LEAST, min(MOST, int(SHARE * trials)))
    parts: list[tuple[Outputs, Outputs]] = []
    made, beyond, line = 0, 0.0, lines[0]
    found: list[tuple[float, tuple[float, float], Line, Choice]] = []
    moments = moments_bet_on(claim)
    while not parts or (made < most and beyond * sqrt(made) < CLEAR):
        parts.append(draw(len(parts), min(max(made, FIRST), most - made)))
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
