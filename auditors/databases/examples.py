"""Examples that Hypothesis makes of a strategy: the same ones for the same seed.

Hypothesis puts constants of the modules that happen to be loaded among its examples. Which are
loaded depends on what the process did before and on how this package was installed, so these
constants are left out; `search.constants` reads those of the mechanism's own code.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from ..errors import InvalidArgument, raised_at

if TYPE_CHECKING:
    from hypothesis import Phase
    from hypothesis.strategies import SearchStrategy

Made = TypeVar("Made")

# Of two threads, the second would keep what the first put in the place of a method of Hypothesis.
_ONE_AT_A_TIME = RLock()


def harvest(
    strategy: "SearchStrategy[Made]", seed: int, examples: int = 80, *, mutated: bool = True
) -> list[Made]:
    """Examples of a strategy, in the order they were made.

    Hypothesis changes what it made into more examples, which takes longer than to make others;
    without `mutated` it does not.
    """
    from hypothesis import Phase

    found: list[Made] = []

    def collect(example: Made) -> None:
        found.append(example)

    with nullcontext() if mutated else _without("engine:ConjectureRunner.generate_mutations_from"):
        _run(strategy, collect, seed, examples, [Phase.generate])
    return found


def explore(
    strategy: "SearchStrategy[Made]", seed: int, examples: int, visit: Callable[[Made], float]
) -> None:
    """Visit examples of a strategy, steered towards those where `visit` is large."""
    from hypothesis import Phase, target

    def test(example: Made) -> None:
        target(max(-1e6, min(1e6, visit(example))))

    _run(strategy, test, seed, examples, [Phase.generate, Phase.target])


def _run(
    strategy: "SearchStrategy[Made]",
    test: Callable[[Made], None],
    seed: int,
    examples: int,
    phases: "Sequence[Phase]",
) -> None:
    from hypothesis import HealthCheck, Verbosity, given, settings
    from hypothesis import seed as seeded

    own: list[BaseException] = []

    def visited(example: Made) -> None:
        try:
            test(example)
        except BaseException as error:
            own.append(error)
            raise

    decorate = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
    )
    with _without("providers:HypothesisProvider._maybe_draw_constant"), _naming_the_strategy(own):
        seeded(seed)(decorate(given(strategy)(visited)))()


@contextmanager
def _naming_the_strategy(visiting: Sequence[BaseException]) -> Iterator[None]:
    """InvalidArgument for a strategy that makes no example, or of which some code raises.

    What was raised while `visiting` an example is none of its faults.
    """
    from hypothesis.errors import HypothesisException, Unsatisfiable
    from hypothesis.errors import InvalidArgument as NoStrategy

    try:
        yield
    except Unsatisfiable:
        raise InvalidArgument(
            "the strategy of databases makes no example: it is empty, or its filters refuse nearly "
            "all that they are given; make databases that meet the condition, and filter none"
        ) from None
    except NoStrategy as error:
        said = (str(error).strip().splitlines() or ["it says no more"])[0]
        raise InvalidArgument(f"the strategy of databases cannot be used: {said}") from None
    except (HypothesisException, ExceptionGroup):
        raise  # of how the examples are made
    except Exception as error:
        place = raised_at(error.__traceback__)
        if not place or error in visiting or isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"the strategy of databases raised {type(error).__name__}"
            f"{f': {error}' if str(error) else ''} at {place}; a strategy must make every database "
            "that it describes"
        ) from error


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Let a method of Hypothesis, named by module, class and name, do nothing for a while."""
    module, place = name.split(":")
    kind, method = place.split(".")
    owner = getattr(import_module(f"hypothesis.internal.conjecture.{module}"), kind)
    with _ONE_AT_A_TIME:
        there = getattr(owner, method, None)
        if there is None:
            yield
            return
        setattr(owner, method, lambda *_, **__: None)
        try:
            yield
        finally:
            setattr(owner, method, there)
