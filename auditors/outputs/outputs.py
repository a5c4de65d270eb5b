"""A batch of outputs of any kind, asked for one column at a time.

Arrays stay arrays: a batch that a mechanism returned as numpy arrays is never walked in Python.
Anything else is kept as a list and walked when a column is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ..errors import ContractError
from .build_columns import constant, difference, from_texts, walked
from .features import ABSENT, Column, Feature, Path, Step
from .leaves import NOWHERE, NamedParts, leaf_of, leaves_of, length_of, number_of, parts_of, type_of

__all__ = ["Outputs"]

MOST_PATHS = 256
LOOKED_AT = 1000

_Batch = Union[NDArray[Any], list[Any], "_Struct"]


@dataclass(frozen=True, slots=True)
class _Struct:
    """Outputs that all have the same parts: one batch for each part."""

    kind: str
    parts: dict[Step, _Batch]


@dataclass(frozen=True, slots=True)
class Outputs:
    """`len(outputs)` outputs of a mechanism."""

    batch: Any
    count: int

    @classmethod
    def of(cls, raw: Any, count: int) -> "Outputs":
        """What run(database, rng, size=count) returned.

        An array with leading axis `count`, a list of `count` outputs, or a tuple, dict or
        dataclass of such arrays. Raises ContractError when the leading shape is another.
        """
        return cls(_vectorised(raw, count), count)

    @classmethod
    def of_list(cls, outputs: list[Any]) -> "Outputs":
        """Outputs collected one by one."""
        return cls(_packed(outputs), len(outputs))

    @classmethod
    def concatenate(cls, batches: "list[Outputs]") -> "Outputs":
        """All outputs of several batches in order."""
        if len(batches) == 1:
            return batches[0]
        count = sum(len(batch) for batch in batches)
        joined = _joined([batch.batch for batch in batches])
        if joined is None:
            return cls([row for batch in batches for row in batch.rows()], count)
        return cls(joined, count)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice) -> "Outputs":
        return Outputs(_sliced(self.batch, part), len(range(self.count)[part]))

    def rows(self, most: int | None = None) -> list[Any]:
        """The outputs as Python values, at most `most` of them."""
        batch = self.batch if most is None else _sliced(self.batch, slice(most))
        return _rows(batch, self.count if most is None else min(most, self.count))

    def paths(self) -> list[Path]:
        """Paths of the numbers and labels in the outputs, in order, at most 256."""
        found: dict[Path, None] = {}
        _collect(self.batch, (), found)
        return list(found)[:MOST_PATHS]

    def column(self, feature: Feature) -> Column:
        """The feature of every output."""
        match feature.kind:
            case "value":
                return _value(self.batch, feature.path, self.count)
            case "difference":
                one = _value(self.batch, feature.path, self.count)
                two = _value(self.batch, feature.other, self.count)
                return difference(one, two)
            case "length" | "type":
                return walked(
                    self._at(feature.path), length_of if feature.kind == "length" else type_of
                )
        return self._aggregate(feature)

    def _at(self, path: Path) -> list[Any]:
        return [_walk(row, path) for row in self.rows()]

    def _aggregate(self, feature: Feature) -> Column:
        functions: dict[str, Callable[..., Any]] = {
            "sum": np.sum, "max": np.max, "min": np.min, "argmax": np.argmax,
        }  # fmt: skip
        function = functions[feature.kind]
        batch = _descend(self.batch, feature.path)
        if isinstance(batch, np.ndarray) and batch.ndim > 1 and batch.dtype.kind in "biuf":
            flat = batch.reshape(len(batch), -1)
            return Column(function(flat, axis=1)) if flat.shape[1] else constant(ABSENT, self.count)

        def one(value: Any) -> Any:
            numbers = [v for v in map(number_of, leaves_of(value)) if v is not None]
            return function(numbers) if numbers else ABSENT

        return walked(self._at(feature.path), one)


def _vectorised(raw: Any, count: int) -> _Batch:
    if isinstance(raw, list):
        if len(raw) != count:
            raise _wrong_shape(f"a list of {len(raw)}", count)
        return _packed(raw)
    if isinstance(raw, np.ndarray):
        if raw.ndim == 0 or raw.shape[0] != count:
            raise _wrong_shape(f"an array of shape {raw.shape}", count)
        return _array(raw)
    parts = parts_of(raw)
    if parts is None or not parts:
        raise _wrong_shape(f"a single {type(raw).__name__}", count)
    return _Struct(type(raw).__name__, {k: _vectorised(v, count) for k, v in parts.items()})


def _wrong_shape(found: str, count: int) -> ContractError:
    return ContractError(
        f"the mechanism was asked for size={count} and returned {found}, a wrong leading shape; "
        "with size=n the result must have a leading axis of n draws"
    )


def _array(raw: NDArray[Any]) -> _Batch:
    if raw.dtype.names is not None:
        return _Struct("record", {("key", repr(n)): _array(raw[n]) for n in raw.dtype.names})
    if raw.dtype.kind == "c":
        return _Struct("complex", {("field", "real"): raw.real, ("field", "imag"): raw.imag})
    if raw.dtype.kind in "mM":
        return raw.view(np.int64)
    if raw.dtype.kind == "O":
        return _packed([item if raw.ndim == 1 else item.tolist() for item in raw])
    return raw


def _packed(outputs: list[Any]) -> _Batch:
    """The list as arrays if all outputs have the same simple form, else as it is."""
    if not outputs:
        return []
    kinds = {type(output) for output in outputs}
    if len(kinds) > 1 and not all(issubclass(k, (bool, int, float, np.number)) for k in kinds):
        return outputs
    first = outputs[0]
    if number_of(first) is not None:
        return _numbers(outputs)
    if isinstance(first, np.ndarray):
        same = all(o.shape == first.shape and o.dtype == first.dtype for o in outputs)
        return _array(np.stack(outputs)) if same else outputs
    parts = [parts_of(output) for output in outputs]
    keys = list(parts[0]) if parts[0] else []
    if keys and all(part is not None and list(part) == keys for part in parts):
        columns = {key: _packed([part[key] for part in parts if part]) for key in keys}
        return _Struct(type(first).__name__, columns)
    return outputs


def _numbers(outputs: list[Any]) -> _Batch:
    values = [number_of(output) for output in outputs]
    if any(value is None for value in values):
        return outputs
    return np.array(values)


def _joined(batches: list[_Batch]) -> _Batch | None:
    first = batches[0]
    if all(isinstance(batch, np.ndarray) for batch in batches):
        arrays: list[Any] = list(batches)
        kinds = {array.dtype.kind in "biuf" for array in arrays}
        if len({array.shape[1:] for array in arrays}) == 1 and len(kinds) == 1:
            return np.concatenate(arrays)
    elif all(isinstance(batch, list) for batch in batches):
        return [row for batch in batches for row in batch]  # type: ignore[union-attr]
    elif isinstance(first, _Struct):
        structs = [b for b in batches if isinstance(b, _Struct) and b.kind == first.kind]
        if len(structs) == len(batches) and all(
            s.parts.keys() == first.parts.keys() for s in structs
        ):
            parts = {key: _joined([s.parts[key] for s in structs]) for key in first.parts}
            if all(part is not None for part in parts.values()):
                return _Struct(first.kind, {k: p for k, p in parts.items() if p is not None})
    return None


def _sliced(batch: _Batch, part: slice) -> _Batch:
    if isinstance(batch, _Struct):
        return _Struct(batch.kind, {key: _sliced(b, part) for key, b in batch.parts.items()})
    return batch[part]


def _rows(batch: _Batch, count: int) -> list[Any]:
    if not isinstance(batch, _Struct):
        return list(batch) if isinstance(batch, list) else list(batch.tolist())
    columns = {key: _rows(part, count) for key, part in batch.parts.items()}
    if all(isinstance(key, int) for key in columns):
        return [tuple(row) for row in zip(*columns.values(), strict=True)]
    names = list(columns)
    return [NamedParts(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _walk(value: Any, path: Path) -> Any:
    for step in path:
        parts = value if isinstance(value, NamedParts) else parts_of(value)
        if parts is None or step not in parts:
            return NOWHERE
        value = parts[step]
    return value


def _descend(batch: _Batch, path: Path) -> _Batch | None:
    """The batch at a path, if it can be had without walking outputs."""
    for position, step in enumerate(path):
        if isinstance(batch, np.ndarray):
            return _inner(batch, path[position:])
        if not isinstance(batch, _Struct) or step not in batch.parts:
            return None
        batch = batch.parts[step]
    return batch


def _inner(array: NDArray[Any], path: Path) -> _Batch | None:
    indices = [step for step in path if isinstance(step, int)]
    sizes = array.shape[1:]
    if len(indices) < len(path) or len(indices) > len(sizes):
        return None
    if any(index >= size for index, size in zip(indices, sizes, strict=False)):
        return None
    for index in indices:
        array = array[:, index]
    return array


def _value(batch: _Batch, path: Path, count: int) -> Column:
    found = _descend(batch, path)
    if found is None:
        if isinstance(batch, np.ndarray):
            return constant(ABSENT, count)
        return walked([_walk(row, path) for row in _rows(batch, count)], leaf_of)
    if isinstance(found, np.ndarray):
        if found.ndim > 1:
            return constant("an array", count)
        if found.dtype.kind in "biuf":
            return Column(found)
        return from_texts(found)
    if isinstance(found, _Struct):
        return constant(f"a {found.kind}", count)
    return walked(found, leaf_of)


def _collect(batch: _Batch, path: Path, found: dict[Path, None]) -> None:
    if isinstance(batch, _Struct):
        for step, part in batch.parts.items():
            _collect(part, (*path, step), found)
    elif isinstance(batch, np.ndarray):
        inner = list(np.ndindex(batch.shape[1:]))[:MOST_PATHS]
        found.update(dict.fromkeys((*path, *map(int, index)) for index in inner))
    else:
        for row in batch[:LOOKED_AT]:
            _collect_one(row, path, found)


def _collect_one(value: Any, path: Path, found: dict[Path, None]) -> None:
    parts = parts_of(value)
    if parts is None or len(path) > 6:
        found[path] = None
        return
    found.setdefault(path)
    for step, part in parts.items():
        _collect_one(part, (*path, step), found)
