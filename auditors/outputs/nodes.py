"""Many outputs of any form as a tree of columns.

A node holds n values. Leaves hold numbers or texts, the others the nodes of their parts, so that
outputs are taken apart once and every question is answered by numpy. What a node says about one
of its values depends on that value alone: how values were packed together shows nowhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array

Step = int | tuple[str, str]
"""An index, or ("key", text) for a dict entry, ("field", name) for an attribute, ("member", text)
for a member of a set; ("read", how) for what a text says, see `texts`."""
Path = tuple[Step, ...]
Places = NDArray[np.intp]
Index = slice | Array

MANY_SHAPES = 4
"""Vectors of more lengths than this are kept as one ragged node."""
NARROW = ("i1", "i2", "i4", "f4")
FEW = 64
"""Values that are tried before all of them."""
MISSING = frozenset({"NoneType"})


@dataclass(frozen=True, slots=True)
class Numbers:
    """Booleans, integers or floats of one type: `values` has shape (n,)."""

    kind: str
    values: Array

    def __reduce__(self) -> tuple[object, ...]:
        """What workers send: the numbers in the narrowest type that holds them."""
        return _numbers, (self.kind, narrowed(self.values), self.values.dtype)

    @property
    def count(self) -> int:
        """How many values."""
        return len(self.values)

    def take(self, index: Index) -> "Numbers":
        """The values at the index."""
        return Numbers(self.kind, self.values[index])


@dataclass(frozen=True, slots=True)
class Texts:
    """Labels: `codes` of shape (n,) into `names`.

    `lengths` are those of the values behind the names, -1 where they have none. `unread` says
    what was not compared: "" for nothing, "text" if only the printed text was, "all" if the
    values were not looked at. What the names say is `read` when somebody asks first, see
    `packing.reading`, and kept for all who share them: empty before, else one node or None.
    """

    kind: str
    codes: NDArray[np.int32]
    names: tuple[str, ...]
    lengths: tuple[int, ...] = ()
    unread: str = ""
    read: "list[Node | None]" = field(default_factory=list, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        """What workers send: the texts and not what they say."""
        return Texts, (self.kind, self.codes, self.names, self.lengths, self.unread)

    @property
    def count(self) -> int:
        """How many values."""
        return len(self.codes)

    def take(self, index: Index) -> "Texts":
        """The values at the index."""
        return replace(self, codes=self.codes[index])

    def compact(self) -> "Texts":
        """The same without names that no value has."""
        used = np.bincount(self.codes, minlength=len(self.names)) > 0
        if used.all():
            return self
        new = np.cumsum(used, dtype=np.int32) - 1
        keep = np.flatnonzero(used).tolist()
        names = tuple(self.names[i] for i in keep)
        lengths = tuple(self.lengths[i] for i in keep) if self.lengths else ()
        read = [node and node.take(np.flatnonzero(used)) for node in self.read]
        codes = new[self.codes].astype(np.int32)
        return replace(self, codes=codes, names=names, lengths=lengths, read=read)


@dataclass(frozen=True, slots=True)
class Exact:
    """Values with an exact text, a nearest double (`values`, if they are numbers) and parts."""

    texts: Texts
    values: NDArray[np.float64] | None = None
    parts: "Fixed | None" = None

    @property
    def kind(self) -> str:
        """The type of the values."""
        return self.texts.kind

    @property
    def count(self) -> int:
        """How many values."""
        return self.texts.count

    def take(self, index: Index) -> "Exact":
        """The values at the index."""
        return Exact(
            self.texts.take(index),
            None if self.values is None else self.values[index],
            None if self.parts is None else self.parts.take(index),
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """Arrays of one dtype and shape: `values` has shape (n, *shape); `inner` is their entries'."""

    kind: str
    inner: str
    values: Array

    def __reduce__(self) -> tuple[object, ...]:
        """What workers send: the numbers in the narrowest type that holds them."""
        return _grid, (self.kind, self.inner, narrowed(self.values), self.values.dtype)

    @property
    def count(self) -> int:
        """How many arrays."""
        return len(self.values)

    def take(self, index: Index) -> "Grid":
        """The arrays at the index."""
        return Grid(self.kind, self.inner, self.values[index])

    def step(self, step: Step) -> "Node | None":
        """What lies at an index along the first axis."""
        if not isinstance(step, int) or step >= self.values.shape[1]:
            return None
        inner = self.values[:, step]
        if inner.ndim == 1:
            return Numbers(self.inner, inner)
        return Grid(self.kind, self.inner, inner)


