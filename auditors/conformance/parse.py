"""Laws written as text, such as "discrete-laplace(20) + discrete-laplace(20)".

The text is read as an expression and walked; nothing in it is ever run. A law is a name with
numbers, a sum or a difference of independent laws, a number times a law or a law plus a number,
or a mixture: mix(0.9, laplace(1), 0.1, gaussian(5)). A name after "scipy." is a distribution of
scipy.stats with its own arguments.
"""

import ast
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import isfinite
from types import MappingProxyType
from typing import Any

from ..errors import InvalidArgument
from . import sampled_laws as laws
from .sampled_laws import Mixture, Moved, SampledLaw

LAWS: Mapping[str, Callable[..., SampledLaw]] = MappingProxyType({
    "laplace": laws.laplace,
    "gaussian": laws.gaussian,
    "normal": laws.gaussian,
    "uniform": laws.uniform,
    "discrete-laplace": laws.discrete_laplace,
    "geometric-noise": laws.discrete_laplace,
    "discrete-gaussian": laws.discrete_gaussian,
    "bernoulli": laws.bernoulli,
    "constant": laws.constant,
})  # fmt: skip
MOST_TEXT = 2000
"""Characters of the text of a law."""
MOST_NODES = 200
"""Parts of the expression of a law."""


def parse_law(text: str) -> SampledLaw:
    """The law that a text states; InvalidArgument with the part that is not understood."""
    if len(text) > MOST_TEXT:
        raise InvalidArgument(f"the law has {len(text)} characters; expected at most {MOST_TEXT}")
    written = text.strip()
    for name in LAWS:
        # A hyphen inside a name is no minus.
        written = written.replace(name, name.replace("-", "_"))
    try:
        tree = ast.parse(written, mode="eval").body
        count = sum(1 for _ in ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unclear(text, "it is not an expression") from None
    if count > MOST_NODES:
        raise _unclear(text, "it has too many parts")
    found = _read(tree, text)
    if not isinstance(found, float):
        return found
    raise _unclear(text, "it is a number; write constant(...) for a law that never varies")


def _unclear(text: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f'the law "{text:.120}" is not understood: {why}; expected something like '
        '"discrete-laplace(20) + discrete-laplace(20)", with '
        f"{', '.join(LAWS)}, mix(...) or scipy.NAME(...)"
    )


def _read(node: ast.expr, text: str) -> SampledLaw | float:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value) if isfinite(value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand, text)
            return -inner if isinstance(inner, float) else Moved(inner, -1.0, 0.0)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(_read(left, text), op, _read(right, text), text)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _called(function, arguments, keywords, text)
    if isinstance(node, ast.Name) and node.id in LAWS:
        raise _unclear(text, f'"{node.id}" needs its numbers, as "{node.id}(2)"')
    raise _unclear(text, f'"{ast.unparse(node)}" is neither a law nor a number')


def _combined(
    one: SampledLaw | float, op: ast.operator, two: SampledLaw | float, text: str
) -> SampledLaw | float:
    match op:
        case ast.Add() | ast.Sub():
            sign = 1.0 if isinstance(op, ast.Add) else -1.0
            if isinstance(two, float):
                return one + sign * two if isinstance(one, float) else Moved(one, 1.0, sign * two)
            if isinstance(one, float):
                return Moved(two, sign, one)
            return laws.summed(one, two if sign > 0 else Moved(two, -1.0, 0.0))
        case ast.Mult() | ast.Div():
            if isinstance(op, ast.Div) and isinstance(two, float) and two != 0:
                two = 1 / two
            elif isinstance(op, ast.Div):
                raise _unclear(text, "a law can be divided by a number other than 0 only")
            if isinstance(one, float) and isinstance(two, float):
                return one * two
            if isinstance(one, float) or isinstance(two, float):
                number, law = (one, two) if isinstance(one, float) else (two, one)
                if number == 0:
                    raise _unclear(text, "a law times 0 never varies; write constant(0)")
                return Moved(law, number, 0.0)  # type: ignore[arg-type]
            raise _unclear(text, "the product of two laws is not one of those that can be tested")
    raise _unclear(text, "laws are joined by + and -, and scaled by * and / with a number")


def _called(
    function: ast.expr, arguments: list[ast.expr], keywords: list[ast.keyword], text: str
) -> SampledLaw:
    match function:
        case ast.Name(id="mix"):
            return _mixture([_read(item, text) for item in arguments], text)
        case ast.Name(id=name) if name.replace("_", "-") in LAWS:
            make: Callable[..., Any] = LAWS[name.replace("_", "-")]
        case ast.Attribute(value=ast.Name(id="scipy" | "stats"), attr=name):
            return _scipy(name, *_numbers(arguments, keywords, text), text)
        case _:
            name = ast.unparse(function)
            close = get_close_matches(name.replace("_", "-"), LAWS, 1)
            hint = f' (did you mean "{close[0]}"?)' if close else ""
            raise _unclear(text, f'there is no law "{name}"{hint}')
    numbers, named = _numbers(arguments, keywords, text)
    label = name.replace("_", "-")
    try:
        inspect.signature(make).bind(*numbers, **named)
    except TypeError:
        wanted = ", ".join(inspect.signature(make).parameters)
        raise _unclear(text, f'"{label}" takes the numbers ({wanted})') from None
    _require(label, [*numbers, *named.values()], text)
    return make(*numbers, **named)


def _require(label: str, numbers: list[float], text: str) -> None:
    if label == "bernoulli" and not 0 <= numbers[0] <= 1:
        raise _unclear(text, "a probability lies between 0 and 1")
    if label == "uniform" and not numbers[0] < numbers[1]:
        raise _unclear(text, "uniform takes its lower end first")
    if label not in ("bernoulli", "uniform", "constant") and numbers[0] <= 0:
        raise _unclear(text, f"the scale of {label} must be positive")


def _numbers(
    arguments: list[ast.expr], keywords: list[ast.keyword], text: str
) -> tuple[list[float], dict[str, float]]:
    read = [_read(item, text) for item in arguments]
    named = {str(item.arg): _read(item.value, text) for item in keywords}
    if not all(isinstance(value, float) for value in [*read, *named.values()]):
        raise _unclear(text, "the arguments of a law are numbers")
    return read, named  # type: ignore[return-value]


def _mixture(parts: list[SampledLaw | float], text: str) -> SampledLaw:
    weights, inner = parts[::2], parts[1::2]
    if (
        not inner
        or len(weights) != len(inner)
        or not all(isinstance(weight, float) and weight >= 0 for weight in weights)
        or any(isinstance(law, float) for law in inner)
        or abs(sum(weights) - 1) > 1e-9  # type: ignore[arg-type]
    ):
        raise _unclear(text, "mix takes weights that add to 1, each followed by its law")
    return Mixture(tuple(weights), tuple(inner))  # type: ignore[arg-type]


def _scipy(name: str, numbers: list[float], named: dict[str, float], text: str) -> SampledLaw:
    # Loaded for this one use: it takes a second, and no other command waits for it.
    from scipy import stats

    made: Any = getattr(stats, name, None)
    discrete = isinstance(made, stats.rv_discrete)
    if name.startswith("_") or not (discrete or isinstance(made, stats.rv_continuous)):
        raise _unclear(text, f'scipy.stats has no distribution "{name}"')
    try:
        frozen = getattr(stats, name)(*numbers, **named)
        if not isfinite(float(frozen.median())):
            raise ValueError
    except (TypeError, ValueError):
        raise _unclear(text, f"scipy.stats.{name} does not take these numbers") from None
    return laws.from_scipy(frozen, discrete)
