"""What a mechanism with randomness of its own does in processes in which it was never called.

Its draws cannot be made again, so what decides is drawn in several processes. That tells nothing if
each process draws the same, because each has a copy of one generator, and it would accuse if each
process gives one answer for good: a noise drawn at the first call and kept. Before anything decides
`copies_generator` finds both. What is kept may be one bit, which falls alike in a few processes; so
before anything is refuted, draws that stand alone are counted beside the others. And noise that was
drawn while a module was imported is one and the same in all copies of a process; so processes that
import the modules anew are looked at for clumps.
"""

from collections.abc import Sequence
from math import inf, log
from time import monotonic

import numpy as np

from ...mechanisms.model import Database
from ..bounds.one_law import upper_tail
from ..errors import ContractError
from ..outputs.encoding import told
from ..outputs.outputs import CountedEvent
from ..workers import Door, Key, Worker
from ..workers.anew import require_enough
from ..workers.children import aside
from ..workers.door import copied, pickled
from ..workers.streams import SINGLE, Block, seed_globals
from .alike import LUCK, require_no_clumps
from .blocks import WHOLE, draw_blocks
from .calls import SIDES, Calls
from .sampling import Sampler

LEAST = 4
"""Draws of each side that are made alone, however long one takes."""
TOGETHER = 16
"""Draws of each side by a process that imports the modules anew; fewer if calls are slow."""
Jobs = list[tuple[Block, int | None, int]]
Sides = Sequence[tuple[int, int]]
"""(hits of an event, draws) of D and of D'."""


def require_alone(sampler: Sampler, *, refuted: bool) -> None:
    """What was counted last beside draws that stand alone, once, where processes can tell."""
    deciding, door = sampler.tally.deciding, sampler.door
    entered, deciding.entered = deciding.entered, []
    event = entered[-1].event if entered else None
    if deciding.again or event is None or not (refuted and door.remakes):
        return
    deciding.again = True
    own = [made for made in entered if made.event is event]
    databases, calls, seconds = own[-1].databases, own[-1].calls, deciding.allowed
    counted = [
        (
            sum(made.drawn.hits for made in own if made.block.side == side),
            sum(made.block.size for made in own if made.block.side == side),
        )
        for side in (0, 1)
    ]
    if not sampler.tally.copied:
        require_alike(
            door, databases, calls, event, counted, each=deciding.lone, seconds=seconds,
            seed=sampler.seed,
        )  # fmt: skip
    require_alike_anew(
        door, [pickled(one) for one in databases], calls, event,
        processes=deciding.lone, seconds=seconds, pace=sampler.tally.pace, seed=sampler.seed,
    )  # fmt: skip


def require_alike(
    door: Door,
    databases: Sequence[Database],
    calls: Calls,
    event: CountedEvent,
    counted: Sides,
    *,
    each: int,
    seconds: float,
    seed: int,
) -> None:
    """ContractError if draws that stand alone speak less for a refutation than those `counted`.

    `each` draws of a side, in so many seconds, each come from a process of its own, in which the
    mechanism was never called. If calls are independent, the hits of these are hypergeometric given
    all hits, and for p-values of separate draws P1 P2 <= t has probability at most t (1 - ln t).
    """
    alone = door.fresh(_hits_alone, databases, calls, event, each, seconds, seed)
    if _unlike(counted, alone):
        told = " and ".join(f"{one:,} of {of:,}" for one, of in alone)
        before = " and ".join(f"{one:,} of {of:,}" for one, of in counted)
        raise ContractError(
            f"the draws refute the claim, but {event.describe()} in {before} draws of D and D' "
            f"from a few processes, and in {told} draws that each came from a process of its own: "
            "the mechanism keeps state between calls, so that they are not independent; draw fresh "
            "randomness in every call",
            keywords=("seeded",),
        )


def _unlike(counted: Sides, alone: Sides) -> bool:
    """Whether the second hits speak less for a refutation, by more than luck."""
    (hits, draws), (others, number) = counted
    more = int(others * draws > hits * number)
    product = 1.0
    for side, ((hits, draws), (single, made)) in enumerate(zip(counted, alone, strict=True)):
        # Of the side with more hits the misses are counted: what does not speak for a refutation.
        seen, least = (draws - hits, made - single) if side == more else (hits, single)
        tail = upper_tail(np.array(least), np.array(seen + least), made, draws + made)
        product *= float(tail)
    # Half of it: which side has more hits is seen in the counts.
    return product <= 0 or product * (1 - log(product)) <= LUCK / 2


def require_alike_anew(
    door: Door,
    encoded: Sequence[bytes],
    calls: Calls,
    event: CountedEvent,
    *,
    processes: int,
    seconds: float,
    pace: float,
    seed: int,
) -> None:
    """ContractError if draws of processes that import the modules anew come in clumps.

    Of independent draws that has probability at most `LUCK`: see `Dispersion`. Beside the event
    that was counted another one is bet on, since noise of an import may lie where that never
    happens: outputs beyond the middle one of a quarter of the processes, in the order of their
    bytes. These processes tell nothing else. All may take so many seconds, and a call takes `pace`.
    """
    each = max(2, min(TOGETHER, int(seconds / (4 * processes * max(pace, 1e-9)))))
    asked = (encoded, calls, event, each, seed)
    found, importing = door.anew(_hits_anew, *asked, imports=processes, seconds=seconds)
    for side, made in enumerate(zip(*found, strict=True)):
        outputs = [np.array(rows, dtype=bytes).reshape(-1, 1) for _, rows in made]
        hits = [one for one, _ in made]
        require_no_clumps(outputs, LUCK / 2, f" of {SIDES[side]}", hits=hits)
    require_enough(found, processes, importing)


def _hits_anew(
    worker: Worker,
    _: Sequence[Database],
    encoded: Sequence[bytes],
    calls: Calls,
    event: CountedEvent,
    each: int,
    seed: int,
    process: int,
) -> list[tuple[int, list[bytes]]]:
    """(hits, outputs) of some draws of each side, which are exchanged in every other process."""
    databases = [copied(one) for one in encoded]
    found: dict[int, tuple[int, list[bytes]]] = {}
    for side in (1, 0) if process % 2 else (0, 1):
        block = Block(*Key(seed, 0, "contract", side), process, each, process * each)
        seed_globals(block.key, block.first, SINGLE)
        (made,) = draw_blocks(worker, databases, calls, event, None, inf, [(block, WHOLE, 0)])
        found[side] = made.hits, [told(row) for row in made.answer.rows()]
    return [found[0], found[1]]


def _hits_alone(
    worker: Worker,
    databases: Sequence[Database],
    calls: Calls,
    event: CountedEvent,
    each: int,
    seconds: float,
    seed: int,
) -> list[tuple[int, int]]:
    """(hits, draws) of each side, each draw in a copy of this process."""
    hits, made, begun = [0, 0], 0, monotonic()
    while made < each and (made < LEAST or monotonic() - begun <= seconds):
        for side in (0, 1):
            jobs: Jobs = [(Block(*Key(seed, 0, "contract", side), made, 1, made), None, 0)]

            def draw(jobs: Jobs = jobs) -> int:
                # A global generator would be the same in each copy of this process.
                seed_globals(jobs[0][0].key, jobs[0][0].first, SINGLE)
                return draw_blocks(worker, databases, calls, event, None, inf, jobs)[0].hits

            hits[side] += aside(draw)
        made += 1
    return [(one, made) for one in hits]
