"""Cases for the lemmas on projections: a point, and a point of the set to compare it with.

A case is a record. `point` is the point to project, in units of the set's radius. The point of the
set is `inside` itself where the set is a box of that half width; where it is a ball it lies in the
direction of `inside`, `share` of the way from the centre to the edge.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..model import Array, Interval, InvariantCase, Record, Rows
from .projections import Projection, directions, norms, onto_ball, onto_box

FAR = 3.0
ROUNDING = 1e-12


def set_domain(*, dimension: int) -> Record:
    """Cases in `dimension` coordinates, some points in the sets and some outside."""
    return Record(
        fields={
            "point": Rows(row=Interval(low=-FAR, high=FAR), min_size=dimension, max_size=dimension),
            "inside": Rows(row=Interval(low=-1, high=1), min_size=dimension, max_size=dimension),
            "share": Interval(low=0, high=1),
        }
    )


def set_edges(*, dimension: int) -> tuple[dict[str, object], ...]:
    """Cases at the middle, near it, at the edge and outside, with points on either side."""
    return tuple(
        {"point": [at] * dimension, "inside": [way] * dimension, "share": share}
        for at in (0.0, 0.1, 1.0, FAR)
        for way in (-1.0, 1.0)
        for share in (0.0, 1.0)
    )


def projection_margin(case: InvariantCase, *, radius: float) -> float:
    """Minus the worst of what breaks P P x = P x, P x in the set, <x - P x, w - P x> <= 0."""
    margins = []
    for project, point, inside, size in _sets(case, radius):
        nearest = project(point)
        margins += [
            -float(norms(project(nearest) - nearest)),
            radius * (1 + ROUNDING) - float(size(nearest)),
            -float((point - nearest) @ (inside - nearest)),
        ]
    return min(margins)


def nonexpansive_margin(
    case: InvariantCase, *, radius: float, only: Projection | None = None
) -> float:
    """||x - w|| - ||P x - w||, for the set where it is least; `only` projects instead if given."""
    return min(
        float(norms(point - inside) - norms((only or project)(point) - inside))
        for project, point, inside, _ in _sets(case, radius)
    )


def _sets(case: InvariantCase, radius: float) -> Iterator[tuple[Projection, Array, Array, Any]]:
    """Of the ball and of the box: the projection, a point, one of the set, and the gauge."""
    point = radius * np.asarray(case["point"], dtype=float)
    inside = np.asarray(case["inside"], dtype=float)
    within = case["share"] * radius * directions(inside)
    yield partial(onto_ball, radius=radius), point, within, norms
    yield partial(onto_box, half_width=radius), point, radius * inside, lambda p: np.abs(p).max()
