"""Draws of one mechanism on one database, as arrays, each block on a stream of its own.

As in `sampling`, a block's generator is named by (seed, database, stage, side, chunk, block), so
that what is drawn does not depend on what else is drawn, nor on the order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from ...mechanisms.model import Array, Database, Histogram, Mechanism, Rows, Value
from ..databases.neighbours import pair_source
from ..databases.universe import universe
from ..errors import ContractError, InvalidArgument
from ..outputs.encoding import canonical
from ..results import Pair
from .calls import generator
from .capture import captured
from .contract import Watch, accepts_size, guarded
from .sampling import BLOCK

ROOM = 1 << 28
"""Bytes of database times draws in a block, so that n records times many runs fit in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """What decides the draws of a claim: the function, the seed and the side of the comparison.

    `limit` is the number of seconds one call may take; `side` tells two functions apart that
    are compared on the same database.
    """

    run: Callable[..., Any]
    seed: int
    seeded: bool = True
    limit: float = 60.0
    side: int = 0
    vectorised: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look at the signature once."""
        object.__setattr__(self, "vectorised", accepts_size(self.run))

    @classmethod
    def of(cls, mechanism: Mechanism | None, seed: int) -> "Draws":
        """Draws of a mechanism."""
        if mechanism is None:
            raise InvalidArgument("a claim about outputs needs the mechanism that makes them")
        return cls(run=mechanism.run, seed=seed, seeded=mechanism.seeded)

    def blocks(self, database: Database, stage: str, chunk: int, draws: int) -> Iterator[Array]:
        """Arrays of outputs with a leading axis, `draws` outputs in all."""
        encoded = canonical(database)
        key = int.from_bytes(blake2b(encoded, digest_size=16).digest(), "big")
        most = max(1, min(BLOCK[self.vectorised], ROOM // len(encoded)))
        for index, start in enumerate(range(0, draws, most)):
            rng = generator(self.seed, key, stage, self.side, chunk, index)
            yield self._block(database, rng, min(most, draws - start))

    def array(self, database: Database, stage: str, chunk: int, draws: int) -> Array:
        """All outputs of `blocks` in one array."""
        return np.concatenate(list(self.blocks(database, stage, chunk, draws)))

    def _block(self, database: Database, rng: np.random.Generator, size: int) -> Array:
        watch = Watch(self.limit)
        with guarded(database, seeded=self.seeded, rng=rng), watch.running():
            if self.vectorised:
                made = np.array(self.run(database, rng, size=size))
            else:
                rows = []
                for _ in range(size):
                    watch.arm()
                    rows.append(captured(self.run(database, rng)))
                made = np.asarray(rows)
        if made.shape[:1] != (size,):
            raise ContractError(
                f"the mechanism was asked for size={size} and returned an array of shape "
                f"{made.shape}; with size=n the result must have a leading axis of n draws"
            )
        return made


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
