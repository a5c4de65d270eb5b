"""How one column is cut into bins: numbers between edges, single values, NaN, labels, the rest.

Bins are fixed on the first draws and never again, so that counts of later draws add up. Every
entry of a column becomes one byte, exactly: a bin holds the numbers from an edge up to the next.
A table gives points to bins.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite, nextafter

import numpy as np
from numpy.typing import NDArray

from ..outputs.encoding import to_json
from ..outputs.features import Column, Feature

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

MINUS_ZERO = -5e-324
"""Stands for -0.0 among the edges and atoms of a column."""
MOST_LABELS = 64
"""Labels of a column that have a bin each."""
MOST_DISTINCT = 64
"""Numbers of a column that have a bin each."""
MANY = 6
"""A column with this many different numbers is a scale rather than a choice of categories."""
SELDOM = 0.3
"""Share of values seen only once beyond which few different values are no sign of a list."""
QUANTILES = 40
"""Bins of equal numbers of draws, of one column among several."""
QUANTILES_ALONE = 100
"""The same of a column that is alone."""
TAIL = 2**0.5
"""By how much the draws beyond an edge grow from one edge in a tail to the next."""
CELLS = 2048
"""Cells of equal width by which the bin of a number is found without a search."""
SEVERAL = 255
"""Mark of a cell that an edge divides."""
MOST_BINS = 255
"""Bins of a column: the code of a bin is one byte."""
LARGEST_RANGE = 4096
"""Whole numbers over which bins are looked up directly."""
SHOWN = 12
"""Ranges or values that are told one by one."""
LARGEST = float(np.finfo(np.float64).max)
TOLD = 3
"""Steps or values that are told one by one."""
LITTLE = 0.05
"""Part of the range of a table below which the points of a single value are not told."""


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of one column.

    The first `len(edges) + 1` are numbers between `edges`, in order: bin i holds [edge i - 1,
    edge i). `atoms[i]` is the only value of bin i, or None. For a `discrete` column all bins
    are atoms, and other numbers belong to the rest. Then come NaN, the `labels`, and the rest.
    """

    feature: Feature
    edges: tuple[float, ...]
    atoms: tuple[float | None, ...]
    labels: tuple[str, ...]
    discrete: bool

    @property
    def numeric(self) -> int:
        """How many bins hold numbers."""
        return len(self.atoms)

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.atoms) + len(self.labels) + 2

    def codes(self, column: Column) -> Codes:
        """The bin of every entry, shape (n,)."""
        rest = self.numeric + 1 + len(self.labels)
        found = _placed(column.values, self.edges, self.numeric)
        if self.discrete and self.numeric:
            _drop_strangers(found, column.values, self.atoms, self.numeric, rest)
        elif not self.numeric:
            found[:] = rest
        elif self.atoms[-1] == np.inf:
            # No edge lies between the largest number and infinity.
            found[column.values == LARGEST] = rest
        if column.codes is None:
            return found
        places = {text: self.numeric + 1 + i for i, text in enumerate(self.labels)}
        meaning = np.array([places.get(name, rest) for name in (*column.names, "")], dtype=np.uint8)
        return np.where(column.codes < 0, found, meaning[column.codes])

    def symbols(self) -> NDArray[np.int64]:
        """What each bin says apart from size: which atom or label it is, or that it is a number."""
        single = np.array(
            [*(atom is not None for atom in self.atoms), *[True] * (self.size - self.numeric)]
        )
        # Where every number is an atom there is no symbol for "a number".
        first = 0 if single.all() else 1
        return np.where(single, np.cumsum(single) - 1 + first, 0)

    def says(self, symbol: int) -> str:
        """A symbol in words, after the name of the feature."""
        place = int(np.flatnonzero(self.symbols() == symbol)[0])
        if place >= self.numeric:
            return ["NaN", *self.labels, "anything else"][place - self.numeric]
        atom = self.atoms[place]
        return "a number" if atom is None else say_number(-0.0 if atom == MINUS_ZERO else atom)

    def says_set(self, inside: Bools) -> str:
        """That the feature is in one of the bins of `inside`, shape (size,), as a condition.

        What no bin names is told by its complement: "output is not 3 or 4".
        """
        numbers = [] if self.discrete else list(self._spans(inside))
        single = [self._single(place) for place in range(self.size)]
        named = [place for place in range(self.size - 1) if single[place] is not None]
        if inside[-1]:
            numbers = [] if self.discrete else list(self._spans(~inside))
            outside = [said_span(str(self.feature), *span, inside=False) for span in numbers]
            outside += self._named([place for place in named if not inside[place]], "is not")
            return " and ".join(outside) or f"{self.feature} is anything"
        parts = [said_span(str(self.feature), *span) for span in numbers]
        parts += self._named([place for place in named if inside[place]], "is")
        if len(parts) > SHOWN:
            parts = [*parts[:SHOWN], f"{len(parts) - SHOWN} more ranges"]
        return " or ".join(parts) or f"{self.feature} is nothing"

    def _named(self, places: list[int], verb: str) -> list[str]:
        found = [str(self._single(place)) for place in places]
        if len(found) > SHOWN:
            found = [*found[:SHOWN], f"{len(found) - SHOWN} more values"]
        return [f"{self.feature} {verb} {' or '.join(found)}"] if found else []

    def _single(self, place: int) -> str | None:
        """The only value of a bin in words: None for a range of numbers, which `_spans` tells."""
        if place >= self.numeric:
            return ["NaN", *self.labels, "anything else"][place - self.numeric]
        atom = self.atoms[place] if self.discrete else None
        return None if atom is None else say_number(-0.0 if atom == MINUS_ZERO else atom)

    def _spans(self, inside: Bools) -> Iterator[tuple[float, float]]:
        """[low, high) of neighbouring bins of numbers that are inside, joined."""
        ends, low = [-np.inf, *self.edges, np.inf], None
        for place in range(self.numeric):
            if inside[place] and low is None:
                low = ends[place]
            if low is not None and (place + 1 == self.numeric or not inside[place + 1]):
                yield low, ends[place + 1]
                low = None

    def to_json(self) -> dict[str, object]:
        """Plain data that `bins_from_json` rebuilds the bins from."""
        return {
            "feature": self.feature.to_json(),
            "edges": [to_json(edge) for edge in self.edges],
            "atoms": [None if atom is None else to_json(atom) for atom in self.atoms],
            "labels": list(self.labels),
            "discrete": self.discrete,
        }


