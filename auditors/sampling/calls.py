"""How a mechanism is called: the stream of each draw, what it returned, and what is asked of it.

All of this runs where the mechanism runs; see `workers`.

A single call is draw number i of a key and stands alone: it has the generator of its number, and
the global generators of random, numpy and torch are put to a place of their own for it if the
mechanism draws from them. A `size=` call makes a whole block from one generator. It is a fast way
to look; what decides is counted on single calls, unless the author declares that rows are the
mechanism (`trust_rows`).
"""

import dataclasses
import inspect
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from math import inf
from operator import is_
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, Output, Pair
from ..errors import ContractError
from ..outputs.encoding import identity, looks_long, show, stamp, to_json, told
from ..outputs.kinds import Raised
from ..outputs.nodes import Grid
from ..outputs.outputs import CountedEvent, Outputs
from ..workers import Key, Stream, Worker
from ..workers.children import __file__ as workers_file
from ..workers.streams import (
    ROWS,
    SINGLE,
    Block,
    globals_held,
    prime_globals,
    restore_globals,
    seed_globals,
    untouched,
)
from ..workers.wire import packed
from .kept import UNCHANGING, bare, captured, require_small

STAGES = frozenset({
    "contract", "search", "frozen", "opening", "select", "bet", "attempt", "standing", "shrink",
    "recheck", "claim", "pilot", "figure",
})  # fmt: skip
"""What draws are for."""
BLOCK = {True: 32768, False: 1024}
LEAST_BLOCK = 32
"""Draws of a block by rows, and by single calls; however wide outputs are, the second."""
SIDES = ("D", "D'")
WHOLE = -1
"""Asks for the outputs themselves."""
Single = Callable[[Database, Stream, int], Output]
Ask = Callable[[Outputs, int], object]
"""What is asked of a block's outputs where they are, with a number that belongs to the block."""
Answer = Any
"""What came of it: counts, tallies, outputs, or whatever else was asked."""
NARROW = 16
"""Numbers and labels of an output up to which thousands of them take no room to speak of."""
KEPT = 64
"""Outputs of a block that are kept to be made again however wide they are."""
ROOM = 1 << 22
"""Bytes of the outputs of one block that are kept."""
TOLD = 1 << 20
"""Bytes of a block's outputs that are told as plain data too, to be kept; of slow calls a block is
small. Of 10,000 numbers each, as plain data, a block took 30 MB and more time than its draws."""
REMEMBERED = 8
"""Pairs whose numbers are remembered."""


IN_OTHER_ORDER = (
    "it is called as mechanism(database, rng), and takes them in the other order; swap them"
)


class MechanismRaised(ContractError):
    """A call of the mechanism ended in an exception."""


def pair_key(pair: Pair) -> int:
    """A number that names the pair, equal for equal databases in equal order."""
    digest = blake2b(digest_size=16)
    for database in (pair.database, pair.neighbour):
        encoded = identity(database)
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return int.from_bytes(digest.digest(), "big")


@dataclass(slots=True)
class PairKeys:
    """Numbers of pairs; those of the last ones are remembered, since large ones take long.

    They are known by their databases being the same objects: nothing in this process changes a
    database, as the mechanism works on copies elsewhere.
    """

    known: list[tuple[Database, Database, int]] = field(default_factory=list)

    def of(self, pair: Pair) -> int:
        """The number that names the pair."""
        for database, neighbour, key in self.known:
            if database is pair.database and neighbour is pair.neighbour:
                return key
        key = pair_key(pair)
        self.known = [(pair.database, pair.neighbour, key), *self.known[: REMEMBERED - 1]]
        return key


