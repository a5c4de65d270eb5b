"""One output taken apart: its parts, and each end as a number or a label."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import ContractError
from .features import ABSENT, Step

__all__ = [
    "NOWHERE",
    "NamedParts",
    "label_of",
    "leaf_of",
    "leaves_of",
    "length_of",
    "number_of",
    "parts_of",
    "type_of",
]

EXACT = 2**53


class _Nowhere:
    """Stands for the end of a path that an output does not have."""


NOWHERE = _Nowhere()


class NamedParts(dict[Step, Any]):
    """One output of a batch of named parts, by step."""


def parts_of(value: Any) -> dict[Step, Any] | None:
    """The parts of a composite value by step; None for a value without parts."""
    if is_dataclass(value) and not isinstance(value, type):
        return {("field", f.name): getattr(value, f.name) for f in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {("field", name): item for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim):
        return dict(enumerate(value))
    if isinstance(value, Mapping):
        return {("key", repr(key)): item for key, item in value.items()}
    if isinstance(value, (complex, np.complexfloating)):
        return {("field", "real"): value.real, ("field", "imag"): value.imag}
    return None


def number_of(value: Any) -> Any:
    """The value as a number that numpy holds exactly, or None."""
    if isinstance(value, (bool, np.bool_, float, np.floating)) and not isinstance(value, Enum):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, Enum):
        return value if abs(int(value)) <= EXACT else None
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return number_of(value.item())
    return None


def label_of(value: Any) -> str:
    """A text for what is not a number, equal for equal values."""
    if value is NOWHERE:
        return ABSENT
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(label_of, value))) + "}"
    if parts_of(value) is not None:
        return f"a {type(value).__name__}"
    if isinstance(value, Enum):
        return str(value)
    text = repr(value)
    if " at 0x" in text:
        raise ContractError(
            f"the mechanism returned a {type(value).__name__}, which has no value to compare; "
            "return numbers, strings, None, or tuples, lists, dicts, dataclasses, arrays of them"
        )
    return text


def leaf_of(value: Any) -> Any:
    """The value as a number, or its label."""
    number = number_of(value)
    return label_of(value) if number is None else number


def length_of(value: Any) -> Any:
    """Number of parts, or that there are none."""
    return len(value) if hasattr(value, "__len__") else "no length"


def type_of(value: Any) -> str:
    """Name of the type."""
    return ABSENT if value is NOWHERE else type(value).__name__


def leaves_of(value: Any) -> list[Any]:
    """All ends of a value, in order."""
    parts = value if isinstance(value, NamedParts) else parts_of(value)
    if parts is None:
        return [value]
    return [leaf for part in parts.values() for leaf in leaves_of(part)]
