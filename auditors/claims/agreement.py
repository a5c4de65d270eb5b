"""Draws against the exact law of the same mechanism: they must agree, or the harness is wrong.

These are not tests of a claim. Each is wrong with probability at most ERROR, so a failure means
that the sampler, the law or the auditor has a defect, and no verdict is worth printing.
"""

from math import log, sqrt

import numpy as np

from ...mechanisms.model import Array, FiniteLaw
from ..bounds.two_sample import at_least, at_most
from ..errors import HarnessError
from ..outputs.cells import codes

ERROR = 1e-9
"""Probability that a comparison of draws with an exact law raises an alarm although both are
right."""
CLOSE = 1e-12
"""Rounding of a sum of chances."""


def credible(hits: int, draws: int, chance: float, level: float) -> bool:
    """Whether neither tail of the count, at an exact probability, is below half of `level`."""
    # Exact laws are sums of rounded terms: a chance of 1 - 1e-16 is certain, one of 1e-17 is not.
    above = at_least(hits, draws, min(chance + CLOSE, 1.0))
    below = at_most(hits, draws, max(chance - CLOSE, 0.0))
    return min(float(above), float(below)) >= level / 2


def require_frequency(hits: int, draws: int, chance: float, what: str) -> None:
    """Raise HarnessError unless `hits` of `draws` is credible for an exact probability `chance`."""
    p = min(max(chance, 0.0), 1.0)
    if not credible(hits, draws, p, ERROR):
        raise HarnessError(
            f"{what} is {chance:.6g} by the exact law but happened {hits} times in {draws} draws; "
            "the sampler, the law or the loss is wrong"
        )


def require_law(law: FiniteLaw, outputs: Array, what: str) -> None:
    """Raise HarnessError unless the draws are credible for the law.

    The total variation between the frequencies of n draws and a law on K outcomes has mean at
    most sqrt(K / n) / 2 and passes it by t with probability at most exp(-2 n t^2) (McDiarmid).
    """
    known, drawn = codes(np.asarray(law.outcomes), np.asarray(outputs))
    size, n = int(known.max()) + 1, len(drawn)
    chances = np.zeros(max(size, int(drawn.max()) + 1))
    np.add.at(chances, known, np.exp(np.asarray(law.log_probabilities, dtype=float)))
    frequencies = np.bincount(drawn, minlength=len(chances)) / n
    distance = float(np.abs(frequencies - chances).sum()) / 2
    allowed = sqrt(len(chances) / n) / 2 + sqrt(log(1 / ERROR) / (2 * n))
    strange = float(frequencies[chances < CLOSE].sum())
    if distance > allowed or strange > 0:
        raise HarnessError(
            f"{what}: {n} draws are {distance:.3g} in total variation from the exact law "
            f"({strange:.3g} of them impossible under it); the sampler or the law is wrong"
        )
