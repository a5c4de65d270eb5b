"""Blocks of draws: the outputs of the calls, what came of them, and what of them decides.

What is asked of a block's outputs is asked where the mechanism runs, and of wide outputs only what
is needed comes back. What a claim counts is entered in `Deciding` when it is counted, and made
again by the `gate` before anything is concluded from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import inf
from operator import is_
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, Output, Pair
from ..errors import ContractError
from ..outputs.encoding import stamp, to_json, told
from ..outputs.nodes import Grid
from ..outputs.outputs import CountedEvent, Outputs
from ..workers.door import Door, Worker
from ..workers.streams import Block, Key
from ..workers.wire import packed
from .again import ALLOWED, LONE, alone_against
from .calls import Calls, guarded
from .captured import bare

BLOCK, LEAST_BLOCK = {True: 32768, False: 1024}, 32
"""Draws of a block by rows (True) and by single calls, and the fewest, however wide outputs are."""
WHOLE = -1
"""Asks for the outputs themselves."""
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
COUPLE = Key(0, 0, "couple", 0)
"""The stream of the one call that shows of which type rows are; nothing is counted on it."""
PROBE = 5
"""Draws of each database that show whether calls end, and what each of two processes gives."""
AGAIN = (4, 16)
"""Processes, and draws in each, where the first two gave one answer each. Of a mechanism whose
draws are independent, all of one process are equal and all of another are another with probability
at most 4^-15, whatever the law: it is the sum of p^16 q^16 over pairs of answers, the sum of p q is
at most 1, and p q at most 1/4. Over all pairs of processes and both databases that is 1.2e-8."""


def outputs_of(
    calls: Calls,
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
        raw = calls.made(worker, database, key, first, size)
    if calls.rows:
        if made is not None and isinstance(raw, list | np.ndarray):
            made += list(raw)
        return Outputs.of(raw, size)
    if made is not None:
        made += raw
    return like_rows(worker, calls, database, raw) if calls.sized else Outputs.of_list(raw)


def like_rows(worker: Worker, calls: Calls, database: Database, singles: list[Output]) -> Outputs:
    """Single answers as an array would hold them, where the rows of a call are such an array.

    `rng.laplace()` is a float and a row of `rng.laplace(size=2)` a numpy.float64: the way of the
    call decides that, and no database. Left apart, the two would be told apart in every event.
    """
    couple = worker.memory.get("couple")
    if couple is None:
        two = Calls(True, True, calls.seeded, calls.exceptions)
        couple = worker.memory["couple"] = outputs_of(two, worker, database, COUPLE, 0, 2)
    singles = [bare(one) for one in singles]
    if len(set(map(type, singles))) == 1 and type(singles[0]) in (bool, int, float, str):
        rows = Outputs.of(np.array(singles), len(singles))
        kinds = [getattr(one.node, "kind", None) for one in (rows, couple)]
        if type(rows.node) is type(couple.node) and kinds[0] == kinds[1]:
            return rows
    return Outputs.of_list(singles)


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
        outputs = outputs_of(
            calls, worker, databases[block.side], block.key, block.first, block.size, made
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
        outputs_of(calls, worker, database, block.key, block.first, block.size)
        for database in databases
    ]


def together(
    found: dict[int, Drawn],
    event: CountedEvent | None,
    ask: Ask | None,
    part: int | None,
    first: int,
    returned: float,
) -> Drawn:
    """What came of a block that was drawn in pieces, by the numbers of their first draws."""
    pieces = [found[start] for start in sorted(found)]
    outputs = Outputs.concatenate([piece.answer for piece in pieces])
    seconds = sum(piece.pace * len(piece.answer) for piece in pieces)
    told = [piece.returned for piece in pieces]
    whole = part is not None and seconds >= returned and all(isinstance(one, list) for one in told)
    return Drawn.of(
        outputs,
        event,
        ask,
        part,
        first,
        pace=seconds / len(outputs),
        returned=[value for one in told for value in one or ()] if whole else None,
        digests=tuple(digest for piece in pieces for digest in piece.digests),
    )


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


@dataclass(frozen=True, slots=True)
class Made:
    """A block that was counted: how it was called, and what came of it."""

    databases: tuple[Database, Database]
    calls: Calls
    event: CountedEvent | None
    block: Block
    drawn: Drawn

    @property
    def unseen(self) -> bool:
        """Whether somebody else counted the block, and only its sum is known."""
        drawn = self.drawn
        return drawn.inside is None and drawn.first is None and not drawn.digests


@dataclass(slots=True)
class Deciding:
    """What was counted since the last check."""

    entered: list[Made] = field(default_factory=list)
    seconds: float = 0.0
    draws: dict[int, int] = field(default_factory=dict)
    """How many were entered of each side."""
    lone: int = LONE
    """Draws made alone where a claim is refuted, and processes that import modules anew."""
    again: bool = False
    """Whether that was done once: then fewer are enough."""
    judged: bool = True
    """Whether the counts are judged here; of a shard nobody knows yet whether they refute."""
    plain: bool = False
    """Whether modules that are imported anew give what was counted."""
    allowed: float = ALLOWED
    """Seconds that processes which import modules anew may take, whatever was spent."""

    def within(self, limit: float) -> None:
        """The audit has so many seconds: a fifth of them for these processes, two at least."""
        self.allowed = max(2.0, min(ALLOWED, limit / 5))

    def against(self, epsilon: float, delta: float) -> None:
        """What may be refuted is this claim, at its distance."""
        self.lone = alone_against(epsilon, delta)

    def enter(self, pair: Pair, calls: Calls, event: CountedEvent | None, block: Block, drawn: Drawn
              ) -> None:  # fmt: skip
        """A block was counted. What it answered beside is not kept."""
        drawn = replace(drawn, answer=None, returned=None)
        self.entered.append(Made((pair.database, pair.neighbour), calls, event, block, drawn))
        self.draws[block.side] = self.draws.get(block.side, 0) + block.size
        self.seconds += drawn.pace * block.size


def copies_generator(door: Door, databases: Sequence[Database], calls: Calls, seed: int) -> bool:
    """Whether each process draws the same: a generator was made before, and each has a copy.

    ContractError if each process gives one answer, and not the same one.
    """
    if not door.remakes:
        return True
    first = [_answers(door, databases, calls, seed, PROBE) for _ in range(2)]
    kinds = [{len(set(answers)) for answers in sides} for sides in zip(*first, strict=True)]
    if {1} in kinds:
        again = [_answers(door, databases, calls, seed, AGAIN[1]) for _ in range(AGAIN[0])]
        for sides in zip(*again, strict=True):
            distinct = [set(answers) for answers in sides]
            if all(len(one) == 1 for one in distinct) and len(set.union(*distinct)) > 1:
                one, two = sorted(set.union(*distinct))[:2]
                raise ContractError(
                    f"the mechanism gives one answer in each process: {AGAIN[1]} of {AGAIN[1]} "
                    f"calls returned {one:.60} in one and {two:.60} in another. It draws its "
                    "randomness once and keeps it, so that its calls are not independent; draw "
                    "fresh randomness in every call",
                    keywords=("seeded",),
                )
        first = again[:2]  # more draws tell more
    return first[0] == first[1] and any(len(set(answers)) > 1 for answers in first[0])


def _answers(
    door: Door, databases: Sequence[Database], calls: Calls, seed: int, draws: int
) -> list[list[str]]:
    """What a process that never called the mechanism draws from each database."""
    blocks = [Block(*Key(seed, 0, "contract", side), 0, draws, 0) for side in range(len(databases))]
    jobs = [(block, WHOLE, 0) for block in blocks]
    made = door.fresh(draw_blocks, databases, calls, None, None, inf, jobs)
    return [[told(row).decode("utf-8", "replace") for row in drawn.answer.rows()] for drawn in made]
