"""One shard of an audit: every `count`-th block of what is counted, and nothing judged.

Every shard makes the search, the lessons and the early attempts again, from the same streams and so
with the same outcome: their cost is a stated part of the budget. The first attempt whose outputs
teach nothing is split. Its looks are planned, so a shard draws its blocks for all of them and stops
there: it needs no count of any other shard, and it does not know what its counts mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..engines.book import Block, Book, Counted
from ..errors import EvidenceFormatError, InvalidArgument
from ..outputs.outputs import CountedEvent
from .counts import BlockRow, Counts


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

    def recall(self, block: Block) -> list[Any] | None:
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
