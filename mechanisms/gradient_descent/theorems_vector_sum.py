"""Sums of vectors with Laplace noise: three calibrations, and the constant of the third."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import log, sqrt

from ..model import IdentityClaim, Interval, Mechanism, Parameter, Subject, Theorem
from .gradient_descent import SOURCE
from .vector_sum import (
    gaussian_delta,
    necessary_constant,
    pure_scale,
    spread_rows,
    sufficient_constant,
    vector_sum_mechanism,
)

EPSILON = Parameter(default=1.0, within=Interval(low=0.1, high=8), meaning="nats")
DELTA = Parameter(default=1e-3, within=Interval(low=1e-9, high=0.3), meaning="of the sum")
NORM = Parameter(default=1.0, within=Interval(low=0.1, high=10), meaning="D, of a row at most")


def _dimension(default: int, low: int = 1) -> Parameter:
    return Parameter(
        default=default, within=Interval(low=low, high=256, integer=True), meaning="d, of the rows"
    )


def _theorem(
    identifier: str,
    statement: str,
    parameters: dict[str, Parameter],
    build: Callable[..., Mechanism],
    *,
    corrected: str = "",
    remark: str = "",
) -> Theorem:
    """`build(**parameters)` is a mechanism whose first claim is the statement."""

    def subject(**chosen: float) -> Subject:
        defaults = {name: parameter.default for name, parameter in parameters.items()}
        mechanism = build(**{**defaults, **chosen})
        claim = replace(mechanism.claims[0], identifier=identifier, statement=statement)
        return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,)))

    return Theorem(
        identifier=identifier,
        statement=statement,
        reference=SOURCE if corrected else f"{SOURCE}, with constants",
        subject=subject,
        parameters=parameters,
        holds=not corrected,
        corrected=corrected,
        remark=remark,
    )


def _sum(dimension: float, norm: float, scale: float, epsilon: float, delta: float) -> Mechanism:
    length = round(dimension)
    return vector_sum_mechanism(
        dimension=length,
        norm=norm,
        scale=scale,
        epsilon=epsilon,
        delta=delta,
        databases=spread_rows(dimension=length, norm=norm),
    )


def _by_dimension(epsilon: float, dimension: float, norm: float) -> Mechanism:
    # D d / epsilon is the pure scale of a smaller epsilon.
    smaller = epsilon / sqrt(round(dimension))
    scale = pure_scale(norm=norm, epsilon=smaller, dimension=round(dimension))
    return _sum(dimension, norm, scale, smaller, 0.0)


def _by_root(epsilon: float, delta: float, dimension: float, norm: float) -> Mechanism:
    smaller = epsilon / sqrt(log(1 / delta))
    scale = pure_scale(norm=norm, epsilon=smaller, dimension=round(dimension))
    return _sum(dimension, norm, scale, smaller, 0.0)


def _by_norm(
    epsilon: float, delta: float, dimension: float, norm: float, constant: float | None = None
) -> Mechanism:
    if constant is None:
        constant = sufficient_constant(epsilon=epsilon, delta=delta)
    scale = constant * norm * sqrt(log(1 / delta)) / epsilon
    return _sum(dimension, norm, scale, epsilon, delta)


def _necessary(epsilon: float = 4.0, delta: float = 0.01) -> Subject:
    def compute() -> float:
        constant = necessary_constant(epsilon=epsilon, delta=delta)
        return gaussian_delta(epsilon=epsilon, shift=epsilon / (constant * sqrt(log(1 / delta))))

    return Subject(
        claim=IdentityClaim(
            identifier="GD-T3-NEC",
            statement=NECESSARY,
            reference=f"{SOURCE}; Balle and Wang (2018), Theorem 8",
            compute=compute,
            stated=delta,
            tolerance=1e-6 * delta,
        )
    )


NECESSARY = "at the necessary constant a row spread over ever more coordinates loses just delta"
PRINTED = "noise of scale D sqrt(ln(1 / delta)) / epsilon is private in every dimension"
TOO_SMALL = "the constant is (1 + sqrt(1 + epsilon / ln(1 / delta))) / sqrt(2), not 1"
LITERAL = {
    "epsilon": Parameter(default=4.0, within=Interval(low=4, high=20), meaning="nats"),
    "delta": Parameter(default=0.01, within=Interval(low=1e-6, high=0.01), meaning="of the sum"),
    "dimension": _dimension(64, low=16),
    "norm": NORM,
}

THEOREMS: tuple[Theorem, ...] = (
    _theorem(
        "GD-OPT-A",
        "noise of scale D d / epsilon is epsilon-private, even (epsilon / sqrt(d))-private",
        {"epsilon": EPSILON, "dimension": _dimension(4), "norm": NORM},
        _by_dimension,
    ),
    _theorem(
        "GD-OPT-B",
        "noise of scale D sqrt(d ln(1 / delta)) / epsilon is (epsilon / sqrt(ln(1 / delta)))-DP",
        {"epsilon": EPSILON, "delta": DELTA, "dimension": _dimension(4), "norm": NORM},
        _by_root,
    ),
    _theorem(
        "GD-T3",
        "noise of scale c D sqrt(ln(1 / delta)) / epsilon is private, c as is sufficient",
        {
            "epsilon": replace(EPSILON, default=4.0),
            "delta": replace(DELTA, default=0.01),
            "dimension": _dimension(64),
            "norm": NORM,
        },
        _by_norm,
    ),
    Theorem(
        identifier="GD-T3-NEC",
        statement=NECESSARY,
        reference=f"{SOURCE}; Balle and Wang (2018), Theorem 8",
        subject=_necessary,
        parameters={
            "epsilon": replace(EPSILON, default=4.0),
            "delta": replace(DELTA, default=0.01),
        },
    ),
    _theorem(
        "GD-T3-LIT",
        PRINTED,
        LITERAL,
        partial(_by_norm, constant=1.0),
        corrected="GD-T3",
        remark=TOO_SMALL,
    ),
    _theorem(
        "ERR-GD-3",
        PRINTED,
        {
            **LITERAL,
            "delta": Parameter(
                default=0.2, within=Interval(low=0.01, high=0.3), meaning="of the sum"
            ),
            "dimension": _dimension(12, low=12),
        },
        partial(_by_norm, constant=1.0),
        corrected="GD-T3",
        remark="its proof drops two factors 2 of the composition theorem it uses",
    ),
)
