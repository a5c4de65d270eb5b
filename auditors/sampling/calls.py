"""How a mechanism is called: the stream of each draw, what a call returned, and what it raised.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b

from ...mechanisms.model import Database, Output, Pair
from ..errors import ContractError
from ..outputs.encoding import identity, looks_long, show, stamp
from ..outputs.kinds import Raised
from ..workers.children import __file__ as workers_file
from ..workers.door import Worker
from ..workers.streams import (
    ROWS,
    SINGLE,
    Key,
    Stream,
    globals_held,
    prime_globals,
    restore_globals,
    seed_globals,
    untouched,
)
from .captured import UNCHANGING, captured, require_small

STAGES = frozenset({
    "contract", "search", "frozen", "opening", "select", "bet", "attempt", "standing", "shrink",
    "recheck", "claim", "pilot", "figure",
})  # fmt: skip
"""What draws are for."""
SIDES = ("D", "D'")
Single = Callable[[Database, Stream, int], Output]
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

        If they are `kept` as they are, rows are copied too. Raises ContractError for outputs
        of more than `captured.LARGEST` bytes each.
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
            require_small(made, size)
            return captured(made) if kept else made
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
            if not number & (number - 1):
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


REMOTE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "remote")
OURS = frozenset({os.path.dirname(__file__), os.path.dirname(workers_file), REMOTE})
"""Folders whose frames are no frames of the mechanism."""
DEEPEST = 8
"""Frames of the mechanism that are told."""


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
