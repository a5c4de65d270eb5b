"""Values apart from the Python types that hold them.

A release is a number, a text, a list of them: whether a program holds the number as int, float or
numpy.float64 is an accident that `sum` of nothing or `max(0, x)` brings about. So the types are
taken off the outputs before anybody compares values, and kept as one label for each output, which
the attacker of types reads. What differs in more than its type stays as it is: classes of the
user's own, Decimal and Fraction (which print their digits), dates, None, and what is missing.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from .nodes import (
    Exact,
    Fixed,
    Grid,
    Mixed,
    Node,
    Numbers,
    Ragged,
    Step,
    Texts,
    mixed,
    of_forms,
    pieces_of,
)

EXACT = 2**53
"""Whole numbers beyond it are not all doubles, so that two different ones may look the same."""
LIBRARIES = ("pandas.", "polars.")
STORAGE = frozenset({("field", "dtype"), ("field", "dtypes")})
"""Parts of a table that say how it is stored, apart from what a categorical column may hold."""
NO_AXES = ", no axes"
SETS = frozenset({"set", "frozenset"})
FEW = 16
"""Parts whose types are told one by one; of more parts the types are told together."""

Labels = tuple[NDArray[np.int32], tuple[str, ...]]
"""One label for each value: places in the names."""


def untyped(node: Node) -> Node:
    """The same values, alike wherever they differ in nothing but types.

    Numbers that a double holds are Numbers of kind "number", whole numbers that none holds are
    Exact; lists, tuples and arrays are lists; dicts of every class are dicts.
    """
    match node:
        case Numbers():
            return _number(node.values)
        case Texts():
            return replace(node, kind="text") if node.lengths and not node.unread else node
        case Exact():
            return _exact(node)
        case Grid():
            return _list_of_numbers(node)
        case Fixed():
            return _fixed(node)
        case Ragged():
            kind = "list" if node.codes is None else _family(node.kind, node.names, node.sized)
            return replace(node, kind=kind, content=untyped(node.content))
    found = [(_all(rows, node), untyped(inner)) for rows, inner in pieces_of(node)]
    return of_forms(node.count, found)


def _all(rows: NDArray[np.intp] | None, node: Node) -> NDArray[np.intp]:
    return np.arange(node.count) if rows is None else rows


def _beyond(values: Array) -> bool:
    whole = values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size > 0
    return whole and (int(values.max()) > EXACT or int(values.min()) < -EXACT)


def _number(values: Array) -> Node:
    if not _beyond(values):
        return Numbers("number", values)
    whole = values.tolist()
    return _split(whole, [-EXACT <= one <= EXACT or int(float(one)) == one for one in whole])


def _split(whole: list[int], double: list[bool]) -> Node:
    """Whole numbers: those that are doubles as such, the others with their text."""
    held = np.array(double)
    found: list[tuple[NDArray[np.intp], Node]] = []
    if held.any():
        doubles = np.array([float(n) for n, yes in zip(whole, double, strict=True) if yes])
        found.append((np.flatnonzero(held), Numbers("number", doubles)))
    if not held.all():
        others = [n for n, yes in zip(whole, double, strict=True) if not yes]
        found.append((np.flatnonzero(~held), _texts_of(list(map(str, others)), others)))
    return mixed(len(whole), found)


def _texts_of(texts: Sequence[str], near: Sequence[float]) -> Exact:
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int32)
    return Exact(Texts("number", codes, tuple(places)), np.array(near, dtype=np.float64))


def _exact(node: Exact) -> Node:
    if node.parts is not None:
        return node  # a Decimal, a Fraction, a date: what it prints is more than its value
    names = node.texts.names
    if not all(text.lstrip("-").isdigit() or text.lstrip("-").startswith("0x") for text in names):
        return node
    assert node.values is not None
    double = {text: _is_double(text) for text in names}
    texts = [names[code] for code in node.texts.codes.tolist()]
    held = np.array([double[text] for text in texts], dtype=bool)
    rest = np.flatnonzero(~held)
    found: list[tuple[NDArray[np.intp], Node]] = []
    if held.any():
        found.append((np.flatnonzero(held), Numbers("number", node.values[held])))
    if len(rest):
        found.append((rest, _texts_of([texts[i] for i in rest.tolist()], node.values[rest])))  # type: ignore[arg-type]
    return mixed(node.count, found)


def _is_double(text: str) -> bool:
    number = int(text, 0)
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _list_of_numbers(node: Grid) -> Node:
    values = node.values
    if not _beyond(values):
        return Grid("list", "number", values)
    flat = _number(values.reshape(-1))
    for size in reversed(values.shape[1:]):
        lengths = np.full(flat.count // size, size, dtype=np.int64)
        flat = Ragged("list", lengths, flat)
    return flat


def _fixed(node: Fixed) -> Node:
    if node.kind.endswith(NO_AXES):
        return untyped(node.parts["field", "item()"])
    parts = {step: untyped(part) for step, part in node.parts.items()}
    if node.kind.startswith(LIBRARIES):
        parts = {step: _stored(part) if step in STORAGE else part for step, part in parts.items()}
    kind = "list" if node.listed else _family(node.kind, tuple(node.parts), node.sized)
    return replace(node, kind=kind, parts=parts)


def _family(kind: str, steps: tuple[Step, ...], sized: bool) -> str:
    """Dicts of every class are dicts, and sets sets; what has fields keeps its name."""
    roles = {step[0] for step in steps if not isinstance(step, int)}
    if not sized or "field" in roles:
        return kind
    return "set" if "member" in roles or kind in SETS else "dict"


def _stored(node: Node) -> Node:
    """Names of dtypes, where a name says more than how the entries are stored."""
    match node:
        case Texts():
            names = tuple(one if "categor" in one.lower() else "any" for one in node.names)
            places = list(dict.fromkeys(names))
            codes = np.array([places.index(one) for one in names], dtype=np.int32)[node.codes]
            return Texts(node.kind, codes, tuple(places), tuple(map(len, places)))
        case Fixed():
            return replace(node, parts={step: _stored(part) for step, part in node.parts.items()})
        case Ragged():
            return replace(node, content=_stored(node.content))
    return node


# --- the types themselves ---------------------------------------------------------------------


def types_of(node: Node) -> Texts:
    """A label for each output that says of which types it is made; it says no value."""
    codes, names = _types(node)
    return Texts("types", codes, names)


def _types(node: Node, own: bool = False) -> Labels:
    """`own` asks for the texts themselves, which name dtypes there."""
    match node:
        case Fixed():
            return _types_of_fixed(node, own)
        case Ragged():
            return _types_of_ragged(node, own)
        case Mixed():
            return _types_of_mixed(node, own)
        case Texts() if own:
            texts = node.compact()
            return texts.codes, texts.names or ("",)
    name = node.kind
    if isinstance(node, Grid) and node.values.ndim > 2:
        shape = node.values.shape[1:]  # of an array without entries it shows nowhere else
        name += f", {len(shape)} axes" if node.values.size else f", shape {shape}"
    return np.zeros(node.count, dtype=np.int32), (name,)


def _types_of_mixed(node: Mixed, own: bool) -> Labels:
    codes, places = np.zeros(node.count, dtype=np.int32), dict[str, int]()
    for rows, inner in pieces_of(node):
        found, names = _types(inner, own)
        new = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32)
        codes[_all(rows, node)] = new[found]
    return codes, tuple(places)


def _types_of_fixed(node: Fixed, own: bool) -> Labels:
    stored = STORAGE if node.kind.startswith(LIBRARIES) else frozenset()
    found = [_types(part, own or step in stored) for step, part in node.parts.items()]
    steps = list(node.parts)
    several = [place for place, (_, names) in enumerate(found) if len(names) > 1]
    rows: NDArray[np.int32] = np.zeros((1, 0), dtype=np.int32)
    codes: NDArray[np.integer] = np.zeros(node.size, dtype=np.int32)
    if several:
        table = np.stack([found[place][0] for place in several], axis=1)
        rows, codes = np.unique(table, axis=0, return_inverse=True)
    places: dict[str, int] = {}
    said = []
    for row in rows.tolist():
        types = [names[0] for _, names in found]
        for place, code in zip(several, row, strict=True):
            types[place] = found[place][1][code]
        text = _said(node.kind, steps, types, node.listed)
        said.append(places.setdefault(text, len(places)))
    return np.array(said, dtype=np.int32)[codes.reshape(-1)], tuple(places)


def _types_of_ragged(node: Ragged, own: bool) -> Labels:
    if " of " in node.kind and not node.kind.endswith("object"):
        return np.zeros(node.count, dtype=np.int32), (node.kind,)  # an array's name says all
    inside, names = _types(node.content, own)
    if node.codes is None and len(names) == 1:
        said = _said(node.kind, (), names, True)
        return (node.lengths == 0).astype(np.int32), (said, node.kind)
    types, keys = inside.tolist(), [0] * len(inside)
    if node.codes is not None:
        keys = node.codes.tolist()
    ends = np.cumsum(node.lengths).tolist()
    codes, places, known = [], dict[str, int](), dict[object, int]()
    for start, end in zip([0, *ends], ends, strict=False):
        row = tuple(types[start:end]), tuple(keys[start:end])
        if row not in known:
            steps = [node.names[key] for key in row[1]] if node.codes is not None else []
            text = _said(node.kind, steps, [names[one] for one in row[0]], node.codes is None)
            known[row] = places.setdefault(text, len(places))
        codes.append(known[row])
    return np.array(codes, dtype=np.int32), tuple(places) or ("",)


def _said(kind: str, steps: Sequence[Step], types: Sequence[str], listed: bool) -> str:
    """The types of one value, the same however its values were packed."""
    few = sorted(set(types))
    if len(few) <= 1 or len(types) > FEW:
        return f"{kind} of {' or '.join(few)}" if few else kind
    if listed:
        return f"{kind} of ({', '.join(types)})"
    pairs = zip(steps, types, strict=True)
    return f"{kind} of ({', '.join(f'{step[1]} {one}' for step, one in pairs)})"  # type: ignore[index]
