"""Sets of values or of intervals of one feature, in the order of their learnt log-ratios.

Atoms and categories come one by one; bins of a continuous feature that touch become intervals.
The order is learnt on the fit sample, the cut is chosen on the folds.
"""

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from ..cuts import Family
from ..events import Among, AnyOf, Event, HalfLine, Intervals
from ..pilot import MINUS_ZERO, Binned, Pilot

__all__ = ["event_of_bins", "ordered_bins"]

MANY = 6
"""A column with this many different numbers is a scale rather than a choice of categories."""


def ordered_bins(pilot: Pilot) -> Iterator[Family]:
    """One family for each column and direction."""
    for column in pilot.columns:
        first, second = column.counts[0]
        seen = np.flatnonzero(column.counts[0].sum(axis=0)[:-1] > 0)
        if len(seen) < 2:
            continue
        noise = 1 / (first + 0.5) + 1 / (second + 0.5)
        ratio = np.log((first + 0.5) / (second + 0.5)) / (1 + noise)
        for reverse in (False, True):
            order = seen[np.argsort(ratio[seen] if reverse else -ratio[seen], kind="stable")]
            hits = np.cumsum(column.counts[1:][..., order], axis=-1)[..., :-1]
            yield Family(
                reversed=reverse,
                hits=hits[:, ::-1] if reverse else hits,
                sizes=column.counts[1:].sum(axis=-1)[:, :: -1 if reverse else 1],
                event=lambda cut, column=column, order=order: event_of_bins(  # type: ignore[misc]
                    column, order[: cut + 1]
                ),
                simplicity=(3 if not column.discrete else 0 if column.numeric < MANY else 2)
                + (column.feature.kind != "value"),
            )


def event_of_bins(column: Binned, bins: NDArray[np.int64]) -> Event:
    """The event that the feature falls in one of the bins."""
    end = _half_line(column, set(bins.tolist()))
    if end is not None:
        return end
    values: list[float | str] = []
    spans: list[tuple[float, float]] = []
    for index in sorted(int(b) for b in bins):
        if index == column.numeric:
            values.append(float("nan"))
        elif index > column.numeric:
            values.append(column.labels[index - column.numeric - 1])
        elif column.atoms[index] is not None:
            atom = float(column.atoms[index] or 0.0)
            values.append(-0.0 if atom == MINUS_ZERO else atom)
        else:
            spans.append(_span(column, index))
    parts: list[Event] = []
    if spans:
        parts.append(Intervals(column.feature, _merged(spans)))
    if values:
        parts.append(Among(column.feature, tuple(values)))
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def _half_line(column: Binned, bins: set[int]) -> Event | None:
    """The same set as a half-line, where a column of many whole values makes it one."""
    size, numeric = len(bins), column.numeric
    if not column.discrete or numeric < MANY or not 1 < size < numeric:
        return None
    if bins == set(range(size)):
        return HalfLine(column.feature, float(column.atoms[size - 1] or 0.0), False)
    if bins == set(range(numeric - size, numeric)):
        return HalfLine(column.feature, float(column.atoms[numeric - size] or 0.0), True)
    return None


def _span(column: Binned, index: int) -> tuple[float, float]:
    low = -inf if index == 0 else float(column.edges[index - 1])
    return low, inf if index == len(column.edges) else float(column.edges[index])


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    merged = spans[:1]
    for low, high in spans[1:]:
        if merged[-1][1] >= low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)
