"""Deciding draws are made again: alone, in a fresh process, in a random order.

Whatever a claim counts is entered in `Deciding` when it is counted. Before anything is concluded
from it, `check` makes draws of it again where the mechanism has never been called, in a random
order over both databases, each with a new generator and from fresh copies of the databases; where
a claim is refuted, `LONE` of each side once more, each in a process of its own. A mechanism is a
function of (database, rng), so each draw must come out as it did: one differing
byte is a broken contract. All draws up to `MOST` a side are made again where a claim is refuted,
with a sample of as many of the others, and `FEW` a side where none is; where calls are dear, as
many as a fifth of the time spent allows, and `LEAST` at least.

What this cannot see: memory filled before the audit began, which each copy of this process has
(name the target as module:function, and it is empty), and memory outside the process.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import numpy as np

from ..engines.book import Block
from ..errors import ContractError
from ..events.events import Event
from ..outputs.encoding import show, told
from ..outputs.outputs import Outputs
from ..results.results import Pair
from ..workers import Door, Stream, Worker
from ..workers.children import aside
from ..workers.door import copied, pickled
from ..workers.streams import (
    ROWS,
    SINGLE,
    prime_globals,
    seed_globals,
    seedable,
    untouched,
)
from ..workers.wire import packed
from .calls import Calls, Drawn, MechanismRaised, like_rows, raised, single_call
from .capture import UNCHANGING, captured

MOST = 4096
"""Draws a side that are made again where a claim is refuted."""
FEW = 64
"""The same where none is."""
LEAST = 32
"""The same where calls are dear."""
PART = 0.2
"""Part of the time that the draws took which making some again may take."""
COPIED = 32
"""Draws that each get a copy of the database and a generator of their own."""
SHARED = 8
"""How many of the later ones share these, because making them would take most of the time."""
SIDES = ("D", "D'")
LONE = 32
"""Draws a side that are made where nothing else was ever drawn, where a claim is refuted: what a
mechanism remembers may be one bit, and then another order alone often brings it back."""
FEWEST = 8
"""The same where a first call takes long: no more than `PART` of the time spent, or a second."""


@dataclass(frozen=True, slots=True)
class Made:
    """A block that was counted: how it was called, and what came of it."""

    databases: tuple[Any, Any]
    calls: Calls
    event: Event | None
    block: Block
    drawn: Drawn

    @property
    def unseen(self) -> bool:
        """Whether somebody else counted the block, and only its sum is known."""
        return self.drawn.inside is None and self.drawn.first is None


@dataclass(slots=True)
class Deciding:
    """What was counted since the last check."""

    entered: list[Made] = field(default_factory=list)
    seconds: float = 0.0
    draws: dict[int, int] = field(default_factory=dict)
    """How many were entered of each side."""

    def enter(self, pair: Pair, calls: Calls, event: Event | None, block: Block, drawn: Drawn
              ) -> None:  # fmt: skip
        """A block was counted. What it answered beside is not kept."""
        drawn = replace(drawn, answer=None, returned=None)
        self.entered.append(Made((pair.database, pair.neighbour), calls, event, block, drawn))
        self.draws[block.side] = self.draws.get(block.side, 0) + block.size
        self.seconds += drawn.pace * block.size

    def check(self, door: Door, *, refuted: bool) -> None:
        """Make draws again; ContractError names the first that comes out otherwise.

        Nothing is made again where no process can be forked.
        """
        entered, self.entered, self.draws = self.entered, [], {}
        seconds, self.seconds = self.seconds, 0.0
        if not refuted:
            # What was bet on without winning came first; what the claim stands on is counted.
            entered = [made for made in entered if made.block.stage != "bet"] or entered
        if not entered or not door.remakes:
            return
        some = _chosen(entered, MOST if refuted else FEW, seconds, every=refuted)
        groups: dict[tuple[int, int], list[tuple[Made, int]]] = {}
        for made, count in some:
            groups.setdefault((id(made.databases[0]), id(made.databases[1])), []).append(
                (made, count)
            )
        for group in groups.values():
            databases = group[0][0].databases
            asked = [(made.calls, made.event, made.block, count) for made, count in group]
            try:
                encoded = [pickled(one) for one in databases]
                again = door.fresh(remake, (), encoded, asked, PART * seconds, refuted)
            except MechanismRaised as error:
                raise ContractError(
                    f"made again in a fresh process, {error}; there it raises and before it did "
                    f"not, {CAUSES}"
                ) from None
            for (made, count), outputs in zip(group, again[: len(group)], strict=True):
                _require_same(made, count, outputs)
            for place, draw, alone, among in again[len(group) :]:
                if packed(alone.node) != packed(among.node):
                    _compare(group[place][0], [draw], among.rows(), alone.rows())


def require_inside(door: Door) -> None:
    """ContractError where the mechanism uses what outlives its process: nothing is refuted then."""
    if names := door.outside():
        raise ContractError(
            f"the draws refute the claim, but the mechanism uses {', '.join(names[:3])}, which "
            "outlives its process: what it keeps there is there in a fresh process too, so "
            "nobody can tell whether its calls are independent, and there is no verdict; audit "
            "the function behind it, or let it keep nothing from call to call"
        )


CAUSES = (
    "so the mechanism keeps state between calls (it remembers earlier ones, or keeps a generator), "
    "or it draws randomness from elsewhere than the rng it is given (the operating system, as "
    "secrets and default_rng() without a seed do, a clock, a GPU): pass all state in and use the "
    "rng, or declare the randomness with seeded=False"
)


def _chosen(
    entered: Sequence[Made], most: int, seconds: float, *, every: bool
) -> list[tuple[Made, int]]:
    """Blocks with how many of their first draws are made again, `most` a side at most.

    Of a claim that is refuted the first blocks of each side, whose outputs were kept, and as many
    draws of the others, by a keyed choice.
    """
    pace = max((made.drawn.pace for made in entered), default=0.0)
    affordable = int(PART * seconds / ((4 if every else 2) * max(pace, 1e-9)))
    most = max(LEAST, min(most, affordable)) if pace > 1e-4 else most
    chosen: list[tuple[Made, int]] = []
    for side in sorted({made.block.side for made in entered}):
        own = [made for made in entered if made.block.side == side]
        # What was counted last comes first: it is what refutes.
        own.sort(key=lambda made: made.event is not entered[-1].event)
        if not every and len(own) > 1:
            # State may show in the first draws alone, or in the last.
            own = [own[0], own[-1], *own[1:-1]]
        left = most
        rest = []
        for number, made in enumerate(own):
            if left > 0:
                whole = made.calls.rows or made.unseen
                most_of_it = most // 2 if number == 0 and not every and len(own) > 1 else left
                count = made.block.size if whole else min(most_of_it, made.block.size)
                chosen.append((made, count))
                left -= count
            else:
                rest.append(made)
        if every and rest:
            order = random.Random(repr(own[0].block)).sample(rest, len(rest))
            left = most
            for made in order:
                if left <= 0:
                    break
                whole = made.calls.rows or made.unseen
                chosen.append((made, made.block.size if whole else min(left, made.block.size)))
                left -= made.block.size
    return chosen


def remake(
    worker: Worker,
    _: Sequence[Any],
    encoded: Sequence[bytes],
    asked: Sequence[tuple[Calls, Event | None, Block, int]],
    seconds: float,
    refuted: bool,
) -> list[Any]:
    """The first draws of each block, made in a random order; runs in a fresh process.

    Where the claim is refuted, (block, draw, output, the same made among others) of those that
    were made alone follow.
    """
    order = [
        (place, draw)
        for place, (calls, _, block, count) in enumerate(asked)
        for draw in ([0] if calls.rows else range(count))
    ]
    random.Random(repr([block for *_, block, _ in asked])).shuffle(order)
    lone = (
        _lone(worker, encoded, asked, order, max(seconds, 1.0)) if refuted and worker.alone else []
    )
    prime_globals()
    found = _remade(worker, encoded, asked, order, seeding=False)
    if not untouched():
        found = _remade(worker, encoded, asked, order, seeding=True)
    made = []
    for place, (calls, _event, block, count) in enumerate(asked):
        if calls.rows:
            made.append(Outputs.of(found[place][0], block.size)[:count])
        else:
            made.append(_as_drawn(worker, calls, copied(encoded[block.side]), found[place]))
    compared = [
        (place, draw, alone, _as_drawn(worker, calls, copied(encoded[block.side]), [one]))
        for place, draw, alone in lone
        for (calls, _, block, _), one in [(asked[place], found[place][draw])]
    ]
    return [*made, *compared]


def _as_drawn(worker: Worker, calls: Calls, database: Any, found: list[Any]) -> Outputs:
    return like_rows(worker, calls, database, found) if calls.sized else Outputs.of_list(found)


def _lone(
    worker: Worker,
    encoded: Sequence[bytes],
    asked: Sequence[tuple[Calls, Event | None, Block, int]],
    order: Sequence[tuple[int, int]],
    seconds: float,
) -> list[tuple[int, int, Outputs]]:
    """Single draws, each in a copy of this process, in which the mechanism was never called."""
    made: list[tuple[int, int, Outputs]] = []
    left = {side: LONE for side in (0, 1)}
    begun = monotonic()
    for place, draw in order:
        calls, event, block, _ = asked[place]
        if calls.rows or not left[block.side % 2]:
            continue
        if len(made) >= 2 * FEWEST and monotonic() - begun > seconds:
            break
        left[block.side % 2] -= 1
        one = [(calls, event, block._replace(first=block.first + draw), 1)]

        def alone(one: Any = one, calls: Calls = calls, side: int = block.side) -> Outputs:
            known = seedable()
            (found,) = _remade(worker, encoded, one, [(0, 0)], seeding=True)
            if seedable() != known:  # the call imported another generator
                (found,) = _remade(worker, encoded, one, [(0, 0)], seeding=True)
            return _as_drawn(worker, calls, copied(encoded[side]), found)

        made.append((place, draw, aside(alone)))
    return made


def _remade(
    worker: Worker,
    encoded: Sequence[bytes],
    asked: Sequence[tuple[Calls, Event | None, Block, int]],
    order: Sequence[tuple[int, int]],
    *,
    seeding: bool,
) -> list[list[Any]]:
    """What the calls return, by block and in the order of its draws."""
    found: list[list[Any]] = [[None] * (1 if calls.rows else count) for calls, *_, count in asked]
    copies: dict[int, Any] = {}
    streams: dict[int, Stream] = {}
    run, beat = worker.run, worker.beat
    # All blocks of one check are called alike, but for rows.
    single = single_call(run, asked[0][0].sized, asked[0][0].exceptions)
    for number, (place, draw) in enumerate(order):
        calls, _event, block, _count = asked[place]
        side = block.side
        new = number < COPIED or number % SHARED == 0
        if new or side not in copies:
            copies[side] = copied(encoded[side])
        kind = ROWS if calls.rows else SINGLE
        if new or place not in streams:
            streams[place] = Stream(block.key, kind)
        first = block.first + draw
        stream, database = streams[place], copies[side]
        if seeding:
            seed_globals(block.key, first, kind)
        beat()
        try:
            if calls.rows:
                value = run(database, stream.at(first), size=block.size)
            else:
                value = single(database, stream, first)
        except BaseException as error:
            raise raised(error, database) from error
        found[place][draw] = captured(value)
        if number < COPIED and not calls.rows:
            _require_faithful(value, found[place][draw])
    return found


def _require_faithful(value: Any, kept: Any) -> None:
    """What is compared is a copy of what was returned, and a class may copy itself otherwise."""
    if type(value) in UNCHANGING:
        return
    one, two = (packed(Outputs.of_list([each]).node) for each in (value, kept))
    if one != two:
        raise ContractError(
            f"the mechanism returned {show(value):.80} of type {type(value).__name__}, and a copy "
            f"of it reads {show(kept):.80}: what an attacker sees would not be what is compared; "
            "return plain numbers, strings, None, lists, tuples, dicts, dataclasses or arrays"
        )


def _require_same(made: Made, count: int, again: Outputs) -> None:
    before = made.drawn.first
    kept = min(count, len(before)) if before is not None else 0
    if before is not None and kept:
        one, two = before[:kept], again[:kept]
        if packed(one.node) != packed(two.node):
            _compare(made, range(kept), one.rows(), two.rows())
    if made.event is None:
        return
    inside = made.drawn.inside
    if inside is None:
        _require_sum(made, again)
        return
    was = np.unpackbits(inside, count=made.block.size)[:count].astype(bool)
    now = np.asarray(made.event.contains(again), dtype=bool)[:count]
    for place in np.flatnonzero(was != now)[:1].tolist():
        value = show(_shown(again.rows()[place]))
        words = f"{made.event.describe()} was {'' if was[place] else 'not '}so"
        raise _differs(made, place, words, f"it gave {value}")


def _require_sum(made: Made, again: Outputs) -> None:
    assert made.event is not None
    hits = int(np.count_nonzero(made.event.contains(again)))
    if len(again) == made.block.size and hits != made.drawn.hits:
        raise ContractError(
            f"a block of {made.block.size:,} draws has {hits:,} hits when it is made again in a "
            f"fresh process and was said to have {made.drawn.hits:,}: the count was edited or made "
            f"by another version, or {CAUSES.removeprefix('so ')}",
            keywords=("seeded",),
        )


def _compare(made: Made, draws: Sequence[int], before: Sequence[Any], after: Sequence[Any]) -> None:
    for draw, one, two in zip(draws, before, after, strict=True):
        if told(one) != told(two):
            first, second = show(_shown(one)), show(_shown(two))
            raise _differs(made, draw, f"it gave {first}", f"it gave {second}")


def _shown(row: Any) -> Any:
    """A row of outputs without the names of its types."""
    if type(row) is tuple and len(row) == 2 and isinstance(row[0], str):
        row = row[1]
    if type(row) is tuple:
        return tuple(map(_shown, row))
    return row


def _differs(made: Made, place: int, before: str, after: str) -> ContractError:
    number, side = made.block.first + place, SIDES[made.block.side % 2]
    return ContractError(
        f"one and the same draw came out in two ways: in draw {number:,} of {side}, "
        f"{before} when it was counted, and {after} when it was made again in a fresh process and "
        f"in another order. Database and generator were equal, {CAUSES}",
        keywords=("seeded",),
    )
