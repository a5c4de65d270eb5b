"""What a mechanism may touch in the process, set before its calls and put back after them.

The global generators of random, numpy and torch are seeded from the generator that the calls are
given, so that a library that draws from them replays bit for bit, and are put back afterwards.
The working folder, the environment, the warning filters and numpy's error handling come back too;
what is printed or warned meanwhile is kept from our own output.
"""

import builtins
import io
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
from numpy.random import mtrand

from ..errors import ContractError

_SPARE = np.random.RandomState(0)
_NUMPY = {name: value for name, value in vars(np).items() if callable(value)}
_ENVIRON = os.environ
_LEAVE = os._exit
_BUILTINS = vars(builtins)


@contextmanager
def surroundings(rng: np.random.Generator | None, *, show_output: bool) -> Iterator[None]:
    """Run mechanism calls for the block, and leave the process as it was.

    Without `rng` the global generators are neither seeded nor put back. What the calls print goes
    nowhere unless `show_output`.
    """
    folder, environment = _folder(), _environment().copy()
    filters, errors = list(warnings.filters), np.geterr()
    functions, limit = _BUILTINS.copy(), sys.getrecursionlimit()
    traced, profiled, process = sys.gettrace(), sys.getprofile(), os.getpid()
    with ExitStack() as stack:
        if not show_output:
            sink = _Sink()
            stack.enter_context(redirect_stdout(sink))
            stack.enter_context(redirect_stderr(sink))
        if rng is not None:
            stack.enter_context(_global_generators(rng))
        stack.enter_context(_no_way_out())
        try:
            yield
        finally:
            if os.getpid() != process:
                # A copy that the mechanism forked must not go on as if it were we.
                _LEAVE(4)
            # Of these our own code is made, from the next line on.
            replaced = {} if functions == _BUILTINS else _BUILTINS.copy()
            _BUILTINS.update(functions)
            if sys.gettrace() is not traced:
                sys.settrace(traced)
            if sys.getprofile() is not profiled:
                sys.setprofile(profiled)
            if sys.getrecursionlimit() != limit:
                sys.setrecursionlimit(limit)
            if replaced:
                _require_functions(functions, replaced)
            _put_back(folder, environment)
            if filters != warnings.filters:
                warnings.filters[:] = filters  # type: ignore[index]
                warnings._filters_mutated()  # type: ignore[attr-defined]
            np.seterr(**errors)


@contextmanager
def shared_surroundings(show_output: bool) -> Iterator[None]:
    """The surroundings of threads that call a mechanism at the same time.

    Threads share the global generators, so who draws from these would draw other bits in every
    run: ContractError at the end of the block if anybody did.
    """
    with surroundings(np.random.default_rng(0), show_output=show_output):
        before = _global_states()
        yield
        if _global_states() != before:
            raise ContractError(
                "the mechanism draws from the global generator of random or numpy, which threads "
                "share, so that its draws would be others in every run; use the rng it is given, "
                'or backend="loky"',
                keywords=("backend",),
            )


def _global_states() -> str:
    return repr((random.getstate(), mtrand.get_bit_generator().state))


_LEFT_LATE = (
    "dpwitness: something that the mechanism left for the end of the process called "
    "os._exit({!r}), which hides how the run ended\n"
)


@contextmanager
def _no_way_out() -> Iterator[None]:
    """Make `os._exit` a broken contract for the block: it would end the audit without a verdict."""
    leave, process, running = os._exit, os.getpid(), [True]

    def refuse(status: int) -> None:
        if os.getpid() != process:
            leave(status)  # a child process that the mechanism made may end as it likes
        if not running:
            # Registered for the end of this process, it would hide how the run ended.
            os.write(2, _LEFT_LATE.format(status).encode("ascii", "backslashreplace"))
            leave(status or 4)
        raise ContractError(
            f"the mechanism called os._exit({status!r}), which would have ended the audit without "
            "a verdict; it must return"
        )

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = leave
        running.clear()


class _Sink(io.TextIOBase):
    """A stream that takes everything; closing it closes nothing else."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Take the text."""
        return len(text)

    def writable(self) -> bool:
        """It is."""
        return True

    @property
    def buffer(self) -> Any:
        """The same for bytes."""
        return io.BytesIO()


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _require_functions(before: dict[str, Any], after: dict[str, Any]) -> None:
    # Whoever looks at the value of an expression in an interactive Python sets "_".
    names = [name for name, one in before.items() if after.get(name) is not one and name != "_"]
    if names:
        raise ContractError(
            f"the mechanism replaced builtins.{names[0]}, a function of Python itself, for the "
            "whole process; it must leave Python's own functions alone"
        )


def _put_back(folder: str | None, environment: dict[Any, Any]) -> None:
    os.environ = _ENVIRON  # noqa: B003 - the object itself, where it was replaced
    if folder is not None and folder != _folder():
        os.chdir(folder)
    now = _environment()
    if environment == now:
        return
    for name in now.keys() - environment.keys():
        del os.environ[os.fsdecode(name)]
    for name, value in environment.items():
        os.environ[os.fsdecode(name)] = os.fsdecode(value)


def _environment() -> dict[Any, Any]:
    # The public copy decodes every name and value, which takes longer than a short block of draws.
    return os.environ._data  # type: ignore[attr-defined]


@contextmanager
def _global_generators(rng: np.random.Generator) -> Iterator[None]:
    # Read off the generator, not drawn from it: what the mechanism draws stays the same.
    seed = _number(rng)
    held, bits = random.getstate(), mtrand.get_bit_generator()
    torch = sys.modules.get("torch")
    held_torch = torch.get_rng_state() if torch is not None else None
    # Another generator takes numpy's place: saving and loading the state of its own is slower.
    mtrand.set_bit_generator(_SPARE._bit_generator)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    random.seed(seed)
    if torch is not None:
        torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(held)
        mtrand.set_bit_generator(bits)
        if torch is not None:
            torch.set_rng_state(held_torch)


@contextmanager
def legacy_normal_kept() -> Iterator[None]:
    """Put back numpy's global state to the last bit, with the normal variate it holds in reserve.

    Slow, and so done once for an audit.
    """
    state = np.random.get_state(legacy=True)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _number(rng: np.random.Generator) -> int:
    """A number below 2**63 that the state of the generator decides."""
    state: Any = rng.bit_generator.state["state"]
    return int(state["state"]) % (2**63)


def require_untouched_numpy() -> None:
    """Raise ContractError where a function of numpy was replaced since dpwitness was loaded.

    Counts are made with numpy: a mechanism that replaces what counts would judge itself.
    """
    for name, value in _NUMPY.items():
        if vars(np).get(name) is not value:
            raise ContractError(
                f"numpy.{name} is not the function it was when dpwitness was loaded: something, "
                "most likely the mechanism or its module, replaced it, and counts made with it "
                "prove nothing; put the patch into the mechanism's own namespace"
            )
