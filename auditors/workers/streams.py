"""The randomness of one draw: a function of what the draw is for and of its number alone.

Draw i of a key is made from a Philox generator (Salmon et al., 2011) whose key is a hash of the
text of the key and whose counter starts at (0, i, 0, 0). Philox encrypts its counter, and the
first word counts, so each draw has 2^64 blocks of four words of its own. (With the counter at i
neighbouring draws would share most of their words.) Rows of block b start at (0, b, 0, 1): the
third word is that by which `jumped` jumps. So any draw can be made again alone, in any order and
process, and gives the same bits.
"""

import random
import sys
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.random import mtrand
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

SINGLE, ROWS = 0, 1
"""The fourth word of the counter: draws of single calls, and of the rows of size= calls."""


class Key(NamedTuple):
    """What draws are for; `pair` stands for the databases, equal for equal ones."""

    seed: int
    pair: int
    stage: str
    side: int
    chunk: int = 0

    @property
    def words(self) -> NDArray[np.uint64]:
        """The key of the Philox generator, shape (2,)."""
        text = f"{self.seed} {self.pair} {self.stage} {self.side} {self.chunk}"
        return np.frombuffer(blake2b(text.encode(), digest_size=16).digest(), dtype=np.uint64)


class Block(NamedTuple):
    """A block of draws: `size` outputs of one side from the stream of this name, by all of it.

    `pair` is the number that stands for both databases; `block` counts within (side, chunk), and
    `first` is the number of its first draw there.
    """

    seed: int
    pair: int
    stage: str
    side: int
    chunk: int
    block: int
    size: int
    first: int

    @property
    def key(self) -> Key:
        """What its draws are for."""
        return Key(*self[:5])


class Seeds(ISpawnableSeedSequence):
    """What `rng.spawn` and `rng.bit_generator.seed_seq` see: it belongs to one draw."""

    def __init__(self, words: Sequence[int]) -> None:
        self.entropy = list(words)
        self.start: tuple[int, ...] = ()
        self.spawned = 0

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Words that depend on the draw; before the first one nobody uses them."""
        if not self.start:
            return np.zeros(n_words, dtype=dtype)
        return np.random.SeedSequence([*self.entropy, *self.start]).generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        """Seeds of children, numbered within the draw."""
        first, self.spawned = self.spawned, self.spawned + n_children
        return [
            np.random.SeedSequence([*self.entropy, *self.start], spawn_key=(child,))
            for child in range(first, self.spawned)
        ]


BEGINNING = {**np.random.Philox(0).state, "buffer": (0, 0, 0, 0)}
"""The state of a Philox generator that has given nothing yet, but for its key and counter."""


class Stream:
    """One generator, which can be put to the beginning of any draw of a key."""

    __slots__ = ("_counter", "_kind", "_source", "_state", "key", "rng", "seeds")

    def __init__(self, key: Key, kind: int = SINGLE) -> None:
        self.key, self._kind = key, kind
        # Plain numbers: numpy takes them three times as fast as those of its own arrays.
        words = key.words.tolist()
        self.seeds = Seeds(words)
        self._source = np.random.Philox(self.seeds)  # type: ignore[arg-type]
        self.rng = np.random.Generator(self._source)
        self._counter = [0, 0, 0, kind]
        self._state: Any = {**BEGINNING, "state": {"counter": self._counter, "key": tuple(words)}}

    def at(self, draw: int) -> np.random.Generator:
        """The generator, at the beginning of this draw."""
        seeds = self.seeds
        seeds.start, seeds.spawned = (draw, self._kind), 0
        self._counter[1] = draw
        self._source.state = self._state
        return self.rng


def generator(
    seed: int, pair: int, stage: str, side: int = 0, chunk: int = 0, draw: int = 0
) -> np.random.Generator:
    """The generator of one draw, by itself."""
    return Stream(Key(seed, pair, stage, side, chunk)).at(draw)


PRIMED = 20_131_122
"""Where the global generators stand while nobody is known to draw from them."""


def prime_globals() -> None:
    """Put the global generators to where `untouched` finds whether anybody drew from them."""
    if type(mtrand.get_bit_generator()) is not np.random.MT19937:
        mtrand.set_bit_generator(np.random.MT19937(0))
    _seed(PRIMED)


def untouched() -> bool:
    """Whether nobody drew from the global generators since `prime_globals`.

    It draws from them itself, so they have to be primed before the next look.
    """
    return _drawn() == _drawn_when_primed("torch" in sys.modules)


@lru_cache
def _drawn_when_primed(torch: bool) -> tuple[float, ...]:
    _seed(PRIMED)
    return _drawn()


def seedable() -> int:
    """How many global generators there are now; a call may import another library's."""
    return 2 + ("torch" in sys.modules)


def seed_globals(key: Key, draw: int, kind: int = SINGLE) -> None:
    """Put the global generators of random, numpy and torch to where the draw finds them."""
    text = f"{tuple(key)} {kind} {draw}".encode()
    _seed(int.from_bytes(blake2b(text, digest_size=8).digest(), "big"))


def _seed(number: int) -> None:
    np.random.seed(number % 2**32)  # noqa: NPY002
    random.seed(number)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(number)


def _drawn() -> tuple[float, ...]:
    """The next number of each; numpy keeps a second normal variate, which is asked for first."""
    torch = sys.modules.get("torch")
    numbers = np.random.standard_normal(), np.random.random_sample(), random.random()  # noqa: NPY002
    return (*numbers, float(torch.rand(1)) if torch is not None else 0.0)


def globals_held() -> Any:
    """The global generators as they are, for `restore_globals`."""
    torch = sys.modules.get("torch")
    drawn = torch.get_rng_state() if torch is not None else None
    return np.random.get_state(legacy=True), random.getstate(), drawn  # noqa: NPY002


def restore_globals(held: Any) -> None:
    """Put the global generators back to where they were."""
    numbers, plain, drawn = held
    np.random.set_state(numbers)  # noqa: NPY002
    random.setstate(plain)
    if drawn is not None:
        sys.modules["torch"].set_rng_state(drawn)