def say_number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    number = float(value)
    return (
        str(int(number))
        if number.is_integer() and abs(number) < 1e15 and repr(number) != "-0.0"
        else repr(number)
    )


def say_edge(edge: float) -> str:
    """An edge between two bins as a number: infinite values begin at the largest ones."""
    if abs(edge) == LARGEST:
        edge = inf if edge > 0 else -inf
    return say_number(-0.0 if edge == MINUS_ZERO else edge)


def said_span(name: str, low: float, high: float, *, inside: bool = True) -> str:
    """That `name` is a number in [low, high), or that it is not."""
    if (low, high) == (-np.inf, np.inf):
        return f"{name} is {'a' if inside else 'no'} number"
    start, end = say_edge(low), say_edge(high)
    if nextafter(low, inf) == high:
        return f"{name} is {'' if inside else 'not '}{start}"
    if not inside:
        most = f"{start} or more" if high == np.inf else f"in [{start}, {end})"
        return f"{name} is not {f'less than {end}' if low == -np.inf else most}"
    if low == -np.inf:
        return f"{name} < {end}"
    return f"{name} >= {start}" if high == np.inf else f"{name} in [{start}, {end})"


def _placed(values: NDArray[np.generic], edges: tuple[float, ...], nan: int) -> Codes:
    if not edges:
        found = np.zeros(len(values), dtype=np.uint8)
        if values.dtype.kind == "f":
            found[np.isnan(values)] = nan
        return found
    finder = _finder(edges)
    if values.dtype.kind in "biu":
        return finder.whole(values)
    return finder.real(_separated(values, edges), nan)


