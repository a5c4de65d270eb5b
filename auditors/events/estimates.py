"""Log-ratios estimated from draws: curves from counts, and points from labels.

Neighbours, and whole outputs, borrow strength from each other. Draws of a tape count for both
sides, so that each has a label between -1 and 1 whose mean given the output is (1 - r) / (1 + r),
with r the ratio of both laws. Where it is a sum over columns, its regression on the cells of all
of them at once finds it however the columns hang together.

Everything here is an estimate that proposes events; nothing of it enters a verdict.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WALKS = np.array([1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0])
"""Steps of the walk; the smallest is as good as a constant."""
NO_WALK = np.zeros(1)
"""The slopes to try if there is no score: 0 alone, so that the curve is a walk and nothing else."""
LEVEL = 1e3
"""Prior variance of the first log-ratio of a walk: so large that it hardly holds the curve."""
IGNORED = 1e12
"""Variance of a log-ratio that nothing is known of."""
PASSES = 3
"""Times that the curve is fitted anew around itself."""
STEEPEST = 12.0
"""Log-ratios beyond are cut off."""
NEWTON = 8
"""Steps of Newton."""
SPREADS = np.array([1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6, 3.0])
"""Standard deviations of the log-ratios around their centre, of which the likeliest is believed."""
SHARES = np.array([0.0, 0.5, 0.75, 1.0])
"""Parts of what was foreseen that may be that centre; 0 alone if nothing was foreseen."""
FEW_ENOUGH = 1024
"""Values on which the belief is chosen; of more, evenly spread ones."""
Codes = NDArray[np.integer]
RIDGE = 0.02
"""The ridge, as a part of the mean variance of a cell."""
SETTLED = 1e-6
"""What is left of the right side when a solution is near enough, as a part of it."""
STEPS = 400
"""Steps towards a solution, at most."""
ALONE = 4.0
"""Draws without a label that each cell of a column that is alone is taken to have had."""


def log_ratios(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Log-ratios of counts and their variances; those of empty bins are unknown."""
    return np.log((a + 0.5) / (b + 0.5)), np.where(
        a + b > 0, 1 / (a + 0.5) + 1 / (b + 0.5), IGNORED
    )


def smooth(
    values: Floats, noise: Floats, score: Floats | None = None, slopes: Floats = NO_WALK
) -> Floats:
    """Posterior mean of slope * score + a random walk, at the likeliest slope and step.

    `values`, `noise` (variances) and `score` have shape (..., n); every row is a problem of its
    own. The precision of a random walk is tridiagonal, so the cost is linear in n.
    """
    shape, size = values.shape, values.shape[-1]
    rows = values.reshape(-1, 1, 1, size)
    scores = np.zeros(size) if score is None else score
    scores = np.broadcast_to(scores, shape).reshape(rows.shape)
    targets = rows - slopes[:, None, None] * scores
    weight = 1 / noise.reshape(rows.shape)
    pull = 1 / WALKS**2
    diagonal = weight + 2 * pull[:, None]
    diagonal[..., 0] += 1 / LEVEL - pull
    diagonal[..., -1] -= pull
    beside = np.broadcast_to(-pull[:, None], (len(pull), max(size - 1, 0)))
    wanted = weight * targets
    curve, determinant = _solved(diagonal, beside, wanted)
    # What depends on slope and step of the log of the marginal likelihood.
    fit = (wanted * (targets - curve)).sum(axis=-1)
    likelihood = -fit - determinant + (size - 1) * np.log(pull)
    best = likelihood.reshape(len(rows), -1).argmax(axis=1)
    slope, step = np.divmod(best, len(pull))
    each = np.arange(len(rows))
    found = curve[each, slope, step] + slopes[slope][:, None] * scores[:, 0, 0]
    return found.reshape(shape)


