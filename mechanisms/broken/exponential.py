"""Exponential mechanisms that lose more than they claim."""

from functools import partial

import numpy as np

from .._checks import label_array, sample_shape
from ..exponential import exponential, exponential_mechanism
from ..model import (
    Array,
    Choices,
    Database,
    Mechanism,
    NegativeControl,
    Neighbouring,
    PrivacyClaim,
    Rows,
    Size,
)
from ..queries import histogram

__all__ = ["DATA_DEPENDENT_RANGE", "NAIVE", "data_dependent_range"]

# Half the true sensitivity cancels the factor 2 in the weights.
_naive = exponential_mechanism(
    score=partial(histogram, categories=2),
    candidates=2,
    sensitivity=0.5,
    epsilon=1.0,
    neighbouring=Neighbouring.REPLACE_ONE,
    databases=Rows(row=Choices(values=(0, 1))),
    name="EM-NAIVE",
    identifier="EM-NAIVE",
)

NAIVE = NegativeControl(
    mechanism=_naive,
    breaks=_naive.claims[0],
    defect="weights exp(epsilon score / sensitivity) without the factor 2: the loss is up to 2",
)


def data_dependent_range(
    database: Database, rng: np.random.Generator, *, epsilon: float, size: Size = None
) -> Array:
    """Choose among the values that occur in the database, by how often they do.

    Returns values, objects of shape `size`; None stands for no value, in an empty database.
    """
    present = sorted(set(database))
    if not present:
        return np.full(sample_shape(size), None)[()]

    def occurrences(rows: Database) -> Array:
        return np.array([list(rows).count(value) for value in present])

    chosen = exponential(
        database, rng, score=occurrences, sensitivity=1.0, epsilon=epsilon, size=size
    )
    return label_array([*present, None])[chosen]


_from_data = Mechanism(
    name="EM-DDR",
    identifier="EM-DDR",
    run=partial(data_dependent_range, epsilon=1.0),
    databases=Rows(row=Choices(values=(0, 1, 2))),
    claims=(
        PrivacyClaim(
            epsilon=1.0,
            neighbouring=Neighbouring.ADD_REMOVE,
            reference="Dwork and Roth (2014), Theorem 3.10",
        ),
    ),
    reference="McSherry and Talwar (2007)",
)

DATA_DEPENDENT_RANGE = NegativeControl(
    mechanism=_from_data,
    breaks=_from_data.claims[0],
    defect="the candidates are read off the database: a value only one database has gives it away",
)
