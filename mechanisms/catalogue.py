"""Everything that can be named: mechanisms, theorems, negative controls, broken statements.

Importing it loads every system; `dpwitness.mechanisms.model` loads none.
"""

from .accounting import theorems_accounting as accounting
from .accounting import theorems_zcdp as zcdp
from .boosting import theorems_base_synopsis as base_synopsis
from .boosting import theorems_boosting as boosting
from .boosting import theorems_boosting_privacy as boosting_privacy
from .boosting import theorems_query_weights as query_weights
from .boosting.base_synopsis import BASE_SYNOPSIS, NOISY_ANSWERS
from .boosting.boosting import BOOSTING
from .boosting.broken_boosting import (
    AGREEMENT_NOT_ATTENUATED,
    AGREEMENT_NOT_CLIPPED,
    BASE_NOISE_OF_ONE_QUERY,
    CALIBRATED_WITH_BETA,
    MEAN_OF_SYNOPSES,
    ROUNDS_TOO_FEW,
    UPPER_AGREEMENT_EXCHANGED,
    WEIGHTS_NOT_NORMALISED,
    WEIGHTS_SIGN_FLIPPED,
)
from .boosting.sampled_queries import SAMPLED_QUERY, SAMPLED_QUERY_COUNTS
from .composition import theorems_composition as composition
from .composition.broken_composition import (
    BUDGET_NOT_SPLIT,
    NO_LINEAR_TERM,
    NO_LINEAR_TERM_AND_HALF_ROOT,
    ONES_FOR_TWOS,
    ONES_FOR_TWOS_EVERYWHERE,
)
from .composition.composed import COMPOSED
from .composition.drill_down import DRILL_DOWN
from .gradient_descent import theorems_gradient_descent as gradient_descent
from .gradient_descent import theorems_gradient_lemmas as gradient_lemmas
from .gradient_descent import theorems_noisy_gradient_descent as noisy_gradient_descent
from .gradient_descent import theorems_vector_sum as vector_sum
from .gradient_descent.broken_gradient_descent import (
    CONSTANT_ONE,
    GAUSSIAN_VARIANCE,
    HALF_THE_SENSITIVITY,
    NOISE_OF_ONE_STEP,
    NOISE_ON_THE_AVERAGE,
    REUSED_NOISE,
    ROWS_NOT_CLIPPED,
)
from .gradient_descent.broken_gradient_statements import (
    ASCENT,
    NOT_CONVEX,
    NOT_PROJECTED,
    STEPS_TOO_LARGE,
    STEPS_TOO_SMALL,
)
from .gradient_descent.noisy_gradient_descent import NOISY_GRADIENT_DESCENT, NOISY_GRADIENTS
from .gradient_descent.vector_sum import VECTOR_SUM
from .interior_points import theorems_boxes as boxes
from .interior_points import theorems_interior_point as interior_point
from .interior_points.boxes import BOXES, BOXES_COUNTED
from .interior_points.broken_boxes import (
    CALLS_AT_WHOLE_BUDGET,
    DOUBLED_WEIGHTS,
    HULL,
    TOO_FEW_POINTS,
    UNPADDED,
    UNSORTED,
)
from .interior_points.interior_point import INTERIOR_POINT
from .interior_points.rec_concave import REC_CONCAVE
from .learning import theorems_conjunctions as conjunctions
from .learning import theorems_finite_class as finite_class
from .learning import theorems_greedy_conjunctions as greedy_conjunctions
from .learning.broken_conjunctions import (
    GREATER_SCORE,
    NO_SHARE_OF_NEGATIVES,
    REMOVES_SATISFIED,
    SCALE_OF_ONE_COUNT,
    STOPS_WITHOUT_NEGATIVES,
    WHOLE_BUDGET_EVERY_ROUND,
    ZERO_THRESHOLD,
)
from .learning.conjunctions import NOISY_CONJUNCTION
from .learning.finite_class import BOX_CLASS, THRESHOLD_CLASS
from .learning.greedy_conjunctions import GREEDY_CONJUNCTION
from .model import BrokenStatement, Mechanism, NegativeControl, Theorem
from .multiplicative_weights import theorems_pmw_accuracy as pmw_accuracy
from .multiplicative_weights import theorems_pmw_records as pmw_records
from .multiplicative_weights import (
    theorems_private_multiplicative_weights as private_multiplicative_weights,
)
from .multiplicative_weights.broken_pmw_statements import (
    HALF_LEARNING_RATE,
    NOT_NORMALISED,
    SIGN_FLIPPED,
    THRESHOLD_TOO_HIGH,
)
from .multiplicative_weights.broken_private_multiplicative_weights import (
    ANSWER_REUSES_NOISE,
    ANSWERS_BELOW,
    BUDGET_OF_ONE_NOISE,
    DIRECTION_FROM_TRUTH,
    NOISE_OF_ONE_RECORD,
    UNNOISED_COMPARISONS,
)
from .multiplicative_weights.private_multiplicative_weights import (
    PMW_ITERATION,
    PRIVATE_MULTIPLICATIVE_WEIGHTS,
)
from .noise import theorems_laplace as laplace
from .noise import theorems_tails as tails
from .noise.broken_geometric import TRUNCATED_TO_DATA, WRONG_RATIO
from .noise.broken_grid_laplace import ANSWER_OFF_GRID, ROUNDING_UNACCOUNTED
from .noise.broken_laplace import (
    EMPTY_DATABASE_UNNOISED,
    INVERTED_SCALE,
    NO_CLIPPING,
    ONE_SIDED_NOISE,
    SHARED_NOISE,
    UNDERSTATED_SENSITIVITY,
)
from .noise.broken_randomized_response import TOO_HONEST
from .noise.geometric import GEOMETRIC
from .noise.grid_laplace import GRID_LAPLACE
from .noise.laplace import LAPLACE, LAPLACE_VECTOR
from .noise.leaky_response import LEAKY_RESPONSE
from .noise.randomized_response import RANDOMIZED_RESPONSE
from .selection import theorems_exponential as exponential
from .selection import theorems_exponential_utility as exponential_utility
from .selection import theorems_noisy_arg_max as noisy_arg_max
from .selection.broken_exponential import (
    DATA_DEPENDENT_RANGE,
    MONOTONE_UNDER_REPLACEMENT,
    NAIVE,
    NAIVE_OF_VOTERS,
    OVERFLOW,
    WORST_CANDIDATE,
)
from .selection.broken_noisy_arg_max import (
    NOISE_OF_THE_WRONG_KIND,
    ONE_SIDED_AS_IF_MONOTONE,
    REPORT_AS_IF_MONOTONE,
)
from .selection.exponential import AUCTION, EXPONENTIAL, MONOTONE_EXPONENTIAL
from .selection.one_sided_noisy_arg_max import ONE_SIDED_NOISY_ARG_MAX
from .selection.permute_and_flip import PERMUTE_AND_FLIP
from .selection.report_noisy_max import REPORT_GUMBEL_MAX, REPORT_NOISY_MAX
from .sparse_vector.above_threshold import ABOVE_THRESHOLD, SPARSE_VECTOR
from .sparse_vector.broken_above_threshold import (
    NO_CUT_OFF,
    NOISY_QUERY_RELEASED,
    UNNOISED_QUERIES,
    UNSCALED_NOISE,
)
from .sparse_vector.numeric_sparse_vector import NUMERIC_SPARSE_VECTOR

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


