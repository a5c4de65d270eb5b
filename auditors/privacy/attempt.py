"""An attempt to refute: one event, fixed beforehand, counted on fresh draws and looked at planned
times.

Theorem (alpha once). Let attempt j fix its pair, event, side, look sizes and levels as functions
of everything drawn before it, and count on fresh draws. If the levels of all planned looks of all
attempts add up to at most alpha on every path, then a true claim is refuted, or any bound shown is
above the truth, with probability at most alpha. `docs/statistics.md` has the proof. Looks that are
not made, for whatever reason, only remove errors; what they would have cost is spent all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, sqrt

from scipy.special import ndtri

from ...mechanisms.model import Pair, PrivacyClaim
from ..bounds import two_sample
from ..bounds.power import Plan, last_looks
from ..choosing.choose import Choice
from ..events.events import Event
from ..evidence.derive import looks_at
from ..results.results import Bets, Count, Look
from ..sampling.sampling import Sampler
from ..sampling.teaching import Hits, count_also

POWER = 1.645
"""Standard deviations by which the foreseen excess is to pass the threshold: power 0.95."""
FEWEST_HITS = 12
"""Hits that an attempt is to expect on its likelier side."""
FEWEST = 16
"""Hits foreseen, and draws a side, below which no count is worth its error probability."""
MOST_COMPARED = 65_536
"""Draws a side of a count that teaches nothing on which a second event is counted too."""

Teach = Callable[[Event, str, int, int], Hits]
"""Draws that teach: (event, stage, chunk, draws a side) to the hits of both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One claim, the draws a side allowed to judge it and the error probability allowed."""

    claim: PrivacyClaim
    trials: int
    alpha: float

    @property
    def null(self) -> tuple[float, float]:
        """(epsilon, delta) of the inequality at the claim's distance."""
        claim = self.claim
        return two_sample.at_distance(claim.epsilon, claim.delta, claim.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What became of one event: the parts in which it was counted, and the looks made at it.

    `compared` is (draws a side, hits of this event, hits of another) among the same first draws.
    """

    choice: Choice
    counts: tuple[Count, ...]
    looks: tuple[Look, ...]
    planned: Plan
    compared: tuple[int, Hits, Hits] | None = None
    bets: Bets | None = None
    """The bets that give the bound of the one look, where it is not that of its counts."""


def foreseen(choice: Choice, null: tuple[float, float], level: float) -> float:
    """Draws a side that a count of this event needs to refute, likely enough, at this level.

    The excess is taken a standard error below the one predicted. Infinite where none is foreseen.
    """
    epsilon, delta = null
    p, excess = choice.rates[0], choice.predicted - choice.spread - epsilon
    if excess <= 0 or p <= delta:
        return inf
    spread = max(variance(p, (p - delta) * exp(-min(epsilon + e, 600.0)), delta)
                 for e in (0.0, excess))  # fmt: skip
    z = POWER - float(ndtri(level))
    return max(z * z * spread / excess**2, FEWEST_HITS / p, FEWEST)


def variance(p: float, q: float, delta: float) -> float:
    """Variance, for one draw a side, of the estimate of ln((p - delta) / q)."""
    if p <= delta or q <= 0:
        return inf
    return p * (1 - p) / (p - delta) ** 2 + (1 - q) / q


def half_width(choice: Choice, null: tuple[float, float], level: float, draws: int) -> float:
    """How far below the log-ratio a bound at this level is foreseen to stay (nats)."""
    spread = variance(choice.rates[0], choice.rates[1], null[1])
    return -float(ndtri(level)) * sqrt(spread / max(draws, 1))


def last_plan(
    choice: Choice,
    null: tuple[float, float],
    draws: int,
    level: float,
    *,
    precision: float | None,
    bet: bool,
) -> Plan:
    """The looks of the last attempt, at `draws` a side with what is left of the error probability.

    There are four if half the draws are foreseen to refute, and else one. If draws are `bet` on and
    the judging ends once it refutes (precision None), all of them may be needed for four, since
    draws after a refutation are lost there. At precision 0, for the largest bound, there is one.
    """
    if precision == 0:
        return last_looks(draws, level, sooner=False)
    allowed = draws if bet and precision is None else draws / 2
    return last_looks(draws, level, sooner=foreseen(choice, null, level) <= allowed)


def attempt(
    sampler: Sampler,
    pair: Pair,
    choice: Choice,
    test: Test,
    plan: Plan,
    *,
    number: int,
    chunk: int,
    before: int,
    stage: str = "attempt",
    teach: Teach | None = None,
    other: Event | None = None,
    enough: Callable[[Look], bool] = lambda look: False,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Attempt:
    """Count the event on fresh draws and look at the planned sizes, cumulatively.

    Ends early when a look has refuted and is `enough`, or when time is out; an attempt that teaches
    also when the counts speak for the claim at the second look or later. The streams are `chunk`,
    `chunk` + 1, .. of `stage`; `before` is how many draws a side the pair has cost so far. `teach`
    counts the draws of every look, given the event, the stream and their number; where there is
    none, the `other` event is counted too.
    """
    counts: list[Count] = []
    looks: tuple[Look, ...] = ()
    compared: tuple[int, Hits, Hits] | None = None
    if teach is None:
        sizes = [size for size, _ in plan]
        draws_of_looks = [b - a for a, b in pairwise([0, *sizes])]
        sampler.ahead(pair, choice.event, stage, chunk, draws_of_looks)
    for size, level in plan:
        if out_of_time():
            break
        made = sum(count.trials[0] for count in counts)
        draws = size - made
        if teach is not None:
            hits = teach(choice.event, stage, chunk + len(counts), draws)
        elif counts or other is None:
            hits = sampler.count(pair, choice.event, stage, chunk + len(counts), draws)
        else:
            most, events = min(draws, MOST_COMPARED), (choice.event, other)
            hits, found = count_also(sampler, pair, choice.event, events, stage, chunk, draws, most)
            (a, b), (c, d) = found.tolist()
            compared = most, (a, b), (c, d)
        counts.append(
            counted(
                stage,
                chunk + len(counts),
                choice,
                hits,
                (draws, draws),
                attempt=number,
                cost=before + size,
                level=level,
            )
        )
        looks = looks_at(counts, None, test.claim)
        look = looks[-1]
        if look.epsilon_lower >= test.claim.epsilon:
            if enough(look):
                break
        elif (
            teach and len(looks) > 1 and two_sample.normal_z(look.hits, look.trials, *test.null) < 0
        ):
            break
    return Attempt(
        choice=choice,
        counts=tuple(counts),
        looks=looks,
        planned=plan,
        compared=compared,
    )


def counted(
    stage: str,
    chunk: int,
    choice: Choice,
    hits: tuple[int, int],
    trials: tuple[int, int],
    *,
    attempt: int = 0,
    cost: int = 0,
    level: float | None = None,
) -> Count:
    """Hits of an event that was chosen before, with what was foreseen of it."""
    return Count(
        stage=stage,
        chunk=chunk,
        event=choice.event,
        reversed=choice.reversed,
        hits=hits,
        trials=trials,
        predicted=choice.predicted,
        spread=choice.spread,
        rates=choice.rates,
        attempt=attempt,
        cost=cost,
        level=level,
    )
