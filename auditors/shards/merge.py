"""Counts of shards, put together: the audit is run again, and where it counts, it looks up.

Theorem. A merged audit is the audit of one process, bit for bit.

Proof. An audit of one process is a function of its request and of the hits of the blocks it counts.
Which blocks it counts, and of which events, follows from the request and the hits of earlier
blocks. The hits of a block are a function of (mechanism, event, block), since the block names its
random stream. By induction over the counts, a run that is handed the right hits of a block instead
of drawing it asks for the same next block. []

So nothing new has to be said about validity: a merged verdict errs with the probability that the
verdict of one process errs. What the theorem needs is that the hits are right. Here, a block
that this machine draws anyway, because its outputs teach, is compared with what the shard said.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ..engines.book import Block, Book, Counted
from ..errors import HarnessError, InvalidArgument
from ..outputs.outputs import CountedEvent
from .counts import BlockRow, Contradiction, Counts
from .shard import Shard


class Collected:
    """A book of what shards counted. Its memory is ten bytes for each block of the plan."""

    def __init__(self, inner: Book | None = None) -> None:
        """Nothing was counted. `inner` is a checkpoint for what is drawn here, if there is one."""
        self.inner = inner
        self.counts = Counts()
        self.sources: dict[Shard, str] = {}
        self.used = False
        self._heads: set[tuple[str, int, int, str, int]] = set()

    def add(self, shard: Shard, source: str, blocks: Iterable[tuple[BlockRow, int, int]]) -> int:
        """Enter the counts of a shard, read from `source`; how many blocks were there already.

        Raises Contradiction, which names the source, where a block has other hits than before.
        """
        again = 0
        for row, place, hits in blocks:
            try:
                again += not self.counts.put_at(row, place, hits)
            except Contradiction as error:
                raise Contradiction(
                    f"{source} contradicts a file given before it: {error}; one of them was edited "
                    "or drawn by another version, so draw both shards again"
                ) from None
            self._heads.add((row.event, row.seed, row.pair, row.stage, row.chunk))
        self.sources[shard] = source
        return again

    def ahead(self, event: CountedEvent, blocks: Sequence[Block], count: Counted) -> None:
        """Require every block of an attempt that was split; InvalidArgument names missing shards.

        An attempt that no shard has anything of is drawn here: it is part of what every shard
        repeats, or follows from what the shards found.
        """
        name = self.counts.name(event)
        heads = {(name, b.seed, b.pair, b.stage, b.chunk) for b in blocks}
        if not heads & self._heads:
            return
        self.used = True
        missing = [
            place for place, block in enumerate(blocks) if self.counts.get(name, block) is None
        ]
        if missing:
            raise InvalidArgument(self._missing(missing, len(blocks)))

    def _missing(self, places: Sequence[int], planned: int) -> str:
        counts = {shard.count for shard in self.sources}
        absent = [
            str(shard)
            for count in sorted(counts)
            for number in sorted({place % count + 1 for place in places})
            if (shard := Shard(number, count)) not in self.sources
        ]
        named = ", ".join(absent[:12]) + (f" and {len(absent) - 12} more" if absent[12:] else "")
        said = f"shard{'s' if len(absent) > 1 else ''} {named}" if absent else "some of the counts"
        return (
            f"{said} {'are' if len(absent) != 1 else 'is'} missing ({len(places):,} of "
            f"{planned:,} blocks were not counted); give all files, or draw these shards again"
        )

    def known(self, event: CountedEvent, block: Block) -> int | None:
        """Hits of this block, if a shard counted it, or the checkpoint has it."""
        found = self.counts.get(self.counts.name(event), block)
        return self.inner.known(event, block) if found is None and self.inner else found

    def enter(self, event: CountedEvent, block: Block, hits: int) -> None:
        """A block that was drawn here: it must have the hits that a shard said, if one did."""
        known = self.counts.get(self.counts.name(event), block)
        if known is None and self.inner is not None:
            self.inner.enter(event, block, hits)
        if known is not None and known != hits:
            owners = [
                source for shard, source in self.sources.items() if self._may_own(shard, block)
            ]
            raise HarnessError(
                f"{' or '.join(owners[:3]) or 'a shard'} says {known:,} hits of a block that has "
                f"{hits:,} when it is drawn again here: it was edited, or drawn by another version "
                "of the mechanism, dpwitness or numpy; draw that shard again"
            )

    def recall(self, block: Block) -> list[Any] | None:
        """What the calls of this block returned, if the checkpoint has it."""
        return None if self.inner is None else self.inner.recall(block)

    def remember(self, block: Block, returned: list[object]) -> None:
        """What the calls of a block returned that was drawn here, for the checkpoint."""
        if self.inner is not None:
            self.inner.remember(block, returned)

    def _may_own(self, shard: Shard, block: Block) -> bool:
        return True if shard.count == 1 else self._place(block) % shard.count == shard.number - 1

    def _place(self, block: Block) -> int:
        """The place of a block among those of its attempt's first look, which alone teach."""
        return block.block + block.side * self._first_side(block)

    def _first_side(self, block: Block) -> int:
        rows = [
            (row, place)
            for row, place, _ in self.counts
            if (row.pair, row.stage, row.chunk, row.side) == (*block[1:3], block.chunk, 0)
        ]
        return 1 + max((place for _, place in rows), default=-1)
