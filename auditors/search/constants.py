"""The values that a mechanism's code asks for: its constants, and what meets its comparisons.

A leak at one value of a thousand stands in the code as that value, or follows from it by
arithmetic. Constants are read from the byte code in the order of use, so that those used
together stand together (a tuple, a date). Read are the function, what it closes over, its defaults
and bound arguments, class attributes and instance attributes it names, globals it names, and the
same of the functions and classes of its own project that it uses.

`3 * v + 1 == 1909` holds for one value that stands nowhere in the code. The byte code is followed
with one unknown: constants are folded, what is done to anything else is remembered as a function of
it, and if that function is compared with a constant, whole numbers are tried until it is met.
Nothing of a mechanism is run, and what is found is only ever suggested.
"""

import dis
import operator
import re
import sysconfig
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from ..looking import attribute, function_of, held, is_a, says_function

MOST = 200
"""Constants that are used; later ones are left out."""
COMMONEST = (0, 1)
"""Constants that are kept once; others are kept again behind another neighbour."""
LONGEST = 60
"""Letters of a text that may still be a value and not a message."""
MOST_ITEMS, MOST_FUNCTIONS = 64, 80
"""Items of a container or an array beyond which it is not read, and functions that are read."""
CONTAINERS = (Mapping, list, tuple, set, frozenset)
MADE = (Decimal, Fraction, timedelta, time, IPv4Address, IPv6Address)
"""Values that a strategy makes of numbers or of bytes."""

