"""What can be asked of one output: a number or a label, by name.

A feature is the value at a path into the output, or a number derived from its coordinates. It
prints as a person would write it and is rebuilt from JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from .nodes import Path
from .texts import BETWEEN, END, START

ABSENT = "absent"
"""Label of an entry whose path the output does not have."""
KINDS = (
    "value", "exact", "length", "type", "keys", "has", "missing", "difference", "equal",
    "residue", "first", "count", "labelled", "after", "sum", "max", "min", "argmax",
)  # fmt: skip
PAIRED = frozenset({"difference", "equal", "labelled"})
"""Kinds that look at two places."""
PLACED = frozenset({"labelled", "after"})
"""Kinds with a place."""
ORDINALS = ("first", "second", "third")
PLACES = (0, 1, 2, -1)
"""Of the entries of a list that have one label, -1 for the last; of the numbers after a word, -1
for the one before it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One feature of n outputs: numbers, and labels where an entry is not a number.

    `values` has shape (n,) and any numeric type. `codes` is None when all entries are numbers,
    else whole numbers of shape (n,): the place in `names` of an entry's label, -1 for a number.
    """

    values: Array
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

    def replaced(self, numbers: Array, known: Mapping[str, float], other: float) -> Array:
        """`numbers`, with every label's entry replaced by what `known` says, else `other`."""
        if self.codes is None:
            return numbers
        meaning = np.array([known.get(name, other) for name in (*self.names, "")])
        return np.where(self.codes < 0, numbers, meaning[self.codes])


@dataclass(frozen=True, slots=True)
class Feature:
    """The `kind` of question asked at `path`.

    | kind | answer |
    |---|---|
    | value | the number there (the nearest double), or a label for what is not a number |
    | exact | the same, with a text for numbers that no double holds |
    | type, keys | labels: number, text, list, dict, a class; the names of the parts in order |
    | length, missing | how many parts; how many entries are None or not a number |
    | has | whether there is anything at the path, 1 or 0 |
    | difference, equal | path minus `other`; whether both hold the same, 1 or 0 |
    | residue | a whole number modulo `argument` |
    | first | index of the first part that is `argument` |
    | count | how often `argument` occurs in a text: two letters that follow each other, or two
    letters or digits with what separates them, at most BETWEEN characters |
    | labelled | in a list, the part `other[1:]` of the entry whose `other[0]` is `argument`: of
    those the one at `place`, -1 for the last |
    | after | in a text, a number after the word `argument`, where it occurs once: the one at
    `place`, -1 for the last before it |
    | sum, max, min, argmax | of all numbers at the path |
    """

    kind: str = "value"
    path: Path = ()
    other: Path = ()
    argument: float | str | None = None
    place: int = 0

    def __str__(self) -> str:
        name = path_name(self.path)
        match self.kind:
            case "value" | "exact":
                return name
            case "difference":
                return f"{name} - {path_name(self.other)}"
            case "equal":
                return f"{name} equals {path_name(self.other)}"
            case "has":
                return has_phrase(self.path, present=True)
            case "residue":
                return f"{name} mod {say_argument(self.argument)}"
            case "first":
                return f"index of the first {say_argument(self.argument)} in {name}"
            case "count":
                return f"number of {_say_letters(str(self.argument))} in {name}"
            case "labelled":
                label, *inner = self.other
                entry = path_name((label,))[len("output") :]
                part = path_name(tuple(inner))[len("output") :]
                which = "last" if self.place < 0 else ORDINALS[self.place]
                return f"{part or 'value'} of the {which} entry of {name} whose {entry} is " + (
                    say_argument(self.argument)
                )
            case "after":
                which = (
                    "last number before"
                    if self.place < 0
                    else f"{ORDINALS[self.place]} number after"
                )
                return f"{which} {str(self.argument)!r} in {name}"
            case "missing":
                return f"number of missing entries in {name}"
            case "argmax":
                return f"index of the largest entry of {name}"
            case "max" | "min":
                return f"{'largest' if self.kind == 'max' else 'smallest'} entry of {name}"
        return f"{self.kind} of {name}"

    def sentence(self, value: float | str, *, equal: bool) -> str | None:
        """That the answer is `value`, or is not, where people say it in words of their own."""
        name = path_name(self.path)
        if self.kind in ("has", "equal") and value in (0.0, 1.0):
            true = (value == 1.0) == equal
            if self.kind == "has":
                return has_phrase(self.path, present=true)
            return f"{name} {'equals' if true else 'differs from'} {path_name(self.other)}"
        if self.kind == "residue" and value == 0.0:
            multiple = f"a multiple of {say_argument(self.argument)}"
            return f"{name} is {'' if equal else 'not '}{multiple}"
        if self.kind == "missing" and value == 0.0:
            return f"{name} has {'no' if equal else 'a'} missing entry"
        if self.kind == "keys" and isinstance(value, str) and equal:
            return f"{name} has the {value} in this order"
        if self.kind == "count" and value == 0.0:
            there = "does not have" if equal else "has"
            return f"{name} {there} {_say_letters(str(self.argument))}"
        raised = isinstance(value, str) and value.startswith("raised ")
        if self.kind == "value" and not self.path and raised:
            return f"the call {'raises' if equal else 'does not raise'} {str(value)[7:]}"
        return None

    def to_json(self) -> dict[str, object]:
        """Plain data that `feature_from_json` rebuilds the feature from."""
        data: dict[str, object] = {"kind": self.kind, "path": _path_to_json(self.path)}
        if self.kind in PAIRED:
            data["other"] = _path_to_json(self.other)
        if self.argument is not None:
            number = isinstance(self.argument, float) and not isfinite(self.argument)
            data["argument"] = {"$float": repr(self.argument)} if number else self.argument
        if self.place:
            data["place"] = self.place
        return data


def is_counted(argument: str) -> bool:
    """Whether it is a pair of letters as `count` asks for."""
    separators = argument[1:-1]
    apart = not any(map(str.isalnum, separators)) and len(separators) <= BETWEEN
    return len(argument) == 2 or (len(argument) > 2 and apart)


def _say_letters(letters: str) -> str:
    """Two letters of a text, of which one may be an end of it."""
    if letters[:1] == START:
        return f"{letters[1:]!r} at the start" if letters != START + END else "nothing"
    return f"{letters[:1]!r} at the end" if letters[1:] == END else repr(letters)


def say_argument(argument: float | str | None) -> str:
    """The argument as a person writes it."""
    if isinstance(argument, float) and argument.is_integer():
        return str(int(argument))
    return str(argument)


def has_phrase(path: Path, *, present: bool) -> str:
    """The sentence that there is something at the path, or nothing."""
    above, last = path_name(path[:-1]), path[-1] if path else 0
    verb = "has" if present else "does not have"
    if isinstance(last, int):
        return f"{above} {verb} an entry {last}"
    role, text = last
    if role == "member":
        return f"{above} {'contains' if present else 'does not contain'} {text}"
    return f"{above} {verb} the {role} {text}"


def path_name(path: Path) -> str:
    """How a person writes the path, such as output[0]['age']."""
    name = "output"
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        else:
            name += f"[{step[1]}]" if step[0] in ("key", "member") else f".{step[1]}"
    return name


def _path_to_json(path: Path) -> list[object]:
    return [step if isinstance(step, int) else {step[0]: step[1]} for step in path]
