"""A point between the data: by the exponential mechanism, and by recursion.

An interior point of a few numbers lies on the grid 0, .., grid - 1, and neighbours replace one of
the m points; m is public. Source: Beimel, Nissim and Stemmer (2013); Bun, Nissim, Stemmer and
Vadhan (2015).

RecConcave finds an approximate maximiser of a quasi-concave score by recursion on its scale:
Beimel, Nissim and Stemmer (2013), with explicit constants. Scores have sensitivity 1, and the
largest is promised to be at least `promise`. Halving the problem to its logarithm costs two
stability-based choices and one exponential mechanism a level.
"""

from functools import partial
from math import ceil, exp, log, log2
from typing import TypedDict

import numpy as np

from .._checks import grid_numbers, require_positive, require_whole, sample_shape
from ..accounting.privacy_loss import log_laplace_cdf
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Interval,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from ..queries import counts
from ..selection.exponential import draw_index, normalised

SOURCE = "Stemmer, lecture notes on differential privacy, lecture 12"


def depth_scores(database: Database, *, grid: int) -> Array:
    """min(#{x <= r}, #{x >= r}) for every r of the grid: whole numbers of shape (grid,).

    At least 1 exactly at the interior points; a replaced point moves every score by at most 1.
    Raises ValueError on a point off the grid.
    """
    counts = np.bincount(grid_numbers(database, values=grid, what="point"), minlength=grid)
    below = np.cumsum(counts)
    return np.minimum(below, below[-1] - below + counts)


def interior_point(
    database: Database, rng: np.random.Generator, *, grid: int, epsilon: float, size: Size = None
) -> Array:
    """Draw r with probability proportional to exp(epsilon depth(r) / 2), over the whole grid.

    The database has m numbers of the grid. Returns numbers of the grid of shape `size`. Raises
    ValueError on a parameter that is not positive.
    """
    require_positive(grid=grid, epsilon=epsilon)
    logits = epsilon / 2 * depth_scores(database, grid=grid)
    return draw_index(logits, rng, sample_shape(size))


def interior_point_law(database: Database, *, grid: int, epsilon: float) -> FiniteLaw:
    """The exact law of `interior_point`."""
    logits = epsilon / 2 * depth_scores(database, grid=grid)
    return FiniteLaw(outcomes=np.arange(grid), log_probabilities=normalised(logits))


def not_interior(database: Database, output: Output) -> Array:
    """1 where the output is no interior point of the database, else 0."""
    output = np.asarray(output)
    return ((output < min(database)) | (output > max(database))).astype(float)


def failure_bound(*, points: int, grid: int, epsilon: float) -> float:
    """(|D| - 1) exp(-epsilon ceil(m / 2) / 2): the chance of a point that is not interior."""
    return (grid - 1) * exp(-epsilon * ceil(points / 2) / 2)


def points_needed(*, grid: int, epsilon: float, beta: float) -> int:
    """Number of points m from which the chance of failure is at most `beta`."""
    require_positive(epsilon=epsilon, beta=beta)
    return ceil(4 / epsilon * log((grid - 1) / beta))


def balanced_points(points: int, grid: int) -> list[int]:
    """The hardest database: half of the points on one place of the grid, half on the next."""
    middle = grid // 2
    return [middle - 1] * (points - points // 2) + [middle] * (points // 2)


def interior_point_mechanism(
    *, points: int, grid: int, epsilon: float, name: str = "interior-point", identifier: str = ""
) -> Mechanism:
    """`interior_point` for `points` points, with its privacy and what it promises to find.

    So few points that the promised chance of failure is 1 or more make that promise vacuous.
    """
    require_whole(points=points, grid=grid)
    require_positive(epsilon=epsilon)
    bound = failure_bound(points=points, grid=grid, epsilon=epsilon)
    found = UtilityClaim(
        loss=not_interior,
        bound=lambda beta: 1.0,
        levels=(bound,),
        databases=(balanced_points(points, grid),),
        identifier="PAC-IP-EM-FAILURE",
        statement="the output is an interior point",
        reference=SOURCE,
    )
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(interior_point, grid=grid, epsilon=epsilon),
        databases=Rows(
            row=Interval(low=0, high=grid - 1, integer=True), min_size=points, max_size=points
        ),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=f"{SOURCE}; McSherry and Talwar (2007)",
            ),
            found,
        ),
        reference="Bun, Nissim, Stemmer and Vadhan (2015)",
        law=partial(interior_point_law, grid=grid, epsilon=epsilon),
    )


