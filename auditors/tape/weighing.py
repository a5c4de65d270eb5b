"""What the held tape tells where a mechanism runs: draws that count for both of two databases.

A draw of D is 1 draw of D and, if it is held, w draws of D'; so is one of D' the other way round.
A draw that is not held stands for none of the other side, and by the identity of `held` counts
twice for its own. So of n draws each, the counts of both sides in any event A have the means
2 n P_D(A) and 2 n P_D'(A). They teach events and rank pairs; they judge nothing.

`asked_draws` tells which randomness a call asks for: what it draws, and from which generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...mechanisms.model import Database
from ..outputs.outputs import Outputs
from ..sampling.blocks import like_rows
from ..sampling.calls import Calls, guarded
from ..sampling.captured import captured
from ..workers import Key, Worker
from ..workers.streams import prime_globals, untouched
from .generator import Draw, Drawn, Floats, Parameters, Seam, bits_of, through
from .held import hold, single

FIRST, FIRST_CALLS = 509, 24
"""Draws a side after which it shows what weights teach, of rows and where each is a call."""
CHUNK = 1021
"""Draws of a call after that. Both are primes, so that no other axis is taken for the rows."""
FEWEST_WEIGHED = 128
"""Draws a side below which a tape is not worth its making."""
SINGLES = 2048
"""Most draws a side where each is a call."""
PRICE = 32.0
"""Ordinary draws that one must be worth where each is a call: it takes .2 to .8 ms on the tape, an
ordinary one some microseconds. At epsilon 1 it is worth about 3, at 1/4 about 40."""
MOST_WORTH = 1e6
"""Ordinary draws that one weighed draw may be worth."""
HOLDING = 4
"""Runs of the mechanism for a draw that is held on one neighbour: two of each database."""
HEAVY = (
    "the weights, of {:.0%} of the outputs, are too unequal for weighted runs to teach more than "
    "ordinary ones"
)
LITTLE = "weighted runs would add too little to the ordinary ones that choose events"
HEAVIEST = 30.0
"""Log weights above which a weight is no larger."""
BITS = "bits"
"""Stands for draws of which only the generator's new state tells."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """Draws of both databases and what each counts for either, shape (2 sides, draws).

    The first half are draws of the first database. `reason` says why there are none; `made`
    draws of each were put on tape.
    """

    outputs: Outputs
    counts: Floats
    made: int
    reason: str = ""

    @property
    def worth(self) -> float:
        """How many ordinary draws one of these is worth, by the spread of the weights.

        The log-ratio of an event that both sides count P times has the variance
        sum (a - b)^2 / P^2, and 2 / P where each draw counts for one side.
        """
        a, b = self.counts
        total = float(np.sum(a + b))
        return total / max(float(np.sum((a - b) ** 2)), total / MOST_WORTH, 1e-300)

    @property
    def times(self) -> Floats:
        """The counts in ordinary draws that tell as much."""
        found: Floats = self.counts * self.worth
        return found


@dataclass(frozen=True, slots=True)
class MovedWeights:
    """Draws of one database and the log weight of each for every neighbour.

    `log_weights` has shape (neighbours, draws), NaN where a draw is not held. `made` is how often
    the mechanism ran, and `reason` says why nothing is told.
    """

    outputs: Outputs
    log_weights: Floats
    made: int
    reason: str = ""


def moved(worker: Worker, databases: Sequence[Database], key: Key, draws: int) -> MovedWeights:
    """The same rows of the first database held on each other; runs where the mechanism runs.

    Every neighbour has the same draws, so that the differences of its log weights say what a
    change of the neighbour gives away of each output: by the theorem their mean given y is the
    difference of ln P(y), up to the square of the change.
    """
    outputs, made = Outputs.of_list([]), 0
    found: list[Floats] = []

    def bits() -> np.random.BitGenerator:
        return bits_of(key.words, 1)

    try:
        with np.errstate(all="ignore"):
            for neighbour in databases[1:]:
                worker.beat()
                tape = hold(worker.run, databases[0], neighbour, bits, draws)
                made += HOLDING * draws
                if tape.reason:
                    return MovedWeights(outputs, np.zeros((0, 0)), made, tape.reason)
                if not found:
                    outputs = Outputs.of(captured(tape.outputs), draws)
                found.append(np.where(tape.held, tape.log_weights, np.nan))
    except Exception as error:  # noqa: BLE001 - the mechanism, or outputs of which nothing is read
        why = f"its draws cannot be weighed: {type(error).__name__}: {error}"
        return MovedWeights(outputs, np.zeros((0, 0)), made, why)
    return MovedWeights(outputs, np.clip(np.array(found), -HEAVIEST, HEAVIEST), made)


def most_weighed(calls: Calls, draws: int) -> int:
    """About `draws`, as many as there are whole calls."""
    if not calls.rows:
        return min(draws, SINGLES)
    return 0 if draws < FIRST else FIRST + CHUNK * round((draws - FIRST) / CHUNK)


def weighed(
    worker: Worker,
    databases: Sequence[Database],
    calls: Calls,
    key: Key,
    draws: int,
    enough: float,
    least: float = 0.0,
    single_calls: bool = True,
    price: tuple[float, float] = (0.0, 0.0),
) -> Weighed:
    """`draws` of each database with what they count; runs where the mechanism runs.

    Fewer where these are worth `enough` ordinary ones, and none where all would be worth less than
    `least`, or where one is worth less than `price` (of rows, of single calls). Rows that cannot be
    told apart are replaced by `single_calls`, if these are allowed.
    """
    try:
        with np.errstate(all="ignore"):
            return _weighed(
                worker, databases, calls, key, draws, enough, least, single_calls, price
            )
    except Exception as error:  # noqa: BLE001 - the mechanism, or outputs of which nothing is read
        return _none(f"its draws cannot be weighed: {type(error).__name__}: {error}")


def _none(reason: str, made: int = 0) -> Weighed:
    return Weighed(Outputs.of_list([]), np.zeros((2, 0)), made, reason)


def _weighed(
    worker: Worker,
    databases: Sequence[Database],
    calls: Calls,
    key: Key,
    draws: int,
    enough: float,
    least: float,
    single_calls: bool,
    price: tuple[float, float],
) -> Weighed:
    sides = []
    for start in (0, 1):
        sides.append(_Side(worker, (databases[start], databases[1 - start]), calls,
                           key._replace(side=start)))  # fmt: skip
    made, draws = 0, most_weighed(calls, draws)
    while made < draws:
        first = FIRST if calls.rows else FIRST_CALLS
        size = min(first if made == 0 else CHUNK, draws - made)
        for side in sides:
            reason = side.draw(size)
            if reason and calls.rows and not made and single_calls:
                # Single calls belong to one output each.
                calls = replace(calls, rows=False)
                return _weighed(worker, databases, calls, key, draws, enough, least, True, price)
            if reason:
                return _none(reason, made + size)
        made += size
        if made in (size, draws):
            found = _joined(sides)
            if found.worth < 1:
                part = np.mean([np.mean(np.concatenate(side.weights) > 0) for side in sides])
                return _none(sides[0].reason if part == 0 else HEAVY.format(part), made)
            if found.worth < price[not calls.rows] or found.worth * draws < least:
                return _none(LITTLE, made)
            wanted = min(draws, max(made, enough / found.worth))
            draws = max(made, most_weighed(calls, int(wanted)))
    return found


class _Side:
    """One database with its neighbour on the tape."""

    def __init__(
        self, worker: Worker, databases: Sequence[Database], calls: Calls, key: Key
    ) -> None:
        self.worker, self.databases, self.calls = worker, databases, calls
        self.words, self.made = key.words, 0
        self.outputs: list[Outputs] = []
        self.weights: list[Floats] = []
        self.reason = HEAVY.format(0)

    def draw(self, size: int) -> str:
        """Weigh so many more draws, or say why that cannot be done."""
        one, two = self.databases
        if self.calls.rows:
            self.worker.beat()
            self.made += 1
            tape = hold(self.worker.run, one, two, lambda: bits_of(self.words, self.made), size)
            if tape.reason:
                return tape.reason
            self.outputs.append(Outputs.of(captured(tape.outputs), size))
            self.weights.append(np.exp(np.minimum(np.where(tape.held, tape.log_weights, -np.inf),
                                                  HEAVIEST)))  # fmt: skip
            return ""
        run, made, weights = single(self.worker.run), [], []
        for _ in range(size):
            self.worker.beat()
            self.made += 1
            tape = hold(run, one, two, lambda: bits_of(self.words, self.made))
            if tape.outputs is None:
                return tape.reason
            self.reason = tape.reason or self.reason
            made.append(captured(tape.outputs))
            weights.append(float(np.exp(min(tape.log_weights[0], HEAVIEST))) * tape.held[0])
        told = like_rows(self.worker, self.calls, one, made) if self.calls.sized else \
            Outputs.of_list(made)  # fmt: skip
        self.outputs.append(told)
        self.weights.append(np.array(weights))
        return ""


def _joined(sides: Sequence[_Side]) -> Weighed:
    parts = [np.concatenate(side.weights) for side in sides]
    own = [np.where(part > 0, 1.0, 2.0) for part in parts]
    counts = np.stack([np.concatenate([own[0], parts[1]]), np.concatenate([parts[0], own[1]])])
    outputs = Outputs.concatenate([one for side in sides for one in side.outputs])
    return Weighed(outputs, counts, len(parts[0]))


class _Noting(Seam):
    """A generator that remembers the names of the laws it was asked for, and draws from them."""

    def __init__(self, bits: np.random.BitGenerator) -> None:
        super().__init__(bits)
        self.laws: set[str] = set()

    def asked(self, name: str, parameters: Parameters, draw: Draw, *, scalar: bool) -> Drawn:
        """What is drawn by the law of this name."""
        self.laws.add(name)
        return super().asked(name, parameters, draw, scalar=scalar)


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
