"""What is tried against a claim on fresh draws: a count of one event, and bets on all outputs.

**An attempt** counts one event, fixed beforehand, and looks at planned times.

Theorem (alpha once). Let attempt j fix its pair, event, side, look sizes and levels as functions
of everything drawn before it, and count on fresh draws. If the levels of all planned looks of all
attempts add up to at most alpha on every path, then a true claim is refuted, or any bound shown is
above the truth, with probability at most alpha. `docs/statistics.md` has the proof. Looks that are
not made, for whatever reason, only remove errors; what they would have cost is spent all the same.

**Bets** are placed on the cells of the outputs. Draws that teach are bet on before they teach, as
far as they are single calls, so no draw is taken from the count. `bounds/wealth.py` has the proof
that a true claim is refuted so with probability at most the level of the bets; one union bound
joins it with the levels of all counts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...mechanisms.model import Moment, Pair, PrivacyClaim
from ..bounds.power import Plan, last_looks
from ..bounds.two_sample import at_distance
from ..bounds.wealth import Bettor, ends, experts, log_gain
from ..choosing.choose import Choice
from ..events.events import Event, Partition, promised
from ..evidence.derive import looks_at, rough_z
from ..results.results import Batch, Bets, Count, Look
from ..sampling.sampling import Sampler
from ..sampling.teaching import Hits, count_also, count_cells

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
BET_FIRST = 12
"""Draws a side of the first lesson."""
GROWTH, FEW_GROWTH = 16, 4
"""A batch has one draw for so many that were made before it. A batch costs 3 ms, so they are fewer
where a count follows whatever is won, and where the mechanism has randomness of its own, whose
batches come from fresh processes each."""
BET_LEAST, BET_OWN_LEAST = 4, 64
"""Draws a side of a batch, at least: the first for seeded mechanisms, the second for others."""
MORE = 1e-9
"""Draws that every cell is taken to have had more."""
REHEARSED = 4
"""A rehearsed batch has one draw for so many before it: 8 cost twice the time for no gain."""
ORDER = 7
"""The seed of the order in which draws are rehearsed."""
Known = tuple[NDArray[np.intp], tuple[int, ...], list[float]]
"""The group of each cell; earlier draws of both sides in each group, and its log-ratio."""


# Attempts. ---------------------------------------------------------------------------------------


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
        return at_distance(claim.epsilon, claim.delta, claim.steps)


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
        elif teach and len(looks) > 1 and rough_z(look.hits, look.trials, test.null) < 0:
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


# Bets. -------------------------------------------------------------------------------------------


def next_size(made: int, *, seeded: bool = True, hasty: bool = True) -> int:
    """Draws a side of the batch that follows `made` others; `hasty` if nothing follows a win."""
    if not (seeded and hasty):
        return max(BET_LEAST if seeded else BET_OWN_LEAST, made // FEW_GROWTH)
    return max(BET_LEAST, made // GROWTH)


def in_groups(
    sampler: Sampler, pair: Pair, made: Partition, batch: Batch
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many outputs of each side lie in each group of cells of a batch, drawn again."""
    groups, bet = np.array(batch.groups), batch.bet
    better = (np.array(bet.f) > np.array(bet.g))[groups]
    cells = count_cells(sampler, pair, made, better, "bet", batch.chunk, batch.draws)
    one, two = (_grouped(groups, side, len(bet.f)) for side in cells)
    return one, two


def _grouped(groups: NDArray[np.intp], counts: NDArray[np.int64], size: int) -> tuple[int, ...]:
    return tuple(np.bincount(groups, counts, size).astype(int).tolist())


