"""Events: sets of outputs that can be said in a sentence and rebuilt from JSON.

An event is a frozen function of one output, applied to whole batches. NaN belongs to no half-line
and no interval, but is an atom like any other value; -0.0 and 0.0 are different atoms. For outputs
with many coordinates there are additive scores. A family is nested events with their counts. A
partition puts outputs in finitely many cells: those of one column's bins, of a score, or of an
event. It is fixed by draws that teach; what is bet on later draws depends on their cells alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from ..outputs.encoding import show, to_json, told
from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from .bins import (
    LARGEST,
    SHOWN,
    TOLD,
    Bins,
    PointTable,
    say_edge,
    say_number,
    say_points,
    span_of,
)
from .estimates import log_ratios, smooth

Bools = NDArray[np.bool_]
Cells = NDArray[np.integer]
Floats = NDArray[np.float64]
Atom = float | int | str
"""A number, or the label of something that is not one."""

TWOFOLD = frozenset({"has", "equal"})
"""Features that are 1 or 0."""
FEW = 8
"""Labels compared one by one, and outputs told one by one."""
CONDITIONS = 6
"""Conditions that are told one by one, if the event counts how many of them hold."""
MOST_CUTS = 64
"""Cuts of a score, at most."""
MANY = 40
"""A column with more different numbers is a scale, whose neighbours are alike."""


def _numeric(column: Column, mask: Bools) -> Bools:
    return mask if column.codes is None else mask & ~column.labelled()


@dataclass(frozen=True, slots=True)
class HalfLine:
    """The feature is a number on one side of the threshold, which belongs to it unless `strict`."""

    feature: Feature
    threshold: float
    upper: bool
    strict: bool = False

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        column = outputs.column(self.feature)
        return _numeric(column, _COMPARE[self._sign()](column.values, self.threshold))

    def describe(self) -> str:
        """The event in words."""
        if self.feature.kind in TWOFOLD and 0 < self.threshold + (not self.upper) * 0.5 < 1.5:
            said = self.feature.sentence(1.0, equal=self.upper)
            if said is not None:
                return said
        if self.feature.kind in ("residue", "missing") and self.upper and 0 < self.threshold <= 1:
            return self.feature.sentence(0.0, equal=False) or ""
        return f"{self.feature} {self._sign()} {say_number(self.threshold)}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {
            "kind": "half-line",
            "feature": self.feature.to_json(),
            "threshold": to_json(float(self.threshold)),
            "upper": self.upper,
            "strict": self.strict,
        }

    def _sign(self) -> str:
        return (">" if self.upper else "<") + ("" if self.strict else "=")


_COMPARE = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}


@dataclass(frozen=True, slots=True)
class Intervals:
    """The feature is a number in one of the half-open intervals [low, high).

    An interval that ends at infinity holds infinity too.
    """

    feature: Feature
    intervals: tuple[tuple[float, float], ...]

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        column = outputs.column(self.feature)
        inside = np.zeros(len(outputs), dtype=bool)
        for low, high in self.intervals:
            below = column.values < high if high < np.inf else ~np.isnan(column.values)
            inside |= (column.values >= low) & below
        return _numeric(column, inside)

    def describe(self) -> str:
        """The event in words."""
        hole = _hole(self.intervals)
        if hole is not None:
            return f"{self.feature} is a number other than {say_number(hole)}"
        parts = [_say_interval(low, high) for low, high in self.intervals[:SHOWN]]
        more = len(self.intervals) - SHOWN
        text = " or ".join(parts) + (f" or {more} more intervals" if more > 0 else "")
        return f"{self.feature} in {text}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        ends = [[to_json(float(low)), to_json(float(high))] for low, high in self.intervals]
        return {"kind": "intervals", "feature": self.feature.to_json(), "intervals": ends}


def _hole(intervals: tuple[tuple[float, float], ...]) -> float | None:
    """The only number that two intervals leave out, if it is one."""
    if len(intervals) != 2 or intervals[0][0] != -np.inf or intervals[1][1] != np.inf:
        return None
    low, high = intervals[0][1], intervals[1][0]
    return float(low) if np.nextafter(low, np.inf) == high else None


def _say_interval(low: float, high: float) -> str:
    start = "(-inf" if low <= -LARGEST else f"[{say_number(low)}"
    return f"{start}, {say_edge(high)})"


@dataclass(frozen=True, slots=True)
class Among:
    """The feature is one of finitely many values; a text is the label of a non-number."""

    feature: Feature
    values: tuple[Atom, ...]

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        column = outputs.column(self.feature)
        numbers = [value for value in self.values if not isinstance(value, str)]
        labels = {value for value in self.values if isinstance(value, str)}
        inside = _numeric(column, _among(column.values, numbers))
        if labels and column.codes is not None:
            inside |= _labelled(column.codes, column.names, labels)
        return inside

    def describe(self) -> str:
        """The event in words."""
        if len(self.values) == 1:
            said = self.feature.sentence(self.values[0], equal=True)
            if said is not None:
                return said
        return f"{self.feature} is {_say_values(self.values, 'or')}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        values = [v if isinstance(v, str) else to_json(float(v)) for v in self.values]
        return {"kind": "among", "feature": self.feature.to_json(), "values": values}


def _say_values(values: tuple[Atom, ...], joint: str) -> str:
    parts = [v if isinstance(v, str) else say_number(v) for v in values[:SHOWN]]
    more = len(values) - SHOWN
    tail = f" {joint} {more} more values" if more > 0 else ""
    return f" {joint} ".join(parts) + tail


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The feature is none of finitely many values, whatever else it is."""

    feature: Feature
    values: tuple[Atom, ...]

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        return ~Among(self.feature, self.values).contains(outputs)

    def describe(self) -> str:
        """The event in words."""
        if len(self.values) == 1:
            said = self.feature.sentence(self.values[0], equal=False)
            if said is not None:
                return said
        return f"{self.feature} is not {_say_values(self.values, 'or')}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {**Among(self.feature, self.values).to_json(), "kind": "none-of"}


