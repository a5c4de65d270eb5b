"""A batch of outputs of any kind, asked for one column at a time.

Outputs are taken apart once, when they come in; arrays are never walked in Python. Columns are
kept, so that asking again costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..errors import ContractError
from .columns import answer
from .features import Column, Feature, Path
from .kinds import kind_of, type_name
from .nodes import Exact, Fixed, Grid, Mixed, Node, Numbers, Ragged, Texts, joined, pieces_of
from .packing import array_node, packed, scalars
from .readings import many, reading, unread
from .untyped import types_of, untyped

MOST_PATHS = 256
"""Parts of an output that are looked at; an array of more numbers is looked at in part."""
ROOM = 1 << 22
FEWEST = 64
"""Bytes of the outputs that are kept as they are, and how many are kept whatever they take: as many
as tens of bins need. With 10,000 numbers each, 16,384 of them took 2.4 GB."""
FEW = 16
"""Outputs that tell how much one takes."""
MOST_READ = 6
"""Texts within texts that are read."""


class Outputs:
    """`len(outputs)` outputs of a mechanism. Nothing of what the mechanism returned is kept.

    `types` has a label for each output that says of which Python types it was made, which nothing
    else of the outputs does; None for parts of outputs.
    """

    __slots__ = ("_columns", "count", "node", "types")

    def __init__(self, node: Node, count: int, types: Texts | None = None) -> None:
        """Outputs that have been taken apart already, and had their types taken off."""
        self.node = node
        self.count = count
        self.types = types
        self._columns: dict[Feature, Column] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """What workers send: the outputs without the columns asked for, one type said once."""
        types = self.types
        alike = types is not None and len(types.names) == 1
        return _received, (self.node, self.count, types.names[0] if types and alike else types)

    @classmethod
    def of(cls, raw: Any, count: int) -> "Outputs":
        """What run(database, rng, size=count) returned.

        An array with leading axis `count`, a list of `count` outputs, or a tuple, dict or
        dataclass of such arrays. Raises ContractError when the leading shape is another.
        """
        return cls._of_types(_vectorised(raw, count))

    @classmethod
    def of_list(cls, outputs: Sequence[Any]) -> "Outputs":
        """Outputs collected one by one. Raises ContractError for what cannot be compared."""
        return cls._of_types(packed(list(outputs)))

    @classmethod
    def _of_types(cls, node: Node) -> "Outputs":
        for _, inner in pieces_of(node):
            if isinstance(inner, Texts) and inner.unread == "all":
                raise ContractError(
                    f"the mechanism returned {inner.names[0]}, which has no value to compare; "
                    "return numbers, strings, None, or tuples, lists, dicts, dataclasses, arrays "
                    "of them"
                )
        return cls(untyped(node), node.count, types_of(node))

    @classmethod
    def concatenate(cls, batches: "Sequence[Outputs]") -> "Outputs":
        """All outputs of several batches in order."""
        if len(batches) == 1:
            return batches[0]
        types = [batch.types for batch in batches if batch.types is not None]
        together = joined(types) if len(types) == len(batches) else None
        assert together is None or isinstance(together, Texts)
        count = sum(map(len, batches))
        return cls(joined([batch.node for batch in batches]), count, together)

    def __len__(self) -> int:
        """How many outputs."""
        return self.count

    def __getitem__(self, part: slice) -> "Outputs":
        """Some of the outputs; all of them are the same object, with the columns it keeps."""
        if part.indices(self.count) == (0, self.count, 1):
            return self
        types = None if self.types is None else self.types.take(part)
        return Outputs(self.node.take(part), len(range(self.count)[part]), types)

    def rows(self, most: int | None = None) -> list[Any]:
        """The first outputs as plain Python values: numbers, texts, and (type, parts) of the rest.

        Equal exactly where the outputs are equal, as far as they are compared.
        """
        node = self.node if most is None else self.node.take(slice(most))
        return _plain(node)

    def room(self, count: int) -> int:
        """So many outputs like these, or fewer if those take more than ROOM, but at least FEWEST.

        For the few that are kept as they are, whatever their width.
        """
        return min(count, max(FEWEST, ROOM // max(self.width, 1)))

    @property
    def width(self) -> int:
        """About how many bytes one output takes."""
        some = self[:FEW]
        return _bytes_of(some.node) // max(len(some), 1)

    def paths(self) -> list[Path]:
        """Paths of the numbers and labels in the outputs, in order, at most 256."""
        found: dict[Path, None] = {}
        _collect(self.node, (), found)
        return list(found)[:MOST_PATHS] if self.count else []

    def column(self, feature: Feature) -> Column:
        """The feature of every output: of each a function of that output alone."""
        known = self._columns.get(feature)
        if known is None:
            known = self._columns[feature] = answer(self.node, feature)
        return known

    @property
    def unread(self) -> str:
        """What part of these outputs was compared as text only, or not at all; "" for none.

        Where this says something, no sentence about power holds for these outputs. Texts of which
        hardly any two are equal are among them: what they have in common is not found.
        """
        return _unread(self.node, ())

    @property
    def as_text(self) -> str:
        """What part of these outputs has no value but its printed text; "" for none."""
        return _unread(self.node, (), distinct=False)

    @property
    def nothing_but_none(self) -> bool:
        """Whether every output is None, as from a function without a return statement."""
        node = self.node
        return self.count > 0 and isinstance(node, Texts) and node.kind == "NoneType"

    @property
    def nothing_but_nan(self) -> bool:
        """Whether every number in every output is NaN and nothing else is in them."""
        return self.count > 0 and not self.nothing_but_none and _missing(self.node)


def _received(node: Node, count: int, types: Texts | str | None) -> Outputs:
    if isinstance(types, str):
        types = Texts("types", np.zeros(count, dtype=np.int32), (types,))
    return Outputs(node, count, types)


def _vectorised(raw: Any, count: int) -> Node:
    if isinstance(raw, list):
        if len(raw) != count:
            raise _wrong_shape(f"a list of {len(raw)}", count)
        return packed(raw)
    if isinstance(raw, np.ndarray) and type(raw) is not np.ma.MaskedArray:
        if raw.ndim == 0 or raw.shape[0] != count:
            raise _wrong_shape(f"an array of shape {raw.shape}", count)
        if raw.ndim == 1:
            return scalars(raw, 0)
        if raw.dtype.kind == "O":
            return packed([row.tolist() for row in raw])
        return array_node(raw, type_name(type(raw)), 0)
    kind = kind_of(type(raw))
    parts: Any = None
    if kind.how == "list" and isinstance(raw, tuple):
        parts = dict(enumerate(raw))
    elif kind.how in ("mapping", "object"):
        parts = kind.read(raw)
    if not parts:
        raise _wrong_shape(f"a single {type(raw).__name__}", count)
    inner = {step: _vectorised(part, count) for step, part in parts.items()}
    return Fixed(kind.name, inner, count, listed=kind.how == "list", sized=kind.sized)


def _wrong_shape(found: str, count: int) -> ContractError:
    if found == "a single NoneType":
        return ContractError(
            f"the mechanism was asked for size={count} and returned None; does it lack a return?"
        )
    return ContractError(
        f"the mechanism was asked for size={count} and returned {found}, a wrong leading shape; "
        "with size=n the result must have a leading axis of n draws"
    )


def _plain(node: Node) -> list[Any]:
    match node:
        case Numbers():
            return node.values.tolist() if _builtin(node) else [
                (node.kind, value) for value in node.values.tolist()
            ]  # fmt: skip
        case Texts():
            named = [name if _builtin(node) else (node.kind, name) for name in node.names]
            return [named[code] for code in node.codes.tolist()]
        case Exact():
            return [(node.kind, text) for text in _plain(node.texts)]
        case Grid():
            return [_nested(node.kind, value) for value in node.values.tolist()]
        case Fixed():
            columns = [_plain(part) for part in node.parts.values()]
            if not columns:
                return [(node.kind, ())] * node.size
            rows = zip(*columns, strict=True)
            if node.listed:
                return [(node.kind, row) for row in rows]
            names = [step[1] for step in node.parts if not isinstance(step, int)]
            return [(node.kind, dict(zip(names, row, strict=True))) for row in rows]
        case Ragged():
            return _plain_ragged(node)
    found: list[Any] = [None] * node.count
    for rows_, inner in pieces_of(node):
        places = range(node.count) if rows_ is None else rows_.tolist()
        for place, value in zip(places, _plain(inner), strict=True):
            found[place] = value
    return found


def _nested(kind: str, value: Any) -> object:
    """An array of several axes as lists of lists of one type, as those are written elsewhere."""
    if type(value) is list and value and type(value[0]) is list:
        value = tuple(_nested(kind, part) for part in value)
    return kind, value


def _builtin(node: Numbers | Texts) -> bool:
    return node.kind in ("number", "text", "NoneType")


def _plain_ragged(node: Ragged) -> list[object]:
    content = _plain(node.content)
    ends = np.cumsum(node.lengths).tolist()
    starts = [0, *ends][:-1]
    if node.codes is None:
        return [(node.kind, tuple(content[a:b])) for a, b in zip(starts, ends, strict=True)]
    names = [step if isinstance(step, int) else step[1] for step in node.names]
    keys = [names[code] for code in node.codes.tolist()]
    return [
        (node.kind, dict(zip(keys[a:b], content[a:b], strict=True)))
        for a, b in zip(starts, ends, strict=True)
    ]


def _collect(node: Node, path: Path, found: dict[Path, None]) -> None:
    if len(found) >= MOST_PATHS:
        return
    if isinstance(node, (Numbers, Texts, Exact)):
        found.setdefault(path)
        if isinstance(node, Exact) and node.parts is not None:
            _collect(node.parts, path, found)
        within = sum(not isinstance(step, int) and step[0] == "read" for step in path)
        if isinstance(node, Texts) and within < MOST_READ and many(node):
            inside = reading(node.compact())
            if inside is not None:
                _collect_parts(inside, path, found)
    elif isinstance(node, Mixed):
        found.setdefault(path)
        for _, inner in pieces_of(node):
            _collect(inner, path, found)
    elif isinstance(node, Grid):
        for index in np.ndindex(node.values.shape[1:]):
            found.setdefault((*path, *map(int, index)))
            if len(found) >= MOST_PATHS:
                return
    elif isinstance(node, Fixed):
        if not node.parts:
            found.setdefault(path)
        _collect_parts(node, path, found)
    elif isinstance(node, Ragged):
        found.setdefault(path)
        _collect_parts(node, path, found)


def _collect_parts(node: Node, path: Path, found: dict[Path, None]) -> None:
    if isinstance(node, Fixed):
        for step, part in node.parts.items():
            _collect(part, (*path, step), found)
    if not isinstance(node, Ragged):
        return
    steps = node.names or range(min(int(node.lengths.max(initial=0)), MOST_PATHS))
    for step in steps:
        if len(found) >= MOST_PATHS:
            return
        inner = node.step(step)
        if inner is not None and len(inner[0]):
            _collect(inner[1], (*path, step), found)


def _missing(node: Node) -> bool:
    """Whether there is something in the values, and all of it is NaN or None."""
    match node:
        case Numbers() | Grid():
            return node.values.size > 0 and bool((node.values != node.values).all())
        case Texts():
            return node.kind == "NoneType"
        case Exact():
            return node.values is not None and bool(np.isnan(node.values).all())
        case Fixed():
            return bool(node.parts) and all(map(_missing, node.parts.values()))
        case Ragged():
            return node.content.count > 0 and _missing(node.content)
    return all(_missing(inner) for _, inner in pieces_of(node))


MOST_DISTINCT = 0.5
"""Share of different texts above which a part is none that repeats, and is not read."""
FEWEST_TEXTS = 50
"""Texts below which their share says nothing."""


def _unread(node: Node, path: Path, *, distinct: bool = True) -> str:
    from .features import path_name

    name = path_name(path)
    match node:
        case Texts():
            how = {"text": "only as printed text", "all": "not at all"}.get(node.unread)
            if how:
                return f"{name} ({node.kind}) is compared {how}"
            texts = node.compact()
            if (
                distinct
                and texts.count >= FEWEST_TEXTS
                and len(texts.names) > MOST_DISTINCT * texts.count
            ):
                inside, texts = reading(texts), unread(texts)
                if texts.count < FEWEST_TEXTS or len(texts.names) <= MOST_DISTINCT * texts.count:
                    return "" if inside is None else _unread(inside, path)
                return (
                    f"{name} is text of which hardly any two are equal, compared only as a whole "
                    "and by the letters that follow each other"
                )
        case Mixed():
            for _, inner in pieces_of(node):
                if found := _unread(inner, path, distinct=distinct):
                    return found
        case Fixed():
            for step, part in node.parts.items():
                if found := _unread(part, (*path, step), distinct=distinct):
                    return found
        case Ragged():
            return _unread(node.content, path, distinct=distinct)
    return ""


def _bytes_of(part: Any) -> int:
    """About what a node takes: its arrays and its texts."""
    match part:
        case np.ndarray():
            return part.nbytes
        case str():
            return len(part)
        case Mapping():
            return sum(map(_bytes_of, part.values()))
        case list() | tuple():
            return sum(map(_bytes_of, part))
    return (
        sum(_bytes_of(getattr(part, one.name)) for one in fields(part)) if is_dataclass(part) else 0
    )
