"""What can be wrong with a function, read off its syntax tree, and how it is put in.

A fault is an edit of one place: a number scaled, a factor dropped, noise reused, a clip removed, a
bound off by one, a comparison or a sign turned. Faults of size come in both directions at every
rung of a ladder; the others come once. The numbers bound to a function, by a partial, a closure
or a default, are its constants as well.

The changed tree is compiled as the original was and takes the place of the function's code, so
that everybody who holds the function meets the fault: partials, callers, theorems. Nothing but the
function's own text is compiled, and nothing is written to disk. What a planted fault calls in place
of the code that was there stands at the end.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Mechanism, Output
from ..looking import attribute, function_of, is_a
from .sources import FunctionSource, Node, Recipe, called, parts

STAND_INS = __name__
SCALES = {
    "laplace": 1, "normal": 1, "gumbel": 1, "logistic": 1, "exponential": 0, "rayleigh": 0,
    "gamma": 1,
}  # fmt: skip
"""Where a method of numpy's generator takes its scale, which is 1 where none is given."""
CHANCES = {"geometric": 0, "binomial": 1, "negative_binomial": 1}
"""Where a method takes its probability of success."""
STANDARD = {"standard_normal", "standard_exponential", "standard_cauchy", "standard_t"}
DRAWS = {
    *SCALES, *CHANCES, *STANDARD, "random", "uniform", "integers", "choice", "permutation",
    "standard_gamma", "poisson", "multivariate_normal",
}  # fmt: skip
LEFT_ALONE = {"axis", "dtype", "size", "decimals", "keepdims", "seed", "ndim"}
"""Keywords whose numbers say how something is computed, not what."""
CLIPS = {"clip", "minimum", "maximum", "min", "max"}
TURNED = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum",
          "argmax": "argmin", "argmin": "argmax"}  # fmt: skip
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
AT_THE_EDGE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip

Change = Callable[[Any], Any]
"""From a node of a copy of the tree, or a bound number, to what takes its place; None takes a
statement away."""
FUTURES = 0x01FF0000
"""The flags by which a module asks for a future behaviour of the language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which one place can be wrong.

    `kind` groups faults for people, `place` is the function and the line, `before` and `after`
    the text of the place. A fault of size has a `factor` other than 1, which `after` leaves
    open, and `at` makes it for another factor.
    """

    kind: str
    place: str
    before: str
    after: str
    factor: float | None = None
    source: FunctionSource | None = None
    index: int = -1
    change: Callable[[float], Change] | None = None
    bound: tuple[str, ...] = ()

    def at(self, factor: float) -> "Fault":
        """The same fault of another size."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Fault(**{**values, "factor": factor})

    @property
    def told(self) -> str:
        """The fault in a few words."""
        return f"{self.place}: {self.before} -> {self.after}"


def faults_of(
    sources: Sequence[FunctionSource], run: Callable[..., object], vectorised: bool
) -> list[Fault]:
    """All faults of the functions and of the numbers bound to `run`, those of size open."""
    found = list(_bound_faults(run))
    for source in sources:
        found += _faults(source, leading=int(vectorised))
    return found


def edited(fault: Fault) -> Node:
    """A copy of the function's tree with the fault in it."""
    assert fault.source is not None
    assert fault.change is not None
    tree = deepcopy(fault.source.node)
    place = list(parts(tree, makes=fault.source.makes))[fault.index]
    changed = fault.change(1.0 if fault.factor is None else fault.factor)(place)
    _put(tree, place, changed)
    return ast.fix_missing_locations(tree)


def _put(tree: ast.AST, place: ast.AST, new: ast.AST | None) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is place:
                setattr(parent, field, new)
                return
            if isinstance(value, list):
                for number, one in enumerate(value):
                    if one is place:
                        value[number : number + 1] = [ast.Pass()] if new is None else [new]
                        return


def _faults(source: FunctionSource, leading: int) -> Iterator[Fault]:
    listed = list(parts(source.node, makes=source.makes))
    above = {id(child): part for part in listed for child in ast.iter_child_nodes(part)}
    numbers = _numbers(source.function)
    for index, part in enumerate(listed):
        for kind, after, size, change in _changes(part, above.get(id(part)), numbers, leading):
            yield Fault(
                kind=kind,
                place=f"{source.name}:{getattr(part, 'lineno', source.node.lineno)}",
                before=_text(part),
                after=after,
                factor=1.0 if size else None,
                source=source,
                index=index,
                change=change,
            )