def narrowed(values: Array) -> Array:
    """The same numbers in the narrowest type from which every bit of them comes back."""
    for kind in NARROW:
        if np.dtype(kind).itemsize >= values.dtype.itemsize:
            break
        if _comes_back(values[:FEW], kind) and _comes_back(values, kind):
            return values.astype(kind)
    return values


def _comes_back(values: Array, kind: str) -> bool:
    with np.errstate(all="ignore"):
        back = values.astype(kind).astype(values.dtype)
    return back.tobytes() == values.tobytes()


def _numbers(kind: str, values: Array, dtype: np.dtype[np.generic]) -> Numbers:
    return Numbers(kind, values.astype(dtype, copy=False))


def _grid(kind: str, inner: str, values: Array, dtype: np.dtype[np.generic]) -> Grid:
    return Grid(kind, inner, values.astype(dtype, copy=False))


@dataclass(frozen=True, slots=True)
class Fixed:
    """Composite values with the same parts in the same order; `listed` if these are indices."""

    kind: str
    parts: dict[Step, "Node"]
    size: int
    listed: bool
    sized: bool = True

    @property
    def count(self) -> int:
        """How many values."""
        return self.size

    def take(self, index: Index) -> "Fixed":
        """The values at the index."""
        parts = {step: part.take(index) for step, part in self.parts.items()}
        return replace(self, parts=parts, size=_taken(self.size, index))


@dataclass(frozen=True, slots=True)
class Ragged:
    """Composite values whose parts differ.

    Value i has `lengths[i]` parts, one after the other in `content`. Those of a mapping or of
    an object are named: `codes` are their places in `names`.
    """

    kind: str
    lengths: NDArray[np.int64]
    content: "Node"
    codes: NDArray[np.int32] | None = None
    names: tuple[Step, ...] = ()
    sized: bool = True

    @property
    def count(self) -> int:
        """How many values."""
        return len(self.lengths)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the parts of each value begin."""
        return np.cumsum(self.lengths) - self.lengths

    def take(self, index: Index) -> "Ragged":
        """The values at the index."""
        lengths, starts = self.lengths[index], self.starts[index]
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        codes = None if self.codes is None else self.codes[places]
        content = self.content.take(places)
        return replace(self, lengths=lengths, content=content, codes=codes)

    def rows(self) -> Places:
        """The value that each part belongs to."""
        return np.repeat(np.arange(self.count), self.lengths)

    def step(self, step: Step) -> "tuple[Places, Node] | None":
        """The values that have the part, and their parts."""
        if self.codes is None:
            if not isinstance(step, int):
                return None
            rows = np.flatnonzero(self.lengths > step)
            return rows, self.content.take(self.starts[rows] + step)
        if step not in self.names:
            return None
        places = np.flatnonzero(self.codes == self.names.index(step))
        return self.rows()[places], self.content.take(places)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Values of several forms: value i is number `where[i]` of node `tags[i]`."""

    tags: NDArray[np.int32]
    where: Places
    nodes: "tuple[Node, ...]"

    @property
    def count(self) -> int:
        """How many values."""
        return len(self.tags)

    def take(self, index: Index) -> "Node":
        """The values at the index."""
        tags, where = self.tags[index], self.where[index]
        if not len(tags):
            return self.nodes[0].take(slice(0))
        found = [
            (np.flatnonzero(tags == tag), node.take(where[tags == tag]))
            for tag, node in enumerate(self.nodes)
            if bool((tags == tag).any())
        ]
        return mixed(len(tags), found)


