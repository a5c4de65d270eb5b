"""Laplace mechanism on a grid, for real data: its privacy holds in floating point too.

The answer is rounded to the nearest multiple of a power of two and gets a whole number of grid
steps as noise, so that every output is a multiple of the step whatever the data: no low bits are
left to tell the answers apart, Mironov (2012). Whole-number noise for computers is due to Ghosh,
Roughgarden and Sundararajan (2012) and Canonne, Kamath and Steinke (2020).

What holds in floating point: rounding, sampling and the accounting below are exact, so the
privacy claim holds for every event, if the query moves by at most `sensitivity` as it is
computed (a float sum rounds too; `grid_total` does not) and `rng` gives uniform bits. The time
a draw takes depends on the noise and not on the answer. The utility claim holds up to rounding
of the loss, for answers below 2**60 steps.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import ceil, exp, frexp, log

import numpy as np
from numpy.typing import ArrayLike

from .._checks import require_positive, require_whole, sample_shape
from ..accounting.privacy_loss import discrete_laplace_loss
from ..model import (
    Array,
    Database,
    Domain,
    Interval,
    LossLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from .geometric import discrete_laplace, discrete_laplace_log_probability

FARTHEST = 2**60
"""Answers stop here, in grid steps: the noise added to them still fits 64 bits."""


def default_granularity(sensitivity: float) -> float:
    """The grid step used where none is given: the largest power of two <= sensitivity / 2**20."""
    require_positive(sensitivity=sensitivity)
    return 2.0 ** (frexp(sensitivity)[1] - 21)


def grid_steps(*, sensitivity: float, granularity: float, coordinates: int = 1) -> int:
    """How many grid steps the rounded answers of neighbours are apart in L1, at most.

    Rounding moves each of the coordinates that differ by less than one step more, and whole
    numbers stay whole: ceil(sensitivity / granularity) + coordinates - 1, computed exactly.
    """
    require_positive(sensitivity=sensitivity, coordinates=coordinates)
    _require_power_of_two(granularity)
    return ceil(Fraction(sensitivity) / Fraction(granularity)) + coordinates - 1


def grid_scale(
    *, sensitivity: float, epsilon: float, granularity: float, coordinates: int = 1
) -> int:
    """Scale of the noise in grid steps, a whole number: `grid_steps` / epsilon, rounded up."""
    require_positive(epsilon=epsilon)
    steps = grid_steps(sensitivity=sensitivity, granularity=granularity, coordinates=coordinates)
    return ceil(steps / Fraction(epsilon))


def nearest_steps(answer: ArrayLike, granularity: float) -> Array:
    """The answer in grid steps: the nearest whole number, the upper one of two, within +-2**60.

    Whole steps more in the answer are as many more in the result, which rounding half to even
    would not keep. Raises ValueError on NaN.
    """
    numbers = np.asarray(answer, dtype=float)
    if np.isnan(numbers).any():
        raise ValueError("query must give numbers, got nan")
    # Neither the division by a power of two nor the fraction rounds anything across a half.
    scaled = np.clip(numbers / granularity, -FARTHEST, FARTHEST)
    below = np.floor(scaled)
    return below.astype(np.int64) + (scaled - below >= 0.5)


def grid_total(database: Database, *, granularity: float) -> float:
    """Sum of the rows, each rounded to the grid first, so that the sum itself rounds nothing.

    Exact below 2**53 steps. One row in [-c, c], with c on the grid, moves it by at most c under
    add-remove, as computed and not only in real arithmetic.
    """
    rows = np.asarray(database, dtype=float)
    return float(nearest_steps(rows, granularity).sum() * granularity)


def grid_laplace(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], ArrayLike],
    sensitivity: float,
    epsilon: float,
    granularity: float | None = None,
    size: Size = None,
) -> Array:
    """Answer `query` on a grid with independent whole-number Laplace noise on each coordinate.

    `query` maps a database to a number or to an array of shape s; neighbours move it by at most
    `sensitivity` in L1. The grid's step `granularity` is a power of two, `default_granularity`
    if None. The noise is k steps with probability proportional to exp(-|k| / `grid_scale`).
    `epsilon` is in nats.
    Returns multiples of the step, floats of shape `size` + s. Raises ValueError on a parameter
    out of range and on an answer that is not a number.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    step = default_granularity(sensitivity) if granularity is None else granularity
    _require_power_of_two(step)
    steps = nearest_steps(query(database), step)
    scale = grid_scale(
        sensitivity=sensitivity, epsilon=epsilon, granularity=step, coordinates=max(1, steps.size)
    )
    noise = discrete_laplace(rng, scale=scale, size=sample_shape(size) + steps.shape)
    return (steps + noise) * step


def grid_laplace_mechanism(
    *,
    query: Callable[[Database], ArrayLike],
    sensitivity: float,
    epsilon: float,
    relation: Relation,
    databases: Domain,
    granularity: float | None = None,
    coordinates: int | None = None,
    name: str = "grid-laplace",
    identifier: str = "",
) -> Mechanism:
    """`grid_laplace` at fixed parameters, with what it is claimed to satisfy.

    `sensitivity` is in L1 under `relation`; `coordinates` is the length of the query's
    answer, None when the answer is a number. The utility claim is the exact tail of the noise
    and half a step of rounding. The exact law is known for every output, and for a number
    that of the privacy loss.
    """
    if coordinates is not None:
        require_whole(coordinates=coordinates)
    step = default_granularity(sensitivity) if granularity is None else granularity
    width = coordinates or 1
    scale = grid_scale(
        sensitivity=sensitivity, epsilon=epsilon, granularity=step, coordinates=width
    )

    def worst_error(database: Database, output: Output) -> Array:
        errors = np.abs(np.asarray(output) - query(database))
        return errors if coordinates is None else errors.max(axis=-1)

    def error_bound(beta: float) -> float:
        return step * (0.5 + scale * log(2 * width / ((1 + exp(-1 / scale)) * beta)))

    def log_probability(database: Database, outputs: Output) -> Array:
        noise = np.asarray(outputs) / step - nearest_steps(query(database), step)
        each = discrete_laplace_log_probability(noise, scale)
        each = np.where(noise == np.rint(noise), each, -np.inf)
        return each if coordinates is None else each.sum(axis=-1)

    def privacy_loss(database: Database, neighbour: Database) -> LossLaw:
        apart = nearest_steps(query(database), step) - nearest_steps(query(neighbour), step)
        return discrete_laplace_loss(int(apart), scale)

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(
            grid_laplace,
            query=query,
            sensitivity=sensitivity,
            epsilon=epsilon,
            granularity=step,
        ),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=relation,
                identifier="T-GRID",
                reference="Ghosh, Roughgarden and Sundararajan (2012)",
            ),
            UtilityClaim(
                loss=worst_error,
                bound=error_bound,
                reference="tail of the two-sided geometric law",
            ),
        ),
        reference="Canonne, Kamath and Steinke (2020)",
        log_probability=log_probability,
        privacy_loss=privacy_loss if coordinates is None else None,
    )


def _require_power_of_two(granularity: float) -> None:
    require_positive(granularity=granularity)
    if frexp(granularity)[0] != 0.5:
        raise ValueError(f"granularity must be a power of two, got {granularity}")


GRID_LAPLACE = grid_laplace_mechanism(
    query=partial(grid_total, granularity=2.0**-10),
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=1)),
    granularity=2.0**-10,
)
