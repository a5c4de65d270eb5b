"""What is worth asking of the outputs of two databases: features, the plainest first.

Which questions are asked is learnt from draws that do not judge; what a question answers about an
output never depends on other outputs.
"""

from itertools import combinations, islice, pairwise
from math import gcd, sqrt

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from .features import ABSENT, PLACES, Column, Feature
from .nodes import (
    Exact,
    Fixed,
    Grid,
    Mixed,
    Node,
    Numbers,
    Path,
    Ragged,
    Step,
    Texts,
    entries_of,
    pieces_of,
)
from .outputs import Outputs
from .packing import at, many, reading
from .texts import alphabet, naming_words, telling_letters

MOST_VALUES = 64
"""Numbers of an output that are compared, those first that differ most."""
MOST_KEYS = 64
"""Names of a dict, or spellings of a text, that are asked for one by one."""
MOST_FORMS = 24
"""Forms of texts, and places of an array of texts, that are asked for one by one."""
FEW = 6
"""Numbers of which all pairs are compared, neighbours alone of more; questions of a weak kind;
draws below which remainders say nothing."""
MOST_LETTERS = 64
"""Questions about letters, where texts may be chains of them."""
ALPHABET = 18
"""Texts of so few different letters, a mark of the start included, may be chains of them, whatever
else is read off them."""
MOST_LABELS = 8
"""Labels whose number is asked for, the most frequent ones first."""
MOST_WORDS = 16
"""Words of a text that may name the number beside them."""
LEAVES = (Numbers, Texts, Exact)
LEAST_HELD = 64
"""Of the first 2,000 outputs of a side, how many must have a labelled entry that is asked for."""
SHARE = 0.5
"""Texts of which more than this share are different are no categories."""
LOOKED_AT = 2000
"""Outputs of a side from which it is decided what is asked of all."""
MODULI = (2, 3, 5, 7, 10, 16, 100, 256, 1000)
"""Divisors whose remainders are asked for, beside those that the differences suggest."""
SCARCELY = 4.0
"""Standard errors by which residues must differ before they are asked for."""
COMMON = 0.02
"""Share of the outputs that must have a thing before it is asked for."""


def questions(first: Outputs, second: Outputs) -> list[Feature]:
    """Features of the outputs of two sides: values, then what their form and numbers allow."""
    both = Outputs.concatenate([first, second])
    paths = both.paths()
    if len(paths) > MOST_VALUES:
        paths = _telling(paths, first, second)
    found = [Feature("value", path) for path in paths if not _told(both, path)]
    shown: dict[Feature, None] = {}
    _of_form(both.node, (), shown)
    found += list(shown)
    if len(paths) >= 2:
        inner = [path for path in paths if path and not any(map(_unlike, path))]
        close = list(combinations(inner, 2) if len(inner) <= FEW else pairwise(inner))
        found += [Feature("difference", b, a) for a, b in close]
        found += [Feature("equal", b, a) for a, b in close if _labels(both, a, b)]
        told = [path[:1] for path in paths if path[:1] == (("read", "json"),)]
        whole = told[0] if told else ()
        found += [Feature(kind, whole) for kind in ("sum", "max", "min", "argmax")]
        if _has_missing(both):
            found.append(Feature("missing"))
        found += _firsts(both, first, second)
        found += _pivots(both, first, second)
    found += _after(both, first, second)
    found += _letters(paths, first, second)
    found += [residue for path in paths[:FEW] for residue in _residues(path, first, second)]
    return list(dict.fromkeys(found))


def _told(both: Outputs, path: Path) -> bool:
    """Whether texts there are of no use as categories, and what they say is asked for."""
    texts = _texts_at(both, path)
    if texts is None or not many(texts):
        return False
    names = texts.compact()
    return len(names.names) > SHARE * names.count and reading(names) is not None


def _unlike(step: Step) -> bool:
    """Whether what lies below is of several kinds, so that no difference of two is asked for."""
    return not isinstance(step, int) and step[0] == "read" and step[1] != "json"


def forms(first: Outputs, second: Outputs) -> list[Feature]:
    """Values of the outputs of two sides, and what their form allows to ask; nothing derived."""
    both = Outputs.concatenate([first, second])
    found = dict.fromkeys(Feature("value", path) for path in both.paths())
    _of_form(both.node, (), found)
    return list(found)