@dataclass(frozen=True, slots=True)
class Calls:
    """How calls are made: `rows` says that one call gives a whole block."""

    rows: bool
    sized: bool
    """Whether the mechanism takes `size` at all, so that single answers are read as rows are."""
    seeded: bool
    exceptions: str

    def outputs(
        self,
        worker: Worker,
        database: Database,
        key: Key,
        first: int,
        size: int,
        made: list[Output] | None = None,
    ) -> Outputs:
        """Draws `first` .. `first` + `size` - 1, or the block of rows that starts at `first`.

        None of them can be changed by the mechanism any more. What single calls returned, and each
        row of a list or an array, is put into `made`, where that is given.
        """
        with guarded(worker, database):
            raw = self.made(worker, database, key, first, size)
        if self.rows:
            if made is not None and isinstance(raw, list | np.ndarray):
                made += list(raw)
            return Outputs.of(raw, size)
        if made is not None:
            made += raw
        return like_rows(worker, self, database, raw) if self.sized else Outputs.of_list(raw)

    def made(
        self,
        worker: Worker,
        database: Database,
        key: Key,
        first: int,
        size: int,
        *,
        kept: bool = True,
    ) -> Output:
        """What the calls return, each with global generators of its own if the mechanism uses them.

        If they are `kept` as they are, rows are copied too, and what takes much room is refused.
        """
        stream = Stream(key, ROWS if self.rows else SINGLE)
        if not self.seeded:
            return self._raw(worker, database, stream, first, size, kept, seeding=False)
        if worker.memory.get("globals"):
            return self._raw(worker, database, stream, first, size, kept, seeding=True)
        prime_globals()
        raw = self._raw(worker, database, stream, first, size, kept, seeding=False)
        if untouched():
            return raw
        # It draws from them: from now on they are put where each draw finds its own.
        worker.memory["globals"] = True
        return self._raw(worker, database, stream, first, size, kept, seeding=True)

    def _raw(
        self,
        worker: Worker,
        database: Database,
        stream: Stream,
        first: int,
        size: int,
        kept: bool,
        *,
        seeding: bool,
    ) -> Output:
        if self.rows:
            worker.beat()
            if seeding:
                seed_globals(stream.key, first, ROWS)
            made = worker.run(database, stream.at(first), size=size)
            if not kept:
                return made
            require_small(made, size)
            return captured(made)
        call = single_call(worker.run, self.sized, self.exceptions)
        beat = worker.beat
        raw: list[Output] = []
        keep = raw.append
        for draw in range(first, first + size):
            beat()
            if seeding:
                seed_globals(stream.key, draw, SINGLE)
            value = call(database, stream, draw)
            number = draw - first
            if kept and not number & (number - 1):
                require_small(value)  # of all would take time, and a few tell enough
            keep(value if type(value) in UNCHANGING else captured(value))
        return raw


def single_call(run: Callable[..., Output], sized: bool, exceptions: str) -> Single:
    """How one draw is made: (database, stream, number of the draw) to the output.

    A mechanism that cannot be called without `size` is called with `size=1`. With exceptions as
    outputs, the type of what a call raises is its output.
    """

    def plain(database: Database, stream: Stream, draw: int) -> Output:
        return run(database, stream.at(draw))

    def raising(database: Database, stream: Stream, draw: int) -> object:
        try:
            return run(database, stream.at(draw))
        except Exception as error:  # noqa: BLE001 - an exception is an output here
            return Raised(error)

    def row(database: Database, stream: Stream, draw: int) -> Output:
        return row_of(run(database, stream.at(draw), size=1))

    def either(database: Database, stream: Stream, draw: int) -> object:
        try:
            return run(database, stream.at(draw))
        except Exception as error:
            with suppress(Exception):
                return row(database, stream, draw)
            raise error from None

    if exceptions == "output":
        return raising
    if not sized:
        return plain
    # With another default than None there is no call that gives one bare output.
    return either if inspect.signature(run).parameters["size"].default is None else row


def row_of(made: Output) -> Output:
    """The one row of what a call with `size=1` returned."""
    if isinstance(made, tuple):
        parts = map(row_of, made)
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)
    if isinstance(made, dict):
        return {key: row_of(part) for key, part in made.items()}
    if dataclasses.is_dataclass(made) and not isinstance(made, type):
        names = [one.name for one in dataclasses.fields(made)]
        return dataclasses.replace(made, **{name: row_of(getattr(made, name)) for name in names})
    if len(made) != 1:
        raise ContractError(
            f"the mechanism was asked for size=1 and returned {len(made)} outputs, a wrong leading "
            "shape; with size=n the result must have a leading axis of n draws"
        )
    return made[0]


def like_rows(worker: Worker, calls: Calls, database: Database, singles: list[Output]) -> Outputs:
    """Single answers as an array would hold them, where the rows of a call are such an array.

    `rng.laplace()` is a float and a row of `rng.laplace(size=2)` a numpy.float64: the way of the
    call decides that, and no database. Left apart, the two would be told apart in every event.
    """
    couple = worker.memory.get("couple")
    if couple is None:
        two = Calls(True, True, calls.seeded, calls.exceptions)
        couple = worker.memory["couple"] = two.outputs(worker, database, COUPLE, 0, 2)
    singles = [bare(one) for one in singles]
    if len(set(map(type, singles))) == 1 and type(singles[0]) in (bool, int, float, str):
        rows = Outputs.of(np.array(singles), len(singles))
        kinds = [getattr(one.node, "kind", None) for one in (rows, couple)]
        if type(rows.node) is type(couple.node) and kinds[0] == kinds[1]:
            return rows
    return Outputs.of_list(singles)


