"""Answers to features: columns of numbers and labels, read off nodes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .features import ABSENT, Column, Feature
from .nodes import Exact, Fixed, Grid, Mixed, Node, Numbers, Ragged, Texts, leaf_numbers, ragged
from .readings import at, number_after, times

EXACT = 2**53
"""Whole numbers beyond it are not all doubles, so that two different ones may look the same."""
STRETCH = 1 << 20
"""Numbers that are aggregated at a time: what works on them takes several times their room."""


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
        where: Any = slice(None) if rows is None else rows
        values[where] = column.values
        if column.codes is None:
            codes[where] = -1
            continue
        new = [places.setdefault(name, len(places)) for name in column.names]
        codes[where] = np.array([*new, -1], dtype=np.int32)[column.codes]
    if not (codes >= 0).any():
        return Column(values)
    return _compact(values, codes, tuple(places))


def _compact(values: NDArray[Any], codes: NDArray[Any], names: tuple[str, ...]) -> Column:
    """The column with the names that occur, in no other order than that of the names."""
    used = np.bincount(codes + 1, minlength=len(names) + 1)[1:] > 0
    if used.all():
        return Column(values, codes, names)
    if not used.any():
        return Column(values)
    new = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    keep = tuple(name for name, inside in zip(names, used.tolist(), strict=True) if inside)
    return Column(values, new[codes], keep)


def _constant(label: str, count: int) -> Column:
    return Column(np.broadcast_to(np.nan, count), np.zeros(count, dtype=np.int32), (label,))


def _numbers(values: NDArray[Any]) -> Column:
    """Numbers as they are where a double holds them, else the nearest double."""
    kind = values.dtype.kind
    if kind == "f":
        return Column(np.asarray(values, dtype=np.float64))
    if kind in "iu" and values.dtype.itemsize == 8 and len(values) and _large(values).any():
        return Column(values.astype(np.float64))
    return Column(values)


def _large(values: NDArray[Any]) -> NDArray[np.bool_]:
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


def _type(node: Node, _: Feature) -> Column:
    return _constant(_kind(node), node.count)


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
            if (lengths < 0).any():
                codes = np.where(lengths < 0, 0, -1).astype(np.int32)
                return Column(np.where(lengths < 0, np.nan, lengths), codes, (none,))
            return Column(lengths)
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


def _named(steps: Sequence[Any]) -> str:
    return f"keys {', '.join(step[1] for step in steps)}" if steps else "no entries"


def _difference(node: Node, feature: Feature) -> Column:
    """First minus second where both are numbers."""
    one, two = (answer(node, Feature("value", path)) for path in (feature.path, feature.other))
    with np.errstate(invalid="ignore"):
        values = np.asarray(one.values, dtype=float) - np.asarray(two.values, dtype=float)
    if one.codes is None and two.codes is None:
        return Column(values)
    absent = one.labelled() | two.labelled()
    if not absent.any():
        return Column(values)
    return Column(values, absent.astype(np.int32) - 1, (ABSENT,))


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
        if not broken.any():
            return Column(rest)
        codes = np.where(broken, 0, -1).astype(np.int32)
        return Column(np.where(broken, np.nan, rest), codes, (none,))
    if isinstance(node, Exact) and node.values is not None:
        rests = np.array([_rest(name, step) for name in node.texts.names])[node.texts.codes]
        broken = np.isnan(rests)
        if not broken.any():
            return Column(rests)
        return Column(rests, np.where(broken, 0, -1).astype(np.int32), (none,))
    return _constant("no number", node.count)


def _modulo(values: NDArray[Any], step: int) -> NDArray[Any]:
    if step > np.iinfo(values.dtype).max:
        return np.array([value % step for value in values.tolist()], dtype=np.float64)
    found: NDArray[Any] = values % values.dtype.type(step)
    return found


def _rest(text: str, step: int) -> float:
    try:
        value = Fraction(int(text, 16)) if text.lstrip("-").startswith("0x") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return float("nan")
    return float(value % step) if value.denominator == 1 else float("nan")


def _first(node: Node, feature: Feature) -> Column:
    """Index of the first entry that is the argument."""
    none = "nowhere"
    places: NDArray[Any] = np.full(node.count, -1)
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
    missing = places < 0
    if not missing.any():
        return Column(places)
    return Column(
        np.where(missing, np.nan, places), np.where(missing, 0, -1).astype(np.int32), (none,)
    )


def _is(column: Column, wanted: Any) -> NDArray[np.bool_]:
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
    absent = np.isnan(values)
    return (
        Column(values, np.where(absent, 0, -1).astype(np.int32), (ABSENT,))
        if absent.any()
        else Column(values)
    )


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


def _missing(node: Node, _: Feature) -> Column:
    """How many entries are None or not a number."""
    return Column(_missing_in(node))


MISSING = frozenset({"NoneType"})


def _missing_in(node: Node) -> NDArray[np.int64]:
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
                return np.isnan(_flat(node.values)).sum(axis=1)
        case Fixed():
            for part in node.parts.values():
                found += _missing_in(part)
        case Ragged():
            inner = _missing_in(node.content)
            if inner.any():
                found += np.bincount(node.rows(), inner, node.count).astype(np.int64)
        case Mixed():
            for tag, inner_node in enumerate(node.nodes):
                places = np.flatnonzero(node.tags == tag)
                found[places] = _missing_in(inner_node.take(node.where[places]))
    return found


def _aggregate(node: Node, feature: Feature) -> Column:
    """The sum, largest, smallest or place of the largest of all numbers in each value."""
    if isinstance(node, (Numbers, Texts)) or (isinstance(node, Exact) and node.parts is None):
        if feature.kind == "argmax":
            return _constant(ABSENT, node.count)
    if isinstance(node, Grid) and node.values[:1].size and feature.kind in ("max", "min"):
        return Column(_extreme(_flat(node.values), feature.kind))
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
    if not empty.any():
        return Column(found)
    return Column(found, np.where(empty, 0, -1).astype(np.int32), (ABSENT,))


def _flat(values: NDArray[Any]) -> NDArray[Any]:
    """One row for each output, also where there is none."""
    return values.reshape(len(values), prod(values.shape[1:]))


def _extreme(values: NDArray[Any], kind: str) -> NDArray[np.float64]:
    found = values.max(axis=1) if kind == "max" else values.min(axis=1)
    # Which zero of -0.0 and 0.0 is the largest would depend on the order of comparisons.
    return found.astype(np.float64) + 0.0


def _sums(rows: Any, values: Any, sizes: Any, starts: Any) -> NDArray[Any]:
    # Added one after the other: pairwise sums would round as the packing has it.
    return np.bincount(rows, values, len(sizes))


def _spread(sizes: Any, inside: NDArray[Any]) -> NDArray[Any]:
    found = np.full(len(sizes), np.nan)
    found[sizes > 0] = inside
    return found


def _largest(rows: Any, values: Any, sizes: Any, starts: Any) -> NDArray[Any]:
    return _spread(sizes, np.maximum.reduceat(values, starts) + 0.0)


def _smallest(rows: Any, values: Any, sizes: Any, starts: Any) -> NDArray[Any]:
    return _spread(sizes, np.minimum.reduceat(values, starts) + 0.0)


def _place_of_largest(rows: Any, values: Any, sizes: Any, starts: Any) -> NDArray[Any]:
    top = _largest(rows, values, sizes, starts)[rows]
    ranks = np.arange(len(rows)) - np.repeat(starts, sizes[sizes > 0])
    hit = (values == top) | np.isnan(values) & np.isnan(top)
    return _spread(sizes, np.minimum.reduceat(np.where(hit, ranks, len(rows)), starts))


_AGGREGATES: dict[str, Callable[[Any, Any, Any, Any], NDArray[Any]]] = {
    "sum": _sums,
    "max": _largest,
    "min": _smallest,
    "argmax": _place_of_largest,
}

_ASKED: dict[str, Callable[[Node, Feature], Column]] = {
    "value": _value,
    "exact": _exact,
    "type": _type,
    "length": _length,
    "keys": _keys,
    "residue": _residue,
    "first": _first,
    "missing": _missing,
    "count": _count,
    "after": _after,
    **dict.fromkeys(_AGGREGATES, _aggregate),
}
