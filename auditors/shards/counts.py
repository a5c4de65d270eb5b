"""Hits by block, in memory: eight bytes for a block, however often it came and in what order."""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from ..engines.book import Block, name_of
from ..errors import HarnessError
from ..events.events import Event
from ..outputs.encoding import canonical

UNKNOWN = -1


class Row(NamedTuple):
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
        self._rows: dict[Row, array[int]] = {}
        self._names: dict[int, tuple[Event, str]] = {}

    def name(self, event: Event) -> str:
        """The event as 16 hex digits; remembered, since every block of a count asks."""
        found = self._names.get(id(event))
        if found is None or found[0] is not event:
            found = self._names[id(event)] = event, name_of(event, canonical)
        return found[1]

    def get(self, event: str, block: Block) -> int | None:
        """The hits of a block, None where they are unknown."""
        row = self._rows.get(row_of(event, block))
        if row is None or block.block >= len(row) or row[block.block] == UNKNOWN:
            return None
        return row[block.block]

    def put(self, event: str, block: Block, hits: int) -> bool:
        """Enter a block; whether it was unknown before. Raises Contradiction for other hits."""
        return self.put_at(row_of(event, block), block.block, hits)

    def put_at(self, row: Row, place: int, hits: int) -> bool:
        """The same, for the block at this place of a row."""
        known = self._rows.get(row)
        if known is None:
            known = self._rows[row] = array("q")
        if place >= len(known):
            known.extend([UNKNOWN] * (max(place + 1, 2 * len(known)) - len(known)))
        if known[place] == UNKNOWN:
            known[place] = hits
            return True
        if known[place] != hits:
            raise Contradiction(
                f"block {place} of {row.stage} {row.chunk}, side {row.side + 1}, was counted with "
                f"{known[place]:,} and with {hits:,} hits in {row.size:,} draws"
            )
        return False

    def __iter__(self) -> Iterator[tuple[Row, int, int]]:
        """(row, place, hits) of every block that is known."""
        for row, known in self._rows.items():
            for place, hits in enumerate(known):
                if hits != UNKNOWN:
                    yield row, place, hits

    def __len__(self) -> int:
        """How many blocks are known."""
        return sum(len(known) - known.count(UNKNOWN) for known in self._rows.values())

    @property
    def draws(self) -> int:
        """Draws in the blocks that are known."""
        return sum(
            row.size * (len(known) - known.count(UNKNOWN)) for row, known in self._rows.items()
        )


def row_of(event: str, block: Block) -> Row:
    """The row that a block stands in."""
    return Row(event, *block[:5], block.size)
