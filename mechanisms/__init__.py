"""Mechanisms that state what they promise, and the types to state it in."""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

from .exponential import EXPONENTIAL, exponential_mechanism
from .geometric import GEOMETRIC, geometric_mechanism
from .laplace import LAPLACE, LAPLACE_VECTOR, laplace_mechanism
from .model import (
    Choices,
    Claim,
    Domain,
    Histogram,
    Interval,
    Mechanism,
    NegativeControl,
    Neighbouring,
    PrivacyClaim,
    Record,
    Row,
    Rows,
    UtilityClaim,
    Value,
)
from .randomized_response import RANDOMIZED_RESPONSE, randomized_response_mechanism

__all__ = [
    "CATALOGUE",
    "Choices",
    "Claim",
    "Domain",
    "Histogram",
    "Interval",
    "Mechanism",
    "NegativeControl",
    "Neighbouring",
    "PrivacyClaim",
    "Record",
    "Row",
    "Rows",
    "UtilityClaim",
    "Value",
    "exponential_mechanism",
    "geometric_mechanism",
    "laplace_mechanism",
    "randomized_response_mechanism",
]

CATALOGUE: tuple[Mechanism, ...] = (
    LAPLACE,
    LAPLACE_VECTOR,
    GEOMETRIC,
    EXPONENTIAL,
    RANDOMIZED_RESPONSE,
)
