"""A privacy claim against draws that an audit left when it ended early.

Why it ended, and when, may hang on what was drawn: somebody saw the news and stopped it, a call
raised, the slow outputs used up the time. So these draws are no sample of a size fixed beforehand.
But their order was: a draw has its number before it is made, and what is kept is the beginning of
one sequence of independent pairs, one output of each database. Half of alpha goes to bets on that
sequence, whose wealth no end can make larger than it ever was; the other half to one count on the
longest beginning whose length is a power of two, each power at a level of its own. Both hold for
any end of the sequence; docs/statistics.md, 3c, has the proof.
"""

from dataclasses import dataclass, replace
from math import inf, log

import numpy as np

from ..asked import require
from ..bounds import two_sample
from ..choosing.choose import Choice, Lesson
from ..errors import InvalidArgument
from ..outputs.outputs import Outputs
from ..privacy.attempt import counted
from ..privacy.betting import FIRST, HALF, Betting, next_size
from ..results.results import Count, Verdict
from .independence import LOOKED_AT, doubts
from .judge_samples import Judged, judge_samples

FEWEST = 32
"""Draws of each database, at least."""
SHORTEST = 7
"""The first power of two at which a count is made."""
AHEAD = 16
"""An event is learnt for a count of so many times the draws that taught it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedKept(Judged):
    """What kept draws say of a claim. `wealth` is what bets made of 1, `needed` what refutes."""

    wealth: float
    needed: float


def judge_kept(
    first: Outputs,
    second: Outputs,
    *,
    epsilon: float,
    delta: float = 0.0,
    distance: int = 1,
    alpha: float = 1e-3,
) -> JudgedKept:
    """Test the claim on the beginning of a sequence of pairs, whatever ended it.

    `epsilon` in nats. A true claim is refuted with probability at most `alpha`, for all ends of the
    sequence together. Raises InvalidArgument for numbers outside their range and fewer than 32
    draws.
    """
    require(epsilon=epsilon, delta=delta, distance=distance, alpha=alpha)
    size = min(len(first), len(second))
    if size < FEWEST:
        raise InvalidArgument(
            f"{size} draws of each database were kept; expected at least {FEWEST}, because a part "
            "must be spent on learning what to bet on"
        )
    first, second = first[:size], second[:size]
    null = two_sample.at_distance(epsilon, delta, distance)
    betting, count, highest = _bet(first, second, null, HALF * alpha)
    found = doubts(first, second)
    unread = first[:LOOKED_AT].unread or second[:LOOKED_AT].unread
    read = () if not unread else (f"{unread}, so nothing can be said of what is in it",)
    judged = Judged(
        verdict=Verdict.INCONCLUSIVE, epsilon=epsilon, delta=delta, distance=distance,
        alpha=alpha, epsilon_lower=-inf, detectable=inf, sizes=(size, size), count=count,
        level=HALF * alpha, remarks=(*(doubt.sentence for doubt in found), *read),
        dependent=any(doubt.sure for doubt in found),
    )  # fmt: skip
    power = size.bit_length() - 1
    if power >= SHORTEST:
        counted_once = judge_samples(
            first[: 1 << power], second[: 1 << power],
            epsilon=epsilon, delta=delta, distance=distance,
            alpha=(1 - HALF) * alpha * share_of(power),
        )  # fmt: skip
        dependent = judged.dependent or counted_once.dependent
        judged = replace(
            counted_once, alpha=alpha, sizes=(size, size), dependent=dependent,
            remarks=judged.remarks,
            verdict=Verdict.INCONCLUSIVE if dependent else counted_once.verdict,
        )  # fmt: skip
    needed = -log(betting.level)
    if highest >= needed and not judged.dependent:
        better = judged.epsilon_lower < epsilon
        judged = replace(
            judged, verdict=Verdict.REFUTED, count=count if better else judged.count,
            level=betting.level if better else judged.level,
            epsilon_lower=max(epsilon, judged.epsilon_lower),
        )  # fmt: skip
    fields = {name: getattr(judged, name) for name in Judged.__dataclass_fields__}
    return JudgedKept(**fields, wealth=highest, needed=needed)


def share_of(power: int) -> float:
    """The part of the error probability of the counts that draws of 2**power a side have.

    They add up to 1 over all powers from `SHORTEST` on.
    """
    place = power - SHORTEST + 1
    return 1 / (place * (place + 1))


def _bet(
    first: Outputs, second: Outputs, null: tuple[float, float], level: float
) -> tuple[Betting, Count, float]:
    """The bets on all whole batches, the count of the event learnt last, and the highest wealth.

    The wealth is a logarithm. The sizes of lessons and batches follow from their place alone.
    """
    betting, lesson = Betting(null, level), Lesson()
    lesson.add(first[:FIRST], second[:FIRST])
    made, taught, batch, highest = FIRST, 0, 0, 0.0
    hits, trials = [0, 0], 0
    choice: Choice | None = None
    while made + next_size(made) <= len(first):
        if choice is None or made >= 2 * taught:
            epsilon, delta = null
            choice = lesson.choice(epsilon=epsilon, delta=delta, trials=AHEAD * made, level=level)
            betting.on(*lesson.partition(choice.event))
            taught, hits, trials = made, [0, 0], 0
        size = next_size(made)
        sides = first[made : made + size], second[made : made + size]
        cells = [betting.partitions[-1].counts(side) for side in sides]
        inside = [int(choice.event.contains(side).sum()) for side in sides]
        hits = [hits[0] + inside[0], hits[1] + inside[1]]
        lesson.add(*sides)
        made, trials, batch = made + size, trials + size, batch + 1
        won = betting.place(batch, size, np.array(cells))
        highest = max(highest, betting.log)
        if won:
            break
    assert choice is not None
    count = counted("recorded", 0, choice, (hits[0], hits[1]), (trials, trials))
    return betting, count, highest
