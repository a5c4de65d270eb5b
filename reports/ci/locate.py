"""How `dpwitness` could find a mechanism that a test audits: file.py:name, or nothing."""

import inspect
from pathlib import Path
from typing import Any

import pytest


def target_of(mechanism: object, item: pytest.Item) -> str | None:
    """A target for the command line, relative to the root of the project; None for none.

    Only what stands at the top level of a module under the root has one.
    """
    found = _module_and_name(mechanism, item)
    if found is None:
        return None
    file, name = found
    root = item.config.rootpath
    if not file.is_relative_to(root):
        return None
    return f"{file.relative_to(root).as_posix()}:{name}"


def _module_and_name(mechanism: object, item: pytest.Item) -> tuple[Path, str] | None:
    module = inspect.getmodule(mechanism) if callable(mechanism) else None
    name = getattr(mechanism, "__qualname__", "")
    if module is not None and getattr(module, name, None) is mechanism:
        return _placed(module, name)
    test = getattr(item, "module", None)
    candidates = [test] if test is not None else []
    candidates += [v for v in vars(test).values() if inspect.ismodule(v)] if test else []
    for module in candidates:
        for name, value in vars(module).items():
            if value is mechanism:
                run = inspect.getmodule(getattr(mechanism, "run", None))
                home = run if run is not None and getattr(run, name, None) is mechanism else module
                return _placed(home, name)
    return None


def _placed(module: object, name: str) -> tuple[Path, str] | None:
    file = getattr(module, "__file__", None)
    return (Path(file).resolve(), name) if file else None


def source_of(mechanism: Any) -> tuple[str, int] | None:
    """File and first line of the code of a mechanism, for messages that point there."""
    run = getattr(mechanism, "run", mechanism)
    while hasattr(run, "func"):
        run = run.func
    run = inspect.unwrap(run)
    try:
        file = inspect.getsourcefile(run)
        _, line = inspect.getsourcelines(run)
    except (TypeError, OSError):
        return None
    return (file, max(line, 1)) if file else None
