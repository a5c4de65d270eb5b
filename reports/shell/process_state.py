"""What a process is made of, remembered before code of others runs, put back and named after it.

Settings (limits, handlers, hooks) are put back without a word. Functions that were replaced and
modules that were removed are put back too, and named: what was counted meanwhile may have been
counted with them. What was merely added stays, as an import adds modules.

The limits that the system sets a process, such as RLIMIT_AS on memory, need the most care. Where
little memory, few files or no threads are left, anything may fail, at last in native code, and
what fails says nothing of the cause. So the limits are compared and put back as soon as code of
others has run, and the limits of a process that died are read before it is forgotten.
"""

import builtins
import gc
import locale
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

PLAIN = ("builtins", "io", "os", "json", "json.decoder", "json.encoder", "math", "time", "random",
         "signal", "struct", "copy", "functools", "itertools", "operator", "threading",
         "numpy", "numpy.linalg", "numpy.random", "scipy.special", "scipy.stats")  # fmt: skip
"""Modules whose functions audits count and write with, beside those of dpwitness."""
OURS = ("dpwitness", "numpy", "scipy", "hypothesis", "click", "joblib", "cloudpickle", "pytest",
        "_pytest", "pluggy")  # fmt: skip
ATTRIBUTES = (
    (os, "environ"), (sys, "modules"), (sys, "stdout"), (sys, "stderr"), (sys, "stdin"),
    (sys, "__stdout__"), (sys, "__stderr__"), (sys, "excepthook"), (sys, "displayhook"),
    (sys, "unraisablehook"), (threading, "excepthook"), (warnings, "showwarning"),
)  # fmt: skip
LISTS = ("path", "meta_path", "path_hooks")
MOST_NAMED = 4
"""Changes that a sentence names; of more it tells how many."""
_BUILTINS = vars(builtins)


class Changed(NamedTuple):
    """What was found changed, in words, and was put back where that could be done."""

    replaced: list[str]
    """Functions replaced and modules removed."""
    settings: list[str]
    lost: list[str]
    """Settings that could not be put back."""
    limits: list[str]
    """Limits of the system that were lowered: whatever failed may have failed for want of them."""

    def told(self) -> str:
        """All, as the middle of a sentence; empty where nothing was changed."""
        found = self.limits + self.replaced + self.lost + self.settings
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        return ", ".join(found[:MOST_NAMED]) + more


class ProcessState:
    """The state of this process when it was made."""

    def __init__(self) -> None:
        self._limits = limits()
        self.lowered: list[str] = []
        """Limits found lowered, known even where all else that `put_back` does fails."""
        self._builtins = dict(_BUILTINS)
        self._modules = dict(sys.modules)
        self._attributes = [(owner, name, getattr(owner, name)) for owner, name in ATTRIBUTES]
        self._lists = [(name, list(getattr(sys, name))) for name in LISTS]
        self._settings = [(words, read(), read, write) for words, read, write in _settings()]
        self._functions = [
            (module, {key: one for key, one in vars(module).items() if callable(one)})
            for name, module in self._modules.items()
            if (name in PLAIN or name.startswith("dpwitness.auditors")) and module is not None
        ]

    def put_back(self) -> Changed:
        """Make the process what it was, and say what was not."""
        # First what memory and files are had by, then the functions that are called below.
        low, lost = restore(self._limits)
        self.lowered.extend(low)
        now = _BUILTINS.copy()
        _BUILTINS.update(self._builtins)
        changed = Changed([], [], [said([one]) for one in lost], [])
        changed.limits.extend(said([one]) for one in low if one not in lost)
        changed.replaced.extend(
            f"builtins.{name}" for name, one in self._builtins.items()
            if now.get(name, ProcessState) is not one and name != "_"
        )  # fmt: skip
        for owner, name, value in self._attributes:
            if getattr(owner, name, ProcessState) is not value:
                setattr(owner, name, value)
                changed.settings.append(f"{owner.__name__}.{name}")
        gone = [name for name, one in self._modules.items() if sys.modules.get(name) is not one]
        for name in gone:
            sys.modules[name] = self._modules[name]
        changed.replaced.extend(f"sys.modules[{name!r}]" for name in gone[:MOST_NAMED])
        for module, functions in self._functions:
            names = vars(module)
            for name, one in functions.items():
                if names.get(name) is not one:
                    names[name] = one
                    if module is not builtins:
                        changed.replaced.append(f"{module.__name__}.{name}")
        for name, value in self._lists:
            held = getattr(sys, name)
            if any(one not in held for one in value):
                held[:] = [*value, *(one for one in held if one not in value)]
                changed.settings.append(f"sys.{name}")
        for words, value, read, write in self._settings:
            if read() != value:
                with suppress(OSError, ValueError, TypeError):
                    write(value)
                (changed.settings if read() == value else changed.lost).append(words)
        return changed


Setting = tuple[str, Callable[[], Any], Callable[[Any], object]]
"""What it is, how it is read, and how a value that was read is set; each has a type of its own."""


