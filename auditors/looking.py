"""What an object of somebody else is and holds, seen without asking it.

A proxy of a web framework raises if it is asked outside a request, a mock answers whatever it is
asked, and either may stand in the globals of a sound mechanism, or be one. So what an object is
follows from its type and not from what it says (`__class__`), and an attribute is one that stands
in the object or in its class and not what `__getattr__` makes up.
"""

from collections.abc import Iterator
from functools import partial, partialmethod
from inspect import getattr_static
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    WrapperDescriptorType,
)
from typing import Any, TypeGuard, TypeVar, overload

A = TypeVar("A")
B = TypeVar("B")
MOST_WRAPPED = 100
"""Wrappers around wrappers that are followed; nobody writes as many."""


@overload
def is_a(value: object, kinds: type[A]) -> TypeGuard[A]: ...
@overload
def is_a(value: object, kinds: tuple[type[A], type[B]]) -> TypeGuard[A | B]: ...
@overload
def is_a(value: object, kinds: tuple[type, ...]) -> bool: ...
def is_a(value: object, kinds: Any) -> bool:
    """Whether the type of a value is one of these, or comes from one."""
    return issubclass(type(value), kinds)


def attribute(value: object, name: str, default: Any = None) -> Any:
    """What stands under a name in an object or its class; the default where nothing does.

    The default too for a slot without a value, and where a property raises.
    """
    try:
        found = getattr_static(value, name)
        if isinstance(value, type) or name in _dictionary(value):
            return getattr(value, name)
        reads = getattr(type(found), "__get__", None)
        return found if reads is None else reads(found, value, type(value))
    except Exception:  # noqa: BLE001 - what a property runs is code of its author
        return default


def says_function(value: object) -> bool:
    """Whether an object that is no function says that it is one, as what wrapt makes does."""
    kind = attribute(value, "__class__")
    return isinstance(kind, type) and issubclass(kind, (FunctionType, MethodType))


def held(value: object) -> Iterator[tuple[str, object]]:
    """Names and values of what an object holds, in its dictionary and in its slots."""
    yield from _dictionary(value).items()
    for kind in type(value).__mro__:
        for name, slot in _slots(kind):
            try:
                found = slot.__get__(value)
            except AttributeError:  # nothing was put into it
                continue
            yield name, found


def _dictionary(value: object) -> dict[str, object]:
    """A copy of an object's own dictionary, whatever its class says of `__dict__`."""
    for kind in type(value).__mro__:
        place = vars(kind).get("__dict__")
        if isinstance(place, (GetSetDescriptorType, MemberDescriptorType)):
            return dict(place.__get__(value) or {})
    return {}


def _slots(kind: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    """The slots of a class in the order in which they are declared, so of a dataclass its fields'.

    Python keeps them in another one, and `__x` under the name `_Kind__x`.
    """
    declared = vars(kind).get("__slots__", ())
    for name in (declared,) if isinstance(declared, str) else declared:
        hidden = f"_{kind.__name__.lstrip('_')}{name}"
        slot = vars(kind).get(name, vars(kind).get(hidden))
        if isinstance(slot, MemberDescriptorType):
            yield slot.__name__, slot


def function_of(run: object) -> object:
    """The function behind partials, bound methods, decorators and callable objects.

    The last that is found, for an object whose class has no `__call__` written in Python.
    """
    *_, last = inwards(run)
    return last


def inwards(run: object) -> Iterator[object]:
    """A callable, and one after the other what it calls, if any of it is written in Python."""
    inner: object
    for _ in range(MOST_WRAPPED):
        yield run
        if is_a(run, (partial, partialmethod)):
            inner = run.func
        elif is_a(run, MethodType):
            inner = run.__func__
        elif (inner := attribute(run, "__wrapped__")) is None and not is_a(run, FunctionType):
            made = (
                vars(kind)["__call__"] for kind in type(run).__mro__ if "__call__" in vars(kind)
            )
            inner = next(made, None)
        if inner is None or is_a(inner, WrapperDescriptorType):
            return
        run = inner