Kind = Literal[
    "noise", "noise reused", "clip removed", "extreme", "factor dropped", "step dropped",
    "inverted", "sign", "term dropped", "condition", "comparison", "off by one", "statement",
    "constant",
]  # fmt: skip
Row = tuple[Kind, str, bool, Callable[[float], Change]]


def _changes(
    part: ast.AST, above: ast.AST | None, numbers: set[str], leading: int
) -> Iterator[Row]:
    match part:
        case ast.Call():
            yield from _of_call(part, leading)
        case ast.BinOp(op=op, left=left, right=right):
            yield from _of_operation(op, left, right)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", _text(operand), False, _always(lambda p: p.operand)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            yield "condition", _text(operand), False, _always(lambda p: p.operand)
        case ast.Compare(ops=[op]):
            yield from _of_comparison(part, op)
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "condition", _shown(part, op=other), False, _setting("op", other)
        case ast.Slice(upper=ast.expr() as upper) if not isinstance(upper, ast.Constant):
            yield "off by one", f"[:{_text(upper)} - 1]", False, _always(_shorter)
        case ast.Constant() | ast.Name(ctx=ast.Load()):
            yield from _of_number(part, above, numbers)
        case ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]):
            yield "statement", "nothing", False, _always(lambda p: None)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _mentions(value, name):
            yield "statement", "nothing", False, _always(lambda p: None)


def _of_call(call: ast.Call, leading: int) -> Iterator[Row]:
    name = called(call)
    drawn = isinstance(call.func, ast.Attribute) and _is_generator(call.func.value)
    if drawn and name in DRAWS:
        owner = _text(call.func)
        if name in SCALES or name in CHANCES or name in STANDARD:
            yield "noise", f"{owner} scaled", True, lambda f: partial(_noise_scaled, factor=f)
        yield "noise reused", f"{owner} not advanced", False, _always(_unadvanced)
        yield (
            "noise reused",
            f"{owner} the same in every place",
            False,
            _always(partial(_one_for_all, leading=leading)),
        )
        return
    if name in CLIPS and (len(call.args) >= 2 or name == "clip"):
        kept: list[ast.expr] = list(call.args)
        method = isinstance(call.func, ast.Attribute) and not _is_numpy(call.func.value)
        if name == "clip":
            assert isinstance(call.func, ast.Attribute | ast.Name)
            inside = call.func.value if method and isinstance(call.func, ast.Attribute) else kept[0]
            yield "clip removed", _text(inside), False, _always(partial(_unclipped, method=method))
        elif len(kept) == 2 and not method:
            for number in (0, 1):
                yield (
                    "clip removed",
                    _text(kept[number]),
                    False,
                    _always(partial(_argument, number=number)),
                )
    if name in TURNED:
        yield "extreme", f"{TURNED[name]} for {name}", False, _always(_other_extreme)
    if name == "sqrt" and len(call.args) == 1:
        yield "factor dropped", _text(call.args[0]), False, _always(partial(_argument, number=0))
    if name in ("abs", "fabs", "sorted", "cumsum") and len(call.args) == 1:
        yield "step dropped", _text(call.args[0]), False, _always(partial(_argument, number=0))
    if name == "range" and call.args and not isinstance(call.args[-1], ast.Constant):
        yield "off by one", f"range(... {_text(call.args[-1])} - 1)", False, _always(_one_less)


def _of_operation(op: ast.operator, left: ast.expr, right: ast.expr) -> Iterator[Row]:
    if isinstance(op, ast.Mult | ast.Div | ast.Pow):
        yield "factor dropped", _text(left), False, _always(lambda p: p.left)
        if isinstance(op, ast.Mult):
            yield "factor dropped", _text(right), False, _always(lambda p: p.right)
        if isinstance(op, ast.Div):
            yield "inverted", f"{_text(left)} * {_text(right)}", False, _setting("op", ast.Mult())
    if isinstance(op, ast.Add | ast.Sub) and not _textual(left, right):
        other: ast.operator = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
        sign = "-" if isinstance(op, ast.Add) else "+"
        yield "sign", f"{_text(left)} {sign} {_text(right)}", False, _setting("op", other)
        yield "term dropped", _text(left), False, _always(lambda p: p.left)
    if isinstance(op, ast.BitAnd | ast.BitOr):
        turned: ast.operator = ast.BitOr() if isinstance(op, ast.BitAnd) else ast.BitAnd()
        yield "condition", "and for or", False, _setting("op", turned)