def _settings() -> Iterator[Setting]:
    """Numbers and hooks of the interpreter."""
    yield "the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit
    yield "the switch interval of threads", sys.getswitchinterval, sys.setswitchinterval
    yield "the most digits of a number", sys.get_int_max_str_digits, sys.set_int_max_str_digits
    yield "the trace function", sys.gettrace, sys.settrace
    yield "the profile function", sys.getprofile, sys.setprofile
    yield "the garbage collector", _collector, _collect
    yield "the locale", lambda: locale.setlocale(locale.LC_ALL), _localise
    if "decimal" in sys.modules:
        yield "the context of decimals", *_decimals()
    if "logging" in sys.modules:
        root = sys.modules["logging"].root
        yield (
            "what is logged",
            lambda: root.manager.disable,
            lambda level: setattr(root.manager, "disable", level),
        )
    if os.name != "posix":
        return
    yield "the umask", _umask, os.umask
    if threading.current_thread() is threading.main_thread():
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            name = f"what {getattr(number, 'name', number)} does"
            yield name, lambda n=number: signal.getsignal(n), lambda f, n=number: _handle(n, f)  # type: ignore[misc]
        for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            yield (
                "a timer",
                lambda one=timer: signal.getitimer(one)[0] > 0,  # type: ignore[misc]
                lambda runs, one=timer: runs or signal.setitimer(one, 0),  # type: ignore[misc]
            )
    yield (
        "which signals are blocked",
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        lambda mask: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
    )


def _collector() -> tuple[bool, tuple[int, int, int]]:
    return gc.isenabled(), gc.get_threshold()


def _collect(state: tuple[bool, tuple[int, int, int]]) -> None:
    enabled, threshold = state
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def _localise(name: str) -> None:
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, name)


def _decimals() -> tuple[Callable[[], str], Callable[[str], object]]:
    decimal = sys.modules["decimal"]
    held = decimal.getcontext().copy()
    return lambda: repr(decimal.getcontext()), lambda text: decimal.setcontext(held)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _handle(number: int, handler: Callable[[int, FrameType | None], object] | int | None) -> None:
    if handler is not None:  # what was set outside Python cannot be set from here
        signal.signal(number, handler)


def blamed(error: BaseException, changed: Changed) -> str:
    """Why an error is not dpwitness's own; empty where nothing says so."""
    text = f"{type(error).__name__}: {_text(error)}".removesuffix(": ")
    if any(changed):
        return (
            f"the mechanism, or its module, changed the process it runs in: {changed.told()}; then "
            f"dpwitness could not go on ({text}), so there is no verdict"
        )
    if isinstance(error, MemoryError):
        return (
            "memory ran out, so there is no verdict; audit a smaller output or a smaller database, "
            "or give the process more memory"
        )
    where = stranger(error)
    if where:
        return (
            f"{where}, which is no part of dpwitness, raised {text} outside any call of the "
            "mechanism, so there is no verdict; it may be a strategy of databases, or a hook that "
            "the mechanism or its module left behind"
        )
    return ""


def _text(error: BaseException) -> str:
    try:
        return (str(error).splitlines() or [""])[0][:200]
    except BaseException:  # noqa: BLE001 - a user's __str__ may raise anything
        return ""


def stranger(error: BaseException) -> str:
    """File and line of the code that raised it, if that is neither ours nor Python's; else ''."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    for frame, line in reversed(frames):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top in OURS:
            return ""
        if top and top not in sys.stdlib_module_names:
            return f"{os.path.basename(frame.f_code.co_filename)}:{line}"
    return ""


try:
    import resource
except ImportError:  # pragma: no cover - there are no such limits there
    NAMES: dict[int, str] = {}
else:
    # RLIMIT_OFILE is an older name of RLIMIT_NOFILE.
    NAMES = {
        getattr(resource, name): name
        for name in dir(resource)
        if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"
    }

Limits = Mapping[int, tuple[int, int]]
"""The soft and the hard limit of each number in `NAMES`."""


def limits() -> Limits:
    """Those of this process."""
    return {number: resource.getrlimit(number) for number in NAMES}


def limits_of(process: int) -> Limits:
    """Those of another process, also of one that died and was not waited for; {} if unknown."""
    try:
        return {number: resource.prlimit(process, number) for number in NAMES}
    except (OSError, ValueError, AttributeError):
        return {}


def lowered(before: Limits, after: Limits) -> list[str]:
    """The names of the limits that are lower than they were."""
    return [
        NAMES[number]
        for number, old in before.items()
        if any(_below(one, two) for one, two in zip(after.get(number, old), old, strict=True))
    ]


def _below(one: int, two: int) -> bool:
    return one != two and one != resource.RLIM_INFINITY and not 0 <= two < one


def restore(before: Limits) -> tuple[list[str], list[str]]:
    """Put the limits back; the names of (those that were lower, those that stay lower)."""
    now = limits()
    if now == before:
        return [], []
    low = lowered(before, now)
    for number, old in before.items():
        if now[number] == old:
            continue
        try:
            resource.setrlimit(number, old)
        except (OSError, ValueError):
            # Nobody but root raises a hard limit again.
            hard = now[number][1]
            soft = old[0] if hard == resource.RLIM_INFINITY or 0 <= old[0] < hard else hard
            resource.setrlimit(number, (soft, hard))
    return low, [name for name in lowered(before, limits()) if name in low]


def said(names: list[str]) -> str:
    """The limit RLIMIT_AS, or the limits RLIMIT_AS, RLIMIT_CPU; in the middle of a sentence."""
    return f"the limit{'s' * (len(names) > 1)} {', '.join(names)}"
