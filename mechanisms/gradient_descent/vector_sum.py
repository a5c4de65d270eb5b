"""Sums of vectors with Laplace noise scaled to their Euclidean norm.

As in Stemmer, lecture notes on differential privacy, lecture 10, with the constants made
explicit. Rows have norm at most D and neighbours add or remove one, which moves the sum by at
most D. Noise on all coordinates need not grow with the dimension when delta > 0.
"""

from functools import partial
from math import erfc, exp, log, sqrt
from typing import TypedDict

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..model import (
    Array,
    Choices,
    ConcentratedCurve,
    Database,
    Domain,
    ExpectationClaim,
    LaplaceLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Product,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from .gradient_descent import SOURCE, Projection, as_points, onto_ball, point_rows


class BoundSum(TypedDict):
    """What `vector_sum` and its law are bound to."""

    dimension: int
    scale: float
    clip: Projection


def vector_sum(
    database: Database,
    rng: np.random.Generator,
    *,
    dimension: int,
    scale: float,
    clip: Projection,
    size: Size = None,
) -> Array:
    """Sum the rows, each clipped, with independent Laplace noise of `scale` on every coordinate.

    Rows have `dimension` numbers; `clip` maps them, shape (n, dimension), into the ball of the
    norm the scale is meant for.
    Returns floats of shape `size` + (dimension,). Raises ValueError on a scale that is not
    positive.
    """
    require_positive(scale=scale)
    exact = clip(as_points(database, dimension)).sum(axis=0)
    return exact + rng.laplace(scale=scale, size=(*sample_shape(size), dimension))


def vector_sum_law(
    database: Database, *, dimension: int, scale: float, clip: Projection
) -> LaplaceLaw:
    """Exact law of `vector_sum`."""
    return LaplaceLaw(centres=clip(as_points(database, dimension)).sum(axis=0), scale=scale)


def pure_scale(*, norm: float, epsilon: float, dimension: int) -> float:
    """Scale D sqrt(d) / epsilon, purely private: a row's L1 norm is at most D sqrt(d)."""
    require_positive(norm=norm, epsilon=epsilon, dimension=dimension)
    return norm * sqrt(dimension) / epsilon


def l2_scale(*, norm: float, epsilon: float, delta: float) -> float:
    """Scale D / (sqrt(2) s(epsilon, delta)), (epsilon, delta)-private in every dimension.

    The coordinates' zero-concentrated losses add up to D^2 / (2 scale^2) = s^2. It is
    `sufficient_constant` times D sqrt(ln(1 / delta)) / epsilon.
    """
    require_positive(norm=norm)
    return norm / (sqrt(2) * zcdp_root(epsilon, delta))


def sufficient_constant(*, epsilon: float, delta: float) -> float:
    """The constant (1 + sqrt(1 + epsilon / ln(1 / delta))) / sqrt(2) that makes Theorem 3 true.

    The noise has scale constant D sqrt(ln(1 / delta)) / epsilon. It is at most 1 + 1 / sqrt(2)
    as long as epsilon <= ln(1 / delta).
    """
    require_positive(epsilon=epsilon)
    return (1 + sqrt(1 + epsilon / log(1 / delta))) / sqrt(2)


def gaussian_delta(*, epsilon: float, shift: float) -> float:
    """The delta of Gaussian noise whose mean moves by `shift` standard deviations.

    The limit of Laplace noise in ever more dimensions, a row of norm `shift` scales spread evenly.
    Source: Balle and Wang (2018), Theorem 8.
    """
    near, far = shift / 2 - epsilon / shift, shift / 2 + epsilon / shift
    return (erfc(-near / sqrt(2)) - exp(epsilon) * erfc(far / sqrt(2))) / 2


def necessary_constant(*, epsilon: float, delta: float) -> float:
    """The c below which scale c D sqrt(ln(1 / delta)) / epsilon fails in high dimension.

    At it `gaussian_delta` is delta; found by bisection.
    """
    low, high = 1e-3, sufficient_constant(epsilon=epsilon, delta=delta)
    for _ in range(60):
        middle = (low + high) / 2
        shift = epsilon / (middle * sqrt(log(1 / delta)))
        if gaussian_delta(epsilon=epsilon, shift=shift) > delta:
            low = middle
        else:
            high = middle
    return high


def vector_sum_mechanism(
    *,
    dimension: int,
    epsilon: float,
    delta: float,
    norm: float = 1.0,
    scale: float | None = None,
    relation: Relation = Relation.ADD_REMOVE,
    databases: Domain | None = None,
    name: str = "vector-sum",
    identifier: str = "",
) -> Mechanism:
    """`vector_sum` of rows clipped to `norm`, with noise of `l2_scale` unless `scale` is given.

    Replacing a row moves the sum twice as far as adding one. Databases are rows of numbers in
    [-norm, norm] unless given.
    """
    require_whole(dimension=dimension)
    require_positive(epsilon=epsilon, norm=norm)
    require_delta(delta=delta)
    moves = norm if relation is Relation.ADD_REMOVE else 2 * norm
    if scale is None:
        scale = l2_scale(norm=moves, epsilon=epsilon, delta=delta)
    parameters: BoundSum = {
        "dimension": dimension,
        "scale": scale,
        "clip": partial(onto_ball, radius=norm),
    }
    if databases is None:
        databases = Rows(row=point_rows(dimension, norm), max_size=6)

    def errors(database: Database, output: Output) -> Array:
        return np.asarray(output) - vector_sum_law(database, **parameters).centres

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(vector_sum, **parameters),
        databases=databases,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=relation,
                statement="noise scaled to the Euclidean norm hides a row in every dimension",
                reference=f"{SOURCE}, Theorem 3, with its constant",
            ),
            UtilityClaim(
                loss=lambda database, output: np.abs(errors(database, output)).max(axis=-1),
                bound=lambda beta: scale * log(dimension / beta),
                statement="no coordinate errs by more than scale ln(dimension / beta)",
                reference="Dwork and Roth (2014), Theorem 3.8",
            ),
            ExpectationClaim(
                quantity=lambda database, output: (errors(database, output) ** 2).sum(axis=-1),
                bound=2 * dimension * scale**2,
                databases=([], [[norm] * dimension] * 3),
                variance=20 * dimension * scale**4,
                statement="the squared error is 2 dimension scale^2 on average",
                reference="Dwork and Roth (2014), Definition 3.2",
            ),
            PrivacyClaim.of_curve(
                ConcentratedCurve(moves**2 / (2 * scale**2)),
                relation,
                statement="noise of scale b is (D^2 / (2 b^2))-zCDP in every dimension",
                reference="Bun and Steinke (2016), Proposition 1.4 and Lemma 1.7",
            ),
        ),
        reference="Dwork, McSherry, Nissim and Smith (2006)",
        law=partial(vector_sum_law, **parameters),
    )


def spread_rows(*, dimension: int, norm: float) -> Rows:
    """Up to three rows of the given norm whose coordinates are all equal but for their signs.

    Such a row has the largest L1 norm, and spreads its loss over most coordinates.
    """
    size = norm / sqrt(dimension)
    return Rows(row=Product(parts=(Choices(values=(size, -size)),) * dimension), max_size=3)


VECTOR_SUM = vector_sum_mechanism(
    dimension=32,
    epsilon=2.0,
    delta=1e-3,
    databases=spread_rows(dimension=32, norm=1.0),
    identifier="GD-T3",
)
"""Below 16 dimensions the coordinates' losses add up to less than epsilon without any delta."""
