"""The mechanism as it would be if its modules were imported now, for the first time.

A copy of this process has all that importing a module left there, also noise that was drawn then.
In two copies that import the modules again such noise is two different ones, and so is whatever
calls before the audit had left. What the rest of the process set up is not there either (a module
that was patched, a registry that was filled), so if a draw in such a copy differs from what was
counted, copies are compared with each other, and only if these differ it is a fault: see
`require_same_anew`.

The modules are those of the user's own, outside the folders of the standard library and of
installed packages, and those of a package that the mechanism itself comes from, unless it has
compiled parts, which cannot be loaded twice. A function that a script hands over (`__main__`) is
made again by the imports, definitions and assignments that it reaches, so that nothing else of the
script runs again. What a mechanism holds that no module names (a closure made by the caller) is
taken as it is.
"""

import ast
import copy
import importlib.util
import os
import random
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...mechanisms.model import Output
from ..errors import ContractError
from ..looking import attribute, held, is_a

Part = Any
"""What a mechanism holds, or is: a module, a class, a function, or a value of any kind."""

INSTALLED = tuple({known(sysconfig.get_path(one)) + os.sep
                   for one in ("stdlib", "platstdlib", "purelib", "platlib")
                   for known in (str, os.path.realpath)})  # fmt: skip
OURS = "dpwitness"
MAIN = "__main__"
DEEPEST = 20
"""How far what a mechanism holds is followed."""
NEEDED = 16
"""Processes without which nothing is refuted if imports take long: a coin with odds of e to 1 falls
alike in so many in 7 of 1,000 cases."""
IMPORTED = (
    "the mechanism uses noise that was drawn while a module was imported, or keeps state between "
    "calls; draw all noise inside the call, from the rng it is given, and if what is drawn "
    "beforehand is public, give it a fixed seed"
)
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, BuiltinFunctionType)
"""Types whose values no module can be told from."""


class Anew:
    """The modules of a mechanism, found once, to be imported again in copies of this process."""

    def __init__(self, run: object) -> None:
        self.run = run
        self.reached = _Modules().of(run)
        self.old = {name: sys.modules[name] for name in _own(self.reached)}
        self.rebound = _Rebound(self.old)

    def imported(self) -> Callable[..., Output]:
        """`run` as its modules, imported again into this process, have it.

        Raises what importing them raises. This process must be one that ends soon: its modules are
        exchanged, and the global generators stand where nobody knows.
        """
        np.random.seed(int.from_bytes(os.urandom(4), "big"))  # noqa: NPY002
        random.seed(os.urandom(16))
        for name in self.old:
            del sys.modules[name]
        sys.meta_path.insert(0, _Again(self.old))
        if MAIN in self.old:
            sys.modules[MAIN] = _definitions(self.old[MAIN], self.reached)
        return self.rebound.of(self.run, 0)


def has_modules(run: object) -> bool:
    """Whether there is a module to import again: none where all code is dpwitness's own."""
    return any(_own(_Modules().of(run)))


class _Modules:
    """The names of the modules whose functions and classes a value is made of."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.functions: list[FunctionType] = []
        self.seen: set[int] = set()

    def of(self, run: object) -> "_Modules":
        """With those of a value."""
        seen = self.seen
        left = [(run, 0)]
        while left:
            value, depth = left.pop()
            if id(value) in seen or depth > DEEPEST or is_a(value, PLAIN):
                continue
            seen.add(id(value))
            kind = value if is_a(value, (type, FunctionType)) else type(value)
            self.names.add(str(kind.__module__))
            if is_a(value, FunctionType):
                self.functions.append(value)
            left += [(part, depth + 1) for part in _parts(value)]
        return self


def _parts(value: object) -> list[object]:
    """What a mechanism of this kind is made of."""
    if is_a(value, FunctionType):
        cells = [part for cell in value.__closure__ or () for part in _held(cell)]
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        return [*cells, *defaults, *vars(value).values()]
    if is_a(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if is_a(value, MethodType):
        return [value.__func__, value.__self__]
    if is_a(value, (list, tuple)) or is_a(value, (set, frozenset)):
        return list(value)
    if is_a(value, dict):
        return list(value.values())
    if is_a(value, (type, ModuleType)):
        return []
    inner = _hidden(value)
    return [part for _, part in held(value)] + ([] if inner is None else [inner])


def _hidden(value: object) -> object:
    """What a proxy stands around, if it keeps that out of sight as wrapt's do; else None."""
    return None if "__wrapped__" in dict(held(value)) else attribute(value, "__wrapped__")


