"""What the hunt has seen: its budget, the pairs it visited, and the examples that made them.

A `SearchPlan` says how much a search may spend. The `Scout` visits each pair once, by a frozen run
on either side, and rates it by draws if it stands out. `Tries` makes examples from choices, each
once, has them looked at, and remembers which of them showed something new.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from math import sqrt
from random import Random

import numpy as np

from ...mechanisms.model import Database, Pair
from ..errors import ContractError
from ..events.quick_score import quick_score
from ..outputs.encoding import canonical
from ..outputs.outputs import Outputs
from ..results.results import Reach
from ..sampling.sampling import Sampler
from ..tape.weighing import HOLDING, MovedWeights, moved, weighed
from ..workers import Key
from .choices import ChoiceSpace, Example, Suggest
from .probe import Lines, Probe, Shift, followed_draws, probe, shift
from .promise import promise, weighed_promise
from .suggestions import marks

FROZEN = {True: 64, False: 24}
"""Outputs of a frozen run, where one call gives many and where it gives one."""
GROSS = Shift(np.inf, 6.0, 3.0, 1.5)
"""Scores from which a pair is tried at once; a move of the median alone may be the claim's own."""
GROSS_IN_FEW = Shift(6.0, 6.0, 3.0, 1.5)
"""The same where draws are few, by which pairs are ranked."""
CHECKS, CHECKED_ON = 12, 128
"""How often a search may stop to check a pair that looks gross, and the ordinary draws of each
database that decide it."""
SURE = (0.6, 6.0)
"""Score of a draw, and deviations, from which a pair is taken without looking further."""

