"""Noisy projected gradient descent: what it loses, and what it achieves on average."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import ceil, log, sqrt
from typing import TypedDict, Unpack

import numpy as np

from ..accounting.composition import Spending, bound, spends, zcdp_root
from ..model import (
    Array,
    Database,
    EqualityClaim,
    ExpectationClaim,
    IdentityClaim,
    Mechanism,
    Parameter,
    Plot,
    Remarks,
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from .gradient_cases import mean_excess_plot
from .gradient_descent import DISTANCE, LINEAR, SOURCE, balanced_step_size, excess_bound
from .noisy_gradient_descent import (
    coordinate_multiplier,
    every_gradient,
    expected_progress,
    expected_square_norm,
    l2_multiplier,
    noisy_gradient_descent_mechanism,
)

EPSILON = number(1.0, 0.1, 4, "nats, of all steps")
# No default is 1 here: what is multiplied by 1, or is its own square, would not be looked at.
LIPSCHITZ = number(3.0, 0.1, 10, "G")
RADIUS = number(0.5, 0.1, 10, "of the ball, R / 2")
SHARES = (1, 4, 16, 64)
"""The numbers of steps in a picture, in 64ths of the number asked for."""


def printed_multiplier(*, epsilon: float, delta: float, steps: int, dimension: int) -> float:
    """The multiplier sqrt(T d ln(1 / delta)) / epsilon: the printed rate with the constant 1."""
    return sqrt(steps * dimension * log(1 / delta)) / epsilon


def last_step(steps: Iterator[tuple[Array, Array]], start: tuple[float, ...]) -> Array:
    """Of the last step the point it starts from, the noisy gradient and the next point.

    Shape (..., 3, d).
    """
    before, (noisy, after) = np.asarray(start), next(steps)
    for slope, weights in steps:
        before, noisy, after = after, slope, weights
    return np.stack([np.broadcast_to(before, after.shape), noisy, after], axis=-2)


def _start(dimension: int, radius: float = 1.0) -> tuple[float, ...]:
    """A point of the sphere of this radius."""
    return (-radius,) + (0.0,) * (dimension - 1)


def _parameters(dimension: int, delta: float, **counts: int) -> dict[str, Parameter]:
    """Epsilon, delta, the dimension and so many steps or records."""
    return {
        "epsilon": EPSILON,
        "delta": number(delta, 1e-9, 0.05, "of all steps"),
        "dimension": whole(dimension, 1, 8, "d"),
        **{name: whole(count, 1, 2000, name) for name, count in counts.items()},
    }


def _theorem(
    identifier: str,
    statement: str,
    parameters: dict[str, Parameter],
    subject: Callable[..., Subject | Mechanism | IdentityClaim],
    plot: Callable[..., Plot] | None = None,
    **rest: Unpack[Remarks],
) -> Theorem:
    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE if "corrected" in rest else f"{SOURCE}, with constants",
        subject=subject,
        slow=True,
        parameters=parameters,
        plot=plot,
        **rest,
    )


def _private(
    calibration: Callable[..., float],
    epsilon: float,
    delta: float,
    dimension: int,
    steps: int,
    records: int,
    lipschitz: float = 1.0,
) -> Mechanism:
    return noisy_gradient_descent_mechanism(
        loss=LINEAR,
        lipschitz=lipschitz,
        start=(0.0,) * dimension,
        steps=steps,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        records=records,
        release=every_gradient,
        name="noisy-gradients",
    )


def _concentrated(
    epsilon: float, delta: float, dimension: int, steps: int, records: int
) -> Subject:
    made = _private(l2_multiplier, epsilon, delta, dimension, steps, records)
    return Subject(claim=made.claims[-1], mechanism=made)


def _steps_spend(epsilon: float, delta: float, dimension: int, steps: int) -> IdentityClaim:
    """Replacing a row moves a gradient by 2 G / n in length, 2 / multiplier scales of the noise."""

    def gradients(calibration: Callable[..., float], coordinates: int) -> Spending:
        made = _private(calibration, epsilon, delta, dimension, steps, records=1)
        each = 2 / bound(made)["multiplier"]
        return Spending(pure=[each] * steps * coordinates, delta=delta)

    return spends(
        lambda: [gradients(l2_multiplier, 1), gradients(coordinate_multiplier, dimension)],
        epsilon=epsilon,
    )


def _progress(epsilon: float, delta: float, dimension: int, steps: int, records: int) -> Subject:
    start, count = _start(dimension), steps
    mechanism = noisy_gradient_descent_mechanism(
        loss=DISTANCE,
        start=start,
        steps=count,
        epsilon=epsilon,
        delta=delta,
        records=records,
        release=partial(last_step, start=start),
        name="noisy-gradient-descent-last-step",
    )
    claim = expected_progress(
        loss=DISTANCE,
        lipschitz=1.0,
        start=start,
        step_size=balanced_step_size(diameter=2.0, lipschitz=1.0, steps=count),
        multiplier=l2_multiplier(epsilon=epsilon, delta=delta, steps=count, dimension=len(start)),
        radius=1.0,
        records=records,
    )
    return Subject(claim=claim, mechanism=mechanism)


def _square_norm(
    epsilon: float, delta: float, dimension: int, records: int, lipschitz: float
) -> Subject:
    mechanism = _private(l2_multiplier, epsilon, delta, dimension, 1, records, lipschitz)
    claim = expected_square_norm(
        lipschitz=lipschitz,
        dimension=dimension,
        multiplier=l2_multiplier(epsilon=epsilon, delta=delta, steps=1, dimension=dimension),
        records=records,
    )
    return Subject(claim=claim, mechanism=mechanism)


def _excess(
    epsilon: float,
    delta: float,
    dimension: int,
    steps: int,
    records: int,
    lipschitz: float = 1.0,
    radius: float = 1.0,
    step_size: float | None = None,
) -> Subject:
    mechanism = noisy_gradient_descent_mechanism(
        loss=DISTANCE,
        lipschitz=lipschitz,
        radius=radius,
        start=_start(dimension, radius),
        step_size=step_size,
        steps=steps,
        epsilon=epsilon,
        delta=delta,
        calibration=coordinate_multiplier,
        records=records,
    )
    return Subject(claim=mechanism.claims[1], mechanism=mechanism)


class NoisySetting(TypedDict):
    """What is private in a descent, and of how many records and coordinates."""

    epsilon: float
    delta: float
    dimension: int
    records: int


def _slow(steps: int, lipschitz: float, radius: float, **setting: Unpack[NoisySetting]) -> Subject:
    """Steps of R / (G T) reach the farthest point with the last one: half of R G is lost."""
    step_size = 2 * radius / (lipschitz * steps)
    return _excess(steps=steps, lipschitz=lipschitz, radius=radius, step_size=step_size, **setting)


def _chosen_steps(
    epsilon: float, delta: float, dimension: int, steps: int, lipschitz: float, radius: float
) -> Subject:
    """With so many records the noise adds no more to a squared gradient than it was before."""
    records = ceil(2 * dimension * sqrt(steps) / zcdp_root(epsilon, delta))
    made = _excess(epsilon, delta, dimension, steps, records, lipschitz, radius)
    claim = made.claim
    assert isinstance(claim, ExpectationClaim)
    return replace(made, claim=replace(claim, bound=1.5 * 2 * radius * lipschitz / sqrt(steps)))


def _noise_in_bound(
    epsilon: float,
    delta: float,
    dimension: int,
    steps: int,
    records: int,
    lipschitz: float,
    radius: float,
) -> IdentityClaim:
    """Noise of scale G sqrt(2 T d) / (s n) in d coordinates adds G^2 / x^2 to a squared norm."""
    made = _excess(epsilon, delta, dimension, steps, records, lipschitz, radius).claim
    assert isinstance(made, ExpectationClaim)
    times = records * zcdp_root(epsilon, delta) / (2 * dimension * sqrt(steps))
    stated = (1 + 1 / (2 * times**2)) * 2 * radius * lipschitz / sqrt(steps)
    return IdentityClaim(compute=lambda: made.bound, stated=stated, tolerance=1e-9 * stated)


def _averaged(
    epsilon: float,
    delta: float,
    dimension: int,
    steps: int,
    records: int,
    lipschitz: float,
    radius: float,
) -> Subject:
    """What is released is worked out again from all noisy gradients, without the descent."""
    start = _start(dimension, radius)
    made = partial(
        noisy_gradient_descent_mechanism,
        loss=DISTANCE,
        lipschitz=lipschitz,
        radius=radius,
        start=start,
        steps=steps,
        epsilon=epsilon,
        delta=delta,
        records=records,
    )
    everything = made(release=every_gradient)
    step_size = 2 * radius / (lipschitz * sqrt(steps))

    def other(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
        weights = np.array(start)
        total = 0.0
        for noisy in np.moveaxis(everything.run(database, rng, size=size), -2, 0):
            weights = weights - step_size * noisy
            outside = np.sqrt((weights**2).sum(axis=-1, keepdims=True)) / radius
            weights = weights / np.maximum(outside, 1.0)
            total = total + weights
        return np.asarray(total / steps)

    opposite = [(radius,) + (0.0,) * (dimension - 1)] * records
    return Subject(
        claim=EqualityClaim(other=other, databases=(opposite,)),
        mechanism=made(),
    )


def _chain_rule(epsilon: float, delta: float, dimension: int, steps: int) -> IdentityClaim:
    """Noisy gradients, far from the ball, so that every point is projected."""

    def apart() -> float:
        made = noisy_gradient_descent_mechanism(
            loss=DISTANCE,
            start=_start(dimension),
            steps=steps,
            epsilon=epsilon,
            delta=delta,
            records=1,
            release=every_gradient,
        )
        rows = np.eye(1, dimension)
        noisy = 2 * np.random.default_rng(0).standard_normal((50, steps, dimension))
        scale = l2_multiplier(epsilon=epsilon, delta=delta, steps=steps, dimension=dimension)
        weights, total = np.broadcast_to(_start(dimension), (50, dimension)), np.zeros(50)
        for place in range(steps):
            apart = weights - rows
            length = np.sqrt((apart**2).sum(axis=-1, keepdims=True))
            slope = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0)
            total -= np.abs(noisy[:, place] - slope).sum(axis=-1) / scale
            total -= dimension * log(2 * scale)
            moved = weights - 2 / sqrt(steps) * noisy[:, place]
            outside = np.sqrt((moved**2).sum(axis=-1, keepdims=True))
            weights = moved / np.maximum(outside, 1.0)
        assert made.log_probability is not None
        return float(np.abs(made.log_probability(rows.tolist(), noisy) - total).max())

    return IdentityClaim(compute=apart, stated=0.0, tolerance=1e-6)


def _balanced(diameter: float, lipschitz: float, steps: int) -> IdentityClaim:
    def bound_of_balanced() -> float:
        step_size = balanced_step_size(diameter=diameter, lipschitz=lipschitz, steps=steps)
        return excess_bound(
            diameter=diameter, square_norm=lipschitz**2, step_size=step_size, steps=steps
        )

    stated = diameter * lipschitz / sqrt(steps)
    return IdentityClaim(compute=bound_of_balanced, stated=stated, tolerance=1e-9 * stated)


def _excess_plot(steps: int, **setting: Unpack[NoisySetting]) -> Plot:
    return mean_excess_plot(
        lambda count: _excess(steps=count, **setting),
        sorted({max(1, steps * share // 64) for share in SHARES}),
    )


THEOREMS: tuple[Theorem, ...] = (
    _theorem(
        "GD-PRIV-COORD",
        "noise of scale (G / n) sqrt(2 T d) / s(epsilon, delta) makes all steps private",
        _parameters(2, 1e-3, steps=20, records=40),
        partial(_private, coordinate_multiplier),
    ),
    _theorem(
        "GD-PRIV-L2",
        "noise of scale (G / n) sqrt(2 T) / s(epsilon, delta) makes all steps private",
        {**_parameters(2, 1e-3, steps=20, records=40), "lipschitz": LIPSCHITZ},
        partial(_private, l2_multiplier),
    ),
    _theorem(
        "GD-PRIV-RHO",
        "T noisy gradients with noise of scale m G / n are (2 T / m^2)-zCDP together",
        _parameters(2, 1e-3, steps=4, records=1),
        _concentrated,
    ),
    Theorem(
        identifier="GD-SPENT",
        statement="with either noise the gradients of all steps lose just epsilon together",
        reference=f"{SOURCE}, with constants",
        subject=_steps_spend,
        parameters={
            "epsilon": EPSILON,
            "delta": number(1e-3, 1e-9, 0.05, "of all steps"),
            "dimension": whole(3, 1, 8, "d"),
            "steps": whole(20, 1, 2000, "steps"),
        },
    ),
    _theorem(
        "GD-L4",
        "E[L(w_t) - L(w*)] <= E[(eta / 2) ||g + h||^2 + (||w_t - w*||^2 - ||w' - w*||^2) / 2 eta]",
        _parameters(3, 1e-5, steps=4, records=40),
        _progress,
    ),
    _theorem(
        "GD-VAR",
        "E ||g + h||^2 = ||g||^2 + 2 d b^2",
        {**_parameters(3, 1e-5, records=40), "lipschitz": LIPSCHITZ},
        _square_norm,
    ),
    _theorem(
        "GD-T2",
        "E[L(average) - L(w*)] <= (eta / 2) (G^2 + 2 d b^2) + R^2 / (2 eta T)",
        _parameters(3, 1e-5, steps=500, records=1000),
        _excess,
        plot=_excess_plot,
    ),
    _theorem(
        "GD-T2-SLOW",
        "E[L(average) - L(w*)] <= (eta / 2) (G^2 + 2 d b^2) + R^2 / (2 eta T) at eta = R / (G T)",
        {
            **_parameters(2, 1e-5, steps=20, records=1000),
            "lipschitz": LIPSCHITZ,
            "radius": RADIUS,
        },
        _slow,
    ),
    _theorem(
        "GD-T2-STEPS",
        "E[L(average) - L(w*)] <= 1.5 R G / sqrt(T) for T <= n^2 s^2 / (4 d^2), balanced eta",
        {**_parameters(2, 1e-5, steps=100), "lipschitz": LIPSCHITZ, "radius": RADIUS},
        _chosen_steps,
    ),
    _theorem(
        "GD-T2-NOISE",
        "with n = x times 2 d sqrt(T) / s records the bound on E[L(average) - L(w*)] is "
        "(1 + 1 / (2 x^2)) R G / sqrt(T), balanced eta",
        {
            **_parameters(2, 1e-5, steps=100, records=150),
            "lipschitz": LIPSCHITZ,
            "radius": RADIUS,
        },
        _noise_in_bound,
    ),
    _theorem(
        "GD-AVERAGE",
        "the released point is the average of those that the released gradients would lead to",
        {
            **_parameters(2, 1e-3, steps=4, records=100),
            "lipschitz": LIPSCHITZ,
            "radius": RADIUS,
        },
        _averaged,
    ),
    Theorem(
        identifier="GD-DENSITY",
        statement="the density of all gradients is the product of those of every step, each about "
        "the slope at the point that the gradients before it lead to",
        reference=f"{SOURCE}, with constants",
        subject=_chain_rule,
        parameters=_parameters(2, 1e-3, steps=4),
    ),
    Theorem(
        identifier="GD-BALANCED",
        statement="with eta = R / (G sqrt(T)) the bound (eta / 2) G^2 + R^2 / (2 eta T) is "
        "R G / sqrt(T)",
        reference=f"{SOURCE}, Theorem 1",
        subject=_balanced,
        parameters={
            "diameter": number(2.0, 0.1, 20, "R, of the set"),
            "lipschitz": number(1.0, 0.1, 10, "G"),
            "steps": whole(16, 1, 2000, "T"),
        },
    ),
    _theorem(
        "ERR-GD-9",
        "noise of scale (G / n) sqrt(T d ln(1 / delta)) / epsilon makes all steps private",
        {
            "epsilon": number(2.0, 1, 4, "nats, of all steps"),
            "delta": number(1e-3, 1e-6, 0.01, "of all steps"),
            "dimension": whole(1, 1, 2, "d"),
            "steps": whole(8, 4, 40, "T"),
            "records": whole(4, 1, 100, "n, at most"),
        },
        partial(_private, printed_multiplier),
        corrected="GD-PRIV-COORD",
        remark="the rate hides a constant, 4 where epsilon <= ln(1 / delta); with 1 it is false",
    ),
)