def _held(cell: CellType) -> list[object]:
    try:
        return [cell.cell_contents]
    except ValueError:  # nothing was put into it
        return []


def _own(mechanism: _Modules) -> Iterator[str]:
    """The names of loaded modules that are imported again."""
    packages = {name.partition(".")[0] for name in mechanism.names}
    compiled = {
        name.partition(".")[0] for name, module in list(sys.modules.items())
        if _file(module).endswith(tuple(EXTENSION_SUFFIXES))
    }  # fmt: skip
    for name, module in list(sys.modules.items()):
        top, file = name.partition(".")[0], _file(module)
        if top == OURS or top in sys.builtin_module_names or not file.endswith(".py"):
            continue
        if module is sys.modules.get(MAIN):
            # multiprocessing has a second name for the script.
            if name == MAIN and MAIN in mechanism.names:
                yield name
        elif not file.startswith(INSTALLED) or (
            top in packages - compiled and top not in sys.stdlib_module_names
        ):
            yield name


def _file(module: object) -> str:
    """Where a module lies; "" for what somebody put in the place of one."""
    file = attribute(module, "__file__")
    return file if is_a(file, str) and is_a(module, ModuleType) else ""


class _Again(MetaPathFinder):
    """Finds the modules where they were found before, whatever the path is now."""

    def __init__(self, old: dict[str, ModuleType]) -> None:
        self.old = old

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Where the module's file is."""
        module = self.old.get(name)
        if module is None or name == MAIN or not module.__file__:
            return None
        inside = list(module.__path__) if hasattr(module, "__path__") else None
        return importlib.util.spec_from_file_location(
            name, module.__file__, submodule_search_locations=inside
        )


class _Rebound:
    """Values with what the old modules gave them exchanged for what the new ones have."""

    def __init__(self, old: dict[str, ModuleType]) -> None:
        self.old = old
        self.places: dict[int, list[tuple[str, str]]] = {}
        for name, module in old.items():
            for word, value in list(vars(module).items()):
                if not is_a(value, (*PLAIN, ModuleType, tuple, frozenset)):
                    self.places.setdefault(id(value), []).append((name, word))
        self.known: dict[int, object] = {}

    def of(self, value: Part, depth: int) -> Part:
        """The value itself where it holds nothing of the old modules."""
        if is_a(value, PLAIN) or depth > DEEPEST:
            return value
        if id(value) not in self.known:
            self.known[id(value)] = value  # for what holds itself
            self.known[id(value)] = self._made(value, depth + 1)
        return self.known[id(value)]

    def _made(self, value: Part, depth: int) -> Part:
        if is_a(value, ModuleType):
            return importlib.import_module(value.__name__) if value.__name__ in self.old else value
        if is_a(value, (type, FunctionType)) and value.__module__ in self.old:
            found = self._named(value)
            if found is not None:
                return found
        for name, word in self.places.get(id(value), ()):
            module = importlib.import_module(name)
            if hasattr(module, word):
                return getattr(module, word)
        if is_a(value, type):
            return value
        parts = _parts(value)
        made = [self.of(part, depth) for part in parts]
        ours = type(value).__module__ in self.old
        if is_a(value, FunctionType):
            changed = value.__module__ in self.old or _differ(parts, made)
            return self._function(value, depth) if changed else value
        if not ours and not _differ(parts, made):
            return value
        if is_a(value, partial):
            count = len(value.args)
            named = dict(zip(value.keywords, made[1 + count :], strict=True))
            return partial(made[0], *made[1 : 1 + count], **named)
        if is_a(value, MethodType):
            return MethodType(made[0], made[1])
        if is_a(value, dict):
            return dict(zip(value, made, strict=True))
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(made)
        if (inner := _hidden(value)) is not None:  # the proxy itself cannot be copied
            return self.of(inner, depth)
        return self._instance(value, depth)

    def _named(self, value: Part) -> Part:
        """What stands under the name of a function or a class in the new module."""
        if "<" in value.__qualname__:
            return None
        found: object = importlib.import_module(value.__module__)
        for part in value.__qualname__.split("."):
            found = getattr(found, part, None)
        return found if type(found) is type(value) else None

    def _function(self, value: FunctionType, depth: int) -> FunctionType:
        """The same code over the new module and what is held anew."""
        cells = [CellType(*(self.of(part, depth) for part in _held(cell)))
                 for cell in value.__closure__ or ()]  # fmt: skip
        spaces = value.__globals__
        if value.__module__ in self.old:
            spaces = vars(importlib.import_module(value.__module__))
        defaults = value.__defaults__ and tuple(self.of(one, depth) for one in value.__defaults__)
        made = FunctionType(value.__code__, spaces, value.__name__, defaults, tuple(cells))
        made.__kwdefaults__ = {
            name: self.of(one, depth) for name, one in (value.__kwdefaults__ or {}).items()
        } or None
        made.__dict__.update({name: self.of(one, depth) for name, one in vars(value).items()})
        made.__qualname__, made.__module__ = value.__qualname__, value.__module__
        return made

    def _instance(self, value: object, depth: int) -> object:
        made = copy.copy(value)
        kind = self.of(type(value), depth)
        if kind is not type(value):
            object.__setattr__(made, "__class__", kind)
        for name, one in held(value):
            new = self.of(one, depth)
            if new is not one:
                object.__setattr__(made, name, new)
        return made


