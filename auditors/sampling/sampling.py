"""Drawing outputs: who gets which random stream, in blocks, on any number of workers.

Every block of draws has a generator of its own, named by (seed, pair, stage, side, chunk,
block). Which worker draws a block, and in what order, therefore changes nothing: counts are
the same bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, log
from typing import Any, TypeVar

from ..bounds.dispersion import Dispersion
from ..engines.book import Block, Book
from ..engines.engine import Engine
from ..errors import ContractError
from ..events.events import Event
from ..outputs.encoding import show
from ..outputs.outputs import Outputs
from ..results import Pair
from .calls import (
    WHOLE,
    Ask,
    Calls,
    PairKeys,
    answered,
    generator,
    hits_in,
    one_block,
    send_by_value,
)
from .contract import MechanismRaised, accepts_size
from .surroundings import shared_surroundings

T = TypeVar("T")

BLOCK = {True: 32768, False: 1024}
LEAST_BLOCK = 32
PIECES = 8
WHOLE_BLOCKS = frozenset({"contract", "search", "shrink", "figure", "pilot"})
"""Stages that decide nothing; all others are drawn in `PIECES` blocks or more where possible."""
PROBE = 5
"""Calls of one look at a database; odd, so that what alternates from call to call shows."""
WORTH = 0.02
"""Seconds from which a block is sent to a worker even if there are not blocks for all of them."""
CLUMPS = 1e-6
"""Probability of accusing independent draws of coming in clumps, over a whole audit."""


def _nothing(draws: int) -> None:
    """Progress listener that ignores the news."""


@dataclass(slots=True)
class Tally:
    """How many outputs have been drawn so far, and whom to tell."""

    listener: Callable[[int], None] = _nothing
    draws: int = 0
    dispersion: Dispersion = field(default_factory=Dispersion)
    """The bets on clumps among the draws counted so far."""
    keys: PairKeys = field(default_factory=PairKeys)
    pace: float = 0.0
    """Seconds that a draw took when last measured; decides who draws and never what."""

    def add(self, draws: int) -> None:
        """Count more draws."""
        self.draws += draws
        self.listener(draws)

    def require_independent(self, hits: Sequence[int], sizes: Sequence[int]) -> None:
        """Bet on clumps in the hits of blocks of these sizes; ContractError once that has paid.

        The event must have been fixed before the blocks were drawn.
        """
        self.dispersion = self.dispersion.after(hits, sizes)
        if self.dispersion.log_e >= -log(CLUMPS):
            rates = [f"{h / n:.3g}" for h, n in zip(hits, sizes, strict=True)][:8]
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
    bit, and they stay in this process, because copies of one generator in several workers would
    give the same draws several times over.
    """

    run: Callable[..., Any]
    seed: int
    seeded: bool = True
    workers: int = 1
    limit: float = 10.0
    tally: Tally = field(default_factory=Tally)
    exceptions: str = "error"
    """What a call that raises is: "error" ends the audit, "output" makes its type the output."""
    show_output: bool = False
    """Whether what the mechanism prints is shown; it is swallowed otherwise."""
    engine: Engine = field(default_factory=Engine)
    """What draws where there are several workers; decides nothing about the draws."""
    book: Book | None = None
    """Blocks that were counted before, and who is told of those counted now."""
    vectorised: bool = field(init=False)
    """Whether one call gives many draws."""

    def __post_init__(self) -> None:
        """Look at the signature once: it is too slow to do so for every block."""
        # Of a call with size= that raises nobody can say which of its draws did.
        vectorised = accepts_size(self.run) and self.exceptions == "error"
        object.__setattr__(self, "vectorised", vectorised)

    @property
    def calls(self) -> Calls:
        """How the mechanism is called here."""
        return Calls(
            self.run, self.vectorised, self.seeded, self.limit, self.exceptions, self.show_output
        )

    @property
    def block(self) -> int:
        """Draws in one block: as many as the mechanism asks for in `block`, if it has one."""
        asked = getattr(self.run, "block", None)
        # An object may answer whatever attribute it is asked for.
        return asked if isinstance(asked, int) and asked > 0 else BLOCK[self.vectorised]

    def draw(self, pair: Pair, stage: str, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs from each side of the pair, on the stream named by stage and chunk."""
        blocks = self.blocks(pair, stage, chunk, draws)
        _, found = self.results(pair, None, blocks, [WHOLE] * len(blocks))
        first, second = (
            Outputs.concatenate(side) if side else Outputs.of_list([]) for side in halves(found)
        )
        return first, second

    def frozen(self, database: Any, draws: int) -> Outputs:
        """`draws` outputs from one and the same generator state for every database.

        Two databases share their noise then, and the difference of their outputs shows what the
        databases do to it. Such outputs rank pairs and never judge one.
        """
        rng = generator(self.seed, 0, "frozen", 0, 0, 0)
        self.tally.add(draws)
        return self.calls.outputs(database, rng, draws)

    def paired(self, pair: Pair, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs of each side, made from the same generator states for all databases.

        The noise that two sides share cancels in their difference, so such outputs rank pairs with
        far fewer draws than independent ones; they never judge one. The streams of `chunk` 0 are
        those of `frozen`.
        """
        blocks = [
            Block(self.seed, 0, "frozen", 0, chunk, index, stop - start)
            for index, (start, stop) in enumerate(self.plan("search", draws))
        ]
        sides = []
        with self.naming(pair):
            for database in (pair.database, pair.neighbour):
                parts: dict[int, Outputs] = {}
                alone = Pair(database, database)
                for place, _, outputs, _ in self._drawn(alone, None, blocks, [True] * len(blocks)):
                    if outputs is not None:
                        parts[place] = outputs
                    self.tally.add(blocks[place].size)
                sides.append(Outputs.concatenate([parts[place] for place in sorted(parts)]))
        return sides[0], sides[1]

    def count(
        self, pair: Pair, event: Event, stage: str, chunk: int, draws: int
    ) -> tuple[int, int]:
        """How many of `draws` outputs of each side lie in `event`."""
        blocks = self.blocks(pair, stage, chunk, draws)
        hits, _ = self.results(pair, event, blocks, [None] * len(blocks))
        return self.total(blocks, hits)

    def total(self, blocks: Sequence[Block], hits: Sequence[int]) -> tuple[int, int]:
        """Hits of each side, from those of all blocks of a count, which must be independent."""
        sizes, sides = halves([block.size for block in blocks])[0], halves(hits)
        for counted in sides:
            self.tally.require_independent(counted, sizes)
        return sum(sides[0]), sum(sides[1])

    def results(
        self,
        pair: Pair,
        event: Event | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None = None,
    ) -> tuple[list[int], list[Any]]:
        """Of every block its hits and what is asked of its outputs: see `one_block`."""
        hits, answers = [0] * len(blocks), [None] * len(blocks)
        with self.naming(pair):
            for place, found, answer in self._results(pair, event, blocks, parts, ask):
                hits[place], answers[place] = found, answer
                self.tally.add(blocks[place].size)
        return hits, answers

    def ahead(self, pair: Pair, event: Event, stage: str, chunk: int, draws: Sequence[int]) -> None:
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
                for place, found, *_ in self._drawn(pair, event, some, [None] * len(some)):
                    self.tally.add(some[place].size)
                    yield place, found

        self.book.ahead(event, blocks, count)

    def blocks(self, pair: Pair, stage: str, chunk: int, draws: int) -> list[Block]:
        """The blocks of `draws` draws a side, those of the first side first."""
        key, starts = self.tally.keys.of(pair), self.plan(stage, draws)
        return [
            Block(self.seed, key, stage, side, chunk, index, stop - start)
            for side in (0, 1)
            for index, (start, stop) in enumerate(starts)
        ]

    def step(self, stage: str, draws: int) -> int:
        """Draws in one block of a count of `draws`.

        A vectorised mechanism could give thousands of draws in a call, but what its outputs of one
        call share shows only between calls: counts that decide something take several.
        """
        size = self.block
        if self.vectorised and stage not in WHOLE_BLOCKS:
            size = min(size, max(LEAST_BLOCK, -(-draws // PIECES)))
        return size

    def plan(self, stage: str, draws: int) -> list[tuple[int, int]]:
        """Where each block of `draws` draws starts and stops; fixed before the first draw."""
        size = self.step(stage, draws)
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
        event: Event | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None,
    ) -> Iterator[tuple[int, int, Any]]:
        """(place, hits, what was asked) of every block: from the book, or drawn now."""
        book = self.book
        if book is None:
            for place, found, answer, _ in self._drawn(pair, event, blocks, parts, ask):
                yield place, found, answer
            return
        missing = []
        for place, block in enumerate(blocks):
            part = parts[place]
            if part is None:
                known = None if event is None else book.known(event, block)
                if known is not None:
                    yield place, known, None
                    continue
            elif not self.vectorised and (returned := book.recall(block)) is not None:
                outputs = Outputs.of_list(returned)
                yield place, hits_in(event, outputs), answered(ask, outputs, part)
                continue
            missing.append(place)
        some = [blocks[place] for place in missing]
        for number, found, answer, made in self._drawn(
            pair, event, some, [parts[place] for place in missing], ask, returned=True
        ):
            if event is not None:
                book.enter(event, some[number], found)
            if made is not None:
                book.remember(some[number], made)
            yield missing[number], found, answer

    def _drawn(
        self,
        pair: Pair,
        event: Event | None,
        blocks: Sequence[Block],
        parts: Sequence[int | None],
        ask: Ask | None = None,
        returned: bool = False,
    ) -> Iterator[tuple[int, int, Any, list[Any] | None]]:
        """(place, hits, what was asked, what single calls returned if that took long)."""
        databases, shared = (pair.database, pair.neighbour), self.engine.shares_process
        if not self._sends(blocks):
            own = partial(one_block, self.calls, event, databases, ask, returned)
            for place, block in enumerate(blocks):
                self.tally.pace, found, answer, made = own(block, parts[place])
                yield place, found, answer, made
            return
        send_by_value(self.run)
        calls_in_one = 1 if self.vectorised else max(block.size for block in blocks)
        calls = replace(self.calls, alone=not shared)
        results = self.engine.results(
            partial(one_block, calls, event, databases, ask, returned),
            list(zip(blocks, parts, strict=True)),
            workers=self.workers,
            patience=self.limit * (calls_in_one + 9),
            seconds=self.tally.pace * blocks[0].size or inf,
        )
        with shared_surroundings(self.show_output) if shared else nullcontext():
            for place, (pace, found, answer, made) in results:
                self.tally.pace = pace
                yield place, found, answer, made

    def _sends(self, blocks: Sequence[Block]) -> bool:
        """Whether workers draw these: where each gets some, or where one alone takes long."""
        if (self.workers == 1 and not self.engine.remote) or not self.seeded:
            return False
        slow = len(blocks) > 1 and self.tally.pace * blocks[0].size > WORTH
        return slow or len(blocks) >= 2 * self.workers


def halves(found: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """What was found of the blocks of the first side, and of the second."""
    return found[: len(found) // 2], found[len(found) // 2 :]


def _disclosure(sampler: Sampler, pair: Pair, error: MechanismRaised) -> MechanismRaised:
    """The error, or where the mechanism raises on one of the databases only, that this tells."""
    raises = []
    for side, database in enumerate((pair.database, pair.neighbour)):
        rng = generator(sampler.seed, sampler.tally.keys.of(pair), "contract", side, 103, 0)
        try:
            sampler.calls.outputs(database, rng, PROBE)
            raises.append(False)
        except MechanismRaised:
            raises.append(True)
    if raises[0] == raises[1]:
        return MechanismRaised(
            f'{error}; where a call may well raise, give exceptions="output" to have the type of '
            "the exception judged as an output",
            keywords=("exceptions",),
        )
    other = pair.database if raises[1] else pair.neighbour
    return MechanismRaised(
        f"{error}. On the neighbouring database {show(other)} it returned: raising on one database "
        'and not on its neighbour is itself a disclosure; give exceptions="output" to have the '
        "type of the exception judged as an output",
        keywords=("exceptions",),
    )