FOREIGN = tuple(
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")
)
PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of dpwitness itself."""
OURS = (PACKAGE / "auditors", PACKAGE / "reports", PACKAGE / "mechanisms" / "model")
"""What carries a mechanism (a pipe, an attacker, an adapter, a session) is no part of it."""
FARTHEST = 100_000
"""Whole numbers up to which a comparison is tried, and down to the negative of it."""
SOLUTIONS = 4
"""Solutions of one comparison."""
MOST_COMPARISONS = 50
"""Comparisons of one function that are solved, the first ones."""

Numbers = Array | float
Function = Callable[[Numbers], Numbers]
OPERATIONS: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
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


def constants_of(run: object) -> tuple[object, ...]:
    """The constants of a mechanism in the order of use, at most 200; see `walked`."""
    return walked(run)[0]


def codes_of(run: object) -> tuple[CodeType, ...]:
    """The code objects of the mechanism and of what it uses of its own project."""
    return walked(run)[1]


def walked(run: object) -> tuple[tuple[object, ...], tuple[CodeType, ...]]:
    """The constants and the code objects of a mechanism.

    A constant comes again if it stands behind another one than before: the second 9 of
    `date(2001, 9, 9)` tells as much as the first. What nearly all code has comes once.
    """
    walk = _Walk(run)
    found: list[object] = []
    known: set[object] = set()
    before = None
    for value in walk.constants():
        name = type(value), repr(value)
        new = {name} if value in COMMONEST else {name, (before, name)}
        if not new <= known:
            found.append(value)
        known |= {name, (before, name)}
        before = name
    return tuple(found[:MOST]), tuple(dict.fromkeys(walk.codes))


class _Walk:
    """A way through everything a callable is made of, each thing once."""

    def __init__(self, run: object) -> None:
        self.run = run
        self.home = _home(run)
        self.seen: set[int] = set()
        self.alive: list[object] = []
        """What was looked at, so that no identity is used twice."""
        self.codes: list[CodeType] = []

    def constants(self) -> Iterator[object]:
        """All constants, repetitions included."""
        yield from self._of(self.run, frozenset())

    def _new(self, value: object) -> bool:
        if id(value) in self.seen or len(self.codes) >= MOST_FUNCTIONS:
            return False
        self.seen.add(id(value))
        self.alive.append(value)
        return True

    def _of(self, value: object, names: frozenset[str]) -> Iterator[object]:
        """The constants of a value that code reaches by one of these names."""
        if is_a(value, Enum):
            yield value
            value = value.value
        if plain(value) or is_a(value, MADE):
            yield from _parts(value)
            return
        if not self._new(value):
            return
        if is_a(value, partial):
            for inner in (value.func, *value.args, *value.keywords.values()):
                yield from self._of(inner, names)
        elif is_a(value, FunctionType):
            yield from self._of_function(value)
        elif is_a(value, MethodType):
            yield from self._of(value.__func__, names)
            yield from self._of(value.__self__, names | _names(value.__func__))
        elif is_a(value, (staticmethod, classmethod)):
            yield from self._of(value.__func__, names)
        elif is_a(value, property):
            yield from self._of(value.fget, names)
        elif is_a(value, type):
            yield from self._of_class(value, names)
        elif is_a(value, ModuleType):
            for name in sorted(names & vars(value).keys()):
                yield from self._of(vars(value)[name], names)
        elif is_a(value, CONTAINERS):
            yield from self._of_container(cast(Collection[object], value), names)
        elif is_a(value, re.Pattern):
            yield from _parts(value.pattern)
        elif is_a(value, np.ndarray) and value.size <= MOST_ITEMS and value.dtype.kind in "biufUS":
            for item in value.ravel().tolist():
                yield from _parts(item)
        else:
            yield from self._of_object(value, names)

    def _of_container(self, value: Collection[object], names: frozenset[str]) -> Iterator[object]:
        try:  # a container may be one that somebody else wrote
            if len(value) > MOST_ITEMS:
                return
            items: list[object] = list(value)
            if isinstance(value, (set, frozenset)):
                # The order of a set of texts differs from run to run.
                items = sorted(items, key=repr)
            elif isinstance(value, Mapping):
                items = [part for item in value.items() for part in item]
        except Exception:  # noqa: BLE001 - what cannot be read names no constant
            return
        for item in items:
            yield from self._of(item, names)

    def _of_function(self, function: FunctionType) -> Iterator[object]:
        original = getattr(function, "__wrapped__", None)
        if self._own(function.__code__):
            self.codes.append(function.__code__)
            names = _names(function)
            cells: dict[str, object] = {}
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=False
            ):
                with suppress(ValueError):
                    cells[name] = cell.cell_contents
            bound = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
            yield from self._of_code(function.__code__, function.__globals__, cells, names)
            for inner in (*cells.values(), *bound):
                yield from self._of(inner, names)
        if original is not None:
            yield from self._of(original, frozenset())

    def _of_code(
        self,
        code: CodeType,
        known: Mapping[str, object],
        cells: Mapping[str, object],
        names: frozenset[str],
    ) -> Iterator[object]:
        for step in dis.get_instructions(code):
            value = step.argval
            if step.opcode in dis.hasconst or step.opname == "LOAD_SMALL_INT":
                if isinstance(value, CodeType):
                    self.codes.append(value)
                    yield from self._of_code(value, known, cells, names)
                else:
                    yield from _parts(value)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and value in known:
                yield from self._of(known[value], names)
        yield from solutions(code, ChainMap(dict(cells), dict(known)))

    def _of_class(self, kind: type, names: frozenset[str]) -> Iterator[object]:
        inside = {
            name: value
            for base in reversed(kind.__mro__)
            if self._ours(base)
            for name, value in vars(base).items()
        }
        names, before = names | {"__call__", "__init__"}, frozenset[str]()
        while names != before:
            # What a method names is reached through the method.
            before = names
            for name in inside.keys() & names:
                names |= _names(inside[name])
        for name, value in inside.items():
            if name in names:
                yield from self._of(value, names)

    def _of_object(self, value: object, names: frozenset[str]) -> Iterator[object]:
        kind = type(value)
        if not self._ours(kind):
            if callable(inner := attribute(value, "func")):
                yield from self._of(inner, names)
            if says_function(value):
                yield from self._of(attribute(value, "__wrapped__"), names)
            return
        call = next((vars(b)["__call__"] for b in kind.__mro__ if "__call__" in vars(b)), None)
        names = names | _names(call)
        yield from self._of(kind, names)
        for _, inner in held(value):
            yield from self._of(inner, names)

    def _ours(self, kind: type) -> bool:
        if kind.__module__ == "builtins":
            return False
        methods = (m for m in vars(kind).values() if is_a(m, FunctionType))
        return any(self._own(method.__code__) for method in methods) or (
            kind.__module__ == self.home[1]
        )

    def _own(self, code: CodeType) -> bool:
        """Whether code belongs to the project of the mechanism."""
        name = code.co_filename
        if name.startswith("<"):
            return name != "<frozen importlib._bootstrap>"
        path = Path(name).resolve()
        if _carries(path):
            return False
        if path.parent == self.home[0]:
            return True
        return not any(path.is_relative_to(folder) for folder in FOREIGN)


def _home(run: Any) -> tuple[Path | None, str]:
    """The folder and the module of the mechanism's code."""
    for _ in range(MOST_ITEMS):
        if not callable(inner := attribute(run, "func")):
            break
        code, bound = attribute(inner, "__code__"), attribute(run, "args")
        # An attacker carries the mechanism as its first argument.
        carried = is_a(code, CodeType) and _carries(Path(code.co_filename).resolve())
        run = bound[0] if carried and bound else inner
    function = function_of(run)
    code = attribute(function, "__code__")
    path = Path(code.co_filename).resolve() if is_a(code, CodeType) else None
    if path is None or _carries(path):
        return None, ""
    return path.parent, str(attribute(function, "__module__") or "")


