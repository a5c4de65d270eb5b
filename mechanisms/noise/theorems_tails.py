"""Theorems on Laplace noise: how far it reaches, and the inequality that entropies rest on."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._checks import sample_shape
from ..accounting.tails import laplace_difference_tail, laplace_tail, log_sum_gap
from ..model import (
    Array,
    Database,
    EqualityClaim,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Product,
    Relation,
    Rows,
    Size,
    Subject,
    Theorem,
    UtilityClaim,
    number,
    whole,
)
from ..queries import histogram
from .laplace import laplace_mechanism

BOOK = "Dwork and Roth (2014)"
CONVOLUTION = "Kotz, Kozubowski and Podgorski (2001), chapter 2"

SCALE = number(2.0, 0.01, 100, "of the noise")
COORDINATES = whole(3, 1, 64, "number of noises")
THRESHOLD = number(3.0, 0, 30, "distance, in scales of the noise")

# Laplace noise beyond 60 scales has probability 1e-26.
FAR = 60.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def integral(function: Any, low: float, high: float) -> float:
    """Gauss-Legendre quadrature, exact to rounding where `function` has no kink inside."""
    half = (high - low) / 2
    return float(half * (WEIGHTS @ function(low + half * (NODES + 1))))


def density(noise: Array) -> Array:
    """Density of Laplace(1)."""
    return np.exp(-np.abs(noise)) / 2


def noisy_counts(*, coordinates: int, sensitivity: float, epsilon: float) -> Mechanism:
    """Counts of `coordinates` kinds of rows, in units of `sensitivity`, with Laplace noise."""

    def query(database: Database) -> Array:
        return sensitivity * histogram(database, categories=coordinates)

    return laplace_mechanism(
        query=query,
        sensitivity=sensitivity,
        epsilon=epsilon,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=coordinates - 1, integer=True)),
        coordinates=coordinates,
    )


def _noise(*, scale: float, coordinates: int = 1) -> Mechanism:
    return noisy_counts(coordinates=coordinates, sensitivity=1.0, epsilon=1 / scale)


def _largest(*, scale: float, coordinates: int = 1) -> Subject:
    mechanism = _noise(scale=scale, coordinates=coordinates)
    utility = next(claim for claim in mechanism.claims if isinstance(claim, UtilityClaim))
    claim = replace(utility, databases=([],))
    return Subject(claim=claim, mechanism=mechanism)


def _tail_number(*, threshold: float) -> IdentityClaim:
    return IdentityClaim(
        compute=lambda: 2 * integral(density, threshold, threshold + FAR),
        stated=laplace_tail(threshold, 1.0),
        tolerance=1e-12,
    )


def _difference_number(*, threshold: float) -> IdentityClaim:
    def joint(noise: Array) -> Array:
        above = noise + threshold
        tail = np.exp(-np.abs(above)) / 2
        return density(noise) * np.where(above > 0, tail, 1 - tail)

    def compute() -> float:
        edges = (-threshold - FAR, -threshold, 0.0, FAR)
        return sum(integral(joint, *edges[i : i + 2]) for i in range(3))

    return IdentityClaim(
        compute=compute, stated=laplace_difference_tail(threshold, 1.0), tolerance=1e-12
    )


def _exponential_difference(
    database: Database, rng: np.random.Generator, *, scale: float, size: Size = None
) -> Array:
    shape = (*sample_shape(size), 1)
    return (
        histogram(database, categories=1)
        + rng.exponential(scale, size=shape)
        - rng.exponential(scale, size=shape)
    )


def _difference_law(*, scale: float) -> Subject:
    mechanism = _noise(scale=scale)
    claim = EqualityClaim(
        other=partial(_exponential_difference, scale=scale), databases=([], [0, 0])
    )
    return Subject(claim=claim, mechanism=mechanism)


def _log_sum() -> InvariantClaim:
    number = Interval(low=0, high=10)

    def margin(case: InvariantCase) -> float:
        return log_sum_gap([a for a, _ in case], [b for _, b in case])

    return InvariantClaim(
        cases=Rows(row=Product(parts=(number, number)), min_size=1, max_size=12),
        margin=margin,
        examples=(
            [[0, 0]],
            [[0, 1], [1, 0]],
            [[1, 2], [2, 4]],
            [[1e-300, 1e300], [1e300, 1e-300]],
            [[0, 3], [0, 0], [5, 1e-9]],
        ),
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-LAP-1",
        statement="|Laplace(b)| is above b ln(1/beta) with probability beta",
        reference=f"{BOOK}, Fact 3.7",
        subject=_largest,
        parameters={"scale": SCALE},
    ),
    Theorem(
        identifier="T-LAP-1-NUM",
        statement="the Laplace density integrates to exp(-t) outside [-t, t]",
        reference=f"{BOOK}, Fact 3.7",
        subject=_tail_number,
        parameters={"threshold": THRESHOLD},
    ),
    Theorem(
        identifier="T-LAP-4",
        statement="the difference of two Laplace(1) is above t with probability (2 + t) e^-t / 4",
        reference=CONVOLUTION,
        subject=_difference_number,
        parameters={"threshold": THRESHOLD},
    ),
    Theorem(
        identifier="T-LAP-4-EXP",
        statement="the difference of two exponential variables of mean b is Laplace(b)",
        reference=CONVOLUTION,
        subject=_difference_law,
        parameters={"scale": SCALE},
    ),
    Theorem(
        identifier="T-UB",
        statement="the largest of N noises |Laplace(b)| is above b ln(N/beta) at most beta often",
        reference=f"{BOOK}, Theorem 3.8",
        subject=_largest,
        parameters={"scale": SCALE, "coordinates": COORDINATES},
    ),
    Theorem(
        identifier="T-KL-0",
        statement="sum a ln(a/b) >= A ln(A/B), where A and B are the sums of the a and b",
        reference="Cover and Thomas (2006), Theorem 2.7.1",
        subject=_log_sum,
    ),
)
