"""Half-lines of one numeric feature, from both ends and in both directions."""

from collections.abc import Iterator

import numpy as np

from ..cuts import Family
from ..events import Event, HalfLine
from ..pilot import Binned, Pilot

__all__ = ["half_line", "half_lines"]


def half_lines(pilot: Pilot) -> Iterator[Family]:
    """One family for each column, end and direction."""
    for column in pilot.columns:
        if column.numeric < 2:
            continue
        counts = column.counts[1:, :, : column.numeric]
        for upper in (False, True):
            ordered = counts[..., ::-1] if upper else counts
            hits = np.cumsum(ordered, axis=-1)[..., :-1]
            for reverse in (False, True):
                yield Family(
                    reversed=reverse,
                    hits=hits[:, ::-1] if reverse else hits,
                    sizes=column.counts[1:].sum(axis=-1)[:, :: -1 if reverse else 1],
                    event=lambda cut, column=column, upper=upper: half_line(column, cut, upper),  # type: ignore[misc]
                    simplicity=1 + (column.feature.kind != "value"),
                )


def half_line(column: Binned, cut: int, upper: bool) -> Event:
    """The half-line made of the first `cut` + 1 bins from one end."""
    if upper:
        first = column.numeric - 1 - cut
        edge = column.atoms[first] if column.discrete else column.edges[first - 1]
        return HalfLine(column.feature, float(edge or 0.0), True)
    if column.discrete:
        return HalfLine(column.feature, float(column.atoms[cut] or 0.0), False)
    atom = column.atoms[cut]
    if atom is not None:
        return HalfLine(column.feature, atom, False)
    # Bins are half open, [edge, next edge).
    return HalfLine(column.feature, float(column.edges[cut]), False, strict=True)
