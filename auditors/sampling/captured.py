"""Outputs as they were when they were returned.

A mechanism may return the same array at every call and fill it anew, or keep the list it returned
and append to it. What an attacker saw is the value at the return, so that is what is kept.
"""

import copy
import io
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ...mechanisms.model import Array, Output
from ..errors import ContractError
from ..outputs.kinds import Raised, kind_of
from ..workers.wire import requested

UNCHANGING = frozenset(
    {
        bool, int, float, complex, str, bytes, type(None), Decimal, Fraction, Raised,
        *(kind for kind in np.sctypeDict.values() if kind not in (np.void, np.object_)),
    }
)  # fmt: skip
"""Types whose values cannot change, so that a reference to one is as good as a copy."""
LARGEST = 2**20
"""Bytes that one output may take: a block keeps 1,024 of them."""
ITEM = 48
"""Bytes that an item of a list, a set or a dict takes, with its share of copies."""


def require_small(value: Output, rows: int = 1) -> None:
    """Raise ContractError where `rows` outputs take more than `LARGEST` bytes each.

    Only what plain types hold is counted, so that no code of the mechanism runs.
    """
    if _extent(value, LARGEST * rows) > LARGEST * rows:
        raise ContractError(
            f"the mechanism returned an output of type {type(value).__name__} that takes more than "
            f"{LARGEST // 2**20} MB, or holds itself, and an audit keeps a thousand of them; audit "
            "a part or a statistic of the output: a violation that shows there is one of the whole"
        )


def _extent(value: Output, most: int) -> int:
    """Bytes that a value takes, about; where there are more than `most`, some number above it."""
    found, left = 0, [value]
    while left and found <= most:
        one = left.pop()
        kind = type(one)
        if kind is str or kind is bytes:
            found += len(one)
        elif kind is int:
            found += one.bit_length() // 8
        elif kind is np.ndarray:
            found += one.size * one.itemsize
        elif kind in (list, tuple, set, frozenset, dict):
            found += ITEM * len(one)
            if found <= most:
                left += one
                left += one.values() if kind is dict else ()
    return found


def captured(value: Output) -> Output:
    """A copy of an output that nobody else can change; the value itself where nobody can.

    Types are kept exactly. Raises ContractError for what cannot be copied: a generator, a lock, a
    list that holds itself or is nested thousands deep.
    """
    if type(value) in UNCHANGING:
        return value
    try:
        return _copied(value)
    except RecursionError:
        raise ContractError(
            f"the mechanism returned a {type(value).__name__} that holds itself or is nested too "
            "deep to be read; return plain numbers, strings, None, lists, tuples, dicts or arrays"
        ) from None


def _copied(value: Output) -> Output:
    kind = type(value)
    if kind in UNCHANGING:
        return value
    copier = _COPIERS.get(kind)
    return copier(value) if copier else _deep(value)


def _array(value: Array) -> Array:
    return copy.deepcopy(value) if value.dtype.hasobject else value.copy()


def _dict(value: dict[object, object]) -> dict[object, object]:
    # Mostly plain values under plain keys, which need no look at each.
    if UNCHANGING.issuperset(map(type, value)):
        if UNCHANGING.issuperset(map(type, value.values())):
            return value.copy()
        return {key: _copied(item) for key, item in value.items()}
    return {_copied(key): _copied(item) for key, item in value.items()}


def _list(value: list[object]) -> list[object]:
    plain = UNCHANGING.issuperset(map(type, value))
    return value.copy() if plain else [_copied(item) for item in value]


def _tuple(value: tuple[object, ...]) -> tuple[object, ...]:
    plain = UNCHANGING.issuperset(map(type, value))
    return value if plain else tuple([_copied(item) for item in value])


_COPIERS: dict[type, Callable[..., object]] = {
    list: _list, tuple: _tuple, dict: _dict, np.ndarray: _array,
}  # fmt: skip


def _deep(value: Output) -> Output:
    if isinstance(value, (Enum, type)):
        return value
    kind = kind_of(type(value))
    if kind.refused:
        kind.read(value)
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 - a view, a lock, code of the mechanism: the second try tells
        return _with_views(value)


def _with_views(value: Output) -> Output:
    """A deep copy of what holds views of others' values, which cannot be pickled and so not copied.

    In the copy each is a view of values of its own.
    """
    from cloudpickle import Pickler

    class Copier(Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar[Mapping[type, Callable[..., object]]] = ChainMap(
            _VIEWS, Pickler.dispatch_table
        )

    held = io.BytesIO()
    try:
        Copier(held).dump(value)
        return requested(held.getvalue())
    except RecursionError:
        raise
    except Exception as error:
        raise ContractError(
            f"the mechanism returned a {type(value).__name__}, which cannot be copied "
            f"({type(error).__name__}: {str(error)[:100]}) and so cannot be kept for comparison; "
            "return plain numbers, strings, None, lists, tuples, dicts, dataclasses or arrays"
        ) from error


def _keys(kind: type[dict[object, object]], keys: list[object]) -> object:
    return kind.fromkeys(keys).keys()


def _values(kind: type[dict[int, object]], values: list[object]) -> object:
    return kind(enumerate(values)).values()


def _items(kind: type[dict[object, object]], items: list[tuple[object, object]]) -> object:
    return kind(items).items()


_VIEWS: dict[type, Callable[..., object]] = {
    MappingProxyType: lambda view: (MappingProxyType, (view.copy(),)),
    memoryview: lambda view: (memoryview, (view.tobytes(),)),
    type({}.keys()): lambda view: (_keys, (dict, [*view])),
    type({}.values()): lambda view: (_values, (dict, [*view])),
    type({}.items()): lambda view: (_items, (dict, [*view])),
    type(OrderedDict().keys()): lambda view: (_keys, (OrderedDict, [*view])),
    type(OrderedDict().values()): lambda view: (_values, (OrderedDict, [*view])),
    type(OrderedDict().items()): lambda view: (_items, (OrderedDict, [*view])),
}
"""How a view is made again, as a pickler has it: a function and its arguments."""


def bare(value: Output) -> Output:
    """A single answer as a row would be: an array without axes is the number it holds."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    if type(value) is dict:
        return {key: bare(item) for key, item in value.items()}
    return value