REMOTE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "remote")
OURS = frozenset({os.path.dirname(__file__), os.path.dirname(workers_file), REMOTE})
"""Folders whose frames are no frames of the mechanism."""
DEEPEST = 8
"""Frames of the mechanism that are told."""
COUPLE = Key(0, 0, "couple", 0)
"""The stream of the one call that shows of which type rows are; nothing is counted on it."""


@contextmanager
def guarded(worker: Worker, database: Database) -> Iterator[None]:
    """Calls of the mechanism: what they raise, and a changed database, become a ContractError.

    A long database is looked at after its first calls only; that later ones changed it shows when
    draws are made again with fresh copies.
    """
    known = worker.memory.setdefault("looked", [])
    long = looks_long(database)
    looked = long and any(one is database for one in known)
    before = None if looked else stamp(database)
    held = None if worker.alone else globals_held()
    try:
        yield
    except ContractError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not worker.alone:
            raise  # somebody at the keyboard, and not the mechanism
        raise raised(error, database) from error
    finally:
        if held is not None:
            restore_globals(held)
    if before is not None and stamp(database) != before:
        raise ContractError(
            f"the mechanism changed the database it was given into {show(database)}; "
            "it must leave its input alone, for instance by working on a copy"
        )
    if long and not looked:
        worker.memory["looked"] = [database, *known[: REMEMBERED - 1]]


def _of_dicts(database: Database) -> bool:
    return isinstance(database, list) and bool(database) and isinstance(database[0], dict)


def raised(error: BaseException, database: Database) -> MechanismRaised:
    """The error for a call that ended in an exception; its note has the frames of the mechanism."""
    said = described(error)
    advice = "it must return an output for every database it is given"
    if isinstance(error, (TypeError, AttributeError)) and "Generator" in said:
        # The random generator came where the code expects records.
        advice = IN_OTHER_ORDER
    elif isinstance(error, TypeError) and "'dict'" in said and _of_dicts(database):
        advice = (
            "its records are dicts, as the rows of a table are: read their fields, or have plain "
            "lists by FILE.csv:values"
        )
    elif type(error).__name__ == "BdbQuit":
        advice = "it stops for a debugger, which has no terminal here: remove breakpoint()"
    found = MechanismRaised(f"the mechanism raised {said} on database {show(database)}; {advice}")
    with suppress(Exception):  # a user's __str__ may raise anything
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if os.path.dirname(frame.filename) not in OURS]
        lines = ["Where the mechanism ran:\n", *traceback.format_list(own[-DEEPEST:])]
        found.add_note("".join(lines) + "".join(traceback.format_exception_only(error)).rstrip())
    return found


def described(error: BaseException) -> str:
    """An exception as its class, its first line and the line of code it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = ""
    if frames and os.path.dirname(frames[-1].filename) not in OURS:  # else a client has said where
        where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
    text = ""
    with suppress(BaseException):  # a user's __str__ may raise anything
        text = (str(error).splitlines() or [""])[0][:200]
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of a block: `hits` of the event, and what was asked of the outputs.

    `inside` says of each draw, in packed bits, whether it lies in the event; `first` are the first
    outputs of the block where they are to be made again. `returned` is what single calls returned,
    as plain data, if they took long.
    """

    pace: float
    hits: int
    answer: Answer
    inside: NDArray[np.uint8] | None
    first: Outputs | None
    returned: list[object] | None
    digests: tuple[bytes, ...] = ()
    """In place of `first`, where outputs are wide: of each of them, or of all rows of one call."""

    @classmethod
    def of(
        cls,
        outputs: Outputs,
        event: CountedEvent | None,
        ask: Ask | None,
        part: int | None,
        first: int,
        *,
        pace: float,
        returned: list[object] | None,
        digests: tuple[bytes, ...],
    ) -> "Drawn":
        """What came of a block with these outputs; of wide ones the digests are at hand."""
        inside = None if event is None else event.contains(outputs)
        return cls(
            pace=pace,
            hits=0 if inside is None else int(np.count_nonzero(inside)),
            answer=None if part is None else answered(ask, outputs, part),
            inside=None if inside is None else np.packbits(inside),
            first=outputs[: room(outputs, first)] if first and not digests else None,
            returned=returned,
            digests=digests,
        )


