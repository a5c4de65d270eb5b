"""Statements on projected gradient descent that a wrong sign, step or set makes false."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..model import Array, BrokenStatement, InvariantCase, InvariantClaim, Record
from .gradient_cases import (
    contained_margin,
    descent_domain,
    excess_margin,
    far_starts,
    progress_margin,
)
from .gradient_descent import SOURCE
from .set_cases import nonexpansive_margin, set_domain, set_edges

DIAMETER, LIPSCHITZ, STEPS = 2.0, 1.0, 100


def as_they_are(points: Array) -> Array:
    """The points as they are."""
    return points


def onto_two_points(points: Array) -> Array:
    """The nearest points of {-1, 1}^d, which is not convex."""
    return np.where(points < 0, -1.0, 1.0)


def _broken(
    number: str,
    statement: str,
    defect: str,
    margin: Callable[[InvariantCase], float],
    cases: Record,
    examples: tuple[Any, ...],
) -> BrokenStatement:
    identifier = f"MUT-GD-{number}"
    claim = InvariantClaim(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        cases=cases,
        margin=margin,
        examples=examples,
    )
    return BrokenStatement(identifier=identifier, claim=claim, defect=defect)


_on_descents: dict[str, Any] = {
    "cases": descent_domain(dimension=1),
    "examples": far_starts(dimension=1),
}
_setting: dict[str, Any] = {"diameter": DIAMETER, "lipschitz": LIPSCHITZ}
_excess = partial(
    excess_margin,
    steps=STEPS,
    bound=lambda **_: DIAMETER * LIPSCHITZ / STEPS**0.5,
    **_setting,
)

NOT_PROJECTED = _broken(
    "1",
    "all points lie in the set",
    "the points are not projected",
    partial(contained_margin, steps=4, projection=as_they_are, **_setting),
    **_on_descents,
)

ASCENT = _broken(
    "2",
    "L(w_t) - L(w) <= (eta / 2) ||g||^2 + (||w_t - w||^2 - ||w_(t+1) - w||^2) / (2 eta)",
    "every step goes up the gradient instead of down",
    partial(progress_margin, steps=4, sign=-1.0, **_setting),
    **_on_descents,
)

STEPS_TOO_SMALL = _broken(
    "3",
    "L(average) - L(w*) <= R G / sqrt(T)",
    "step size R / (G T): the descent crosses the set once at most, and its average is half way",
    partial(_excess, step_size=DIAMETER / (LIPSCHITZ * STEPS)),
    **_on_descents,
)

STEPS_TOO_LARGE = _broken(
    "3b",
    "L(average) - L(w*) <= R G / sqrt(T)",
    "step size R sqrt(T) / G: the descent jumps from end to end",
    partial(_excess, step_size=DIAMETER * STEPS**0.5 / LIPSCHITZ),
    **_on_descents,
)

NOT_CONVEX = _broken(
    "11",
    "projecting onto a set brings no point farther from one of the set",
    "the set is {-1, 1}, which is not convex",
    partial(nonexpansive_margin, radius=1.0, only=onto_two_points),
    set_domain(dimension=1),
    set_edges(dimension=1),
)
