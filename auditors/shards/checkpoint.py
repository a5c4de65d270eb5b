"""A file of finished blocks, so that a run that was killed goes on where it was.

The first line is the identity, every further line one block: its row, its place, its hits and a
check sum. A line is written by one call of the operating system, so that a process that is killed
at any instant loses the block it was drawing and at most half a line, which is left out and drawn
again.

What teaches are outputs and not counts. They are drawn again, which costs a part of the run, but
for blocks of single calls that take long to draw: what these returned is kept, as JSON and up to
`LARGEST` characters a block, where it comes back from JSON as it was.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from zlib import crc32

from ..engines.engine import Counted
from ..errors import DpWitnessError, EvidenceFormatError, InvalidArgument
from ..outputs.decoding import from_json
from ..outputs.encoding import canonical, to_json
from ..outputs.outputs import CountedEvent
from ..workers.streams import Block
from .running import Identity
from .shard import BlockRow, Counts, row_of

FORMAT = "dpwitness checkpoint 1"
RETURNED = "returned"
"""Stands in the place of an event where a line holds what calls returned."""
LARGEST = 1 << 18
"""Characters of what a block returned that are kept, at most."""
LARGEST_NUMBER = 2**63
"""Beyond it a whole number of a line is damage."""
LEAVING = 2.0
"""Seconds that a process which was killed may take to let go of the file."""
SYNC = 256
"""Lines after which the operating system is asked to write to the disk, against power cuts."""


class Checkpoint:
    """A book that is kept in a file; see `opened`."""

    def __init__(self, handle: int, counts: Counts, returned: dict[Block, int]) -> None:
        """Append to the open file; `counts` and `returned` are what it holds.

        Of what calls returned only the place in the file is held in memory.
        """
        self.counts = counts
        self._handle, self._written = handle, 0
        self._returned = returned
        self._beginnings: dict[BlockRow, str] = {}

    def ahead(self, event: CountedEvent, blocks: Sequence[Block], count: Counted) -> None:
        """Nothing to do: blocks are asked for when they are needed."""

    def known(self, event: CountedEvent, block: Block) -> int | None:
        """Hits of this block, if the file has them."""
        return self.counts.get(self.counts.name(event), block)

    def enter(self, event: CountedEvent, block: Block, hits: int) -> None:
        """Append the block, unless it is there; Contradiction if it is there with other hits."""
        row = row_of(self.counts.name(event), block)
        if not self.counts.put_at(row, block.block, hits):
            return
        # As json writes it; the beginning is that of every block of the row.
        beginning = self._beginnings.get(row)
        if beginning is None:
            whole = [row.event, *_plain(block)]
            beginning = json.dumps(whole[:-3], separators=(",", ":"))[:-1]
            self._beginnings[row] = beginning
        self._write(f"{beginning},{block.block},{block.size},{block.first},{hits}]")

    def recall(self, block: Block) -> list[object] | None:
        """What the calls of this block returned, if the file has it."""
        place = self._returned.get(block)
        if place is None:
            return None
        with os.fdopen(os.dup(self._handle), "rb") as file:
            file.seek(place)
            data = _parsed(file.readline())
        try:
            found = None if data is None else from_json(data[-1])
        except EvidenceFormatError:
            return None  # drawn again
        return found if isinstance(found, list) and len(found) == block.size else None

    def remember(self, block: Block, returned: list[object]) -> None:
        """Append what the calls of a block returned, where JSON can hold it."""
        try:
            data = to_json(returned)
            text = json.dumps(data)
            whole = canonical(from_json(json.loads(text))) == canonical(returned)
        except (DpWitnessError, ValueError, TypeError, RecursionError):
            return
        if whole and len(text) <= LARGEST and block not in self._returned:
            place = os.fstat(self._handle).st_size
            self._append([RETURNED, *_plain(block), data])
            self._returned[block] = place

    def _append(self, data: Sequence[object]) -> None:
        self._write(json.dumps(data, separators=(",", ":")))

    def _write(self, text: str) -> None:
        os.write(self._handle, _checked(text))
        self._written += 1
        if self._written % SYNC == 0:
            os.fsync(self._handle)


@contextmanager
def opened(
    path: str, identity: Identity, warn: Callable[[str], None] = lambda sentence: None
) -> Iterator[Checkpoint]:
    """The checkpoint of this identity at `path`, begun anew where there is none.

    Raises InvalidArgument for a file that is no checkpoint, that is of another audit, that another
    process is writing, or that cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InvalidArgument(f"cannot write the checkpoint {path!r}: {reason}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidArgument(
                f"cannot keep a checkpoint in {path!r}: it is no plain file; give a new file"
            )
        _lock(handle, path)
        yield Checkpoint(handle, *_read(handle, path, identity, warn))
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: str) -> None:
    """Two processes that append to one file would count blocks for each other."""
    try:
        import fcntl
    except ImportError:
        return  # not a Unix: nothing to lock with
    until = time.monotonic() + LEAVING
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
        raise InvalidArgument(
            f"another process is writing the checkpoint {path!r}; wait for it, or give this run a "
            "file of its own"
        ) from None


