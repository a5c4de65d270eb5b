"""Outputs as they were when they were returned.

A mechanism may return the same array at every call and fill it anew, or keep the list it returned
and append to it. What an attacker saw is the value at the return, so that is what is kept.
"""

import copy
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ContractError
from ..outputs.kinds import Raised, kind_of

UNCHANGING = frozenset(
    {
        bool, int, float, complex, str, bytes, type(None), Decimal, Fraction, Raised,
        *(kind for kind in np.sctypeDict.values() if kind not in (np.void, np.object_)),
    }
)  # fmt: skip
"""Types whose values cannot change, so that a reference to one is as good as a copy."""


def captured(value: Any) -> Any:
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


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in UNCHANGING:
        return value
    copier = _COPIERS.get(kind)
    return copier(value) if copier else _deep(value)


def _array(value: Any) -> Any:
    return copy.deepcopy(value) if value.dtype.hasobject else value.copy()


_COPIERS: dict[type, Callable[[Any], Any]] = {
    list: lambda value: [_copied(item) for item in value],
    tuple: lambda value: tuple([_copied(item) for item in value]),
    dict: lambda value: {_copied(key): _copied(item) for key, item in value.items()},
    np.ndarray: _array,
}


def _deep(value: Any) -> Any:
    if isinstance(value, (Enum, type)):
        return value
    kind = kind_of(type(value))
    if kind.refused:
        kind.read(value)
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise
    except Exception as error:
        raise ContractError(
            f"the mechanism returned a {type(value).__name__}, which cannot be copied "
            f"({type(error).__name__}: {str(error)[:100]}) and so cannot be kept for comparison; "
            "return plain numbers, strings, None, lists, tuples, dicts, dataclasses or arrays"
        ) from error
