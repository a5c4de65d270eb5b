"""Inverting a test into a lower bound on epsilon, over a grid fixed before the data.

The nulls "epsilon is enough" are nested: one that holds at epsilon holds at every larger one.
The bound is the last point of the *initial* rejected segment of the grid, so a bound above the
truth needs a wrong rejection at one particular point, the first one at or above the truth.
Nothing is assumed about the verdicts in between, which need not be monotone.
"""

from collections.abc import Callable, Iterable
from math import log

import numpy as np
from numpy.typing import NDArray

STEP = 0.001
"""Grid step in nats; COARSE_STEP from FINE_UP_TO on, where a thousandth is of no interest."""
FINE_UP_TO = 2.0
"""Nats from which on the grid is coarse."""
COARSE_STEP = 0.005
"""Grid step in nats from FINE_UP_TO on."""
_LARGEST = 10.0
"""Nats; the grid ends at ln(trials) or here, since draws cannot show more than ln(trials)."""
_MARGIN = 1.0
"""Nats by which the grid goes beyond what draws can show."""


def epsilon_grid(
    trials: int, *, distance: int = 1, step: float = STEP, also: Iterable[float] = ()
) -> NDArray[np.float64]:
    """Base epsilons (nats, ascending) to be tried, from 0; `also` adds points such as a claim.

    `trials` draws cannot support a log-ratio beyond log(trials), nor is one beyond 10 of
    interest: the grid ends a nat above the smaller of the two, divided by the distance.
    """
    end = (min(_LARGEST, log(max(trials, 1))) + _MARGIN) / distance
    fine = np.arange(0, min(end, FINE_UP_TO) + step, step)
    coarse = np.arange(FINE_UP_TO, end, max(step, COARSE_STEP))
    points = np.round(np.concatenate([fine, coarse]), 9)
    return np.unique(np.concatenate([points, np.asarray(tuple(also), dtype=np.float64)]))


def initial_segment(
    size: int,
    rejected: Callable[[int], bool],
    certified: Callable[[int, int], bool],
    likely: Callable[[int], bool],
) -> int:
    """How many of the points 0, 1, .. size - 1 are rejected before the first that is not.

    `rejected(i)` is the verdict at a point. `certified(i, j)` may be True only when every point
    from i to j is rejected; False says nothing. `likely(i)` is a guess of the verdict that
    decides the order of the work, never the answer.
    """
    hint, high = 0, size
    while hint < high:
        middle = (hint + high) // 2
        if likely(middle):
            hint = middle + 1
        else:
            high = middle
    done, streak, stride = 0, 0, 3 * hint // 4
    while done < size:
        if stride > 1:
            stop = min(done + stride, size)
            if certified(done, stop - 1):
                done = stop
                stride = max(3 * (hint - done) // 4, 2) if done < hint else 2 * stride
            else:
                stride //= 4
        elif rejected(done):
            done, streak = done + 1, streak + 1
            # A poor guess must not cost a fine evaluation at each of thousands of points.
            stride = 8 if streak % 4 == 0 else 1
        else:
            break
    return done
