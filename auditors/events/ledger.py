"""What is kept of the draws that teach: counts that add up, and the codes of the first of them.

Bins are fixed on the first draws. From then on every draw is turned once into one byte a column,
its bins are counted, and the draw itself is let go, so that memory does not grow with the draws.
Draws of even and odd place are counted apart: what one fold teaches, the other checks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column, Feature
from ..outputs.nodes import Grid
from ..outputs.outputs import Outputs
from .bins import Bins, bins_of_group, looks_discrete, numbers_of

Codes = NDArray[np.uint8]
Counts = NDArray[np.int64]
Sides = tuple[Outputs, Outputs]
Asking = Callable[[Outputs, Outputs], list[Feature]]
"""What says which features are worth asking of the outputs of two sides."""

FEW = 6
"""Values up to which every two of them are compared, whatever they are."""
BLOCK = 32_768
"""Draws a side coded at a time."""
AT_ONCE = 4096
"""Outputs up to which reading every so many numbers takes no longer."""
CODES = 16_000_000
"""Bytes of codes that are kept for a side."""
MOST_KEPT = 524_288
"""Draws of a side whose codes are kept, at most."""
FIXED, FIXED_VALUES = 16_384, 131_072
"""Weighed draws of a side that fix the bins, of few columns as many as have so many values: 50,000
of ten coordinates took .4 s of an audit's 3.1 to sort, and taught nothing more."""
BUCKETS = 65_536
"""Buckets that shapes of outputs are hashed into."""
ALIKE = 0.35
"""Interquartile ranges that the medians of columns of like values may lie apart."""
AS_WIDE = 0.5
"""Part of its interquartile range by which that of a column of like values may differ."""

_MIXER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the upper 16 bits of a product with it are the bucket."""
_NOTHING = np.zeros((2, 2, 0), dtype=np.int64)
"""The counts (folds, sides, bins) of a ledger without any draws."""


@dataclass(slots=True)
class Counted:
    """A column's bins and its counts of shape (2 folds, 2 sides, bins)."""

    bins: Bins
    counts: Counts
    group: int = -1
    """Columns of one group have the same bins; -1 for a column on its own."""


@dataclass(slots=True)
class Patterns:
    """Whole outputs as categories: which atom, label or number each value of an output is.

    `keys[j]` says what a bin of column j adds to the key of a pattern. Where the keys are few
    enough they are the buckets; otherwise they are mixed and folded, and rare patterns may share
    a bucket.
    """

    columns: tuple[int, ...]
    keys: tuple[NDArray[np.uint64], ...]
    exact: bool
    counts: Counts
    """Shape (2 folds, 2 sides, buckets)."""

    @classmethod
    def of(cls, columns: dict[int, Bins], *, gaps: bool) -> "Patterns | None":
        """Patterns of these columns; None when no column is ever anything but a number.

        `gaps` says that NaN was seen, which many mechanisms answer where they have no number.
        """
        symbols = {place: bins.symbols() for place, bins in columns.items()}
        symbols = {place: found for place, found in symbols.items() if found.max() > 0}
        sizes = [int(found.max()) + 1 for found in symbols.values()]
        plain = all(bins.discrete is False and _only_rest(bins) for bins in columns.values())
        if not sizes or (plain and not gaps):
            return None
        exact = float(np.prod(np.array(sizes, dtype=float))) <= BUCKETS
        rng = np.random.default_rng(20_261_122)
        keys, radix = [], 1
        for found, size in zip(symbols.values(), sizes, strict=True):
            if exact:
                keys.append((found * radix).astype(np.uint64))
                radix *= size
            else:
                keys.append(rng.integers(0, 2**62, size, dtype=np.uint64)[found])
        return cls(tuple(symbols), tuple(keys), exact, np.zeros((2, 2, BUCKETS), dtype=np.int64))

    def buckets(self, codes: dict[int, Codes]) -> NDArray[np.uint16]:
        """The bucket of every output, from the codes of its columns."""
        total = self.keys[0].take(codes[self.columns[0]])
        for place, key in zip(self.columns[1:], self.keys[1:], strict=True):
            total += key.take(codes[place])
        if not self.exact:
            total *= _MIXER
            total >>= np.uint64(48)
        return total.astype(np.uint16)


