"""Judging a privacy claim on one pair: fresh draws, events chosen only from earlier ones.

`judge` runs two tests on the same chunks and splits the error probability between them: an
e-process that may stop after any chunk, and the exact two-sample test combined over doubling
chunks with weights fixed beforehand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

from ...mechanisms.model import PrivacyClaim
from ..bounds import chunked, two_sample
from ..bounds.e_process import mix_log_wealth, single_event_log_e
from ..bounds.grid import STEP
from ..events.choose import Choice, learn
from ..events.pilot import usable
from ..outputs.outputs import Outputs
from ..results import Count, Pair
from ..sampling.sampling import Sampler

__all__ = [
    "E_PROCESS_SHARE",
    "Judgement",
    "Test",
    "bound_of",
    "counted",
    "growth",
    "judge",
    "schedule",
]

E_PROCESS_SHARE = 0.1
"""Share of alpha that pays for stopping early; the rest pays for the bound at the end."""

CAUTION = (0.0, 0.3, 0.6)
"""How far the experts of the e-process shrink the predicted rates towards equality."""

FIRST = 64
AHEAD = 16
POOL = 131_072
LOOKS = 6
PICTURE_STEP = 0.02

ONE_SHOT = ("confirm", "recheck")
"""Stages of a single count, whose event was fixed before the stage began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """One claim, the draws allowed to judge it and the error probability allowed."""

    claim: PrivacyClaim
    trials: int
    alpha: float

    @property
    def null(self) -> tuple[float, float]:
        """(epsilon, delta) of the inequality at the claim's distance."""
        claim = self.claim
        return two_sample.at_distance(claim.epsilon, claim.delta, claim.distance)

    def learn(self, first: Outputs, second: Outputs) -> Choice:
        """The event to judge next, from draws that will not judge it.

        It is the best for a test of 16 times the draws it is learnt on, at most all trials: an
        event that pays off later still is better learnt from more draws, while there are more.
        """
        epsilon, delta = self.null
        full = len(first) >= _pool(first, second)
        trials = self.trials if full else min(self.trials, AHEAD * len(first))
        return learn(first, second, epsilon=epsilon, delta=delta, trials=trials, level=self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the judged draws say, and the draws the next event may be learnt from."""

    counts: tuple[Count, ...]
    level: float
    epsilon_lower: float
    log_wealth: float
    decided_after: int | None
    complete: bool
    draws: int
    choice: Choice
    first: Outputs
    second: Outputs

    def refutes(self, test: Test) -> bool:
        """Whether either test rejected the claim."""
        return self.decided_after is not None or self.epsilon_lower >= test.claim.epsilon


def schedule(trials: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes of the chunks that only teach, and of those that are judged.

    Judged chunks double up to half of the trials; what is left before them teaches, in batches
    that double from 64 so that a gross violation shows after a few hundred draws.
    """
    judged: list[int] = []
    left = trials
    while len(judged) < LOOKS and left // 2 >= FIRST // 2:
        judged.insert(0, left - left // 2 if not judged else left // 2)
        left -= judged[0]
    teaching: list[int] = []
    while left > 0:
        size = min(left, sum(teaching) or FIRST)
        if left - size < FIRST // 2:
            size = left
        teaching.append(size)
        left -= size
    return tuple(teaching), tuple(judged)


def judge(
    sampler: Sampler,
    pair: Pair,
    test: Test,
    *,
    taught: tuple[Outputs, Outputs] | None = None,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Judgement:
    """Test the claim on the pair, in both directions, on the streams of stage "judge".

    `taught` are draws made before, from which the first event may be learnt. A true claim is
    refuted with probability at most `test.alpha`: E_PROCESS_SHARE of it by Ville's inequality,
    the rest by the theorem in `chunked`.
    """
    teaching, judged = schedule(test.trials)
    first, second = taught or (Outputs.of_list([]), Outputs.of_list([]))
    choice = test.learn(first, second) if len(first) else None
    learnt_on = len(first)
    experts = [0.0] * len(CAUTION)
    highest, draws, decided = 0.0, 0, None
    counts: list[Count] = []
    complete = True
    for chunk, size in enumerate(teaching + judged):
        if out_of_time():
            complete = False
            break
        keep = min(size, max(0, _pool(first, second) - len(first)))
        event = choice.event if choice else None
        hits, new_first, new_second = sampler.count(pair, event, "judge", chunk, size, keep)
        draws += size
        if choice is not None:
            count = counted("judge", chunk, choice, hits, (size, size))
            experts = [
                wealth + _log_e(count, caution, test)
                for wealth, caution in zip(experts, CAUTION, strict=True)
            ]
            highest = max(highest, mix_log_wealth(experts))
            if chunk >= len(teaching):
                counts.append(count)
        first, second = _joined(first, new_first), _joined(second, new_second)
        if highest >= log(1 / (E_PROCESS_SHARE * test.alpha)):
            decided = draws
            break
        if choice is None or len(first) >= _pace(first) * learnt_on:
            choice, learnt_on = test.learn(first, second), len(first)
    if choice is None or (decided is not None and len(first) >= 1.5 * learnt_on):
        choice = test.learn(first, second)
    level = (1 - E_PROCESS_SHARE) * test.alpha
    bound = test.claim.epsilon if decided is not None else -inf
    if decided is None and counts:
        bound = bound_of(tuple(counts), test, level)
    return Judgement(
        counts=tuple(counts),
        level=level,
        epsilon_lower=bound,
        log_wealth=highest,
        decided_after=decided,
        complete=complete,
        draws=draws,
        choice=choice,
        first=first,
        second=second,
    )


def _pace(outputs: Outputs) -> int:
    """How many times more draws are worth learning from again; wide outputs cost more to learn."""
    return 2 if len(outputs.paths()) <= 1 else 8


def _pool(first: Outputs, second: Outputs) -> int:
    """How many draws a side are kept to learn from."""
    return min(POOL, usable((first, second))) if len(first) and len(second) else POOL


def _joined(old: Outputs, new: Outputs) -> Outputs:
    if not len(new):
        return old
    return Outputs.concatenate([old, new]) if len(old) else new


def counted(
    stage: str, chunk: int, choice: Choice, hits: tuple[int, int], trials: tuple[int, int]
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
    )


def _log_e(count: Count, caution: float, test: Test) -> float:
    epsilon, delta = test.null
    p, q = count.rates
    middle = (p + q) / 2
    rates = (p + caution * (middle - p), q + caution * (middle - q))
    oriented = count.oriented
    return single_event_log_e(oriented.hits, oriented.trials, rates, epsilon=epsilon, delta=delta)


def bound_of(counts: tuple[Count, ...], test: Test, level: float) -> float:
    """The bound that counts give: one confirmed count, or the judged chunks of the schedule."""
    if counts[0].stage in ONE_SHOT:
        return _one_shot(counts[0], test, level)
    _, judged = schedule(test.trials)
    return _combined(counts, test, level, tuple((size, size) for size in judged))


def _one_shot(count: Count, test: Test, level: float) -> float:
    claim, oriented = test.claim, count.oriented
    return two_sample.epsilon_lower(
        oriented.hits,
        oriented.trials,
        delta=claim.delta,
        level=level,
        distance=claim.distance,
        also=(claim.epsilon,),
    )


def _combined(
    counts: tuple[Count, ...],
    test: Test,
    level: float,
    planned: tuple[tuple[int, int], ...],
    grid_step: float = STEP,
) -> float:
    claim = test.claim
    return chunked.epsilon_lower(
        [count.oriented for count in counts],
        delta=claim.delta,
        level=level,
        distance=claim.distance,
        planned=planned,
        grid_step=grid_step,
        also=(claim.epsilon,),
    )


def growth(counts: tuple[Count, ...], test: Test, level: float) -> tuple[tuple[int, float], ...]:
    """(draws a side, bound) had the judged draws ended after some chunks; for a picture only."""
    points = []
    for last in range(len(counts), 0, -3):
        draws = sum(count.trials[0] for count in counts[:last])
        planned = tuple(c.trials for c in counts[:last])
        bound = _combined(counts[:last], test, level, planned, grid_step=PICTURE_STEP)
        points.append((draws, max(0.0, bound)))
    return tuple(reversed(points))
