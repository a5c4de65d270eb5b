"""Mechanisms that state what they promise, and the types to state it in."""

if __name__ != "dpwitness.mechanisms":
    raise ImportError(f"import dpwitness.mechanisms, not {__name__}; install dpwitness first")

from .above_threshold import ABOVE_THRESHOLD, SPARSE_VECTOR, above_threshold_mechanism
from .base_synopsis import BASE_SYNOPSIS, NOISY_ANSWERS, base_mechanism
from .boosting import BOOSTING, boosting_mechanism
from .boxes import BOXES, BOXES_COUNTED, boxes_mechanism
from .composed import COMPOSED, compose, compose_adaptively
from .conjunctions import NOISY_CONJUNCTION, noisy_conjunction_mechanism
from .drill_down import DRILL_DOWN, drill_down_mechanism
from .exponential import AUCTION, EXPONENTIAL, MONOTONE_EXPONENTIAL, exponential_mechanism
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
from .noisy_gradient_descent import (
    NOISY_GRADIENT_DESCENT,
    NOISY_GRADIENTS,
    noisy_gradient_descent_mechanism,
)
from .numeric_sparse_vector import NUMERIC_SPARSE_VECTOR, numeric_sparse_vector_mechanism
from .one_sided_noisy_arg_max import ONE_SIDED_NOISY_ARG_MAX, one_sided_noisy_arg_max_mechanism
from .permute_and_flip import PERMUTE_AND_FLIP, permute_and_flip_mechanism
from .private_multiplicative_weights import (
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
    private_multiplicative_weights_mechanism,
)
from .randomized_response import RANDOMIZED_RESPONSE, randomized_response_mechanism
from .rec_concave import REC_CONCAVE, rec_concave_mechanism
from .report_noisy_max import (
    REPORT_GUMBEL_MAX,
    REPORT_NOISY_MAX,
    report_gumbel_max_mechanism,
    report_noisy_max_mechanism,
)
from .sampled_queries import (
    SAMPLED_QUERY,
    SAMPLED_QUERY_COUNTS,
    sampled_query_counts_mechanism,
    sampled_query_mechanism,
)
from .selection import selection_mechanism
from .vector_sum import VECTOR_SUM, vector_sum_mechanism

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
    "base_mechanism",
    "boosting_mechanism",
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
    "noisy_gradient_descent_mechanism",
    "numeric_sparse_vector_mechanism",
    "one_sided_noisy_arg_max_mechanism",
    "permute_and_flip_mechanism",
    "private_multiplicative_weights_mechanism",
    "randomized_response_mechanism",
    "rec_concave_mechanism",
    "report_gumbel_max_mechanism",
    "report_noisy_max_mechanism",
    "sampled_query_counts_mechanism",
    "sampled_query_mechanism",
    "selection_mechanism",
    "vector_sum_mechanism",
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
    MONOTONE_EXPONENTIAL,
    AUCTION,
    REPORT_NOISY_MAX,
    REPORT_GUMBEL_MAX,
    ONE_SIDED_NOISY_ARG_MAX,
    PERMUTE_AND_FLIP,
    ABOVE_THRESHOLD,
    SPARSE_VECTOR,
    NUMERIC_SPARSE_VECTOR,
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
    BASE_SYNOPSIS,
    NOISY_ANSWERS,
    BOOSTING,
    INTERIOR_POINT,
    REC_CONCAVE,
    BOXES,
    BOXES_COUNTED,
    THRESHOLD_CLASS,
    BOX_CLASS,
    NOISY_CONJUNCTION,
    NOISY_GRADIENTS,
    NOISY_GRADIENT_DESCENT,
    VECTOR_SUM,
    GREEDY_CONJUNCTION,
    SAMPLED_QUERY,
    SAMPLED_QUERY_COUNTS,
)
