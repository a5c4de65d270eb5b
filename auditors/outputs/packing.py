"""From Python values to nodes, and to what lies at a path of them.

Every value is taken apart once, whole columns at a time. What a text says is a value like any
other, so that paths lead on into it: `output.json['count']`, `output.numbers[0]`. Read are the
different texts of a node, once for all questions about them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Output
from ..errors import ContractError
from .kinds import (
    DEEPEST,
    Kind,
    key_text,
    kind_of,
    nearest,
    number_text,
    text_of_last_resort,
    type_name,
)
from .nodes import (
    MANY_SHAPES,
    Exact,
    Fixed,
    Grid,
    Mixed,
    Node,
    Numbers,
    Path,
    Piece,
    Ragged,
    Step,
    Texts,
    joined,
    mixed,
    of_forms,
    pieces_of,
)
from .tables import attributes
from .texts import said, spelled
from .untyped import untyped

AXES = 32
"""Axes of an array that is read; numpy stacks at most 63."""
CHECKED_AT = 2
"""Outputs of more levels than this are searched for themselves before they are taken apart."""
MOST_PARTS = 20_000_000
"""Parts of the outputs of one block, some gigabytes as columns."""
MOST_STEPS = 1_000_000
"""Parts of outputs visited to see how deep they are, for each thousand outputs."""
BIGGEST = 2**63
"""Whole numbers from here on are no int64; they are texts, with a double beside them."""
SAFE_KEYS = ({str}, {int}, {bytes})
FEW_KEYS = 64
"""Entries of a dict or tuple up to which the outputs are taken apart column by column."""
FLAT = frozenset({bool, int, float, str, bytes, type(None)})
FEW = 16
"""Different strings that are found by comparing before all are sorted."""
CATEGORIES = 32
"""Texts of more different spellings than this are read."""
AT_ONCE = 512
"""Texts read at once: what they say takes far more room than what is kept of it."""
MOST_PATHS = 256
"""Parts of an output that are looked at; an array of more numbers is looked at in part."""
MOST_READ = 6
"""Texts within texts that are read."""


def vectorised(raw: Output, count: int) -> Node:
    """What run(database, rng, size=count) returned, see `Outputs.of`."""
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
    parts: dict[Step, Output] | None = None
    if kind.how == "list" and isinstance(raw, tuple):
        parts = dict(enumerate(raw))
    elif kind.how in ("mapping", "object"):
        parts = kind.read(raw)
    if not parts:
        raise _wrong_shape(f"a single {type(raw).__name__}", count)
    inner = {step: vectorised(part, count) for step, part in parts.items()}
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


def packed(values: list[Output], depth: int = 0) -> Node:
    """The values as a node.

    Raises ContractError for values that hold themselves, are nested beyond 60 levels, have yet to
    be computed (generators, coroutines) or cannot be read.
    """
    types = set(map(type, values))
    if depth == CHECKED_AT and not types <= FLAT:
        _check_depth(values, depth)
    if depth > DEEPEST:
        raise _too_deep(values[0])
    if len(types) == 1:
        return _alike(kind_of(types.pop()), values, depth)
    if not types:
        return Numbers("float", np.zeros(0))
    order: dict[type, int] = {}
    tags = np.array([order.setdefault(kind, len(order)) for kind in map(type, values)])
    found = []
    for kind, tag in order.items():
        places = np.flatnonzero(tags == tag)
        inner = _alike(kind_of(kind), [values[i] for i in places.tolist()], depth)
        found.append((places, inner))
    return of_forms(len(values), found)


def _check_depth(values: list[Output], depth: int) -> None:
    """Refuse what holds itself or is nested too deep, before it is taken apart for ever."""
    steps = 0
    for value in values:
        waiting: list[Iterator[object]] = [iter((value,))]
        above: list[int] = []
        while waiting:
            following = next(waiting[-1], _END)
            if following is _END:
                waiting.pop()
                if above:
                    above.pop()
                continue
            steps += 1
            inner = _parts_within(following)
            if not inner:
                continue
            if id(following) in above:
                raise ContractError(
                    f"the mechanism returned a {type_name(type(following))} that holds itself; "
                    "return plain values"
                )
            if depth + len(waiting) > DEEPEST:
                raise _too_deep(value)
            if steps > MOST_STEPS * (1 + len(values) // 1000):
                raise _too_large()
            waiting.append(iter(inner))
            above.append(id(following))


_END = object()


def _too_deep(value: Output) -> ContractError:
    return ContractError(
        f"the mechanism returned a {type_name(type(value))} nested more than {DEEPEST} deep; "
        "return something flatter"
    )


def _too_large() -> ContractError:
    return ContractError(
        f"the mechanism returned outputs of more than {MOST_PARTS:,} parts in one block; return "
        "something smaller, such as the numbers that are to be published"
    )


def _parts_within(value: Output) -> list[object]:
    if isinstance(value, dict):
        return list(dict.values(value))
    if isinstance(value, list):
        return list.copy(value)
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    if type(value) in FLAT:
        return []
    kind = kind_of(type(value))
    return list(attributes(value).values()) if kind.how == "object" else []


def _alike(kind: Kind, values: list[Output], depth: int) -> Node:
    """Values of one type."""
    match kind.how:
        case "float":
            return Numbers(kind.name, np.array([kind.read(v) for v in values] if not kind.plain
                                               else values, dtype=np.float64))  # fmt: skip
        case "bool":
            return Numbers(kind.name, np.array(values, dtype=np.bool_))
        case "int":
            return _integers(kind, values)
        case "generic":
            return _numbers_of(np.array(values), kind.name)
        case "array":
            return _arrays(kind, [kind.read(value) for value in values], depth)
        case "text":
            return _texts(kind, values)
        case "exact":
            return _exact(kind, values, depth)
        case "list":
            return _lists(kind, values, depth)
    if type(values[0]) is dict:
        return _dicts(kind, values, depth)
    return _objects(kind, values, depth)


def _numbers_of(array: Array, name: str) -> Node:
    """A numpy array of numbers; what a double does not hold exactly keeps a text of its own."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        near = array.astype(np.float64)
        return Exact(_coded(name, [str(value) for value in array]), near)
    native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return Numbers(name, native)


