"""Drawing outputs: who gets which random stream, in blocks, on any number of workers.

Every draw has a generator of its own, named by (seed, pair, stage, side, chunk) and its number.
Which worker draws it, and in what order, therefore changes nothing: counts are the same bit for
bit. What is counted is entered in the tally's `deciding`, and made again before anything is
concluded; see `gate`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf, log
from typing import TypeVar

import numpy as np

from ...mechanisms.model import Database, Output, Pair
from ..bounds.one_law import Dispersion
from ..engines.engine import Book, Engine, send_by_value
from ..errors import ContractError
from ..looking import attribute, is_a
from ..outputs.decoding import from_json
from ..outputs.encoding import show
from ..outputs.outputs import CountedEvent, Outputs
from ..workers import Door, Key, Worker, is_client
from ..workers.door import accepts_size, require_signature
from ..workers.streams import Block
from ..workers.wire import packed
from .again import CLUMPS, FEW, MOST, PIECES
from .blocks import (
    BLOCK,
    LEAST_BLOCK,
    PROBE,
    WHOLE,
    Answer,
    Ask,
    Deciding,
    Drawn,
    answered,
    copies_generator,
    draw_blocks,
    frozen_draws,
    together,
)
from .calls import IN_OTHER_ORDER, Calls, MechanismRaised, PairKeys
from .kept import KeptLines

T = TypeVar("T")
Work = Callable[..., Answer]

REQUEST = 256
"""Draws of one request to a client, where they decide: a request is what stands alone there."""
LOOKING = frozenset({"contract", "search", "shrink", "figure", "pilot", "select", "frozen",
                     "standing"})  # fmt: skip
"""Stages that decide nothing, and the bound of a claim that stands: rows may be drawn for them."""
WHOLE_BLOCKS = frozenset({"contract", "search", "shrink", "figure", "pilot", "frozen"})
"""Stages that count nothing; all others are drawn in `PIECES` blocks or more where possible."""
UNDECIDED = WHOLE_BLOCKS | {"select", "opening"}
"""Stages of which nothing is concluded, so that they are not made again."""
ROOM = 1 << 23
"""Bytes of outputs of a block that teaches or counts, and of those that one answer brings."""
BUNDLE = 0.25
"""Seconds that the blocks of one request should take, so that progress is told."""
LONG = 0.05
"""Seconds from which what a block of single calls returned is worth keeping in a checkpoint."""


def _nothing(draws: int) -> None:
    """Progress listener that ignores the news."""


def _never() -> bool:
    """No time limit."""
    return False


class OutOfTime(Exception):
    """The time of the audit is used up in the middle of draws."""


@dataclass(slots=True)
class Tally:
    """How many outputs have been drawn so far, whom to tell, and what of them decides."""

    listener: Callable[[int], None] = _nothing
    draws: int = 0
    dispersion: Dispersion = field(default_factory=Dispersion)
    """The bets on clumps among the draws counted so far, of a mechanism that is not seeded."""
    keys: PairKeys = field(default_factory=PairKeys)
    pace: float = 0.0
    """Seconds that a draw took when last measured; decides who draws and never what."""
    deciding: Deciding = field(default_factory=Deciding)
    copied: bool | None = None
    """Whether processes of a mechanism that is not seeded share a generator, once that is known."""
    widths: dict[int, int] = field(default_factory=dict)
    """Bytes of an output of the pairs that were drawn from to teach or to count."""

    slow: bool = False
    """Whether calls are so slow that blocks are drawn in pieces."""
    kept: KeptLines = field(default_factory=KeptLines)
    """The draws of the pair that is judged, where calls are slow."""
    late: Callable[[], bool] = _never
    """Whether no more may be drawn."""
    _told: int = 0
    """Draws that the listener knows of and that are not added yet."""

    def require_time(self) -> None:
        """Raise OutOfTime once no more may be drawn."""
        if self.late():
            raise OutOfTime

    @property
    def made(self) -> int:
        """How many draws there have been, with those of blocks that are not whole yet."""
        return self.draws + self._told

    def tell(self, draws: int) -> None:
        """Tell of draws of a block that is not whole yet, and will be added."""
        self._told += draws
        self.listener(draws)

    def add(self, draws: int) -> None:
        """Count more draws."""
        self.draws += draws
        told = min(draws, self._told)
        self._told -= told
        if draws > told:
            self.listener(draws - told)

    def require_independent(
        self, hits: Sequence[int], sizes: Sequence[int], *others: Sequence[int]
    ) -> None:
        """Bet on clumps in the hits of blocks of these sizes; ContractError once that has paid.

        The events, `others` being the hits of more, must have been fixed before the draws.
        """
        self.dispersion = self.dispersion.after(hits, sizes, *others)
        if self.dispersion.log_e >= -log(CLUMPS):
            worst = max((hits, *others), key=lambda one: Dispersion().after(one, sizes).log_e)
            rates = [f"{h / n:.3g}" for h, n in zip(worst, sizes, strict=True)][:8]
            raise ContractError(
                "the mechanism's outputs are not independent: blocks of "
                f"{max(sizes):,} draws on one database fall into the same event at rates "
                f"{', '.join(rates)}, which differ more than independent draws do (probability "
                f"below {CLUMPS:g}); draw fresh randomness for every output, also within one call "
                "with size=, and keep nothing from call to call"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A mechanism with everything that decides its draws.

    `limit` is the number of seconds one call may take. A mechanism that is not `seeded` draws
    from the operating system or from a generator of its own: its runs cannot be repeated bit for
    bit, and they stay in one process, because copies of one generator in several workers would
    give the same draws several times over. With `trust_rows` the rows of a `size=` call are taken
    for draws that decide, on the word of whoever declares it.
    """

    run: Callable[..., Output]
    seed: int
    seeded: bool = True
    workers: int = 1
    limit: float = 10.0
    tally: Tally = field(default_factory=Tally)
    exceptions: str = "error"
    """What a call that raises is: "error" ends the audit, "output" makes its type the output."""
    show_output: bool = False
    """Whether what the mechanism prints is shown; it is swallowed otherwise."""
    trust_rows: bool = False
    in_process: bool = False
    """Whether calls are made in this process, where a debugger sees them, and not made again."""
    engine: Engine = field(default_factory=Engine)
    """What draws where there are several workers; decides nothing about the draws."""
    book: Book | None = None
    """Blocks that were counted before, and who is told of those counted now."""
    vectorised: bool = field(init=False)
    """Whether one call gives many draws."""
    door: Door = field(default=None)  # type: ignore[assignment]
    """The only way to the mechanism; started when it is first needed."""

    def __post_init__(self) -> None:
        """Look at the signature once: it is too slow to do so for every block."""
        # Of a call with size= that raises nobody can say which of its draws did.
        vectorised = accepts_size(self.run) and self.exceptions == "error"
        object.__setattr__(self, "vectorised", vectorised)
        if self.door is None or self.door.run is not self.run:
            workers = self.workers if self.seeded and not self.engine.remote else 1
            door = Door(
                self.run,
                workers=workers,
                limit=self.limit,
                show_output=self.show_output,
                apart=not self.in_process,
            )
            object.__setattr__(self, "door", door)

    def by_rows(self, stage: str) -> bool:
        """Whether this stage is drawn by rows of `size=` calls."""
        return self.vectorised and (self.trust_rows or self.requests or stage in LOOKING)

    @property
    def requests(self) -> bool:
        """Whether the mechanism answers requests of a seed and a size, as a client does."""
        return is_client(self.run)

    def calls(self, stage: str) -> Calls:
        """How the mechanism is called at this stage."""
        return Calls(self.by_rows(stage), self.vectorised, self.seeded, self.exceptions)

    @property
    def block(self) -> int:
        """Draws in one block: as many as the mechanism asks for in `block`, if it has one."""
        return self._block(rows=self.vectorised)

    def _block(self, *, rows: bool) -> int:
        asked = attribute(self.run, "block")
        return asked if is_a(asked, int) and asked > 0 else BLOCK[rows]

    def width_of(self, pair: Pair) -> int:
        """Bytes of an output of a pair whose calls were checked; 1 before that."""
        return self.tally.widths.get(self.tally.keys.of(pair), 1)

    def check_call(self, pair: Pair) -> None:
        """A few calls on both databases: whether the mechanism can be called, and at what pace."""
        require_signature(self.run)
        blocks = [
            Block(self.seed, self.tally.keys.of(pair), "contract", side, 0, 0, PROBE, 0)
            for side in (0, 1)
        ]
        widest = 1
        with self.naming(pair):
            for _, drawn in self._drawn(pair, None, blocks, [WHOLE, WHOLE]):
                self.tally.pace = drawn.pace
                self.tally.add(PROBE)
                widest = max(widest, len(packed(drawn.answer.node)) // PROBE)
        self.tally.widths[blocks[0].pair] = widest

    def draw(self, pair: Pair, stage: str, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs from each side of the pair, on the stream named by stage and chunk."""
        blocks = self.blocks(pair, stage, chunk, draws)
        _, found = self.results(pair, None, blocks, [WHOLE] * len(blocks))
        first, second = (
            Outputs.concatenate(side) if side else Outputs.of_list([]) for side in halves(found)
        )
        return first, second

    def frozen(self, database: Database, draws: int) -> Outputs:
        """`draws` outputs from the same generators for every database.

        Two databases share their noise then, and the difference of their outputs shows what the
        databases do to it. Such outputs rank pairs and never judge one.
        """
        return self.frozen_runs([database], draws)[0]

    def frozen_runs(
        self,
        databases: Sequence[Database],
        draws: int,
        followed: tuple[Work, Callable[[Answer], None]] | None = None,
        noise: int = 0,
    ) -> list[Outputs]:
        """The same of several databases, asked for at once.

        `followed` is what draws them instead and tells more, and who is told that. `noise` numbers
        the generators; 0 is the noise that all databases of a search may share.
        """
        block = Block(self.seed, 0, "frozen", int(noise > 0), noise, 0, draws, 0)
        calls = self.calls("frozen")
        outputs: list[Outputs]
        if followed is None:
            outputs = self.door.ask(frozen_draws, databases, calls, block)
        else:
            work, tell = followed
            outputs, more = self.door.ask(work, databases, calls, block)
            tell(more)
        self.tally.add(draws * len(databases))
        return outputs

    def paired(self, pair: Pair, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs of each side, made from the same generators for all databases.

        The noise that two sides share cancels in their difference, so such outputs rank pairs with
        far fewer draws than independent ones; they never judge one. The streams of `chunk` 0 are
        those of `frozen`.
        """
        with self.naming(pair):
            return (
                self.one_of_paired(pair.database, chunk, draws),
                self.one_of_paired(pair.neighbour, chunk, draws),
            )

    def one_of_paired(self, database: Database, chunk: int, draws: int) -> Outputs:
        """What `paired` draws of one database, whatever the other is."""
        blocks = [
            Block(self.seed, 0, "frozen", 0, chunk, index, stop - start, start)
            for index, (start, stop) in enumerate(self.plan("search", draws))
        ]
        parts: dict[int, Outputs] = {}
        alone = Pair(database, database)
        for place, drawn in self._drawn(alone, None, blocks, [WHOLE] * len(blocks)):
            parts[place] = drawn.answer
            self.tally.add(blocks[place].size)
        return Outputs.concatenate([parts[place] for place in sorted(parts)])

    def count(
        self, pair: Pair, event: CountedEvent, stage: str, chunk: int, draws: int
    ) -> tuple[int, int]:
        """How many of `draws` outputs of each side lie in `event`."""
        blocks = self.blocks(pair, stage, chunk, draws)
        hits, _ = self.results(pair, event, blocks, [None] * len(blocks))
        return self.total(blocks, hits)

    def total(
        self, blocks: Sequence[Block], hits: Sequence[int], *others: Sequence[int]
    ) -> tuple[int, int]:
        """Hits of each side, from those of all blocks of a count.

        Draws that stand alone are made again; whether those of a mechanism with randomness of its
        own, and rows that are taken for draws on somebody's word, come in clumps is bet on, of
        the event and of `others`.
        """
        sizes, sides = halves([block.size for block in blocks])[0], halves(hits)
        if blocks and self.clumps(blocks[0].stage):
            for counted in zip(*map(halves, (hits, *others)), strict=True):
                own, *rest = counted
                self.tally.require_independent(own, sizes, *rest)
        return sum(sides[0]), sum(sides[1])

    def results(
        self,
        pair: Pair,
        event: CountedEvent | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None = None,
    ) -> tuple[list[int], list[Answer]]:
        """Of every block its hits and what is asked of its outputs: see `draw_blocks`."""
        hits, answers = [0] * len(blocks), [None] * len(blocks)
        with self.naming(pair):
            for place, found, answer in self._results(pair, event, blocks, parts, ask):
                hits[place], answers[place] = found, answer
                self.tally.add(blocks[place].size)
        return hits, answers

    def ahead(
        self, pair: Pair, event: CountedEvent, stage: str, chunk: int, draws: Sequence[int]
    ) -> None:
        """Tell the book what may be counted: `draws` a side on the streams from `chunk` on.

        Only for counts whose outputs teach nothing; the event is fixed.
        """
        if self.book is None:
            return
        blocks = [
            block
            for index, size in enumerate(draws)
            for block in self.blocks(pair, stage, chunk + index, size)
        ]

        def count(some: Sequence[Block]) -> Iterator[tuple[int, int]]:
            with self.naming(pair):
                for place, drawn in self._drawn(pair, event, some, [None] * len(some)):
                    self.tally.add(some[place].size)
                    yield place, drawn.hits

        self.book.ahead(event, blocks, count)

    def blocks(self, pair: Pair, stage: str, chunk: int, draws: int) -> list[Block]:
        """The blocks of `draws` draws a side, those of the first side first."""
        key, width = self.tally.keys.of(pair), 1
        if stage not in WHOLE_BLOCKS:
            if key not in self.tally.widths:
                self.check_call(pair)
            width = self.tally.widths[key]
        starts = self.plan(stage, draws, max(LEAST_BLOCK, ROOM // width))
        return [
            Block(self.seed, key, stage, side, chunk, index, stop - start, start)
            for side in (0, 1)
            for index, (start, stop) in enumerate(starts)
        ]

    def clumps(self, stage: str) -> bool:
        """Whether draws of a stage may come in clumps, so that this is bet on."""
        return not self.seeded or self.by_rows(stage)

    def step(self, stage: str, draws: int) -> int:
        """Draws in one block of a count of `draws`.

        One call could give thousands of draws, but what the rows of one call share shows only
        between calls, and what draws of one process share only between processes: counts that
        decide something take several.
        """
        rows = self.by_rows(stage)
        size = self._block(rows=rows)
        if self.clumps(stage) and stage not in WHOLE_BLOCKS:
            size = min(size, max(LEAST_BLOCK, -(-draws // PIECES)))
        if self.requests and stage not in LOOKING:
            size = min(size, REQUEST)
        return size

    def plan(self, stage: str, draws: int, most: int = BLOCK[True]) -> list[tuple[int, int]]:
        """Where each block of `draws` draws starts and stops; fixed before the first draw.

        `most` is how many wide outputs have room in a block.
        """
        size = min(self.step(stage, draws), most)
        return [(start, min(start + size, draws)) for start in range(0, draws, size)]

    @contextmanager
    def naming(self, pair: Pair) -> Iterator[None]:
        """Calls on a pair; an exception on one of its databases only is named a disclosure."""
        try:
            yield
        except MechanismRaised as error:
            raise _disclosure(self, pair, error) from error

    def _results(
        self,
        pair: Pair,
        event: CountedEvent | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None,
    ) -> Iterator[tuple[int, int, Answer]]:
        """(place, hits, what was asked) of every block: from the book, or drawn now."""
        book = self.book
        if book is None:
            for place, drawn in self._drawn(pair, event, blocks, parts, ask):
                yield place, drawn.hits, drawn.answer
            return
        missing = []
        for place, block in enumerate(blocks):
            part = parts[place]
            if part is None:
                known = None if event is None else book.known(event, block)
                if known is not None and event is not None:
                    said = Drawn(0.0, known, None, None, None, None)
                    self.tally.deciding.enter(pair, self.calls(block.stage), event, block, said)
                    yield place, known, None
                    continue
            elif not self.by_rows(block.stage) and (returned := book.recall(block)) is not None:
                outputs = Outputs.of_list(returned)
                inside = None if event is None else event.contains(outputs)
                hits = 0 if inside is None else int(np.count_nonzero(inside))
                if inside is not None and block.stage not in UNDECIDED:
                    first = outputs[: self._kept(block)]
                    said = Drawn(0.0, hits, None, np.packbits(inside), first, None)
                    self.tally.deciding.enter(pair, self.calls(block.stage), event, block, said)
                yield place, hits, answered(ask, outputs, part)
                continue
            missing.append(place)
        some = [blocks[place] for place in missing]
        for number, drawn in self._drawn(
            pair, event, some, [parts[place] for place in missing], ask, returned=LONG
        ):
            if event is not None:
                book.enter(event, some[number], drawn.hits)
            if drawn.returned is not None:
                book.remember(some[number], from_json(drawn.returned))
            yield missing[number], drawn.hits, drawn.answer

    def _drawn(
        self,
        pair: Pair,
        event: CountedEvent | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None = None,
        returned: float = inf,
    ) -> Iterator[tuple[int, Drawn]]:
        """(place, what came of it) of every block, from workers; entered where it decides.

        Raises OutOfTime before the block that would come after the tally's time.
        """
        if not blocks:
            return
        stage = blocks[0].stage
        calls, decides = self.calls(stage), stage not in UNDECIDED
        jobs = [
            (block, part, self._kept(block) if decides else 0)
            for block, part in zip(blocks, parts, strict=True)
        ]
        slow = self.tally.slow and not self.engine.remote
        asked = self._in_pieces if slow else self._asked
        left = len(jobs)
        for place, drawn in asked(pair, calls, event, ask, returned, jobs):
            self.tally.pace = drawn.pace
            if decides:
                self.tally.deciding.enter(pair, calls, event, blocks[place], drawn)
            yield place, drawn
            left -= 1
            if left:
                self.tally.require_time()

    def _in_pieces(
        self,
        pair: Pair,
        calls: Calls,
        event: CountedEvent | None,
        ask: Ask | None,
        returned: float,
        jobs: Sequence[tuple[Block, int | None, int]],
    ) -> Iterator[tuple[int, Drawn]]:
        """The same from a slow mechanism: in pieces, of both sides in turn, each kept as it comes.

        What is asked of the outputs is asked here. A draw has a generator of its own, so pieces
        change none; rows have one a block, so a block of them is one piece.
        """
        kept = self.tally.kept
        kept.expect(pair, [block for block, _, _ in jobs])
        alone = not calls.rows and (self.seeded or jobs[0][0].stage in UNDECIDED)
        whole = max(block.size for block, _, _ in jobs)
        most = max(1, int(BUNDLE / max(self.tally.pace, 1e-6))) if alone else whole
        pieces = [
            (place, block._replace(first=block.first + start, size=min(most, block.size - start)))
            for place, (block, _, _) in enumerate(jobs)
            for start in range(0, block.size, most)
        ]
        pieces.sort(key=lambda piece: (piece[1].first, piece[1].side))
        found: dict[int, dict[int, Drawn]] = {}
        some = [
            (
                piece,
                WHOLE,
                min(max(jobs[place][2] + jobs[place][0].first - piece.first, 0), piece.size),
            )
            for place, piece in pieces
        ]
        for number, drawn in self._asked(pair, calls, None, None, 0.0, some):
            place, piece = pieces[number]
            kept.enter(pair, piece, drawn.returned)
            block, part, first = jobs[place]
            found.setdefault(place, {})[piece.first] = drawn
            self.tally.tell(piece.size)
            if sum(len(one.answer) for one in found[place].values()) == block.size:
                least = inf if calls.rows else returned
                yield place, together(found.pop(place), event, ask, part, first, least)
            else:
                self.tally.pace = drawn.pace
                self.tally.require_time()

    def _kept(self, block: Block) -> int:
        """How many of the first outputs of a block are kept, to be compared with others.

        A few of every block of single calls: any may be the last.
        """
        before = self.tally.deciding.draws.get(block.side, 0)
        least = 0 if self.by_rows(block.stage) else FEW // 2
        return min(block.size, max(least, MOST - before - block.first))

    def _asked(
        self,
        pair: Pair,
        calls: Calls,
        event: CountedEvent | None,
        ask: Ask | None,
        returned: float,
        jobs: Sequence[tuple[Block, int | None, int]],
    ) -> Iterator[tuple[int, Drawn]]:
        databases = (pair.database, pair.neighbour)
        if self.engine.remote and self.seeded:
            send_by_value(self.run)
            near = partial(_elsewhere, self.run, databases, calls, event, ask, returned)
            results = self.engine.results(
                near, [(job,) for job in jobs], workers=self.workers,
                patience=self.limit * (1 if calls.rows else max(b.size for b, *_ in jobs)) + 9,
                seconds=self.tally.pace * jobs[0][0].size or inf,
            )  # fmt: skip
            yield from results
            return
        if not self.seeded and jobs[0][0].stage not in UNDECIDED and not self._copied(pair):
            yield from self._from_many(databases, calls, event, ask, returned, jobs)
            return
        size = max(1, int(BUNDLE / max(self.tally.pace * jobs[0][0].size, 1e-6)))
        if self.door.workers > 1:
            size = min(size, -(-len(jobs) // (2 * self.door.workers)))
        if any(part == WHOLE for _, part, _ in jobs):
            # Of the widest pair so far: how draws are bundled changes none of them.
            width = max(self.tally.widths.values(), default=1)
            size = min(size, max(1, ROOM // (width * jobs[0][0].size)))
        starts = range(0, len(jobs), size)
        bundles = [(calls, event, ask, returned, jobs[start : start + size]) for start in starts]
        for place, found in self.door.each(draw_blocks, databases, bundles):
            for number, drawn in enumerate(found):
                yield starts[place] + number, drawn

    def _from_many(
        self,
        databases: tuple[Database, Database],
        calls: Calls,
        event: CountedEvent | None,
        ask: Ask | None,
        returned: float,
        jobs: Sequence[tuple[Block, int | None, int]],
    ) -> Iterator[tuple[int, Drawn]]:
        """The same from `PIECES` fresh processes, each with its part of either side.

        A mechanism with randomness of its own cannot be made again. What it keeps from call to call
        is another thing in each process, and shows as clumps between the blocks.
        """
        pool = Door(self.run, workers=PIECES, limit=self.limit, show_output=self.show_output)
        places = [list(range(len(jobs)))[first::PIECES] for first in range(PIECES)]
        parts = [part for part in places if part]
        bundles = [(calls, event, ask, returned, [jobs[p] for p in part]) for part in parts]
        try:
            for number, found in pool.each(draw_blocks, databases, bundles):
                yield from zip(parts[number], found, strict=True)
        finally:
            pool.close()

    def _copied(self, pair: Pair) -> bool:
        """Whether each process draws the same: a generator was made before, and each has a copy.

        All draws come from one process then.
        """
        if self.tally.copied is None:
            databases = (pair.database, pair.neighbour)
            calls = self.calls("contract")
            self.tally.copied = copies_generator(self.door, databases, calls, self.seed)
        return self.tally.copied


def _elsewhere(
    run: Callable[..., Output],
    databases: Sequence[Database],
    calls: Calls,
    event: CountedEvent | None,
    ask: Ask | None,
    returned: float,
    job: tuple[Block, int | None, int],
) -> Drawn:
    """One block, drawn in the process of a scheduler's worker."""
    worker = Worker(run, alone=False)
    (drawn,) = draw_blocks(worker, databases, calls, event, ask, returned, [job])
    return drawn


def halves(found: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """What was found of the blocks of the first side, and of the second."""
    return found[: len(found) // 2], found[len(found) // 2 :]


def _disclosure(sampler: Sampler, pair: Pair, error: MechanismRaised) -> MechanismRaised:
    """The error, or where the mechanism raises on one of the databases only, that this tells."""
    raises = []
    for side in (0, 1):
        key = Key(sampler.seed, sampler.tally.keys.of(pair), "contract", side, 103)
        block = Block(*key, 0, PROBE, 0)
        job = [(block, None, 0)]
        try:
            sampler.door.ask(draw_blocks, (pair.database, pair.neighbour),
                             sampler.calls("contract"), None, None, inf, job)  # fmt: skip
            raises.append(False)
        except MechanismRaised:
            raises.append(True)
    if IN_OTHER_ORDER in str(error):
        return error
    if raises[0] == raises[1]:
        found = MechanismRaised(
            f'{error}; where a call may well raise, give exceptions="output" to have the type of '
            "the exception judged as an output",
            keywords=("exceptions",),
        )
    else:
        other = pair.database if raises[1] else pair.neighbour
        found = MechanismRaised(
            f"{error}. On the neighbouring database {show(other)} it returned: raising on one "
            'database and not on its neighbour is itself a disclosure; give exceptions="output" to '
            "have the type of the exception judged as an output",
            keywords=("exceptions",),
        )
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found
