"""An interior point of a few numbers on a grid, by the exponential mechanism.

Source: Beimel, Nissim and Stemmer (2013); Bun, Nissim, Stemmer and Vadhan (2015). The grid is
0, .., grid - 1 and neighbours replace one of the m points; m is public.
"""

from functools import partial
from math import ceil, exp, log

import numpy as np

from .._checks import grid_numbers, require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Interval,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..selection.categorical import draw_index, normalised

SOURCE = "Stemmer, lecture notes on differential privacy, lecture 12"


def depth_scores(database: Database, *, grid: int) -> Array:
    """min(#{x <= r}, #{x >= r}) for every r of the grid: whole numbers of shape (grid,).

    At least 1 exactly at the interior points; a replaced point moves every score by at most 1.
    Raises ValueError on a point off the grid.
    """
    counts = np.bincount(grid_numbers(database, values=grid, what="point"), minlength=grid)
    below = np.cumsum(counts)
    return np.minimum(below, below[-1] - below + counts)


def interior_point(
    database: Database, rng: np.random.Generator, *, grid: int, epsilon: float, size: Size = None
) -> Array:
    """Draw r with probability proportional to exp(epsilon depth(r) / 2), over the whole grid.

    The database has m numbers of the grid. Returns numbers of the grid of shape `size`. Raises
    ValueError on a parameter that is not positive.
    """
    require_positive(grid=grid, epsilon=epsilon)
    logits = epsilon / 2 * depth_scores(database, grid=grid)
    return draw_index(logits, rng, sample_shape(size))


def interior_point_law(database: Database, *, grid: int, epsilon: float) -> FiniteLaw:
    """The exact law of `interior_point`."""
    logits = epsilon / 2 * depth_scores(database, grid=grid)
    return FiniteLaw(outcomes=np.arange(grid), log_probabilities=normalised(logits))


def not_interior(database: Database, output: Output) -> Array:
    """1 where the output is no interior point of the database, else 0."""
    output = np.asarray(output)
    return ((output < min(database)) | (output > max(database))).astype(float)


def failure_bound(*, points: int, grid: int, epsilon: float) -> float:
    """(|D| - 1) exp(-epsilon ceil(m / 2) / 2): the chance of a point that is not interior."""
    return (grid - 1) * exp(-epsilon * ceil(points / 2) / 2)


def points_needed(*, grid: int, epsilon: float, beta: float) -> int:
    """Number of points m from which the chance of failure is at most `beta`."""
    require_positive(epsilon=epsilon, beta=beta)
    return ceil(4 / epsilon * log((grid - 1) / beta))


def balanced_points(points: int, grid: int) -> list[int]:
    """The hardest database: half of the points on one place of the grid, half on the next."""
    middle = grid // 2
    return [middle - 1] * (points - points // 2) + [middle] * (points // 2)


def interior_point_mechanism(
    *, points: int, grid: int, epsilon: float, name: str = "interior-point", identifier: str = ""
) -> Mechanism:
    """`interior_point` for `points` points, with its privacy and what it promises to find.

    So few points that the promised chance of failure is 1 or more make that promise vacuous.
    """
    require_whole(points=points, grid=grid)
    require_positive(epsilon=epsilon)
    bound = failure_bound(points=points, grid=grid, epsilon=epsilon)
    found = UtilityClaim(
        loss=not_interior,
        bound=lambda beta: 1.0,
        levels=(bound,),
        databases=(balanced_points(points, grid),),
        identifier="PAC-IP-EM-FAILURE",
        statement="the output is an interior point",
        reference=SOURCE,
    )
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(interior_point, grid=grid, epsilon=epsilon),
        databases=Rows(
            row=Interval(low=0, high=grid - 1, integer=True), min_size=points, max_size=points
        ),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=f"{SOURCE}; McSherry and Talwar (2007)",
            ),
            found,
        ),
        reference="Bun, Nissim, Stemmer and Vadhan (2015)",
        law=partial(interior_point_law, grid=grid, epsilon=epsilon),
    )


INTERIOR_POINT = interior_point_mechanism(points=4, grid=6, epsilon=1.0, identifier="PAC-IP-EM")
