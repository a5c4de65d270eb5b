"""What Gaussian noise loses: its mu and its rho, both attained."""

from dataclasses import replace
from functools import partial

from ..model import Interval, Mechanism, Relation, Rows, Subject, Theorem, number, whole
from ..queries import histogram
from .gaussian import gaussian_mechanism

MU = number(0.8, 0.05, 4, "of Gaussian differential privacy")
SENSITIVITY = number(2.0, 0.01, 10, "of the query, in Euclidean length")
COORDINATES = whole(3, 1, 64, "length of the answer")


def _noisy_counts(*, mu: float, sensitivity: float, coordinates: int) -> Mechanism:
    """Counts of kinds of rows, in units of `sensitivity`."""
    return gaussian_mechanism(
        query=lambda database: sensitivity * histogram(database, categories=coordinates),
        sensitivity=sensitivity,
        mu=mu,
        relation=Relation.ADD_REMOVE,
        databases=Rows(row=Interval(low=0, high=coordinates - 1, integer=True)),
        coordinates=coordinates,
        name="gaussian-counts",
    )


def _claim(place: int, mu: float, sensitivity: float, coordinates: int) -> Subject:
    made = _noisy_counts(mu=mu, sensitivity=sensitivity, coordinates=coordinates)
    return Subject(claim=made.claims[place], mechanism=made)


PARAMETERS = {"mu": MU, "sensitivity": SENSITIVITY, "coordinates": COORDINATES}

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="T-GAUSS",
        statement="noise N(0, (D / mu)^2) on each coordinate, D the Euclidean sensitivity, is "
        "mu-Gaussian differentially private",
        reference="Dong, Roth and Su (2022), Theorem 2.7",
        subject=partial(_claim, 0),
        parameters=PARAMETERS,
    ),
    Theorem(
        identifier="T-GAUSS-RHO",
        statement="noise N(0, (D / mu)^2) on each coordinate is (mu^2 / 2)-zCDP",
        reference="Bun and Steinke (2016), Proposition 1.6",
        subject=partial(_claim, 1),
        parameters=PARAMETERS,
    ),
    Theorem(
        identifier="T-GAUSS-TAIL",
        statement="no coordinate errs by more than sigma Phi^-1(1 - beta / (2 k))",
        reference="tail of the normal law, union bound",
        subject=partial(_claim, 2),
        parameters={**PARAMETERS, "coordinates": replace(COORDINATES, default=1)},
    ),
)
