"""Mechanisms that break what they promise, each in one known way, kept to test the auditors."""

from ..model import BrokenStatement, NegativeControl
from .composition import (
    BUDGET_NOT_SPLIT,
    NO_LINEAR_TERM,
    NO_LINEAR_TERM_AND_HALF_ROOT,
    ONES_FOR_TWOS,
    ONES_FOR_TWOS_EVERYWHERE,
)
from .exponential import DATA_DEPENDENT_RANGE, NAIVE
from .geometric import TRUNCATED_TO_DATA, WRONG_RATIO
from .grid_laplace import ANSWER_OFF_GRID, ROUNDING_UNACCOUNTED
from .laplace import (
    EMPTY_DATABASE_UNNOISED,
    INVERTED_SCALE,
    NO_CLIPPING,
    ONE_SIDED_NOISE,
    SHARED_NOISE,
    UNDERSTATED_SENSITIVITY,
)
from .pmw_statements import (
    HALF_LEARNING_RATE,
    NOT_NORMALISED,
    SIGN_FLIPPED,
    THRESHOLD_TOO_HIGH,
)
from .private_multiplicative_weights import (
    ANSWER_REUSES_NOISE,
    ANSWERS_BELOW,
    BUDGET_OF_ONE_NOISE,
    DIRECTION_FROM_TRUTH,
    NOISE_OF_ONE_RECORD,
    UNNOISED_COMPARISONS,
)
from .randomized_response import TOO_HONEST

__all__ = ["BROKEN_STATEMENTS", "NEGATIVE_CONTROLS"]

NEGATIVE_CONTROLS: tuple[NegativeControl, ...] = (
    NAIVE,
    DATA_DEPENDENT_RANGE,
    UNDERSTATED_SENSITIVITY,
    SHARED_NOISE,
    ONE_SIDED_NOISE,
    INVERTED_SCALE,
    NO_CLIPPING,
    EMPTY_DATABASE_UNNOISED,
    WRONG_RATIO,
    TRUNCATED_TO_DATA,
    TOO_HONEST,
    ANSWER_OFF_GRID,
    ROUNDING_UNACCOUNTED,
    BUDGET_NOT_SPLIT,
    NO_LINEAR_TERM_AND_HALF_ROOT,
    NO_LINEAR_TERM,
    ONES_FOR_TWOS,
)

BROKEN_STATEMENTS: tuple[BrokenStatement, ...] = (ONES_FOR_TWOS_EVERYWHERE,)
