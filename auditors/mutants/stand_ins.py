"""What a planted fault calls in place of the code that was there."""

from copy import deepcopy
from typing import Any

import numpy as np


def unadvanced(rng: object) -> object:
    """A copy of the generator: what is drawn from it is drawn from the original once more."""
    return deepcopy(rng)


def one_for_all(noise: Any, leading: int) -> object:
    """The first noise of the last axis in the place of all, behind `leading` axes of draws."""
    if np.ndim(noise) <= leading:
        return noise
    return np.broadcast_to(noise[..., :1], np.shape(noise)).copy()
