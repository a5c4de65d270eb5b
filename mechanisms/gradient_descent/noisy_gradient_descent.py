"""Noisy projected gradient descent, Bassily, Smith and Thakurta (2014), with Laplace noise.

As in Stemmer, lecture notes on differential privacy, lecture 10, with the constants made
explicit. The number of records n is public and neighbours replace one record. Privacy is that of
the list of all noisy gradients, from which the points follow.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._checks import require_delta, require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Claim,
    ConcentratedCurve,
    Database,
    Domain,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
)
from .descent_claims import expected_excess
from .gradient_descent import SOURCE, balanced_step_size, descend
from .losses import DISTANCE, LINEAR, Loss, as_points, point_rows
from .noisy_gradient_law import (
    coordinate_multiplier,
    l2_multiplier,
    log_density,
    noise_scale,
    transcript_law,
)
from .projections import Projection, onto_ball

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
    of_law: dict[str, Any] = {
        "lipschitz": lipschitz,
        "start": tuple(start),
        "steps": steps,
        "multiplier": calibration(epsilon=epsilon, delta=delta, steps=steps, dimension=len(start)),
    }
    parameters = {
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
