"""Events: sets of outputs that can be said in a sentence and rebuilt from JSON.

An event is a frozen function of one output, applied to whole batches. NaN belongs to no half-line
and no interval, but is an atom like any other value; -0.0 and 0.0 are different atoms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EvidenceFormatError
from ..outputs.decoding import from_json
from ..outputs.encoding import show, to_json, told
from ..outputs.features import Column, Feature, feature_from_json
from ..outputs.outputs import Outputs
from .bins import LARGEST, read_number, say_edge, say_number
from .scores import AdditiveScore, read_items, score_from_json

Bools = NDArray[np.bool_]
Atom = float | int | str
"""A number, or the label of something that is not one."""

SHOWN = 12
"""Intervals or values that are told one by one."""
TWOFOLD = frozenset({"has", "equal"})
"""Features that are 1 or 0."""
FEW = 8
"""Labels compared one by one, and outputs told one by one."""


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


def _labelled(codes: NDArray[Any], names: tuple[str, ...], labels: set[str]) -> Bools:
    wanted = [code for code, name in enumerate(names) if name in labels]
    if len(wanted) > FEW:
        return np.isin(codes, wanted)
    inside = np.zeros(len(codes), dtype=bool)
    for code in wanted:
        inside |= codes == code
    return inside


def _among(values: NDArray[Any], numbers: list[float | int]) -> Bools:
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
        return np.isin(values, np.array(whole, dtype=np.int64))
    for number in numbers if len(numbers) <= 8 else []:
        if np.isnan(number):
            inside |= np.isnan(values)
        elif number == 0:
            inside |= (values == 0) & (np.signbit(values) == np.signbit(number))
        else:
            inside |= values == number
    return inside if len(numbers) <= 8 else np.isin(bits(values), bits(np.array(numbers, float)))


def bits(values: NDArray[Any]) -> NDArray[np.int64]:
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

    rows: tuple[Any, ...]

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


def _bare(row: object) -> Any:
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


Event = HalfLine | Intervals | Among | NoneOf | AdditiveScore | AnyOf | Outcomes


def event_from_json(data: object, depth: int = 0) -> Event:
    """The event that `to_json` wrote; EvidenceFormatError for anything else."""
    if depth > 3:
        raise EvidenceFormatError("events may be nested 3 deep; this one is deeper")
    if not isinstance(data, Mapping):
        raise EvidenceFormatError(f"expected an event, got a {type(data).__name__}")
    try:
        match data.get("kind"):
            case "half-line":
                feature = feature_from_json(data["feature"])
                upper, strict = data["upper"] is True, data["strict"] is True
                return HalfLine(feature, read_number(data["threshold"]), upper, strict)
            case "intervals":
                pairs = tuple(
                    (read_number(a), read_number(b)) for a, b in read_items(data["intervals"])
                )
                return Intervals(feature_from_json(data["feature"]), pairs)
            case "among" | "none-of":
                values = tuple(
                    v if isinstance(v, str) else read_number(v) for v in read_items(data["values"])
                )
                kind = Among if data["kind"] == "among" else NoneOf
                return kind(feature_from_json(data["feature"]), values)
            case "additive-score":
                return score_from_json(data)
            case "outcomes":
                return Outcomes(tuple(from_json(row) for row in read_items(data["rows"])))
            case "any-of":
                return AnyOf(
                    tuple(event_from_json(e, depth + 1) for e in read_items(data["events"]))
                )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(f"an event is malformed: {error!r:.120}") from None
    raise EvidenceFormatError(f"no event is of kind {data.get('kind')!r:.60}")
