"""Deciding draws are made again: alone, in a fresh process, in a random order.

Whatever a claim counts is entered in `Deciding` when it is counted. Before anything is concluded
from it, `pass_gate` makes draws of it again where the mechanism has never been called, in a random
order over both databases, each with a new generator and from fresh copies of the databases; where
a claim is refuted, some once more, each in a process of its own (`alone_against` says how many). A
mechanism is a function of (database, rng), so each draw must come out as it did: one differing byte
is a broken contract. All draws up to `MOST` a side are made again where a claim is refuted,
with a sample of as many of the others, and `FEW` a side where none is; where calls are dear, as
many as a fifth of the time spent allows, and `LEAST` at least.

What came of a draw goes to the fresh process and is compared there. Of a wide output, with more
than `NARROW` numbers and labels, that is a digest and whether it lies in the event, so no process
holds thousands of them.

A copy of this process has what the import of a module drew, and what calls before the audit left.
So the processes in which draws are made alone import the mechanism's modules anew, where this gives
what was counted. Where it does not (somebody patched a module, or set it up), a few draws are made
in as many processes that import anew, and these must agree with each other: `require_same_anew`.

What this cannot see: noise that the caller drew and no module names, and memory outside the
process.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, Output
from ..errors import ContractError
from ..outputs.encoding import show, told
from ..outputs.outputs import CountedEvent, Outputs
from ..workers import Door, Stream, Worker
from ..workers.anew import require_enough, require_same_anew
from ..workers.children import aside
from ..workers.door import Copies, copied, pickled
from ..workers.streams import (
    ROWS,
    SINGLE,
    Block,
    generator,
    prime_globals,
    seed_globals,
    seedable,
    untouched,
)
from ..workers.wire import packed
from .again import CAUSES, COPIED, FEW, FEWEST, LEAST, MOST, PART, require_inside
from .blocks import Deciding, Drawn, Made, digest, digest_of_rows, like_rows
from .calls import SIDES, Calls, MechanismRaised, raised, single_call
from .captured import UNCHANGING, captured
from .sampling import Sampler
from .unseeded import require_alone

SHARED = 64
"""How many of the later ones share these, because making them would take most of the time."""


def pass_gate(sampler: Sampler, *, refuted: bool) -> None:
    """Make again what was counted since the last time; ContractError where it differs."""
    if sampler.seeded:
        _make_again(sampler.tally.deciding, sampler.door, refuted=refuted)
    else:
        require_alone(sampler, refuted=refuted)
    if refuted:
        require_inside(sampler.door)


@dataclass(frozen=True, slots=True)
class RemadeCall:
    """A block of which `count` draws are made again, with what came of it when it was counted."""

    calls: Calls
    event: CountedEvent | None
    block: Block
    count: int
    drawn: Drawn

    @classmethod
    def of(cls, made: Made, count: int) -> "RemadeCall":
        """The first `count` draws of a block."""
        drawn = made.drawn
        if drawn.digests and not made.calls.rows:
            count = min(count, len(drawn.digests))  # of later blocks not all of them were kept
        first = None if drawn.first is None else drawn.first[:count]
        drawn = replace(drawn, first=first, digests=drawn.digests[:count])
        return cls(made.calls, made.event, made.block, count, drawn)

    def single(self, draw: int) -> "RemadeCall":
        """One of its draws, by itself."""
        block = self.block._replace(first=self.block.first + draw)
        return replace(self, block=block, count=1)

    @property
    def wide(self) -> bool:
        """Whether outputs are compared by digests: nowhere are thousands of them held."""
        return bool(self.drawn.digests)


def _make_again(deciding: Deciding, door: Door, *, refuted: bool) -> None:
    """Make draws again; ContractError names the first that comes out otherwise.

    Nothing is made again where no process can be forked.
    """
    entered, deciding.entered, deciding.draws = deciding.entered, [], {}
    seconds, deciding.seconds = deciding.seconds, 0.0
    if not entered or not door.remakes:
        return
    some = _chosen(entered, MOST if refuted else FEW, seconds, every=refuted)
    groups: dict[tuple[int, int], list[tuple[Made, int]]] = {}
    for made, count in some:
        databases = made.databases
        group = groups.setdefault((id(databases[0]), id(databases[1])), [])
        group.append((made, count))
    for group in groups.values():
        encoded = [pickled(one) for one in group[0][0].databases]
        asked = [RemadeCall.of(made, count) for made, count in group]
        lone = (FEWEST if deciding.again else deciding.lone) if refuted else 0
        try:
            _again(deciding, door, encoded, asked, lone, max(PART * seconds, deciding.allowed))
        except MechanismRaised as error:
            raise ContractError(
                f"made again in a fresh process, {error}; there it raises and before it did "
                f"not, {CAUSES}"
            ) from None
    deciding.again = deciding.again or refuted


def _again(
    deciding: Deciding,
    door: Door,
    encoded: Sequence[bytes],
    asked: Sequence[RemadeCall],
    lone: int,
    allowed: float,
) -> None:
    """Make draws of one pair again, and `lone` alone where a claim is refuted.

    Where modules that are imported anew give what was counted, the draws that are made alone
    come from processes that do so; where somebody patched a module or set it up, from plain
    copies, and processes that import anew are compared with each other.
    """
    if lone and not deciding.again:
        first, _ = door.anew(anew, encoded, asked, imports=FEWEST, seconds=allowed)
        deciding.plain = bool(first) and all(same for answer in first for *_, same in answer)
    plain = bool(lone) and deciding.plain
    door.fresh(remake, (), encoded, asked, allowed, 0 if plain else lone)
    if plain:
        picked = _picked(asked, lone)
        alone, importing = door.anew(
            alone_anew, encoded, asked, picked, imports=len(picked), seconds=allowed
        )
        unlike = [place for place, (*_, words) in enumerate(alone) if words]
        if alone and not unlike:
            _enough(deciding, alone, len(picked), importing)
            return
        if unlike:
            # A set-up may show in few draws; noise of an import differs between processes.
            one, words = [picked[unlike[0]]] * lone, alone[unlike[0]][-1]
            same, importing = door.anew(
                alone_anew, encoded, asked, one, imports=lone, seconds=allowed
            )
            require_same_anew([[answer] for answer in (alone[unlike[0]], *same)], words)
            deciding.plain = False
            _enough(deciding, same, lone, importing)
        door.fresh(remake, (), encoded, asked, allowed, lone)
    elif lone:
        found, importing = door.anew(anew, encoded, asked, imports=lone, seconds=allowed)
        require_same_anew(found)
        _enough(deciding, found, lone, importing)


def _enough(deciding: Deciding, found: Sequence[object], wanted: int, importing: float) -> None:
    if deciding.judged:
        require_enough(found, wanted, importing)


def _chosen(
    entered: Sequence[Made], most: int, seconds: float, *, every: bool
) -> list[tuple[Made, int]]:
    """Blocks with how many of their first draws are made again, `most` a side at most.

    Of a claim that is refuted the first blocks of each side, whose outputs were kept, and as many
    draws of the others, by a keyed choice. Of a claim that stands what was bet on comes first.
    """
    # Of all together: a block of a few draws may have waited for the machine, or for an import.
    pace = seconds / max(sum(made.block.size for made in entered), 1)
    affordable = int(PART * seconds / ((4 if every else 2) * max(pace, 1e-9)))
    most = max(LEAST, min(most, affordable)) if pace > 1e-4 else most
    chosen: list[tuple[Made, int]] = []
    for side in sorted({made.block.side for made in entered}):
        own = [made for made in entered if made.block.side == side]
        left, rest = most, list[Made]()
        if every:
            # What was counted last comes first: it is what refutes.
            own.sort(key=lambda made: made.event is not entered[-1].event)
        elif len(own) > 1:
            # State may show in the first draws alone, or in the last: half of them each.
            last = own.pop()
            chosen.append(_first_of(last, most // 2))
            left -= chosen[-1][1]
        for made in own:
            if left > 0:
                chosen.append(_first_of(made, left))
                left -= chosen[-1][1]
            else:
                rest.append(made)
        if every and rest:
            left = most
            for made in random.Random(repr(own[0].block)).sample(rest, len(rest)):
                if left <= 0:
                    break
                chosen.append(_first_of(made, left))
                left -= chosen[-1][1]
    return chosen


def _first_of(made: Made, most: int) -> tuple[Made, int]:
    """A block with how many of its draws are made again: all if it can be only as a whole."""
    whole = made.calls.rows or made.unseen
    return made, made.block.size if whole else min(most, made.block.size)


def remake(
    worker: Worker,
    _: Sequence[Database],
    encoded: Sequence[bytes],
    asked: Sequence[RemadeCall],
    seconds: float,
    lone: int,
) -> None:
    """Make the first draws of each block in a random order; runs in a fresh process.

    ContractError names the first that comes out otherwise than it did, also of the `lone` that are
    made alone, in so many seconds if these do not do for all.
    """
    order = _order(asked)
    apart = _lone(worker, encoded, asked, seconds, lone) if lone and worker.alone else []
    prime_globals()
    found = _remade(worker, encoded, asked, order, seeding=False)
    if not untouched():
        found = _remade(worker, encoded, asked, order, seeding=True)
    for one, made in zip(asked, found, strict=True):
        if one.wide:
            _require_same_digests(one, made)
            continue
        _require_same(one, _as_drawn(worker, one, encoded, made)[: one.count])
    for place, draw, alone in apart:
        one = asked[place]
        if one.wide:
            _require_same_digests(one, [alone], draw)
            continue
        among = _as_drawn(worker, one, encoded, [found[place][draw]])
        if packed(alone.node) != packed(among.node):
            _compare(one, [draw], among.rows(), alone.rows())


def _order(asked: Sequence[RemadeCall]) -> list[tuple[int, int]]:
    """All draws of the blocks as (place of the block, draw in it), in a random order."""
    order = [
        (place, draw)
        for place, one in enumerate(asked)
        for draw in ([0] if one.calls.rows else range(one.count))
    ]
    shuffled = generator(0, 0, repr([one.block for one in asked])).permutation(len(order))
    return [order[place] for place in shuffled.tolist()]


def anew(
    worker: Worker, _: Sequence[Database], encoded: Sequence[bytes], asked: Sequence[RemadeCall],
    process: int,
) -> list[tuple[bytes, str, bool]]:  # fmt: skip
    """A few draws a side, every other process in the opposite order: see `require_same_anew`.

    The last of each answer is whether the draw came out as it was counted, as far as is known.
    """
    order, _known = _telling(asked, _order(asked))
    some: list[tuple[int, int]] = []
    for side in (0, 1):
        own = [one for one in order if asked[one[0]].block.side % 2 == side][:FEWEST]
        rows = [(place, 0) for place, one in enumerate(asked) if one.block.side % 2 == side]
        some += own or rows[:1]
    order = some[::-1] if process % 2 else some
    found = _reseeded(worker, encoded, asked, order)
    compared = (_compared(worker, encoded, asked[p], draw, found[p][draw]) for p, draw in some)
    return [(made, shown, words == ()) for made, shown, words in compared]


def alone_anew(
    worker: Worker, _: Sequence[Database], encoded: Sequence[bytes], asked: Sequence[RemadeCall],
    picked: Sequence[tuple[int, int]], process: int,
) -> tuple[bytes, str, str]:  # fmt: skip
    """One draw alone, as `anew`, and what is to be said if it is not as it was counted."""
    place, draw = picked[process]
    one = asked[place]
    ((value,),) = _reseeded(worker, encoded, [one.single(draw)], [(0, 0)])
    made, shown, words = _compared(worker, encoded, one, draw, value)
    if not words:
        return made, shown, ""
    number, side = one.block.first + draw, SIDES[one.block.side % 2]
    said = (
        f"one and the same draw came out in two ways: in draw {number:,} of {side}, {words[0]} "
        f"when it was counted, and {words[1]} when it was made alone in a process that imports "
        "the mechanism's modules anew"
    )
    return made, shown, said


def _compared(
    worker: Worker, encoded: Sequence[bytes], one: RemadeCall, draw: int, value: Output
) -> tuple[bytes, str, tuple[str, ...] | None]:
    """Bytes and words of a draw that was made anew, and how it differs: see `_otherwise`."""
    if one.wide:
        same = value[0] == one.drawn.digests[draw]
        words = () if same else ("it gave one output", "it gave another")
        return packed(value), "one output", words
    outputs = _as_drawn(worker, one, encoded, [value])
    unlike = None if one.calls.rows else _otherwise(one, draw, outputs)
    return packed(outputs.node), show(_shown(outputs.rows()[0])), unlike


def _otherwise(one: RemadeCall, draw: int, made: Outputs) -> tuple[str, ...] | None:
    """What a draw was and what it is now, () if these are alike, None if nobody knows."""
    first = one.drawn.first
    if first is not None and draw < len(first):
        before = first[draw : draw + 1]
        if packed(before.node) == packed(made.node):
            return ()
        # One of many has the labels of all, so what differs in bytes may be one and the same.
        was, now = before.rows()[0], made.rows()[0]
        if told(was) == told(now):
            return ()
        return f"it gave {show(_shown(was))}", f"it gave {show(_shown(now))}"
    inside = _inside(one)
    if inside is None or one.event is None:
        return None
    was_in = bool(inside[draw])
    return () if bool(one.event.contains(made)[0]) == was_in else _of_event(one, was_in)


def _reseeded(
    worker: Worker,
    encoded: Sequence[bytes],
    asked: Sequence[RemadeCall],
    order: Sequence[tuple[int, int]],
    held: Copies | None = None,
) -> list[list[Output]]:
    """As `_remade`, with global generators seeded, those too that a call imports."""
    known = seedable()
    found = _remade(worker, encoded, asked, order, seeding=True, held=held)
    if seedable() != known:
        found = _remade(worker, encoded, asked, order, seeding=True)
    return found


def _as_drawn(
    worker: Worker, one: RemadeCall, encoded: Sequence[bytes], found: list[Output]
) -> Outputs:
    """What the calls of a block returned, as a block of draws is read."""
    if one.calls.rows:
        return Outputs.of(found[0], one.block.size)
    if not one.calls.sized:
        return Outputs.of_list(found)
    # The database is for the one call that shows what rows are.
    database = None if "couple" in worker.memory else copied(encoded[one.block.side])
    return like_rows(worker, one.calls, database, found)


def _lone(
    worker: Worker,
    encoded: Sequence[bytes],
    asked: Sequence[RemadeCall],
    seconds: float,
    most: int,
) -> list[tuple[int, int, Output]]:
    """Single draws, each in a copy of this process, in which the mechanism was never called."""
    made: list[tuple[int, int, Output]] = []
    # Each process has these as they are now, before any call.
    databases = Copies(encoded)
    for side in {one.block.side for one in asked}:
        databases.of(side, new=False)
    begun = monotonic()
    for place, draw in _picked(asked, most):
        if len(made) >= 2 * FEWEST and monotonic() - begun > seconds:
            break
        one = asked[place].single(draw)

        def alone(one: RemadeCall = one) -> Output:
            ((found,),) = _reseeded(worker, encoded, [one], [(0, 0)], databases)
            if one.wide:
                return found
            return _as_drawn(worker, one, encoded, [found])

        made.append((place, draw, aside(alone)))
    return made


def _picked(asked: Sequence[RemadeCall], most: int) -> list[tuple[int, int]]:
    """The draws that are made alone, `most` of both sides together.

    If nobody knows which refute, `most` of each side. What refutes nothing tells nothing: a
    mechanism that keeps its claim when it remembers nothing gives another output for part of just
    the draws without which nothing would be refuted.
    """
    order, telling = _telling(asked, _order(asked))
    left = dict.fromkeys((0, 1), max(FEWEST, -(-most // 2)) if telling else most)
    picked = []
    for place, draw in order:
        side = asked[place].block.side % 2
        if left[side]:
            left[side] -= 1
            picked.append((place, draw))
    return picked


def _telling(
    asked: Sequence[RemadeCall], order: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], bool]:
    """The single draws of an order, first those that refute, if any are known to.

    They are the hits of the side that has more of them, and what is no hit of the other.
    """
    hits, counted = np.zeros(2), np.zeros(2)
    known = {place: inside for place, one in enumerate(asked)
             if not one.calls.rows and (inside := _inside(one)) is not None}  # fmt: skip
    for place, inside in known.items():
        side = asked[place].block.side % 2
        hits[side] += np.count_nonzero(inside)
        counted[side] += len(inside)
    more = int(hits[1] * counted[0] > hits[0] * counted[1])

    def idle(one: tuple[int, int]) -> bool:
        place, draw = one
        wanted = asked[place].block.side % 2 == more
        return place not in known or bool(known[place][draw]) != wanted

    alone = [one for one in order if not asked[one[0]].calls.rows]
    return sorted(alone, key=idle), bool(known)


def _remade(
    worker: Worker,
    encoded: Sequence[bytes],
    asked: Sequence[RemadeCall],
    order: Sequence[tuple[int, int]],
    *,
    seeding: bool,
    held: Copies | None = None,
) -> list[list[Output]]:
    """What the calls return, by block and in the order of its draws.

    Of wide outputs (the digest of what a call returns, which of it is in the event). `held` are
    copies to use, of a process that ends with the first call.
    """
    found: list[list[Output]] = [[None] * (1 if one.calls.rows else one.count) for one in asked]
    copies = Copies(encoded) if held is None else held
    streams: dict[int, Stream] = {}
    run, beat = worker.run, worker.beat
    # All blocks of one check are called alike, but for rows.
    single = single_call(run, asked[0].calls.sized, asked[0].calls.exceptions)
    for number, (place, draw) in enumerate(order):
        one = asked[place]
        calls, block = one.calls, one.block
        side = block.side
        new = number < COPIED or number % SHARED == 0
        kind = ROWS if calls.rows else SINGLE
        if new or place not in streams:
            streams[place] = Stream(block.key, kind)
        first = block.first + draw
        stream, database = streams[place], copies.of(side, new=new and held is None)
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
        kept = captured(value)
        if number < COPIED and not calls.rows:
            _require_faithful(value, kept)
        if one.wide:
            outputs = _as_drawn(worker, one, encoded, [kept])
            inside = () if one.event is None else one.event.contains(outputs).tolist()
            kept = digest_of_rows(outputs) if calls.rows else digest(kept), tuple(inside)
        found[place][draw] = kept
    return found


def _require_same_digests(
    one: RemadeCall, found: Sequence[tuple[bytes, tuple[bool, ...]]], first: int = 0
) -> None:
    """Compare what calls returned, the first of them being the call of draw `first`."""
    was = _inside(one)
    draw = first
    for place, (made, inside) in enumerate(found, first):
        if made != one.drawn.digests[place]:
            raise _differs(one, draw, "it gave one output", "it gave another")
        for now in inside:
            if was is not None and was[draw] != now:
                raise _differs(one, draw, *_of_event(one, bool(was[draw])))
            draw += 1
        draw += not inside


def _inside(one: RemadeCall) -> NDArray[np.bool_] | None:
    """Of which draws of the block it was said that they lie in the event."""
    if one.event is None or one.drawn.inside is None:
        return None
    return np.unpackbits(one.drawn.inside, count=one.block.size).astype(bool)


def _of_event(one: RemadeCall, was: bool) -> tuple[str, str]:
    assert one.event is not None
    holds = one.event.describe()
    words = f"{holds} was so", f"{holds} was not so"
    return words if was else (words[1], words[0])


def _require_faithful(value: Output, kept: Output) -> None:
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


def _require_same(one: RemadeCall, again: Outputs) -> None:
    before = one.drawn.first
    kept = min(one.count, len(before)) if before is not None else 0
    if before is not None and kept:
        was, now = before[:kept], again[:kept]
        if packed(was.node) != packed(now.node):
            _compare(one, range(kept), was.rows(), now.rows())
    if one.event is None:
        return
    inside = _inside(one)
    if inside is None:
        _require_sum(one, again)
        return
    found = np.asarray(one.event.contains(again), dtype=bool)[: one.count]
    for place in np.flatnonzero(inside[: one.count] != found)[:1].tolist():
        value = show(_shown(again[place : place + 1].rows()[0]))
        raise _differs(one, place, _of_event(one, bool(inside[place]))[0], f"it gave {value}")


def _require_sum(one: RemadeCall, again: Outputs) -> None:
    assert one.event is not None
    hits = int(np.count_nonzero(one.event.contains(again)))
    if len(again) == one.block.size and hits != one.drawn.hits:
        raise ContractError(
            f"a block of {one.block.size:,} draws has {hits:,} hits when it is made again in a "
            f"fresh process and was said to have {one.drawn.hits:,}: the count was edited or made "
            f"by another version, or {CAUSES.removeprefix('so ')}",
            keywords=("seeded",),
        )


def _compare(
    one: RemadeCall, draws: Sequence[int], before: Sequence[object], after: Sequence[object]
) -> None:
    for draw, was, now in zip(draws, before, after, strict=True):
        if told(was) != told(now):
            first, second = show(_shown(was)), show(_shown(now))
            raise _differs(one, draw, f"it gave {first}", f"it gave {second}")


def _shown(row: object) -> object:
    """A row of outputs without the names of its types."""
    if type(row) is tuple and len(row) == 2 and isinstance(row[0], str):
        row = row[1]
    if type(row) is tuple:
        return tuple(map(_shown, row))
    return row


def _differs(one: RemadeCall, place: int, before: str, after: str) -> ContractError:
    number, side = one.block.first + place, SIDES[one.block.side % 2]
    return ContractError(
        f"one and the same draw came out in two ways: in draw {number:,} of {side}, "
        f"{before} when it was counted, and {after} when it was made again in a fresh process and "
        f"in another order. Database and generator were equal, {CAUSES}",
        keywords=("seeded",),
    )
