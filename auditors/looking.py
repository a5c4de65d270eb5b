"""What an object of somebody else is and holds, seen without asking it.

A proxy of a web framework raises if it is asked outside a request, a mock answers whatever it is
asked, and either may stand in the globals of a sound mechanism, or be one. So what an object is
follows from its type and not from what it says (`__class__`), and an attribute is one that stands
in the object or in its class and not what `__getattr__` makes up.
"""

from collections.abc import Callable, Iterator
from functools import partial
from inspect import getattr_static
from itertools import islice
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
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

    The default too where a property, or a `__getattribute__`, raises.
    """
    try:
        getattr_static(value, name)
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - what a property runs is code of its author
        return default


def held(value: object) -> Iterator[tuple[str, object]]:
    """Names and values of what an object holds, in its dictionary and in its slots."""
    kinds = type(value).__mro__
    for kind in kinds:
        place = vars(kind).get("__dict__")
        if isinstance(place, GetSetDescriptorType):
            yield from list(place.__get__(value).items())
            break
    for kind in kinds:
        for name, slot in _slots(kind):
            try:
                found = slot.__get__(value)
            except AttributeError:  # nothing was put into it
                continue
            yield name, found


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
    for inner in islice(_inwards(run), MOST_WRAPPED):
        run = inner
    return run


def _inwards(run: object) -> Iterator[object]:
    """A callable, and one after the other what it calls."""
    inner: Callable[..., object] | None
    while run is not None:
        yield run
        if is_a(run, partial):
            inner = run.func
        elif is_a(run, MethodType):
            inner = run.__func__
        elif (inner := attribute(run, "__wrapped__")) is None and not is_a(run, FunctionType):
            made = (vars(kind).get("__call__") for kind in type(run).__mro__)
            inner = next((one for one in made if is_a(one, FunctionType)), None)
        run = inner
