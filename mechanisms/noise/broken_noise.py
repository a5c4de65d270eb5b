"""Noise that hides less than is claimed: Laplace, Gaussian, on a grid, in whole numbers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .._checks import sample_shape
from ..model import Array, Database, Interval, NegativeControl, Relation, Rows, Size
from ..queries import count, histogram, total
from .geometric import GEOMETRIC, discrete_laplace, geometric, geometric_mechanism
from .grid_laplace import GRID_LAPLACE, grid_laplace_mechanism, nearest_steps
from .laplace import GAUSSIAN, LAPLACE, LAPLACE_VECTOR, gaussian, laplace, laplace_mechanism
from .randomized_response import RANDOMIZED_RESPONSE, randomized_response_mechanism

_sum_for_sensitivity_1 = partial(
    laplace_mechanism,
    query=total,
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
)
UNDERSTATED_SENSITIVITY = NegativeControl(
    mechanism=_sum_for_sensitivity_1(
        databases=Rows(row=Interval(low=0, high=5, integer=True)),
        name="laplace-understated-sensitivity",
    ),
    defect="rows up to 5 are summed with noise for sensitivity 1: the loss is 5",
)
NO_CLIPPING = NegativeControl(
    mechanism=_sum_for_sensitivity_1(
        databases=Rows(row=Interval(low=0, high=10)), name="laplace-no-clipping"
    ),
    defect="rows are to be clipped to [0, 1] before they are summed and are not: the loss is 10",
)
_at_half = partial(
    laplace_mechanism,
    query=total,
    relation=Relation.ADD_REMOVE,
    databases=LAPLACE.databases,
    name="laplace-inverted-scale",
)
INVERTED_SCALE = NegativeControl(
    mechanism=replace(
        _at_half(sensitivity=0.5, epsilon=1.0), claims=_at_half(sensitivity=1.0, epsilon=0.5).claims
    ),
    defect="noise scale epsilon / sensitivity upside down, at epsilon 0.5: the loss is 2",
)


def shared_noise(
    database: Database,
    rng: np.random.Generator,
    *,
    categories: int,
    epsilon: float,
    size: Size = None,
) -> Array:
    """Add one Laplace(1 / epsilon) draw to all counts; floats of shape `size` + (categories,)."""
    noise = rng.laplace(scale=1 / epsilon, size=(*sample_shape(size), 1))
    return histogram(database, categories=categories) + noise


SHARED_NOISE = NegativeControl(
    mechanism=replace(
        LAPLACE_VECTOR,
        name="laplace-shared-noise",
        run=partial(shared_noise, categories=3, epsilon=1.0),
        law=None,
    ),
    defect="all counts get the same noise, which their differences cancel",
)


def one_sided_noise(
    database: Database, rng: np.random.Generator, *, epsilon: float, size: Size = None
) -> Array:
    """Add Exponential noise of mean 1 / epsilon to the count of rows; floats of shape `size`."""
    return count(database) + rng.exponential(1 / epsilon, size=sample_shape(size))


ONE_SIDED_NOISE = NegativeControl(
    mechanism=replace(
        LAPLACE,
        name="laplace-one-sided-noise",
        identifier="",
        run=partial(one_sided_noise, epsilon=1.0),
        law=None,
    ),
    defect="noise is never negative: an output below one count rules that count out",
)


def empty_database_unnoised(
    database: Database, rng: np.random.Generator, *, epsilon: float, size: Size = None
) -> Array:
    """Sum the rows with Laplace(1 / epsilon) noise, or give 0 for none; floats of shape `size`."""
    if not len(database):
        return np.zeros(sample_shape(size))[()]
    return laplace(database, rng, query=total, sensitivity=1.0, epsilon=epsilon, size=size)


EMPTY_DATABASE_UNNOISED = NegativeControl(
    mechanism=replace(
        LAPLACE,
        name="laplace-empty-database-unnoised",
        identifier="",
        run=partial(empty_database_unnoised, epsilon=1.0),
        law=None,
    ),
    defect="an empty database is answered with exactly 0, without noise",
)

TENTH_TOO_NARROW = NegativeControl(
    mechanism=replace(
        GAUSSIAN,
        name="gaussian-tenth-too-narrow",
        identifier="",
        run=partial(gaussian, query=partial(histogram, categories=3), sensitivity=1.0, mu=1 / 0.9),
        law=None,
    ),
    defect="noise of scale .9 where mu 1 needs 1: no (epsilon, 1e-5) of the claim shows it",
)


def noise_on_grid(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], ArrayLike],
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

WRONG_RATIO = NegativeControl(
    mechanism=replace(
        geometric_mechanism(
            query=count,
            sensitivity=1,
            epsilon=2.0,
            relation=Relation.ADD_REMOVE,
            databases=GEOMETRIC.databases,
            name="geometric-wrong-ratio",
        ),
        claims=GEOMETRIC.claims,
    ),
    defect="noise falls off by exp(-2 epsilon) a step where exp(-epsilon) is due: the loss is 2",
)


def truncated_to_data(
    database: Database, rng: np.random.Generator, *, epsilon: float, size: Size = None
) -> Array:
    """Count the rows with two-sided geometric noise, forced into [0, number of rows].

    Returns whole numbers of shape `size`.
    """
    noisy = geometric(database, rng, query=count, sensitivity=1, epsilon=epsilon, size=size)
    return np.clip(noisy, 0, len(database))


TRUNCATED_TO_DATA = NegativeControl(
    mechanism=replace(
        GEOMETRIC,
        name="geometric-truncated-to-data",
        run=partial(truncated_to_data, epsilon=1.0),
        privacy_loss=None,
        log_probability=None,
    ),
    defect="the noisy count is cut at the true count, which no output of a smaller one passes",
)

TOO_HONEST = NegativeControl(
    mechanism=replace(
        randomized_response_mechanism(
            values=("no", "unsure", "yes"), epsilon=2.0, name="randomized-response-too-honest"
        ),
        claims=RANDOMIZED_RESPONSE.claims,
    ),
    defect="tells the truth as often as 2 epsilon would allow: the loss is 2",
)
