"""Privacy loss of many Laplace noises together, between two bounds, by convolution on a grid.

It is written without the exact method of the auditors, to be compared with it.

Where a number is released with Laplace noise and moves by r scales between two databases, the
privacy loss is r with probability 1/2 and -r with probability exp(-r) / 2, and has density
exp(-(r - l) / 2) / 4 between. The ratio of the masses that the two laws give to an interval of
losses is exp of its midpoint. So to merge each interval of two grid steps into its midpoint is
post-processing and gives a lower bound on delta; to move the mass of each interval of one step to
its two ends, so that both laws keep theirs, is undone by post-processing and gives an upper bound.
Both err by the square of the step only. Sums of losses are convolutions; as all terms are
positive, the error of rounding is relative, below 1e-10.
"""

from collections import Counter
from collections.abc import Iterable
from functools import reduce
from math import ceil, exp, floor
from typing import Literal

import numpy as np

from dpwitness.mechanisms.accounting.privacy_loss import hockey_stick
from dpwitness.mechanisms.model import Array, LossLaw

Bound = Literal["lower", "upper"]

# A ratio this close to a whole number of steps, relatively, is one that was rounded.
SAME = 1e-9


def grid_loss(reach: int, *, step: float, bound: Bound) -> Array:
    """Masses of one noise at the losses -reach step, ..., reach step, shape (2 reach + 1,).

    The number moves by `reach` times `step` scales of its noise.
    """
    width = 2 if bound == "lower" else 1
    ends = np.arange(-reach, reach + 1, width) * step
    upto = np.exp((ends - reach * step) / 2) / 2
    between = np.diff(upto)
    masses = np.zeros(2 * reach + 1)
    if bound == "lower":
        masses[1::2] = between
    else:
        up = 1 / (1 + exp(-step / 2))
        masses[1:] += up * between
        masses[:-1] += (1 - up) * between
    masses[0] += exp(-reach * step) / 2
    masses[-1] += 0.5
    return masses


def compose(masses: Array, times: int) -> Array:
    """The masses of a sum of `times` >= 1 independent losses, by repeated squaring."""
    if times == 1:
        return masses
    half = compose(masses, times // 2)
    whole = np.convolve(half, half)
    return np.convolve(whole, masses) if times % 2 else whole


def loss_law(ratios: Iterable[float], *, bound: Bound, cells: int = 20) -> LossLaw:
    """Law of the loss of independent Laplace noises, those of number i `ratios[i]` scales apart.

    It bounds the divergences at all levels, from below or above. The largest ratio is cut into
    `cells` steps; the others are rounded to whole steps, to the safe side.
    """
    moved = Counter(abs(float(ratio)) for ratio in ratios if ratio)
    if not moved:
        return LossLaw(losses=np.zeros(1), probabilities=np.ones(1))
    step = max(moved) / cells
    reaches: Counter[int] = Counter()
    for ratio, times in moved.items():
        reaches[_whole(ratio / step, bound)] += times
    parts = [compose(grid_loss(r, step=step, bound=bound), n) for r, n in reaches.items()]
    masses = reduce(np.convolve, parts)
    places = np.arange(masses.size) - masses.size // 2
    return LossLaw(losses=places * step, probabilities=masses)


def laplace_delta(
    ratios: Iterable[float], epsilon: float, *, cells: int = 20
) -> tuple[float, float]:
    """Lower and upper bound on the exact delta at `epsilon`, in either order of the two laws."""
    moved = tuple(ratios)
    lower, upper = (
        hockey_stick(loss_law(moved, bound=bound, cells=cells), epsilon)
        for bound in ("lower", "upper")
    )
    return lower, upper


def _whole(steps: float, bound: Bound) -> int:
    if abs(steps - round(steps)) <= SAME * steps:
        return round(steps)
    return floor(steps) if bound == "lower" else ceil(steps)
