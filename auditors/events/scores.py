"""Additive scores: an event for outputs with many coordinates."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EvidenceFormatError
from ..outputs.encoding import to_json
from ..outputs.outputs import Outputs
from .bins import Bins, bins_from_json, read_number, say_edge

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
MOST_ITEMS = 5000
"""Items of a list that a file may give a score."""
SHOWN = 3
"""Steps or values that are told one by one."""
LITTLE = 0.05
"""Part of the range of a table below which the points of a single value are not told."""
CONDITIONS = 6
"""Conditions that are told one by one, if the event counts how many of them hold."""


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
        if len(steps) > 2 * SHOWN:
            ends = [steps[0], steps[-1]]
            between = sorted(value for *_, value in steps[1:-1])
            left = f"{_say_points(between[0])} to {_say_points(between[-1])} between"
        else:
            ends, left = steps, ""
        parts += [f"{_say_points(value)} {_where(low, high)}" for low, high, value in ends]
        parts += [left] if left else []
        least = LITTLE * _range(self.values)
        singles = [
            (abs(value), place)
            for place, value in enumerate(self.values)
            if self._single(place) and abs(value) > least
        ]
        for _, place in sorted(singles, reverse=True)[:SHOWN]:
            symbol = int(self.bins.symbols()[place])
            parts.append(f"{_say_points(self.values[place])} for {self.bins.says(symbol)}")
        more = len(singles) - SHOWN
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


def _say_points(value: float) -> str:
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


@dataclass(frozen=True, slots=True)
class Shape:
    """Points for outputs whose values are these symbols, one for each table, besides theirs."""

    symbols: tuple[int, ...]
    points: float


@dataclass(frozen=True, slots=True)
class AdditiveScore:
    """The points that the tables and the shape of an output give it are at least the threshold.

    The shape of an output is which atom or label each value is, or that it is a number. Points
    approximate log-likelihood ratios, so a large score speaks for the first side.
    """

    tables: tuple[PointTable, ...]
    threshold: float
    shapes: tuple[Shape, ...] = ()

    def score(self, outputs: Outputs) -> Floats:
        """The points of every output, shape (n,)."""
        total = np.zeros(len(outputs))
        finder = _shapes_finder(self.tables, self.shapes) if self.shapes else None
        place = np.zeros(len(outputs), dtype=np.int64)
        for index, table in enumerate(self.tables):
            codes = table.bins.codes(outputs.column(table.bins.feature))
            if any(table.values):
                total += np.asarray(table.values).take(codes)
            if finder:
                place = finder.step(index, place, codes)
        return total if finder is None else total + finder.points.take(place)

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        return self.score(outputs) >= self.threshold

    def describe(self) -> str:
        """The event in words: as a condition if it is a short one, else with its points."""
        told = [table for table in self.tables if _range(table.values) > 0]
        if len(self.tables) == 1:
            return self.tables[0].bins.says_set(self._inside())
        if not self.shapes and told and (said := self._counted(told)):
            return said
        return self._added(sorted(told, key=lambda table: -_range(table.values)))

    def _inside(self) -> Bools:
        """Which bins of the only table are in the event, shape (bins,)."""
        (table,) = self.tables
        by_symbol = {shape.symbols[0]: shape.points for shape in self.shapes}
        shaped = [by_symbol.get(int(symbol), 0.0) for symbol in table.bins.symbols()]
        return np.asarray(table.values) + np.array(shaped) >= self.threshold

    def _counted(self, told: list[PointTable]) -> str:
        """How many of some conditions hold, if the points of an output say just that; else "".

        Each table has two levels, and by how many are at the upper one the event is decided.
        """
        if len(told) > CONDITIONS or any(len(set(table.values)) != 2 for table in told):
            return ""
        base = sum(t.values[0] for t in self.tables if t not in told)
        rises = sorted(_range(table.values) for table in told)
        least = base + sum(min(table.values) for table in told)
        most = np.array([least + sum(rises[len(rises) - k :]) for k in range(len(rises) + 1)])
        fewest = np.array([least + sum(rises[:k]) for k in range(len(rises) + 1)])
        needed = int((most < self.threshold).sum())
        if not 0 < needed <= len(told) or fewest[needed] < self.threshold:
            return ""
        upper = [table.bins.says_set(table.levels()[max(table.values)]) for table in told]
        if needed == 1:
            return ", or ".join(upper)
        if needed == len(upper):
            return ", and ".join(upper)
        return f"at least {needed} of these {len(upper)} hold: {'; '.join(upper)}"

    def _added(self, told: list[PointTable]) -> str:
        """The points for what weighs most, and how many must come together."""
        by_points: dict[tuple[float, ...], list[PointTable]] = {}
        for table in told:
            by_points.setdefault((*table.values, *table.bins.edges), []).append(table)
        parts = []
        for tables in list(by_points.values())[:SHOWN]:
            names = [str(table.bins.feature) for table in tables]
            if len(names) > SHOWN + 1:
                names = [*names[:SHOWN], f"{len(names) - SHOWN} more"]
            all_of_them = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            verb = "gives" if len(tables) == 1 else "each give"
            parts.append(f"{all_of_them} {verb} {tables[0].describe()}")
        left = sum(map(len, list(by_points.values())[SHOWN:]))
        if left > 0:
            parts.append(f"{left} more parts of the output give points")
        shapes = sorted(self.shapes, key=lambda shape: -abs(shape.points))
        parts += [self._say_shape(shape) for shape in shapes[:SHOWN]]
        if len(shapes) > SHOWN:
            parts.append(f"{len(shapes) - SHOWN} more such combinations give points")
        return (
            f"the points of the output add up to {self.threshold:.6g} or more: {'; '.join(parts)}"
        )

    def _say_shape(self, shape: Shape) -> str:
        says = [t.bins.says(s) for t, s in zip(self.tables, shape.symbols, strict=True)]
        usual = max(says, key=says.count) if len(set(says)) < len(says) else None
        odd = [
            f"{table.bins.feature} is {text}"
            for table, text in zip(self.tables, says, strict=True)
            if text != usual
        ]
        if len(odd) > SHOWN:
            odd = [*odd[:SHOWN], f"{len(odd) - SHOWN} more differ"]
        if usual is not None:
            odd.append(f"{'the others are' if odd else 'all parts are'} {usual}")
        return f"{_say_points(shape.points)} if {' and '.join(odd)}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {
            "kind": "additive-score",
            "tables": [table.to_json() for table in self.tables],
            "threshold": to_json(float(self.threshold)),
            "shapes": [[list(shape.symbols), shape.points] for shape in self.shapes],
        }


def _range(values: tuple[float, ...]) -> float:
    return max(values) - min(values)


class _ShapesFinder:
    """Finds which of the listed shapes an output has, one table at a time.

    The place of an output among the listed beginnings of shapes is kept: 0 for those that no
    listed shape begins with.
    """

    def __init__(self, symbols: list[NDArray[np.int64]], shapes: tuple[Shape, ...]) -> None:
        listed = np.array([shape.symbols for shape in shapes], dtype=np.int64)
        self.symbols = symbols
        self.steps: list[NDArray[np.int64]] = []
        """For each table, (place before, symbol) to place after."""
        places = np.ones(len(listed), dtype=np.int64)
        count = 2
        for column, found in zip(listed.T, symbols, strict=True):
            size = int(found.max()) + 1
            keys, after = np.unique(places * size + column, return_inverse=True)
            table = np.zeros(count * size, dtype=np.int64)
            table[keys] = np.arange(1, len(keys) + 1)
            # By code instead of symbol, so that a look-up needs no second one.
            self.steps.append(table.reshape(count, size)[:, found].reshape(-1))
            places, count = after + 1, len(keys) + 1
        self.points = np.zeros(count)
        self.points[places] = [shape.points for shape in shapes]

    def step(self, index: int, place: NDArray[np.int64], codes: NDArray[np.uint8]) -> Any:
        if index == 0:
            place = np.ones(len(codes), dtype=np.int64)
        return self.steps[index].take(place * len(self.symbols[index]) + codes)


@lru_cache(maxsize=8)
def _shapes_finder(tables: tuple[PointTable, ...], shapes: tuple[Shape, ...]) -> _ShapesFinder:
    return _ShapesFinder([table.bins.symbols() for table in tables], shapes)


def read_items(data: object) -> list[Any]:
    """The data as a list of 1 to 5000 items."""
    if not isinstance(data, list) or not 0 < len(data) <= MOST_ITEMS:
        raise EvidenceFormatError(f"expected a list of 1 to {MOST_ITEMS} items, got {data!r:.60}")
    return data


def score_from_json(data: Any) -> AdditiveScore:
    """The score that `AdditiveScore.to_json` wrote; EvidenceFormatError for anything else."""
    tables = tuple(_table(table) for table in read_items(data["tables"]))
    shapes = data.get("shapes", [])
    if not isinstance(shapes, list) or len(shapes) > MOST_ITEMS:
        raise EvidenceFormatError(f"expected at most {MOST_ITEMS} shapes, got {shapes!r:.60}")
    return AdditiveScore(
        tables, read_number(data["threshold"]), tuple(_shape(shape, tables) for shape in shapes)
    )


def _table(data: Any) -> PointTable:
    bins = bins_from_json(data)
    values = tuple(read_number(value) for value in read_items(data["values"]))
    if len(values) != bins.size or not np.isfinite(values).all():
        raise EvidenceFormatError(
            f"expected a finite number of points for each of {bins.size} bins, got {len(values)}"
        )
    return PointTable(bins, values)


def _shape(data: Any, tables: tuple[PointTable, ...]) -> Shape:
    symbols, points = data
    if len(symbols) != len(tables) or not all(
        isinstance(symbol, int) and 0 <= symbol <= int(table.bins.symbols().max())
        for symbol, table in zip(symbols, tables, strict=True)
    ):
        raise EvidenceFormatError(f"expected one symbol for each table, got {symbols!r:.60}")
    return Shape(tuple(symbols), read_number(points))
