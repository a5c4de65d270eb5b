"""The functions that a claim is made of: what each must return, and whose fault it is if not.

A claim states its functions with their types, and `with_parts` reads these: a function whose type
returns an Array gives one number for each output, one that returns a float a number. Auditors call
them through a `ClaimPart`, so that nothing else is ever counted. What the author of the claim did
wrong is an InvalidArgument with the name of the claim, the part, and the file and line.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from math import isnan
from numbers import Real
from types import CodeType
from typing import Any, NoReturn, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Claim, NotListable, Output
from ..errors import DpWitnessError, InvalidArgument, raised_at
from ..looking import attribute, function_of, is_a

T = TypeVar("T")
C = TypeVar("C", bound=Claim)
Floats = NDArray[np.float64]

CLOSE = 1e-6
"""Part of itself, or if it is smaller of 1, by which a number may differ when it is computed alone:
sums in another order are rounded otherwise."""


@dataclass(slots=True)
class ClaimPart:
    """A function of a claim. `whose` and `name` are for sentences, `returns` is its declared type.

    `nan` counts the outputs of `outputs` for which no number came because the outputs are none
    themselves.
    """

    function: Callable[..., Any]
    whose: str
    name: str
    returns: object
    nan: int = 0
    outputs: int = 0

    def __call__(self, *arguments: object) -> Any:
        """What the function returns, if it is what it must be; else InvalidArgument."""
        if self.returns == Array:
            return self._for_each(arguments)
        if self.returns is float:
            found = self.number(*arguments)
            if isnan(found):
                self._refuse("a number", f"NaN from {_given(arguments)}")
            return found
        found = self._called(arguments)
        if get_origin(self.returns) is tuple:
            most = len(get_args(self.returns))
            if not isinstance(found, tuple | list) or len(found) != most:
                self._refuse(f"{most} values", _shown(found))
        elif isinstance(self.returns, type) and not isinstance(found, self.returns):
            self._refuse(f"a {self.returns.__name__}", _shown(found))
        return found

    def number(self, *arguments: object) -> float:
        """The number that the function returns, NaN for NaN; else InvalidArgument."""
        found = self._called(arguments)
        if found is not None and not isinstance(found, str) and np.ndim(found) == 0:
            with suppress(TypeError, ValueError):
                return float(found)
        self._refuse("a number", f"{_shown(found)} from {_given(arguments)}")

    def _called(self, arguments: Sequence[object]) -> Any:
        advice = f"it was called with {_given(arguments)}"
        return called(self.whose, self.name, self.function, *arguments, advice=advice)

    def _for_each(self, arguments: Sequence[Output]) -> Floats:
        """One number for each output, NaN only for outputs that are no numbers themselves."""
        *others, outputs = arguments
        values = self._asked(others, outputs)
        self.outputs += len(values)
        bad = np.flatnonzero(np.isnan(values))
        for place in bad:
            if _finite(outputs[place]):
                self._refuse("a number", f"NaN for the output {_shown(outputs[place])}")
        self.nan += len(bad)
        if self.outputs == len(values) and isinstance(outputs, np.ndarray):
            self._require_apart(others, outputs, values)
        return values

    def _asked(self, others: Sequence[object], outputs: Sequence[Output] | Array) -> Floats:
        number = len(outputs)
        wanted = f"it is given {number:,} outputs in one array"
        if isinstance(outputs, np.ndarray):
            wanted += f" of shape {outputs.shape}"
        wanted += f" and must return as many numbers, shape ({number},)"
        hint = "work on the array (axis=-1 where an output has several numbers), or loop over it"
        found = called(self.whose, self.name, self.function, *others, outputs,
                       advice=f"{wanted}; {hint}")  # fmt: skip
        values = None
        with suppress(TypeError, ValueError):
            values = None if found is None else np.asarray(found, dtype=float)
        if values is None or values.shape != (number,):
            shape = _shown(found) if values is None else f"shape {values.shape}"
            shape = f"one value, {_shown(found)}, shape ()" if np.ndim(found) == 0 else shape
            self._refuse("", f"{shape}: {wanted}; {hint}")
        return values

    def _require_apart(self, others: Sequence[object], outputs: Array, values: Floats) -> None:
        """Of what is returned for many outputs each number must be that of its own output."""
        places = sorted({0, len(values) // 2, len(values) - 1})
        alone = [self._asked(others, outputs[one : one + 1])[0] for one in places]
        same = np.isclose(alone, values[places], rtol=CLOSE, atol=CLOSE, equal_nan=True)
        if not same.all():
            first = int(same.argmin())
            self._refuse(
                "",
                f"{values[places[first]]:.6g} for an output among {len(values):,} and "
                f"{alone[first]:.6g} for the same output alone: each number must be that of its "
                "own output; reduce over the last axis (axis=-1), and not over the outputs",
            )

    def _refuse(self, expected: str, got: str) -> NoReturn:
        said = f"must return {expected}, got" if expected else "returned"
        raise InvalidArgument(
            f"{told(self.whose, self.name, place_of(self.function))} {said} {got}"
        )


def with_parts(claim: C, whose: str) -> C:
    """The claim with each of its functions as a part, and its numbers looked at.

    Samplers are called where mechanisms are, and are left as they are.
    """
    made: dict[str, Any] = {}
    for field in fields(claim):
        value = getattr(claim, field.name)
        if field.type in (float, int):
            if not isinstance(value, Real):
                raise InvalidArgument(
                    f"{told(whose, field.name)} must be a number, got {_shown(value)}"
                )
            continue
        if get_origin(field.type) is tuple:
            least = "" if field.default == () else " with one entry or more"
            if not isinstance(value, tuple | list) or (least and not value):
                raise InvalidArgument(
                    f"{told(whose, field.name)} must be a tuple or a list{least}, got "
                    f"{_shown(value)}"
                )
            continue
        kinds = [one for one in (field.type, *get_args(field.type)) if _callable(one)]
        if not kinds or value is None:
            continue
        if not callable(value):
            raise InvalidArgument(
                f"{told(whose, field.name)} must be a function, got {_shown(value)}"
            )
        returned = get_args(kinds[0])[1]
        if returned is not Any and not isinstance(value, ClaimPart):
            made[field.name] = ClaimPart(value, whose, field.name, returned)
    return replace(claim, **made) if made else claim


def nan_told(claim: Claim) -> str:
    """How often no number came, in a sentence; empty where it never happened."""
    parts = [
        part for one in fields(claim) if isinstance(part := getattr(claim, one.name), ClaimPart)
    ]
    return "; ".join(
        f"{part.name} is no number (NaN) at {part.nan:,} of {part.outputs:,} outputs, where the "
        "output is NaN or infinite, and counts as the worst there"
        for part in parts
        if part.nan
    )


def called(
    whose: str,
    name: str,
    function: Callable[..., T],
    *arguments: object,
    advice: str = "",
    by: Callable[..., object] | None = None,
) -> T:
    """What a function of the user's returns; InvalidArgument with its place where it raises.

    `by` is that function, where another calls it.
    """
    try:
        return function(*arguments)
    except (DpWitnessError, NotListable):
        raise
    except Exception as error:
        text = ""
        with suppress(Exception):  # a user's __str__ may raise anything
            text = (str(error).splitlines() or [""])[0][:200]
        said = f"{type(error).__name__}: {text}".removesuffix(": ")
        place = raised_at(error.__traceback__) or place_of(by or function)
        raise InvalidArgument(
            f"{told(whose, name, place)} raised {said}" + (f"; {advice}" if advice else "")
        ) from error


def told(whose: str, name: str, place: str = "") -> str:
    """The part of a claim as sentences name it."""
    return f"{whose}: {name}" + (f" ({place})" if place else "")


def place_of(function: Callable[..., object]) -> str:
    """File and line where a function is defined; empty for one that is not written in Python."""
    while is_a(function, ClaimPart):
        function = function.function
    code = attribute(function_of(function), "__code__")
    if not is_a(code, CodeType):
        return ""
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def _callable(kind: object) -> bool:
    return get_origin(kind) is get_origin(Callable[[], Any])


def _finite(output: Output) -> bool:
    """Whether an output holds nothing but finite numbers."""
    try:
        return bool(np.isfinite(np.asarray(output)).all())
    except TypeError:
        return False


def _given(arguments: Sequence[object]) -> str:
    return ", ".join(map(_shown, arguments)) or "nothing"


def _shown(value: object) -> str:
    text = f"a {type(value).__name__}"
    with suppress(Exception):  # a user's object may refuse to be shown
        text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
