"""False statements on private multiplicative weights: each has one wrong constant or sign."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..model import Array, BrokenStatement, InvariantCase, InvariantClaim
from .pmw import SOURCE
from .pmw_cases import accuracy_margin, case_domain, drop_margin, mass_margin, near_edge

BINS, ACCURACY = 4, 0.5
SHARP_DROP = 15 * ACCURACY**2 / 512


def not_normalised(synthetic: Array, query: Array, direction: Array, learning_rate: float) -> Array:
    """The multiplicative update without its normalisation; arrays of shape (runs, bins)."""
    return synthetic * np.exp(learning_rate * direction[:, None] * query)


def _broken(
    number: int, statement: str, defect: str, margin: Callable[[InvariantCase], float]
) -> BrokenStatement:
    identifier = f"MUT-PMW-{number}"
    claim = InvariantClaim(
        identifier=identifier,
        statement=statement,
        reference=SOURCE,
        cases=case_domain(bins=BINS),
        margin=margin,
        examples=near_edge(bins=BINS),
    )
    return BrokenStatement(identifier=identifier, claim=claim, defect=defect)


_drop = partial(drop_margin, bins=BINS, accuracy=ACCURACY, least=SHARP_DROP)

SIGN_FLIPPED = _broken(
    5,
    "an update lowers KL(X || Xh) by 15 alpha^2 / 512 or more",
    "the distribution is moved away from the answer: the divergence rises",
    partial(_drop, learning_rate=-ACCURACY / 8),
)

HALF_LEARNING_RATE = _broken(
    6,
    "an update lowers KL(X || Xh) by 15 alpha^2 / 512 or more",
    "learning rate alpha / 16: the worst drop is 31 alpha^2 / 2048",
    partial(_drop, learning_rate=ACCURACY / 16),
)

THRESHOLD_TOO_HIGH = _broken(
    7,
    "no answer errs by more than 3 alpha / 4",
    "threshold alpha instead of alpha / 2: errors reach 5 alpha / 4",
    partial(accuracy_margin, bins=BINS, accuracy=ACCURACY, threshold=ACCURACY),
)

NOT_NORMALISED = _broken(
    9,
    "the public distribution adds up to 1",
    "the weights are not normalised after an update",
    partial(mass_margin, bins=BINS, accuracy=ACCURACY, update=not_normalised),
)
