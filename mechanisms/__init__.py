"""Mechanisms that state what they promise, and the types to state it in."""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

from .above_threshold import ABOVE_THRESHOLD, SPARSE_VECTOR, above_threshold_mechanism
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
from .numeric_sparse_vector import NUMERIC_SPARSE_VECTOR, numeric_sparse_vector_mechanism
from .private_multiplicative_weights import (
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
    private_multiplicative_weights_mechanism,
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
    "above_threshold_mechanism",
    "exponential_mechanism",
    "geometric_mechanism",
    "laplace_mechanism",
    "numeric_sparse_vector_mechanism",
    "private_multiplicative_weights_mechanism",
    "randomized_response_mechanism",
]

CATALOGUE: tuple[Mechanism, ...] = (
    LAPLACE,
    LAPLACE_VECTOR,
    GEOMETRIC,
    EXPONENTIAL,
    RANDOMIZED_RESPONSE,
    ABOVE_THRESHOLD,
    SPARSE_VECTOR,
    NUMERIC_SPARSE_VECTOR,
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
)
