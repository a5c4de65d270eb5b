"""Noisy projected gradient descent, Bassily, Smith and Thakurta (2014), with Laplace noise.

As in Stemmer, lecture notes on differential privacy, lecture 10, with the constants made explicit.
The number of records n is public and neighbours replace one record. Privacy is that of the list of
all noisy gradients, from which the points follow.

In order: how much noise is enough, and the exact law of the noisy gradients. Between neighbours,
one of n records replaced, the gradient moves by at most 2 G / n; noise of scale b = multiplier G
/ n costs ||shift||^2 / (2 b^2) of zero-concentrated privacy a step. Then claims about
expectations over the noise, tested on databases of equal rows, for which the minimum of the loss
is known. Then the mechanism.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log, sqrt
from typing import TypedDict

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..model import (
    Array,
    Claim,
    ConcentratedCurve,
    Database,
    Domain,
    ExpectationClaim,
    LaplaceLaw,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
)
from .gradient_descent import (
    DISTANCE,
    LINEAR,
    SOURCE,
    Loss,
    Projection,
    as_points,
    balanced_step_size,
    descend,
    excess_bound,
    norms,
    onto_ball,
    point_rows,
    progress_bound,
)


def coordinate_multiplier(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
    """The multiplier sqrt(2 T d) / s(epsilon, delta), for T d answers of sensitivity 2 G / n.

    At most 4 sqrt(T d ln(1 / delta)) / epsilon wherever epsilon <= ln(1 / delta).
    """
    return sqrt(2 * steps * dimension) / zcdp_root(epsilon, delta)


def l2_multiplier(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
    """The multiplier sqrt(2 T) / s(epsilon, delta), for T gradients of L2 sensitivity 2 G / n.

    The dimension does not enter: the squared losses of all coordinates of a gradient add up to
    (2 / multiplier)^2.
    """
    return sqrt(2 * steps) / zcdp_root(epsilon, delta)


def noise_scale(*, multiplier: float, lipschitz: float, records: int) -> float:
    """Scale of the Laplace noise on each coordinate of a gradient: multiplier G / n.

    Raises ValueError without records and when the multiplier or G is not positive.
    """
    require_positive(multiplier=multiplier, lipschitz=lipschitz)
    if records < 1:
        raise ValueError(f"records must be at least 1, got {records}")
    return multiplier * lipschitz / records


def mean_square_norm(
    *, square_norm: float, dimension: int, scale: float, per_noise: float = 2.0
) -> float:
    """E ||g + h||^2 = ||g||^2 + 2 d b^2, independent Laplace noise of scale b in d coordinates.

    `per_noise` is the variance of noise of scale 1.
    """
    return square_norm + per_noise * dimension * scale**2


class BoundLaw(TypedDict):
    """What the law of the gradients is bound to."""

    lipschitz: float
    start: Sequence[float]
    steps: int
    multiplier: float


class BoundDescent(BoundLaw):
    """What a noisy descent and its density are bound to."""

    loss: Loss
    step_size: float
    projection: Projection


def transcript_law(
    database: Database,
    *,
    lipschitz: float,
    start: Sequence[float],
    steps: int,
    multiplier: float,
) -> LaplaceLaw:
    """Exact law of all noisy gradients of the linear loss, whose slope is the same everywhere."""
    rows = as_points(database, len(start))
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=len(rows))
    slope = lipschitz * LINEAR.gradient(rows)(np.asarray(start, dtype=float))
    return LaplaceLaw(centres=np.tile(slope, (steps, 1)), scale=scale)


def log_density(
    database: Database,
    outputs: Output,
    *,
    loss: Loss,
    lipschitz: float,
    start: Sequence[float],
    step_size: float,
    steps: int,
    multiplier: float,
    projection: Projection,
) -> Array:
    """Log-density of all noisy gradients of any loss, in nats: (..., steps, d) to shape (...)."""
    given = np.moveaxis(np.asarray(outputs, dtype=float), -2, 0)
    rows = as_points(database, loss.columns or len(start))
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=len(rows))
    weights = np.broadcast_to(np.asarray(start, dtype=float), given.shape[1:])
    exact = loss.gradient(rows)
    total = np.full(given.shape[1:-1], -steps * len(start) * log(2 * scale))
    for noisy in given:
        slope = lipschitz * exact(weights)
        total = total - np.abs(noisy - slope).sum(axis=-1) / scale
        weights = projection(weights - step_size * noisy)
    return total


def expected_excess(
    *,
    loss: Loss,
    lipschitz: float,
    start: Sequence[float],
    step_size: float,
    steps: int,
    multiplier: float,
    radius: float,
    records: int,
) -> ExpectationClaim:
    """The expected excess loss of the average point over a ball of `radius`, `records` rows.

    The rows are opposite the start, a third of the way there, and the start itself.
    """
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=records)
    square_norm = mean_square_norm(square_norm=lipschitz**2, dimension=len(start), scale=scale)

    def quantity(database: Database, output: Output) -> Array:
        return _excess(database, np.asarray(output), loss, lipschitz, radius)

    return ExpectationClaim(
        quantity=quantity,
        bound=excess_bound(
            diameter=2 * radius, square_norm=square_norm, step_size=step_size, steps=steps
        ),
        databases=_copies(start, records),
        high=2 * lipschitz * radius,
        variance=(lipschitz * radius) ** 2,
        identifier="GD-T2",
        statement="E[L(w) - L(w*)] <= (eta / 2) (G^2 + 2 d b^2) + R^2 / (2 eta T), w the average",
        reference=f"{SOURCE}, Theorem 2, with constants",
    )


def expected_progress(
    *,
    loss: Loss,
    lipschitz: float,
    start: Sequence[float],
    step_size: float,
    multiplier: float,
    radius: float,
    records: int,
) -> ExpectationClaim:
    """The expected excess at a point minus its bound from the noisy step taken there.

    Outputs have shape (..., 3, d): a point, the noisy gradient there and the next point. The
    quantity is at most 0 on average only: noise makes it exceed 0 in single runs.
    """
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=records)

    def quantity(database: Database, output: Output) -> Array:
        before, noisy, after = np.moveaxis(np.asarray(output), -2, 0)
        best = _best(database, loss, len(start), radius)
        bounds = progress_bound(
            step_size=step_size,
            square_norm=norms(noisy) ** 2,
            before=norms(before - best) ** 2,
            after=norms(after - best) ** 2,
        )
        return _excess(database, before, loss, lipschitz, radius) - bounds

    # The three terms lie in [0, 2 G q] and in an interval of length (2 q)^2 / eta, or are eta / 2
    # times a squared norm; standard deviations add up at most.
    squares = _square_norm_variance(lipschitz, len(start), scale) + lipschitz**4 / 4
    deviation = lipschitz * radius + 2 * radius**2 / step_size + step_size / 2 * sqrt(squares)
    return ExpectationClaim(
        quantity=quantity,
        bound=0.0,
        databases=_copies(start, records),
        low=-np.inf,
        variance=deviation**2,
        identifier="GD-L4",
        statement="on average the excess at a point is at most the bound from the noisy step there",
        reference=f"{SOURCE}, the progress lemma in expectation",
    )


def expected_square_norm(
    *, lipschitz: float, dimension: int, multiplier: float, records: int, per_noise: float = 2.0
) -> ExpectationClaim:
    """The mean squared norm of a noisy gradient, where the gradient has norm `lipschitz`.

    Outputs have shape (..., 1, d). `per_noise` is the variance of Laplace noise of scale 1.
    """
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=records)
    return ExpectationClaim(
        quantity=lambda database, output: (np.asarray(output) ** 2).sum(axis=(-2, -1)),
        bound=mean_square_norm(
            square_norm=lipschitz**2, dimension=dimension, scale=scale, per_noise=per_noise
        ),
        databases=([[1.0] + [0.0] * (dimension - 1)] * records,),
        variance=_square_norm_variance(lipschitz, dimension, scale),
        identifier="GD-VAR",
        statement="E ||g + h||^2 = ||g||^2 + 2 d b^2",
        reference=f"{SOURCE}, proof of Theorem 2",
    )


def _square_norm_variance(lipschitz: float, dimension: int, scale: float) -> float:
    # The fourth moment of Laplace noise of scale b is 24 b^4.
    return 8 * lipschitz**2 * scale**2 + 20 * dimension * scale**4


def _copies(start: Sequence[float], records: int) -> tuple[Database, ...]:
    opposite = -np.asarray(start, dtype=float)
    return tuple([(share * opposite).tolist()] * records for share in (1.0, 1 / 3, -1.0))


def _best(database: Database, loss: Loss, dimension: int, radius: float) -> Array:
    return loss.minimiser(as_points(database, loss.columns or dimension)[0], radius)


def _excess(
    database: Database, weights: Array, loss: Loss, lipschitz: float, radius: float
) -> Array:
    dimension = weights.shape[-1]
    rows = as_points(database, loss.columns or dimension)
    best = _best(database, loss, dimension, radius)
    return lipschitz * (loss.value(weights, rows) - loss.value(best, rows))


Noise = Callable[[np.random.Generator, float, tuple[int, ...]], Iterator[Array]]
"""(rng, scale, shape) -> the noise of one step after the other."""
Release = Callable[[Iterator[tuple[Array, Array]]], Array]
"""What is made public of the steps, each a noisy gradient and the point it leads to."""


def fresh_noise(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Iterator[Array]:
    """Independent Laplace noise on every coordinate in every step."""
    while True:
        yield rng.laplace(scale=scale, size=shape)


def average_point(steps: Iterator[tuple[Array, Array]]) -> Array:
    """The average of the points after the first, second, ... step; shape (..., d)."""
    count, total = 0, np.zeros(())
    for _, weights in steps:
        count, total = count + 1, total + weights
    return total / count


def every_gradient(steps: Iterator[tuple[Array, Array]]) -> Array:
    """The noisy gradients of all T steps; shape (..., T, d)."""
    return np.stack([noisy for noisy, _ in steps], axis=-2)


def noisy_gradient_descent(
    database: Database,
    rng: np.random.Generator,
    *,
    loss: Loss,
    lipschitz: float,
    start: Sequence[float],
    step_size: float,
    steps: int,
    multiplier: float,
    projection: Projection,
    noise: Noise = fresh_noise,
    release: Release = average_point,
    size: Size = None,
) -> Array:
    """Minimise the average of `lipschitz` times `loss` over the n rows, by noisy gradients.

    w <- projection(w - step_size (gradient + noise)) from `start`, a point of d numbers, with
    Laplace noise of scale multiplier lipschitz / n on every coordinate. `noise` and `release`
    are parts of the algorithm, to be replaced in experiments.
    Returns what `release` makes of the steps: floats of shape `size` + (d,) for the average
    point, `size` + (steps, d) for every gradient. Raises ValueError on a parameter that is not
    positive and without rows.
    """
    require_positive(step_size=step_size, steps=steps)
    rows = as_points(database, loss.columns or len(start))
    scale = noise_scale(multiplier=multiplier, lipschitz=lipschitz, records=len(rows))
    shape = (*sample_shape(size), len(start))
    exact, noises = loss.gradient(rows), noise(rng, scale, shape)
    return release(
        descend(
            lambda weights: lipschitz * exact(weights) + next(noises),
            start=np.broadcast_to(np.asarray(start, dtype=float), shape),
            step_size=step_size,
            steps=steps,
            projection=projection,
        )
    )


def noisy_gradient_descent_mechanism(
    *,
    loss: Loss,
    start: Sequence[float],
    steps: int,
    epsilon: float,
    delta: float,
    calibration: Callable[..., float] = l2_multiplier,
    lipschitz: float = 1.0,
    radius: float = 1.0,
    step_size: float | None = None,
    databases: Domain | None = None,
    records: int = 6,
    release: Release = average_point,
    name: str = "noisy-gradient-descent",
    identifier: str = "",
) -> Mechanism:
    """`noisy_gradient_descent` over the ball of `radius` with noise of the given `calibration`.

    The step size is the balanced one unless given; databases have up to `records` rows in
    [-1, 1]^d unless given. The average point comes with its expected excess loss.
    """
    require_positive(radius=radius, lipschitz=lipschitz, epsilon=epsilon)
    require_whole(steps=steps, records=records)
    require_delta(delta=delta)
    if step_size is None:
        step_size = balanced_step_size(diameter=2 * radius, lipschitz=lipschitz, steps=steps)
    of_law: BoundLaw = {
        "lipschitz": lipschitz,
        "start": tuple(start),
        "steps": steps,
        "multiplier": calibration(epsilon=epsilon, delta=delta, steps=steps, dimension=len(start)),
    }
    parameters: BoundDescent = {
        **of_law,
        "loss": loss,
        "step_size": step_size,
        "projection": partial(onto_ball, radius=radius),
    }
    claims: tuple[Claim, ...] = (
        PrivacyClaim(
            epsilon=epsilon,
            delta=delta,
            relation=Relation.REPLACE_ONE,
            statement="the noisy gradients of all steps together are private",
            reference=f"{SOURCE}, with constants",
        ),
    )
    everything = release is every_gradient
    if release is average_point:
        excess = expected_excess(
            radius=radius, records=records, loss=loss, step_size=step_size, **of_law
        )
        claims = (*claims, excess)
    # A replaced row moves each gradient by 2 G / n in length, 2 / multiplier scales of the noise.
    concentrated = PrivacyClaim.of_curve(
        ConcentratedCurve(2 * steps / of_law["multiplier"] ** 2),
        Relation.REPLACE_ONE,
        statement="the noisy gradients of T steps are (2 T / multiplier^2)-zCDP",
        reference="Bun and Steinke (2016), Proposition 1.4 and Lemma 1.7",
    )
    claims = (*claims, concentrated)
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(noisy_gradient_descent, release=release, **parameters),
        databases=databases or Rows(row=point_rows(len(start)), min_size=1, max_size=records),
        claims=claims,
        reference="Bassily, Smith and Thakurta (2014)",
        law=partial(transcript_law, **of_law) if everything and loss is LINEAR else None,
        log_probability=partial(log_density, **parameters) if everything else None,
    )


NOISY_GRADIENTS = noisy_gradient_descent_mechanism(
    loss=LINEAR,
    start=(0.0, 0.0),
    steps=24,
    epsilon=2.0,
    delta=1e-3,
    calibration=coordinate_multiplier,
    release=every_gradient,
    name="noisy-gradients",
    identifier="GD-PRIV-COORD",
)
NOISY_GRADIENT_DESCENT = noisy_gradient_descent_mechanism(
    loss=DISTANCE,
    start=(-1.0, 0.0),
    steps=16,
    epsilon=2.0,
    delta=1e-3,
    identifier="GD-PRIV-L2",
)
