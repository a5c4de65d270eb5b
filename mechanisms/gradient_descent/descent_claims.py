"""Claims about the expectation of noisy gradient descent, over its noise.

Stemmer, lecture notes on differential privacy, lecture 10, with the constants made explicit.
Claims are tested on databases of equal rows, for which the minimum of the loss is known.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from ..model import Array, Database, ExpectationClaim, Output
from .gradient_descent import SOURCE, excess_bound, progress_bound
from .losses import Loss, as_points
from .noisy_gradient_law import mean_square_norm, noise_scale
from .projections import norms


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
