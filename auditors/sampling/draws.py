"""Draws of one mechanism on one database, as arrays: what claims beside privacy count.

As in `sampling`, each draw has a generator of its own, named by (seed, database, stage, side,
chunk) and its number, and is a single call unless rows are trusted. What decides is made again.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from math import ceil, log, prod
from time import monotonic

import numpy as np

from ...mechanisms.model import Array, Database, Histogram, Mechanism, Output, Pair, Rows, Value
from ..bounds.one_law import Dispersion
from ..databases.domains import universe
from ..databases.neighbours import pair_source
from ..errors import ContractError, InvalidArgument
from ..outputs.encoding import canonical
from ..workers import Door, Key, Stream, Worker
from ..workers.anew import require_enough, require_same_anew
from ..workers.children import aside
from ..workers.door import Copies, accepts_size, pickled
from ..workers.streams import ROWS, SINGLE, seed_globals, seedable
from ..workers.wire import packed
from .again import (
    ALLOWED,
    CAUSES,
    CLUMPS,
    COPIED,
    FEW,
    FEWEST,
    LEAST,
    LONE,
    MOST,
    MOST_ALONE,
    PART,
    PIECES,
    alone_for,
    require_inside,
)
from .alike import LUCK, of_another_law, require_no_clumps
from .blocks import BLOCK, LEAST_BLOCK, copies_generator
from .calls import Calls, guarded
from .captured import require_small

ROOM = 1 << 26
"""Bytes of database times draws in a block, so that n records times many runs fit in memory."""
OUTPUTS = 1 << 23
"""Bytes of outputs in a block: what works on them holds several times as much."""
COLUMNS = 8
"""Numbers of an output, from its first, in which processes are compared."""
KEPT = 1 << 20
"""Bytes of the outputs that are kept of one count, to be compared with the same made again."""
SEVERAL = 4
"""Databases, those counted last, on which a mechanism that is not seeded is looked at once more."""
TOGETHER = 16
"""Draws of one process on one database, in which clumps can show; fewer if calls are slow."""


Entered = tuple[Database, Key, tuple[int, int], Array]
"""What was drawn to decide: (database, key, block, first of its draws)."""


@dataclass(slots=True)
class Unchecked:
    """What was drawn to decide since the last check."""

    entered: list[Entered] = field(default_factory=list)
    kept: dict[Key, int] = field(default_factory=dict)
    seconds: float = 0.0
    draws: int = 0
    dispersion: Dispersion = field(default_factory=Dispersion)
    """Of a mechanism that is not seeded: the bets on differences between its processes."""
    pool: Door | None = None
    """The processes that draw what decides of such a mechanism, once it is known that they draw
    differently."""
    copied: bool = False
    """Whether they do not: each has a copy of one generator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What decides the draws of a claim: the function, the seed and the side of the comparison.

    `limit` is the number of seconds one call may take; `side` tells two functions apart that
    are compared on the same database. `trust_rows` is explained at `Sampler`.
    """

    run: Callable[..., Output]
    seed: int
    seeded: bool = True
    limit: float = 60.0
    side: int = 0
    trust_rows: bool = False
    vectorised: bool = field(init=False)
    door: Door = field(init=False)
    counted: Unchecked = field(default_factory=Unchecked)

    def __post_init__(self) -> None:
        """Look at the signature once."""
        object.__setattr__(self, "vectorised", accepts_size(self.run))
        object.__setattr__(self, "door", Door(self.run, limit=self.limit))

    @classmethod
    def of(cls, mechanism: Mechanism | None, seed: int) -> "Draws":
        """Draws of a mechanism."""
        if mechanism is None:
            raise InvalidArgument("a claim about outputs needs the mechanism that makes them")
        return cls(
            run=mechanism.run, seed=seed, seeded=mechanism.seeded, trust_rows=mechanism.trust_rows
        )

    def blocks(self, database: Database, stage: str, chunk: int, draws: int) -> Iterator[Array]:
        """Arrays of outputs with a leading axis, `draws` outputs in all."""
        encoded = canonical(database)
        key = Key(self.seed, int.from_bytes(blake2b(encoded, digest_size=16).digest(), "big"),
                  stage, self.side, chunk)  # fmt: skip
        rows = self.vectorised and (self.trust_rows or stage == "figure")
        most = max(1, min(BLOCK[rows], ROOM // len(encoded)))
        if rows:
            # One draw that nobody counts says how wide an output is.
            alone = key._replace(stage="width", chunk=0)
            one = self.door.ask(array_block, (database,), alone, 0, 1, rows, self.seeded)
            most = min(most, max(LEAST_BLOCK, OUTPUTS // max(one.nbytes, 1)))
        for start in range(0, draws, most):
            size, began = min(most, draws - start), monotonic()
            if self.seeded or stage != "claim":
                made = self.door.ask(array_block, (database,), key, start, size, rows, self.seeded)
            else:
                made = self._from_many(database, key, start, size, rows)
            if stage == "claim":
                self._enter(database, key, start, made, monotonic() - began)
            yield made

    def array(self, database: Database, stage: str, chunk: int, draws: int) -> Array:
        """All outputs of `blocks` in one array."""
        return np.concatenate(list(self.blocks(database, stage, chunk, draws)))

    def _from_many(self, database: Database, key: Key, start: int, size: int, rows: bool) -> Array:
        """Draws of a mechanism that is not seeded, from `PIECES` processes: none is made again.

        What it keeps from call to call is another thing in each process.
        """
        if self.counted.pool is None:
            calls = Calls(False, self.vectorised, False, "error")
            alike = copies_generator(self.door, (database,), calls, self.seed)
            self.counted.copied, workers = alike, 1 if alike else PIECES
            self.counted.pool = Door(self.run, workers=workers, limit=self.limit)
        ends = np.linspace(0, size, min(PIECES, size) + 1).astype(int).tolist()
        jobs = [(key, start + one, two - one, rows, False)
                for one, two in pairwise(ends)]  # fmt: skip
        found = dict(self.counted.pool.each(array_block, (database,), jobs))
        pieces = [found[place] for place in range(len(jobs))]
        self._require_one_law([_columns(piece) for piece in pieces])
        return np.concatenate(pieces)

    def _require_one_law(self, pieces: Sequence[Array]) -> None:
        """Bet on clumps between processes, on half-lines at the middle of each in the others."""
        least = min(map(len, pieces))
        hits: list[list[int]] = []
        for place, own in enumerate(pieces):
            # An event of one piece, so that it is fixed before the draws of the others.
            others = [piece[:least] for number, piece in enumerate(pieces) if number != place]
            if own.dtype.kind in "biuf":
                middle = np.median(own, axis=0)
                inside = [piece >= middle for piece in others]
            else:
                inside = [piece == own[0] for piece in others]
            hits += np.array([one.sum(axis=0) for one in inside]).T.tolist()
        if not hits:
            return  # outputs of no number at all
        sizes = [least] * (len(pieces) - 1)
        self.counted.dispersion = self.counted.dispersion.after(hits[0], sizes, *hits[1:])
        if self.counted.dispersion.log_e >= -log(CLUMPS):
            worst = max(hits, key=lambda one: max(one) - min(one))
            raise ContractError(
                "the mechanism's outputs are not independent: those of one process fall into an "
                f"event at a rate of {min(worst) / least:.3g}, and those of another at "
                f"{max(worst) / least:.3g}, and independent draws differ as much with probability "
                f"below {CLUMPS:g}; draw fresh randomness for every output, and keep nothing from "
                "call to call",
                keywords=("seeded",),
            )

    def _enter(self, database: Database, key: Key, start: int, made: Array, seconds: float) -> None:
        counted = self.counted
        kept = counted.kept.get(key, 0)
        counted.seconds, counted.draws = counted.seconds + seconds, counted.draws + len(made)
        most = min(MOST, max(FEW, KEPT // max(made[:1].nbytes, 1)))
        if kept < most:
            counted.kept[key] = kept + len(made)
            counted.entered.append((database, key, (start, len(made)), made[: most - kept].copy()))

    def gate(self, *, refuted: bool, unlike: float = 0.5) -> None:
        """Make again what was drawn to decide; ContractError where it differs: see `gate`.

        If the claim holds, a draw that stands alone shows otherwise than what refutes with
        probability `unlike` at least.
        """
        number, entered = alone_for(unlike), self.counted.entered
        databases = len({key.pair for _, key, *_ in entered})
        self.counted.entered, self.counted.kept = [], {}
        if not entered or not self.door.remakes:
            pass
        elif self.seeded:
            lone = max(2 * LONE, min(MOST_ALONE, databases * number))
            self._make_again(entered, lone if refuted else 0)
        elif refuted:
            # A quarter of the processes says on what the others are looked at.
            self._stand_alone(entered, max(2 * LONE, ceil(number / 0.75)))
        if refuted:
            require_inside(self.door)

    def _make_again(self, entered: Sequence[Entered], lone: int) -> None:
        counted = self.counted
        pace = counted.seconds / max(counted.draws, 1)
        share = int(PART * counted.seconds / max(pace * len(entered), 1e-9))
        most = MOST if lone else FEW
        most = max(LEAST, min(most, share)) if pace > 1e-4 else most
        made: dict[Key, int] = {}
        asked, before = [], []
        for database, key, (start, size), first in entered:
            wanted = min(len(first), most - made.get(key, 0))
            if wanted <= 0:
                continue
            made[key] = made.get(key, 0) + wanted
            rows = self.vectorised and self.trust_rows
            made_again = size if rows else wanted
            asked.append((pickled(database), key, start, made_again, rows, wanted))
            before.append(first[:wanted])
        again, alone = self.door.fresh(remade, (), asked, PART * counted.seconds, lone)
        for one, two, (_, _, start, *_) in zip(before, again, asked, strict=True):
            _require_same(one, two, start)
        for place, number, made_alone, among in alone:
            _require_same(among, made_alone, asked[place][2] + number)
        if lone:
            seconds = max(PART * counted.seconds, ALLOWED)
            found, importing = self.door.anew(anew, asked, imports=lone // 2, seconds=seconds)
            require_same_anew(found)
            require_enough(found, lone // 2, importing)

    def _stand_alone(self, entered: Sequence[Entered], number: int) -> None:
        """Look for what a mechanism that is not seeded keeps: its draws cannot be made again.

        On each of the databases counted last, `number` processes in which the mechanism was never
        called make a few draws, and as many that import its modules anew. Those of one process
        must lie no closer together than those of several, and the first of each process that
        imports nothing where the draws lie that were counted.
        """
        counted, last = self.counted, dict[int, Database]()
        pace, rows = counted.seconds / max(counted.draws, 1), self.vectorised and self.trust_rows
        for database, key, *_ in reversed(entered):
            last.setdefault(key.pair, database)
        asked = [pickled(one) for one in [*last.values()][:SEVERAL]]
        seconds = max(PART * counted.seconds, ALLOWED)
        number = min(number, MOST_ALONE // len(asked))
        each = max(2, min(TOGETHER, int(seconds / (4 * number * max(pace, 1e-9)))))
        luck, drawn = LUCK / (3 * len(asked)), (self.seed, rows, each)
        if not counted.copied:
            apart = self.door.fresh(several_apart, (), asked, drawn, number, seconds)
            for name, processes in zip(last, apart, strict=False):
                require_no_clumps(processes, luck, where="copies of one process")
                before = [made for _, key, _, made in entered if key.pair == name]
                alone = np.array([made[0] for made in processes])
                if of_another_law(_columns(np.concatenate(before)), alone, luck):
                    raise ContractError(
                        f"the draws refute the claim, but {len(alone)} draws that each came from a "
                        "process of its own follow another law than those that were counted in a "
                        "few processes: the mechanism keeps state between calls, so that they are "
                        "not independent; draw fresh randomness in every call",
                        keywords=("seeded",),
                    )
        found, importing = self.door.anew(
            several_anew, asked, drawn, imports=number, seconds=seconds
        )
        for several in zip(*found, strict=True):
            require_no_clumps(several, luck)
        require_enough(found, number, importing)


def _columns(outputs: Array) -> Array:
    return outputs.reshape(len(outputs), prod(outputs.shape[1:]))[:, :COLUMNS]


def _require_same(one: Array, two: Array, start: int) -> None:
    if one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes():
        return
    for place, (before, after) in enumerate(zip(one, two, strict=True)):
        if repr(np.asarray(before).tolist()) != repr(np.asarray(after).tolist()):
            raise ContractError(
                f"one and the same draw came out in two ways: draw {start + place:,} gave "
                f"{np.asarray(before).tolist()!r:.80} when it was counted, and "
                f"{np.asarray(after).tolist()!r:.80} when it was made again in a fresh process and "
                f"in another order. Database and generator were equal, {CAUSES}",
                keywords=("seeded",),
            )


def array_block(
    worker: Worker,
    databases: Sequence[Database],
    key: Key,
    start: int,
    size: int,
    rows: bool,
    seeded: bool,
) -> Array:
    """`size` outputs from number `start` on as an array; runs where the mechanism runs."""
    calls = Calls(rows, accepts_size(worker.run), seeded, "error")
    with guarded(worker, databases[0]):
        made = calls.made(worker, databases[0], key, start, size, kept=False)
        if not rows:
            require_small(np.asarray(made[0]))  # some objects are large as an array only
        found = np.array(made)
    if found.shape[:1] != (size,):
        raise ContractError(
            f"the mechanism was asked for size={size} and returned an array of shape "
            f"{found.shape}; with size=n the result must have a leading axis of n draws"
        )
    return found


def remade(
    worker: Worker,
    _: Sequence[Database],
    asked: Sequence[tuple[bytes, Key, int, int, bool, int]],
    seconds: float,
    most: int,
) -> tuple[list[Array], list[tuple[int, int, Array, Array]]]:
    """The same draws in a random order, each from a fresh copy of its database.

    The last of each entry is how many of rows that are made together are wanted.
    (place, number, output, the same made among others) of those that were made alone come second,
    `most` of them.
    """
    order = [
        (place, number)
        for place, (_, _, _, size, rows, _) in enumerate(asked)
        for number in ([0] if rows else range(size))
    ]
    random.Random(repr([key for _, key, *_ in asked])).shuffle(order)
    worker.memory["globals"] = True
    held: list[Stream] = []
    databases = Copies([encoded for encoded, *_ in asked])

    def again(place: int, number: int, *, new: bool = True) -> Array:
        _, key, start, size, rows, wanted = asked[place]
        if len(held) < COPIED:
            # A generator that is freed leaves its address to the next.
            held.append(Stream(key))
        size = size if rows else 1
        database = databases.of(place, new=new)
        made = array_block(worker, [database], key, start + number, size, rows, True)
        return made[:wanted].copy()

    def twice(place: int, number: int) -> Array:
        known, one = seedable(), again(place, number, new=False)
        # The call may have imported another generator, which is seeded for the next.
        return one if seedable() == known else again(place, number)

    lone: list[tuple[int, int, Array]] = []
    alone = most > 0 and worker.alone
    singles = [(place, number) for place, number in order if alone and not asked[place][4]]
    begun = monotonic()
    for place, number in singles[:most]:
        if len(lone) >= 2 * FEWEST and monotonic() - begun > max(seconds, ALLOWED):
            break
        databases.of(place, new=False)  # each process has it as it is now, before any call
        lone.append((place, number, aside(partial(twice, place, number))))
    among = {(place, number): again(place, number) for place, number in order}
    made = [
        among[place, 0] if rows else np.asarray([among[place, n][0] for n in range(size)])
        for place, (*_, size, rows, _) in enumerate(asked)
    ]
    return made, [(place, number, one, among[place, number]) for place, number, one in lone]


def anew(
    worker: Worker,
    _: Sequence[Database],
    asked: Sequence[tuple[bytes, Key, int, int, bool, int]],
    process: int,
) -> list[tuple[bytes, str]]:
    """A few draws of each block, every other process in the opposite order: `require_same_anew`."""
    worker.memory["globals"] = True
    order = [
        (place, number)
        for place, (*_, size, rows, _) in enumerate(asked)
        for number in ([0] if rows else range(min(size, FEWEST)))
    ]
    known = seedable()
    databases = Copies([encoded for encoded, *_ in asked])

    def made() -> dict[tuple[int, int], tuple[bytes, str]]:
        found = {}
        for place, number in reversed(order) if process % 2 else order:
            _, key, start, size, rows, _ = asked[place]
            database, block = databases.of(place, new=True), size if rows else 1
            one = array_block(worker, [database], key, start + number, block, rows, True)
            found[place, number] = blake2b(packed(one)).digest(), f"{one[0].tolist()!r:.80}"
        return found

    found = made()
    if seedable() != known:  # a call imported another generator
        found = made()
    return [found[one] for one in order]


def several_apart(
    worker: Worker,
    _: Sequence[Database],
    asked: Sequence[bytes],
    drawn: tuple[int, bool, int],
    number: int,
    seconds: float,
) -> list[list[Array]]:
    """For each database what `number` copies of this process draw: see `_several`."""
    databases, begun = Copies(asked), monotonic()
    for place in range(len(asked)):
        databases.of(place, new=False)  # each copy has it as it is now, before any call
    found: list[list[Array]] = []
    for process in range(number):
        if process >= FEWEST and monotonic() - begun > seconds:
            break
        found.append(aside(partial(_several, worker, databases, len(asked), drawn, process)))
    return [list(made) for made in zip(*found, strict=True)]


def several_anew(
    worker: Worker,
    _: Sequence[Database],
    asked: Sequence[bytes],
    drawn: tuple[int, bool, int],
    process: int,
) -> list[Array]:
    """What a process draws that imported the modules anew."""
    return _several(worker, Copies(asked), len(asked), drawn, process)


def _several(
    worker: Worker,
    databases: Copies,
    number: int,
    drawn: tuple[int, bool, int],
    process: int,
) -> list[Array]:
    """Draws of each database, shape (each, columns); every other process begins with the last."""
    seed, rows, each = drawn
    found: dict[int, Array] = {}
    for place in range(number)[:: -1 if process % 2 else 1]:
        key, start = Key(seed, 0, "contract", place), process * each
        # A global generator would be the same in each copy of a process.
        seed_globals(key, start, ROWS if rows else SINGLE)
        database = databases.of(place, new=False)
        found[place] = _columns(array_block(worker, [database], key, start, each, rows, False))
    return [found[place].copy() for place in range(number)]


def some_databases(mechanism: Mechanism | None, most: int = 4) -> tuple[Database, ...]:
    """A few databases of a mechanism's domain: the simplest, the largest and some in between."""
    if mechanism is None or mechanism.databases is None:
        raise InvalidArgument(
            "the claim names no databases and the mechanism has no domain to take them from"
        )
    for claim in mechanism.claims:
        relation = getattr(claim, "relation", None)
        if relation is None:
            continue
        domain = mechanism.databases
        pairs: Sequence[Pair] = pair_source(domain, relation, 1, 0).templates
        if not pairs and isinstance(domain, Rows | Histogram | Value):
            # Lists of one length are not made by hand.
            pairs = universe(domain, relation).pairs
        found = {canonical(db): db for p in pairs for db in (p.database, p.neighbour)}
        order = sorted(found, key=lambda key: (len(key), key))
        if order:
            places = np.unique(np.linspace(0, len(order) - 1, most).round().astype(int))
            return tuple(found[order[place]] for place in places)
    raise InvalidArgument(f"no database of {mechanism.name} can be made up; name some in the claim")