def _differ(one: Sequence[object], other: Sequence[object]) -> bool:
    return any(first is not second for first, second in zip(one, other, strict=True))


def _definitions(main: ModuleType, reached: _Modules) -> ModuleType:
    """A module of those statements of a script that the mechanism reaches."""
    made = ModuleType(MAIN)
    made.__file__ = main.__file__
    assert main.__file__ is not None
    with open(main.__file__, "rb") as file:
        tree = ast.parse(file.read())
    wanted = {name for name, value in vars(main).items() if id(value) in reached.seen}
    for function in reached.functions:
        if function.__module__ == MAIN:
            wanted |= {function.__qualname__.partition(".")[0], *_names(function.__code__)}
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    others = [one for one in tree.body if _binds(one)]
    some: list[ast.stmt] = []
    while more := [one for one in others if one not in some and _binds(one) & wanted]:
        some += more
        for one in more:
            wanted |= {part.id for part in ast.walk(one) if isinstance(part, ast.Name)}
    body = [one for one in tree.body if one in imports or one in some]
    sys.modules[MAIN] = made
    exec(compile(ast.Module(body, []), main.__file__, "exec"), vars(made))
    return made


def _binds(statement: ast.stmt) -> set[str]:
    """The names that a definition or an assignment at the top level binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return {part.id for part in ast.walk(statement)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}  # fmt: skip
    return set()


def _names(code: CodeType) -> set[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def require_same_anew(found: Sequence[Sequence[tuple[object, ...]]], words: str = "") -> None:
    """ContractError where draws depend on what was drawn while a module was imported.

    `found` are (bytes that tell outputs apart, words for the output, ..) of the same draws in each
    of several processes that import the mechanism's modules anew. `words` are in place of those.
    """
    for other in found:
        for was, now in zip(found[0], other, strict=True):
            if was[0] != now[0]:
                told = words or (
                    f"one and the same draw is {was[1]} in a process that imports the mechanism's "
                    f"modules anew, and {now[1]} in another one that does so too"
                )
                raise ContractError(
                    f"the draws refute the claim, but {told}: {IMPORTED}", keywords=("seeded",)
                )


def require_enough(found: Sequence[object], wanted: int, importing: float) -> None:
    """ContractError where so few processes imported the modules that a coin may fall alike.

    There should be `wanted` of them, or `NEEDED` if that is less, unless it was not the imports
    that took most of the time: they took the part `importing`.
    """
    if importing > 0.5 and 0 < len(found) < min(wanted, NEEDED):
        raise ContractError(
            f"the draws refute the claim, but its modules take so long to import that only "
            f"{len(found)} of {wanted} processes imported them anew in the time: nobody can tell "
            "yet whether noise that is drawn while they are imported makes the difference; give "
            "the audit more seconds, or let the modules load at the first call what takes long"
        )