NEGATIVE_CONTROLS: tuple[NegativeControl, ...] = (
    NAIVE,
    NAIVE_OF_VOTERS,
    MONOTONE_UNDER_REPLACEMENT,
    DATA_DEPENDENT_RANGE,
    WORST_CANDIDATE,
    OVERFLOW,
    UNDERSTATED_SENSITIVITY,
    NO_CLIPPING,
    INVERTED_SCALE,
    SHARED_NOISE,
    ONE_SIDED_NOISE,
    EMPTY_DATABASE_UNNOISED,
    ANSWER_OFF_GRID,
    ROUNDING_UNACCOUNTED,
    WRONG_RATIO,
    TRUNCATED_TO_DATA,
    TOO_HONEST,
    NOISY_QUERY_RELEASED,
    UNSCALED_NOISE,
    UNNOISED_QUERIES,
    NO_CUT_OFF,
    AGREEMENT_NOT_ATTENUATED,
    CALIBRATED_WITH_BETA,
    BASE_NOISE_OF_ONE_QUERY,
    HULL,
    DOUBLED_WEIGHTS,
    TOO_FEW_POINTS,
    UNPADDED,
    CALLS_AT_WHOLE_BUDGET,
    UNSORTED,
    NO_LINEAR_TERM_AND_HALF_ROOT,
    NO_LINEAR_TERM,
    ONES_FOR_TWOS,
    BUDGET_NOT_SPLIT,
    SCALE_OF_ONE_COUNT,
    ZERO_THRESHOLD,
    WHOLE_BUDGET_EVERY_ROUND,
    REMOVES_SATISFIED,
    STOPS_WITHOUT_NEGATIVES,
    HALF_THE_SENSITIVITY,
    NOISE_OF_ONE_STEP,
    REUSED_NOISE,
    ROWS_NOT_CLIPPED,
    CONSTANT_ONE,
    NOISE_ON_THE_AVERAGE,
    GAUSSIAN_VARIANCE,
    REPORT_AS_IF_MONOTONE,
    ONE_SIDED_AS_IF_MONOTONE,
    NOISE_OF_THE_WRONG_KIND,
    UNNOISED_COMPARISONS,
    ANSWER_REUSES_NOISE,
    ANSWERS_BELOW,
    BUDGET_OF_ONE_NOISE,
    NOISE_OF_ONE_RECORD,
    DIRECTION_FROM_TRUTH,
)

