"""A Gaussian mechanism whose noise is too narrow for its curve."""

from dataclasses import replace
from functools import partial

from ..model import NegativeControl
from ..queries import histogram
from .gaussian import GAUSSIAN, gaussian

TENTH_TOO_NARROW = NegativeControl(
    mechanism=replace(
        GAUSSIAN,
        name="gaussian-tenth-too-narrow",
        identifier="",
        run=partial(gaussian, query=partial(histogram, categories=3), sensitivity=1.0, mu=1 / 0.9),
        law=None,
    ),
    defect="noise of scale .9 where mu 1 needs 1: no (epsilon, 1e-5) of the claim shows it",
)