Node = Numbers | Texts | Exact | Grid | Fixed | Ragged | Mixed
Piece = tuple[Places | None, Node]
"""Some of the outputs (all for None) and what they have at a place."""


def _taken(size: int, index: Index) -> int:
    return len(range(size)[index]) if isinstance(index, slice) else len(index)


def mixed(count: int, found: Sequence[tuple[Places, Node]]) -> Node:
    """One node of `count` values, given by the places of each form."""
    if len(found) == 1:
        return found[0][1]
    tags, where = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.intp)
    for tag, (places, node) in enumerate(found):
        tags[places] = tag
        where[places] = np.arange(node.count)
    return Mixed(tags, where, tuple(node for _, node in found))


def pieces_of(node: Node, rows: Places | None = None) -> Iterator[Piece]:
    """The node, or the nodes of one form each that it is made of."""
    if not isinstance(node, Mixed):
        yield rows, node
        return
    for tag, inner in enumerate(node.nodes):
        places = np.flatnonzero(node.tags == tag)
        inner = inner.take(node.where[places])
        yield from pieces_of(inner, places if rows is None else rows[places])


def leaf_numbers(node: Node) -> tuple[Places, NDArray[np.float64]]:
    """All numbers in the values, in order, each with the place of the value it belongs to."""
    if isinstance(node, Numbers):
        return np.arange(node.count), node.values.astype(np.float64)
    if isinstance(node, Exact) and node.values is not None:
        return np.arange(node.count), node.values
    if isinstance(node, Grid):
        width = node.values[:1].size if node.count else 0
        flat = node.values.reshape(-1).astype(np.float64)
        return np.repeat(np.arange(node.count), width), flat
    if isinstance(node, Ragged):
        places, values = leaf_numbers(node.content)
        return node.rows()[places], values
    found: list[tuple[Places, NDArray[np.float64]]] = []
    if isinstance(node, Fixed):
        found = [leaf_numbers(part) for part in node.parts.values()]
    elif isinstance(node, Mixed):
        for tag, inner in enumerate(node.nodes):
            rows = np.flatnonzero(node.tags == tag)
            places, values = leaf_numbers(inner.take(node.where[rows]))
            found.append((rows[places], values))
    if not found:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    places = np.concatenate([some for some, _ in found])
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate([values for _, values in found])[order]


def joined(nodes: Sequence[Node]) -> Node:
    """The values of all nodes, one after the other."""
    nodes = [node for node in nodes if node.count] or list(nodes[:1])
    if len(nodes) == 1:
        return nodes[0]
    together = _same(nodes)
    if together is not None:
        return together
    groups: dict[object, tuple[list[Places], list[Node]]] = {}
    start = 0
    for node in nodes:
        for rows, inner in pieces_of(node):
            places = np.arange(node.count) if rows is None else rows
            group = groups.setdefault(_form(inner), ([], []))
            group[0].append(places + start)
            group[1].append(inner)
        start += node.count
    found = []
    for rows_of_each, alike in groups.values():
        found.append((np.concatenate(rows_of_each), _merged(alike)))
    return mixed(start, found)


def _form(node: Node) -> object:
    """Equal for nodes that one node can hold."""
    match node:
        case Grid():
            if node.values.ndim == 2:
                return node.kind, "composite", True
            return node.kind, "grid", node.values.shape[1:], node.values.dtype.str
        case Fixed():
            return node.kind, "composite", node.listed
        case Ragged():
            return node.kind, "composite", node.codes is None
        case Exact():
            return node.kind, "exact", node.values is None
        case Texts():
            return node.kind, "texts", node.unread
    return node.kind, "numbers"  # type: ignore[union-attr]


def _same(nodes: Sequence[Node]) -> Node | None:
    """The nodes joined, if they all have one form."""
    if any(isinstance(node, Mixed) for node in nodes):
        return None
    return _merged(nodes) if len({_form(node) for node in nodes}) == 1 else None


