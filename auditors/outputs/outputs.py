"""A batch of outputs of any kind, asked for one column at a time.

Outputs are taken apart once, when they come in; arrays are never walked in Python. Columns are
read off their nodes, and are kept, so that asking again costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Output
from ..errors import ContractError
from .features import ABSENT, Column, Feature, path_name
from .nodes import (
    Exact,
    Fixed,
    Grid,
    Mixed,
    Node,
    Numbers,
    Path,
    Places,
    Ragged,
    Step,
    Texts,
    entries_of,
    flat,
    joined,
    leaf_numbers,
    missing_in,
    nothing_but_missing,
    pieces_of,
    plain_rows,
)
from .packing import at, packed, paths_of, reading, unread, vectorised
from .texts import number_after, times
from .untyped import EXACT, types_of, untyped

Floats = NDArray[np.float64]

ROOM, FEWEST = 1 << 22, 64
"""Bytes of the outputs that are kept as they are, and how many are kept whatever they take: as many
as tens of bins need. With 10,000 numbers each, 16,384 of them took 2.4 GB."""
FEW = 16
"""Outputs that tell how much one takes."""
MOST_DISTINCT = 0.5
"""Share of different texts above which a part is none that repeats, and is not read."""
FEWEST_TEXTS = 50
"""Texts below which their share says nothing."""
STRETCH = 1 << 20
"""Numbers that are aggregated at a time: what works on them takes several times their room."""


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

    def __reduce__(self) -> tuple[object, ...]:
        """What workers send: the outputs without the columns asked for, one type said once."""
        types = self.types
        alike = types is not None and len(types.names) == 1
        return _received, (self.node, self.count, types.names[0] if types and alike else types)

    @classmethod
    def of(cls, raw: Output, count: int) -> "Outputs":
        """What run(database, rng, size=count) returned.

        An array with leading axis `count`, a list of `count` outputs, or a tuple, dict or
        dataclass of such arrays. Raises ContractError when the leading shape is another.
        """
        return cls._of_types(vectorised(raw, count))

    @classmethod
    def of_list(cls, outputs: Sequence[Output]) -> "Outputs":
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

    def rows(self, most: int | None = None) -> list[object]:
        """The first outputs as plain Python values: numbers, texts, and (type, parts) of the rest.

        Equal exactly where the outputs are equal, as far as they are compared.
        """
        node = self.node if most is None else self.node.take(slice(most))
        return plain_rows(node)

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
        return paths_of(self.node) if self.count else []

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
        return self.count > 0 and not self.nothing_but_none and nothing_but_missing(self.node)


def _received(node: Node, count: int, types: Texts | str | None) -> Outputs:
    if isinstance(types, str):
        types = Texts("types", np.zeros(count, dtype=np.int32), (types,))
    return Outputs(node, count, types)


def _unread(node: Node, path: Path, *, distinct: bool = True) -> str:
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


def _bytes_of(part: object) -> int:
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


def answer(node: Node, feature: Feature) -> Column:
    """The feature of every value: a function of that value alone."""
    match feature.kind:
        case "difference":
            return _difference(node, feature)
        case "equal":
            return _equal(node, feature)
        case "has":
            return _has(node, feature)
        case "labelled":
            return _labelled(node, feature)
    pieces = at(node, feature.path)
    ask = _ASKED[feature.kind]
    return _assembled(node.count, [(rows, ask(inner, feature)) for rows, inner in pieces])


def _assembled(count: int, found: Sequence[tuple[NDArray[np.intp] | None, Column]]) -> Column:
    """Columns of some of the outputs as one of all; the others get the label "absent"."""
    if len(found) == 1 and found[0][0] is None:
        return found[0][1]
    values = np.full(count, np.nan)
    codes = np.zeros(count, dtype=np.int32)
    places = {ABSENT: 0}
    for rows, column in found:
        where: slice | Places = slice(None) if rows is None else rows
        values[where] = column.values
        if column.codes is None:
            codes[where] = -1
            continue
        new = [places.setdefault(name, len(places)) for name in column.names]
        codes[where] = np.array([*new, -1], dtype=np.int32)[column.codes]
    if not (codes >= 0).any():
        return Column(values)
    return _compact(values, codes, tuple(places))


def _compact(values: Array, codes: Array, names: tuple[str, ...]) -> Column:
    """The column with the names that occur, in no other order than that of the names."""
    used = np.bincount(codes + 1, minlength=len(names) + 1)[1:] > 0
    if used.all():
        return Column(values, codes, names)
    if not used.any():
        return Column(values)
    new = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    keep = tuple(name for name, inside in zip(names, used.tolist(), strict=True) if inside)
    return Column(values, new[codes], keep)


def _but_for(missing: NDArray[np.bool_], values: Array, label: str) -> Column:
    """The numbers, with a label in the place of those that are missing."""
    if not missing.any():
        return Column(values)
    codes = np.where(missing, 0, -1).astype(np.int32)
    return Column(np.where(missing, np.nan, values), codes, (label,))


def _constant(label: str, count: int) -> Column:
    return Column(np.broadcast_to(np.nan, count), np.zeros(count, dtype=np.int32), (label,))


def _numbers(values: Array) -> Column:
    """Numbers as they are where a double holds them, else the nearest double."""
    kind = values.dtype.kind
    if kind == "f":
        return Column(np.asarray(values, dtype=np.float64))
    if kind in "iu" and values.dtype.itemsize == 8 and len(values) and _large(values).any():
        return Column(values.astype(np.float64))
    return Column(values)


def _large(values: Array) -> NDArray[np.bool_]:
    if values.dtype.kind == "u":
        return values > EXACT
    return (values > EXACT) | (values < -EXACT)


def _labels(texts: Texts) -> Column:
    return _compact(np.broadcast_to(np.nan, texts.count), texts.codes, texts.names)


def _value(node: Node, _: Feature) -> Column:
    match node:
        case Numbers():
            return _numbers(node.values)
        case Texts():
            return _labels(node)
        case Exact():
            return _labels(node.texts) if node.values is None else Column(node.values)
    return _constant(f"a {_kind(node)}", node.count)


def _exact(node: Node, feature: Feature) -> Column:
    """As the value, but with the text of numbers that no double holds."""
    if isinstance(node, Exact):
        return _labels(node.texts)
    if isinstance(node, Numbers) and node.values.dtype.kind in "iu" and len(node.values):
        large = _large(node.values)
        if large.any():
            distinct, places = np.unique(node.values[large], return_inverse=True)
            codes = np.full(node.count, -1, dtype=np.int32)
            codes[large] = places
            return Column(
                np.where(large, np.nan, node.values), codes, tuple(map(str, distinct.tolist()))
            )
    return _value(node, feature)


def _kind(node: Node) -> str:
    assert not isinstance(node, Mixed)
    return node.kind


def _length(node: Node, _: Feature) -> Column:
    none = "no length"
    match node:
        case Fixed() if node.sized:
            return Column(np.full(node.count, len(node.parts), dtype=np.int64))
        case Ragged() if node.sized:
            return Column(node.lengths)
        case Grid():
            return Column(np.full(node.count, node.values.shape[1], dtype=np.int64))
        case Texts() if node.lengths:
            lengths = np.array(node.lengths)[node.codes]
            return _but_for(lengths < 0, lengths, none)
    return _constant(none, node.count)


def _keys(node: Node, _: Feature) -> Column:
    """Names of the parts, in their order."""
    if isinstance(node, Fixed) and not node.listed:
        return _constant(_named(list(node.parts)), node.count)
    if isinstance(node, Ragged) and node.codes is not None:
        codes = node.codes.tolist()
        ends = np.cumsum(node.lengths).tolist()
        places: dict[tuple[int, ...], int] = {}
        found = [
            places.setdefault(tuple(codes[start:end]), len(places))
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        names = tuple(_named([node.names[code] for code in keys]) for keys in places)
        return Column(np.broadcast_to(np.nan, node.count), np.array(found, dtype=np.int32), names)
    return _constant("no keys", node.count)


def _named(steps: Sequence[Step]) -> str:
    names = ", ".join(step[1] for step in steps if not isinstance(step, int))
    return f"keys {names}" if steps else "no entries"


def _difference(node: Node, feature: Feature) -> Column:
    """First minus second where both are numbers."""
    one, two = (answer(node, Feature("value", path)) for path in (feature.path, feature.other))
    with np.errstate(invalid="ignore"):
        values = np.asarray(one.values, dtype=float) - np.asarray(two.values, dtype=float)
    if one.codes is None and two.codes is None:
        return Column(values)
    return _but_for(one.labelled() | two.labelled(), values, ABSENT)


def _equal(node: Node, feature: Feature) -> Column:
    """Whether two places hold the same number or label."""
    one, two = (answer(node, Feature("exact", path)) for path in (feature.path, feature.other))
    a, b = (np.asarray(column.values, dtype=float) for column in (one, two))
    same = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    labelled = one.labelled(), two.labelled()
    same &= labelled[0] == labelled[1]
    both = labelled[0] & labelled[1]
    if both.any():
        assert one.codes is not None
        assert two.codes is not None
        names = {name: code for code, name in enumerate(one.names)}
        shared = np.array([names.get(name, -2) for name in (*two.names, "")])
        same &= ~both | (shared[two.codes] == one.codes)
        if ABSENT in names:
            same &= ~(both & (one.codes == names[ABSENT]))
    return Column(same)


def _has(node: Node, feature: Feature) -> Column:
    """Whether there is anything at the path."""
    found = np.zeros(node.count, dtype=bool)
    for rows, _ in at(node, feature.path):
        found[slice(None) if rows is None else rows] = True
    return Column(found)


def _residue(node: Node, feature: Feature) -> Column:
    """Whole numbers modulo the step."""
    step = int(feature.argument) if isinstance(feature.argument, (int, float)) else 0
    if step < 1:
        return _constant("no residue", node.count)
    none = "not whole"
    if isinstance(node, Numbers):
        values = node.values
        if values.dtype.kind in "biu":
            whole = values.astype(np.int64) if values.dtype.itemsize < 8 else values
            return Column(_modulo(whole, step))
        with np.errstate(invalid="ignore"):
            broken = ~np.isfinite(values) | (np.floor(values) != values)
            rest = np.mod(np.where(broken, 0, values).astype(np.float64), float(step))
        return _but_for(broken, rest, none)
    if isinstance(node, Exact) and node.values is not None:
        rests = np.array([_rest(name, step) for name in node.texts.names])[node.texts.codes]
        return _but_for(np.isnan(rests), rests, none)
    return _constant("no number", node.count)


def _modulo(values: Array, step: int) -> Array:
    if step > np.iinfo(values.dtype).max:
        return np.array([value % step for value in values.tolist()], dtype=np.float64)
    found: Array = values % values.dtype.type(step)
    return found


def _rest(text: str, step: int) -> float:
    try:
        value = Fraction(int(text, 16)) if text.lstrip("-").startswith("0x") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return float("nan")
    return float(value % step) if value.denominator == 1 else float("nan")


def _first(node: Node, feature: Feature) -> Column:
    """Index of the first entry that is the argument."""
    places: Array = np.full(node.count, -1)
    if isinstance(node, Grid):
        values = node.values
        if values.ndim == 2 and values.shape[1] and not isinstance(feature.argument, str):
            hit = _is(Column(values.reshape(-1)), feature.argument).reshape(values.shape)
            places = np.where(hit.any(axis=1), hit.argmax(axis=1), -1)
    elif isinstance(node, Ragged) and node.codes is None:
        hit = _is(answer(node.content, Feature()), feature.argument)
        items = np.flatnonzero(hit)
        rows = node.rows()[items]
        # Written from the back, so that the first one stays.
        places[rows[::-1]] = (items - node.starts[rows])[::-1]
    elif isinstance(node, Fixed) and node.listed:
        for index in reversed(range(len(node.parts))):
            places[_is(answer(node.parts[index], Feature()), feature.argument)] = index
    return _but_for(places < 0, places, "nowhere")


def _is(column: Column, wanted: float | str | None) -> NDArray[np.bool_]:
    if isinstance(wanted, str):
        if column.codes is None or wanted not in column.names:
            return np.zeros(len(column.values), dtype=bool)
        return np.asarray(column.codes == column.names.index(wanted))
    values = np.asarray(column.values, dtype=np.float64)
    number = float(wanted or 0.0)
    found = np.isnan(values) if np.isnan(number) else values == number
    return found if column.codes is None else found & ~column.labelled()


def _count(node: Node, feature: Feature) -> Column:
    """How often two letters follow each other in a text, or are separated so."""
    if isinstance(node, Texts) and isinstance(feature.argument, str):
        return Column(times(node, feature.argument))
    return _constant("no text", node.count)


def _after(node: Node, feature: Feature) -> Column:
    """A number after a word of a text, or the one before it."""
    if not isinstance(node, Texts) or not isinstance(feature.argument, str):
        return _constant("no text", node.count)
    values = number_after(node, feature.argument, feature.place)
    return _but_for(np.isnan(values), values, ABSENT)


def _labelled(node: Node, feature: Feature) -> Column:
    """A part of an entry that has the label, by the place of labels and of the part."""
    label, inner = feature.other[:1], feature.other[1:]
    found = []
    for rows, listed in at(node, feature.path):
        entries = entries_of(listed)
        if entries is None:
            continue
        owners, content = entries
        hit = np.flatnonzero(_is(answer(content, Feature("value", label)), feature.argument))
        _, first, times = np.unique(owners[hit], return_index=True, return_counts=True)
        enough = times > feature.place
        places = hit[(first + feature.place % times)[enough]]
        values = answer(content.take(places), Feature("value", inner))
        mine = owners[places]
        found.append((mine if rows is None else rows[mine], values))
    return _assembled(node.count, found)


def _aggregate(node: Node, feature: Feature) -> Column:
    """The sum, largest, smallest or place of the largest of all numbers in each value."""
    if isinstance(node, (Numbers, Texts)) or (isinstance(node, Exact) and node.parts is None):
        if feature.kind == "argmax":
            return _constant(ABSENT, node.count)
    if isinstance(node, Grid) and node.values[:1].size and feature.kind in ("max", "min"):
        rows_of = flat(node.values)
        ends = rows_of.max(axis=1) if feature.kind == "max" else rows_of.min(axis=1)
        # Which zero of -0.0 and 0.0 is the largest would depend on the order of comparisons.
        return Column(ends.astype(np.float64) + 0.0)
    if isinstance(node, Grid) and node.values.size > STRETCH and node.count > 1:
        step = max(1, STRETCH * node.count // node.values.size)
        parts = [node.take(slice(at, at + step)) for at in range(0, node.count, step)]
        return Column(np.concatenate([_aggregate(part, feature).values for part in parts]))
    rows, values = leaf_numbers(node)
    sizes = np.bincount(rows, minlength=node.count)
    empty = sizes == 0
    found = np.full(node.count, np.nan)
    if len(rows):
        starts = (np.cumsum(sizes) - sizes)[~empty]
        found[~empty] = _AGGREGATES[feature.kind](rows, values, sizes, starts)[~empty]
    return _but_for(empty, found, ABSENT)


def _sums(rows: Places, values: Floats, sizes: Places, starts: Places) -> Floats:
    # Added one after the other: pairwise sums would round as the packing has it.
    return np.bincount(rows, values, len(sizes)).astype(np.float64, copy=False)


def _spread(sizes: Places, inside: NDArray[np.float64 | np.intp]) -> Floats:
    found = np.full(len(sizes), np.nan)
    found[sizes > 0] = inside
    return found


def _largest(rows: Places, values: Floats, sizes: Places, starts: Places) -> Floats:
    return _spread(sizes, np.maximum.reduceat(values, starts) + 0.0)


def _smallest(rows: Places, values: Floats, sizes: Places, starts: Places) -> Floats:
    return _spread(sizes, np.minimum.reduceat(values, starts) + 0.0)


def _place_of_largest(rows: Places, values: Floats, sizes: Places, starts: Places) -> Floats:
    top = _largest(rows, values, sizes, starts)[rows]
    ranks = np.arange(len(rows)) - np.repeat(starts, sizes[sizes > 0])
    hit = (values == top) | np.isnan(values) & np.isnan(top)
    return _spread(sizes, np.minimum.reduceat(np.where(hit, ranks, len(rows)), starts))


_AGGREGATES: dict[str, Callable[[Places, Floats, Places, Places], Floats]] = {
    "sum": _sums,
    "max": _largest,
    "min": _smallest,
    "argmax": _place_of_largest,
}
_ASKED: dict[str, Callable[[Node, Feature], Column]] = {
    "value": _value,
    "exact": _exact,
    "type": lambda node, _: _constant(_kind(node), node.count),
    "length": _length,
    "keys": _keys,
    "residue": _residue,
    "first": _first,
    "missing": lambda node, _: Column(missing_in(node)),
    "count": _count,
    "after": _after,
    **dict.fromkeys(_AGGREGATES, _aggregate),
}


class CountedEvent(Protocol):
    """A set of outputs that a batch can be counted in, told in words and written as plain data."""

    def contains(self, outputs: Outputs) -> NDArray[np.bool_]:
        """Which outputs lie in the event, shape (n,)."""

    def describe(self) -> str:
        """The event in words."""

    def to_json(self) -> Mapping[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