def _solved(diagonal: Floats, beside: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Solution and log-determinant of symmetric tridiagonal systems along the last axis.

    Every other unknown is eliminated, and what is left is tridiagonal again: a handful of steps
    on whole arrays instead of one for each unknown.
    """
    size = diagonal.shape[-1]
    if size == 1:
        return wanted / diagonal, np.log(diagonal[..., 0])
    own, odd = diagonal[..., 0::2], diagonal[..., 1::2]
    left, right = beside[..., 0::2], beside[..., 1::2]
    below, above = odd.shape[-1], right.shape[-1]
    inverse = 1 / own
    by_left, by_right = left * inverse[..., :below], right * inverse[..., 1 : 1 + above]
    inner = odd - left * by_left
    inner[..., :above] -= right * by_right
    first = wanted[..., 0::2]
    goal = wanted[..., 1::2] - by_left * first[..., :below]
    goal[..., :above] -= by_right * first[..., 1 : 1 + above]
    solved, determinant = _solved(inner, -by_right[..., : below - 1] * left[..., 1:], goal)
    rest = np.broadcast_to(first, (*solved.shape[:-1], first.shape[-1])).copy()
    rest[..., :below] -= left * solved
    rest[..., 1 : 1 + above] -= right * solved[..., :above]
    rest *= inverse
    whole = np.empty((*solved.shape[:-1], size))
    whole[..., 0::2], whole[..., 1::2] = rest, solved
    return whole, determinant + np.log(own).sum(axis=-1)


def smooth_counts(a: Floats, b: Floats, score: Floats | None, slopes: Floats) -> Floats:
    """`smooth` for counts of shape (..., n), with their binomial likelihood where there is a score.

    A slice with 8 hits and none on the other side says no more than 2.8 by its log-ratio; the
    reweighted passes let it say what its score foresees. Without a score nothing would hold the
    ends of the curve, where counts are few, and the best cut would be the luckiest.
    """
    total = a + b
    curve = smooth(*log_ratios(a, b), score, slopes)
    for _ in range(PASSES if score is not None else 0):
        share = 1 / (1 + np.exp(-np.clip(curve, -STEEPEST, STEEPEST)))
        weight = total * share * (1 - share)
        known = weight > 1e-9
        response = curve + np.where(known, (a - total * share) / np.where(known, weight, 1), 0.0)
        curve = smooth(
            response, np.where(known, 1 / np.where(known, weight, 1), IGNORED), score, slopes
        )
    return curve


class Believed(NamedTuple):
    """Log-odds are normal around `share` of the prior, with standard deviation `spread`."""

    share: float
    spread: float


def believed(a: Floats, b: Floats, prior: Floats) -> Believed:
    """The belief of largest marginal likelihood, in Laplace's approximation, for counts a and b."""
    some = slice(None, None, 1 + len(a) // FEW_ENOUGH)
    a, b, prior = a[some], b[some], prior[some]
    found = (-np.inf, 1.0, 1e-3)
    variance = np.array([spread**2 for spread in SPREADS.tolist()])[:, None]
    for share in SHARES.tolist() if prior.any() else SHARES[:1].tolist():
        centre = share * prior
        odds = _modes(a, b, centre, variance)
        each = 1 / (1 + np.exp(-odds))
        curvature = (a + b) * each * (1 - each) * variance + 1
        values = (
            -a * np.logaddexp(0, -odds)
            - b * np.logaddexp(0, odds)
            - (odds - centre) ** 2 / (2 * variance)
            - np.log(curvature) / 2
        ).sum(axis=-1)
        for value, spread in zip(values.tolist(), SPREADS.tolist(), strict=True):
            found = max(found, (value, share, spread))
    return Believed(*found[1:])


def likeliest_odds(a: Floats, b: Floats, prior: Floats, belief: Believed) -> Floats:
    """Posterior modes of log-odds of categories for counts a and b.

    A small spread is naive Bayes, a large one the raw counts.
    """
    return _modes(a, b, belief.share * prior, belief.spread**2)


def _modes(a: Floats, b: Floats, centre: Floats, variance: float | Floats) -> Floats:
    """The modes; a row for each where `variance` is a column of several."""
    total, odds = a + b, centre.copy()
    for _ in range(NEWTON):
        share = 1 / (1 + np.exp(-odds))
        slope = a - total * share - (odds - centre) / variance
        odds = odds + np.clip(slope / (total * share * (1 - share) + 1 / variance), -2, 2)
    return np.clip(odds, -STEEPEST, STEEPEST)


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
