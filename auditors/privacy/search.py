"""The hunt for the worst pair, and the way down to the smallest one.

Nothing here decides anything: scores come from cheap draws on streams of their own, and the
verdict is reached later on other streams. A pair's draws follow from the pair alone, so the
score is a function of the pair and Hypothesis sees a deterministic test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..databases.neighbours import Source
from ..events.quick_score import quick_score
from ..outputs.encoding import canonical
from ..outputs.outputs import Outputs
from ..results import Pair
from ..sampling.sampling import Sampler

__all__ = ["Found", "SearchPlan", "explore", "hunt", "shrink"]

HOPELESS = -0.15
"""A score this low, in deviations per root draw, is not luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """How much to spend: examples of the strategy, draws a side for each, finalists."""

    examples: int = 100
    draws: int = 500
    finalists: int = 8

    @property
    def total(self) -> int:
        """About how many outputs the search draws, on both sides together."""
        return 2 * self.draws * (self.examples + 6 * self.finalists)

    @classmethod
    def for_trials(cls, trials: int) -> "SearchPlan":
        """A search that costs a bit less than judging one pair with `trials` draws a side."""
        return cls(draws=min(1000, max(16, trials // 400)))


@dataclass(frozen=True, slots=True)
class Found:
    """The pair that looked worst and the draws that made it look so."""

    pair: Pair
    first: Outputs
    second: Outputs
    scores: dict[bytes, float]


def hunt(
    sampler: Sampler,
    source: Source,
    *,
    epsilon: float,
    delta: float,
    plan: SearchPlan,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Found:
    """Score many pairs on few draws each, then the best on ever more (successive halving)."""
    scored = _Scored(sampler, epsilon, delta, plan.draws, out_of_time)
    for pair in source.templates:
        scored.visit(pair)
    explore(source.strategy, sampler.seed, plan.examples, scored.visit)
    return _halve(sampler, scored.best(plan.finalists), scored.scores, epsilon, delta, plan)


class _Scored:
    """Scores of the pairs visited, each computed once."""

    def __init__(
        self,
        sampler: Sampler,
        epsilon: float,
        delta: float,
        draws: int,
        out_of_time: Callable[[], bool],
    ) -> None:
        self.sampler, self.epsilon, self.delta, self.draws = sampler, epsilon, delta, draws
        self.out_of_time = out_of_time
        self.scores: dict[bytes, float] = {}
        self.pairs: dict[bytes, Pair] = {}

    def visit(self, pair: Pair) -> float:
        key = _key(pair)
        if key in self.scores:
            return self.scores[key]
        if self.pairs and self.out_of_time():
            return 0.0
        first, second = self.sampler.draw(pair, "search", 0, self.draws)
        score = quick_score(first, second, epsilon=self.epsilon, delta=self.delta)
        self.scores[key], self.pairs[key] = score, pair
        return score

    def best(self, count: int) -> list[Pair]:
        order = sorted(self.scores, key=lambda key: -self.scores[key])
        return [self.pairs[key] for key in order[:count]]


def _key(pair: Pair) -> bytes:
    return canonical((pair.database, pair.neighbour))


def explore(
    strategy: Any,
    seed: int,
    examples: int,
    visit: Callable[[Any], float],
    attempts: int | None = None,
) -> None:
    """Visit examples of a strategy, steered towards those where `visit` is large.

    With `attempts` the run ends after so many tries to make an example: climbing a plateau of
    equal values can take thousands that come to nothing.
    """
    from hypothesis import strategies as st
    from hypothesis import target
    from hypothesis.errors import Flaky

    made = [0]

    @st.composite
    def limited(draw: Any) -> Any:
        made[0] += 1
        if attempts is not None and made[0] > attempts:
            raise _Enough
        return draw(strategy)

    def test(example: Any) -> None:
        target(max(-1e6, min(1e6, visit(example))))

    try:
        _run(strategy if attempts is None else limited(), test, seed, examples, shrinking=False)
    except (_Enough, Flaky, ExceptionGroup):
        # How Hypothesis reports that the last attempt failed.
        if attempts is None or made[0] <= attempts:
            raise


class _Enough(Exception):
    """The attempts are used up."""


def _run(
    strategy: Any, test: Callable[[Pair], None], seed: int, examples: int, *, shrinking: bool
) -> None:
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import seed as seeded

    phases = [Phase.generate, Phase.target] + ([Phase.shrink] if shrinking else [])
    test_of: Any = given(strategy)
    decorate: Any = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
    )
    with_seed: Any = seeded(seed)
    with_seed(decorate(test_of(test)))()


def _halve(
    sampler: Sampler,
    pairs: list[Pair],
    scores: dict[bytes, float],
    epsilon: float,
    delta: float,
    plan: SearchPlan,
) -> Found:
    drawn = {_key(p): sampler.draw(p, "search", 0, plan.draws) for p in pairs[:1]}
    chunk, draws = 0, plan.draws
    while len(pairs) > 1:
        chunk += 1
        draws *= 4 if chunk == 1 else 2
        ranks = []
        for pair in pairs:
            new = sampler.draw(pair, "search", chunk, draws)
            old = drawn.get(_key(pair))
            both = new if old is None else _joined(old, new)
            drawn[_key(pair)] = both
            ranks.append(quick_score(*both, epsilon=epsilon, delta=delta))
        order = sorted(range(len(pairs)), key=lambda index: -ranks[index])
        pairs = [pairs[index] for index in order[: len(pairs) // 2]]
    first, second = drawn[_key(pairs[0])]
    return Found(pairs[0], first, second, scores)


def _joined(old: tuple[Outputs, Outputs], new: tuple[Outputs, Outputs]) -> tuple[Outputs, Outputs]:
    return Outputs.concatenate([old[0], new[0]]), Outputs.concatenate([old[1], new[1]])


def shrink(
    source: Source,
    found: Found,
    refutes: Callable[[Pair], bool],
    *,
    seed: int,
    most: int = 150,
) -> Pair:
    """The smallest pair that still refutes, found by Hypothesis going down from `found`.

    `refutes` must be a function of the pair; it is asked at most `most` times, and not about
    pairs whose score in the hunt was hopeless. The run repeats the hunt's, with its seed and its
    scores, so it meets a pair that refutes for next to nothing and shrinks from there; if it
    does not, the templates are tried too.
    """
    from hypothesis import strategies as st
    from hypothesis.errors import Flaky

    descent = _Descent(found, refutes, most)
    everything = source.strategy
    if source.templates:
        everything = source.strategy | st.sampled_from(source.templates)
    for strategy in (source.strategy, everything):
        try:
            _run(strategy, descent.test, seed, 300, shrinking=True)
        except (_StillRefutes, Flaky, ExceptionGroup):
            # How Hypothesis reports a failure, alone or in a group; `descent` remembers the
            # smallest pair it was shown.
            break
    return descent.smallest


class _StillRefutes(Exception):
    """The example refutes the claim."""


class _Descent:
    """A test that fails on the pairs that refute, each asked about once."""

    def __init__(self, found: Found, refutes: Callable[[Pair], bool], most: int) -> None:
        self.smallest = found.pair
        self.known = {_key(found.pair): True}
        self.scores = found.scores
        self.refutes, self.left = refutes, most

    def test(self, pair: Pair) -> None:
        from hypothesis import target

        key = _key(pair)
        score = self.scores.get(key, 0.0)
        # The hunt's scores steer this run the way they steered the hunt.
        target(max(-1e6, min(1e6, score)))
        if key not in self.known:
            self.known[key] = score > HOPELESS and self.left > 0 and self.refutes(pair)
            self.left -= score > HOPELESS
        if self.known[key]:
            self.smallest = min(self.smallest, pair, key=_size)
            raise _StillRefutes


def _size(pair: Pair) -> tuple[int, bytes]:
    key = _key(pair)
    return len(key), key
