"""Two-sided geometric mechanisms that lose more than they claim."""

from dataclasses import replace
from functools import partial

import numpy as np

from ..model import Array, Database, NegativeControl, Relation, Size
from ..queries import count
from .geometric import GEOMETRIC, geometric, geometric_mechanism

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