def _integers(kind: Kind, values: list[Output]) -> Node:
    whole = values if kind.plain else [kind.read(value) for value in values]
    try:
        return Numbers(kind.name, np.array(whole, dtype=np.int64))
    except OverflowError:
        pass
    large = np.array([not -BIGGEST <= value < BIGGEST for value in whole])
    texts = _coded(kind.name, [number_text(v) for v in whole if not -BIGGEST <= v < BIGGEST])
    near = np.array([nearest(v) for v in whole if not -BIGGEST <= v < BIGGEST])
    small = [value for value in whole if -BIGGEST <= value < BIGGEST]
    found: list[tuple[NDArray[np.intp], Node]] = [(np.flatnonzero(large), Exact(texts, near))]
    if small:
        numbers = Numbers(kind.name, np.array(small, dtype=np.int64))
        found.insert(0, (np.flatnonzero(~large), numbers))
    return mixed(len(whole), found)


def _coded(kind: str, texts: list[str], unread: str = "") -> Texts:
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return Texts(kind, np.array(codes, dtype=np.int32), tuple(places), (), unread)


def _texts(kind: Kind, values: list[Output]) -> Texts:
    read = kind.read
    if kind.plain and type(values[0]) in (str, bytes, type(None)):
        # Their equality is exact, so that only what differs is written out.
        places: dict[Output, int] = {}
        codes = [places.setdefault(value, len(places)) for value in values]
        pairs = [read(value) for value in places]
    else:
        texts: dict[tuple[str, int], int] = {}
        codes = [texts.setdefault(read(value), len(texts)) for value in values]
        pairs = list(texts)
    names, lengths = zip(*pairs, strict=True)
    sizes = lengths if max(lengths) >= 0 else ()
    return Texts(kind.name, np.array(codes, dtype=np.int32), names, sizes, kind.unread)


