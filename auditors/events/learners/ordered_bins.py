"""Sets of values or of intervals of one feature, in the order of their learnt log-ratios.

Atoms and categories come one by one; bins of a continuous feature that touch become intervals.
The order is learnt on one fold and counted on the other.
"""

from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from ..bins import MINUS_ZERO, Bins
from ..cuts import Family
from ..events import Among, AnyOf, Event, HalfLine, Intervals
from ..ledger import Counted, Ledger

MANY = 6
"""A column with this many different numbers is a scale rather than a choice of categories."""


def ordered_bins(ledger: Ledger) -> Iterator[Family]:
    """One family for each column and direction."""
    for place in sorted(ledger.coded):
        for reverse in (False, True):
            yield from _of_column(ledger.columns[place], reverse)


def _of_column(column: Counted, reverse: bool) -> Iterator[Family]:
    bins, counts = column.bins, column.counts[:, ::-1] if reverse else column.counts
    seen = np.flatnonzero(counts.sum(axis=(0, 1))[:-1] > 0)
    if len(seen) < 2:
        return
    orders = _order(np.concatenate([counts, counts.sum(axis=0, keepdims=True)])[..., seen])
    hits = np.array(
        [np.cumsum(counts[fold][:, seen[orders[1 - fold]]], axis=-1)[:, :-1] for fold in (0, 1)]
    )
    order = seen[orders[2]]
    yield Family(
        reversed=reverse,
        hits=hits,
        sizes=counts.sum(axis=-1),
        feature=bins.feature,
        event=lambda cut: event_of_bins(bins, order[: cut + 1]),
        simplicity=(3 if not bins.discrete else 0 if bins.numeric < MANY else 2)
        + (bins.feature.kind != "value"),
    )


def _order(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Bins from the one that speaks most for the first side, few draws saying little, a row each.

    `counts` has shape (rows, 2 sides, bins).
    """
    a, b = counts[:, 0] + 0.5, counts[:, 1] + 0.5
    return (-np.log(a / b) / (1 + 1 / a + 1 / b)).argsort(axis=-1, kind="stable")


def event_of_bins(bins: Bins, places: NDArray[np.int64]) -> Event:
    """The event that the feature falls in one of the bins."""
    end = _half_line(bins, set(places.tolist()))
    if end is not None:
        return end
    values: list[float | str] = []
    spans: list[tuple[float, float]] = []
    for index in sorted(int(b) for b in places):
        if index == bins.numeric:
            values.append(float("nan"))
        elif index > bins.numeric:
            values.append(bins.labels[index - bins.numeric - 1])
        elif bins.atoms[index] is not None:
            atom = float(bins.atoms[index] or 0.0)
            values.append(-0.0 if atom == MINUS_ZERO else atom)
        else:
            spans.append(_span(bins, index))
    parts: list[Event] = []
    if spans:
        parts.append(Intervals(bins.feature, _merged(spans)))
    if values:
        parts.append(Among(bins.feature, tuple(values)))
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def _half_line(bins: Bins, places: set[int]) -> Event | None:
    """The same set as a half-line, where a column of many whole values makes it one."""
    size, numeric = len(places), bins.numeric
    if not bins.discrete or numeric < MANY or not 1 < size < numeric:
        return None
    if places == set(range(size)):
        return HalfLine(bins.feature, float(bins.atoms[size - 1] or 0.0), False)
    if places == set(range(numeric - size, numeric)):
        return HalfLine(bins.feature, float(bins.atoms[numeric - size] or 0.0), True)
    return None


def _span(bins: Bins, index: int) -> tuple[float, float]:
    low = -inf if index == 0 else float(bins.edges[index - 1])
    return low, inf if index == len(bins.edges) else float(bins.edges[index])


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    merged = spans[:1]
    for low, high in spans[1:]:
        if merged[-1][1] >= low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)
