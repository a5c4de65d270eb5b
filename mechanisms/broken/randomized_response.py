"""Randomized response that loses more than it claims."""

from dataclasses import replace
from functools import partial

from ..model import NegativeControl
from ..randomized_response import RANDOMIZED_RESPONSE, randomized_response

__all__ = ["TOO_HONEST"]

TOO_HONEST = NegativeControl(
    mechanism=replace(
        RANDOMIZED_RESPONSE,
        name="randomized-response-too-honest",
        run=partial(randomized_response, values=("no", "unsure", "yes"), epsilon=2.0),
    ),
    breaks=RANDOMIZED_RESPONSE.claims[0],
    defect="tells the truth as often as 2 epsilon would allow: the loss is 2",
)