def _exact(kind: Kind, values: list[Output], depth: int) -> Exact:
    numbers, texts, parts = zip(*map(kind.read, values), strict=True)
    steps = list(parts[0])
    inner: dict[Step, Node] = {s: packed([p[s] for p in parts], depth + 1) for s in steps}
    near = None if numbers[0] is None else np.array(numbers, dtype=np.float64)
    fixed = Fixed(kind.name, inner, len(values), listed=False, sized=False)
    return Exact(_coded(kind.name, list(texts)), near, fixed)


def _lists(kind: Kind, values: list[Output], depth: int) -> Node:
    if not kind.plain or type(values[0]) not in (list, tuple):
        values = [kind.read(value) for value in values]
    sizes = set(map(len, values))
    if len(sizes) == 1:
        width = sizes.pop()
        columns = zip(*values, strict=True) if width <= FEW_KEYS else None
        if columns is not None:
            parts: dict[Step, Node] = {
                i: packed(list(column), depth + 1) for i, column in enumerate(columns)
            }
            return Fixed(kind.name, parts, len(values), listed=True)
    content = _flat(values)
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    return Ragged(kind.name, lengths, packed(content, depth + 1))


def _flat(values: Iterable[Iterable[object]]) -> list[object]:
    content = list(chain.from_iterable(values))
    if len(content) > MOST_PARTS:
        raise _too_large()
    return content


def _dicts(kind: Kind, values: list[dict[Output, Output]], depth: int) -> Node:
    """Dicts: by column where all have the same keys in the same order."""
    first = tuple(values[0])
    if set(map(type, first)) in SAFE_KEYS and len(first) <= FEW_KEYS:
        kinds = set(map(type, chain.from_iterable(values)))
        keys = set(map(tuple, values)) if kinds == {type(first[0])} else set()
        if len(keys) == 1:
            columns = zip(*map(dict.values, values), strict=True)
            parts: dict[Step, Node] = {
                ("key", key_text(key)): packed(list(column), depth + 1)
                for key, column in zip(first, columns, strict=True)
            }
            return Fixed(kind.name, parts, len(values), listed=False)
    return named_parts(kind, [_steps(value) for value in values], depth)


def _steps(value: dict[Output, Output]) -> dict[Step, Output]:
    # Texts of plain strings are what most keys are.
    if set(map(type, value)) <= {str}:
        return {("key", repr(key)): item for key, item in value.items()}
    found: dict[Step, Output] = kind_of(dict).read(value)
    return found


def _objects(kind: Kind, values: list[Output], depth: int) -> Node:
    try:
        parts = [kind.read(value) for value in values]
    except ContractError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the output's own code raises
        raise ContractError(
            f"the mechanism returned a {kind.name} that could not be read: "
            f"{type(error).__name__}; return numbers, strings, None, or containers of them"
        ) from None
    bare = [i for i, part in enumerate(parts) if part is None]
    if not bare:
        return named_parts(kind, parts, depth)
    found: list[tuple[NDArray[np.intp], Node]] = []
    texts = [text_of_last_resort(values[i]) for i in bare]
    for unread in sorted({reason for _, reason in texts}):
        inside = [(i, text) for i, (text, why) in zip(bare, texts, strict=True) if why == unread]
        places = np.array([i for i, _ in inside])
        found.append((places, _coded(kind.name, [text for _, text in inside], unread)))
    rest = [i for i, part in enumerate(parts) if part is not None]
    if rest:
        found.append((np.array(rest), named_parts(kind, [parts[i] for i in rest], depth)))
    return of_forms(len(values), found)