def _labelled(codes: Array, names: tuple[str, ...], labels: set[str]) -> Bools:
    wanted = [code for code, name in enumerate(names) if name in labels]
    if len(wanted) > FEW:
        return np.isin(codes, wanted)
    inside = np.zeros(len(codes), dtype=bool)
    for code in wanted:
        inside |= codes == code
    return inside


def _among(values: Array, numbers: list[float | int]) -> Bools:
    """Equality with any number, by bits: NaN equals NaN, -0.0 does not equal 0.0."""
    inside = np.zeros(len(values), dtype=bool)
    if not numbers:
        return inside
    if values.dtype.kind in "biu":
        whole = [
            number
            for number in numbers
            if float(number).is_integer() and repr(float(number)) != "-0.0"
        ]
        if len(whole) <= 8:
            for number in whole:
                inside |= values == int(number)
            return inside
        # None of those that the type cannot hold is among its values.
        integers = values.astype(np.uint8) if values.dtype.kind == "b" else values
        ends = np.iinfo(integers.dtype)
        held = [int(number) for number in whole if int(ends.min) <= number <= int(ends.max)]
        return np.isin(integers, np.array(held, dtype=integers.dtype))
    for number in numbers if len(numbers) <= 8 else []:
        if np.isnan(number):
            inside |= np.isnan(values)
        elif number == 0:
            inside |= (values == 0) & (np.signbit(values) == np.signbit(number))
        else:
            inside |= values == number
    return inside if len(numbers) <= 8 else np.isin(bits(values), bits(np.array(numbers, float)))


def bits(values: Array) -> NDArray[np.int64]:
    """One whole number for each different float, the same for every NaN."""
    floats = np.array(values, dtype=np.float64)
    floats[np.isnan(floats)] = np.nan
    return floats.view(np.int64)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the events happens."""

    events: "tuple[Event, ...]"

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        inside = np.zeros(len(outputs), dtype=bool)
        for event in self.events:
            inside |= event.contains(outputs)
        return inside

    def describe(self) -> str:
        """The event in words."""
        parts = [event.describe() for event in self.events[:6]]
        more = len(self.events) - 6
        return ", or ".join(parts) + (f", or {more} more" if more > 0 else "")

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {"kind": "any-of", "events": [event.to_json() for event in self.events]}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The output as a whole is one of finitely many, each as `Outputs.rows` gives it."""

    rows: tuple[object, ...]

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        wanted = set(map(told, self.rows))
        return np.array([told(row) in wanted for row in outputs.rows()], dtype=bool)

    def describe(self) -> str:
        """The event in words."""
        parts = [show(_bare(row)) for row in self.rows[:FEW]]
        more = len(self.rows) - FEW
        return f"output is {' or '.join(parts)}" + (f" or {more} more" if more > 0 else "")

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {"kind": "outcomes", "rows": [to_json(row) for row in self.rows]}


def _bare(row: object) -> object:
    """A row of outputs as people write it: without the names of types, texts without quotes."""
    if type(row) is tuple and len(row) == 2 and isinstance(row[0], str):
        row = row[1]
    if type(row) is tuple:
        return [_bare(part) for part in row]
    if type(row) is dict:
        return {key: _bare(part) for key, part in row.items()}
    return _Said(row) if isinstance(row, str) else row