def _separated(values: NDArray[np.generic], edges: tuple[float, ...]) -> Floats:
    """The numbers as doubles, with -0.0 moved to the next number where an edge tells it apart."""
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if 0.0 in edges:
        minus = (numbers == 0) & np.signbit(numbers)
        if minus.any():
            numbers = np.where(minus, MINUS_ZERO, numbers)
    return numbers


class _Finder:
    """Finds the bin of a number by one multiplication and one look-up.

    The cell of a number never falls when the number grows, rounding included, so all edges of
    lower cells are at most the number and all edges of higher cells exceed it. Only numbers in a
    cell with an edge of its own are compared with the edges.
    """

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = np.array(edges)
        # What is infinite would make all other cells too wide.
        inner = [edge for edge in edges if abs(edge) < LARGEST] or [0.0]
        self.low = inner[0]
        # The difference of two doubles may be larger than any double.
        width = inner[-1] - inner[0]
        self.scale = (CELLS - 2) / width if 1e-290 < width < 1e300 else 1.0
        inside = self._cells(self.edges)
        # Edges outside the cells' span would be the same cell as the ends.
        counts = np.bincount(inside, minlength=CELLS)
        table = np.cumsum(counts) - counts
        table[counts > 0] = SEVERAL
        self.table = table.astype(np.uint8)
        self.whole_table: Codes | None = None
        if abs(edges[0]) < 2**52 and abs(edges[-1]) < 2**52 and width < LARGEST_RANGE:
            self.start = int(np.floor(self.low)) - 1
            numbers = np.arange(self.start, int(np.ceil(self.edges[-1])) + 2, dtype=np.float64)
            self.whole_table = np.searchsorted(self.edges, numbers, side="right").astype(np.uint8)

    def _cells(self, numbers: Floats) -> NDArray[np.intp]:
        with np.errstate(over="ignore"):
            scaled = numbers - self.low
            scaled *= self.scale
        scaled += 1.0
        np.minimum(np.maximum(scaled, 0, out=scaled), CELLS - 1, out=scaled)
        return scaled.astype(np.intp)

    def real(self, numbers: Floats, nan: int) -> Codes:
        lost = np.isnan(numbers)
        gaps = bool(lost.any())
        cells = self._cells(np.where(lost, self.low, numbers) if gaps else numbers)
        found = self.table.take(cells)
        (left,) = (found == SEVERAL).nonzero()
        if len(left):
            found[left] = self.edges.searchsorted(numbers[left], side="right")
        if gaps:
            found[lost] = nan
        return found

    def whole(self, numbers: NDArray[np.generic]) -> Codes:
        if numbers.dtype.kind == "b":
            numbers = numbers.astype(np.uint8)
        if self.whole_table is None:
            # Comparing whole numbers with the edges rounded up is exact beyond 2**53 too.
            return np.searchsorted(
                _whole_edges(tuple(self.edges.tolist()), numbers.dtype.str), numbers, side="right"
            ).astype(np.uint8)
        last = self.start + len(self.whole_table) - 1
        if numbers.dtype.itemsize == 1:
            wide = numbers.astype(np.int64)
        else:
            wide = np.clip(numbers, *_bounded(self.start, last, numbers.dtype)).astype(np.int64)
        return self.whole_table.take(np.clip(wide - self.start, 0, last - self.start))


def _bounded(low: int, high: int, kind: np.dtype[np.generic]) -> tuple[int, int]:
    limits = np.iinfo(kind)  # type: ignore[type-var]
    return max(low, int(limits.min)), max(min(high, int(limits.max)), int(limits.min))


@lru_cache(maxsize=512)
def _finder(edges: tuple[float, ...]) -> _Finder:
    return _Finder(edges)


@lru_cache(maxsize=64)
def _whole_edges(edges: tuple[float, ...], kind: str) -> NDArray[np.generic]:
    limits = np.iinfo(np.dtype(kind))
    whole = [min(max(int(np.ceil(edge)), int(limits.min)), int(limits.max)) for edge in edges]
    return np.array(whole, dtype=kind)


