"""Textbook Laplace mechanism, in real arithmetic, Dwork, McSherry, Nissim and Smith (2006).

To protect data use `grid_laplace`; this is the mechanism that the theorems speak of, numbered
as in Dwork and Roth (2014). They are about real numbers. In floating point the utility bound
holds up to rounding, and the privacy bound for events made of intervals much wider than the
spacing of the outputs and within some 36 scales of the answer, where the noise ends. The
privacy bound does not hold for every event: the last bits of answer + noise depend on the
answer, Mironov (2012). `grid_laplace` and `geometric` have no such bits.
"""

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from .._checks import require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Database,
    Domain,
    Interval,
    LaplaceLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..queries import histogram, total


def laplace(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
    size: Size = None,
) -> Array:
    """Answer `query` with independent Laplace(sensitivity / epsilon) noise on each coordinate.

    As the textbook has it: private in real arithmetic, while the low bits of a float give the
    answer away. `grid_laplace` is the same mechanism without that leak.
    `query` maps a database to a number or to an array of shape s; neighbours move it by at
    most `sensitivity` in L1. `epsilon` is in nats.
    Returns floats of shape `size` + s. Raises ValueError on a parameter that is not positive.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    answer = np.asarray(query(database), dtype=float)
    noise = rng.laplace(scale=sensitivity / epsilon, size=sample_shape(size) + answer.shape)
    return answer + noise


def laplace_mechanism(
    *,
    query: Callable[[Database], Any],
    sensitivity: float,
    epsilon: float,
    relation: Relation,
    databases: Domain,
    coordinates: int | None = None,
    name: str = "laplace",
    identifier: str = "",
) -> Mechanism:
    """`laplace` at fixed parameters, with the theorems it is claimed to satisfy.

    The claims, and the exact law, are those of real arithmetic; see the module.
    `sensitivity` is in L1 under `relation`; `coordinates` is the length of the query's
    answer, None when the answer is a number.
    """
    require_positive(sensitivity=sensitivity, epsilon=epsilon)
    if coordinates is not None:
        require_whole(coordinates=coordinates)

    def worst_error(database: Database, output: Output) -> Array:
        errors = np.abs(np.asarray(output) - query(database))
        return errors if coordinates is None else errors.max(axis=-1)

    def error_bound(beta: float) -> float:
        return sensitivity * log((coordinates or 1) / beta) / epsilon

    def law(database: Database) -> LaplaceLaw:
        centres = np.asarray(query(database), dtype=float)
        return LaplaceLaw(centres=centres, scale=sensitivity / epsilon)

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(laplace, query=query, sensitivity=sensitivity, epsilon=epsilon),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=relation,
                identifier="T-LAP-3",
                reference="Dwork and Roth (2014), Theorem 3.6",
            ),
            UtilityClaim(
                loss=worst_error,
                bound=error_bound,
                identifier="T-LAP-1" if coordinates is None else "T-UB",
                reference="Dwork and Roth (2014), Theorem 3.8",
            ),
        ),
        reference="Dwork, McSherry, Nissim and Smith (2006)",
        law=law,
    )


LAPLACE = laplace_mechanism(
    query=total,
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=1, integer=True)),
    identifier="T-LAP-3",
)

LAPLACE_VECTOR = laplace_mechanism(
    query=partial(histogram, categories=3),
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=2, integer=True)),
    coordinates=3,
    name="laplace-vector",
)
