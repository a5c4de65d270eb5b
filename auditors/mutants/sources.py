"""The functions that a run reaches inside its own system, with their syntax trees.

The system is what lies in the folder of the function's file, or below it. A function is reached
when its name stands in the body of one that is reached, or it is bound to one as an argument.
"""

import ast
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

from ...mechanisms.model import Mechanism
from ..looking import attribute, function_of, is_a

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
PROMISES = {"claims", "law", "log_probability", "privacy_loss", "databases"}
"""What of a mechanism is its promise and not its function; faults are not planted there."""
MOST_FUNCTIONS = 60
"""Functions in which faults are planted, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSource:
    """A function and the part of its file that defines it.

    `makes` says that it builds the mechanism, so that a fault in it shows in a new one only.
    """

    function: FunctionType
    node: Node
    path: str
    makes: bool = False

    @property
    def name(self) -> str:
        """What people call it."""
        return self.function.__qualname__.rpartition("<locals>.")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The statement of a module that makes the mechanism under a name of the module."""

    module: ModuleType
    name: str
    statement: ast.stmt


def sources_of(run: Callable[..., object]) -> list[FunctionSource]:
    """The functions that `run` reaches and whose text is known, in the order they are met."""
    return _reached([run], _folder(run), makes=False)


def makers_of(
    recipe: Recipe, run: Callable[..., object], known: list[FunctionSource]
) -> list[FunctionSource]:
    """The functions that the recipe reaches and `run` does not."""
    names = _loaded(recipe.statement)
    first = [
        value for name in names if _code_of(value := vars(recipe.module).get(name)) is not None
    ]
    own = {id(source.function) for source in known}
    found = _reached(first, _folder(run), makes=True)
    return [source for source in found if id(source.function) not in own]


def recipe_of(mechanism: Mechanism) -> Recipe | None:
    """Where the module-level name of the mechanism is assigned; None if nowhere in its system."""
    folder = _folder(mechanism.run)
    # A session runs by the code of a room and is named in another.
    return _recipe(mechanism, folder) or _recipe(mechanism, os.path.dirname(folder))


def _recipe(mechanism: object, folder: str) -> Recipe | None:
    for module in list(sys.modules.values()):
        path = attribute(module, "__file__")
        if not is_a(path, str) or not is_a(module, ModuleType) or not _inside(path, folder):
            continue
        for name, value in list(vars(module).items()):
            if value is not mechanism:
                continue
            for statement in _tree(path).body:
                if name in _targets(statement):
                    return Recipe(module=module, name=name, statement=statement)
    return None


def _reached(first: list[object], folder: str, *, makes: bool) -> list[FunctionSource]:
    found: dict[int, FunctionSource] = {}
    waiting = list(first)
    while waiting and len(found) < MOST_FUNCTIONS:
        one = waiting.pop(0)
        waiting += _bound(one)
        function = function_of(one)
        if id(function) in found or not is_a(function, FunctionType):
            continue
        path = os.path.realpath(function.__code__.co_filename)
        node = _node(function.__code__, path) if _inside(path, folder) else None
        if node is None:
            continue
        found[id(function)] = FunctionSource(function=function, node=node, path=path, makes=makes)
        waiting += _named(function, node, one, makes)
    return list(found.values())


def _folder(run: Callable[..., object]) -> str:
    code = _code_of(run)
    return os.path.dirname(os.path.realpath(code.co_filename)) if code is not None else ""


def _code_of(run: object) -> CodeType | None:
    code = attribute(function_of(run), "__code__")
    return code if is_a(code, CodeType) else None


def _inside(path: str, folder: str) -> bool:
    return bool(folder) and os.path.realpath(path).startswith(folder + os.sep)


def _bound(one: object) -> list[object]:
    """The functions that are bound to a function, as arguments or as defaults."""
    values: list[object] = []
    while is_a(one, partial):
        values += [*one.args, *one.keywords.values()]
        one = one.func
    function = function_of(one)
    if is_a(function, FunctionType):
        values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [value for value in values if callable(value)]


def _named(function: FunctionType, node: Node, one: object, makes: bool) -> list[object]:
    """What the names in the body stand for, where that can be called or is a module's."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    owner = one.__self__ if is_a(one, MethodType) else one
    found: list[object] = []
    for part in parts(node, makes=makes):
        value: object = None
        match part:
            case ast.Name(id=name, ctx=ast.Load()):
                if name in cells:
                    value = _contents(cells[name])
                else:
                    value = function.__globals__.get(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                value = inspect.getattr_static(type(owner), name, None)
            case ast.Attribute(value=ast.Name(id=base), attr=name):
                holder = function.__globals__.get(base)
                if is_a(holder, ModuleType):
                    value = vars(holder).get(name)
        if callable(value) and not is_a(value, type):
            found.append(value)
    return found


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def parts(node: ast.AST, *, makes: bool) -> Iterator[ast.AST]:
    """The nodes of a function in which a fault may be planted.

    Not its signature, its annotations or its texts; nor, in a function that makes a mechanism,
    the claims it writes down, the laws it states and the functions inside it.
    """
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    body = getattr(node, "body", [])
    waiting: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, inner):
            if makes:
                continue
            waiting[:0] = part.body if isinstance(part.body, list) else [part.body]
            continue
        if isinstance(part, ast.Raise | ast.Assert | ast.ClassDef | ast.JoinedStr):
            continue
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
            continue
        if makes and isinstance(part, ast.Call) and called(part).endswith("Claim"):
            continue
        if makes and isinstance(part, ast.keyword) and part.arg in PROMISES:
            continue
        yield part
        waiting[:0] = [
            child
            for field, value in ast.iter_fields(part)
            if field != "annotation"
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST) and not isinstance(child, ast.expr_context)
        ]


def called(call: ast.Call) -> str:
    """The last part of the name of what is called; "" where it has none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _targets(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return [name]
    return []


def _loaded(statement: ast.stmt) -> list[str]:
    return [
        part.id
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    ]


def _tree(path: str) -> ast.Module:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _node(code: CodeType, path: str) -> Node | None:
    """The definition that the code was compiled from, by its name and its first line."""
    found = [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and getattr(node, "name", "<lambda>") == code.co_name
        and _first_line(node) == code.co_firstlineno
    ]
    return found[0] if len(found) == 1 else None


def _first_line(node: Node) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])