INTERIOR_POINT = interior_point_mechanism(points=4, grid=6, epsilon=1.0, identifier="PAC-IP-EM")
BASE = 32
"""Problems up to this size go to the exponential mechanism."""


def depth(grid: int, base: int = BASE) -> int:
    """How many levels of recursion stand above the base."""
    return 0 if grid <= base else 1 + depth(ceil(log2(grid)) + 1, base)


def rec_concave(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: int,
    epsilon: float,
    delta: float,
    base: int = BASE,
    size: Size = None,
) -> Array:
    """An interior point of the m numbers of the database on 0, .., grid - 1, or -1 for none.

    Every step has (epsilon / (3 N + 1), delta / (2 N)) at `depth` N. Returns whole numbers of
    shape `size`. Raises ValueError on a parameter that is not positive.
    """
    require_positive(grid=grid, epsilon=epsilon, delta=delta, base=base)
    step, stable = step_budget(grid, epsilon, delta, base)
    shape = sample_shape(size)
    scores = depth_scores(database, grid=grid).astype(float)
    runs = int(np.prod(shape))
    promise = ceil(len(database) / 2)
    found = _recurse(scores, promise, 0.5, step, stable, base, rng, runs)
    return found.reshape(shape)[()]


def step_budget(grid: int, epsilon: float, delta: float, base: int = BASE) -> tuple[float, float]:
    """The epsilon of each of 3 N + 1 steps and the delta of each of 2 N choices, at depth N."""
    levels = depth(grid, base)
    return epsilon / (3 * levels + 1), delta / max(2 * levels, 1)


def _recurse(
    scores: Array,
    promise: float,
    slack: float,
    epsilon: float,
    delta: float,
    base: int,
    rng: np.random.Generator,
    runs: int,
) -> Array:
    """Indices with score at least (1 - slack) promise, -1 for none; shape (runs,)."""
    if len(scores) <= base:
        return draw_index(epsilon / 2 * scores, rng, (runs,))
    padded, inner = _scales(scores, promise, slack)
    scale = _recurse(inner, slack * promise / 2, 0.25, epsilon, delta, base, rng, runs)
    found = np.full(runs, -1)
    # Runs with the same scale share all that follows but their noise.
    for power in np.unique(scale[scale >= 0]):
        here = np.flatnonzero(scale == power)
        blocks = partitions(len(padded), 2 ** int(power))
        chosen = np.zeros((2, len(here)), dtype=bool)
        best = []
        for index, starts in enumerate(blocks):
            chosen[index], top = _named(padded, starts, epsilon, delta, rng, len(here))
            best.append(top)
        for pattern in ((True, True), (True, False), (False, True)):
            some = here[(chosen == np.array(pattern)[:, None]).all(axis=0)]
            places = _union([top for top, taken in zip(best, pattern, strict=True) if taken])
            places = places[places < len(scores)]
            if len(some) and len(places):
                found[some] = places[draw_index(epsilon / 2 * scores[places], rng, some.shape)]
    return found


def _scales(scores: Array, promise: float, slack: float) -> tuple[Array, Array]:
    """The scores padded to a power of two, and the score of every scale 2^j of intervals.

    A scale is good when some interval of its length has only good scores and none of twice the
    length has; the scores of scales are quasi-concave with sensitivity 1 again.
    """
    levels = ceil(log2(len(scores)))
    padded = np.full(2**levels, min(0.0, float(scores[-1])))
    padded[: len(scores)] = scores
    least, widest = padded, [float(padded.max())]
    for level in range(levels):
        least = np.minimum(least[: -(2**level)], least[2**level :])
        widest.append(float(least.max()))
    widest.append(min(0.0, widest[-1]))
    good = np.array(widest)
    return padded, np.minimum(good[:-1] - (1 - slack) * promise, promise - good[1:])


def partitions(length: int, scale: int) -> tuple[Array, Array]:
    """First places of intervals of length 8 scale, and of the same shifted by half of it."""
    even = np.arange(0, length, 8 * scale)
    shifted = np.append(0, np.arange(4 * scale, length, 8 * scale))
    return even, shifted


def _named(
    padded: Array, starts: Array, epsilon: float, delta: float, rng: np.random.Generator, runs: int
) -> tuple[Array, tuple[int, int]]:
    """In which runs the best interval is named, for its lead is large, and its ends."""
    lead, ends = _gap(padded, starts)
    return lead + rng.laplace(scale=2 / epsilon, size=runs) > _bar(epsilon, delta), ends


