"""Theorems on learning boxes, as margins over labelled points, and how the records needed grow.

In the conditional statements every call returns an interior point of its block; which one is
part of the case, as a fraction of the way from the block's smallest number to its largest.

Growth with the dimension: every axis has two blocks of positives of its own, one at each end, which
lie in the middle of all other axes, so that what is lost on one axis is lost on no other.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import exp, floor
from types import MappingProxyType
from typing import TypedDict, Unpack

import numpy as np

from ..accounting.composition import Spending, bound, spends
from ..model import (
    Array,
    Choices,
    Claim,
    Database,
    GrowthClaim,
    IdentityClaim,
    Interval,
    InvariantCase,
    InvariantClaim,
    Mechanism,
    Output,
    Parameter,
    PrivacyClaim,
    Product,
    Record,
    Remarks,
    Row,
    Rows,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
    number,
    whole,
)
from .boxes import (
    block_needed,
    blocks,
    boxes_mechanism,
    call_privacy,
    errors,
    hard_records,
    hull,
    learn_box,
    predict,
    records_needed,
)
from .boxes import block_needed as block_of
from .broken_boxes import unpadded_mechanism
from .interior_point import SOURCE, interior_point, lopsided_points

GRID = 8
PLACE = Interval(low=0, high=GRID - 1, integer=True)
ROW = Product(parts=(PLACE, PLACE, Choices(values=(0, 1))))
ROWS = Rows(row=ROW, min_size=1, max_size=12)
POINT = Product(parts=(PLACE, PLACE))
TARGET = Product(parts=(PLACE, PLACE, PLACE, PLACE))
CHOSEN = Product(parts=(Interval(low=0, high=1),) * 4)
NOBODY = np.random.Generator(np.random.PCG64(0))
"""Stands where a generator is asked for and none is used."""


def _labelled(case: InvariantCase) -> tuple[Array, Array]:
    """Points labelled by a target box, and the target; realizable by construction."""
    low, high = np.sort(np.array(case["target"]).reshape(2, 2), axis=0)
    target = np.stack([low, high], axis=-1)
    points = np.array(case["points"], dtype=np.int64).reshape(-1, 2)
    return np.column_stack([points, predict(target, points)]).astype(np.int64), target


def _interior(case: InvariantCase) -> Callable[..., Array]:
    """Interior points chosen by the case, one call after the other."""
    fractions = iter(case["chosen"])

    def choose(points: Array, rng: np.random.Generator, *, size: int) -> Array:
        low, high = int(points.min()), int(points.max())
        return np.full(size, low + round(next(fractions) * (high - low)))

    return choose


def _learnt(case: InvariantCase) -> tuple[Array, Array, Array]:
    rows, target = _labelled(case)
    box = learn_box(rows, NOBODY, grid=GRID, block=case["block"], interior=_interior(case))
    return rows, target, box


def _inside_margin(case: InvariantCase) -> float:
    rows, _, box = _learnt(case)
    return -float(errors(rows, box)[1])


@cache
def _stated(block: int) -> float:
    """How many positives may be missed, as the mechanism says of itself: 2 d (m - 1)."""
    made = boxes_mechanism(dimension=2, grid=GRID, block=block, records=1, epsilon=1.0)
    return next(
        claim.bound(claim.levels[0]) for claim in made.claims if isinstance(claim, UtilityClaim)
    )


def missed_margin(case: InvariantCase) -> float:
    """What the mechanism says of the positives that are missed, less those that are."""
    rows, _, box = _learnt(case)
    return floor(_stated(int(case["block"]))) - float(errors(rows, box)[0])


def _only_negatives(case: InvariantCase) -> float:
    rows, _, box = _learnt(case)
    return -float(errors(rows, box)[0])


def _hull_margin(case: InvariantCase) -> float:
    rows, _ = _labelled(case)
    return -float(errors(rows, hull(rows, NOBODY)).sum())


def _error_margin(case: InvariantCase) -> float:
    """A replaced record moves the error of any hypothesis by at most 1 / n."""
    rows = np.array(case["rows"], dtype=np.int64)
    other = rows.copy()
    other[0] = case["other"]
    low, high = np.sort(np.array(case["target"]).reshape(2, 2), axis=0)
    box = np.stack([low, high], axis=-1)
    return float(1 - abs(errors(rows, box).sum() - errors(other, box).sum()))


def _block_margin(case: InvariantCase) -> float:
    """A replaced record replaces at most one number of every block, which has m of them."""
    rows = np.array(case["rows"], dtype=np.int64)
    other = rows.copy()
    other[0] = case["other"]
    changes = [0]
    for one, two in zip(
        blocks(rows, grid=GRID, block=case["block"]),
        blocks(other, grid=GRID, block=case["block"]),
        strict=True,
    ):
        for first, second in zip(one, two, strict=True):
            if not len(first) == len(second) == case["block"]:
                return -1.0
            left, right = (np.bincount(b, minlength=GRID) for b in (first, second))
            changes.append(int(np.maximum(left - right, 0).sum()))
    return float(1 - max(changes))


BLOCK: dict[str, Row] = {"block": Interval(low=1, high=4, integer=True)}
REPLACED: dict[str, Row] = {"rows": ROWS, "other": ROW}
REALIZABLE: dict[str, Row] = {"points": Rows(row=POINT, min_size=1, max_size=16), "target": TARGET}
INNER: dict[str, Row] = {**REALIZABLE, **BLOCK, "chosen": CHOSEN}
EDGE = (
    {
        "points": [[x, x] for x in range(8)],
        "target": [0, 0, 7, 7],
        "block": 2,
        "chosen": [1.0, 0.0, 1.0, 0.0],
    },
    {"points": [[3, 3]] * 3, "target": [3, 3, 3, 3], "block": 4, "chosen": [1.0, 0.0, 0.0, 1.0]},
    # No point lies at two ends, so that every end misses others.
    {
        "points": [[0, 3], [3, 0], [7, 4], [4, 7], [3, 3], [4, 4]],
        "target": [0, 0, 7, 7],
        "block": 2,
        "chosen": [1.0, 0.0, 1.0, 0.0],
    },
)


def _invariant(
    fields: dict[str, Row],
    margin: Callable[[InvariantCase], float],
    examples: tuple[object, ...] = (),
) -> Callable[[], InvariantClaim]:
    return lambda: InvariantClaim(cases=Record(fields=fields), margin=margin, examples=examples)


class PaidBoxes(TypedDict):
    """Where boxes are learnt, and what that may lose."""

    dimension: int
    grid: int
    epsilon: float
    delta: float


def _main(
    *, epsilon: float, grid: int, alpha: float, beta: float, dimension: int, delta: float = 0.0
) -> ThresholdClaim:
    paid: PaidBoxes = {
        "dimension": dimension, "grid": grid, "epsilon": epsilon, "delta": delta,
    }  # fmt: skip
    block = block_of(beta=beta, **paid)
    needed = records_needed(dimension=dimension, block=block, alpha=alpha)

    def instance(records: int) -> tuple[Callable[..., Output], Array]:
        made = boxes_mechanism(block=block, records=records, **paid)
        return made.run, hard_records(records, grid, dimension)

    return ThresholdClaim(
        trust_rows=True,
        needed=needed,
        instance=instance,
        level=alpha,
        beta=beta,
        loss=lambda rows, box: errors(rows, box).sum(axis=-1) / len(rows),
    )


def _privacy(*, epsilon: float, dimension: int) -> Mechanism:
    return boxes_mechanism(
        dimension=dimension,
        grid=GRID,
        block=4,
        records=6,
        epsilon=epsilon,
        identifier="PAC-BOX-PRIV",
    )


def _calls_spend(*, epsilon: float, delta: float, dimension: int) -> IdentityClaim:
    def calls(slack: float, count: float | None = None) -> Spending:
        made = boxes_mechanism(
            dimension=dimension,
            grid=GRID,
            block=4,
            records=4,
            epsilon=epsilon,
            delta=slack,
            count_epsilon=count,
        )
        each = bound(made)["interior"].keywords["epsilon"]
        counted = [] if count is None else [bound(made)["count_epsilon"]]
        return Spending(pure=counted, ranged=[each] * 2 * dimension, delta=slack)

    def recursive() -> list[Spending]:
        made = boxes_mechanism(
            dimension=dimension, grid=64, block=41, records=41, epsilon=epsilon, delta=delta,
            recursive=True,
        )  # fmt: skip
        each = bound(made)["interior"].keywords
        # Deltas add up as epsilons do; theirs are told in parts of epsilon.
        shares = each["epsilon"], each["delta"] / delta * epsilon
        return [Spending(pure=[share] * 2 * dimension) for share in shares]

    return spends(
        lambda: [calls(0.0), calls(delta), calls(0.0, count=epsilon / 3), *recursive()],
        epsilon=epsilon,
    )


def _with_delta(
    *, epsilon: float, delta: float, dimension: int, recursive: bool = False
) -> Subject:
    """Blocks as large as the data, so that the one record that moves is in all of them."""
    records = 41 if recursive else 4
    made = boxes_mechanism(
        dimension=dimension,
        grid=64 if recursive else GRID,
        block=records,
        records=records,
        epsilon=epsilon,
        delta=delta,
        recursive=recursive,
        name="boxes-recursive" if recursive else "boxes",
    )
    pair = [
        [[place] * dimension + [1] for place in points]
        for points in (lopsided_points(records, 64) if recursive else ([0] * 4, [0, 0, 0, 7]))
    ]
    (claim,) = (one for one in made.claims if isinstance(one, PrivacyClaim))
    return Subject(claim=replace(claim, examples=((pair[0], pair[1]),)), mechanism=made)


def _counted(*, epsilon: float, dimension: int) -> Mechanism:
    return boxes_mechanism(
        dimension=dimension,
        grid=GRID,
        block=2,
        records=6,
        epsilon=epsilon,
        count_epsilon=epsilon / 3,
        name="boxes-counted",
        identifier="PAC-BOX-TEST",
    )


def _lost(*, epsilon: float, grid: int, dimension: int, block: int) -> Subject:
    """What the learner claims to lose, on just so many records as its hard instance has."""
    made = boxes_mechanism(
        dimension=dimension,
        grid=grid,
        block=block,
        records=block + dimension * (grid - 2),
        epsilon=epsilon,
    )
    return Subject(claim=made.claims[1], mechanism=made)


def _failures(*, epsilon: float, grid: int, block: int) -> IdentityClaim:
    """The chance of failure that the learner claims, over the sum of its 2 d calls' failures."""

    def ratio() -> float:
        worst = 1.0
        for dimension in (1, 3):
            calls = 2 * dimension
            made = boxes_mechanism(
                dimension=dimension, grid=grid, block=block, records=block, epsilon=epsilon
            )
            claim = made.claims[-1]
            assert isinstance(claim, UtilityClaim)
            one = (grid - 1) * exp(-(epsilon / calls) * ((block + 1) // 2) / 2)
            found = claim.levels[0] / (calls * one)
            worst = max(worst, found, 1 / found)
        return worst

    return IdentityClaim(compute=ratio, stated=1.0, tolerance=1e-9)


def _count_claim(*, epsilon: float, dimension: int) -> Subject:
    made = _counted(epsilon=epsilon, dimension=dimension)
    return Subject(claim=made.claims[1], mechanism=made)


def _number_of_boxes(*, grid: int) -> IdentityClaim:
    def compute() -> float:
        points = np.stack(np.meshgrid(range(grid), range(grid)), axis=-1).reshape(-1, 2)
        ends = np.stack(np.meshgrid(*[range(grid)] * 4), axis=-1).reshape(-1, 2, 2)
        return float(len({predict(box, points).tobytes() for box in ends}))

    return IdentityClaim(compute=compute, stated=(grid * (grid + 1) / 2) ** 2 + 1, tolerance=0.0)


def _unpadded(*, epsilon: float) -> Mechanism:
    return unpadded_mechanism(epsilon=epsilon, identifier="ERR-PAC-2")


def _plain(
    identifier: str,
    statement: str,
    subject: Callable[..., Subject | Mechanism | Claim],
    parameters: Mapping[str, Parameter] = MappingProxyType({}),
    **rest: Unpack[Remarks],
) -> Theorem:
    return Theorem(
        identifier=identifier, statement=statement, reference=SOURCE, subject=subject,
        parameters=parameters, **rest,
    )  # fmt: skip


EPSILON = number(4.0, 0.05, 10, "epsilon, in nats")
DIMENSION = whole(2, 1, 4, "axes, d")
MAIN = {
    "epsilon": replace(EPSILON, default=1.0),
    "grid": whole(64, 8, 4096, "places of the grid on every axis"),
    "alpha": number(0.25, 0.01, 0.9, "error allowed"),
    "beta": number(0.1, 1e-3, 0.5, "chance of failure"),
}


def _apart(dimension: int, grid: int, block: int) -> Database:
    """Positives [x_1, ..., x_d, 1], `block` at each end of each axis, spread over a quarter."""
    place = np.arange(block) * (grid // 4) // block
    points = np.full((2 * dimension, block, dimension + 1), grid // 2)
    for axis in range(dimension):
        points[2 * axis, :, axis] = place
        points[2 * axis + 1, :, axis] = grid - 1 - place
    points[..., -1] = 1
    return points.reshape(-1, dimension + 1).tolist()


def _wrong(x: float, database: Database, output: Output) -> Array:
    return errors(database, output).sum(axis=-1)


def _in_dimension(epsilon: float, delta: float, beta: float, grid: int) -> GrowthClaim:
    def block(dimension: float) -> int:
        return block_needed(
            dimension=int(dimension), grid=grid, epsilon=epsilon, beta=beta, delta=delta
        )

    def instance(dimension: float) -> tuple[Callable[..., Array], Database]:
        each, block_size = call_privacy(int(dimension), epsilon, delta), block(dimension)
        run = partial(
            learn_box,
            grid=grid,
            block=block_size,
            interior=partial(interior_point, grid=grid, epsilon=each),
        )
        return run, _apart(int(dimension), grid, block_size)

    return GrowthClaim(
        trust_rows=True,
        points=(1, 2, 4, 8),
        instance=instance,
        quantity=_wrong,
        bound=lambda dimension: 2 * dimension * block(dimension),
        high=lambda dimension: 2 * dimension * block(dimension),
        grows="positives lost",
        over="d",
    )


THEOREMS: tuple[Theorem, ...] = (
    _plain(
        "PAC-ERR",
        "A replaced record moves the error of a hypothesis by at most 1 / n.",
        _invariant({**REPLACED, "target": TARGET}, _error_margin),
    ),
    _plain(
        "PAC-HULL",
        "The smallest box with all positives has error 0 on realizable data.",
        _invariant(REALIZABLE, _hull_margin),
    ),
    _plain(
        "PAC-BLOCK",
        "Every padded block has m numbers, of which a replaced record replaces at most one.",
        _invariant({**REPLACED, **BLOCK}, _block_margin),
    ),
    _plain(
        "PAC-BOX-PRIV",
        "2 d calls of epsilon / (2 d) each make an epsilon-DP box learner.",
        _privacy,
        parameters={"epsilon": EPSILON, "dimension": replace(DIMENSION, default=3)},
    ),
    _plain(
        "PAC-BOX-ADVANCED",
        "2 d calls of 2 s(epsilon, delta) / sqrt(d) each are (epsilon, delta)-DP together.",
        _with_delta,
        parameters={
            "epsilon": replace(EPSILON, default=1.0),
            "delta": number(0.01, 1e-9, 0.1, "delta"),
            "dimension": replace(DIMENSION, default=3),
        },
    ),
    _plain(
        "PAC-BOX-SPENT",
        "2 d calls, and the count, lose just epsilon together, with delta and without; calls of "
        "RecConcave just delta, too.",
        _calls_spend,
        parameters={
            "epsilon": replace(EPSILON, default=1.0),
            "delta": number(0.01, 1e-9, 0.1, "delta"),
            "dimension": DIMENSION,
        },
    ),
    _plain(
        "PAC-BOX-REC",
        "2 d calls of RecConcave at (epsilon, delta) / (2 d) each are (epsilon, delta)-DP.",
        partial(_with_delta, recursive=True),
        parameters={
            "epsilon": replace(EPSILON, default=8.0),
            "delta": number(1e-3, 1e-9, 0.1, "delta"),
            "dimension": DIMENSION,
        },
    ),
    _plain(
        "PAC-BOX-CONT",
        "If every call finds an interior point, no negative is called positive.",
        _invariant(INNER, _inside_margin, EDGE),
    ),
    _plain(
        "PAC-BOX-ERR",
        "If every call finds an interior point, at most 2 d (m - 1) positives are missed.",
        _invariant(INNER, missed_margin, EDGE),
    ),
    _plain(
        "PAC-BOX-MAIN",
        "From n = 2 d m / alpha records on the error is above alpha with probability <= beta.",
        _main,
        parameters={**MAIN, "dimension": whole(2, 1, 6, "axes, d")},
    ),
    _plain(
        "PAC-BOX-ADVANCED-MAIN",
        "With delta too, where m grows as sqrt(d): from 2 d m / alpha = O(d^1.5) records on.",
        _main,
        costly=4,
        parameters={
            **MAIN,
            "dimension": whole(4, 1, 6, "axes, d"),
            "delta": number(1e-6, 1e-12, 0.1, "delta"),
        },
    ),
    _plain(
        "PAC-BOX-TEST",
        "With a noisy count of the positives first, the costs add up.",
        _counted,
        parameters={"epsilon": replace(EPSILON, default=3.0), "dimension": DIMENSION},
    ),
    _plain(
        "PAC-BOX-COUNT",
        "With fewer than 2 m positives the box is empty, but for chance 1/20.",
        _count_claim,
        parameters={"epsilon": replace(EPSILON, default=2.4), "dimension": DIMENSION},
    ),
    _plain(
        "PAC-BOX-FAILURE",
        "But for 2 d (|D| - 1) exp(-e ceil(m / 2) / 2), e of a call, no negative is called "
        "positive and at most 2 d (m - 1) positives are missed.",
        _lost,
        parameters={
            "epsilon": EPSILON,
            "grid": whole(16, 4, 256, "places of the grid on every axis"),
            "dimension": DIMENSION,
            "block": whole(26, 2, 1000, "points of a block, m"),
        },
    ),
    _plain(
        "PAC-BOX-BETA",
        "The learner claims to fail with 2 d times the chance of one call at epsilon / (2 d).",
        _failures,
        parameters={
            "epsilon": EPSILON,
            "grid": whole(16, 4, 256, "places of the grid on every axis"),
            "block": whole(26, 2, 1000, "points of a block, m"),
        },
    ),
    _plain(
        "PAC-CREC",
        "There are (|D| (|D| + 1) / 2)^2 + 1 different boxes in two dimensions.",
        _number_of_boxes,
        parameters={"grid": whole(4, 1, 8, "places of the grid on every axis")},
    ),
    _plain(
        "ERR-PAC-1",
        "All errors are on negatives.",
        _invariant(INNER, _only_negatives, EDGE[:1]),
        corrected="PAC-BOX-ERR",
        remark="they are on positives: no negative is ever called positive",
    ),
    _plain(
        "ERR-PAC-2",
        "Too few positives are detected easily, at no cost.",
        _unpadded,
        parameters={"epsilon": EPSILON},
        corrected="PAC-BOX-TEST",
        remark="a noiseless test of |S| < m answers with certainty on one side of m; pad, or "
        "pay for a noisy count",
    ),
    Theorem(
        identifier="PAC-BOX-GROW-D",
        costly=20,
        statement="positives lost, alpha n, grow as d^1.5 ln d with delta, and are 2 d m at most",
        reference=f"{SOURCE}, with constants",
        subject=_in_dimension,
        constant=2,
        parameters={
            "epsilon": number(4.0, 0.5, 8, "nats"),
            "delta": number(0.01, 1e-6, 0.05, "of all calls"),
            "beta": number(0.1, 0.01, 0.5, "chance of failure"),
            "grid": whole(64, 16, 256, "places of an axis"),
        },
    ),
)
