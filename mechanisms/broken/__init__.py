"""Mechanisms that break what they promise, each in one known way, kept to test the auditors."""

from ..model import BrokenStatement, NegativeControl
from .above_threshold import (
    NO_CUT_OFF,
    NOISY_QUERY_RELEASED,
    UNNOISED_QUERIES,
    UNSCALED_NOISE,
)
from .exponential import DATA_DEPENDENT_RANGE, NAIVE
from .geometric import TRUNCATED_TO_DATA, WRONG_RATIO
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
    NOISY_QUERY_RELEASED,
    UNSCALED_NOISE,
    UNNOISED_QUERIES,
    NO_CUT_OFF,
    UNNOISED_COMPARISONS,
    ANSWER_REUSES_NOISE,
    ANSWERS_BELOW,
    BUDGET_OF_ONE_NOISE,
    NOISE_OF_ONE_RECORD,
    DIRECTION_FROM_TRUTH,
)

BROKEN_STATEMENTS: tuple[BrokenStatement, ...] = (
    SIGN_FLIPPED,
    HALF_LEARNING_RATE,
    THRESHOLD_TOO_HIGH,
    NOT_NORMALISED,
)
