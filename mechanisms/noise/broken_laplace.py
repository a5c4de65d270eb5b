"""Laplace mechanisms that lose more than they claim."""

from dataclasses import replace
from functools import partial

import numpy as np

from .._checks import sample_shape
from ..model import Array, Database, Interval, NegativeControl, Relation, Rows, Size
from ..queries import count, histogram, total
from .laplace import LAPLACE, LAPLACE_VECTOR, laplace, laplace_mechanism

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
