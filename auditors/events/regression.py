"""Points for the cells of several columns, by the regression of labels on all of them at once.

Draws of a tape count for both sides, so that each has a label between -1 and 1 whose mean given
the output is (1 - r) / (1 + r), with r the ratio of both laws. Where it is a sum over columns, its
regression on their cells finds it however the columns hang together.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]

RIDGE = 0.02
"""The ridge, as a part of the mean variance of a cell."""
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
    starts = np.cumsum([0, *sizes])
    means = np.concatenate(each) / total
    spread = np.zeros((starts[-1], starts[-1]))
    # Counted pair by pair: a product of matrices would start threads that cost more than it.
    for i, one in enumerate(codes):
        for j in range(i + 1):
            both = np.bincount(one * sizes[j] + codes[j], weights, sizes[i] * sizes[j])
            part = both.reshape(sizes[i], sizes[j]) / total
            rows, places = slice(*starts[i : i + 2]), slice(*starts[j : j + 2])
            spread[rows, places], spread[places, rows] = part, part.T
    spread -= np.outer(means, means)
    ridge = RIDGE * float(np.trace(spread)) / starts[-1] + starts[-1] * noise / total
    wanted = np.concatenate(sums) / total - means * centre
    found = np.linalg.solve(spread + ridge * np.eye(starts[-1]), wanted)
    parts = [slice(start, stop) for start, stop in pairwise(starts.tolist())]
    return [found[part] - float(means[part] @ found[part]) for part in parts]
