"""Private learning of axis-aligned boxes: two interior points for every axis.

Source: Stemmer, lecture notes on differential privacy, lecture 12; Beimel, Nissim and Stemmer
(2013). Records are points of the grid 0, .., grid - 1 in d dimensions with a label 0 or 1;
neighbours replace one record, label included. Padding makes every block have m points, so that
no test of whether there are enough positives is needed.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, log, sqrt
from typing import NotRequired, TypedDict

import numpy as np

from .._checks import (
    grid_columns,
    require_delta,
    require_listable,
    require_positive,
    require_whole,
    sample_shape,
)
from ..accounting.composition import zcdp_root
from ..accounting.privacy_loss import log_laplace_cdf
from ..learning.labelled import grid_points
from ..model import (
    Array,
    Choices,
    Database,
    FiniteLaw,
    Interval,
    Mechanism,
    Output,
    PrivacyClaim,
    Product,
    ProductLaw,
    Relation,
    Rows,
    Size,
    UtilityClaim,
)
from .interior_point import (
    SOURCE,
    failure_bound,
    failure_promised,
    interior_point,
    interior_point_law,
    rec_concave,
    rec_concave_law,
)

EMPTY = -1
"""Both ends of an axis of the hypothesis that calls nothing positive."""
MOST_BOXES = 2**14
"""Boxes that the exact law of one database lists, so that many databases can be compared."""


def labelled_points(database: Database, *, grid: int) -> Array:
    """The records [x_1, ..., x_d, label] as whole numbers, shape (n, d + 1), n >= 1.

    Raises ValueError on a coordinate off the grid 0, ..., grid - 1, on a label other than 0 and 1,
    on records of different lengths, and without any record, from which d would be known.
    """
    widths = {len(one) if isinstance(one, list | tuple) else np.size(one) for one in database}
    if len(widths) != 1 or min(widths) < 2:
        raise ValueError(
            "records must be lists [x_1, ..., x_d, label] of one length, at least one of them; got "
            + (f"lengths {sorted(widths)}" if widths else "none")
        )
    dimension = widths.pop() - 1
    return grid_columns(database, sides=(grid,) * dimension + (2,))


def blocks(database: Database, *, grid: int, block: int) -> list[tuple[Array, Array]]:
    """The `block` smallest and largest coordinates of the positives, for every axis.

    Where there are too few, the smallest are padded with the top of the grid and the largest
    with its bottom. One replaced record changes each block by at most one replaced number.
    """
    rows = labelled_points(database, grid=grid)
    positives = np.sort(rows[rows[:, -1] == 1, :-1], axis=0)
    missing = max(0, block - len(positives))
    made = []
    for column in positives.T:
        low = np.append(column[:block], np.full(missing, grid - 1))
        high = np.append(np.zeros(missing, dtype=np.int64), column[len(column) - block + missing :])
        made.append((low, high))
    return made


def learn_box(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: int,
    block: int,
    interior: Callable[..., Array],
    size: Size = None,
) -> Array:
    """For every axis an interior point of the lowest and one of the highest positives.

    `interior(points, rng, *, size)` finds one of `block` points of the grid. The hypothesis is
    positive from the first to the second on every axis, and empty where they are the wrong way
    round. Returns whole numbers of shape `size` + (d, 2).
    """
    require_positive(grid=grid, block=block)
    shape = sample_shape(size)
    ends = [
        np.stack([interior(low, rng, size=shape), interior(high, rng, size=shape)], axis=-1)
        for low, high in blocks(database, grid=grid, block=block)
    ]
    return np.stack(ends, axis=-2)


def counted_boxes(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: int,
    block: int,
    interior: Callable[..., Array],
    count_epsilon: float,
    count_beta: float,
    size: Size = None,
) -> Array:
    """`learn_box`, but the empty box (-1) where a noisy count finds fewer than 2 m positives.

    The count has Laplace(1 / count_epsilon) noise and must exceed 2 m by ln(1 / (2 count_beta)) /
    count_epsilon. Returns whole numbers of shape `size` + (d, 2).
    """
    require_positive(count_epsilon=count_epsilon, count_beta=count_beta)
    rows = labelled_points(database, grid=grid)
    bar = count_bar(block, count_epsilon, count_beta)
    noise = rng.laplace(scale=1 / count_epsilon, size=sample_shape(size))
    enough = np.count_nonzero(rows[:, -1]) + noise >= bar
    learnt = learn_box(database, rng, grid=grid, block=block, interior=interior, size=size)
    return np.where(np.asarray(enough)[..., None, None], learnt, EMPTY)


def counted_boxes_law(
    database: Database,
    *,
    grid: int,
    block: int,
    epsilon: float,
    count_epsilon: float,
    count_beta: float,
) -> FiniteLaw:
    """Exact law of `counted_boxes` over `interior_point` at `epsilon` each call, as a list.

    All grid ** (2 d) boxes come in order and the empty one last.
    """
    rows = labelled_points(database, grid=grid)
    require_listable(grid ** (2 * rows.shape[1] - 2), "boxes")
    ends = [
        interior_point_law(points, grid=grid, epsilon=epsilon).log_probabilities
        for pair in blocks(database, grid=grid, block=block)
        for points in pair
    ]
    lacking = count_bar(block, count_epsilon, count_beta) - np.count_nonzero(rows[:, -1])
    enough, few = log_laplace_cdf(np.array([-lacking, lacking]) * count_epsilon)
    boxes = grid_points((grid,) * len(ends))
    learnt = enough + sum(part[boxes[:, i]] for i, part in enumerate(ends))
    outcomes = np.concatenate([boxes, np.full((1, len(ends)), EMPTY)])
    return FiniteLaw(
        outcomes=outcomes.reshape(-1, len(ends) // 2, 2),
        log_probabilities=np.append(learnt, few),
    )


def count_bar(block: int, count_epsilon: float, count_beta: float) -> float:
    """What a noisy count has to reach: 2 m + ln(1 / (2 count_beta)) / count_epsilon."""
    return 2 * block + log(1 / (2 * count_beta)) / count_epsilon


def hull(database: Database, rng: np.random.Generator, *, size: Size = None) -> Array:
    """The smallest box with all positives (-1 where there are none): not private at all.

    Draws nothing. Returns whole numbers of shape `size` + (d, 2).
    """
    rows = np.asarray(database, dtype=np.int64)
    positives = rows[rows[:, -1] == 1, :-1]
    ends = np.full((rows.shape[1] - 1, 2), EMPTY)
    if len(positives):
        ends = np.stack([positives.min(axis=0), positives.max(axis=0)], axis=-1)
    return np.tile(ends, (*sample_shape(size), 1, 1))


def predict(box: Array, points: Array) -> Array:
    """1 for the points (n, d) inside the box (d, 2) with any leading axes; shape (..., n)."""
    box, points = np.asarray(box), np.asarray(points)
    if points.ndim != 2 or box.shape[-2] != points.shape[-1]:
        raise ValueError(
            f"points must have shape (n, {box.shape[-2]}) for a box of {box.shape[-2]} axes, got "
            f"{points.shape}"
        )
    inside = np.ones((*box.shape[:-2], len(points)), dtype=bool)
    for axis, column in enumerate(points.T):
        ends = box[..., axis, :, None]
        inside &= (column >= ends[..., 0, :]) & (column <= ends[..., 1, :])
    return inside


def errors(database: Database, box: Array) -> Array:
    """Positives and negatives that the box gets wrong: whole numbers of shape (..., 2)."""
    rows = np.asarray(database, dtype=np.int64)
    # Records on a grid repeat: each is looked at once for every box.
    rows, times = np.unique(rows, axis=0, return_counts=True)
    inside, positive = predict(box, rows[:, :-1]), rows[:, -1] == 1
    return np.stack([(~inside & positive) @ times, (inside & ~positive) @ times], axis=-1)


def call_privacy(dimension: int, epsilon: float, delta: float = 0.0) -> float:
    """The epsilon of each of 2 d calls that makes them together (epsilon, delta)-private.

    An even share without delta. With delta it is 2 s(epsilon, delta) / sqrt(d), because the loss
    of the exponential mechanism has a range of epsilon only, Cesar and Rogers (2021).
    """
    require_positive(dimension=dimension, epsilon=epsilon)
    if delta == 0:
        return epsilon / (2 * dimension)
    return 2 * zcdp_root(epsilon, delta) / sqrt(dimension)


def block_needed(
    *, dimension: int, grid: int, epsilon: float, beta: float, delta: float = 0.0
) -> int:
    """Points m of a block: ceil((4 / e) ln(2 d (|D| - 1) / beta)), e the epsilon of a call.

    In d it grows as d without delta and as sqrt(d) with it, hence the records as d^1.5.
    """
    require_positive(beta=beta)
    each = call_privacy(dimension, epsilon, delta)
    return ceil(4 / each * log(2 * dimension * (grid - 1) / beta))


def records_needed(*, dimension: int, block: int, alpha: float) -> int:
    """Records n = 2 d m / alpha from which the error is at most alpha with probability 1 - beta."""
    require_positive(alpha=alpha)
    return ceil(2 * dimension * block / alpha)


def hard_records(records: int, grid: int, dimension: int = 2) -> Array:
    """Realizable records, in two dimensions half of them positive, and spread over a box."""
    place = np.arange(records)
    axes = [place // grid ** (axis % 2) * (axis // 2 * 2 + 1) % grid for axis in range(dimension)]
    points = np.stack(axes, axis=-1)
    target = np.array([[grid // 8, grid - grid // 8]] * dimension)
    return np.column_stack([points, predict(target, points)])


def balanced_records(records: int, grid: int, block: int, dimension: int) -> list[list[int]]:
    """Realizable records on which a call that fails calls a negative positive.

    The positives are one block, half of them at a place of the middle and half beside it on every
    axis; a negative stands at every other place of an axis. Where there are too few records for
    all of these they are the `hard_records`.
    """
    low = grid // 2 - 1
    made = [[low + i % 2] * dimension + [1] for i in range(block)]
    for axis in range(dimension):
        for place in {*range(grid)} - {low, low + 1}:
            made.append([place if one == axis else low for one in range(dimension)] + [0])
    if len(made) > records:
        return hard_records(records, grid, dimension).tolist()
    return made + made[-1:] * (records - len(made))


class EndCall(TypedDict):
    """What each of the 2 d calls is bound to; one that recurs has a delta."""

    grid: int
    epsilon: float
    delta: NotRequired[float]


class PositivesCounted(TypedDict):
    """What counting the positives first costs, and how often it errs."""

    count_epsilon: float
    count_beta: float


def boxes_mechanism(
    *,
    dimension: int,
    grid: int,
    block: int,
    records: int,
    epsilon: float,
    delta: float = 0.0,
    recursive: bool = False,
    call_epsilon: float | None = None,
    count_epsilon: float | None = None,
    name: str = "boxes",
    identifier: str = "",
) -> Mechanism:
    """The box learner over exponential-mechanism interior points, with what it claims.

    Each of the 2 d calls has `call_epsilon`, by default what `call_privacy` gives it. With
    `recursive` the points are those of `rec_concave`, with even shares of epsilon and delta. With
    `count_epsilon` it is the variant that counts the positives first, at that cost, whose exact
    law is a list of all boxes and known where there are at most MOST_BOXES.
    On realizable data it promises that no negative is called positive and at most 2 d (m - 1)
    positives are missed, which is vacuous where the promised chance of failure is 1 or more.
    """
    require_whole(dimension=dimension, grid=grid, block=block, records=records)
    require_positive(epsilon=epsilon)
    require_delta(delta=delta)
    if count_epsilon is not None:
        require_positive(count_epsilon=count_epsilon)
    counted = 0.0 if count_epsilon is None else count_epsilon
    shared = 0.0 if recursive else delta
    each = call_epsilon or call_privacy(dimension, epsilon - counted, shared)
    call: EndCall = {"grid": grid, "epsilon": each}
    if recursive:
        call["delta"] = delta / (2 * dimension)
    point: Callable[..., Array] = rec_concave if recursive else interior_point
    point_law: Callable[..., FiniteLaw] = rec_concave_law if recursive else interior_point_law
    missing: Callable[..., float] = failure_promised if recursive else failure_bound
    interior, one_law = partial(point, **call), partial(point_law, **call)
    failure = 2 * dimension * missing(points=block, **call)
    most = 2.0 * dimension * (block - 1)
    beside: list[UtilityClaim] = []
    run: Callable[..., Output] = partial(learn_box, grid=grid, block=block, interior=interior)
    exact: Callable[..., Output] = partial(_product_law, grid=grid, block=block, law=one_law)
    if count_epsilon is not None:
        count: PositivesCounted = {"count_epsilon": count_epsilon, "count_beta": 0.05}
        run = partial(counted_boxes, grid=grid, block=block, interior=interior, **count)
        exact = partial(counted_boxes_law, grid=grid, block=block, epsilon=each, **count)
        beside.append(_counts_first(dimension, grid, block, records, count["count_beta"]))
        # So many positives are found to be enough, but for that chance once more.
        failure += count["count_beta"]
        bar = count_bar(block, **count)
        most = max(most, 2 * bar - 2 * block)
    beside.append(_accurate(failure, most, balanced_records(records, grid, block, dimension)))
    axis = Interval(low=0, high=grid - 1, integer=True)
    row = Product(parts=(axis,) * dimension + (Choices(values=(0, 1)),))
    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=run,
        databases=Rows(row=row, min_size=records, max_size=records),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=f"{SOURCE}, {'with constants' if delta else 'with basic composition'}",
            ),
            *beside,
        ),
        reference="Beimel, Nissim and Stemmer (2013)",
        law=exact if count_epsilon is None or grid ** (2 * dimension) <= MOST_BOXES else None,
    )


def _accurate(failure: float, most: float, hard: Database) -> UtilityClaim:
    """That realizable data lose no negative and `most` positives at most."""

    def lost(database: Database, output: Output) -> Array:
        missed, wrong = np.moveaxis(errors(database, output).astype(float), -1, 0)
        if errors(database, hull(database, np.random.default_rng(0))).any():
            return np.zeros(np.shape(missed))
        return np.where(wrong > 0, np.inf, missed)

    return UtilityClaim(
        loss=lost,
        bound=lambda beta: most + 0.5,
        levels=(failure,),
        databases=(hard,),
        identifier="PAC-BOX-FAILURE",
        statement="no negative is called positive and at most 2 d (m - 1) positives are missed",
        reference=SOURCE,
    )


def _counts_first(
    dimension: int, grid: int, block: int, records: int, count_beta: float
) -> UtilityClaim:
    """That too few positives are noticed."""
    few = min(2 * block - 1, records)

    def unnoticed(database: Database, output: Output) -> Array:
        lacking = np.count_nonzero(np.asarray(database)[:, -1]) < 2 * block
        return (np.asarray(output) != EMPTY).any(axis=(-2, -1)) * float(lacking)

    rows = [[grid // 2] * dimension + [int(i < few)] for i in range(records)]
    return UtilityClaim(
        loss=unnoticed,
        bound=lambda beta: 1.0,
        levels=(count_beta,),
        databases=(rows,),
        identifier="PAC-BOX-COUNT",
        statement="with fewer than 2 m positives the box is empty",
        reference=SOURCE,
    )


def _product_law(
    database: Database, *, grid: int, block: int, law: Callable[..., FiniteLaw]
) -> ProductLaw:
    return ProductLaw(
        parts=tuple(
            law(points) for pair in blocks(database, grid=grid, block=block) for points in pair
        )
    )


BOXES = boxes_mechanism(
    dimension=2, grid=8, block=4, records=6, epsilon=4.0, identifier="PAC-BOX-PRIV"
)

BOXES_COUNTED = boxes_mechanism(
    dimension=1, grid=8, block=2, records=6, epsilon=3.0, count_epsilon=1.0,
    name="boxes-counted", identifier="PAC-BOX-TEST",
)  # fmt: skip
