"""Noisy gradient descent: how its noise and its excess change with the number of steps."""

from collections.abc import Callable
from functools import partial
from math import ceil, sqrt

import numpy as np

from ..accounting.composition import zcdp_root
from ..model import Array, Database, GrowthClaim, Output, Theorem, number, whole
from .gradient_descent import SOURCE, balanced_step_size
from .losses import DISTANCE, LINEAR
from .noisy_gradient_descent import (
    every_gradient,
    noisy_gradient_descent,
    noisy_gradient_descent_mechanism,
)
from .noisy_gradient_law import coordinate_multiplier, l2_multiplier
from .projections import UNIT_BALL

CUT = 50.0
"""Squared lengths are cut at so many times their mean, which only makes the mean smaller."""


def _in_noise(epsilon: float, delta: float, dimension: int) -> GrowthClaim:
    def bound(steps: float) -> float:
        spread = zcdp_root(epsilon, delta)
        return 2 * dimension * 2 * steps / spread**2

    def instance(steps: float) -> tuple[Callable[..., Array], Database]:
        run = partial(
            noisy_gradient_descent,
            loss=LINEAR,
            lipschitz=1.0,
            start=(0.0,) * dimension,
            step_size=balanced_step_size(diameter=2.0, lipschitz=1.0, steps=int(steps)),
            steps=int(steps),
            multiplier=l2_multiplier(
                epsilon=epsilon, delta=delta, steps=int(steps), dimension=dimension
            ),
            projection=UNIT_BALL,
            release=every_gradient,
        )
        return run, [[0.0] * dimension]

    def square(steps: float, database: Database, output: Output) -> Array:
        found = (np.asarray(output) ** 2).sum(axis=-1).mean(axis=-1)
        return np.minimum(found, CUT * bound(steps))

    return GrowthClaim(
        trust_rows=True,
        points=(4, 16, 64),
        instance=instance,
        quantity=square,
        bound=bound,
        high=lambda steps: CUT * bound(steps),
        grows="mean squared noise",
        over="T",
    )


def _in_steps(epsilon: float, delta: float, dimension: int, fewest: int) -> GrowthClaim:
    start = (-1.0,) + (0.0,) * (dimension - 1)

    def instance(steps: float) -> tuple[Callable[..., Array], Database]:
        made = noisy_gradient_descent_mechanism(
            loss=DISTANCE,
            start=start,
            steps=int(steps),
            epsilon=epsilon,
            delta=delta,
            calibration=coordinate_multiplier,
            records=_records(steps),
        )
        return made.run, [[1.0] + [0.0] * (dimension - 1)] * _records(steps)

    def _records(steps: float) -> int:
        return ceil(2 * dimension * sqrt(steps) / zcdp_root(epsilon, delta))

    def excess(steps: float, database: Database, output: Output) -> Array:
        rows = np.array(database[:1])
        return DISTANCE.value(np.asarray(output), rows)

    return GrowthClaim(
        trust_rows=True,
        points=tuple(fewest * 2**step for step in range(4)),
        instance=instance,
        quantity=excess,
        bound=lambda steps: 1.5 * 2.0 / sqrt(steps),
        high=lambda steps: 2.0,
        grows="excess",
        over="T",
    )


EPSILON = number(3.0, 0.5, 8, "nats, of all steps")
DELTA = number(1e-5, 1e-9, 0.05, "of all steps")

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="GD-GROW-NOISE",
        costly=10,
        statement="at one (epsilon, delta) the noise of a step has a squared length that grows as "
        "T, 4 d T / s^2 on average",
        reference=f"{SOURCE}, with constants",
        subject=_in_noise,
        parameters={
            "epsilon": EPSILON,
            "delta": DELTA,
            "dimension": whole(3, 1, 8, "d"),
        },
    ),
    Theorem(
        identifier="GD-GROW-STEPS",
        costly=10,
        slow=True,
        statement="with n >= 2 d sqrt(T) / s records the excess falls as 1 / sqrt(T), and is "
        "1.5 R G / sqrt(T) at most",
        reference=f"{SOURCE}, with constants",
        subject=_in_steps,
        constant=1.5,
        parameters={
            "epsilon": EPSILON,
            "delta": DELTA,
            "dimension": whole(3, 1, 8, "d"),
            "fewest": whole(16, 4, 32, "the fewest of four numbers of steps"),
        },
    ),
)
