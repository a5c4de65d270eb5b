"""Draws that teach, and what of them comes back from where they were made.

A lesson looks at few draws value by value: the first, which fix its bins, and the latest. Of all
others it takes counts, which are made by who draws. So what travels is bounded whatever is drawn,
and what is learnt is the same.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Pair
from ..events.events import Event, Partition
from ..events.ledger import Ledger, Tallies
from ..outputs.outputs import Outputs
from ..workers.streams import Block
from .blocks import WHOLE, Answer, Ask
from .sampling import Sampler, halves

Hits = tuple[int, int]


class Pupil(Protocol):
    """What is taught: a `Lesson` of `choosing.choose`, as far as it matters here."""

    @property
    def draws(self) -> int:
        """Draws a side so far."""

    @property
    def whole(self) -> int:
        """Draws a side that must come as they are, from the first on."""

    @property
    def unseen(self) -> bool:
        """Whether nobody knows yet how wide an output is."""

    @property
    def recent(self) -> int:
        """Draws a side that must come as they are, of the latest."""

    def add(self, first: Outputs, second: Outputs) -> None:
        """Teach draws as they are."""

    def blank(self) -> Ledger:
        """What makes counts of other draws, where they are made."""

    def enter(self, first: Sequence[Tallies], second: Sequence[Tallies]) -> None:
        """Teach draws by their counts."""


def teach(
    sampler: Sampler,
    pair: Pair,
    event: Event | None,
    stage: str,
    chunk: int,
    draws: int,
    lesson: Pupil,
    *,
    shown: Callable[[], int] = lambda: 0,
    later: int = 0,
    listen: Callable[[Outputs, Outputs], None] = lambda first, second: None,
    partition: Partition | None = None,
    watched: NDArray[np.bool_] | None = None,
) -> tuple[Hits, NDArray[np.int64]]:
    """Teach the lesson `draws` draws a side, and count how many of each side lie in the event.

    The second of what comes back are the draws in each cell of the partition, if there is one, of
    shape (2 sides, cells). Draws that may come in clumps are watched for them in the event and in
    the `watched` cells.

    As many as `shown` says come as they are, and `listen` is given those that do, in
    order. `later` says how many more draws a side follow before the lesson is asked for an event.
    """
    blocks = sampler.blocks(pair, stage, chunk, draws)
    size = partition.size if partition is not None else 0
    cells: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = [], []
    """Of every block of each side, the draws in each cell."""
    stops = np.cumsum([block.size for block in halves(blocks)[0]])
    starts = np.concatenate([[0], stops[:-1]])

    def whole(first: Sequence[Outputs], second: Sequence[Outputs]) -> None:
        if first:
            sides = Outputs.concatenate(first), Outputs.concatenate(second)
            if partition is not None:
                for known, side in zip(cells, (first, second), strict=True):
                    known.extend(map(partition.counts, side))
            lesson.add(*sides)
            listen(*sides)

    count = len(stops)
    before = lesson.draws
    hits: tuple[list[int], list[int]] = [], []

    def come(
        parts: Sequence[int | None], start: int, ask: Ask | None = None
    ) -> tuple[Sequence[Answer], Sequence[Answer]]:
        found, sides = _asked(sampler, pair, event, blocks, parts, start, ask)
        for known, more in zip(hits, halves(found), strict=True):
            known.extend(more)
        return sides

    # The first block tells how wide an output is, and so how many draws must come as they are.
    head = 0
    while (end := int(np.searchsorted(starts, max(lesson.whole, shown())))) > head:
        step = head + 1 if lesson.unseen else end
        whole(*come([WHOLE] * (step - head), head))
        head = step
    if head < count:
        tail = max(0, lesson.recent - later)
        last = max(head, int(np.searchsorted(stops, draws - tail, side="right")))
        parts = [int(before + start) for start in starts[head:last]] + [WHOLE] * (count - last)
        ask = partial(_tallied, lesson.blank(), partition)
        one, two = come(parts, head, ask)
        told = [side[: last - head] for side in (one, two)]
        lesson.enter(*([tallies for tallies, _ in side] for side in told))
        for known, side in zip(cells, told, strict=True):
            known.extend(counts for _, counts in side)
        whole(one[last - head :], two[last - head :])
    seen = np.array([sum(side, np.zeros(size, dtype=np.int64)) for side in cells])
    if event is None:
        return (0, 0), seen
    others = [] if watched is None else [[int(n[watched].sum()) for side in cells for n in side]]
    return sampler.total(blocks, [*hits[0], *hits[1]], *others), seen


def _tallied(
    blank: Ledger, partition: Partition | None, outputs: Outputs, start: int
) -> tuple[Tallies, NDArray[np.int64]]:
    none = np.zeros(0, dtype=np.int64)
    counts = none if partition is None else partition.counts(outputs)
    return blank.tallies(outputs, start), counts


def count_cells(
    sampler: Sampler,
    pair: Pair,
    partition: Partition,
    watched: NDArray[np.bool_],
    stage: str,
    chunk: int,
    draws: int,
) -> NDArray[np.int64]:
    """Of `draws` draws of each side, those in each cell: shape (2 sides, cells).

    Draws that may come in clumps are watched for them in the `watched` cells.
    """
    blocks = sampler.blocks(pair, stage, chunk, draws)
    ask = partial(_in_cells, partition)
    _, found = sampler.results(pair, None, blocks, [0] * len(blocks), ask)
    sampler.total(blocks, [int(counts[watched].sum()) for counts in found])
    return np.array([np.sum(side, axis=0) for side in halves(found)])


def _in_cells(partition: Partition, outputs: Outputs, first: int) -> NDArray[np.int64]:
    return partition.counts(outputs)


def count_also(
    sampler: Sampler,
    pair: Pair,
    event: Event | None,
    also: Sequence[Event | Partition],
    stage: str,
    chunk: int,
    draws: int,
    first: int,
) -> tuple[Hits, NDArray[np.int64]]:
    """Hits of the event among `draws` draws a side, and of others among the `first` of them.

    The second has a row for each of the others, or for each cell of a partition, and 2 sides.
    """
    blocks = sampler.blocks(pair, stage, chunk, draws)
    sizes = [block.size for block in halves(blocks)[0]]
    left = first - np.cumsum([0, *sizes[:-1]])
    parts = [min(size, int(n)) if n > 0 else None for size, n in zip(sizes, left, strict=True)]
    hits, sides = _asked(sampler, pair, event, blocks, parts, 0, partial(_hits_of, tuple(also)))
    found = [np.sum([n for n in side if n is not None], axis=0) for side in sides]
    return (sampler.total(blocks, hits) if event is not None else (0, 0)), np.stack(found, axis=1)


def _hits_of(also: Sequence[Event | Partition], outputs: Outputs, first: int) -> NDArray[np.int64]:
    some = outputs[:first]
    found = [
        one.counts(some)
        if isinstance(one, Partition)
        else np.array([np.count_nonzero(one.contains(some))])
        for one in also
    ]
    return np.concatenate(found).astype(np.int64)


def _asked(
    sampler: Sampler,
    pair: Pair,
    event: Event | None,
    blocks: Sequence[Block],
    parts: Sequence[int | None],
    start: int,
    ask: Ask | None = None,
) -> tuple[list[int], tuple[Sequence[Answer], Sequence[Answer]]]:
    """Hits and answers of as many blocks of each side as there are parts, from `start` on."""
    some = [b for side in halves(blocks) for b in side[start : start + len(parts)]]
    hits, answers = sampler.results(pair, event, some, [*parts, *parts], ask)
    return hits, halves(answers)