def _of_form(node: Node, path: Path, found: dict[Feature, None]) -> None:
    """Questions about type, length and names, where these differ between outputs."""
    if len(found) >= MOST_FORMS + MOST_KEYS:
        return
    match node:
        case Mixed():
            found.setdefault(Feature("type", path))
            lists = [p for _, p in pieces_of(node) if isinstance(p, (Fixed, Ragged, Grid, Texts))]
            if lists:
                found.setdefault(Feature("length", path))
            for _, inner in pieces_of(node):
                _of_form(inner, path, found)
        case Fixed():
            for step, part in node.parts.items():
                _of_form(part, (*path, step), found)
        case Ragged():
            found.setdefault(Feature("length", path))
            if node.codes is not None:
                for name in node.names[:MOST_KEYS]:
                    found.setdefault(Feature("has", (*path, name)))
                found.setdefault(Feature("keys", path))
            if not isinstance(node.content, (Numbers, Texts)):
                for index in range(min(FEW, int(node.lengths.max(initial=0)))):
                    held = node.step(index) if node.codes is None else None
                    if held is not None and len(held[0]):
                        _of_form(held[1], (*path, index), found)
            if node.codes is not None:
                for name in node.names[:MOST_KEYS]:
                    held = node.step(name)
                    if held is not None and len(held[0]):
                        _of_form(held[1], (*path, name), found)
        case Texts():
            if len(set(node.compact().lengths)) > 1 and len(node.compact().names) > 2:
                found.setdefault(Feature("length", path))
            inside = reading(node.compact()) if many(node) else None
            if isinstance(inside, Fixed):
                _of_form(inside, path, found)
            elif isinstance(inside, Ragged):
                for name in inside.names:
                    held = inside.step(name)
                    if held is not None and len(held[0]):
                        _of_form(held[1], (*path, name), found)
        case Exact():
            if node.values is not None:
                found.setdefault(Feature("exact", path))
            elif node.parts is not None:
                _of_form(node.parts, path, found)
        case Numbers():
            if _beyond_doubles(node.values):
                found.setdefault(Feature("exact", path))
        case Grid():
            if _beyond_doubles(node.values):
                for place in islice(np.ndindex(node.values.shape[1:]), MOST_FORMS):
                    found.setdefault(Feature("exact", (*path, *map(int, place))))


def _beyond_doubles(values: Array) -> bool:
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return False
    return max(int(values.max()), -int(values.min())) > 2**53


def _telling(paths: list[Path], first: Outputs, second: Outputs) -> list[Path]:
    """The paths at which the sides differ most, in their order."""
    one, two = first[:LOOKED_AT], second[:LOOKED_AT]
    scores = [_gap(one.column(Feature("value", p)), two.column(Feature("value", p))) for p in paths]
    best = np.argsort(-np.array(scores), kind="stable")[:MOST_VALUES]
    return [paths[i] for i in sorted(best.tolist())]


def _gap(one: Column, two: Column) -> float:
    """How clearly two samples of one feature differ, in standard errors."""
    gaps = [0.0]
    a, b = (np.asarray(column.values, dtype=np.float64) for column in (one, two))
    pooled = np.concatenate([a, b])
    pooled = pooled[~np.isnan(pooled)]
    if len(pooled):
        for cut in np.unique(np.quantile(pooled, (0.1, 0.5, 0.9), method="lower")).tolist():
            gaps.append(_z(int((a <= cut).sum()), len(a), int((b <= cut).sum()), len(b)))
            gaps.append(_z(int((a == cut).sum()), len(a), int((b == cut).sum()), len(b)))
    gaps.append(_z(int(one.labelled().sum()), len(a), int(two.labelled().sum()), len(b)))
    for name in list(dict.fromkeys((*one.names, *two.names)))[:8]:
        counts = [
            int((column.codes == column.names.index(name)).sum())
            if column.codes is not None and name in column.names else 0
            for column in (one, two)
        ]  # fmt: skip
        gaps.append(_z(counts[0], len(a), counts[1], len(b)))
    return max(gaps)


def _z(x: int, n: int, y: int, m: int) -> float:
    share = (x + y + 1) / (n + m + 2)
    spread = sqrt(share * (1 - share) * (1 / max(n, 1) + 1 / max(m, 1)))
    return abs(x / max(n, 1) - y / max(m, 1)) / spread


def _labels(both: Outputs, a: Path, b: Path) -> bool:
    return all(both.column(Feature("value", path)).codes is not None for path in (a, b))