def _drop_strangers(
    found: Codes,
    values: NDArray[np.generic],
    atoms: tuple[float | None, ...],
    numeric: int,
    rest: int,
) -> None:
    """Numbers of a discrete column that are none of its atoms belong to the rest."""
    if values.dtype.kind == "b" and set(atoms) >= {0.0, 1.0}:
        return
    exact = np.array([0.0 if a == MINUS_ZERO else a for a in atoms])
    numbers = found < numeric
    other = exact.take(np.minimum(found, numeric - 1)) != values
    found[numbers & other] = rest


def bins_of_group(
    features: tuple[Feature, ...], columns: list[tuple[Column, Column]], alone: bool = False
) -> list[Bins]:
    """One set of bins for columns of like values, named by each feature."""
    sides = [column for pair in columns for column in pair]
    pooled = np.concatenate([numbers_of(column) for column in sides])
    finite = np.sort(pooled[~np.isnan(pooled)])
    seen_nan = len(finite) < len(pooled)
    labels = tuple(sorted({name for column in sides for name in column.names})[:MOST_LABELS])
    distinct, repeats = np.unique(finite, return_counts=True)
    discrete = looks_discrete(distinct, repeats)
    if discrete:
        if len(distinct) and distinct[-1] == np.inf:
            # No edge lies between the largest number and infinity, so that number is of the rest.
            distinct = distinct[distinct != LARGEST]
        steps = zip(distinct[:-1].tolist(), distinct[1:].tolist(), strict=True)
        edges = [min(tidy(low, high), LARGEST) for low, high in steps]
        atoms: tuple[float | None, ...] = tuple(distinct.tolist())
    else:
        edges, atoms = _continuous(finite, distinct, repeats, alone)
    if len(atoms) * (len(finite) > 0) + len(labels) + seen_nan < 2:
        return []
    if not len(finite):
        discrete, edges, atoms = False, [], (None,)
    return [Bins(feature, tuple(edges), atoms, labels, discrete) for feature in features]


