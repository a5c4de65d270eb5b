"""How a mechanism is called: the stream of a block, the calls it takes, and what they returned.

A worker needs no more than this, and the block's name, to draw a block.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from time import monotonic
from typing import Any

import numpy as np

from ..engines.book import Block
from ..errors import ContractError
from ..events.events import Event
from ..outputs.encoding import canonical, stamp
from ..outputs.kinds import Raised
from ..outputs.outputs import Outputs
from ..results import Pair
from .capture import captured, require_small
from .contract import Watch, guarded

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
WHOLE = -1
"""Asks for the outputs themselves."""
Ask = Callable[[Outputs, int], Any]
"""What is asked of a block's outputs where they are, with a number that belongs to the block."""
LARGE = 10_000
"""Rows from which working out a pair's number takes long enough to remember it."""
LONG = 0.05
"""Seconds from which what a block of single calls returned is worth keeping in a checkpoint."""
REMEMBERS = (
    "the mechanism remembers an answer: it draws from the rng at its first call on a database and "
    "not at the following ones, which repeat what was said; an audit needs a fresh answer at every "
    "call, so empty the memory at each call or audit the function behind it"
)


def pair_key(pair: Pair) -> int:
    """A number that names the pair, equal for equal databases in equal order."""
    digest = blake2b(digest_size=16)
    for database in (pair.database, pair.neighbour):
        encoded = canonical(database)
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return int.from_bytes(digest.digest(), "big")


@dataclass(slots=True)
class PairKeys:
    """Numbers of pairs; those of large ones, which take long to work out, are remembered."""

    known: dict[bytes, int] = field(default_factory=dict)

    def of(self, pair: Pair) -> int:
        """The number that names the pair."""
        sides = (pair.database, pair.neighbour)
        if not any(map(_is_long, sides)):
            return pair_key(pair)
        name = b"".join(blake2b(stamp(side)).digest() for side in sides)
        if name not in self.known:
            self.known[name] = pair_key(pair)
        return self.known[name]


def _is_long(database: Any) -> bool:
    kind = type(database)
    return (database.size if kind is np.ndarray else len(database) if kind is list else 0) >= LARGE


def generator(
    seed: int, key: int, stage: str, side: int, chunk: int, block: int
) -> np.random.Generator:
    """The stream named by these numbers; `key` stands for the databases."""
    source = np.random.SeedSequence([seed, key], spawn_key=(STAGES[stage], side, chunk, block))
    return np.random.Generator(np.random.PCG64(source))


@dataclass(frozen=True, slots=True)
class Calls:
    """How a mechanism is called; what a worker needs to know of a sampler."""

    run: Callable[..., Any]
    vectorised: bool
    seeded: bool
    limit: float
    exceptions: str
    show_output: bool
    alone: bool = True
    """Whether no other thread of the process calls the mechanism at the same time."""

    def outputs(
        self,
        database: Any,
        rng: np.random.Generator,
        size: int,
        keep: bool = True,
        made: list[Any] | None = None,
    ) -> Outputs:
        """`size` outputs, none of which the mechanism can change any more if they are kept.

        What single calls returned is put into `made`, where that is given.
        """
        watch = Watch(self.limit)
        surrounded = guarded(
            database, seeded=self.seeded, rng=rng, show_output=self.show_output, alone=self.alone
        )
        with surrounded, watch.running():
            if self.vectorised:
                made = self.run(database, rng, size=size)
                require_small(made, size)
                return Outputs.of(captured(made) if keep else made, size)
            call = self._or_raised if self.exceptions == "output" else self.run
            before = rng.bit_generator.state
            first = call(database, rng)
            require_small(first)
            raw = [captured(first)]
            after_one = rng.bit_generator.state
            for number in range(1, size):
                watch.arm()
                raw.append(captured(call(database, rng)))
                if not number & (number - 1):
                    require_small(raw[number])  # of all would take time, and one tells enough
        if self.seeded and size > 2 and before != after_one == rng.bit_generator.state:
            raise ContractError(REMEMBERS)
        if made is not None:
            made += raw
        return Outputs.of_list(raw)

    def _or_raised(self, database: Any, rng: np.random.Generator) -> Any:
        try:
            return self.run(database, rng)
        except Exception as error:  # noqa: BLE001 - an exception is an output here
            return Raised(error)


def one_block(
    calls: Calls,
    event: Event | None,
    databases: tuple[Any, Any],
    ask: Ask | None,
    returned: bool,
    block: Block,
    part: int | None,
) -> tuple[float, int, Any, list[Any] | None]:
    """Seconds a draw, hits, what is asked, what single calls returned if that took long.

    Nothing is asked of the outputs where `part` is None; where it is WHOLE they come back
    themselves, and else `ask(outputs, part)`.
    """
    name = block.seed, block.pair, block.stage, block.side, block.chunk, block.block
    asked = part is not None
    made: list[Any] | None = [] if returned and asked and not calls.vectorised else None
    started = monotonic()
    outputs = calls.outputs(
        databases[block.side], generator(*name), block.size, keep=part == WHOLE, made=made
    )
    seconds = monotonic() - started
    if seconds < LONG:
        made = None
    answer = None if part is None else answered(ask, outputs, part)
    return seconds / block.size, hits_in(event, outputs), answer, made


def answered(ask: Ask | None, outputs: Outputs, part: int) -> Any:
    """The outputs where `part` is WHOLE, else what is asked of them."""
    return outputs if ask is None or part == WHOLE else ask(outputs, part)


def hits_in(event: Event | None, outputs: Outputs) -> int:
    """How many of the outputs lie in the event; 0 without one."""
    return int(np.count_nonzero(event.contains(outputs))) if event is not None else 0


def send_by_value(run: Callable[..., Any]) -> None:
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
