"""Drawing outputs: who gets which random stream, in blocks, on any number of workers.

Every block of draws has a generator of its own, named by (seed, pair, stage, side, chunk,
block). Which worker draws a block, and in what order, therefore changes nothing: counts are
the same bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from math import inf, log
from time import monotonic
from typing import Any

from ..bounds.dispersion import Dispersion
from ..engines.book import Block, Book
from ..engines.engine import Engine
from ..errors import ContractError
from ..events.events import Event
from ..outputs.encoding import show
from ..outputs.outputs import Outputs
from ..results import Pair
from .calls import REMEMBERS, Calls, generator, hits_in, one_block, pair_key, send_by_value
from .contract import MechanismRaised, accepts_size, require_signature
from .memory import forgetting, remembered
from .surroundings import require_untouched_numpy, shared_surroundings

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
    def _calls(self) -> Calls:
        return Calls(
            self.run, self.vectorised, self.seeded, self.limit, self.exceptions, self.show_output
        )

    @property
    def block(self) -> int:
        """Draws in one block: as many as the mechanism asks for in `block`, if it has one."""
        return getattr(self.run, "block", None) or BLOCK[self.vectorised]

    def draw(self, pair: Pair, stage: str, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """`draws` outputs from each side of the pair, on the stream named by stage and chunk."""
        _, first, second = self.count(pair, None, stage, chunk, draws, keep=draws)
        return first, second

    def frozen(self, database: Any, draws: int) -> Outputs:
        """`draws` outputs from one and the same generator state for every database.

        Two databases share their noise then, and the difference of their outputs shows what the
        databases do to it. Such outputs rank pairs and never judge one.
        """
        rng = generator(self.seed, 0, "frozen", 0, 0, 0)
        self.tally.add(draws)
        return self._calls.outputs(database, rng, draws)

    def count(
        self, pair: Pair, event: Event | None, stage: str, chunk: int, draws: int, keep: int = 0
    ) -> tuple[tuple[int, int], Outputs, Outputs]:
        """How many of `draws` outputs of each side lie in `event`, and the first `keep` outputs."""
        starts = self.plan(stage, draws)
        blocks = self._blocks(pair, stage, chunk, starts)
        wanted = [index * self.step(stage, draws) < keep for index in range(len(starts))] * 2
        hits = [0] * len(blocks)
        kept: dict[int, Outputs] = {}
        with self.naming(pair):
            for place, found, outputs in self._results(pair, event, blocks, wanted):
                hits[place] = found
                if outputs is not None:
                    kept[place] = outputs
                self.tally.add(blocks[place].size)
        sides = hits[: len(starts)], hits[len(starts) :]
        if event is not None:
            sizes = [stop - start for start, stop in starts]
            for counted in sides:
                self.tally.require_independent(counted, sizes)
        parts = [
            [kept[place] for place in range(first, first + len(starts)) if place in kept]
            for first in (0, len(starts))
        ]
        first, second = (
            Outputs.concatenate(part)[:keep] if part else Outputs.of_list([]) for part in parts
        )
        return (sum(sides[0]), sum(sides[1])), first, second

    def ahead(self, pair: Pair, event: Event, stage: str, chunk: int, draws: Sequence[int]) -> None:
        """Tell the book what may be counted: `draws` a side on the streams from `chunk` on.

        Only for counts whose outputs teach nothing; the event is fixed.
        """
        if self.book is None:
            return
        blocks = [
            block
            for index, size in enumerate(draws)
            for block in self._blocks(pair, stage, chunk + index, self.plan(stage, size))
        ]

        def count(some: Sequence[Block]) -> Iterator[tuple[int, int]]:
            with self.naming(pair):
                for place, found, *_ in self._drawn(pair, event, some, [False] * len(some)):
                    self.tally.add(some[place].size)
                    yield place, found

        self.book.ahead(event, blocks, count)

    def _blocks(
        self, pair: Pair, stage: str, chunk: int, starts: Sequence[tuple[int, int]]
    ) -> list[Block]:
        key = pair_key(pair)
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
        self, pair: Pair, event: Event | None, blocks: Sequence[Block], wanted: Sequence[bool]
    ) -> Iterator[tuple[int, int, Outputs | None]]:
        """(place, hits, outputs where `wanted`) of every block: from the book, or drawn now."""
        book = self.book
        if book is None:
            for place, found, outputs, _ in self._drawn(pair, event, blocks, wanted):
                yield place, found, outputs
            return
        missing = []
        for place, block in enumerate(blocks):
            if not wanted[place]:
                known = None if event is None else book.known(event, block)
                if known is not None:
                    yield place, known, None
                    continue
            elif not self.vectorised and (returned := book.recall(block)) is not None:
                outputs = Outputs.of_list(returned)
                yield place, hits_in(event, outputs), outputs
                continue
            missing.append(place)
        some = [blocks[place] for place in missing]
        for number, found, outputs, made in self._drawn(
            pair, event, some, [wanted[place] for place in missing], returned=True
        ):
            if event is not None:
                book.enter(event, some[number], found)
            if made is not None:
                book.remember(some[number], made)
            yield missing[number], found, outputs

    def _drawn(
        self,
        pair: Pair,
        event: Event | None,
        blocks: Sequence[Block],
        wanted: Sequence[bool],
        returned: bool = False,
    ) -> Iterator[tuple[int, int, Outputs | None, list[Any] | None]]:
        """(place, hits, outputs where `wanted`, what single calls returned if that took long)."""
        databases, shared = (pair.database, pair.neighbour), self.engine.shares_process
        if not self._sends(blocks):
            own = partial(one_block, self._calls, event, databases, returned)
            for place, block in enumerate(blocks):
                self.tally.pace, found, outputs, made = own(block, wanted[place])
                yield place, found, outputs, made
            return
        send_by_value(self.run)
        calls_in_one = 1 if self.vectorised else max(block.size for block in blocks)
        results = self.engine.results(
            partial(one_block, replace(self._calls, alone=not shared), event, databases, returned),
            list(zip(blocks, wanted, strict=True)),
            workers=self.workers,
            patience=self.limit * (calls_in_one + 9),
            seconds=self.tally.pace * blocks[0].size or inf,
        )
        with shared_surroundings(self.show_output) if shared else nullcontext():
            for place, (pace, found, outputs, made) in results:
                self.tally.pace = pace
                yield place, found, outputs, made

    def _sends(self, blocks: Sequence[Block]) -> bool:
        """Whether workers draw these: where each gets some, or where one alone takes long."""
        if (self.workers == 1 and not self.engine.remote) or not self.seeded:
            return False
        slow = len(blocks) > 1 and self.tally.pace * blocks[0].size > WORTH
        return slow or len(blocks) >= 2 * self.workers


def _disclosure(sampler: Sampler, pair: Pair, error: MechanismRaised) -> MechanismRaised:
    """The error, or where the mechanism raises on one of the databases only, that this tells."""
    raises = []
    for side in (0, 1):
        try:
            _probe(sampler, pair, side, chunk=103)
            raises.append(False)
        except MechanismRaised:
            raises.append(True)
    if raises[0] == raises[1]:
        return error
    other = pair.database if raises[1] else pair.neighbour
    return MechanismRaised(
        f"{error}. On the neighbouring database {show(other)} it returned: raising on one database "
        'and not on its neighbour is itself a disclosure; give exceptions="output" to have the '
        "type of the exception judged as an output",
        keywords=("exceptions",),
    )


def check_contract(sampler: Sampler, pair: Pair) -> str:
    """Run the mechanism a few times on both databases and check what it promises by its form.

    Returns a digest of the outputs, equal whenever the check is run again on a mechanism that
    keeps no state. Raises ContractError with the one sentence that says what is broken.
    """
    require_signature(sampler.run)
    require_untouched_numpy()
    before = remembered(sampler.run)
    probes = []
    for attempt in range(3):
        # The other side runs in between, so that a memory of the last call shows.
        order = (0, 1) if attempt != 1 else (1, 0)
        with sampler.naming(pair):
            sides = {side: _probe(sampler, pair, side) for side in order}
        probes.append((sides[0], sides[1]))
    if sampler.seeded and len({(one.digest, two.digest) for one, two in probes}) > 1:
        raise ContractError(_not_a_function(before, remembered(sampler.run)), keywords=("seeded",))
    if sampler.seeded and len({(one.state, two.state) for one, two in probes}) > 1:
        raise ContractError(REMEMBERS)
    if all(probe.constant for both in probes for probe in both):
        _require_no_memory(sampler, pair)
    first, second = probes[0]
    return first.digest + second.digest


def _not_a_function(before: dict[str, str], after: dict[str, str]) -> str:
    changed = sorted(name for name in after if after[name] != before.get(name))
    if changed:
        return (
            f"the mechanism keeps state between calls: its variable {changed[0]!r} changed, and "
            "its outputs differ for the same database and rng state; pass all state in"
        )
    return (
        "the mechanism gives different outputs for the same database and rng state; it draws "
        "randomness from elsewhere than the rng it is given (the operating system, a clock, a "
        "generator of its own): use the rng, or declare it with seeded=False"
    )


@dataclass(frozen=True, slots=True)
class _Probe:
    """A few outputs, where they left the generator, and whether they are all one, made of none."""

    digest: str
    state: str
    constant: bool


def _probe(sampler: Sampler, pair: Pair, side: int, chunk: int = 0) -> _Probe:
    database = (pair.database, pair.neighbour)[side]
    rng = generator(sampler.seed, pair_key(pair), "contract", side, chunk, 0)
    before = repr(rng.bit_generator.state)
    started = monotonic()
    outputs = sampler._calls.outputs(database, rng, PROBE)
    sampler.tally.pace = (monotonic() - started) / PROBE
    sampler.tally.add(PROBE)
    # Digests of the rows: the text of a wide one takes much memory.
    rows = [
        blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for row in outputs.rows(PROBE)
    ]
    state = repr(rng.bit_generator.state)
    return _Probe(
        digest=blake2b(b"".join(rows), digest_size=16).hexdigest(),
        state=state,
        constant=len(set(rows)) == 1 and state == before,
    )


def _require_no_memory(sampler: Sampler, pair: Pair) -> None:
    """Tell a mechanism without randomness from one that only repeats what it once drew.

    Both answer the same whatever the rng; the second draws anew when its memory is emptied.
    """
    for side in (0, 1):
        fresh = set()
        for chunk in (101, 102):
            with forgetting(sampler.run):
                try:
                    fresh.add(_probe(sampler, pair, side, chunk).digest)
                except ContractError as error:
                    # Anything else it breaks without what it held, a lookup table say, is no news.
                    if str(error) == REMEMBERS:
                        raise
        if len(fresh) > 1:
            raise ContractError(REMEMBERS)
