"""Which randomness a call of a mechanism asks for: what it draws, and from which generator."""

from collections.abc import Sequence
from typing import Any

from ...mechanisms.model import Database
from ..sampling.calls import guarded
from ..workers import Key, Worker
from ..workers.streams import prime_globals, untouched
from .generator import Draw, Seam, bits_of, plain_like, through
from .held import single

BITS = "bits"
"""Stands for draws of which only the generator's new state tells."""


class _Noting(Seam):
    """A generator that remembers the names of the laws it was asked for, and draws from them."""

    def __init__(self, bits: Any) -> None:
        super().__init__(bits)
        self.laws: set[str] = set()

    def asked(self, name: str, parameters: Any, draw: Draw, *, scalar: bool) -> Any:
        """What is drawn by the law of this name."""
        self.laws.add(name)
        return plain_like(draw(self.inner), scalar)


def asked_draws(
    worker: Worker, databases: Sequence[Database], seed: int
) -> tuple[list[str], list[str]]:
    """The laws that a call on each database asks of its rng, and of global generators.

    Runs where the mechanism runs. A law is a method of numpy's Generator, such as "normal".
    ContractError if a call raises.
    """
    words = Key(seed, 0, "explain", 0).words
    laws: tuple[set[str], set[str]] = (set(), set())
    for number, database in enumerate(databases):
        worker.beat()
        given, others = (_Noting(bits_of(words, 2 * number + side)) for side in (0, 1))
        before = str(given.bit_generator.state)
        with guarded(worker, database):
            prime_globals()
            with through(others):
                single(worker.run)(database, given)
            if not untouched():
                others.laws.add(BITS)
        if not given.laws and str(given.bit_generator.state) != before:
            given.laws.add(BITS)
        for found, one in zip(laws, (given, others), strict=True):
            found |= one.laws
    return sorted(laws[0]), sorted(laws[1])