def _merged(nodes: Sequence[Any]) -> Node:
    first = nodes[0]
    if len(nodes) == 1:
        return first
    match first:
        case Numbers():
            return Numbers(first.kind, np.concatenate([node.values for node in nodes]))
        case Texts():
            return _joined_texts(nodes)
        case Exact():
            values = None
            if first.values is not None:
                values = np.concatenate([node.values for node in nodes])
            parts = None
            if first.parts is not None:
                parts = _merged([node.parts for node in nodes])
            assert parts is None or isinstance(parts, Fixed)
            return Exact(_joined_texts([node.texts for node in nodes]), values, parts)
    if all(isinstance(node, Grid) for node in nodes):
        if len({node.values.shape[1:] for node in nodes}) == 1:
            return replace(first, values=np.concatenate([node.values for node in nodes]))
    elif all(isinstance(node, Fixed) for node in nodes):
        steps = list(first.parts)
        if all(list(node.parts) == steps for node in nodes):
            parts_ = {step: joined([node.parts[step] for node in nodes]) for step in steps}
            return replace(first, parts=parts_, size=sum(node.size for node in nodes))
    return _joined_ragged([ragged(node) for node in nodes])


def _joined_texts(nodes: Sequence[Texts]) -> Texts:
    places: dict[str, int] = {}
    lengths: dict[int, int] = {}
    codes, renamed = [], []
    for node in nodes:
        new = np.array([places.setdefault(name, len(places)) for name in node.names], np.int32)
        renamed.append(new)
        if node.lengths:
            lengths.update(zip(new.tolist(), node.lengths, strict=True))
        codes.append(new[node.codes] if len(new) else node.codes)
    long = tuple(lengths[i] for i in range(len(places))) if nodes[0].lengths else ()
    read: list[Node | None] = []
    if all(node.read and node.read[0] is not None for node in nodes):
        firsts = np.unique(np.concatenate(renamed), return_index=True)[1]
        read.append(joined([inner for node in nodes for inner in node.read if inner]).take(firsts))
    return Texts(
        nodes[0].kind, np.concatenate(codes).astype(np.int32), tuple(places), long,
        nodes[0].unread, read,
    )  # fmt: skip


def _joined_ragged(nodes: Sequence[Ragged]) -> Ragged:
    places: dict[Step, int] = {}
    codes = []
    for node in nodes:
        new = np.array([places.setdefault(name, len(places)) for name in node.names], np.int32)
        if node.codes is not None:
            codes.append(new[node.codes] if len(new) else node.codes)
    return replace(
        nodes[0],
        lengths=np.concatenate([node.lengths for node in nodes]),
        content=joined([node.content for node in nodes]),
        codes=np.concatenate(codes) if codes else None,
        names=tuple(places),
    )


def ragged(node: Ragged | Fixed | Grid) -> Ragged:
    """The same composite values in the form that holds any."""
    if isinstance(node, Ragged):
        return node
    if isinstance(node, Grid):
        width = node.values.shape[1]
        flat = Numbers(node.inner, node.values.reshape(-1))
        return Ragged(node.kind, np.full(node.count, width, dtype=np.int64), flat)
    width, size = len(node.parts), node.size
    content: Node = Numbers("float", np.zeros(0))
    if width:
        order = np.arange(width * size).reshape(width, size).T.reshape(-1)
        content = joined(list(node.parts.values())) if size else content
        content = content.take(order)
    lengths = np.full(size, width, dtype=np.int64)
    if node.listed:
        return Ragged(node.kind, lengths, content, sized=node.sized)
    codes = np.tile(np.arange(width, dtype=np.int32), size)
    return Ragged(node.kind, lengths, content, codes, tuple(node.parts), node.sized)


def of_forms(count: int, found: list[tuple[NDArray[np.intp], Node]]) -> Node:
    """Nodes of several forms as one, nested mixtures included."""
    if len(found) == 1:
        return found[0][1]
    order = np.argsort(np.concatenate([places for places, _ in found]), kind="stable")
    return joined([node for _, node in found]).take(order)