def _letters(paths: list[Path], first: Outputs, second: Outputs) -> list[Feature]:
    """Letters that follow each other in texts of many spellings: all of a small alphabet, and where
    nothing else is read.
    """
    found = []
    for path in paths:
        if any(map(_unlike, path)):
            continue
        sides = [_texts_at(side, path) for side in (first, second)]
        if sides[0] is None or sides[1] is None or not many(sides[0]):
            continue
        names = sides[0].compact()
        chained = alphabet(names) <= ALPHABET or reading(names) is None
        most, least = (MOST_LETTERS, 0.0) if chained else (FEW, SCARCELY)
        pairs = telling_letters(sides[0], sides[1], most, least)
        found += [Feature("count", path, argument=pair) for pair in pairs]
    return found[:MOST_LETTERS]


def _after(both: Outputs, first: Outputs, second: Outputs) -> list[Feature]:
    """Of texts, the numbers after words that move about in them, and the number before each."""
    found: list[Feature] = []
    for path in both.paths():
        texts = None if any(map(_unlike, path)) else _texts_at(both[: 2 * LOOKED_AT], path)
        if texts is not None and many(texts):
            words = naming_words(texts, LEAST_HELD, MOST_WORDS)
            found += [Feature("after", path, (), word, place) for word in words for place in PLACES]
    return _best_of(found, first, second)


def _best_of(found: list[Feature], first: Outputs, second: Outputs) -> list[Feature]:
    """Those that enough of the outputs have and in which the sides differ most, in their order."""
    sides = first[:LOOKED_AT], second[:LOOKED_AT]
    often = [one for one in found if any(_often(side.column(one)) for side in sides)]
    # A name of two words has the same numbers after each.
    several = list({_entries_of(one, sides): one for one in reversed(often)}.values())[::-1]
    gaps = [_gap(*(side.column(one) for side in sides)) for one in several]
    best = np.argsort(-np.array(gaps), kind="stable")[:MOST_FORMS]
    return [several[i] for i in sorted(best.tolist())]


def _texts_at(outputs: Outputs, path: Path) -> Texts | None:
    for _, node in at(outputs.node, path):
        if isinstance(node, Texts) and node.count:
            return node
    return None


def _pivots(both: Outputs, first: Outputs, second: Outputs) -> list[Feature]:
    """Of lists whose entries are labelled: the parts of the entries with a common label.

    Asked for are the first, second and third of them and the last; those that tell most are kept.
    """
    found: list[Feature] = []
    # Lists of one length have their entries' paths, and none of their own.
    above = (path[:end] for path in both.paths() for end in range(len(path) + 1))
    for path in dict.fromkeys(above):
        for _, node in at(both.node, path):
            if isinstance(node, Fixed) and (
                not node.listed or isinstance(node.parts.get(0), LEAVES)
            ):
                continue
            entries = entries_of(node)
            if entries is not None and entries[1].count:
                found += _pivots_of(path, Outputs(entries[1], entries[1].count))
    return _best_of(found, first, second)


def _entries_of(feature: Feature, sides: tuple[Outputs, ...]) -> bytes:
    columns = [side.column(feature) for side in sides]
    codes = [column.labelled() if column.codes is None else column.codes for column in columns]
    return b"".join(np.ascontiguousarray(part, dtype=np.float64).tobytes()
                    for column, code in zip(columns, codes, strict=True)
                    for part in (column.values, code))  # fmt: skip


def _often(column: Column) -> bool:
    """Whether enough of the outputs have it."""
    return int((~column.labelled()).sum()) >= LEAST_HELD


