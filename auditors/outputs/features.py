"""What can be asked of one output: a number or a label, by name.

A feature is the value at a path into the output, or a number derived from its coordinates. It
prints as a person would write it and is rebuilt from JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EvidenceFormatError

__all__ = ["ABSENT", "Column", "Feature", "Path", "Step", "feature_from_json", "path_name"]

Step = int | tuple[str, str]
"""An index, or ("key", text) for a dict entry, or ("field", name) for an attribute."""
Path = tuple[Step, ...]

ABSENT = "absent"
"""Label of an entry whose path the output does not have."""

KINDS = ("value", "length", "type", "difference", "sum", "max", "min", "argmax")
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of n outputs: numbers, and labels where an entry is not a number.

    `values` has shape (n,) and any numeric type. `codes` is None when all entries are numbers,
    else whole numbers of shape (n,): the place in `names` of an entry's label, -1 for a number.
    """

    values: NDArray[Any]
    codes: NDArray[np.integer] | None = None
    names: tuple[str, ...] = ()

    def labelled(self) -> NDArray[np.bool_]:
        """Which entries are not numbers, shape (n,)."""
        if self.codes is None:
            return np.zeros(len(self.values), dtype=bool)
        return self.codes >= 0

    def label(self, index: int) -> str | None:
        """The label of one entry, None for a number."""
        if self.codes is None or self.codes[index] < 0:
            return None
        return self.names[self.codes[index]]

    def replaced(self, numbers: NDArray[Any], known: Mapping[str, Any], other: Any) -> NDArray[Any]:
        """`numbers`, with every label's entry replaced by what `known` says, else `other`."""
        if self.codes is None:
            return numbers
        meaning = np.array([known.get(name, other) for name in (*self.names, "")])
        return np.where(self.codes < 0, numbers, meaning[self.codes])


@dataclass(frozen=True, slots=True)
class Feature:
    """The `kind` of question asked at `path`; a difference is path minus `other`."""

    kind: str = "value"
    path: Path = ()
    other: Path = ()

    def __str__(self) -> str:
        name = path_name(self.path)
        match self.kind:
            case "value":
                return name
            case "difference":
                return f"{name} - {path_name(self.other)}"
            case "argmax":
                return f"index of the largest entry of {name}"
            case "max" | "min":
                return f"{'largest' if self.kind == 'max' else 'smallest'} entry of {name}"
        return f"{self.kind} of {name}"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `feature_from_json` rebuilds the feature from."""
        data: dict[str, Any] = {"kind": self.kind, "path": _path_to_json(self.path)}
        if self.kind == "difference":
            data["other"] = _path_to_json(self.other)
        return data


def path_name(path: Path) -> str:
    """How a person writes the path, such as output[0]['age']."""
    name = "output"
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += f"[{step[1]}]" if step[0] == "key" else f".{step[1]}"
    return name


def _path_to_json(path: Path) -> list[Any]:
    return [step if isinstance(step, int) else {step[0]: step[1]} for step in path]


def feature_from_json(data: Any) -> Feature:
    """The feature that `Feature.to_json` wrote; EvidenceFormatError for anything else."""
    if not isinstance(data, Mapping) or data.get("kind") not in KINDS:
        raise EvidenceFormatError(
            f"expected a feature of kind {', '.join(KINDS)}, got {data!r:.80}"
        )
    other = data.get("other", [])
    return Feature(data["kind"], _path_from_json(data.get("path")), _path_from_json(other))


def _path_from_json(data: Any) -> Path:
    if not isinstance(data, list) or len(data) > DEEPEST:
        raise EvidenceFormatError(f"expected a path of at most {DEEPEST} steps, got {data!r:.80}")
    steps: list[Step] = []
    for step in data:
        if isinstance(step, int) and not isinstance(step, bool) and 0 <= step < 2**31:
            steps.append(step)
        elif (
            isinstance(step, Mapping)
            and len(step) == 1
            and all(k in ("key", "field") and isinstance(v, str) for k, v in step.items())
        ):
            steps.extend(step.items())
        else:
            raise EvidenceFormatError(f"expected an index, a key or a field, got {step!r:.80}")
    return tuple(steps)