LOOKS = (1500, 5000, 12_000)
"""Draws of the search after which the pairs that stand out so far are tried by ordinary draws."""
ROUNDS = ((128, 6), (128, 3), (256, 1), (512, 1))
"""Draws a side that are added in a round of such a look, and the pairs that are left in it."""
MOST_READ = 10**8
"""Bytes of databases, as evidence writes them, that a search looks at; ordinary ones come to a few
million. It bounds time and memory where a database has a million rows."""
CERTAIN = 5.0
"""Deviations by which a pair must break the claim for a look to end the search."""
TOGETHER = {True: 16, False: 4}
"""Pairs whose frozen runs are asked for at once."""
HELD, KEPT, FEWEST = 1 << 23, 1 << 24, 64
"""Bytes of a database's outputs that are drawn at once to rate a pair, of those that are kept of
several databases, and how many are drawn at once of one whatever they take; half as many of one of
several. Of up to some tens of numbers draws are as many as without: of 10,000 they took 600 MB."""
EXECUTIONS = 2 * HOLDING
"""Runs of the mechanism for a draw of each database that is weighed."""
NEWS = (1.05, 0.05)
"""A score is new if it is so many times the largest so far, and so much more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """Examples to look at, draws a side for an ordinary score, and draws of both sides in all.

    A `thorough` search goes on to the worst pair where others stop at the first gross violation:
    for a bound and not for a verdict. A `brief` one hands on the draws that showed a gross
    violation and makes no more of them: for a verdict and not for a bound.
    """

    examples: int = 700
    draws: int = 500
    shortlist: int = 64
    finalists: int = 8
    most: int = 600_000
    thorough: bool = False
    brief: bool = False
    few: bool = False
    """Whether calls are so slow that the draws are few and frozen runs short."""

    @property
    def total(self) -> int:
        """About how many outputs the search draws, on both sides together."""
        return min(self.most, 2 * self.draws * (self.shortlist + 6 * self.finalists) + 60_000)

    @property
    def counted(self) -> int:
        """About how many draws a side will be counted on the pair that is found."""
        return max(self.draws, 3 * self.most // 8)

    @property
    def climbing(self) -> int:
        """Outputs, of both sides, that climbing from the best pairs may draw."""
        return self.most // (4 if self.thorough else 20)

    def within(self, most: int) -> "SearchPlan":
        """The same search with `most` outputs of both sides, where calls are slow.

        Frozen runs of few draws are enough to see what moves, and leave room for more pairs. The
        event of a leak may not come in so few, on any pair if all share their noise: pairs without
        a database in common have noise of their own.
        """
        draws = min(self.draws, max(4, most // 64))
        return replace(self, draws=draws, most=min(self.most, most), few=True)

    @classmethod
    def for_trials(
        cls, trials: int, *, thorough: bool = False, brief: bool = False
    ) -> "SearchPlan":
        """A search that costs less than judging one pair with `trials` draws a side.

        It never draws more than `trials` a side, so that all of an audit stays within four times
        that number.
        """
        draws = min(1000, max(16, trials // 400))
        return cls(draws=draws, most=2 * trials, thorough=thorough, brief=brief)


class Enough(Exception):
    """Draws or time of the search are used up."""


class Gross(Exception):
    """A pair violates the claim so clearly, as `drawn` shows, that no other need be looked at."""

    def __init__(self, seen: "Seen", drawn: tuple[Outputs, Outputs]) -> None:
        super().__init__()
        self.seen, self.drawn = seen, drawn


@dataclass(slots=True, eq=False)
class Seen:
    """A pair with what its frozen runs showed; `example` made it, unless it is a template."""

    pair: Pair
    shift: Shift
    example: Example | None
    key: tuple[bytes, bytes]
    score: float | None = None
    promise: float = 0.0
    """The bound on epsilon (nats) that draws with shared noise promise; 0 before they are made."""
    weighed: bool = False
    """Whether weighed draws promise it."""
    noise: int = 0
    """The number of the noise that its frozen runs share; 0 where all pairs share one."""
    listed: tuple[Example, int] | None = None
    """The example with the place of the collection whose elements are the rows of a side."""

    @property
    def gross(self) -> float:
        """The largest score of its frozen runs, in multiples of what is gross at epsilon 1."""
        return max(score / most for score, most in zip(self.shift, GROSS_IN_FEW, strict=True))

    @property
    def size(self) -> int:
        """How long the pair is to write."""
        return len(self.key[0]) + len(self.key[1])


@dataclass(slots=True)
class Scout:
    """Visits pairs and remembers them in order."""

    sampler: Sampler
    epsilon: float
    delta: float
    plan: SearchPlan
    out_of_time: Callable[[], bool]
    lines: Lines
    seen: dict[tuple[bytes, bytes], Seen] = field(default_factory=dict)
    probes: dict[tuple[bytes, int], Probe] = field(default_factory=dict)
    """The frozen run of a database with noise of a number."""
    noises: dict[bytes, int] = field(default_factory=dict)
    """The first noise of each database, where draws are few."""
    sizes: list[int] = field(default_factory=list)
    started: int = 0
    read: int = 0
    """Bytes of the databases looked at so far."""
    checks: int = CHECKS
    looks: list[int] = field(default_factory=lambda: list(LOOKS))
    failed: list[float] = field(default_factory=lambda: [0.0] * 4)
    equal: int = 0
    width: int = 1
    """Bytes of an output, of the widest so far."""
    encoded: dict[int, tuple[Database, bytes]] = field(default_factory=dict)
    """Databases of pairs that are visited next, by identity, with the bytes of each."""
    kept: dict[tuple[bytes, int, int], tuple[Outputs, int]] = field(default_factory=dict)
    """Draws with shared noise by database, chunk and number, and their bytes, those used last at
    the end."""

    def __post_init__(self) -> None:
        """Remember where the tally stood."""
        self.started = self.sampler.tally.draws

    def left(self) -> int:
        """Draws that the search may still make."""
        return self.plan.most - (self.sampler.tally.draws - self.started)

    def most(self, draws: int, pairs: int = 1) -> int:
        """So many draws of a database, or as many as may be held at once of so many pairs."""
        one = max(FEWEST, HELD // self.width)
        return min(draws, one, max(FEWEST // 2, KEPT // (self.width * pairs)))

    def _encoded(self, database: Database) -> bytes:
        known = self.encoded.get(id(database))
        return canonical(database) if known is None else known[1]

    def affords(self, pairs: int) -> bool:
        """Whether so many pairs may be visited and draws are left to tell the worst apart."""
        each = self.frozen_size if self.sampler.seeded else self.plan.draws
        return 2 * each * pairs <= 3 * self.left() // 4

    def visit(self, pair: Pair, example: Example | None = None) -> Seen | None:
        """Look at a pair; None where its two sides are equal.

        Raises Enough when the budget is used up, and Gross.
        """
        key = (self._encoded(pair.database), self._encoded(pair.neighbour))
        if key[0] == key[1]:
            self.equal += 1
            return None
        known = self.seen.get(key)
        if known is not None:
            return known
        needed = 4 * self.frozen_size if self.sampler.seeded else 2 * self.plan.draws
        self.read += len(key[0]) + len(key[1])
        over = self.read > MOST_READ or self.out_of_time()
        if self.left() < needed or (self.seen and over):
            raise Enough
        found = Seen(pair, Shift(0.0, 0.0, 0.0, 0.0), example, key, noise=self._noise(key))
        if self.sampler.seeded:
            with self.sampler.naming(pair):
                sides = [
                    self.probe(database, encoded, found.noise)
                    for database, encoded in zip((pair.database, pair.neighbour), key, strict=True)
                ]
            found.shift = shift(*sides)
        self.seen[key] = found
        if not self.sampler.seeded:
            # Its noise cannot be frozen: ordinary draws are all there is to go by.
            score = self.ordinary(found)
            found.shift = Shift(max(0.0, score), 0.0, 0.0, 0.0)
            self.sizes += sizes_of(pair)
        if (drawn := self._gross(found)) is not None:
            raise Gross(found, drawn)
        if self.looks and self.plan.most - self.left() >= self.looks[0]:
            self.looks.pop(0)
            self.look()
        return found

    @property
    def frozen_size(self) -> int:
        """Outputs of one frozen run."""
        return min(FROZEN[self.sampler.vectorised], self.plan.draws)

    def _noise(self, key: tuple[bytes, bytes]) -> int:
        """Which noise a pair's runs share: in few draws that of a known side, else its own."""
        if not self.plan.few:
            return 0
        known = [self.noises[side] for side in key if side in self.noises]
        noise = known[0] if known else 1 + max(self.noises.values(), default=0)
        for side in key:
            self.noises.setdefault(side, noise)
        return noise

    def probe(self, database: object, encoded: bytes | None = None, noise: int = 0) -> Probe:
        """The frozen run of a database with this noise, made once."""
        encoded = canonical(database) if encoded is None else encoded
        if (encoded, noise) not in self.probes:
            self._run({encoded: database}, noise)
        return self.probes[encoded, noise]

    @property
    def together(self) -> int:
        """Pairs whose frozen runs are asked for at once; one in a search of few draws.

        The clock has no say in it without a limit of seconds: which pairs are seen depends on it.
        """
        if self.plan.few:
            return 1
        return TOGETHER[self.sampler.vectorised]

    def ahead(self, pairs: Sequence[Pair]) -> None:
        """Make the frozen runs of pairs that are visited next, if there are draws for all."""
        if len(pairs) < 2 or not self.sampler.seeded or self.out_of_time():
            return
        databases = {}
        self.encoded = {}
        for pair in pairs:
            sides = {canonical(side): side for side in sides_of(pair)}
            self.encoded.update((id(side), (side, name)) for name, side in sides.items())
            if len(sides) > 1:
                databases.update(sides)
        new = {name: one for name, one in databases.items() if (name, 0) not in self.probes}
        if new and self.left() >= (len(new) + 4) * self.frozen_size:
            # Who raises, and on which of two sides only, shows when the pair is visited.
            with suppress(ContractError):
                self._run(new)

    def _run(self, databases: Mapping[bytes, object], noise: int = 0) -> None:
        left = any(self.lines.missing.values())
        follow = partial(followed_draws, missing=self.lines.missing)
        followed = (follow, self.lines.ran) if left else None
        waiting = [*databases.items()]
        while waiting:
            # The very first run tells how wide an output is.
            most = max(1, HELD // (self.frozen_size * self.width)) if self.probes else 1
            some, waiting = waiting[:most], waiting[most:]
            every = [database for _, database in some]
            runs = self.sampler.frozen_runs(every, self.frozen_size, followed, noise)
            for (name, database), outputs in zip(some, runs, strict=True):
                self.probes[name, noise] = probe(outputs)
                self.width = max(self.width, outputs.width)
                if (size := records_in(database)) is not None:
                    self.sizes.append(size)

    def ordinary(self, seen: Seen) -> float:
        """The score of ordinary draws, on a stream of the pair's own."""
        if seen.score is None:
            first, second = self.sampler.draw(seen.pair, "search", 0, self.most(self.plan.draws))
            self.width = max(self.width, first.width, second.width)
            seen.score = quick_score(first, second, epsilon=self.epsilon, delta=self.delta)
        return seen.score

    def promised(self, seen: Seen, chunk: int, draws: int, trials: int) -> float:
        """The bound on epsilon that draws with shared noise promise."""
        return promise(*self.paired(seen, chunk, draws), delta=self.delta, trials=trials)

    def paired(self, seen: Seen, chunk: int, draws: int) -> tuple[Outputs, Outputs]:
        """Draws with shared noise of both sides; many pairs have a database in common."""
        draws = self.most(draws)

        def draw(database: Database) -> Outputs:
            return self.sampler.one_of_paired(database, chunk, draws)

        return self._both(seen, chunk, draws, draw)

    def long_probes(self, seen: Seen, draws: int) -> tuple[Probe, Probe]:
        """Long frozen runs of both sides."""
        draws = self.most(draws)

        def draw(database: Database) -> Outputs:
            return self.sampler.frozen(database, draws)

        one, two = self._both(seen, 0, draws, draw)
        return probe(one), probe(two)

    def _both(
        self, seen: Seen, chunk: int, draws: int, draw: Callable[[object], Outputs]
    ) -> tuple[Outputs, Outputs]:
        with self.sampler.naming(seen.pair):
            one, two = (
                self._drawn((encoded, chunk, draws), draw, database)
                for database, encoded in zip(sides_of(seen.pair), seen.key, strict=True)
            )
        return one, two

    def _drawn(
        self, name: tuple[bytes, int, int], draw: Callable[[object], Outputs], database: object
    ) -> Outputs:
        """Draws of one database that were made before, or are made now."""
        known = self.kept.pop(name, None)
        if known is None:
            found = draw(database)
            known = found, len(found) * found.width
        self.kept[name] = known
        room = KEPT - sum(taken for _, taken in self.kept.values())
        while room < 0:
            room += self.kept.pop(next(iter(self.kept)))[1]
        return known[0]

    def weighs(self, pairs: int, draws: int, part: float) -> bool:
        """Whether so many pairs may have `draws` weighed, for this part of what is left."""
        sampler = self.sampler
        able = sampler.seeded and not sampler.requests and sampler.by_rows("search")
        return able and EXECUTIONS * draws * pairs <= part * self.left()

    def weighed(self, seen: Seen, chunk: int, draws: int) -> float | None:
        """The bound on epsilon that weighed draws promise; None where the tape does not hold.

        Every pair has noise of its own: with shared noise the luck of one database would name all
        its neighbours.
        """
        sampler, pair = self.sampler, seen.pair
        key = Key(sampler.seed, sampler.tally.keys.of(pair), "tape", 0, chunk)
        found = sampler.door.ask(
            weighed, (pair.database, pair.neighbour), sampler.calls("search"), key,
            self.most(draws), np.inf, 0.0, False,
        )  # fmt: skip
        sampler.tally.add(EXECUTIONS * found.made)
        if found.reason:
            return None
        return weighed_promise(
            found.outputs, found.counts, delta=self.delta, trials=self.plan.counted
        )

    def moved(self, seen: Seen, neighbours: Sequence[Database], draws: int) -> MovedWeights:
        """The same draws of the first database of a pair, weighed for each of some neighbours."""
        sampler = self.sampler
        key = Key(sampler.seed, sampler.tally.keys.of(seen.pair), "tape", 0, 0)
        databases = (seen.pair.database, *neighbours)
        found = sampler.door.ask(moved, databases, key, self.most(draws))
        sampler.tally.add(found.made)
        return found

    def _gross(self, seen: Seen) -> tuple[Outputs, Outputs] | None:
        """The few draws by whose score a pair that looks gross is so; None where it is not."""
        limit = max(1.0, self.epsilon)
        limits = (np.inf, GROSS.outlier * limit, GROSS.counts * limit, GROSS.spread)
        # Noise that is not shared looks like an outlier on all pairs alike.
        over = [
            value > most and value > 1.2 * failed
            for value, most, failed in zip(seen.shift, limits, self.failed, strict=True)
        ]
        draws = self.most(min(CHECKED_ON, self.plan.draws))
        if not any(over) or self.checks == 0 or self.plan.thorough or self.left() < 4 * draws:
            return None
        self.checks -= 1
        first, second = self.sampler.draw(seen.pair, "search", 99, draws)
        score = quick_score(first, second, epsilon=self.epsilon, delta=self.delta)
        if score > SURE[0] and score * sqrt(draws) > SURE[1]:
            return first, second
        self.failed = [
            max(value, old) if is_over else old
            for value, old, is_over in zip(seen.shift, self.failed, over, strict=True)
        ]
        return None

    def look(self) -> None:
        """Try the pairs that stand out; raise Gross for one that breaks the claim beyond doubt.

        A violation that a few hundred draws show needs no long search. What stands out in frozen
        runs may be allowed, so ordinary draws decide, ever more for ever fewer pairs.
        """
        every = list(self.seen.values())
        if self.plan.thorough or not every or self.left() < self.plan.most // 2:
            return
        orders = [sorted(every, key=lambda seen: -seen.shift[index]) for index in range(4)]
        listed = list(
            dict.fromkeys(
                order[place] for place in (0, 1) for order in orders if place < len(order)
            )
        )
        drawn: dict[int, tuple[Outputs, Outputs]] = {}
        for number, (draws, most) in enumerate(ROUNDS):
            ranks = []
            for seen in listed[:most]:
                draws = self.most(draws, most)
                if self.left() < 4 * draws:
                    return
                sides = self.sampler.draw(seen.pair, "search", 100 + number, draws)
                if number:
                    one, two = drawn[id(seen)]
                    sides = (
                        Outputs.concatenate([one, sides[0]]),
                        Outputs.concatenate([two, sides[1]]),
                    )
                drawn[id(seen)] = sides
                score = quick_score(*sides, epsilon=self.epsilon, delta=self.delta)
                if score * sqrt(len(sides[0])) > CERTAIN:
                    raise Gross(seen, sides)
                ranks.append((score, seen))
            listed = [seen for _, seen in sorted(ranks, key=lambda rank: -rank[0])]
            drawn = {id(seen): drawn[id(seen)] for seen in listed[: ROUNDS[number][1]]}


@dataclass(frozen=True, slots=True)
class Found:
    """The pair that looked worst, the draws that made it look so, and what else was seen.

    `enough` says that the draws alone show a gross violation.
    """

    pair: Pair
    first: Outputs
    second: Outputs
    seen: Seen | None = None
    scout: Scout | None = None
    reach: Reach | None = None
    enough: bool = False


def records_in(database: Database) -> int | None:
    """How many records a database has; None where it is one value, of which nothing is counted."""
    try:
        return len(database)
    except Exception:  # noqa: BLE001 - a number has no length, and a class of the user's may raise
        # A sparse matrix refuses to say whether it means its rows or its entries.
        shape = getattr(database, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and shape else None


def key_of(pair: Pair) -> tuple[bytes, bytes]:
    """Both databases of a pair as evidence writes them."""
    return canonical(pair.database), canonical(pair.neighbour)


def sizes_of(pair: Pair) -> list[int]:
    """The records of both sides, of those that have any to count."""
    return [size for side in sides_of(pair) if (size := records_in(side)) is not None]


def sides_of(pair: Pair) -> tuple[Database, Database]:
    """Both databases of a pair."""
    return pair.database, pair.neighbour


class Tries:
    """What was tried of one strategy, and what came of it."""

    def __init__(self, space: ChoiceSpace, scout: Scout) -> None:
        """Nothing is tried yet."""
        self.space, self.scout = space, scout
        self.made = 0
        self.telling: list[Seen] = []
        """Examples that showed something new when they were made."""
        self._tried: set[object] = set()
        self._best = [0.0] * 4

    def try_(self, choices: Sequence[object]) -> Seen | None:
        """The example of these choices, looked at; None if there is none, or it is no new pair."""
        return self._visit(self.space.made(choices)) if self._is_new(choices) else None

    def again(self, choices: Sequence[object]) -> Seen | None:
        """The example of these choices, also where they were tried before."""
        self._tried.add(marks(choices))
        return self._visit(self.space.made(choices))

    def at_random(self, random: Random, suggest: Suggest, most: int) -> Iterator[Seen | None]:
        """Examples at random, looked at."""
        yield from self._together(self.space.random(random, suggest) for _ in range(most))

    def all_of(self, proposals: Iterable[Sequence[object]], most: int) -> None:
        """The examples of the first of many proposals; nothing is made twice."""
        for _ in self._together(
            self.space.made(choices) for choices in islice(proposals, most) if self._is_new(choices)
        ):
            pass

    def each_of(self, proposals: Iterable[Sequence[object]]) -> Iterator[Seen | None]:
        """The examples of all proposals, also where they were tried before."""
        yield from self._together(map(self.space.made, proposals))

    def _is_new(self, choices: Sequence[object]) -> bool:
        key = marks(choices)
        if key in self._tried:
            return False
        self._tried.add(key)
        return True

    def _together(self, made: Iterable[Example | None]) -> Iterator[Seen | None]:
        """Look at examples, those of several asked of the mechanism together."""
        left = iter(made)
        while some := self._next(left):
            self.scout.ahead([one.value for one in some if one and isinstance(one.value, Pair)])
            yield from map(self._visit, some)

    def _next(self, made: Iterator[Example | None]) -> list[Example | None]:
        most = self.scout.together
        if most > 1 and self.scout.sampler.seeded:
            return self.space.at_once(made, most)
        # Proposals may ask for draws, and a mechanism that draws its own randomness needs it.
        return list(islice(made, most))

    def _visit(self, example: Example | None) -> Seen | None:
        self.made += 1
        if example is None or not isinstance(example.value, Pair):
            return None
        before = len(self.scout.seen)
        seen = self.scout.visit(example.value, example)
        if seen is None:
            return None
        if seen.example is None:
            # A template that the strategy can yield too can be changed and shrunk from now on.
            seen.example = example
        if len(self.scout.seen) > before:
            factor, more = NEWS
            both = list(zip(seen.shift, self._best, strict=True))
            if any(new > factor * old + more for new, old in both):
                self._best = [max(pair) for pair in both]
                self.telling.append(seen)
        return seen

    @property
    def known(self) -> int:
        """Different pairs seen."""
        return len(self.scout.seen)

    def examples(self) -> list[Seen]:
        """The pairs that the strategy was seen to yield."""
        return [seen for seen in self.scout.seen.values() if seen.example is not None]

    def by_size(self) -> list[Seen]:
        """The same, those of fewest choices first."""
        return sorted(self.examples(), key=lambda seen: (choices_made(seen), seen.size))

    def shapes(self, most: int) -> list[Example]:
        """The smallest examples of different shape."""
        found: dict[tuple[str, ...], Seen] = {}
        for seen in self.by_size():
            shape = tuple(kind for kind, *_ in seen.example.made) if seen.example else ()
            found.setdefault(shape, seen)
        return [seen.example for seen in list(found.values())[:most] if seen.example is not None]

    def inside(self) -> list[Example]:
        """The smallest example with a collection, not an empty one, inside another."""
        found = (seen.example for seen in self.by_size())
        return list(islice((one for one in found if one is not None and one.inner is not None), 1))

    def longest(self, most: int) -> list[Example]:
        """The examples of most choices."""
        order = sorted(self.examples(), key=lambda seen: -choices_made(seen))
        return [seen.example for seen in order[:most] if seen.example is not None]


def choices_made(seen: Seen) -> int:
    """How many choices made a pair; none made a template."""
    return len(seen.example.made) if seen.example is not None else 0
