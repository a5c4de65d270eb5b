"""Points for the cells of several columns, by the regression of labels on all of them at once.

Draws of a tape count for both sides, so that each has a label between -1 and 1 whose mean given
the output is (1 - r) / (1 + r), with r the ratio of both laws. Where it is a sum over columns, its
regression on their cells finds it however the columns hang together.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

RIDGE = 0.02
"""The ridge, as a part of the mean variance of a cell."""
SETTLED = 1e-6
"""What is left of the right side when a solution is near enough, as a part of it."""
STEPS = 400
"""Steps towards a solution, at most."""
ALONE = 4.0
"""Draws without a label that each cell of a column that is alone is taken to have had."""


def regressed(
    codes: Sequence[Codes], sizes: Sequence[int], labels: Floats, weights: Floats, noise: float
) -> list[Floats]:
    """Points for each cell of each column, of mean 0 over the draws.

    `codes` has the cell of every draw, shape (draws,) for each column, and `sizes` how many cells
    the column has. `labels` and `weights` have shape (draws,); `noise` is the variance of a label.
    """
    total = float(weights.sum())
    centre = float((weights * labels).sum()) / total
    sums = [
        np.bincount(one, weights * labels, size) for one, size in zip(codes, sizes, strict=True)
    ]
    each = [np.bincount(one, weights, size) for one, size in zip(codes, sizes, strict=True)]
    if len(codes) == 1:
        return [(sums[0] - each[0] * centre) / (each[0] + ALONE)]
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [slice(start, stop) for start, stop in pairwise(starts)]
    means = np.concatenate(each) / total
    variances = means - means**2
    ridge = RIDGE * float(variances.mean()) + starts[-1] * noise / total

    def spread(points: Floats) -> Floats:
        """The covariance of cells with the sum of these points, and the ridge."""
        told = sum(points[part].take(one) for part, one in zip(parts, codes, strict=True))
        told = weights * (told - float((means * points).sum()))
        found = [np.bincount(one, told, size) for one, size in zip(codes, sizes, strict=True)]
        return np.concatenate(found) / total + ridge * points

    wanted = np.concatenate(sums) / total - means * centre
    found = conjugate_gradients(spread, wanted, variances + ridge)
    return [found[part] - float((means[part] * found[part]).sum()) for part in parts]


def conjugate_gradients(
    product: Callable[[Floats], Floats], wanted: Floats, diagonal: Floats
) -> Floats:
    """The x of A x = `wanted`, for a symmetric and positive A.

    `product` gives A times a vector of shape (n,), and `diagonal` is that of A. The steps are
    those of the conjugate gradient method with that preconditioner (Golub and Van Loan, Matrix
    Computations, section 11.5). Nowhere is a matrix made, and the sums are numpy's own: those of a
    linear algebra library differ by machine and by threads.
    """
    found, left = np.zeros_like(wanted), wanted
    enough = SETTLED**2 * float((wanted * wanted / diagonal).sum())
    scaled = left / diagonal
    step, size = scaled, float((left * scaled).sum())
    for _ in range(STEPS):
        if size <= enough:
            break
        moved = product(step)
        length = size / float((step * moved).sum())
        found, left = found + length * step, left - length * moved
        scaled = left / diagonal
        before, size = size, float((left * scaled).sum())
        step = scaled + size / before * step
    return found