def _line(data: Sequence[object]) -> bytes:
    return _checked(json.dumps(data, separators=(",", ":")))


def _checked(text: str) -> bytes:
    encoded = text.encode()
    return b"%b %08x\n" % (encoded, crc32(encoded))


def _parsed(line: bytes) -> Any:
    """What a line says; None for one that is damaged."""
    text, _, check = line.rstrip(b"\n").rpartition(b" ")
    if check != b"%08x" % crc32(text):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(block: Block) -> list[int | str]:
    return [block.seed, f"{block.pair:x}", *block[2:]]


def _read(
    handle: int, path: str, identity: Identity, warn: Callable[[str], None]
) -> tuple[Counts, dict[Block, int]]:
    """What the file holds; it then ends with a whole line."""
    counts, returned = Counts(), dict[Block, int]()
    end, damaged = 0, 0
    with os.fdopen(os.dup(handle), "rb") as file:
        file.seek(0)
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            data = _parsed(line)
            if number == 0:
                _require_same(data, path, identity)
            elif not _entered(counts, returned, data, end):
                damaged += 1
            end += len(line)
        size = os.fstat(handle).st_size
    if end == 0 and size:
        with os.fdopen(os.dup(handle), "rb") as file:
            file.seek(0)
            beginning = file.read(64)
        if not beginning.startswith(b'["dpwitness checkpoint'[: len(beginning)]):
            _require_same(None, path, identity)
    os.ftruncate(handle, end)
    if end == 0:
        os.write(handle, _line([FORMAT, identity.digest, list(identity.lines)]))
    if damaged:
        warn(
            f"{damaged} line{'s' if damaged > 1 else ''} of the checkpoint {path!r} cannot be "
            "read; these blocks are drawn again"
        )
    return counts, returned


def _require_same(data: object, path: str, identity: Identity) -> None:
    if not (
        isinstance(data, list)
        and len(data) == 3
        and isinstance(data[2], list)
        and str(data[0]).startswith(FORMAT[:-2])
    ):
        raise InvalidArgument(
            f"{path!r} is not a checkpoint of dpwitness; give a new file, nothing was written to it"
        )
    if data[0] != FORMAT:
        raise InvalidArgument(f"{path!r} was written by another version of dpwitness ({data[0]})")
    if data[1] != identity.digest:
        raise InvalidArgument(
            f"the checkpoint {path!r} is of another audit: "
            f"{identity.differences(data[2]) or 'its hash is another'}; its "
            "counts are not about this one, so give this run a new file"
        )


def _entered(counts: Counts, returned: dict[Block, int], data: object, place: int) -> bool:
    """Whether a line was a block; two lines for one block must agree."""
    if not isinstance(data, list) or len(data) != 10:
        return False
    name, seed, pair, stage, side, chunk, number, size, first, said = data
    numbers = (seed, side, chunk, number, size, first, *(() if name == RETURNED else (said,)))
    if not all(isinstance(text, str) for text in (name, pair, stage)) or not all(
        type(one) is int and 0 <= one < LARGEST_NUMBER for one in numbers
    ):
        return False
    try:
        block = Block(seed, int(pair, 16), stage, side, chunk, number, size, first)
    except ValueError:
        return False
    if name == RETURNED:
        returned[block] = place
    elif said > size:
        return False
    else:
        counts.put(name, block, said)
    return True
