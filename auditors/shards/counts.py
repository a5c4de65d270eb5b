"""Hits by block, in memory: ten bytes for a block, however often it came and in what order."""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from ..engines.book import Block, name_of
from ..errors import HarnessError
from ..outputs.encoding import canonical
from ..outputs.outputs import CountedEvent

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
            found = self._names[id(event)] = event, name_of(event, canonical)
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