def _any_gaps(columns: dict[int, Bins], sides: Sides) -> bool:
    """Whether any of these columns has a NaN among the draws that fix the bins."""
    features = [bins.feature for bins in columns.values()]
    return any(
        bool(np.isnan(numbers_of(side.column(feature))).any())
        for feature in features
        for side in sides
    )


def _only_rest(bins: Bins) -> bool:
    """Whether a column is numbers and nothing else, NaN and values never seen apart."""
    return not bins.labels and all(atom is None for atom in bins.atoms)


@dataclass(frozen=True, slots=True)
class Tallies:
    """What draws of one side add to a ledger, counted where they were made.

    `counts` has shape (2 folds, bins of all counted columns, one column after the other); `codes`
    has a row for each column whose codes are kept, and `buckets` the kept buckets. Patterns are
    counted as the `places` of a (fold, bucket) that was seen, and how many `times`.
    """

    size: int
    counts: NDArray[np.unsignedinteger]
    codes: Codes
    buckets: NDArray[np.uint16]
    places: NDArray[np.uint32]
    times: NDArray[np.unsignedinteger]


@dataclass(slots=True)
class Ledger:
    """Counts of all draws, and codes of the first, for bins fixed on `sides`."""

    columns: list[Counted]
    patterns: Patterns | None
    draws: int = 0
    most: int = MOST_KEPT
    kept: list[tuple[list[Codes], list[Codes]]] = field(default_factory=list)
    """For every column the codes of the first draws of each side, in batches."""
    buckets: tuple[list[NDArray[np.uint16]], list[NDArray[np.uint16]]] = field(
        default_factory=lambda: ([], [])
    )
    coded: set[int] = field(default_factory=set)
    """The columns whose draws are still counted."""
    wanted: set[int] = field(default_factory=set)
    """Those of them whose codes are kept for scores over many columns."""
    weights: NDArray[np.float64] | None = None
    """What each kept draw counts for either side, shape (2, draws); None where it is one draw of
    its own side. Both sides have the same kept draws then."""

    @classmethod
    def of_weighed(cls, outputs: Outputs, weights: NDArray[np.float64], ask: Asking) -> "Ledger":
        """A ledger of draws that count for both sides, as many of one database as of the other.

        Counts are the sums of weights of shape (2 sides, draws), rounded.
        """
        half, rows = len(outputs) // 2, len(outputs)
        some = max(FIXED, FIXED_VALUES // max(len(outputs[:1].paths()), 1))
        made = cls.fixed_on((outputs[:half][:some], outputs[half:][:some]), ask)
        made.draws, made.most, made.weights = rows, rows, weights
        codes, buckets = made._coded(outputs)
        for place, found in codes.items():
            made.columns[place].counts += _weighed(found, weights, made.columns[place].bins.size)
            if place in made.wanted:
                made.kept[place] = ([found], [found])
        if made.patterns is not None:
            made.patterns.counts += _weighed(buckets, weights, BUCKETS)
            made.buckets = ([buckets], [buckets])
        return made

    @classmethod
    def fixed_on(cls, sides: Sides, ask: Asking) -> "Ledger":
        """A ledger without draws, whose bins these draws fix."""
        columns, values = _columns(sides, ask(*sides))
        wanted = _scored(columns)
        named = {i: columns[i].bins for i in values}
        patterns = Patterns.of(named, gaps=_any_gaps(named, sides)) if values else None
        ledger = cls(columns, patterns)
        ledger.coded, ledger.wanted = set(range(len(columns))), wanted
        ledger.most = min(MOST_KEPT, CODES // max(1, len(wanted) + 2))
        ledger.kept = [([], []) for _ in columns]
        return ledger

    def add(self, first: Outputs, second: Outputs) -> None:
        """Count the draws; their place among all draws says which fold they belong to."""
        size = min(len(first), len(second))
        for start in range(0, size, BLOCK):
            part = slice(start, min(start + BLOCK, size))
            for side, outputs in enumerate((first, second)):
                self._count(side, outputs[part], self.draws + start)
        self.draws += size

    def _count(self, side: int, outputs: Outputs, start: int) -> None:
        room = max(0, self.most - start)
        codes, buckets = self._coded(outputs)
        for place, found in codes.items():
            _tally(self.columns[place].counts[:, side], found, start)
            if room and place in self.wanted:
                self.kept[place][side].append(found[:room].copy() if room < len(found) else found)
        if self.patterns is not None:
            _tally(self.patterns.counts[:, side], buckets, start)
            if room:
                self.buckets[side].append(buckets[:room])

    def _coded(self, outputs: Outputs) -> tuple[dict[int, Codes], NDArray[np.uint16]]:
        """The codes of every counted column, and the buckets if patterns are counted."""
        outputs, codes = columnwise(outputs), dict[int, Codes]()
        for place in sorted(self.coded):
            bins = self.columns[place].bins
            codes[place] = bins.codes(outputs.column(bins.feature))
        none = np.zeros(0, dtype=np.uint16)
        return codes, none if self.patterns is None else self.patterns.buckets(codes)

    def blank(self) -> "Ledger":
        """The same bins without any draws: what is needed to count draws elsewhere."""
        columns = [replace(column, counts=_NOTHING) for column in self.columns]
        patterns = self.patterns and replace(self.patterns, counts=_NOTHING)
        return Ledger(
            columns, patterns, most=self.most, coded=set(self.coded), wanted=set(self.wanted)
        )

    def tallies(self, outputs: Outputs, start: int) -> Tallies:
        """What these draws add; `start` is the place of the first among all draws of its side."""
        codes, buckets = self._coded(outputs)
        room, size = max(0, self.most - start), len(outputs)
        narrow = np.uint16 if size < 2**16 else np.uint32
        counts = [np.zeros((2, self.columns[place].bins.size), narrow) for place in codes]
        for counted, found in zip(counts, codes.values(), strict=True):
            _tally(counted, found, start)
        kept = [found[:room] for place, found in codes.items() if place in self.wanted]
        fold = (np.arange(start, start + len(buckets), dtype=np.uint32) % 2) * np.uint32(BUCKETS)
        places, times = np.unique(fold + buckets, return_counts=True)
        return Tallies(
            size,
            np.concatenate([np.zeros((2, 0), narrow), *counts], axis=1),
            np.stack(kept) if kept else np.zeros((0, 0), dtype=np.uint8),
            buckets[:room],
            places,
            times.astype(narrow),
        )

    def enter(self, side: int, tallies: Tallies) -> None:
        """Add what was counted elsewhere; those of a side come in the order of their draws."""
        kept, end = iter(tallies.codes), 0
        for place in sorted(self.coded):
            counts = self.columns[place].counts[:, side]
            start, end = end, end + counts.shape[1]
            counts += tallies.counts[:, start:end]
            if place in self.wanted and tallies.codes.shape[1]:
                self.kept[place][side].append(next(kept))
        if self.patterns is not None:
            fold, bucket = np.divmod(tallies.places, BUCKETS)
            self.patterns.counts[fold, side, bucket] += tallies.times
            if len(tallies.buckets):
                self.buckets[side].append(tallies.buckets)

    def codes(self, place: int) -> tuple[Codes, Codes]:
        """The kept codes of a column, both sides."""
        for batches in self.kept[place]:
            if len(batches) > 1:
                batches[:] = [np.concatenate(batches)]
        first, second = self.kept[place]
        return first[0], second[0]

    def keys(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """The kept buckets of both sides."""
        for batches in self.buckets:
            if len(batches) > 1:
                batches[:] = [np.concatenate(batches)]
        return self.buckets[0][0], self.buckets[1][0]

    @property
    def rows(self) -> int:
        """Draws a side whose codes are kept."""
        return min(self.draws, self.most)

    def forget(self, place: int) -> None:
        """Count a column no more."""
        self.coded.discard(place)
        self.wanted.discard(place)
        self.kept[place] = ([], [])

    def forget_patterns(self) -> None:
        """Count whole outputs no more."""
        self.patterns, self.buckets = None, ([], [])


def columnwise(outputs: Outputs) -> Outputs:
    """The same outputs, with each coordinate's values side by side in memory where they are many.

    Few are as they were, with the columns that were asked for.
    """
    node, many = outputs.node, len(outputs) > AT_ONCE
    if many and isinstance(node, Grid) and node.values.ndim == 2 and node.values.shape[1] > 1:
        return Outputs(replace(node, values=np.asfortranarray(node.values)), len(outputs))
    return outputs


def _tally(counts: NDArray[np.integer], codes: NDArray[np.unsignedinteger], start: int) -> None:
    """Add the codes to the counts of shape (2 folds, bins)."""
    for fold in (0, 1):
        found = np.bincount(codes[(fold - start) % 2 :: 2], minlength=counts.shape[1])
        counts[fold] += found.astype(counts.dtype)


def _weighed(codes: NDArray[np.unsignedinteger], weights: NDArray[np.float64], size: int) -> Counts:
    """Sums of weights of shape (2 folds, 2 sides, bins), rounded."""
    sums = [[np.bincount(codes[fold::2], side[fold::2], size) for side in weights]
            for fold in (0, 1)]  # fmt: skip
    return np.rint(sums).astype(np.int64)


def _columns(sides: Sides, features: list[Feature]) -> tuple[list[Counted], list[int]]:
    """Counted columns of all features that vary, and the places of those that are values."""
    asked = {feature: (sides[0].column(feature), sides[1].column(feature)) for feature in features}
    values = [feature for feature in features if feature.kind == "value"]
    alone = len(values) == 1
    if _all_real([asked[feature] for feature in values]):
        unwanted: tuple[str, ...] = ()
    else:
        # Differences of labels, atoms and numbers mixed say little that patterns do not.
        unwanted = ("difference",) if len(values) > FEW else ()
    found: list[Counted] = []
    places: list[int] = []
    for group, members in enumerate(_groups(values, asked)):
        for bins in bins_of_group(members, [asked[feature] for feature in members], alone):
            places.append(len(found))
            found.append(_counted(bins, group if len(members) > 1 else -1))
    order = {feature: place for place, feature in enumerate(features)}
    ranked = sorted(places, key=lambda place: order[found[place].bins.feature])
    found = [found[place] for place in ranked]
    places = list(range(len(found)))
    for feature in features:
        if feature.kind != "value" and feature.kind not in unwanted:
            for bins in bins_of_group((feature,), [asked[feature]]):
                found.append(_counted(bins, -1))
    return found, places


def _counted(bins: Bins, group: int) -> Counted:
    return Counted(bins, np.zeros((2, 2, bins.size), dtype=np.int64), group)


def _all_real(columns: list[tuple[Column, Column]]) -> bool:
    for pair in columns:
        if any(column.codes is not None for column in pair):
            return False
        numbers = np.concatenate([numbers_of(column) for column in pair])
        if looks_discrete(*np.unique(numbers, return_counts=True)):
            return False
    return True


def _scored(columns: list[Counted]) -> set[int]:
    """Columns that scores over many of them may use: values, and steps between real neighbours."""
    values = [i for i, c in enumerate(columns) if c.bins.feature.kind == "value"]
    found = set(values)
    found |= {
        i for i, c in enumerate(columns) if c.bins.feature.kind in ("count", "labelled", "after")
    }
    if len(values) > 1 and all(_only_rest(columns[i].bins) for i in values):
        paths = [columns[i].bins.feature.path for i in values]
        steps = {(b, a) for a, b in pairwise(paths)}
        for i, column in enumerate(columns):
            feature = column.bins.feature
            if feature.kind == "difference" and (feature.path, feature.other) in steps:
                found.add(i)
    return found


def _groups(
    values: list[Feature], asked: dict[Feature, tuple[Column, Column]]
) -> list[tuple[Feature, ...]]:
    """Columns of like values together: the same few values, or like location and width."""
    groups: list[tuple[object, list[Feature]]] = []
    for feature in values:
        shape = _shape(asked[feature])
        for other, members in groups:
            if _alike(other, shape):
                members.append(feature)
                break
        else:
            groups.append((shape, [feature]))
    return [tuple(members) for _, members in groups]


def _shape(columns: tuple[Column, Column]) -> tuple[float, float] | frozenset[float] | None:
    numbers = np.concatenate([numbers_of(column) for column in columns])
    numbers = numbers[np.isfinite(numbers)]
    if len(numbers) < 8:
        return None
    distinct, repeats = np.unique(numbers, return_counts=True)
    if looks_discrete(distinct, repeats):
        return frozenset(distinct[repeats > 2].tolist())
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75]).tolist()
    return middle, high - low


def _alike(one: object, two: object) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        (a, wide), (b, wider) = one, two
        return abs(a - b) <= ALIKE * wide and abs(wide - wider) <= AS_WIDE * wide
    return one is not None and one == two
