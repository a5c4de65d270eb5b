"""Public classes of fields answer a wrong way of making one in words, as public functions do.

A dataclass itself says `__init__() missing 1 required keyword-only argument`, and takes a number
where a function is expected, which then shows far from where it was written.
"""

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import signature
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def answering(made: type[T]) -> type[T]:
    """The class itself, if it has fields with an `__init__` that answers in words, made once.

    Making one raises InvalidArgument for a field that is there too much, is missing, or is no
    function or tuple although its type says so. What looks up the words is loaded for a mistake.
    """
    plain = made.__init__
    if not is_dataclass(made) or hasattr(plain, "__wrapped__"):
        return made
    hints = _functions_and_tuples(made)

    @wraps(plain)
    def spoken(self: Any, *args: Any, **kwargs: Any) -> None:
        unlike = False
        try:
            plain(self, *args, **kwargs)
        except TypeError as error:
            unlike = error.__traceback__ is None or error.__traceback__.tb_next is None
            if not unlike:
                raise
        if unlike:  # out of the first error's sight, so that one is told
            from .auditors.arguments import bound

            bound(made.__name__, signature(made), args, kwargs)
        values = {name: getattr(self, name) for name in hints}
        if not all(callable(one) or isinstance(one, tuple | list) for one in values.values()):
            from .auditors.arguments import require_fields

            require_fields(made, hints, values)

    made.__init__ = spoken  # type: ignore[method-assign]
    return made


def _functions_and_tuples(made: type[Any]) -> dict[str, Any]:
    """The types of the fields that are functions or tuples."""
    known: dict[str, Any] = {}
    for one in reversed(made.__mro__):
        names = vars(sys.modules[one.__module__])
        for name in vars(one).get("__annotations__", {}):
            try:
                known[name] = get_type_hints(one, globalns=names)[name]
            except NameError:  # a name that only a type checker imports
                break
    given = {one.name for one in fields(made) if one.init}
    return {
        name: hint
        for name, hint in known.items()
        if name in given
        and any(
            get_origin(part) in (Callable, tuple)
            for part in (get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,))
        )
    }