def stable_choice(
    database: Database,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float,
    size: Size = None,
) -> Array:
    """Name the largest of the counts in `database` if it leads by much, else -1.

    The choice that `rec_concave` makes between intervals, each a single place here. It is
    (epsilon, delta)-private where one score moves up by at most 1 and another down. Returns whole
    numbers of shape `size`.
    """
    scores, shape = counts(database), sample_shape(size)
    starts = np.arange(len(scores))
    named, (best, _) = _named(scores, starts, epsilon, delta, rng, int(np.prod(shape)))
    return np.where(named, best, -1).reshape(shape)[()]


def stable_choice_law(database: Database, *, epsilon: float, delta: float) -> FiniteLaw:
    """Exact law of `stable_choice`."""
    scores = counts(database)
    lead, (best, _) = _gap(scores, np.arange(len(scores)))
    noise = (lead - _bar(epsilon, delta)) * epsilon / 2
    logs = np.full(1 + len(scores), -np.inf)
    logs[[0, 1 + best]] = log_laplace_cdf(np.array([-noise, noise]))
    return FiniteLaw(outcomes=np.arange(-1, len(scores)), log_probabilities=logs)


def _gap(padded: Array, starts: Array) -> tuple[float, tuple[int, int]]:
    """By how much the best interval leads the second best, and its ends; inf where it is alone."""
    tops = np.maximum.reduceat(padded, starts)
    first = int(np.argmax(tops))
    ends = np.append(starts[1:], len(padded))
    lead = np.inf if len(tops) == 1 else float(tops[first] - np.delete(tops, first).max())
    return lead, (int(starts[first]), int(ends[first]))


def _bar(epsilon: float, delta: float) -> float:
    """What a noisy lead must exceed for its interval to be named."""
    return 2 + 2 / epsilon * log(1 / (2 * delta))


def _union(intervals: list[tuple[int, int]]) -> Array:
    return np.unique(np.concatenate([np.arange(*ends) for ends in intervals]))


def rec_concave_law(
    database: Database, *, grid: int, epsilon: float, delta: float, base: int = BASE
) -> FiniteLaw:
    """The exact law of `rec_concave`: the outcomes are -1, 0, .., grid - 1."""
    step, stable = step_budget(grid, epsilon, delta, base)
    scores = depth_scores(database, grid=grid).astype(float)
    law = _law(scores, ceil(len(database) / 2), 0.5, step, stable, base)
    with np.errstate(divide="ignore"):
        return FiniteLaw(outcomes=np.arange(-1, grid), log_probabilities=np.log(law))


def _law(
    scores: Array, promise: float, slack: float, epsilon: float, delta: float, base: int
) -> Array:
    """Probabilities of none and of every index; shape (1 + len(scores),)."""
    law = np.zeros(1 + len(scores))
    if len(scores) <= base:
        law[1:] = np.exp(normalised(epsilon / 2 * scores))
        return law
    padded, inner = _scales(scores, promise, slack)
    scales = _law(inner, slack * promise / 2, 0.25, epsilon, delta, base)
    law[0] = scales[0]
    for power, weight in enumerate(scales[1:]):
        parts = [_gap(padded, starts) for starts in partitions(len(padded), 2**power)]
        leads = np.array([gap for gap, _ in parts])
        named = np.exp(log_laplace_cdf((leads - _bar(epsilon, delta)) * epsilon / 2))
        for pattern in ((True, True), (True, False), (False, True), (False, False)):
            chance = weight * float(
                np.prod([p if taken else 1 - p for p, taken in zip(named, pattern, strict=True)])
            )
            tops = [top for (_, top), taken in zip(parts, pattern, strict=True) if taken]
            places = _union(tops) if tops else np.zeros(0, dtype=int)
            places = places[places < len(scores)]
            if len(places):
                law[1 + places] += chance * np.exp(normalised(epsilon / 2 * scores[places]))
            else:
                law[0] += chance
    return law


