"""Hits by block, drawn in shards and put together: the audit is run again, and looks up its counts.

Hits are held in memory, ten bytes for a block, however often it came and in what order. One shard
of an audit draws every `count`-th block of what is counted, and judges nothing. Every shard makes
the search, the lessons and the early attempts again, from the same streams and so with the same
outcome: their cost is a stated part of the budget. The first attempt whose outputs teach nothing is
split. Its looks are planned, so a shard draws its blocks for all of them and stops there: it needs
no count of any other shard, and it does not know what its counts mean.

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

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from ..engines.engine import Book, Counted
from ..errors import EvidenceFormatError, HarnessError, InvalidArgument
from ..outputs.encoding import canonical
from ..outputs.outputs import CountedEvent
from ..workers.streams import Block

UNKNOWN = -1
"""Stands for a block that was not drawn; no count of hits is negative."""
PAGE = 64
"""Blocks that are kept side by side: a block costs no more than a page, wherever a file puts it."""
EMPTY = array("q", [UNKNOWN] * PAGE)


class BlockRow(NamedTuple):
    """Blocks of one event that differ only in their number within side and chunk."""

    event: str
    seed: int
    pair: int
    stage: str
    side: int
    chunk: int
    size: int


class Contradiction(HarnessError):
    """Two counts of one block differ."""


class Counts:
    """Hits of blocks. A block entered again must have the hits it had."""

    def __init__(self) -> None:
        """Nothing is known."""
        self._rows: dict[BlockRow, dict[int, array[int]]] = {}
        self._names: dict[int, tuple[CountedEvent, str]] = {}

    def name(self, event: CountedEvent) -> str:
        """The event as 16 hex digits; remembered, since every block of a count asks."""
        found = self._names.get(id(event))
        if found is None or found[0] is not event:
            digest = blake2b(canonical(event.to_json()), digest_size=8)
            found = self._names[id(event)] = event, digest.hexdigest()
        return found[1]

    def get(self, event: str, block: Block) -> int | None:
        """The hits of a block, None where they are unknown."""
        page = self._rows.get(row_of(event, block), {}).get(block.block // PAGE)
        hits = UNKNOWN if page is None else page[block.block % PAGE]
        return None if hits == UNKNOWN else hits

    def put(self, event: str, block: Block, hits: int) -> bool:
        """Enter a block; whether it was unknown before. Raises Contradiction for other hits."""
        return self.put_at(row_of(event, block), block.block, hits)

    def put_at(self, row: BlockRow, place: int, hits: int) -> bool:
        """The same, for the block at this place of a row."""
        pages = self._rows.get(row)
        if pages is None:
            pages = self._rows[row] = {}
        number, inside = divmod(place, PAGE)
        page = pages.get(number)
        if page is None:
            page = pages[number] = array("q", EMPTY)
        if page[inside] == UNKNOWN:
            page[inside] = hits
            return True
        if page[inside] != hits:
            raise Contradiction(
                f"block {place} of {row.stage} {row.chunk}, side {row.side + 1}, was counted with "
                f"{page[inside]:,} and with {hits:,} hits in {row.size:,} draws"
            )
        return False

    def __iter__(self) -> Iterator[tuple[BlockRow, int, int]]:
        """(row, place, hits) of every block that is known, those of a row by their places."""
        for row, pages in self._rows.items():
            for number in sorted(pages):
                for inside, hits in enumerate(pages[number]):
                    if hits != UNKNOWN:
                        yield row, PAGE * number + inside, hits

    def __len__(self) -> int:
        """How many blocks are known."""
        return sum(map(self._known, self._rows))

    @property
    def draws(self) -> int:
        """Draws in the blocks that are known."""
        return sum(row.size * self._known(row) for row in self._rows)

    def _known(self, row: BlockRow) -> int:
        return sum(PAGE - page.count(UNKNOWN) for page in self._rows[row].values())


def row_of(event: str, block: Block) -> BlockRow:
    """The row that a block stands in."""
    return BlockRow(event, *block[:5], block.size)


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `count`, from 1. Raises InvalidArgument for numbers outside that."""

    number: int
    count: int

    def __post_init__(self) -> None:
        """Reject a shard that there is none of."""
        if not 1 <= self.number <= self.count:
            raise InvalidArgument(
                f"a shard is i/n with i from 1 to n, got {self.number}/{self.count}",
                keywords=("shard",),
            )

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.number}/{self.count}"

    def own(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """The blocks that this shard draws."""
        return blocks[self.number - 1 :: self.count]


class ShardDrawn(BaseException):
    """All blocks of the shard are counted."""


class ShardBook:
    """A book that takes the first attempt that can be split as the work of the shard."""

    def __init__(self, shard: Shard, inner: Book | None = None) -> None:
        """`inner` is a checkpoint, where there is one."""
        self.shard, self.inner = shard, inner
        self.counts = Counts()
        self.planned = 0
        """Blocks of all shards together."""

    def ahead(self, event: CountedEvent, blocks: Sequence[Block], count: Counted) -> None:
        """Draw the blocks of this shard; then ShardDrawn."""
        name = self.counts.name(event)
        self.planned = len(blocks)
        missing = []
        for block in self.shard.own(blocks):
            hits = self.known(event, block)
            if hits is None:
                missing.append(block)
            else:
                self.counts.put(name, block, hits)
        for place, hits in count(missing):
            self.counts.put(name, missing[place], hits)
            self.enter(event, missing[place], hits)
        raise ShardDrawn

    def known(self, event: CountedEvent, block: Block) -> int | None:
        """Hits of this block, if the checkpoint has them."""
        return None if self.inner is None else self.inner.known(event, block)

    def enter(self, event: CountedEvent, block: Block, hits: int) -> None:
        """A block was counted."""
        if self.inner is not None:
            self.inner.enter(event, block, hits)

    def recall(self, block: Block) -> list[object] | None:
        """What the calls of this block returned, if the checkpoint has it."""
        return None if self.inner is None else self.inner.recall(block)

    def remember(self, block: Block, returned: list[object]) -> None:
        """What the calls of a block returned, for the checkpoint; it is no part of a shard."""
        if self.inner is not None:
            self.inner.remember(block, returned)

    def to_json(self) -> dict[str, object]:
        """Rows of hits: every block of a row from `first` on, `step` apart."""
        parts: dict[BlockRow, list[tuple[int, int]]] = {}
        for row, place, hits in self.counts:
            parts.setdefault(row, []).append((place, hits))
        written = []
        for row, found in parts.items():
            places = [place for place, _ in found]
            step = places[1] - places[0] if len(places) > 1 else self.shard.count
            assert places == list(range(places[0], places[0] + step * len(places), step))
            written.append(
                {
                    **row._asdict(),
                    "pair": f"{row.pair:032x}",
                    "first": places[0],
                    "step": step,
                    "hits": [hits for _, hits in found],
                }
            )
        return {"planned": self.planned, "rows": written}


LARGEST = 2**53
"""No number of a row is larger, but those that name a stream."""


def blocks_in(data: Mapping[str, Any], count: int) -> Iterator[tuple[BlockRow, int, int]]:
    """(row, place, hits) of every block in what `ShardBook.to_json` wrote as one shard of `count`.

    Raises EvidenceFormatError for anything else.
    """
    try:
        for part in data["rows"]:
            event, stage, pair = part["event"], part["stage"], part["pair"]
            if not all(isinstance(text, str) and len(text) <= 100 for text in (event, stage, pair)):
                raise ValueError("an event, a stage and a pair are short texts")
            seed, side, chunk, size, first, step = (
                _whole(part[key]) for key in ("seed", "side", "chunk", "size", "first", "step")
            )
            if max(side, chunk, size, first) > LARGEST or step != count:
                raise ValueError(f"blocks are numbered from 0, and a shard of {count} has each "
                                 f"{count}th of them")  # fmt: skip
            row = BlockRow(event, seed, int(pair, 16), stage, side, chunk, size)
            for index, hits in enumerate(part["hits"]):
                if not (type(hits) is int and 0 <= hits <= size):
                    raise ValueError(f"{hits!r:.40} hits in {size} draws")
                yield row, first + step * index, hits
    except (KeyError, TypeError, ValueError) as error:
        raise EvidenceFormatError(f"its counts cannot be read ({error})") from None


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"expected a whole number from 0, got {value!r:.40}")
    return value


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

    def recall(self, block: Block) -> list[object] | None:
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