@dataclass(slots=True)
class Betting:
    """What has been bet so far against `null`, (epsilon, delta) at the claim's distance.

    Where the claim is a curve, it is bet against the `moments` too that the curve bounds.
    """

    null: tuple[float, float]
    level: float
    moments: tuple[Moment, ...] = ()
    partitions: list[Partition] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    _seen: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))
    _bettor: Bettor = field(init=False)
    _gains: list[tuple[int, float]] = field(default_factory=list)
    log: float = 0.0
    """The logarithm of the wealth."""

    def __post_init__(self) -> None:
        """Nothing has been won."""
        self._bettor = Bettor(*self.null, self.moments)

    def on(self, partition: Partition, seen: NDArray[np.int64]) -> None:
        """Bet on the cells of this partition from now on; `seen` are earlier draws (side, cell)."""
        self.partitions.append(partition)
        self._seen = seen.copy()

    def place(self, chunk: int, draws: int, cells: NDArray[np.int64]) -> bool:
        """Bet on a batch of fresh draws, given by (side, cell); whether the claim is refuted now.

        The bet follows from what came before.
        """
        if not self.batches:
            self._rehearse()
        groups, seen, odds = self._known()
        size = len(seen)
        batch = Batch(
            chunk=chunk,
            draws=draws,
            partition=len(self.partitions) - 1,
            groups=tuple(groups.tolist()),
            bet=self._bettor.bet(seen, odds, draws),
            counts=(_grouped(groups, cells[0], size), _grouped(groups, cells[1], size)),
        )
        self.batches.append(batch)
        self._seen += cells
        self._bettor.learn(batch.counts)
        gain = log_gain(batch.bet, batch.counts, *self.null, self.moments)
        self._gains.append((draws, gain))
        self.log += gain
        return self.log >= -log(self.level)

    def _rehearse(self) -> None:
        """Let the experts bet on the draws seen, as if they came in batches, and win nothing.

        How these went is their part of the money from then on, which is fixed by the past like any
        other choice. Given the counts all orders of the draws are alike, so one is drawn.
        """
        order = np.random.Generator(np.random.Philox(ORDER))
        left, seen = self._seen.copy(), np.zeros_like(self._seen)
        made, size = 0, BET_FIRST
        while (size := min(size, int(left.sum(axis=1).min()))) > 0:
            cells = np.array([order.multivariate_hypergeometric(side, size) for side in left])
            if made:
                groups, known, odds = known_of(self.partitions[-1], seen)
                self._bettor.bet(known, odds, size)
                self._bettor.learn(tuple(_grouped(groups, one, len(known)) for one in cells))
            seen, left, made = seen + cells, left - cells, made + size
            size = max(BET_LEAST, made // REHEARSED)

    def _known(self) -> Known:
        return known_of(self.partitions[-1], self._seen)

    @property
    def watched(self) -> NDArray[np.bool_]:
        """The cells whose outputs speak for the first database, as far as is known."""
        return promised(self.partitions[-1], self._seen) > 0

    @property
    def excess(self) -> float:
        """By how many standard errors draws so far show a moment too large; -inf for no moments."""
        if not self.moments or not self.partitions:
            return -inf
        return moments_beyond(self.partitions[-1], self._seen, self.moments)

    @property
    def needed(self) -> float:
        """Draws a side until the wealth refutes, if it grows as on the latest half of the draws."""
        half, draws, gain = sum(size for size, _ in self._gains) / 2, 0, 0.0
        for size, won in reversed(self._gains):
            if draws >= half:
                break
            draws, gain = draws + size, gain + won
        return (-log(self.level) - self.log) * draws / gain if gain > 0 else inf

    @property
    def bets(self) -> Bets:
        """What the wealth rests on; partitions that nothing was bet on are left out."""
        used = sorted({batch.partition for batch in self.batches})
        batches = (replace(one, partition=used.index(one.partition)) for one in self.batches)
        partitions = tuple(self.partitions[place] for place in used)
        return Bets(level=self.level, partitions=partitions, batches=tuple(batches))


def known_of(partition: Partition, cells: NDArray[np.int64]) -> Known:
    """What draws by (side, cell) say of the groups of a partition's cells."""
    seen, odds = cells.sum(axis=0), promised(partition, cells)
    groups = _groups(seen, np.argsort(-odds, kind="stable"))
    size = int(groups.max()) + 1
    # Where nothing was seen the weight is a little, so that the mean is one of something.
    weight = np.bincount(groups, seen + MORE, size)
    mean = np.bincount(groups, odds * (seen + MORE), size) / weight
    return groups, _grouped(groups, seen, size), mean.tolist()


def moments_beyond(
    partition: Partition, cells: NDArray[np.int64], moments: tuple[Moment, ...]
) -> float:
    """By how many standard errors draws by (side, cell) show one of the moments too large."""
    _, seen, odds = known_of(partition, cells)
    known = np.asarray(seen, dtype=np.float64), np.asarray(odds, dtype=np.float64)
    return experts(*known, moments).excess * sqrt(sum(seen) / 2)


def _groups(seen: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The group of each cell: those in order between two ends that an expert bets on are one."""
    size = len(order)
    if size < 2:
        return np.zeros(size, dtype=np.intp)
    sorted_ends = ends(seen[order].astype(float))
    starts = sorted({top for top, _ in sorted_ends} | {size - low for _, low in sorted_ends})
    groups = np.empty(size, dtype=np.intp)
    groups[order] = np.searchsorted(starts, np.arange(size), side="right")
    return groups
