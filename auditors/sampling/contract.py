"""What a mechanism under audit must keep to, and the sentence that says what it broke.

A mechanism is a function of (database, rng): it returns, it leaves the database alone, all its
randomness comes from `rng`, and nothing it remembers changes what it does. Statistics on the
draws of anything else would be about something else.
"""

import inspect
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np

from ..errors import ContractError, InvalidArgument, MechanismHangs
from ..outputs.encoding import show, stamp
from . import limits
from .deadline import due
from .surroundings import surroundings


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
    """Raised by the alarm; not an Exception, so that a mechanism cannot swallow it by chance."""


class _Outside(BaseException):
    """Carries what the caller's own alarm raised past the mechanism."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


END = os._exit
"""The real one: while a mechanism runs another takes its place."""
LEAVING = (__name__, "contextlib")
"""Modules that are at work when a call of the mechanism has just ended."""
PATIENCE = 8
"""Rings a mechanism may swallow before the process ends: nothing else can stop it."""


@dataclass(slots=True)
class Watch:
    """An alarm clock for mechanism calls.

    `arm` gives the running code `limit` seconds from now. Signals reach only the main thread
    of a Unix process; elsewhere there is no limit. A timer and a handler that the caller had set
    keep working: they ring when they would have rung.
    """

    limit: float
    active: bool = field(default=False)
    outer: float | None = None
    """When the caller's timer rings, on the monotonic clock."""
    rings: int = 0

    def arm(self) -> None:
        """Start the limit afresh."""
        if self.active:
            delay = self.limit
            due(delay)
            if self.outer is not None:
                delay = max(1e-4, min(delay, self.outer - monotonic()))
            # The second number rings again, in case the first ring was caught and ignored.
            signal.setitimer(signal.ITIMER_REAL, delay, 1.0)
            self.rings = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the alarm for the block; raises MechanismHangs when it rings.

        A mechanism that swallows the alarm again and again ends the process with status 4.
        """
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            yield
            return
        interval = 0.0

        def ring(number: int, frame: Any) -> None:
            if self.outer is not None and monotonic() >= self.outer:
                self.outer = monotonic() + interval if interval else None
                self.arm()
                if callable(previous):
                    try:
                        previous(number, frame)
                    except BaseException as error:  # noqa: BLE001 - handed on as it is
                        raise _Outside(error) from None
                return
            self.rings += 1
            if self.rings > PATIENCE:
                _give_up(self.limit)
            # On the way out of this block it would get past what waits for it here, as after a
            # recursion so deep that it takes seconds to leave; elsewhere it rings again soon.
            if frame is None or frame.f_globals.get("__name__") not in LEAVING:
                raise _OutOfTime

        previous = signal.signal(signal.SIGALRM, ring)
        delay, interval = signal.setitimer(signal.ITIMER_REAL, 0)
        self.outer = monotonic() + delay if delay else None
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
            due(None)
            if self.outer is not None:
                signal.setitimer(signal.ITIMER_REAL, max(1e-4, self.outer - monotonic()), interval)


def _give_up(limit: float) -> None:
    sentence = (
        f"dpwitness: one call of the mechanism did not return within {limit:g} s and swallows the "
        "exception that should stop it, so the process ends here\n"
    )
    os.write(2, sentence.encode())
    END(4)


_ONE_AT_A_TIME = threading.RLock()
"""Held by a thread that calls a mechanism: a worker of dask may have several, and what a mechanism
may touch belongs to the whole process."""


@contextmanager
def guarded(
    database: Any,
    *,
    seeded: bool,
    rng: np.random.Generator | None = None,
    show_output: bool = False,
    alone: bool = True,
) -> Iterator[None]:
    """Run mechanism calls; say in one sentence what they broke.

    Anything they raise, and a changed database, become a ContractError. The global generators
    are seeded from `rng` where the mechanism is `seeded`, and the process is left as it was. Calls
    that are not `alone` in the process leave that to who started their threads.
    """
    before, held = stamp(database), limits.limits()
    low: list[str] = []
    lost: list[str] = []

    def restore() -> None:
        for found, one in zip((low, lost), limits.restore(held), strict=True):
            found.extend(one)

    try:
        with ExitStack() as stack:
            if alone:
                if threading.current_thread() is not threading.main_thread():
                    stack.enter_context(_ONE_AT_A_TIME)
                stack.enter_context(surroundings(rng if seeded else None, show_output=show_output))
                stack.callback(restore)  # before anything else of ours runs, which needs memory
            yield
    except (KeyboardInterrupt, ContractError):
        raise
    except _Outside as outside:
        raise outside.error from None
    except BaseException as error:
        why = f"lowered {limits.said(low)} of its process and then " if low else ""
        raise MechanismRaised(
            f"the mechanism {why}raised {_describe(error)} on database {show(database)}; "
            "it must return an output for every database it is given"
        ) from error
    if lost:
        raise ContractError(
            f"the mechanism lowered {limits.said(lost)} of its process for good, so there is no "
            "verdict; it must leave what the system grants the process as it is"
        )
    if stamp(database) != before:
        raise ContractError(
            f"the mechanism changed the database it was given into {show(database)}; "
            "it must leave its input alone, for instance by working on a copy"
        )


class MechanismRaised(ContractError):
    """A call of the mechanism ended in an exception."""


def _describe(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    try:
        text = (str(error).splitlines() or [""])[0][:200]
    except BaseException:  # noqa: BLE001 - a user's __str__ may raise anything
        text = ""
    return f"{type(error).__name__}{': ' + text if text else ''}{where}"