def named_parts(kind: Kind, parts: list[dict[Step, Output]], depth: int) -> Fixed | Ragged:
    """Values that were taken apart already, of one type."""
    forms = set(map(tuple, parts))
    if len(forms) == 1:
        steps = forms.pop()
        columns = [list(map(itemgetter(step), parts)) for step in steps]
        inner = {
            step: packed(column, depth + 1) for step, column in zip(steps, columns, strict=True)
        }
        return Fixed(kind.name, inner, len(parts), listed=False, sized=kind.sized)
    places: dict[Step, int] = {}
    codes = [places.setdefault(step, len(places)) for part in parts for step in part]
    content = _flat(map(dict.values, parts))
    return Ragged(
        kind.name,
        np.array([len(part) for part in parts], dtype=np.int64),
        packed(content, depth + 1),
        np.array(codes, dtype=np.int32),
        tuple(places),
        kind.sized,
    )


def array_name(prefix: str, dtype: np.dtype[np.generic]) -> str:
    """How events name an array's type."""
    swapped = "" if dtype.isnative or dtype.names is not None else ", bytes swapped"
    return f"{prefix} of {dtype.name if dtype.names is None else dtype}{swapped}"


def entry_name(dtype: np.dtype[np.generic]) -> str:
    """The type of an array's entries."""
    return f"numpy.{dtype.type.__name__}"


def _arrays(kind: Kind, arrays: list[Array], depth: int) -> Node:
    forms: dict[tuple[tuple[int, ...], np.dtype[np.generic]], list[int]] = {}
    for place, array in enumerate(arrays):
        forms.setdefault((array.shape, array.dtype), []).append(place)
    found = []
    vectors: dict[np.dtype[np.generic], list[int]] = {}
    for (shape, dtype), places in forms.items():
        if len(shape) == 1 and len(forms) > MANY_SHAPES and dtype.kind in "biuf":
            vectors.setdefault(dtype, []).extend(places)
            continue
        if len(shape) > AXES:
            raise ContractError(
                f"the mechanism returned an array of {len(shape)} axes and {AXES} can be read; "
                "return it with fewer, for instance as array.ravel()"
            )
        # Stacking brings the bytes into the order of this machine.
        stacked = np.stack([arrays[i] for i in places]).astype(dtype, copy=False)
        found.append((np.array(places), array_node(stacked, kind.name, depth)))
    for dtype, places in vectors.items():
        chosen = [arrays[i] for i in places]
        lengths = np.array([len(array) for array in chosen], dtype=np.int64)
        content = _numbers_of(np.concatenate(chosen), entry_name(dtype))
        name = array_name(kind.name, dtype)
        found.append((np.array(places), Ragged(name, lengths, content)))
    return of_forms(len(arrays), found)


def array_node(stacked: Array, name: str, depth: int) -> Node:
    """Arrays of one shape and dtype, stacked along the first axis."""
    dtype = stacked.dtype
    label = array_name(name, dtype)
    if stacked.ndim == 1:
        inner = scalars(stacked, depth)
        if isinstance(inner, (Numbers, Texts)):
            # Numpy gives such arrays where a number is meant; only their type is another.
            return replace(inner, kind=f"{label}, no axes")
        return Fixed(f"{label}, no axes", {("field", "item()"): inner}, len(stacked), False, False)
    if dtype.kind in "biuf" and dtype.itemsize <= 8:
        if not dtype.isnative:
            stacked = stacked.astype(dtype.newbyteorder("="))
        return Grid(label, entry_name(dtype), stacked)
    flat = scalars(stacked.reshape(-1), depth)
    for size in reversed(stacked.shape[1:]):
        above = flat.count // size if size else 0
        lengths = np.full(above, size, dtype=np.int64)
        flat = Ragged(label, lengths, flat)
    if flat.count != len(stacked):  # an axis of no entries
        shape = ("field", "shape")
        texts = _coded("tuple", [str(stacked.shape[1:])] * len(stacked))
        return Fixed(label, {shape: texts}, len(stacked), listed=False)
    return flat


def scalars(array: Array, depth: int) -> Node:
    """The entries of a flat array."""
    if array.dtype.names is not None:
        parts: dict[Step, Node] = {}
        for field in array.dtype.names:
            column = array[field]
            parts["key", repr(field)] = (
                scalars(column, depth + 1)
                if column.ndim == 1
                else array_node(column, "numpy.ndarray", depth + 1)
            )
        return Fixed("numpy.record", parts, len(array), listed=False)
    if array.dtype.kind in "biuf":
        return _numbers_of(array, entry_name(array.dtype))
    if array.dtype.kind == "O":
        return packed(array.tolist(), depth + 1)
    if array.dtype.kind in "US":
        return _text_array(array)
    return packed(list(array), depth + 1)


