"""What a mechanism under audit must keep to, and the sentence that says what it broke.

A mechanism is a function of (database, rng): it returns, it leaves the database alone, all its
randomness comes from `rng`, and nothing it remembers changes what it does. Statistics on the
draws of anything else would be about something else.
"""

import inspect
import os
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ContractError, InvalidArgument, MechanismHangs
from ..outputs.encoding import canonical, show

__all__ = ["Watch", "accepts_size", "guarded", "require_signature"]


def require_signature(run: Callable[..., Any]) -> None:
    """Check that `run` can be called as run(database, rng)."""
    if not callable(run):
        raise InvalidArgument(
            f"expected a function of (database, rng) or a Mechanism, got {type(run).__name__}"
        )
    try:
        inspect.signature(run).bind(None, None)
    except ValueError:
        return
    except TypeError as error:
        raise ContractError(
            f"a mechanism is called as mechanism(database, rng), which this one cannot be: {error}"
        ) from None


def accepts_size(run: Callable[..., Any]) -> bool:
    """Whether `run` takes the keyword `size`, so that one call can give many draws."""
    try:
        parameters = inspect.signature(run).parameters
    except (TypeError, ValueError):
        return False
    size = parameters.get("size")
    return size is not None and size.kind in (size.KEYWORD_ONLY, size.POSITIONAL_OR_KEYWORD)


class _OutOfTime(BaseException):
    """Raised by the alarm; not an Exception, so that a mechanism cannot swallow it."""


@dataclass(slots=True)
class Watch:
    """An alarm clock for mechanism calls.

    `arm` gives the running code `limit` seconds from now. Signals reach only the main thread
    of a Unix process; elsewhere there is no limit.
    """

    limit: float
    active: bool = field(default=False)

    def arm(self) -> None:
        """Start the limit afresh."""
        if self.active:
            # The second number rings again, in case the first ring was caught and ignored.
            signal.setitimer(signal.ITIMER_REAL, self.limit, 1.0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the alarm for the block; raises MechanismHangs when it rings."""
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            yield
            return

        def ring(*_: Any) -> None:
            raise _OutOfTime

        previous = signal.signal(signal.SIGALRM, ring)
        self.active = True
        try:
            self.arm()
            yield
        except _OutOfTime:
            raise MechanismHangs(
                f"one call of the mechanism did not return within {self.limit:g} s; if it is "
                "meant to be that slow, raise the limit with timeout=",
                keywords=("timeout",),
            ) from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
            self.active = False


@contextmanager
def guarded(database: Any, *, seeded: bool) -> Iterator[None]:
    """Run mechanism calls; say in one sentence what they broke.

    Exceptions, a changed database and, for a mechanism that claims to use only `rng`, a touched
    global random state become a ContractError.
    """
    before = canonical(database)
    state = _global_state() if seeded else None
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, ContractError):
            raise
        raise ContractError(
            f"the mechanism raised {_describe(error)} on database {show(database)}; "
            "it must return an output for every database it is given"
        ) from error
    if canonical(database) != before:
        raise ContractError(
            f"the mechanism changed the database it was given into {show(database)}; "
            "it must leave its input alone, for instance by working on a copy"
        )
    if state is not None:
        for name, old, new in zip(("random", "numpy.random"), state, _global_state(), strict=True):
            if old != new:
                raise ContractError(
                    f"the mechanism used the global random state of {name}; it must draw from the "
                    "rng it is given, or be declared with seeded=False",
                    keywords=("seeded",),
                )


def _global_state() -> tuple[Any, Any]:
    # The legacy generator is looked at, never used.
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    return random.getstate(), (name, np.asarray(keys).tobytes(), position, has_gauss, gauss)


def _describe(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    text = str(error).splitlines()[0][:200] if str(error) else ""
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"