def _carries(path: Path) -> bool:
    """Whether code of dpwitness itself stands in this file."""
    return any(path.is_relative_to(folder) for folder in OURS)


def _names(function: object) -> frozenset[str]:
    """All names in a function, those of the functions inside it included."""
    waiting = [attribute(attribute(function, "__func__", function), "__code__")]
    if says_function(function):
        waiting.append(attribute(function_of(function), "__code__"))
    found: set[str] = set()
    while waiting:
        code = waiting.pop()
        if is_a(code, CodeType):
            found |= set(code.co_names)
            waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return frozenset(found)


def plain(value: object) -> bool:
    """Whether a value can stand in a database as it is: a number, a text, a date."""
    return is_a(value, (bool, int, float, str, bytes, date, np.generic, type(None)))


def _numbers(value: object) -> Iterator[object]:
    """What such a value is made of."""
    match value:
        case Decimal():
            yield str(value)
        case Fraction():
            yield from (value.numerator, value.denominator, float(value))
        case timedelta():
            yield from (value.days, value.seconds, value.total_seconds())
        case time():
            yield from (value.hour, value.minute, value.second)
        case IPv4Address() | IPv6Address():
            yield from (value.packed, int(value))


def _parts(value: object) -> Iterator[object]:
    """A constant, and what it is made of: the entries of a tuple, year, month and day of a date."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, MADE):
        yield from _numbers(value)
        return
    if isinstance(value, (tuple, frozenset, list)):
        items = sorted(value, key=repr) if isinstance(value, frozenset) else value
        for item in items:
            yield from _parts(item)
        return
    if value is None or isinstance(value, bool) or value is Ellipsis:
        return
    if isinstance(value, (str, bytes)) and len(value) > LONGEST:
        return
    if not plain(value):
        return
    yield value
    if isinstance(value, str) and len(value) >= len("2020-01-01"):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    if isinstance(value, date):
        yield from (value.year, value.month, value.day)
    if isinstance(value, datetime):
        yield from (value.hour, value.minute, value.second)


@dataclass(frozen=True, slots=True)
class _Constant:
    value: float


@dataclass(frozen=True, slots=True)
class _Unknown:
    """Something of the database, and what was done to it; `source` says which something."""

    source: object
    function: Function | None = None

    def at(self, value: Numbers) -> Numbers:
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
    elif name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") and _number(held := known.get(value)):
        _shift(step, stack)
        stack[-1:] = [_Constant(held)]
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


def _number(value: Any) -> TypeGuard[float]:
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


def _met(numbers: NDArray[np.int64], made: Array, goal: float) -> Iterator[int]:
    met = numbers[made == goal]
    if not len(met):
        below = made < goal
        turns = np.flatnonzero(below[1:] != below[:-1])
        met = numbers[np.concatenate([turns, turns + 1])]
    order = np.argsort(np.abs(met), kind="stable")[:SOLUTIONS]
    yield from (int(number) for number in met[order])