def points_promised(
    *, grid: int, epsilon: float, delta: float, beta: float, base: int = BASE
) -> int:
    """Number of points m from which the output is interior with probability 1 - beta.

    Let a level be promised a score of p and owe one of (1 - s) p; s is 1/2 at the top, where p is
    m / 2 and what is owed is interior, and 1/4 below. Write L(j) for the greatest score that all of
    some 2^j neighbours have. It falls with j, so that at the last scale with L(j) >= (1 - s / 2) p
    the score of the scale, min(L(j) - (1 - s) p, p - L(j + 1)), is q = s p / 2 at least: that is
    what the level below is promised. q is p / 4 at the top and p / 8 below: the base is promised
    m / 8^N after N levels, and no level less. With a share beta / (2 N + 1) for each failure:

    1. The base owes 3/4 of its q and misses by q / 4 with chance base exp(-step q / 8) at most.
    2. A level gets a scale of score 3 q / 4 at least. Scores above p - 3 q / 4 are fewer than
       2^(j + 1) in a row, and with 2^j good ones about the best at most 4 2^j: they lie in a block
       of one of the two partitions, which leads all others of it by 3 q / 4. It is named unless the
       noise eats this lead down to the bar: exp(-(3 q / 4 - bar) step / 2) / 2 at most.
    3. Of the 16 2^j places of both blocks 2^j have (1 - s) p + 3 q / 4. One below (1 - s) p is
       chosen with chance 16 exp(-3 step q / 8) at most.
    Source: Beimel, Nissim and Stemmer (2013), with the constants worked out here.
    """
    levels = depth(grid, base)
    if levels < 1:
        raise ValueError(f"grid must be above {base} for a recursion, got {grid}")
    step, stable = step_budget(grid, epsilon, delta, base)
    share = beta / (2 * levels + 1)
    least = max(
        8 / step * log(base / share),
        4 / 3 * (2 + 2 / step * log(1 / (4 * stable * share))),
        8 / (3 * step) * log(16 / share),
    )
    return ceil(8**levels * least)


def failure_promised(
    *, points: int, grid: int, epsilon: float, delta: float, base: int = BASE
) -> float:
    """The chance of failure that `points` numbers promise at most.

    The failures of `points_promised` added up, or less with one level of recursion.
    """
    added = failures_added(points=points, grid=grid, epsilon=epsilon, delta=delta, base=base)
    if depth(grid, base) != 1:
        return added
    return min(
        added, one_level_failure(points=points, grid=grid, epsilon=epsilon, delta=delta, base=base)
    )


def one_level_failure(
    *, points: int, grid: int, epsilon: float, delta: float, base: int = BASE
) -> float:
    """The chance of failure with one level of recursion, scale by scale.

    Write p = ceil(m / 2), q = p / 4, e for the epsilon of a step and r_j for the score of scale j,
    of which there are S. Failures that the proof of `points_promised` adds up exclude each other's
    worst cases: a scale that is likely to be chosen is named.

    1. The best scale has r_j >= q, and all weights exp(e r_j / 2) add up to 2 exp(e q / 2) at
       least: let L fall from 3 p / 4 + a to 3 p / 4 - b, then the scale there has the score
       q + min(a, b), and those beside it have q - a and q - b (the scale 0, which has one neighbour
       only, has a >= q). So scale j is chosen with chance exp(-(q - r_j) e / 2) / 2 at most.
    2. At scale j a block of one partition leads by r_j at least, for scores above p - r_j are fewer
       than 2^(j + 1) in a row and stand about the peak. It is not named with a chance of
       exp(-(r_j - bar) e / 2) / 2, or 1 - exp(-(bar - r_j) e / 2) / 2 below the bar; times that of
       1. it is exp(-(q - bar) e / 2) / 4 at most, whatever r_j is.
    3. Named, it holds 2^j places of depth p / 2 + r_j, and all candidates are 16 2^j. Those that
       are not interior have depth 0: 16 exp(-(p / 2 + r_j) e / 2), and half of that at q with 1.
    """
    step, stable = step_budget(grid, epsilon, delta, base)
    promise, scales = ceil(points / 2), ceil(log2(grid)) + 1
    owed, bar = promise / 4, _bar(step, stable)
    if owed < bar or bar * step < 2 * log(2):
        return 1.0
    unnamed = exp(-(owed - bar) * step / 2) / 4
    return scales * (unnamed + 8 * exp(-(promise / 2 + owed) * step / 2))


def failures_added(
    *, points: int, grid: int, epsilon: float, delta: float, base: int = BASE
) -> float:
    """The three failures of `points_promised` at each level, added up."""
    levels = depth(grid, base)
    step, stable = step_budget(grid, epsilon, delta, base)
    least = points / 8**levels
    # Without a recursion the base owes an interior point and misses it by half of the points.
    owed = least / 4 if levels else ceil(points / 2)
    above = max(0.0, 3 * least / 4 - _bar(step, stable)) if levels else 0.0
    level = exp(-above * step / 2) / 2 + 16 * exp(-3 * step * least / 8)
    return min(base, grid) * exp(-step * owed / 2) + levels * level