def plain_rows(node: Node) -> list[object]:
    """The values as numbers, texts, and (type, parts) of the rest."""
    match node:
        case Numbers():
            return node.values.tolist() if _builtin(node) else [
                (node.kind, value) for value in node.values.tolist()
            ]  # fmt: skip
        case Texts():
            named = [name if _builtin(node) else (node.kind, name) for name in node.names]
            return [named[code] for code in node.codes.tolist()]
        case Exact():
            return [(node.kind, text) for text in plain_rows(node.texts)]
        case Grid():
            return [_nested(node.kind, value) for value in node.values.tolist()]
        case Fixed():
            columns = [plain_rows(part) for part in node.parts.values()]
            if not columns:
                return [(node.kind, ())] * node.size
            rows = zip(*columns, strict=True)
            if node.listed:
                return [(node.kind, row) for row in rows]
            names = [step[1] for step in node.parts if not isinstance(step, int)]
            return [(node.kind, dict(zip(names, row, strict=True))) for row in rows]
        case Ragged():
            return _plain_ragged(node)
    found: list[object] = [None] * node.count
    for rows_, inner in pieces_of(node):
        places = range(node.count) if rows_ is None else rows_.tolist()
        for place, value in zip(places, plain_rows(inner), strict=True):
            found[place] = value
    return found


def _nested(kind: str, value: object) -> object:
    """An array of several axes as lists of lists of one type, as those are written elsewhere."""
    if type(value) is list and value and type(value[0]) is list:
        value = tuple(_nested(kind, part) for part in value)
    return kind, value


def _builtin(node: Numbers | Texts) -> bool:
    return node.kind in ("number", "text", "NoneType")


def _plain_ragged(node: Ragged) -> list[object]:
    content = plain_rows(node.content)
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


def missing_in(node: Node) -> NDArray[np.int64]:
    """How many entries of each value are None or not a number."""
    found = np.zeros(node.count, dtype=np.int64)
    match node:
        case Numbers():
            if node.values.dtype.kind == "f":
                return np.isnan(node.values).astype(np.int64)
        case Exact():
            if node.values is not None:
                return np.isnan(node.values).astype(np.int64)
        case Texts():
            return np.full(node.count, int(node.kind in MISSING), dtype=np.int64)
        case Grid():
            if node.values.dtype.kind == "f":
                return np.isnan(flat(node.values)).sum(axis=1)
        case Fixed():
            for part in node.parts.values():
                found += missing_in(part)
        case Ragged():
            inner = missing_in(node.content)
            if inner.any():
                found += np.bincount(node.rows(), inner, node.count).astype(np.int64)
        case Mixed():
            for tag, inner_node in enumerate(node.nodes):
                places = np.flatnonzero(node.tags == tag)
                found[places] = missing_in(inner_node.take(node.where[places]))
    return found


def flat(values: Array) -> Array:
    """One row for each output, also where there is none."""
    return values.reshape(len(values), prod(values.shape[1:]))


def nothing_but_missing(node: Node) -> bool:
    """Whether there is something in the values, and all of it is NaN or None."""
    match node:
        case Numbers() | Grid():
            return node.values.size > 0 and bool((node.values != node.values).all())
        case Texts():
            return node.kind == "NoneType"
        case Exact():
            return node.values is not None and bool(np.isnan(node.values).all())
        case Fixed():
            return bool(node.parts) and all(map(nothing_but_missing, node.parts.values()))
        case Ragged():
            return node.content.count > 0 and nothing_but_missing(node.content)
    return all(nothing_but_missing(inner) for _, inner in pieces_of(node))


def entries_of(node: Node) -> tuple[NDArray[np.intp], Node] | None:
    """The entries of lists in order of the lists, and the list that each is of."""
    if isinstance(node, Grid) and node.values.ndim > 2:
        size, width, *inner = node.values.shape
        content = replace(node, values=node.values.reshape(size * width, *inner))
        return np.repeat(np.arange(size), width), content
    if isinstance(node, Fixed) and node.listed:
        node = ragged(node)
    if isinstance(node, Ragged) and node.codes is None:
        return node.rows(), node.content
    return None