def _text_array(array: Array) -> Texts:
    kind = kind_of(array.dtype.type)
    left = np.ones(len(array), dtype=bool)
    codes = np.zeros(len(array), dtype=np.int32)
    found: list[object] = []
    # A few different strings are found by comparing; sorting them all is much slower.
    while len(found) < FEW and len(array):
        first = int(np.argmax(left))
        if not left[first]:
            break
        same = array == array[first]
        codes[same] = len(found)
        found.append(array[first])
        left &= ~same
    if left.any():
        distinct, places = np.unique(array[left], return_inverse=True)
        codes[left] = places + len(found)
        found += list(distinct)
    pairs = [kind.read(value) for value in found] or [("", 0)]
    names, lengths = zip(*pairs, strict=True)
    return Texts(kind.name, codes, names, lengths)


def unread(texts: Texts) -> Texts:
    """Those of the texts off which nothing could be read."""
    said_of = reading(texts)
    if said_of is None:
        return texts
    silent = np.zeros(texts.count, dtype=bool)
    for rows, inner in pieces_of(said_of):
        places = slice(None) if rows is None else rows
        if isinstance(inner, Ragged):
            silent[places] = inner.lengths == 0
        else:
            silent[places] = isinstance(inner, Fixed) and not inner.parts
    return texts.take(np.flatnonzero(silent)).compact()


def many(texts: Texts) -> bool:
    """Whether the texts have so many spellings that what they say is asked for."""
    return len(texts.compact().names) > CATEGORIES


def reading(texts: Texts) -> Node | None:
    """What the texts say, as one node of parts; None if nothing of any could be read."""
    if not texts.read:
        texts.read.append(_read(texts.names))
    node = texts.read[0]
    return None if node is None else node.take(texts.codes)


def _read(names: tuple[str, ...]) -> Node | None:
    found: list[Node] = []
    some = False
    # A few at once, since what they say is let go as soon as it is packed.
    for start in range(0, len(names), AT_ONCE):
        parts: list[dict[Step, Output]] = [
            {("read", how): value for how, value in said(spelled(name)).items()}
            for name in names[start : start + AT_ONCE]
        ]
        some = some or any(parts)
        found.append(named_parts(kind_of(dict), parts, CHECKED_AT))
    # In what type a parser holds a number is no part of what the text says.
    return untyped(joined(found)) if some else None


def at(node: Node, path: Path) -> list[Piece]:
    """What the outputs have at the path, by form; outputs without it are in no piece."""
    pieces = list(pieces_of(node))
    for step in path:
        pieces = [new for rows, inner in pieces for new in _stepped(rows, inner, step)]
    return pieces


def _stepped(rows: NDArray[np.intp] | None, node: Node, step: Step) -> list[Piece]:
    if isinstance(node, Exact) and node.parts is not None:
        node = node.parts
    if isinstance(node, Texts) and not isinstance(step, int) and step[0] == "read":
        found = reading(node)
        if found is None:
            return []
        node = found
    if isinstance(node, Fixed):
        part = node.parts.get(step)
        return [] if part is None else list(pieces_of(part, rows))
    if isinstance(node, Grid):
        part = node.step(step)
        return [] if part is None else list(pieces_of(part, rows))
    if isinstance(node, Ragged):
        inside = node.step(step)
        if inside is not None and len(inside[0]):
            places, part = inside
            return list(pieces_of(part, places if rows is None else rows[places]))
    return []


def paths_of(node: Node) -> list[Path]:
    """Paths of the numbers and labels in the values, in order, as many as are looked at."""
    found: dict[Path, None] = {}
    _collect(node, (), found)
    return list(found)[:MOST_PATHS]


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
