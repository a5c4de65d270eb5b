"""Half-lines of one numeric feature, from both ends and in both directions."""

from collections.abc import Iterator
from math import inf

import numpy as np

from ..bins import LARGEST, MINUS_ZERO, Bins
from ..cuts import Family
from ..events import Event, HalfLine
from ..ledger import Counted, Ledger


def half_lines(ledger: Ledger) -> Iterator[Family]:
    """One family for each column, end and direction."""
    for place in sorted(ledger.coded):
        yield from _of_column(ledger.columns[place])


def _of_column(column: Counted) -> Iterator[Family]:
    bins = column.bins
    if bins.numeric < 2:
        return
    counts = column.counts[..., : bins.numeric]
    sizes = column.counts.sum(axis=-1)
    for upper in (False, True):
        ordered = counts[..., ::-1] if upper else counts
        hits = np.cumsum(ordered, axis=-1)[..., :-1]
        for reverse in (False, True):
            yield Family(
                reversed=reverse,
                hits=hits[:, ::-1] if reverse else hits,
                sizes=sizes[:, :: -1 if reverse else 1],
                feature=bins.feature,
                event=lambda cut, upper=upper: half_line(bins, cut, upper),  # type: ignore[misc]
                simplicity=1 + (bins.feature.kind != "value"),
            )


def half_line(bins: Bins, cut: int, upper: bool) -> Event:
    """The half-line made of the first `cut` + 1 bins from one end."""
    if upper:
        first = bins.numeric - 1 - cut
        edge = bins.atoms[first] if bins.discrete else bins.edges[first - 1]
        if edge == -LARGEST:
            return HalfLine(bins.feature, -inf, True, strict=True)
        return HalfLine(bins.feature, _plain(edge), True)
    atom = bins.atoms[cut]
    if atom is not None:
        return HalfLine(bins.feature, _plain(atom), False)
    # Bins are half open, [edge, next edge).
    return HalfLine(bins.feature, _plain(bins.edges[cut]), False, strict=True)


def _plain(edge: float | None) -> float:
    # Infinite values begin at the largest number, which is in no bin of numbers: see `Bins.codes`.
    if edge == LARGEST:
        return inf
    return 0.0 if edge is None or edge == MINUS_ZERO else float(edge)
