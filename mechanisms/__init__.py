"""Mechanisms that state what they promise, and the types to state it in."""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

from .composed import COMPOSED, compose, compose_adaptively
from .drill_down import DRILL_DOWN
from .exponential import EXPONENTIAL, exponential_mechanism
from .geometric import GEOMETRIC, geometric_mechanism
from .grid_laplace import GRID_LAPLACE, grid_laplace_mechanism
from .laplace import LAPLACE, LAPLACE_VECTOR, laplace_mechanism
from .leaky_response import LEAKY_RESPONSE, leaky_response_mechanism
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
from .post_processing import post_process
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
    "compose",
    "compose_adaptively",
    "exponential_mechanism",
    "geometric_mechanism",
    "grid_laplace_mechanism",
    "laplace_mechanism",
    "leaky_response_mechanism",
    "post_process",
    "randomized_response_mechanism",
]

CATALOGUE: tuple[Mechanism, ...] = (
    GRID_LAPLACE,
    LAPLACE,
    LAPLACE_VECTOR,
    GEOMETRIC,
    EXPONENTIAL,
    RANDOMIZED_RESPONSE,
    LEAKY_RESPONSE,
    COMPOSED,
    DRILL_DOWN,
)
