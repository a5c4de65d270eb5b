"""How likely the noise of private multiplicative weights spoils what its proof needs.

With b the scale of the noises, `distance` is accuracy / (4 b), called x. The difference of two
noises exceeds accuracy / 4 with probability p = (2 + x) exp(-x) / 4.

- An update at a gap below accuracy / 4 needs that of a query's noise and the threshold's. Whoever
  asks, and whatever was answered, a threshold that has not been reached yet is more likely to be
  high than one just drawn, and the query's noise is fresh: the probability is at most p for each
  query, k p in all.
- A public answer errs by more than 3 accuracy / 4 only if a threshold exceeds the noise of such a
  query by accuracy / 4. The first such query that a threshold meets decides: either the threshold
  overlooks it, which is the failure, or it is spent. When that query comes depends on what was
  answered, but its noise is fresh, so that the two noises are that far apart, the threshold not
  yet spent, with probability p at most: min(c, k) p for all thresholds.
- An update at a gap of accuracy / 4 or more goes the wrong way only if the answer's noise passes
  accuracy / 4 on one side: probability exp(-x) / 2. An answer by the data errs by more than
  3 accuracy / 4 with probability exp(-3 x).
- At a gap of accuracy / 4 or more an update the right way lowers the potential by
  15 accuracy^2 / 512 (PMW-KL-3S).
"""

from math import exp
from typing import Any

import numpy as np

from ..model import Array, Database, Output
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
    thresholds = min(length, updates)
    return thresholds * (_apart(distance) + exp(-3 * distance))


def excess_error(length: int, updates: int, distance: float, margin: float) -> float:
    """A bound on the chance that an answer errs by more than the threshold and `distance` noises.

    The threshold is `margin` noises itself, so that an answer by the data needs both.
    """
    return min(length, updates) * (_apart(distance) + exp(-margin - distance))


def cost_of_updates(database: Database, output: Output, **dynamics: Any) -> tuple[Array, Array]:
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
