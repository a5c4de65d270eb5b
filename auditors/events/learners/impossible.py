"""Outputs that one side gives and the other never does.

Such an event needs no cut: it is the union of all bins that were hit often on one side of the
fit sample and not once on the other. The folds then say whether it stays impossible.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..cuts import Family
from ..events import Event
from ..pilot import Binned, Pilot
from .half_lines import half_line
from .ordered_bins import event_of_bins

__all__ = ["FEWEST", "impossible"]

FEWEST = 7
"""Hits on one side that make none on the other worth a test."""


def impossible(pilot: Pilot) -> Iterator[Family]:
    """Families of a single event: a half-line from either end, or any set of bins."""
    for column in pilot.columns:
        for reverse in (False, True):
            hit, missed = column.counts[0][::-1] if reverse else column.counts[0]
            for upper in (False, True):
                inside = _free_end(missed[: column.numeric], upper)
                if 0 < inside < column.numeric:
                    bins = np.arange(column.numeric)[-inside:] if upper else np.arange(inside)
                    if hit[bins].sum() >= FEWEST:
                        event = half_line(column, inside - 1, upper)
                        yield _single(column, reverse, bins, event, 1)
            bins = np.flatnonzero((hit[:-1] >= FEWEST) & (missed[:-1] == 0))
            if len(bins):
                simplicity = 0 if column.discrete else 3
                yield _single(column, reverse, bins, event_of_bins(column, bins), simplicity)


def _free_end(missed: NDArray[np.int64], upper: bool) -> int:
    """How many bins from one end the other side never hit."""
    taken = np.flatnonzero(missed)
    if not len(taken):
        return len(missed)
    return len(missed) - 1 - int(taken[-1]) if upper else int(taken[0])


def _single(
    column: Binned, reverse: bool, bins: NDArray[np.int64], event: Event, simplicity: int
) -> Family:
    hits = column.counts[1:][..., bins].sum(axis=-1, keepdims=True)
    return Family(
        reversed=reverse,
        hits=hits[:, ::-1] if reverse else hits,
        sizes=column.counts[1:].sum(axis=-1)[:, :: -1 if reverse else 1],
        event=lambda cut: event,
        simplicity=simplicity + (column.feature.kind != "value"),
    )
