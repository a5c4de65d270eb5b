"""Putting a fault into a function and taking it out again.

The changed tree is compiled as the original was and takes the place of the function's code, so
that everybody who holds the function meets the fault: partials, callers, theorems. Nothing but the
function's own text is compiled, and nothing is written to disk.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

from ...mechanisms.model import Mechanism
from .faults import Fault, bound_values, edited
from .sources import FunctionSource, Node, Recipe

FUTURES = 0x01FF0000
"""The flags by which a module asks for a future behaviour of the language."""


class Unplantable(Exception):
    """The function cannot be compiled again from the text at hand."""


@contextmanager
def planted(fault: Fault, mechanism: Mechanism, recipe: Recipe | None) -> Iterator[Mechanism]:
    """The mechanism with the fault in it, its promises as they were; afterwards all is as before.

    Raises Unplantable.
    """
    if fault.source is None:
        assert fault.change is not None
        factor = 1.0 if fault.factor is None else fault.factor
        yield replace(mechanism, run=_rebound(mechanism.run, fault.bound, fault.change(factor)))
        return
    function = fault.source.function
    before = function.__code__
    try:
        function.__code__ = compiled(fault.source, edited(fault))
        yield _remade(mechanism, recipe) if fault.source.makes else mechanism
    except (SyntaxError, ValueError) as error:
        if function.__code__ is before:
            raise Unplantable(str(error)) from error
        raise
    finally:
        function.__code__ = before


def is_faithful(source: FunctionSource) -> bool:
    """Whether the text at hand is that of the function, so that a fault is the only change.

    The instructions may differ: a compiler that sees the whole module knows what is imported.
    """
    with suppress(SyntaxError, ValueError, Unplantable):
        return _content(compiled(source, source.node)) == _content(source.function.__code__)
    return False


def _content(code: CodeType) -> object:
    constants = [one if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    inner = [_content(one) for one in constants if isinstance(one, CodeType)]
    plain = sorted(one for one in constants if isinstance(one, str))
    return code.co_varnames, code.co_freevars, sorted(code.co_names), plain, inner


def compiled(source: FunctionSource, node: Node) -> CodeType:
    """The code of a definition, with the variables of the function it stands in for."""
    code = source.function.__code__
    free = code.co_freevars
    body: list[ast.stmt] = [ast.parse(f"{name} = None").body[0] for name in free]
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.Return(value=node)
    else:
        node.decorator_list = []
        inner = node
    if set(free) - _names(node) and not isinstance(node, ast.Lambda):
        # A fault may take away the only use of a variable of the enclosing function.
        node.body.append(ast.parse(f"if False: {', '.join(free)}").body[0])
    shell = ast.parse("def shell(): pass").body[0]
    assert isinstance(shell, ast.FunctionDef)
    shell.body = [*body, inner]
    module = ast.fix_missing_locations(ast.Module(body=[shell], type_ignores=[]))
    made = compile(
        module, code.co_filename, "exec", flags=code.co_flags & FUTURES, dont_inherit=True
    )
    found = [one for one in _inner(made) if one.co_name == code.co_name]
    if not found or found[0].co_freevars != free:
        raise Unplantable(f"{source.name} cannot be compiled on its own")
    return found[0].replace(co_qualname=code.co_qualname)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _inner(code: CodeType) -> list[CodeType]:
    shells = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [one for shell in shells for one in shell.co_consts if isinstance(one, CodeType)]


def _remade(mechanism: Mechanism, recipe: Recipe | None) -> Mechanism:
    """The run of a mechanism that the same statement makes now, with the promises of old."""
    if recipe is None:
        return mechanism
    names = dict(vars(recipe.module))
    module = ast.Module(body=[recipe.statement], type_ignores=[])
    exec(compile(module, recipe.module.__file__ or "", "exec", dont_inherit=True), names)
    made = names[recipe.name]
    return replace(mechanism, run=made.run) if isinstance(made, Mechanism) else mechanism


def _rebound(run: Any, path: tuple[str, ...], change: Callable[[object], object]) -> Any:
    name, rest = path[0], path[1:]
    old = bound_values(run)[name]
    new = _rebound(old, rest, change) if rest else change(old)
    bare = run
    while isinstance(bare, partial):
        bare = bare.func
    if isinstance(bare, FunctionType) and name in bare.__code__.co_freevars:
        cells = tuple(
            CellType(new) if one == name else cell
            for one, cell in zip(bare.__code__.co_freevars, bare.__closure__ or (), strict=True)
        )
        fresh = FunctionType(
            bare.__code__, bare.__globals__, bare.__name__, bare.__defaults__, cells
        )
        fresh.__kwdefaults__ = bare.__kwdefaults__
        return _around(run, fresh)
    return partial(run, **{name: new})


def _around(run: object, bare: FunctionType) -> Any:
    if isinstance(run, partial):
        return partial(_around(run.func, bare), *run.args, **run.keywords)
    return bare