def lopsided_points(points: int, grid: int) -> tuple[list[int], list[int]]:
    """Neighbours among the worst found: most points at the end of the grid, one joins them."""
    last, few = grid - 1, points // 6
    rest = [grid // 4] * (points // 5) + [last - 2] * few
    heap = [last] * (points - 1 - len(rest))
    return [*rest, 2 * grid // 3, *heap], [*rest, last, *heap]


def terraced_points(points: int, grid: int) -> list[int]:
    """Points on which many scales are wrong, and the two good ones are hardly better than them.

    An eighth of the points stands at each end of a short interval and the rest at the ends of a
    long one, so that depth is m / 2 on the first and 3 m / 8 on the second. Every scale that is a
    quarter of the short interval or less leaves several best blocks, none of which is named.
    """
    length = max(grid // 4, 3)
    start = min(grid // 2, grid - 1 - length)
    inner = max(length // 8, 1)
    first = start + (length - inner) // 2
    eighth = points // 8
    outer = points // 2 - eighth
    last = points - outer - 2 * eighth
    ends = (start, outer), (first, eighth), (first + inner, eighth), (start + length, last)
    return [place for place, many in ends for _ in range(many)]


def stepped_points(
    *, points: int, grid: int, epsilon: float, delta: float, base: int = BASE
) -> list[int]:
    """The hardest points found for `one_level_failure`: every small scale just misses the bar.

    Depth is p = ceil(m / 2) on two places, about as much less as the bar asks for on a plateau, and
    3 p / 4 up to both ends of the grid. So nearly every scale below the plateau has a block that
    leads by the bar less 2 ln(3 / 2) / e, in both partitions, since a border of each lies on the
    plateau; both are left unnamed with chance (2 / 3)^2, times 2 / 3 for being chosen, and nothing
    between makes the product larger.
    """
    step, stable = step_budget(grid, epsilon, delta, base)
    promise = ceil(points / 2)
    outer = ceil(3 * promise / 4)
    lead = round(_bar(step, stable) - 2 * log(1.5) / step)
    peak, steps = max(0, min(lead, promise - outer)), promise - outer
    width = 2 ** ceil(log2(grid))
    low = min(width // 4 + 1, grid // 3)
    high = min(3 * width // 4 - 1 + max(width // 64, 2), grid - 2, low + width // 2 - 2)
    top = (low + high) // 2
    ends = (0, outer), (low, steps - peak), (top, peak), (top + 1, peak), (high, steps - peak)
    made = [place for place, many in ends for _ in range(many)]
    return made + [grid - 1] * (points - len(made))


class BoundRecursion(TypedDict):
    """What `rec_concave` is bound to."""

    grid: int
    epsilon: float
    delta: float
    base: int


def rec_concave_mechanism(
    *,
    points: int,
    grid: int,
    epsilon: float,
    delta: float,
    base: int = BASE,
    name: str = "rec-concave",
    identifier: str = "",
) -> Mechanism:
    """`rec_concave` for `points` points with its privacy, its exact law and what it promises.

    So few points that the promised chance of failure is 1 or more make that promise vacuous.
    """
    require_whole(points=points, grid=grid, base=base)
    require_positive(epsilon=epsilon, delta=delta)
    parameters: BoundRecursion = {"grid": grid, "epsilon": epsilon, "delta": delta, "base": base}
    failure = failure_promised(points=points, **parameters)
    found = UtilityClaim(
        loss=not_interior,
        bound=lambda beta: 1.0,
        levels=(failure,),
        databases=(terraced_points(points, grid), stepped_points(points=points, **parameters)),
        identifier="PAC-IP-REC-FAILURE",
        statement="the output is an interior point",
        reference="Beimel, Nissim and Stemmer (2013)",
    )
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(rec_concave, **parameters),
        databases=Rows(
            row=Interval(low=0, high=grid - 1, integer=True), min_size=points, max_size=points
        ),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=f"{SOURCE}; Beimel, Nissim and Stemmer (2013)",
                examples=(lopsided_points(points, grid),),
            ),
            found,
        ),
        reference="Beimel, Nissim and Stemmer (2013)",
        law=partial(rec_concave_law, **parameters),
    )


REC_CONCAVE = rec_concave_mechanism(
    points=41, grid=64, epsilon=4.0, delta=1e-3, identifier="PAC-IP-REC"
)
"""Too few points for its utility theorem, so that the audit sees every branch."""
