"""Outputs that one side gives and the other never does.

Such an event needs no cut: it is the union of all bins that were hit often on one side and not
once on the other. What one fold shows, the other counts.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...outputs.features import Feature
from ..cuts import Family
from ..events import Event
from ..ledger import Counted, Ledger
from .half_lines import half_line
from .ordered_bins import event_of_bins

FEWEST = 7
"""Hits on one side that make none on the other worth a test."""

Counts = NDArray[np.int64]


def impossible(ledger: Ledger) -> Iterator[Family]:
    """Families of a single event: a half-line from either end, or any set of bins."""
    for place in sorted(ledger.coded):
        for reverse in (False, True):
            yield from _of_column(ledger.columns[place], reverse)


def _of_column(column: Counted, reverse: bool) -> Iterator[Family]:
    bins, counts = column.bins, column.counts[:, ::-1] if reverse else column.counts
    for upper in (False, True):
        sets = [_free_end(part, bins.numeric, upper) for part in (*counts, counts.sum(axis=0))]
        if len(sets[2]):
            event = half_line(bins, len(sets[2]) - 1, upper)
            yield _single(
                bins.feature, counts, reverse, sets, event, 1 + (bins.feature.kind != "value")
            )
    sets = [
        np.flatnonzero((hit[:-1] >= FEWEST) & (missed[:-1] == 0))
        for hit, missed in (*counts, counts.sum(axis=0))
    ]
    if len(sets[2]):
        simplicity = (0 if bins.discrete else 3) + (bins.feature.kind != "value")
        event = event_of_bins(bins, sets[2])
        yield _single(bins.feature, counts, reverse, sets, event, simplicity)


def _free_end(counts: Counts, numeric: int, upper: bool) -> Counts:
    """The bins from one end that the second side never hit and the first often."""
    hit, missed = counts[:, :numeric]
    taken = np.flatnonzero(missed)
    if not len(taken):
        return np.zeros(0, dtype=np.int64)
    found = np.arange(int(taken[-1]) + 1, numeric) if upper else np.arange(int(taken[0]))
    return found if hit[found].sum() >= FEWEST else found[:0]


def _single(
    feature: Feature,
    counts: Counts,
    reverse: bool,
    sets: list[Counts],
    event: Event,
    simplicity: int,
) -> Family:
    hits = np.array([counts[fold][:, sets[1 - fold]].sum(axis=-1) for fold in (0, 1)])
    return Family(
        reversed=reverse,
        hits=hits[..., None],
        sizes=counts.sum(axis=-1),
        feature=feature,
        event=lambda cut: event,
        simplicity=simplicity,
    )
