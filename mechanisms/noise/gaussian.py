"""The Gaussian mechanism, in real arithmetic, and the curves that it keeps exactly.

Noise of standard deviation sigma on each coordinate of an answer that neighbours move by at most D
in Euclidean length is (D / sigma)-Gaussian differentially private (Dong, Roth and Su, 2022) and
D^2 / (2 sigma^2)-zero-concentrated (Bun and Steinke, 2016), and no less: both are the loss
itself, at every event and every order. An (epsilon, delta) is one point of the first curve. As of
`laplace`, the last bits of a float give the answer away (Mironov, 2012); protect data with
whole-number noise.
"""

from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from .._checks import require_positive, require_whole, sample_shape
from ..model import (
    Array,
    ConcentratedCurve,
    Database,
    Domain,
    GaussianCurve,
    GaussianLaw,
    Interval,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..queries import histogram

NORMAL = NormalDist()


def gaussian(
    database: Database,
    rng: np.random.Generator,
    *,
    query: Callable[[Database], Any],
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
    query: Callable[[Database], Any],
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
