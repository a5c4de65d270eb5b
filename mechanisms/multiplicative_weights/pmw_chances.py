"""How likely the noise of private multiplicative weights spoils what its proof needs.

With b the scale of the noises, `distance` is accuracy / (4 b), called x. The difference of two
noises exceeds accuracy / 4 with probability p = (2 + x) exp(-x) / 4.

- An update at a gap below accuracy / 4 needs that of a query's noise and the threshold's. Whoever
  asks, and whatever was answered, a threshold that has not been reached yet is more likely to be
  high than one just drawn, and the query's noise is fresh: the probability is at most p for each
  query, k p in all.
- A public answer that errs by more than 3 accuracy / 4 needs a threshold that is too high, and one
  that has not been reached is. Every query is counted with every threshold that it may meet: those
  drawn before it, and c at most: min(k (k + 1) / 2, c k) pairs.
- An update at a gap of accuracy / 4 or more goes the wrong way only if the answer's noise passes
  accuracy / 4 on one side: probability exp(-x) / 2. An answer by the data errs by more than
  3 accuracy / 4 with probability exp(-3 x).
- At a gap of accuracy / 4 or more an update the right way lowers the potential by
  15 accuracy^2 / 512 (PMW-KL-3S).
"""

from math import exp
from typing import Any

import numpy as np

from ..model import Array, Database
from ..sparse_vector.sparse_vector_law import ABOVE
from .pmw_updates import potentials

DROP = 15 / 512
"""Of accuracy^2: what an update at a gap of accuracy / 4 lowers the potential by, at least."""
ROUNDING = 1e-12


def _apart(distance: float) -> float:
    """That one noise exceeds another by more than accuracy / 4."""
    return (2 + distance) * exp(-distance) / 4


def little_update(length: int, updates: int, distance: float) -> float:
    """A bound on the chance that an update of the run lowers the potential by too little."""
    return length * _apart(distance) + updates * exp(-distance) / 2


def large_error(length: int, updates: int, distance: float) -> float:
    """A bound on the chance that an answer of the run errs by more than 3 accuracy / 4."""
    pairs = min(length * (length + 1) / 2, updates * length)
    return pairs * _apart(distance) + updates * exp(-3 * distance)


def cost_of_updates(database: Database, output: Any, **dynamics: Any) -> tuple[Array, Array]:
    """Of each run the updates, bool (..., k), and what each step lowered the potential by.

    `dynamics` are those of `replay`.
    """
    potential = potentials(database, output, **dynamics)
    return np.asarray(output)[..., 0] == ABOVE, potential[..., :-1] - potential[..., 1:]


def per_nat(updates: Array, lowered: Array) -> Array:
    """Return updates / lowered, infinite where updates have lowered nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(lowered > 0, updates / lowered, np.inf)
    return np.where(updates > 0, rate, 0.0)
