"""Values that make a comparison in the mechanism's code come out equal.

`3 * v + 1 == 1909` holds for one value that stands nowhere in the code. The byte code is followed
with one unknown: constants are folded, what is done to anything else is remembered as a function of
it, and where that function is compared with a constant, whole numbers are tried until it is met.
Nothing of a mechanism is run, and what is found is only ever suggested.
"""

import dis
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

FARTHEST = 100_000
"""Whole numbers up to which a comparison is tried, and down to the negative of it."""
MOST = 4
"""Solutions of one comparison."""
MOST_COMPARISONS = 50

OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
}
"""What is followed, by its sign; bools are never operated on."""
CAREFUL = ("<<", "**")
"""Operations whose result may be too large to be worth it."""

Function = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Any


@dataclass(frozen=True, slots=True)
class _Unknown:
    """Something of the database, and what was done to it; `source` says which something."""

    source: object
    function: Function | None = None

    def at(self, value: Any) -> Any:
        """What it becomes where the unknown is `value`."""
        return value if self.function is None else self.function(value)


_Term = _Constant | _Unknown


def solutions(code: CodeType, known: Mapping[str, object]) -> Iterator[int]:
    """Whole numbers that meet the comparisons of some code, those of each comparison together.

    `known` are the values of names that the code does not define itself.
    """
    stack: list[_Term] = []
    local: dict[str, _Term] = {}
    left = MOST_COMPARISONS
    for step in dis.get_instructions(code):
        name, value = step.opname, step.argval
        if name == "COMPARE_OP" and len(stack) >= 2 and left > 0:
            left -= 1
            yield from _solved(stack[-2], stack[-1])
        _follow(name, value, step, stack, local, known)


def _follow(
    name: str,
    value: Any,
    step: dis.Instruction,
    stack: list[_Term],
    local: dict[str, _Term],
    known: Mapping[str, object],
) -> None:
    """Change the stack as an instruction does, as far as constants and one unknown go."""
    if name in ("LOAD_CONST", "LOAD_SMALL_INT") and _number(value):
        stack.append(_Constant(value))
    elif name.startswith("LOAD_FAST") and isinstance(value, str):
        stack.append(local.setdefault(value, _Unknown((value,))))
    elif name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") and _number(known.get(value)):
        _shift(step, stack)
        stack[-1:] = [_Constant(known[value])]
    elif name == "STORE_FAST" and isinstance(value, str):
        local[value] = stack.pop() if stack else _Unknown(object())
    elif name == "BINARY_OP" and step.argrepr.rstrip("=") in OPERATIONS and len(stack) >= 2:
        right, left = stack.pop(), stack.pop()
        stack.append(_combined(step.argrepr.rstrip("="), left, right))
    elif name == "UNARY_NEGATIVE" and stack:
        stack.append(_combined("-", _Constant(0), stack.pop()))
    elif name in ("CACHE", "RESUME", "NOP", "PRECALL", "EXTENDED_ARG"):
        pass
    else:
        _shift(step, stack)


def _shift(step: dis.Instruction, stack: list[_Term]) -> None:
    """Grow or shrink the stack by what an instruction does to it; what it leaves is unknown."""
    try:
        effect = dis.stack_effect(step.opcode, step.arg, jump=False)
    except ValueError:
        effect = 0
    if effect <= 0:
        del stack[len(stack) + effect - 1 :]
        effect = 1
    stack.extend(_Unknown(object()) for _ in range(effect))


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 2**62


def _combined(sign: str, left: _Term, right: _Term) -> _Term:
    operate = OPERATIONS[sign]
    if isinstance(left, _Constant) and isinstance(right, _Constant):
        with suppress(ArithmeticError, TypeError, ValueError):
            if sign not in CAREFUL or abs(right.value) <= 62:
                result = operate(left.value, right.value)
                if _number(result):
                    return _Constant(result)
        return _Unknown(object())
    if sign in CAREFUL and not (isinstance(right, _Constant) and abs(right.value) <= 8):
        return _Unknown(object())
    sources = {term.source for term in (left, right) if isinstance(term, _Unknown)}
    if len(sources) > 1:
        return _Unknown(object())
    one, two = _function(left), _function(right)
    return _Unknown(sources.pop(), lambda value: operate(one(value), two(value)))


def _function(term: _Term) -> Function:
    if isinstance(term, _Unknown):
        return term.at
    value = term.value
    return lambda _: value


def _solved(left: _Term, right: _Term) -> Iterator[int]:
    """Whole numbers where a function of the unknown meets a constant, those near 0 first.

    For an order the last number before it turns and the first after it.
    """
    if isinstance(left, _Constant):
        left, right = right, left
    if not isinstance(left, _Unknown) or left.function is None or not isinstance(right, _Constant):
        return
    numbers = np.arange(-FARTHEST, FARTHEST + 1)
    with np.errstate(all="ignore"), suppress(ArithmeticError, TypeError, ValueError):
        made = np.asarray(left.at(numbers))
        if made.shape == numbers.shape:
            yield from _met(numbers, made, right.value)


def _met(numbers: NDArray[np.int64], made: NDArray[Any], goal: float) -> Iterator[int]:
    met = numbers[made == goal]
    if not len(met):
        below = made < goal
        turns = np.flatnonzero(below[1:] != below[:-1])
        met = numbers[np.concatenate([turns, turns + 1])]
    order = np.argsort(np.abs(met), kind="stable")[:MOST]
    yield from (int(number) for number in met[order])
