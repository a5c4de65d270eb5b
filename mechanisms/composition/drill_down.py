"""Two noisy counts, the second of which depends on the first: adaptive composition at work."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import require_positive, sample_shape
from ..model import Array, Database, Interval, Mechanism, Relation, Rows, Size
from ..queries import histogram
from .composed import compose_adaptively


def compare_halves(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    earlier: Array,
    size: Size = None,
) -> Array:
    """How many more rows are 2 or 3 than 0 or 1, with Laplace(1 / epsilon) noise.

    Floats of shape `size`. The first step: nothing has been released `earlier`.
    """
    return _difference(database) + rng.laplace(scale=1 / epsilon, size=sample_shape(size))


def count_at_end(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    earlier: Array,
    size: Size = None,
) -> Array:
    """How many rows are 3, or 0, whichever end the earlier answer points to, with noise.

    The noise is Laplace(1 / epsilon). Floats of shape `size`, as `earlier` without its last axis.
    """
    return _end(database, earlier) + rng.laplace(scale=1 / epsilon, size=sample_shape(size))


def drill_down_mechanism(
    *, epsilons: tuple[float, float], name: str = "drill-down", identifier: str = ""
) -> Mechanism:
    """`compare_halves`, then `count_at_end`, on rows 0, 1, 2 and 3, with the privacy of the two.

    The exact log-density of a pair of outputs is known: the second is centred by the first.
    """
    first, second = epsilons
    require_positive(**{"epsilons[0]": first, "epsilons[1]": second})
    mechanism = compose_adaptively(
        steps=(partial(compare_halves, epsilon=first), partial(count_at_end, epsilon=second)),
        epsilons=epsilons,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=3, integer=True)),
        name=name,
        identifier=identifier,
    )

    def log_probability(database: Database, outputs: Any) -> Array:
        outputs = np.asarray(outputs)
        errors = np.abs(outputs[..., 0] - _difference(database)) * first
        errors += np.abs(outputs[..., 1] - _end(database, outputs)) * second
        return np.log(first * second / 4) - errors

    return replace(mechanism, log_probability=log_probability)


def _difference(database: Database) -> Array:
    return histogram(database, categories=4) @ [-1, -1, 1, 1]


def _end(database: Database, earlier: Array) -> Array:
    counts = histogram(database, categories=4)
    return np.where(earlier[..., 0] > 0, counts[3], counts[0])


DRILL_DOWN = drill_down_mechanism(epsilons=(0.5, 0.5))
