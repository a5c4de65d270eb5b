"""Learning boxes: how the records that are needed grow with the dimension.

Every axis has two blocks of positives of its own, one at each end, which lie in the middle of all
other axes, so that what is lost on one axis is lost on no other.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..model import Array, Database, GrowthClaim, Output, Theorem, number, whole
from .boxes import block_needed, call_privacy, errors, learn_box
from .interior_point import SOURCE, interior_point


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
