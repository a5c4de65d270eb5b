"""Hypothesis's own search: examples of a strategy, steered towards large values of a score."""

from collections.abc import Callable
from typing import Any


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
        _run(strategy if attempts is None else limited(), test, seed, examples)
    except (_Enough, Flaky, ExceptionGroup):
        # How Hypothesis reports that the last attempt failed.
        if attempts is None or made[0] <= attempts:
            raise


class _Enough(Exception):
    """The attempts are used up."""


def _run(strategy: Any, test: Callable[[Any], None], seed: int, examples: int) -> None:
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import seed as seeded

    test_of: Any = given(strategy)
    decorate: Any = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
    )
    with_seed: Any = seeded(seed)
    with_seed(decorate(test_of(test)))()
