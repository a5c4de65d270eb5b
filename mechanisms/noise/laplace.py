"""Noise in real arithmetic: the textbook Laplace mechanism, and the Gaussian one.

The Laplace mechanism is that of Dwork, McSherry, Nissim and Smith (2006). To protect data use
`grid_laplace`; this is the mechanism that the theorems speak of, numbered as in Dwork and Roth
(2014). They are about real numbers. In floating point the utility bound holds up to rounding, and
the privacy bound for events made of intervals much wider than the spacing of the outputs and
within some 36 scales of the answer, where the noise ends. The privacy bound does not hold for every
event: the last bits of answer + noise depend on the answer, Mironov (2012). `grid_laplace` and
`geometric` have no such bits.

Gaussian noise of standard deviation sigma on each coordinate of an answer that neighbours move by
at most D in Euclidean length is (D / sigma)-Gaussian differentially private (Dong, Roth and Su,
2022) and D^2 / (2 sigma^2)-zero-concentrated (Bun and Steinke, 2016), and no less: both are the
loss itself, at every event and every order. An (epsilon, delta) is one point of the first curve.

A function of what was released is as private as the release: `post_process`.
"""

from collections.abc import Callable
from functools import partial
from math import log
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from .._checks import require_positive, require_whole, sample_shape
from ..model import (
    Array,
    ConcentratedCurve,
    Database,
    Domain,
    GaussianCurve,
    GaussianLaw,
    Interval,
    LaplaceLaw,
    Law,
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
    query: Callable[[Database], ArrayLike],
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
    query: Callable[[Database], ArrayLike],
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


def post_processed(
    database: Database,
    rng: np.random.Generator,
    *,
    mechanism: Mechanism,
    function: Callable[[Output], Array],
    size: Size = None,
) -> Array:
    """Run the mechanism and release a function of its output.

    `function` maps outputs of any leading shape to that shape. Returns what it gives for `size`
    outputs.
    """
    return function(mechanism.run(database, rng, size=size))


def post_process(
    mechanism: Mechanism,
    function: Callable[[Output], Array],
    *,
    name: str,
    law: Callable[[Database], Law] | None = None,
) -> Mechanism:
    """The mechanism that releases `function` of another's output, with the other's privacy claims.

    `function` does not look at the database; `law` is the exact law of the result, where known.
    """
    privacy = tuple(claim for claim in mechanism.claims if isinstance(claim, PrivacyClaim))
    return Mechanism(
        trust_rows=mechanism.trust_rows,
        name=name,
        run=partial(post_processed, mechanism=mechanism, function=function),
        claims=privacy,
        databases=mechanism.databases,
        reference="Dwork and Roth (2014), Proposition 2.1",
        seeded=mechanism.seeded,
        law=law,
    )


NORMAL = NormalDist()


def gaussian(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], ArrayLike],
    sensitivity: float,
    mu: float,
    size: Size = None,
) -> Array:
    """Answer `query` with independent noise N(0, (sensitivity / mu)^2) on each coordinate.

    `query` maps a database to a number or to an array of shape s; neighbours move it by at most
    `sensitivity` in Euclidean length. `mu` is that of Gaussian differential privacy.
    Returns floats of shape `size` + s. Raises ValueError on a parameter that is not positive.
    """
    require_positive(sensitivity=sensitivity, mu=mu)
    answer = np.asarray(query(database), dtype=float)
    noise = rng.normal(scale=sensitivity / mu, size=sample_shape(size) + answer.shape)
    return answer + noise


def gaussian_mechanism(
    *,
    query: Callable[[Database], ArrayLike],
    sensitivity: float,
    mu: float,
    relation: Relation,
    databases: Domain,
    coordinates: int = 1,
    name: str = "gaussian",
    identifier: str = "",
) -> Mechanism:
    """`gaussian` at fixed parameters, with its mu, its rho and the tail of its error.

    `sensitivity` is in Euclidean length under `relation`; `coordinates` is the length of the
    query's answer. The claims, and the exact law, are those of real arithmetic.
    """
    require_positive(sensitivity=sensitivity, mu=mu)
    require_whole(coordinates=coordinates)
    scale = sensitivity / mu

    def worst_error(database: Database, output: Output) -> Array:
        return np.abs(np.asarray(output) - query(database)).max(axis=-1)

    def law(database: Database) -> GaussianLaw:
        return GaussianLaw(centres=np.asarray(query(database), dtype=float), scale=scale)

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(gaussian, query=query, sensitivity=sensitivity, mu=mu),
        databases=databases,
        claims=(
            PrivacyClaim.of_curve(
                GaussianCurve(mu),
                relation,
                statement="Gaussian noise of scale D / mu is mu-Gaussian differentially private",
                reference="Dong, Roth and Su (2022), Theorem 2.7",
            ),
            PrivacyClaim.of_curve(
                ConcentratedCurve(mu**2 / 2),
                relation,
                statement="Gaussian noise of scale D / mu is (mu^2 / 2)-zCDP",
                reference="Bun and Steinke (2016), Proposition 1.6",
            ),
            UtilityClaim(
                loss=worst_error,
                bound=lambda beta: scale * NORMAL.inv_cdf(1 - beta / (2 * coordinates)),
                statement="no coordinate errs by more than the normal quantile of beta / k",
                reference="tail of the normal law, union bound",
            ),
        ),
        reference="Dwork, Kenthapadi, McSherry, Mironov and Naor (2006)",
        law=law,
    )


GAUSSIAN = gaussian_mechanism(
    query=partial(histogram, categories=3),
    sensitivity=1.0,
    mu=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Interval(low=0, high=2, integer=True)),
    coordinates=3,
    identifier="T-GAUSS",
)
