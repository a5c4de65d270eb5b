"""Mechanisms that break what they promise, each in one known way, kept to test the auditors."""

from ..model import NegativeControl
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
from .randomized_response import TOO_HONEST

__all__ = ["NEGATIVE_CONTROLS"]

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
)
