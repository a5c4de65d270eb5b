"""A privacy claim against recorded outputs of two databases: samples, or what an audit left.

Of two samples the first part learns and the rest tests. The split is by position and fixed before
anything is looked at, an event is learnt from the first part, and the exact two-sample test counts
it once on the rest. How far out a rare event should begin is hardly known from few draws, so a
threshold is counted at two more places, nearer and farther, each with a part of alpha of its own. A
true claim is therefore refuted with probability at most alpha, whatever the events, if the outputs
of each sample are independent draws of one law. That, and that the two databases are neighbours, is
the word of whoever recorded them; what in the samples contradicts it is told by `independence`. Of
a curve (mu, rho, Renyi, points) the first part also chooses the point, and the rest tests this.

Draws that an audit left when it ended early are no sample of a size fixed beforehand. Why it ended,
and when, may hang on what was drawn: somebody saw the news and stopped it, a call raised, the slow
outputs used up the time. But their order was fixed: a draw has its number before it is made, and
what is kept is the beginning of one sequence of independent pairs, one output of each database.
Half of alpha goes to bets on that sequence, whose wealth no end can make larger than it ever was;
the other half to one count on the longest beginning whose length is a power of two, each power at a
level of its own. Both hold for any end of the sequence; docs/statistics.md, 3c, has the proof.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, log, sqrt
from operator import itemgetter

import numpy as np

from ...mechanisms.model import Curve, PrivacyClaim, size_lower
from ..asked import require
from ..bounds.power import refutable_epsilon
from ..bounds.two_sample import at_distance
from ..choosing.choose import Choice, Lesson, learn
from ..errors import InvalidArgument
from ..events.events import AdditiveScore, HalfLine
from ..evidence.derive import USEFUL, bound_of, usual
from ..outputs.outputs import Outputs
from ..privacy.attempt import BET_FIRST, Betting, counted, next_size
from ..privacy.curves import POINT_SHARE, at_point
from ..privacy.planning import HALF
from ..results.results import Count, Verdict
from .canaries import stated_claim
from .independence import LOOKED_AT, doubts

TEACHING = 0.25
"""Share of each sample that the event is learnt from."""
MOST_TEACHING = 131_072
"""Outputs of a sample that the event is learnt from, at most."""
FEWEST = 100
"""Outputs of a sample, at least."""
BESIDE = 0.15
"""Part of alpha for each event beside the one learnt."""
POWERS = (0.5, 2.0)
"""Of the probability of the event learnt: those of the events beside it."""
FEWEST_KEPT = 32
"""Draws of each database that an audit left, at least."""
SHORTEST = 7
"""The first power of two at which a count is made."""
AHEAD = 16
"""An event is learnt for a count of so many times the draws that taught it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What two recorded samples say of a claim.

    `epsilon_lower` (nats, of a single step) is exceeded by no true bound except with probability
    `alpha`. Where a `curve` is claimed, `epsilon`, `delta` and `epsilon_lower` are of the point of
    it that was tested, which counts all `distance` steps, and `size_lower` is the bound in its own
    parameter. `sizes` are the outputs of both samples and `count` the hits of the event among those
    that judged, at error probability `level`: of all `events` counted the one of the largest bound.
    `detectable` is the epsilon that an event of probability .5 would have shown with probability
    .9, as in an audit. `remarks` are what in the samples speaks against independence; `dependent`
    says that it proves them to be none, and the verdict is then inconclusive whatever was counted.
    """

    verdict: Verdict
    epsilon: float
    delta: float
    distance: int
    alpha: float
    epsilon_lower: float
    detectable: float
    sizes: tuple[int, int]
    count: Count
    level: float
    events: int = 1
    remarks: tuple[str, ...] = ()
    dependent: bool = False
    curve: Curve | None = None

    @property
    def size_lower(self) -> float:
        """A lower bound on the curve's own parameter; that of epsilon without a curve."""
        if self.curve is None:
            return self.epsilon_lower
        return size_lower(self.curve, self.epsilon_lower, self.delta, self.distance)