def _pivots_of(path: Path, content: Outputs) -> list[Feature]:
    content = content[:: 1 + len(content) // (8 * LOOKED_AT)]
    inner = [p for p in content.paths() if p and not _is_words(p)]
    labels = [p for p in content.paths() if len(p) == 1]
    for label in labels:
        column = content.column(Feature("value", label))
        names: list[float | str]
        if column.codes is not None and (column.codes >= 0).all():
            names = list(column.names)
            counts = np.bincount(column.codes, minlength=len(names))
        elif column.codes is None:
            distinct, counts = np.unique(np.asarray(column.values, float), return_counts=True)
            names = distinct.tolist()
        else:
            continue
        ranked = np.argsort(-counts, kind="stable")[:MOST_LABELS].tolist()
        common = [names[i] for i in ranked if counts[i] >= 8 and names[i] != ABSENT]
        if 2 * counts[ranked].sum() < counts.sum() or not common:
            continue
        parts = [p for p in inner if p != label][:2]
        return [
            Feature("labelled", path, (label[0], *part), name, place)
            for name in common for part in parts for place in PLACES
        ]  # fmt: skip
    return []


def _is_words(path: Path) -> bool:
    return path[-1] == ("read", "words")


def _has_missing(both: Outputs) -> bool:
    counts = both.column(Feature("missing")).values
    return bool(len(counts)) and bool(counts.min() != counts.max())


def _firsts(both: Outputs, first: Outputs, second: Outputs) -> list[Feature]:
    """Where a value that is common in lists first comes."""
    found = []
    for _, node in pieces_of(both.node):
        content: Outputs | None = None
        if isinstance(node, Ragged) and node.codes is None and node.content.count:
            content = Outputs(node.content, node.content.count)
        elif isinstance(node, Grid) and node.values.ndim == 2 and node.values.size:
            content = Outputs(Numbers(node.inner, node.values.reshape(-1)), node.values.size)
        elif isinstance(node, Fixed) and node.listed and 2 < len(node.parts) <= MOST_VALUES:
            parts = [Outputs(part, node.size)[:LOOKED_AT] for part in node.parts.values()]
            content = Outputs.concatenate(parts)
        if content is not None:
            # Every so many, so that no place in the list is preferred.
            column = content[:: 1 + len(content) // (8 * LOOKED_AT)].column(Feature())
            found += [Feature("first", (), argument=value) for value in _common(column)]
    return found[:4]


def _common(column: Column) -> list[float | str]:
    size = len(column.values)
    least = max(COMMON * size, 8)
    found: list[tuple[int, float | str]] = []
    if column.codes is not None:
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.names))
        found += [(int(n), name) for n, name in zip(counts, column.names, strict=True)]
    numbers = np.asarray(column.values, dtype=np.float64)[~column.labelled()]
    distinct, counts = np.unique(numbers, return_counts=True)
    often = counts >= least
    found += zip(counts[often].tolist(), distinct[often].tolist(), strict=True)
    kept = [pair for pair in found if pair[0] >= least]
    if len(kept) < 2 and not (kept and kept[0][0] < 0.9 * size):
        return []
    return [value for _, value in sorted(kept, key=lambda pair: -pair[0])[:3]]


def _residues(path: Path, first: Outputs, second: Outputs) -> list[Feature]:
    """Remainders of whole numbers in which the sides differ clearly, two at most."""
    looked = [side[:LOOKED_AT] for side in (first, second)]
    sides = [_whole(side.column(Feature("value", path))) for side in looked]
    seen = np.concatenate(sides)
    if min(map(len, sides)) < FEW or len(np.unique(seen)) < 4:
        return []
    steps = [_step(side) for side in sides]
    moduli = [step for step in dict.fromkeys(steps) if 1 < step < 2**53]
    found: list[tuple[float, int]] = []
    for modulus in dict.fromkeys((*moduli, *MODULI)):
        feature = Feature("residue", path, argument=modulus)
        columns = [side.column(feature) for side in looked]
        gap = _residue_gap(columns, modulus)
        if gap > SCARCELY:
            found.append((gap, modulus))
    if not found:
        return []
    best = max(gap for gap, _ in found)
    # The step of a lattice that only one side keeps to says most; else the smallest modulus that
    # tells as much is the plainest.
    kept = [modulus for _, modulus in found if modulus in moduli]
    rest = sorted(modulus for gap, modulus in found if gap > 0.9 * best and modulus not in moduli)
    good = (kept + rest)[:2]
    return [Feature("residue", path, argument=modulus) for modulus in good]


def _residue_gap(columns: list[Column], modulus: int) -> float:
    values = [np.asarray(column.values, dtype=np.float64) for column in columns]
    values = [side[~np.isnan(side)] for side in values]
    distinct, places = np.unique(np.concatenate(values), return_inverse=True)
    ours = np.bincount(places[: len(values[0])], minlength=len(distinct))
    theirs = np.bincount(places[len(values[0]) :], minlength=len(distinct))
    common = np.argsort(-(ours + theirs), kind="stable")[:16]
    n, m = (len(column.values) for column in columns)
    pairs = zip(ours[common].tolist(), theirs[common].tolist(), strict=True)
    return max((_z(x, n, y, m) for x, y in pairs), default=0.0)


def _whole(column: Column) -> NDArray[np.float64]:
    values = np.asarray(column.values, dtype=np.float64)
    values = values[np.isfinite(values)]
    return values[np.floor(values) == values]


def _step(values: NDArray[np.float64]) -> int:
    """The greatest step of a lattice that holds all the values."""
    whole = [int(value) for value in np.unique(values).tolist()]
    return gcd(*(value - whole[0] for value in whole)) if whole else 0
