"""Descents, vector sums and statements on them with one part wrong: a noise, sign, step or set."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import log, sqrt
from typing import TypedDict

import numpy as np

from .._checks import sample_shape
from ..model import (
    Array,
    BrokenStatement,
    Database,
    Interval,
    InvariantCase,
    InvariantClaim,
    LaplaceLaw,
    Mechanism,
    NegativeControl,
    PrivacyClaim,
    Record,
    Relation,
    Rows,
    Size,
)
from .gradient_cases import (
    contained_margin,
    descent_domain,
    excess_margin,
    far_starts,
    nonexpansive_margin,
    progress_margin,
    set_domain,
    set_edges,
)
from .gradient_descent import (
    DISTANCE,
    LINEAR,
    SOURCE,
    as_points,
    onto_ball,
    point_rows,
    projected_gradient_descent,
)
from .noisy_gradient_descent import (
    every_gradient,
    expected_square_norm,
    l2_multiplier,
    noise_scale,
    noisy_gradient_descent_mechanism,
)
from .vector_sum import (
    BoundSum,
    l2_scale,
    spread_rows,
    vector_sum,
    vector_sum_law,
    vector_sum_mechanism,
)


def reused_noise(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Iterator[Array]:
    """One Laplace noise on every coordinate, the same in every step."""
    drawn = rng.laplace(scale=scale, size=shape)
    while True:
        yield drawn


def as_they_are(points: Array) -> Array:
    """The points as they are."""
    return points


def noisy_average(
    database: Database,
    rng: np.random.Generator,
    *,
    average: Callable[[Database], Array],
    epsilon: float,
    size: Size = None,
) -> Array:
    """`average` of the n rows, shape (d,), plus Laplace noise of scale 2 / (epsilon n).

    Returns floats of shape `size` + (d,).
    """
    law = noisy_average_law(database, average=average, epsilon=epsilon)
    noise = rng.laplace(scale=law.scale, size=sample_shape(size) + law.centres.shape)
    return law.centres + noise


def noisy_average_law(
    database: Database, *, average: Callable[[Database], Array], epsilon: float
) -> LaplaceLaw:
    """Exact law of `noisy_average`."""
    scale = noise_scale(multiplier=2 / epsilon, lipschitz=1.0, records=len(database))
    return LaplaceLaw(centres=average(database), scale=scale)


class BoundAverage(TypedDict):
    """What `noisy_average` and its law are bound to."""

    average: Callable[[Database], Array]
    epsilon: float


def average_of_descent(database: Database, *, step_size: float, steps: int) -> Array:
    """The average point of a descent from 0 on the linear loss of numbers in the unit interval.

    The set is so wide that the descent stays inside; shape (1,).
    """
    points = projected_gradient_descent(
        LINEAR.gradient(as_points(database, 1)),
        start=np.zeros(1),
        step_size=step_size,
        steps=steps,
        projection=partial(onto_ball, radius=step_size * steps),
    )
    return points[1:].mean(axis=0)


def _scaled(factor: float) -> Callable[..., float]:
    """A calibration with noise `factor` times that of a sound one."""

    def calibration(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
        return factor * l2_multiplier(
            epsilon=epsilon, delta=delta, steps=steps, dimension=dimension
        )

    return calibration


STEPS = 8
# One coordinate and many steps: the sound noise is then nearly needed.
_gradients = partial(
    noisy_gradient_descent_mechanism,
    loss=LINEAR,
    start=(0.0,),
    steps=STEPS,
    epsilon=2.0,
    delta=0.01,
    release=every_gradient,
)


def _privacy(identifier: str, mechanism: Mechanism, defect: str) -> NegativeControl:
    return NegativeControl(mechanism=replace(mechanism, identifier=identifier), defect=defect)


HALF_THE_SENSITIVITY = _privacy(
    "MUT-GD-4",
    _gradients(calibration=_scaled(1 / 2), name="noisy-gradients-half-the-sensitivity"),
    "noise for gradients that move by G / n, the norm of one row's share; they move by 2 G / n",
)
NOISE_OF_ONE_STEP = _privacy(
    "MUT-GD-5",
    _gradients(calibration=_scaled(1 / sqrt(STEPS)), name="noisy-gradients-noise-of-one-step"),
    "the noise does not grow with the root of the number of steps",
)
_two_steps = _gradients(loss=DISTANCE, start=(0.0,), steps=2, name="noisy-gradients-reused-noise")
REUSED_NOISE = _privacy(
    "MUT-GD-6",
    replace(_two_steps, run=partial(_two_steps.run, noise=reused_noise), log_probability=None),
    "all steps share their noise, which the differences of the gradients cancel",
)
_unclipped: BoundSum = {
    "dimension": 2,
    "scale": l2_scale(norm=1.0, epsilon=2.0, delta=1e-3),
    "clip": as_they_are,
}
ROWS_NOT_CLIPPED = _privacy(
    "MUT-GD-7",
    replace(
        vector_sum_mechanism(dimension=2, epsilon=2.0, delta=1e-3),
        name="vector-sum-rows-not-clipped",
        run=partial(vector_sum, **_unclipped),
        law=partial(vector_sum_law, **_unclipped),
        databases=Rows(row=point_rows(2, 3.0), max_size=6),
    ),
    "rows longer than the norm the noise is for are summed as they are: the loss grows with them",
)
CONSTANT_ONE = _privacy(
    "MUT-GD-8",
    vector_sum_mechanism(
        dimension=12,
        epsilon=4.0,
        delta=0.2,
        scale=sqrt(log(1 / 0.2)) / 4.0,
        databases=spread_rows(dimension=12, norm=1.0),
        name="vector-sum-constant-one",
    ),
    "noise of scale D sqrt(ln(1 / delta)) / epsilon, without the constant of the theorem",
)
_once: BoundAverage = {
    "average": partial(average_of_descent, step_size=0.5, steps=9),
    "epsilon": 1.0,
}
NOISE_ON_THE_AVERAGE = _privacy(
    "MUT-GD-9",
    Mechanism(
        trust_rows=True,
        name="noisy-average",
        run=partial(noisy_average, **_once),
        databases=Rows(row=Interval(low=-1, high=1), min_size=1, max_size=6),
        claims=(
            PrivacyClaim(
                epsilon=1.0,
                relation=Relation.REPLACE_ONE,
                statement="noise for one gradient, added once to the average point, is enough",
                reference=SOURCE,
            ),
        ),
        reference="Bassily, Smith and Thakurta (2014)",
        law=partial(noisy_average_law, **_once),
    ),
    "the average point moves by step_size (steps + 1) / n, a gradient by 2 / n: the loss is 2.5",
)
_wrong_variance = expected_square_norm(
    lipschitz=1.0,
    dimension=3,
    multiplier=l2_multiplier(epsilon=2.0, delta=0.01, steps=1, dimension=3),
    records=4,
    per_noise=1.0,
)
_one_step = _gradients(start=(0.0,) * 3, steps=1, name="noisy-gradient-variance-of-a-gaussian")
GAUSSIAN_VARIANCE = NegativeControl(
    mechanism=replace(
        _one_step, identifier="MUT-GD-10", claims=(*_one_step.claims, _wrong_variance)
    ),
    claim=-1,
    defect="the variance of the noise is taken for scale^2, as if Gaussian, and is twice that",
)
DIAMETER, LIPSCHITZ, DESCENT_STEPS = 2.0, 1.0, 100


def onto_two_points(points: Array) -> Array:
    """The nearest points of {-1, 1}^d, which is not convex."""
    return np.where(points < 0, -1.0, 1.0)


def _broken(
    number: str,
    statement: str,
    defect: str,
    margin: Callable[[InvariantCase], float],
    cases: Record,
    examples: tuple[object, ...],
) -> BrokenStatement:
    identifier = f"MUT-GD-{number}"
    claim = InvariantClaim(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        cases=cases,
        margin=margin,
        examples=examples,
    )
    return BrokenStatement(identifier=identifier, claim=claim, defect=defect)


class DescentSize(TypedDict):
    """How wide the set of a descent is, and how steep its loss."""

    diameter: float
    lipschitz: float


_broken_descent = partial(
    _broken, cases=descent_domain(dimension=1), examples=far_starts(dimension=1)
)
_setting: DescentSize = {"diameter": DIAMETER, "lipschitz": LIPSCHITZ}
_excess = partial(
    excess_margin,
    steps=DESCENT_STEPS,
    bound=lambda **_: DIAMETER * LIPSCHITZ / DESCENT_STEPS**0.5,
    **_setting,
)
NOT_PROJECTED = _broken_descent(
    "1",
    "all points lie in the set",
    "the points are not projected",
    partial(contained_margin, steps=4, projection=as_they_are, **_setting),
)
ASCENT = _broken_descent(
    "2",
    "L(w_t) - L(w) <= (eta / 2) ||g||^2 + (||w_t - w||^2 - ||w_(t+1) - w||^2) / (2 eta)",
    "every step goes up the gradient instead of down",
    partial(progress_margin, steps=4, sign=-1.0, **_setting),
)
STEPS_TOO_SMALL = _broken_descent(
    "3",
    "L(average) - L(w*) <= R G / sqrt(T)",
    "step size R / (G T): the descent crosses the set once at most, and its average is half way",
    partial(_excess, step_size=DIAMETER / (LIPSCHITZ * DESCENT_STEPS)),
)
STEPS_TOO_LARGE = _broken_descent(
    "3b",
    "L(average) - L(w*) <= R G / sqrt(T)",
    "step size R sqrt(T) / G: the descent jumps from end to end",
    partial(_excess, step_size=DIAMETER * DESCENT_STEPS**0.5 / LIPSCHITZ),
)
NOT_CONVEX = _broken(
    "11",
    "projecting onto a set brings no point farther from one of the set",
    "the set is {-1, 1}, which is not convex",
    partial(nonexpansive_margin, radius=1.0, only=onto_two_points),
    set_domain(dimension=1),
    set_edges(dimension=1),
)
