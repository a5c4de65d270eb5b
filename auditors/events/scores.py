"""Additive scores: an event for outputs with many coordinates."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import EvidenceFormatError
from ..outputs.encoding import from_json, to_json
from ..outputs.features import Feature, feature_from_json
from ..outputs.outputs import Outputs

__all__ = ["AdditiveScore", "Table", "read_items", "read_number", "say_number", "table_from_json"]

Bools = NDArray[np.bool_]
MOST_ITEMS = 5000


def say_number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    number = float(value)
    return (
        str(int(number))
        if number.is_integer() and abs(number) < 1e15 and repr(number) != "-0.0"
        else repr(number)
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A step function of one feature: `values` on equal cells of [low, high], constant beyond.

    `labels` gives the value for entries that are not numbers, `other` for labels never seen.
    """

    feature: Feature
    low: float
    high: float
    values: tuple[float, ...]
    labels: tuple[tuple[str, float], ...] = ()
    other: float = 0.0

    def look_up(self, outputs: Outputs) -> NDArray[np.float64]:
        """The table's value for every output, shape (n,)."""
        column = outputs.column(self.feature)
        cells = len(self.values)
        width = (self.high - self.low) / cells or 1.0
        place = (np.asarray(column.values, dtype=np.float64) - self.low) * (1 / width)
        np.clip(place, 0, cells - 1, out=place)
        plain = column.codes is None and not np.isnan(place).any()
        index = place.astype(np.int32) if plain else np.nan_to_num(place).astype(np.int32)
        found = np.asarray(self.values)[index]
        if plain:
            return found
        found[np.isnan(place)] = self.other
        return column.replaced(found, dict(self.labels), self.other)

    def to_json(self) -> dict[str, Any]:
        """Plain data that the table is rebuilt from."""
        return {
            "feature": self.feature.to_json(),
            "low": to_json(self.low),
            "high": to_json(self.high),
            "values": list(self.values),
            "labels": [list(pair) for pair in self.labels],
            "other": self.other,
        }


@dataclass(frozen=True, slots=True)
class AdditiveScore:
    """The sum of one table value for each feature is at least the threshold.

    The tables approximate log-likelihood ratios, so a large score speaks for the first side.
    """

    tables: tuple[Table, ...]
    threshold: float

    def score(self, outputs: Outputs) -> NDArray[np.float64]:
        """The sum of the tables for every output, shape (n,)."""
        total = np.zeros(len(outputs))
        for table in self.tables:
            total += table.look_up(outputs)
        return total

    def contains(self, outputs: Outputs) -> Bools:
        """Which outputs lie in the event, shape (n,)."""
        return self.score(outputs) >= self.threshold

    def describe(self) -> str:
        """The event in words."""
        names = [str(table.feature) for table in self.tables]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"sum of learnt log-ratios of {shown} >= {say_number(self.threshold)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `event_from_json` rebuilds the event from."""
        return {
            "kind": "additive-score",
            "tables": [table.to_json() for table in self.tables],
            "threshold": to_json(float(self.threshold)),
        }


def read_items(data: Any) -> list[Any]:
    """The data as a list of 1 to 5000 items."""
    if not isinstance(data, list) or not 0 < len(data) <= MOST_ITEMS:
        raise EvidenceFormatError(f"expected a list of 1 to {MOST_ITEMS} items, got {data!r:.60}")
    return data


def read_number(data: Any) -> float:
    """The data as a number."""
    value = from_json(data)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EvidenceFormatError(f"expected a number, got {data!r:.60}")
    return float(value)


def table_from_json(data: Any) -> Table:
    """The table that `Table.to_json` wrote."""
    labels = data["labels"]
    if not isinstance(labels, list):
        raise EvidenceFormatError(f"expected a list of labels, got {labels!r:.60}")
    table = Table(
        feature_from_json(data["feature"]),
        read_number(data["low"]),
        read_number(data["high"]),
        tuple(read_number(value) for value in read_items(data["values"])),
        tuple((str(text), read_number(value)) for text, value in labels),
        read_number(data["other"]),
    )
    if not table.low <= table.high < float("inf") or table.low == -float("inf"):
        raise EvidenceFormatError("a table needs a finite range with low <= high")
    return table