def _of_comparison(part: ast.Compare, op: ast.cmpop) -> Iterator[Row]:
    if type(op) in COMPARED:
        other = COMPARED[type(op)]()
        yield "comparison", _shown(part, ops=[other]), False, _setting("ops", [other])
    if type(op) in AT_THE_EDGE:
        edge = AT_THE_EDGE[type(op)]()
        yield "off by one", _shown(part, ops=[edge]), False, _setting("ops", [edge])


def _of_number(part: ast.expr, above: ast.AST | None, numbers: set[str]) -> Iterator[Row]:
    value = part.value if isinstance(part, ast.Constant) else None
    if isinstance(part, ast.Name):
        if part.id not in numbers or (isinstance(above, ast.Call) and above.func is part):
            return
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(above, ast.Subscript | ast.Slice | ast.Tuple) or (
        isinstance(above, ast.keyword) and above.arg in LEFT_ALONE
    ):
        return
    multiplied = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult | ast.Div | ast.Pow)
    if (isinstance(value, float) or multiplied or isinstance(part, ast.Name)) and value != 0:
        yield "constant", f"{_text(part)} scaled", True, lambda f: partial(_scaled, factor=f)
    elif isinstance(value, int):
        for step in (1, -1):
            yield "off by one", str(value + step), False, _always(partial(_moved, step=step))


def _numbers(function: FunctionType) -> set[str]:
    """The module's names that stand for a number in the function."""
    return {
        name
        for name in function.__code__.co_names
        if is_a(value := function.__globals__.get(name), (int, float)) and not is_a(value, bool)
    }


def _bound_faults(run: object, path: tuple[str, ...] = ()) -> Iterator[Fault]:
    for name, value in bound_values(run).items():
        where = (*path, name)
        if is_a(value, partial):
            yield from _bound_faults(value, where)
        if is_a(value, bool) or not is_a(value, (int, float)) or value == 0:
            continue
        place = f"{attribute(function_of(run), '__name__', 'run')}({'.'.join(where)}={value!r})"
        if is_a(value, int):
            for step in (1, -1):
                if value + step > 0:
                    yield Fault(
                        kind="off by one",
                        place=place,
                        before=repr(value),
                        after=repr(value + step),
                        bound=where,
                        change=partial(_plus, step),
                    )
        else:
            yield Fault(
                kind="constant",
                place=place,
                before=repr(value),
                after=f"{name} scaled",
                factor=1.0,
                bound=where,
                change=lambda f: lambda old: old * f,
            )


def _plus(step: int, factor: float) -> Change:
    return lambda old: old + step


