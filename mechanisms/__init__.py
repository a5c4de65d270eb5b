"""Mechanisms that state what they promise, and the types to state it in."""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

from .above_threshold import ABOVE_THRESHOLD, SPARSE_VECTOR, above_threshold_mechanism
from .boxes import BOXES, BOXES_COUNTED, boxes_mechanism
from .composed import COMPOSED, compose, compose_adaptively
from .conjunctions import NOISY_CONJUNCTION, noisy_conjunction_mechanism
from .drill_down import DRILL_DOWN, drill_down_mechanism
from .exponential import EXPONENTIAL, exponential_mechanism
from .finite_class import BOX_CLASS, THRESHOLD_CLASS, finite_class_mechanism
from .geometric import GEOMETRIC, geometric_mechanism
from .greedy_conjunctions import GREEDY_CONJUNCTION, greedy_conjunction_mechanism
from .grid_laplace import GRID_LAPLACE, grid_laplace_mechanism
from .interior_point import INTERIOR_POINT, interior_point_mechanism
from .laplace import LAPLACE, LAPLACE_VECTOR, laplace_mechanism
from .leaky_response import LEAKY_RESPONSE, leaky_response_mechanism
from .model import (
    BrokenStatement,
    Choices,
    Claim,
    Domain,
    FiniteLaw,
    Histogram,
    Interval,
    LaplaceLaw,
    LossLaw,
    Mechanism,
    NegativeControl,
    Neighbouring,
    PrivacyClaim,
    Product,
    ProductLaw,
    Record,
    Row,
    Rows,
    Subject,
    Theorem,
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
from .rec_concave import REC_CONCAVE, rec_concave_mechanism

__all__ = [
    "CATALOGUE",
    "BrokenStatement",
    "Choices",
    "Claim",
    "Domain",
    "FiniteLaw",
    "Histogram",
    "Interval",
    "LaplaceLaw",
    "LossLaw",
    "Mechanism",
    "NegativeControl",
    "Neighbouring",
    "PrivacyClaim",
    "Product",
    "ProductLaw",
    "Record",
    "Row",
    "Rows",
    "Subject",
    "Theorem",
    "UtilityClaim",
    "Value",
    "above_threshold_mechanism",
    "boxes_mechanism",
    "compose",
    "compose_adaptively",
    "drill_down_mechanism",
    "exponential_mechanism",
    "finite_class_mechanism",
    "geometric_mechanism",
    "greedy_conjunction_mechanism",
    "grid_laplace_mechanism",
    "interior_point_mechanism",
    "laplace_mechanism",
    "leaky_response_mechanism",
    "noisy_conjunction_mechanism",
    "numeric_sparse_vector_mechanism",
    "private_multiplicative_weights_mechanism",
    "randomized_response_mechanism",
    "rec_concave_mechanism",
]

CATALOGUE: tuple[Mechanism, ...] = (
    LAPLACE,
    LAPLACE_VECTOR,
    GRID_LAPLACE,
    GEOMETRIC,
    RANDOMIZED_RESPONSE,
    LEAKY_RESPONSE,
    COMPOSED,
    DRILL_DOWN,
    EXPONENTIAL,
    ABOVE_THRESHOLD,
    SPARSE_VECTOR,
    NUMERIC_SPARSE_VECTOR,
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
    INTERIOR_POINT,
    REC_CONCAVE,
    BOXES,
    BOXES_COUNTED,
    THRESHOLD_CLASS,
    BOX_CLASS,
    NOISY_CONJUNCTION,
    GREEDY_CONJUNCTION,
)