def looks_discrete(distinct: Floats, repeats: NDArray[np.int64]) -> bool:
    """Whether the numbers look like finitely many: few, and nearly all of them come back."""
    few = len(distinct) <= min(MOST_DISTINCT, int(repeats.sum()) // 2)
    return bool(few and (repeats == 1).sum() <= SELDOM * len(distinct))


def numbers_of(column: Column) -> Floats:
    """The numbers of a column, -0.0 moved to the next number."""
    values = np.asarray(column.values, dtype=np.float64)
    minus = (values == 0) & np.signbit(values)
    if minus.any():
        values = np.where(minus, MINUS_ZERO, values)
    return values if column.codes is None else values[~column.labelled()]


def _continuous(
    ordered: Floats, distinct: Floats, repeats: NDArray[np.int64], alone: bool
) -> tuple[list[float], tuple[float | None, ...]]:
    """Edges at even and at geometric tail quantiles, and around values that repeat.

    Infinity that comes back is an answer of another kind, and takes no bins from the numbers.
    """
    often = repeats >= max(8, len(ordered) // 2000)
    common = distinct[often]
    if len(common) > MOST_DISTINCT:
        common = np.sort(common[np.argsort(-repeats[often])][:MOST_DISTINCT])
    every, (low, high) = len(ordered), ordered.searchsorted([-LARGEST, inf])
    ordered = ordered[low * (-inf in common) : high if inf in common else None]
    size = len(ordered)
    parts = QUANTILES_ALONE if alone else QUANTILES
    parts = max(2, min(parts * size // max(every, 1), size // 8))
    tails = [t for t in (int(8 * TAIL**k) for k in range(200)) if t < size // parts]
    places = sorted({*tails, *(size - t for t in tails),
                     *(size * k // parts for k in range(1, parts))})  # fmt: skip
    above = np.array([place for place in places if place < size], dtype=np.intp)
    steps = zip(ordered[above - 1].tolist(), ordered[above].tolist(), strict=True)
    edges = {tidy(low, high) for low, high in steps if low < high}
    for value in common:
        edges |= {float(value), float(np.nextafter(value, np.inf))}
    starts = dict(zip(common.tolist(), common.tolist(), strict=True))
    if np.inf in starts:
        # What is at least the largest number is infinite or that number, which is of the rest.
        edges.add(LARGEST)
        starts[LARGEST] = np.inf
    found = sorted(edge for edge in edges if np.isfinite(edge))
    return found, (starts.get(-np.inf), *(starts.get(edge) for edge in found))


def tidy(low: float, high: float) -> float:
    """The number with fewest digits in (low, high]; any number between them cuts the same."""
    # Halves, since the difference of two doubles may be larger than any double.
    middle = low / 2 + high / 2 if isfinite(low) and isfinite(high) else low
    if middle <= low:
        return float(high)
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded <= high:
            return rounded
    return float(high)


@dataclass(frozen=True, slots=True)
class PointTable:
    """Points for the bin that a feature falls in, one for each of `bins`."""

    bins: Bins
    values: tuple[float, ...]

    def negated(self) -> "PointTable":
        """The table for the other direction."""
        return replace(self, values=tuple(-value for value in self.values))

    def levels(self) -> dict[float, Bools]:
        """For each number of points the bins that give it, the largest first."""
        points = np.array(self.values)
        return {value: points == value for value in sorted(set(self.values), reverse=True)}

    def describe(self) -> str:
        """Which points there are for what, in words: "+1 from 2 on and -1 below 2".

        Of numbers in more steps than are told, both ends of them; values that hardly count are
        left out.
        """
        parts = []
        steps = list(self._steps()) if not self.bins.discrete else []
        if len(steps) > 2 * TOLD:
            ends = [steps[0], steps[-1]]
            between = sorted(value for *_, value in steps[1:-1])
            left = f"{say_points(between[0])} to {say_points(between[-1])} between"
        else:
            ends, left = steps, ""
        parts += [f"{say_points(value)} {_where(low, high)}" for low, high, value in ends]
        parts += [left] if left else []
        least = LITTLE * span_of(self.values)
        singles = [
            (abs(value), place)
            for place, value in enumerate(self.values)
            if self._single(place) and abs(value) > least
        ]
        for _, place in sorted(singles, reverse=True)[:TOLD]:
            symbol = int(self.bins.symbols()[place])
            parts.append(f"{say_points(self.values[place])} for {self.bins.says(symbol)}")
        more = len(singles) - TOLD
        parts += [f"others for {more} more values"] if more > 0 else []
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))

    def _single(self, place: int) -> bool:
        atoms = self.bins.atoms
        return place >= len(atoms) or atoms[place] is not None

    def _steps(self) -> Iterator[tuple[float, float, float]]:
        """(low, high, points) of the numbers, bins with the same points joined."""
        # Infinite values that have a bin are told as single ones.
        atoms, size = self.bins.atoms, self.bins.numeric
        first, end = int(atoms[:1] == (-inf,)), size - int(atoms[-1:] == (inf,))
        ends = [-np.inf, *self.bins.edges, np.inf]
        low = ends[first]
        for place in range(first, end):
            last = place + 1 == end
            if last or self.values[place + 1] != self.values[place]:
                yield low, ends[place + 1], self.values[place]
                low = ends[place + 1]

    def to_json(self) -> dict[str, object]:
        """Plain data that the table is rebuilt from."""
        return {**self.bins.to_json(), "values": list(self.values)}


def say_points(value: float) -> str:
    """The points with their sign."""
    return f"{value:+.2g}"


def _where(low: float, high: float) -> str:
    """The numbers in [low, high), as where points are given."""
    if (low, high) == (-np.inf, np.inf):
        return "for a number"
    start, end = say_edge(low), say_edge(high)
    if nextafter(low, inf) == high:
        return f"at {start}"
    if low == -np.inf:
        return f"below {end}"
    return f"from {start} on" if high == np.inf else f"from {start} to below {end}"


def span_of(values: tuple[float, ...]) -> float:
    """By how much points differ at most."""
    return max(values) - min(values)
