"""Public classes of fields answer a wrong way of making one in words, as public functions do.

A dataclass itself says `__init__() missing 1 required keyword-only argument`, and takes a number
where a function is expected, which then shows far from where it was written.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import signature
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def answering(made: type[T]) -> type[T]:
    """The class itself, if it has fields with an `__init__` that answers in words, made once.

    Making one raises InvalidArgument for a field that is there too much, is missing, or is of
    another type than it says.
    """
    plain = made.__init__
    if not is_dataclass(made) or hasattr(plain, "__wrapped__"):
        return made
    hints, wanted = _checkable(made), signature(made)

    @wraps(plain)
    def spoken(self: object, *args: object, **kwargs: object) -> None:
        failed: Exception | None = None
        try:
            plain(self, *args, **kwargs)
        except (TypeError, ValueError, AttributeError) as error:
            failed = error
        if failed is None and not hints:
            return
        from .auditors.arguments import bound, require_fields

        # Out of the first error's sight, so that one is told.
        given = bound(made.__name__, wanted, args, kwargs).arguments
        require_fields(made, {name: hints[name] for name in given if name in hints}, given)
        if failed is not None:
            raise failed

    made.__init__ = spoken  # type: ignore[method-assign]
    return made


def _checkable(made: type[Any]) -> dict[str, object]:
    """The types of the fields that a person fills in, as far as they can be looked at.

    Results are filled in by audits, and an enumeration takes its words too.
    """
    known: dict[str, object] = {}
    if ".mechanisms.model." not in made.__module__:
        return known
    for one in reversed(made.__mro__):
        names = vars(sys.modules[one.__module__])
        for name in vars(one).get("__annotations__", {}):
            try:
                known[name] = get_type_hints(one, globalns=names)[name]
            except NameError:  # a name that only a type checker imports
                break
    given = {one.name for one in fields(made) if one.init}
    return {name: hint for name, hint in known.items() if name in given and _plain(hint)}


def _plain(hint: object) -> bool:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = (Callable, tuple, Mapping)
    return all(
        get_origin(part) in kinds
        or part in (bool, int, float, str, type(None))
        or (isinstance(part, type) and is_dataclass(part))
        for part in parts
    )
