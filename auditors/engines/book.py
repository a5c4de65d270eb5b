"""What is known of blocks of draws before they are drawn, and who hears of those that are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ..outputs.outputs import CountedEvent
from ..workers.streams import Key

Counted = Callable[[Sequence["Block"]], Iterator[tuple[int, int]]]
"""Draws blocks and gives (place in the sequence, hits) of each as it is finished."""


class Block(NamedTuple):
    """A block of draws: `size` outputs of one side from the stream of this name, by all of it.

    `pair` is the number that stands for both databases; `block` counts within (side, chunk), and
    `first` is the number of its first draw there.
    """

    seed: int
    pair: int
    stage: str
    side: int
    chunk: int
    block: int
    size: int
    first: int

    @property
    def key(self) -> Key:
        """What its draws are for."""
        return Key(*self[:5])


class Book(Protocol):
    """Hits of blocks that were counted before, and a place for those counted now.

    The event of a block is fixed before the block is drawn, so its hits are a function of
    (mechanism, event, block): whoever drew it, and however often, they are the same.
    """

    def ahead(self, event: CountedEvent, blocks: Sequence[Block], count: Counted) -> None:
        """Blocks that an attempt may count from now on, in order, none of whose outputs teach."""

    def known(self, event: CountedEvent, block: Block) -> int | None:
        """Hits of this block, if they are known."""

    def enter(self, event: CountedEvent, block: Block, hits: int) -> None:
        """A block was counted."""

    def recall(self, block: Block) -> list[Any] | None:
        """What the calls of this block returned, if that is known."""

    def remember(self, block: Block, returned: list[object]) -> None:
        """What the calls of a block returned that took long to draw and is to teach."""


def name_of(event: CountedEvent, text: Callable[[object], bytes]) -> str:
    """An event as 16 hex digits, equal on every machine; `text` encodes plain data."""
    from hashlib import blake2b

    return blake2b(text(event.to_json()), digest_size=8).hexdigest()