class _Said(str):
    """A text that is a repr already."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


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
        told = [table for table in self.tables if span_of(table.values) > 0]
        if len(self.tables) == 1:
            return self.tables[0].bins.says_set(self._inside())
        if not self.shapes and told and (said := self._counted(told)):
            return said
        return self._added(sorted(told, key=lambda table: -span_of(table.values)))

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
        rises = sorted(span_of(table.values) for table in told)
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
        for tables in list(by_points.values())[:TOLD]:
            names = [str(table.bins.feature) for table in tables]
            if len(names) > TOLD + 1:
                names = [*names[:TOLD], f"{len(names) - TOLD} more"]
            all_of_them = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            verb = "gives" if len(tables) == 1 else "each give"
            parts.append(f"{all_of_them} {verb} {tables[0].describe()}")
        left = sum(map(len, list(by_points.values())[TOLD:]))
        if left > 0:
            parts.append(f"{left} more parts of the output give points")
        shapes = sorted(self.shapes, key=lambda shape: -abs(shape.points))
        parts += [self._say_shape(shape) for shape in shapes[:TOLD]]
        if len(shapes) > TOLD:
            parts.append(f"{len(shapes) - TOLD} more such combinations give points")
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
        if len(odd) > TOLD:
            odd = [*odd[:TOLD], f"{len(odd) - TOLD} more differ"]
        if usual is not None:
            odd.append(f"{'the others are' if odd else 'all parts are'} {usual}")
        return f"{say_points(shape.points)} if {' and '.join(odd)}"

    def to_json(self) -> dict[str, object]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {
            "kind": "additive-score",
            "tables": [table.to_json() for table in self.tables],
            "threshold": to_json(float(self.threshold)),
            "shapes": [[list(shape.symbols), shape.points] for shape in self.shapes],
        }


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

    def step(
        self, index: int, place: NDArray[np.int64], codes: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        if index == 0:
            place = np.ones(len(codes), dtype=np.int64)
        return self.steps[index].take(place * len(self.symbols[index]) + codes)


@lru_cache(maxsize=8)
def _shapes_finder(tables: tuple[PointTable, ...], shapes: tuple[Shape, ...]) -> _ShapesFinder:
    return _ShapesFinder([table.bins.symbols() for table in tables], shapes)


Event = HalfLine | Intervals | Among | NoneOf | AdditiveScore | AnyOf | Outcomes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Nested events, smallest first; `hits` has shape (2 folds, 2 sides, cuts), likelier first.

    `feature` is the one column that all its events are about.
    `sizes` are the draws of (fold, side). `scores` is the mean score of what each cut adds when
    scores are log-likelihood ratios, else None. `simplicity` is smaller for events
    that take fewer words.
    """

    reversed: bool
    hits: NDArray[np.int64]
    sizes: NDArray[np.int64]
    event: Callable[[int], Event]
    feature: Feature | None = None
    scores: Floats | None = None
    simplicity: int = 0


@dataclass(frozen=True, slots=True)
class ByBins:
    """The cells are the bins of one column."""

    bins: Bins

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.bins.size

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike."""
        bins = self.bins
        if bins.discrete:
            return np.arange(bins.numeric if bins.numeric > MANY else 0)
        return np.array([i for i, atom in enumerate(bins.atoms) if atom is None], dtype=np.intp)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return self.bins.codes(outputs.column(self.bins.feature))

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "bins", **self.bins.to_json()}


@dataclass(frozen=True, slots=True)
class ByScore:
    """The cells are those between `cuts`, in rising order, of the points that a score gives."""

    score: AdditiveScore
    cuts: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.cuts) + 1

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike: all of them."""
        return np.arange(self.size)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return np.searchsorted(self.cuts, self.score.score(outputs), side="right")

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "score", "score": self.score.to_json(), "cuts": list(self.cuts)}


@dataclass(frozen=True, slots=True)
class ByEvent:
    """Two cells: outside the event, and in it."""

    event: Event

    @property
    def size(self) -> int:
        """How many cells there are."""
        return 2

    @property
    def scale(self) -> NDArray[np.intp]:
        """The cells along which neighbours are alike: none."""
        return np.arange(0)

    def cells(self, outputs: Outputs) -> Cells:
        """The cell of every output, shape (n,)."""
        return self.event.contains(outputs).astype(np.int64)

    def counts(self, outputs: Outputs) -> NDArray[np.int64]:
        """How many outputs lie in each cell."""
        return np.bincount(self.cells(outputs), minlength=self.size)

    def to_json(self) -> dict[str, object]:
        """Plain data that `partition_from_json` rebuilds it from."""
        return {"kind": "event", "event": self.event.to_json()}


Partition = ByBins | ByScore | ByEvent


def promised(made: Partition, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-ratio that each cell promises, where few draws promise little."""
    a, b = counts.astype(float)
    ratio, noise = log_ratios(a, b)
    odds = np.where(a + b > 0, ratio / (1 + noise), 0.0)
    scale = made.scale
    if len(scale) > 1:
        odds[scale] = smooth(ratio[scale], noise[scale])
    return odds
