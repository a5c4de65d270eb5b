"""Drawing outputs: who gets which random stream, in blocks, on any number of workers.

Every block of draws has a generator of its own, named by (seed, pair, stage, side, chunk,
block). Which worker draws a block, and in what order, therefore changes nothing: counts are
the same bit for bit.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from math import log
from typing import Any

import numpy as np

from ..bounds.dispersion import Dispersion
from ..errors import ContractError, MechanismHangs
from ..events.events import Event
from ..outputs.encoding import canonical, show
from ..outputs.kinds import Raised
from ..outputs.outputs import Outputs
from ..results import Pair
from .capture import captured
from .contract import MechanismRaised, Watch, accepts_size, guarded, require_signature
from .memory import forgetting, remembered
from .surroundings import require_untouched_numpy

__all__ = ["BLOCK", "STAGES", "Sampler", "Tally", "check_contract", "generator"]

STAGES = {
    "contract": 0,
    "search": 1,
    "select": 2,
    "shrink": 3,
    "attempt": 4,
    "recheck": 5,
    "claim": 6,
    "pilot": 7,
    "figure": 8,
    "rows": 9,
    "frozen": 10,
}
BLOCK = {True: 32768, False: 1024}
LEAST_BLOCK = 32
PIECES = 8
WHOLE_BLOCKS = frozenset({"contract", "search", "shrink", "figure", "pilot"})
"""Stages that decide nothing; all others are drawn in `PIECES` blocks or more where possible."""
PROBE = 4
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
    vectorised: bool = field(init=False)
    """Whether one call gives many draws."""

    def __post_init__(self) -> None:
        """Look at the signature once: it is too slow to do so for every block."""
        # Of a call with size= that raises nobody can say which of its draws did.
        vectorised = accepts_size(self.run) and self.exceptions == "error"
        object.__setattr__(self, "vectorised", vectorised)

    @property
    def _calls(self) -> "_Calls":
        return _Calls(
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
        key = pair_key(pair)
        starts = self.plan(stage, draws)
        jobs = [
            (database, (self.seed, key, stage, side, chunk, index), stop - start, start < keep)
            for side, database in enumerate((pair.database, pair.neighbour))
            for index, (start, stop) in enumerate(starts)
        ]
        hits: tuple[list[int], list[int]] = ([], [])
        kept: tuple[list[Outputs], list[Outputs]] = ([], [])
        with self.naming(pair):
            for (_, name, size, _), (found, outputs) in zip(
                jobs, self._map(event, jobs), strict=True
            ):
                side = name[3]
                hits[side].append(found)
                if outputs is not None:
                    kept[side].append(outputs)
                self.tally.add(size)
        if event is not None:
            sizes = [stop - start for start, stop in starts]
            for counted in hits:
                self.tally.require_independent(counted, sizes)
        first, second = (
            Outputs.concatenate(part)[:keep] if part else Outputs.of_list([]) for part in kept
        )
        return (sum(hits[0]), sum(hits[1])), first, second

    def plan(self, stage: str, draws: int) -> list[tuple[int, int]]:
        """Where each block of `draws` draws starts and stops; fixed before the first draw.

        A vectorised mechanism could give thousands of draws in a call, but what its outputs of one
        call share shows only between calls: counts that decide something take several.
        """
        size = self.block
        if self.vectorised and stage not in WHOLE_BLOCKS:
            size = min(size, max(LEAST_BLOCK, -(-draws // PIECES)))
        return [(start, min(start + size, draws)) for start in range(0, draws, size)]

    @contextmanager
    def naming(self, pair: Pair) -> Iterator[None]:
        """Calls on a pair; an exception on one of its databases only is named a disclosure."""
        try:
            yield
        except MechanismRaised as error:
            raise _disclosure(self, pair, error) from error

    def _map(
        self, event: Event | None, jobs: list[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Outputs | None]]:
        if self.workers == 1 or not self.seeded or len(jobs) < 2 * self.workers:
            for job in jobs:
                yield _one_block(self._calls, event, *job)
            return
        yield from self._map_on_workers(event, jobs)

    def _map_on_workers(
        self, event: Event | None, jobs: list[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Outputs | None]]:
        from joblib import Parallel, delayed

        _send_by_value(self.run)
        settings = (self._calls, event)
        parallel = Parallel(n_jobs=self.workers, return_as="generator", timeout=10 * self.limit)
        try:
            yield from parallel(delayed(_one_block)(*settings, *job) for job in jobs)
        except TimeoutError:
            raise MechanismHangs(
                f"a worker did not return a block of draws within {10 * self.limit:g} s; if the "
                "mechanism is meant to be that slow, raise the limit with timeout=",
                keywords=("timeout",),
            ) from None
        except BrokenProcessPool:
            raise ContractError(
                "a worker process died while running the mechanism (killed, out of memory or "
                "crashed in native code); run it with workers=1 to see where",
                keywords=("workers",),
            ) from None


def pair_key(pair: Pair) -> int:
    """A number that names the pair, equal for equal databases in equal order."""
    digest = blake2b(digest_size=16)
    for database in (pair.database, pair.neighbour):
        encoded = canonical(database)
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return int.from_bytes(digest.digest(), "big")


def generator(
    seed: int, key: int, stage: str, side: int, chunk: int, block: int
) -> np.random.Generator:
    """The stream named by these numbers; `key` stands for the databases."""
    source = np.random.SeedSequence([seed, key], spawn_key=(STAGES[stage], side, chunk, block))
    return np.random.Generator(np.random.PCG64(source))


@dataclass(frozen=True, slots=True)
class _Calls:
    """How a mechanism is called; what a worker needs to know of a sampler."""

    run: Callable[..., Any]
    vectorised: bool
    seeded: bool
    limit: float
    exceptions: str
    show_output: bool

    def outputs(
        self, database: Any, rng: np.random.Generator, size: int, keep: bool = True
    ) -> Outputs:
        """`size` outputs, none of which the mechanism can change any more if they are kept."""
        watch = Watch(self.limit)
        surrounded = guarded(database, seeded=self.seeded, rng=rng, show_output=self.show_output)
        with surrounded, watch.running():
            if self.vectorised:
                made = self.run(database, rng, size=size)
                return Outputs.of(captured(made) if keep else made, size)
            call = self._or_raised if self.exceptions == "output" else self.run
            before = rng.bit_generator.state
            raw = [captured(call(database, rng))]
            after_one = rng.bit_generator.state
            for _ in range(size - 1):
                watch.arm()
                raw.append(captured(call(database, rng)))
        if self.seeded and size > 2 and before != after_one == rng.bit_generator.state:
            raise ContractError(REMEMBERS)
        return Outputs.of_list(raw)

    def _or_raised(self, database: Any, rng: np.random.Generator) -> Any:
        try:
            return self.run(database, rng)
        except Exception as error:  # noqa: BLE001 - an exception is an output here
            return Raised(error)


def _one_block(
    calls: _Calls,
    event: Event | None,
    database: Any,
    name: tuple[int, int, str, int, int, int],
    size: int,
    keep: bool,
) -> tuple[int, Outputs | None]:
    outputs = calls.outputs(database, generator(*name), size, keep=keep)
    hits = int(np.count_nonzero(event.contains(outputs))) if event is not None else 0
    return hits, outputs if keep else None


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


REMEMBERS = (
    "the mechanism remembers an answer: it draws from the rng at its first call on a database and "
    "not at the following ones, which repeat what was said; an audit needs a fresh answer at every "
    "call, so empty the memory at each call or audit the function behind it"
)


def _send_by_value(run: Callable[..., Any]) -> None:
    """Let workers have functions of a module that they could not import by its name."""
    from cloudpickle import register_pickle_by_value

    inner = run
    while hasattr(inner, "func"):
        inner = inner.func
    module = sys.modules.get(getattr(inner, "__module__", None) or "")
    if module is None or module.__name__ == "__main__":
        return
    try:
        found = importlib.util.find_spec(module.__name__)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin != getattr(module, "__file__", None):
        register_pickle_by_value(module)


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
    outputs = sampler._calls.outputs(database, rng, PROBE)
    sampler.tally.add(PROBE)
    rows = [repr(row) for row in outputs.rows(PROBE)]
    state = repr(rng.bit_generator.state)
    return _Probe(
        digest=blake2b(repr(rows).encode(), digest_size=16).hexdigest(),
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
