"""The bets of one judging: on which cells of the outputs, in what order, and what they have won.

Draws that teach are bet on before they teach, as far as they are single calls, so no draw is taken
from the count. `bounds/wealth.py` has the proof that a true claim is refuted so with probability at
most the level of the bets; one union bound joins it with the levels of all counts. `share` says
which part of the error probability the bets have.
"""

from dataclasses import dataclass, field, replace
from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import ConcentratedCurve, Moment, Pair, PrivacyClaim, RenyiCurve
from ..bounds.wealth import Bettor, ends, experts, log_gain
from ..events.events import Partition, promised
from ..results.results import Batch, Bets
from ..sampling.sampling import Sampler
from ..sampling.teaching import count_cells

FIRST = 12
"""Draws a side of the first lesson."""
GROWTH, FEW_GROWTH = 16, 4
"""A batch has one draw for so many that were made before it. A batch costs 3 ms, so they are fewer
where a count follows whatever is won, and where the mechanism has randomness of its own, whose
batches come from fresh processes each."""
LEAST, OWN_LEAST = 4, 64
"""Draws a side of a batch, at least: the first for seeded mechanisms, the second for others."""
BESIDE, HALF, MOST = 0.1, 0.5, 0.9
"""Part of the error probability for the bets: beside a count that gives the bound, against a curve,
of which bets see what no event shows, and where nothing follows a refutation."""
NOTHING = 1e-9
"""Draws that every cell is taken to have had more."""
REHEARSED = 4
"""A rehearsed batch has one draw for so many before it: 8 cost twice the time for no gain."""
ORDER = 7
"""The seed of the order in which draws are rehearsed."""

Known = tuple[NDArray[np.intp], tuple[int, ...], list[float]]
"""The group of each cell; earlier draws of both sides in each group, and its log-ratio."""


def share(
    precision: float | None, claim: PrivacyClaim, *, seeded: bool, bounding: bool = False
) -> float:
    """The part of the error probability that the bets have.

    None where the largest bound is wanted, which is counted. Deciding draws of a mechanism with
    randomness of its own come from several fresh processes a count, so it is bet against only
    where the claim is about moments, which no count shows; mu is about events.
    """
    shared = seeded or isinstance(claim.curve, ConcentratedCurve | RenyiCurve)
    if bounding or precision == 0 or not shared:
        return 0.0
    if precision is None:
        return MOST
    return BESIDE if claim.curve is None else HALF


def next_size(made: int, *, seeded: bool = True, hasty: bool = True) -> int:
    """Draws a side of the batch that follows `made` others; `hasty` if nothing follows a win."""
    if not (seeded and hasty):
        return max(LEAST if seeded else OWN_LEAST, made // FEW_GROWTH)
    return max(LEAST, made // GROWTH)


def in_groups(
    sampler: Sampler, pair: Pair, made: Partition, batch: Batch
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many outputs of each side lie in each group of cells of a batch, drawn again."""
    groups, bet = np.array(batch.groups), batch.bet
    better = (np.array(bet.f) > np.array(bet.g))[groups]
    cells = count_cells(sampler, pair, made, better, "bet", batch.chunk, batch.draws)
    one, two = (_grouped(groups, side, len(bet.f)) for side in cells)
    return one, two


def _grouped(groups: NDArray[np.intp], counts: NDArray[Any], size: int) -> tuple[int, ...]:
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
        made, size = 0, FIRST
        while (size := min(size, int(left.sum(axis=1).min()))) > 0:
            cells = np.array([order.multivariate_hypergeometric(side, size) for side in left])
            if made:
                groups, known, odds = known_of(self.partitions[-1], seen)
                self._bettor.bet(known, odds, size)
                self._bettor.learn(tuple(_grouped(groups, one, len(known)) for one in cells))
            seen, left, made = seen + cells, left - cells, made + size
            size = max(LEAST, made // REHEARSED)

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
    weight = np.bincount(groups, seen + NOTHING, size)
    mean = np.bincount(groups, odds * (seen + NOTHING), size) / weight
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