def judge_samples(
    first: Outputs,
    second: Outputs,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
    renyi: Sequence[tuple[float, float]] | None = None,
    curve: object = None,
    distance: int = 1,
    alpha: float = 1e-3,
) -> Judged:
    """Test the claim in the direction that the first quarter of both samples proposes.

    One claim: `epsilon` in nats with `delta`, or `mu`, `rho` (with `delta`: approximate), `renyi`
    or the points of a `curve`. Raises InvalidArgument for numbers outside their range and for
    samples of fewer than 100 outputs.
    """
    require(distance=distance, alpha=alpha)
    if epsilon is not None:
        require(epsilon=epsilon, delta=delta or 0.0)
    claim = stated_claim(
        epsilon=epsilon, delta=delta, mu=mu, rho=rho, renyi=renyi, curve=curve, distance=distance
    )
    if claim is None:
        raise InvalidArgument(
            "nobody said what is claimed; give one of epsilon, mu, rho, renyi and curve",
            keywords=("epsilon", "mu", "rho", "renyi", "curve"),
        )
    _require_enough(first, second)
    sizes = len(first), len(second)
    taught = [min(round(TEACHING * size), MOST_TEACHING) for size in sizes]
    judging = sizes[0] - taught[0], sizes[1] - taught[1]
    most = min(taught)
    if claim.curve is not None:
        claim = _at_point(claim, (first[:most], second[:most]), alpha)
    epsilon, delta, distance, steps = claim.epsilon, claim.delta, claim.steps, claim.distance
    strong = at_distance(epsilon, delta, distance)
    choice = learn(
        first[:most], second[:most],
        epsilon=strong[0], delta=strong[1], trials=min(judging), level=alpha,
    )  # fmt: skip
    choices = [choice, *_beside(choice, first[:most], second[:most])]
    levels = [alpha * (1 - BESIDE * (len(choices) - 1)), *[BESIDE * alpha] * (len(choices) - 1)]
    rest = (first[taught[0] :], second[taught[1] :])
    found: list[tuple[float, float, Count]] = []
    for one, level in zip(choices, levels, strict=True):
        x, y = (int(one.event.contains(part).sum()) for part in rest)
        count = counted("recorded", 0, one, (x, y), judging)
        found.append((bound_of((count,), claim, level), level, count))
    bound, level, count = max(found, key=itemgetter(0, 1))
    # Samples of one law have no event that tells them apart, and the one that is counted is luck.
    detectable = refutable_epsilon(
        usual(delta), judging,
        epsilon=epsilon, delta=delta, level=levels[0], distance=distance,
    )  # fmt: skip
    refuted = bound >= epsilon
    unread = first[:LOOKED_AT].unread or second[:LOOKED_AT].unread
    weak = detectable > USEFUL[0] * epsilon + USEFUL[1] or bool(unread)
    doubted = doubts(first, second)
    dependent = any(doubt.sure for doubt in doubted)
    read = () if not unread else (f"{unread}, so nothing can be said of what is in it",)
    return Judged(
        verdict=(
            Verdict.INCONCLUSIVE
            if dependent or (weak and not refuted)
            else Verdict.REFUTED
            if refuted
            else Verdict.NOT_REFUTED
        ),
        epsilon=epsilon,
        delta=delta,
        distance=steps,
        alpha=alpha,
        epsilon_lower=bound,
        detectable=detectable,
        sizes=sizes,
        count=count,
        level=level,
        events=len(found),
        remarks=(*(doubt.sentence for doubt in doubted), *read),
        dependent=dependent,
        curve=claim.curve,
    )


def _at_point(claim: PrivacyClaim, teaching: tuple[Outputs, Outputs], level: float) -> PrivacyClaim:
    """The claim at the point of its curve that the draws which teach look worst against."""
    made = 0

    def draw(chunk: int, size: int) -> tuple[Outputs, Outputs]:
        nonlocal made
        made += size
        one, two = (side[made - size : made] for side in teaching)
        return one, two

    # `at_point` may look at a part of the trials: here at all that teach.
    trials = int(len(teaching[0]) / POINT_SHARE)
    return at_point(claim, Lesson(), draw, trials=trials, level=level)[0]


def _beside(choice: Choice, first: Outputs, second: Outputs) -> Iterator[Choice]:
    """The same threshold nearer and farther out: at the root and the square of its probability."""
    event, sides = choice.event, (second, first) if choice.reversed else (first, second)
    match event:
        case HalfLine():
            sign = 1.0 if event.upper else -1.0
            points = [sign * side.column(event.feature).values for side in sides]
        case AdditiveScore():
            sign, points = 1.0, [event.score(side) for side in sides]
        case _:
            return
    known = np.sort(points[0][np.isfinite(points[0])])
    rate, before = float(event.contains(sides[0]).mean()), {event}
    for power in POWERS:
        place = len(known) - round(rate**power * len(sides[0]))
        if not 0 < place < len(known):
            continue
        beside = _moved(event, sign * float(known[place]))
        x, y = (int(beside.contains(side).sum()) for side in sides)
        if beside in before or not x:
            continue
        before.add(beside)
        size = len(sides[0])
        yield Choice(
            event=beside,
            reversed=choice.reversed,
            predicted=log((x + 0.5) / (y + 0.5)),
            spread=sqrt(1 / (x + 0.5) + 1 / (y + 0.5)),
            rates=((x + 0.5) / (size + 1), (y + 0.5) / (size + 1)),
        )


def _moved(event: HalfLine | AdditiveScore, threshold: float) -> HalfLine | AdditiveScore:
    if isinstance(event, HalfLine):
        return HalfLine(event.feature, threshold, event.upper)
    return replace(event, threshold=threshold)


def _require_enough(first: Outputs, second: Outputs) -> None:
    if min(len(first), len(second)) < FEWEST:
        alone = next((x.rows()[0] for x in (first, second) if len(x) == 1), None)
        if isinstance(alone, list | tuple) and len(alone) >= FEWEST:
            raise InvalidArgument(
                f"the one output recorded is a list of {len(alone):,} values; write one output a "
                "line"
            )
        raise InvalidArgument(
            f"{len(first)} and {len(second)} outputs were recorded; expected at least {FEWEST} of "
            "each database, because a part must be spent on learning what to count"
        )


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
    if size < FEWEST_KEPT:
        raise InvalidArgument(
            f"{size} draws of each database were kept; expected at least {FEWEST_KEPT}, because a "
            "part must be spent on learning what to bet on"
        )
    first, second = first[:size], second[:size]
    null = at_distance(epsilon, delta, distance)
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
    lesson.add(first[:BET_FIRST], second[:BET_FIRST])
    made, taught, batch, highest = BET_FIRST, 0, 0, 0.0
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
