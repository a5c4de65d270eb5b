"""Laplace mechanisms on a grid that lose more than they claim."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..model import Array, Database, Interval, NegativeControl, Relation, Rows, Size
from ..queries import total
from .discrete_laplace import discrete_laplace
from .grid_laplace import GRID_LAPLACE, grid_laplace_mechanism, nearest_steps


def noise_on_grid(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], Any],
    granularity: float,
    scale: int,
    rounded: bool,
    size: Size = None,
) -> Array:
    """Add whole-number Laplace noise, `scale` grid steps wide, to the answer as it is or rounded.

    Returns floats of shape `size` + the answer's.
    """
    answer = np.asarray(query(database), dtype=float)
    start = nearest_steps(answer, granularity) * granularity if rounded else answer
    noise = discrete_laplace(rng, scale=scale, size=sample_shape(size) + answer.shape)
    return start + noise * granularity


ANSWER_OFF_GRID = NegativeControl(
    mechanism=replace(
        GRID_LAPLACE,
        name="grid-laplace-answer-off-grid",
        run=partial(noise_on_grid, query=total, granularity=0.25, scale=4, rounded=False),
        databases=Rows(row=Interval(low=0, high=1)),
        log_probability=None,
        privacy_loss=None,
    ),
    defect="the answer is not rounded to the grid, so outputs modulo the step give it away",
)


def halves(database: Database) -> Array:
    """Half the sum of the rows, twice: floats of shape (2,)."""
    return np.full(2, total(database) / 2)


_accounted = grid_laplace_mechanism(
    query=halves,
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=1, integer=True)),
    granularity=1.0,
    coordinates=2,
)


ROUNDING_UNACCOUNTED = NegativeControl(
    mechanism=replace(
        _accounted,
        name="grid-laplace-rounding-unaccounted",
        run=partial(noise_on_grid, query=halves, granularity=1.0, scale=1, rounded=True),
        log_probability=None,
    ),
    defect="two halves are both rounded up, which is 2 steps, and the noise is made for 1",
)
