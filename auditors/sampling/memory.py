"""What a function could remember between calls, to name the culprit when it does.

Looking at a function's variables decides nothing: only outputs that differ break the contract.
This finds which variable changed, so that the sentence can name it.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np


def remembered(run: Callable[..., Any]) -> dict[str, str]:
    """The data a callable reaches besides its arguments: name to a text that shows its value."""
    return {name: _state(value) for name, value in _variables(run)}


@contextmanager
def forgetting(run: Callable[..., Any]) -> Iterator[None]:
    """Empty the dicts, lists and sets a callable reaches for the block, and put all back after it.

    What `functools.lru_cache` remembers is dropped for good; it is made again when needed.
    """
    held = [value for _, value in _variables(run) if type(value) in (dict, list, set)]
    contents = [value.copy() for value in held]
    for cache in (run, *_caches(run)):
        clear = getattr(cache, "cache_clear", None)
        if callable(clear):
            clear()
    for value in held:
        value.clear()
    try:
        yield
    finally:
        for value, old in zip(held, contents, strict=True):
            value.clear()
            value.extend(old) if isinstance(value, list) else value.update(old)


def _caches(run: Any) -> Iterator[Any]:
    """Functions a callable reaches that remember their answers."""
    code = getattr(run, "__code__", None)
    if code is None:
        return
    for name in code.co_names:
        yield run.__globals__.get(name)
    for cell in run.__closure__ or ():
        yield _contents(cell)


def _variables(run: Any) -> Iterator[tuple[str, Any]]:
    while hasattr(run, "func"):
        run = run.func
    owner = getattr(run, "__self__", None)
    if owner is not None and not isinstance(owner, (type, ModuleType)):
        yield from getattr(owner, "__dict__", {}).items()
    function = getattr(run, "__func__", run)
    if not hasattr(function, "__code__"):
        yield from getattr(function, "__dict__", {}).items()
        function = vars(type(function)).get("__call__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    yield from function.__dict__.items()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if cell is not None:
            yield name, _contents(cell)
    for name in code.co_names:
        value = function.__globals__.get(name)
        if value is not None and not callable(value) and not isinstance(value, ModuleType):
            yield name, value


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _state(value: Any) -> str:
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, random.Random):
        return repr(value.getstate())
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything
        # It cannot be shown, so it cannot be named as the culprit.
        return ""
    fields = getattr(value, "__dict__", None)
    return text + (repr(fields) if isinstance(fields, dict) else "")