def draw_blocks(
    worker: Worker,
    databases: Sequence[Database],
    calls: Calls,
    event: CountedEvent | None,
    ask: Ask | None,
    returned: float,
    jobs: Sequence[tuple[Block, int | None, int]],
) -> list[Drawn]:
    """Draw blocks; each job is (block, part, how many of its first outputs to send).

    Nothing is asked of the outputs where `part` is None; where it is WHOLE they come back
    themselves, and else `ask(outputs, part)`. What single calls returned is told of blocks that
    took `returned` seconds or more, and rows where that is 0.
    """
    if event is not None:
        require_untouched_numpy()
    found = []
    for block, part, first in jobs:
        telling = part is not None and (returned == 0 if calls.rows else returned < inf)
        made: list[Output] | None = [] if telling or (first and not calls.rows) else None
        started = monotonic()
        outputs = calls.outputs(
            worker, databases[block.side], block.key, block.first, block.size, made
        )
        worker.beat()  # what follows is our own, and no call that takes long
        seconds = monotonic() - started
        light = outputs.width * block.size <= TOLD
        wide = bool(first) and len(outputs.paths()) > NARROW
        told = telling and made and light and seconds >= returned
        found.append(
            Drawn.of(
                outputs,
                event,
                ask,
                part,
                first,
                pace=seconds / block.size,
                returned=_plain(made) if told and made else None,
                digests=_digests(outputs, None if calls.rows else made, first) if wide else (),
            )
        )
    if event is not None:
        require_untouched_numpy()
    return found


def frozen_draws(
    worker: Worker, databases: Sequence[Database], calls: Calls, block: Block
) -> list[Outputs]:
    """The same block of each database."""
    return [
        calls.outputs(worker, database, block.key, block.first, block.size)
        for database in databases
    ]


_NUMPY = {name: value for name, value in vars(np).items() if callable(value)}


def require_untouched_numpy() -> None:
    """Raise ContractError where a function of numpy was replaced since dpwitness was loaded.

    Counts are made with numpy: a mechanism that replaces what counts would judge itself.
    """
    now = vars(np)
    if all(map(is_, map(now.get, _NUMPY), _NUMPY.values())):
        return
    for name, value in _NUMPY.items():
        if now.get(name) is not value:
            raise ContractError(
                f"numpy.{name} is not the function it was when dpwitness was loaded: something, "
                "most likely the mechanism or its module, replaced it, and counts made with it "
                "prove nothing; put the patch into the mechanism's own namespace"
            )


def digest(value: Output) -> bytes:
    """16 bytes that are equal where two outputs are, as far as outputs are compared."""
    plain = type(value) is np.ndarray and not value.dtype.hasobject
    data = stamp(value) if plain else told(Outputs.of_list([value]).rows()[0])
    return blake2b(data, digest_size=16).digest()


def digest_of_rows(outputs: Outputs) -> bytes:
    """The same of all rows of a call."""
    data = packed(outputs.node) if isinstance(outputs.node, Grid) else told(outputs.rows())
    return blake2b(data, digest_size=16).digest()


def _digests(outputs: Outputs, made: list[Output] | None, first: int) -> tuple[bytes, ...]:
    if made is None:
        return (digest_of_rows(outputs),)
    return tuple(map(digest, made[:first]))


def room(outputs: Outputs, first: int) -> int:
    """How many of the `first` outputs can be kept: all but of wide ones."""
    if len(outputs.paths()) <= NARROW:
        return first
    few = len(outputs[:KEPT])
    width = len(packed(outputs[:few].node)) / max(few, 1)
    return min(first, max(KEPT, int(ROOM / width)))


def _plain(made: list[Output]) -> list[object] | None:
    try:
        found = to_json(made)
    except Exception:  # noqa: BLE001 - what JSON cannot hold is drawn again
        return None
    return found if isinstance(found, list) else None


def answered(ask: Ask | None, outputs: Outputs, part: int) -> object:
    """The outputs where `part` is WHOLE, else what is asked of them."""
    return outputs if ask is None or part == WHOLE else ask(outputs, part)
