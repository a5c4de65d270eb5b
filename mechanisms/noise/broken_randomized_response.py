"""Randomized response that loses more than it claims."""

from dataclasses import replace

from ..model import NegativeControl
from .randomized_response import RANDOMIZED_RESPONSE, randomized_response_mechanism

TOO_HONEST = NegativeControl(
    mechanism=replace(
        randomized_response_mechanism(
            values=("no", "unsure", "yes"), epsilon=2.0, name="randomized-response-too-honest"
        ),
        claims=RANDOMIZED_RESPONSE.claims,
    ),
    defect="tells the truth as often as 2 epsilon would allow: the loss is 2",
)