BROKEN_STATEMENTS: tuple[BrokenStatement, ...] = (
    WEIGHTS_SIGN_FLIPPED,
    ROUNDS_TOO_FEW,
    MEAN_OF_SYNOPSES,
    AGREEMENT_NOT_CLIPPED,
    WEIGHTS_NOT_NORMALISED,
    UPPER_AGREEMENT_EXCHANGED,
    ONES_FOR_TWOS_EVERYWHERE,
    GREATER_SCORE,
    NO_SHARE_OF_NEGATIVES,
    NOT_PROJECTED,
    ASCENT,
    STEPS_TOO_SMALL,
    STEPS_TOO_LARGE,
    NOT_CONVEX,
    SIGN_FLIPPED,
    HALF_LEARNING_RATE,
    THRESHOLD_TOO_HIGH,
    NOT_NORMALISED,
)


THEOREMS: tuple[Theorem, ...] = (
    *tails.THEOREMS,
    *laplace.THEOREMS,
    *composition.THEOREMS,
    *accounting.THEOREMS,
    *zcdp.THEOREMS,
    *exponential.THEOREMS,
    *noisy_arg_max.THEOREMS,
    *base_synopsis.THEOREMS,
    *boosting.THEOREMS,
    *boosting_privacy.THEOREMS,
    *boxes.THEOREMS,
    *conjunctions.THEOREMS,
    *exponential_utility.THEOREMS,
    *finite_class.THEOREMS,
    *gradient_descent.THEOREMS,
    *gradient_lemmas.THEOREMS,
    *greedy_conjunctions.THEOREMS,
    *interior_point.THEOREMS,
    *noisy_gradient_descent.THEOREMS,
    *pmw_accuracy.THEOREMS,
    *pmw_records.THEOREMS,
    *private_multiplicative_weights.THEOREMS,
    *query_weights.THEOREMS,
    *vector_sum.THEOREMS,
)
