"""Interior points and box learners that break what they promise."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, log

import numpy as np

from ..model import (
    Array,
    Choices,
    Database,
    Interval,
    Mechanism,
    NegativeControl,
    Output,
    PrivacyClaim,
    Product,
    Relation,
    Rows,
    Size,
    ThresholdClaim,
)
from .boxes import (
    BOXES,
    EMPTY,
    blocks,
    boxes_mechanism,
    errors,
    hard_records,
    hull,
    learn_box,
    records_needed,
)
from .boxes import block_needed as block_of
from .interior_point import (
    INTERIOR_POINT,
    SOURCE,
    balanced_points,
    interior_point,
    interior_point_law,
    interior_point_mechanism,
    not_interior,
)

_labelled = Rows(
    row=Product(parts=(Interval(low=0, high=7, integer=True), Choices(values=(0, 1)))),
    min_size=4,
    max_size=4,
)


HULL = NegativeControl(
    mechanism=Mechanism(
        trust_rows=True,
        name="boxes-hull",
        run=partial(hull),
        databases=_labelled,
        claims=(PrivacyClaim(epsilon=4.0, relation=Relation.REPLACE_ONE, reference=SOURCE),),
        reference="Blumer, Ehrenfeucht, Haussler and Warmuth (1989)",
    ),
    defect="the smallest box with all positives: it moves with the outermost of them, for certain",
    identifier="MUT-PAC-1",
)

DOUBLED_WEIGHTS = NegativeControl(
    mechanism=replace(
        INTERIOR_POINT,
        name="interior-point-doubled-weights",
        identifier="MUT-PAC-2",
        run=partial(interior_point, grid=6, epsilon=2.0),
        law=partial(interior_point_law, grid=6, epsilon=2.0),
    ),
    defect="weights exp(epsilon depth) without the factor 1/2: the loss is up to 1.6",
)

_GRID, _BETA = 64, 0.1


def _few(points: int) -> tuple[Callable[..., Output], list[int]]:
    made = interior_point_mechanism(points=points, grid=_GRID, epsilon=1.0)
    return made.run, balanced_points(points, _GRID)


_threshold = ThresholdClaim(
    trust_rows=True,
    needed=2 * ceil(log((_GRID - 1) / _BETA)),
    instance=_few,
    loss=not_interior,
    level=0.5,
    beta=_BETA,
    identifier="PAC-IP-EM-UTILITY",
    reference=SOURCE,
)
_halved = interior_point_mechanism(
    points=_threshold.needed, grid=_GRID, epsilon=1.0, name="interior-point-too-few-points"
)

TOO_FEW_POINTS = NegativeControl(
    mechanism=replace(_halved, claims=(_halved.claims[0], _threshold)),
    claim=-1,
    defect="(2/epsilon) ln((|D|-1)/beta) points, half of what is needed: it fails in 48 % of runs",
    identifier="MUT-PAC-3",
)


def unpadded_box(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: int,
    block: int,
    epsilon: float,
    size: Size = None,
) -> Array:
    """The box learner that gives up, without noise, where there are fewer positives than a block.

    Returns whole numbers of shape `size` + (d, 2), all -1 where it gives up.
    """
    rows = np.asarray(database, dtype=np.int64)
    each = epsilon / (2 * (rows.shape[1] - 1))
    interior = partial(interior_point, grid=grid, epsilon=each)
    learnt = learn_box(database, rng, grid=grid, block=block, interior=interior, size=size)
    return learnt if np.count_nonzero(rows[:, -1]) >= block else np.full_like(learnt, EMPTY)


def unpadded_mechanism(*, epsilon: float, identifier: str) -> Mechanism:
    """`unpadded_box` for blocks of two of four records, with the claim it breaks."""
    return Mechanism(
        trust_rows=True,
        name="boxes-unpadded",
        identifier=identifier,
        run=partial(unpadded_box, grid=8, block=2, epsilon=epsilon),
        databases=_labelled,
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                relation=Relation.REPLACE_ONE,
                identifier=identifier,
                reference=SOURCE,
            ),
        ),
        reference=SOURCE,
    )


UNPADDED = NegativeControl(
    mechanism=unpadded_mechanism(epsilon=4.0, identifier="MUT-PAC-4"),
    defect="gives up without noise where positives are fewer than a block",
)

_whole = boxes_mechanism(
    dimension=2, grid=8, block=4, records=6, epsilon=1.0, call_epsilon=1.0,
    name="boxes-calls-at-whole-budget", identifier="MUT-PAC-6",
)  # fmt: skip

CALLS_AT_WHOLE_BUDGET = NegativeControl(
    mechanism=boxes_mechanism(
        dimension=2,
        grid=8,
        block=4,
        records=6,
        epsilon=1.0,
        call_epsilon=1.0,
        name="boxes-calls-at-whole-budget",
        identifier="MUT-PAC-6",
    ),
    defect="each of the four calls spends epsilon instead of a quarter of it",
)


def unsorted_box(
    database: Database,
    rng: np.random.Generator,
    *,
    grid: int,
    block: int,
    epsilon: float,
    size: Size = None,
) -> Array:
    """The box learner on the first and the last positives as they come, not in order.

    Returns whole numbers of shape `size` + (d, 2).
    """
    rows = np.asarray(database, dtype=np.int64)
    positives = rows[rows[:, -1] == 1, :-1]
    ends = []
    for column, (low, high) in zip(
        positives.T, blocks(database, grid=grid, block=block), strict=True
    ):
        taken = (column[:block], column[-block:]) if len(column) >= block else (low, high)
        ends.append(
            np.stack(
                [interior_point(part, rng, grid=grid, epsilon=epsilon, size=size)
                 for part in taken], axis=-1,
            )
        )  # fmt: skip
    return np.stack(ends, axis=-2)


_block = block_of(dimension=2, grid=_GRID, epsilon=1.0, beta=_BETA)
_needed = records_needed(dimension=2, block=_block, alpha=0.25)


def _as_they_come(records: int) -> tuple[Callable[..., Output], Array]:
    run = partial(unsorted_box, grid=_GRID, block=_block, epsilon=0.25)
    return run, hard_records(records, _GRID)


_accuracy = ThresholdClaim(
    trust_rows=True,
    needed=_needed,
    instance=_as_they_come,
    loss=lambda rows, box: errors(rows, box).sum(axis=-1) / len(rows),
    level=0.25,
    beta=_BETA,
    identifier="PAC-BOX-MAIN",
    reference=SOURCE,
)

UNSORTED = NegativeControl(
    mechanism=replace(
        BOXES,
        name="boxes-unsorted",
        identifier="MUT-PAC-5",
        run=partial(unsorted_box, grid=8, block=4, epsilon=1.0),
        law=None,
        claims=(*BOXES.claims, _accuracy),
    ),
    claim=-1,
    defect="blocks are taken before sorting: both ends land in the middle of the data",
)