def bound_values(run: object) -> dict[str, object]:
    """The values bound to a function: by a partial, as defaults, in its closure."""
    values: dict[str, object] = {}
    layers = []
    while is_a(run, partial):
        layers.append(run.keywords)
        run = run.func
    if is_a(run, FunctionType):
        cells = zip(run.__code__.co_freevars, run.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                values[name] = cell.cell_contents
            except ValueError:
                continue
        values |= run.__kwdefaults__ or {}
        names = run.__code__.co_varnames[: run.__code__.co_argcount]
        given = run.__defaults__ or ()
        values |= dict(zip(names[len(names) - len(given) :], given, strict=True))
    for layer in reversed(layers):
        values |= layer
    return values


def _always(change: Callable[[Any], ast.AST | None]) -> Callable[[float], Change]:
    return lambda factor: change


def _setting(field: str, value: object) -> Callable[[float], Change]:
    def change(part: ast.AST) -> ast.AST:
        setattr(part, field, value)
        return part

    return lambda factor: change


def _times(value: ast.expr, factor: float) -> ast.expr:
    return ast.BinOp(left=value, op=ast.Mult(), right=ast.Constant(value=factor))


def _noise_scaled(call: ast.Call, *, factor: float) -> ast.expr:
    name = called(call)
    if name in STANDARD:
        return _times(call, factor)
    place, keyword = (SCALES[name], "scale") if name in SCALES else (CHANCES[name], "p")
    for given in call.keywords:
        if given.arg == keyword:
            given.value = _times(given.value, factor)
            return call
    if len(call.args) > place:
        call.args[place] = _times(call.args[place], factor)
    else:
        call.keywords.append(ast.keyword(arg=keyword, value=ast.Constant(value=factor)))
    return call


def _stand_in(name: str, *arguments: ast.expr) -> ast.Call:
    module = ast.Call(
        func=ast.Name(id="__import__", ctx=ast.Load()),
        args=[ast.Constant(value=STAND_INS)],
        keywords=[
            ast.keyword(
                arg="fromlist",
                value=ast.List(elts=[ast.Constant(value=name)], ctx=ast.Load()),
            )
        ],
    )
    function = ast.Attribute(value=module, attr=name, ctx=ast.Load())
    return ast.Call(func=function, args=list(arguments), keywords=[])


def _unadvanced(call: ast.Call) -> ast.Call:
    assert isinstance(call.func, ast.Attribute)
    call.func.value = _stand_in("unadvanced", call.func.value)
    return call


def _one_for_all(call: ast.Call, *, leading: int) -> ast.Call:
    return _stand_in("one_for_all", call, ast.Constant(value=leading))


def _unclipped(call: ast.Call, *, method: bool) -> ast.expr:
    if method:
        assert isinstance(call.func, ast.Attribute)
        return call.func.value
    return call.args[0]


def _argument(call: ast.Call, *, number: int) -> ast.expr:
    return call.args[number]


def _other_extreme(call: ast.Call) -> ast.Call:
    if isinstance(call.func, ast.Attribute):
        call.func.attr = TURNED[call.func.attr]
    elif isinstance(call.func, ast.Name):
        call.func.id = TURNED[call.func.id]
    return call


def _one_less(call: ast.Call) -> ast.Call:
    call.args[-1] = ast.BinOp(left=call.args[-1], op=ast.Sub(), right=ast.Constant(value=1))
    return call


def _shorter(part: ast.Slice) -> ast.Slice:
    assert part.upper is not None
    part.upper = ast.BinOp(left=part.upper, op=ast.Sub(), right=ast.Constant(value=1))
    return part


def _scaled(part: ast.expr, *, factor: float) -> ast.expr:
    return _times(part, factor)


def _moved(part: ast.Constant, *, step: int) -> ast.Constant:
    return ast.Constant(value=part.value + step)  # type: ignore[operator]


def _is_generator(value: ast.expr) -> bool:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return not _is_numpy(value) or name == "random"
    return False


def _is_numpy(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("np", "numpy", "math")


def _textual(*values: ast.expr) -> bool:
    return any(
        isinstance(value, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(value, ast.Constant) and isinstance(value.value, str))
        for value in values
    )


def _mentions(value: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value))


def _shown(part: ast.AST, **fields: object) -> str:
    other = deepcopy(part)
    for name, value in fields.items():
        setattr(other, name, value)
    return _text(other)


def _text(part: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(deepcopy(part))).split())
    return text if len(text) <= 60 else text[:57] + "..."


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
    return replace(mechanism, run=made.run) if is_a(made, Mechanism) else mechanism


def _rebound(
    run: object, path: tuple[str, ...], change: Callable[[object], object]
) -> Callable[..., Output]:
    name, rest = path[0], path[1:]
    old = bound_values(run)[name]
    new = _rebound(old, rest, change) if rest else change(old)
    bare = run
    while is_a(bare, partial):
        bare = bare.func
    if is_a(bare, FunctionType) and name in bare.__code__.co_freevars:
        cells = tuple(
            CellType(new) if one == name else cell
            for one, cell in zip(bare.__code__.co_freevars, bare.__closure__ or (), strict=True)
        )
        fresh = FunctionType(
            bare.__code__, bare.__globals__, bare.__name__, bare.__defaults__, cells
        )
        fresh.__kwdefaults__ = bare.__kwdefaults__
        return _around(run, fresh)
    assert callable(run)
    return partial(run, **{name: new})


def _around(run: object, bare: FunctionType) -> Callable[..., Output]:
    if is_a(run, partial):
        return partial(_around(run.func, bare), *run.args, **run.keywords)
    return bare


def unadvanced(rng: object) -> object:
    """A copy of the generator: what is drawn from it is drawn from the original once more."""
    return deepcopy(rng)


def one_for_all(noise: NDArray[np.float64], leading: int) -> object:
    """The first noise of the last axis in the place of all, behind `leading` axes of draws."""
    if np.ndim(noise) <= leading:
        return noise
    return np.broadcast_to(noise[..., :1], np.shape(noise)).copy()
