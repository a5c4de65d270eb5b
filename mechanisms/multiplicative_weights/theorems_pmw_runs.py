"""Private multiplicative weights on runs of real length, against an analyst who adapts.

Hundreds of queries and many updates, with the mechanism's own noise: how many updates a nat of the
potential pays for, what the dearest of them cost, and how far the worst answer is off. The analyst
sees the data and asks, again and again, a query on which the public distribution errs by a chosen
gap (`query_of_gap`). A gap near accuracy / 2 draws out updates that help little, one above
3 accuracy / 4 draws out the largest errors. The chances and their proofs are in `pmw_chances`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ..model import Array, Database, Output, Parameter, Subject, Theorem, number, whole
from ..sparse_vector.sparse_vector_law import HALTED
from .pmw import SOURCE
from .pmw_adversaries import query_of_gap
from .pmw_bounds import updates_needed
from .pmw_chances import DROP, cost_of_updates, large_error, little_update, per_nat
from .pmw_updates import answer_errors
from .theorems_pmw_tails import ACCURACY, BETA, dearest_update, dynamics_of, shipped, tail

BINS, MANY = 8, 128
RECORDS = whole(100_000, 1000, 1e6, "n")


def _parameters(gap: float) -> dict[str, Parameter]:
    return {
        "length": whole(100, 1, 1000, "queries, k"),
        "accuracy": ACCURACY,
        "records": RECORDS,
        "beta": BETA,
        "gap": number(gap, 0.25, 2, "the error on which the analyst insists, in alpha"),
    }


def _databases(records: int, accuracy: float) -> tuple[list[int], ...]:
    """Shares just inside the gap at which an update helps enough, and three that take many.

    In the last one two elements are undervalued by just over 3 accuracy / 4 together.
    """
    two = 2 / BINS + 0.755 * accuracy
    near = (1 + accuracy / 2 - 4 / records) / BINS
    shapes = (
        [near] * (BINS // 2) + [2 / BINS - near] * (BINS // 2),
        range(BINS),
        [0.7**place for place in range(BINS)],
        [1 - two, two / 2, two / 2] + [0] * (BINS - 3),
    )
    made = []
    for shape in shapes:
        shares = np.array(shape)
        counts = np.floor(shares / shares.sum() * records).astype(int)
        counts[-1] += records - counts.sum()
        made.append(counts.tolist())
    return tuple(made)


def _cost(length: int, accuracy: float, records: int, beta: float, gap: float) -> Subject:
    mechanism = shipped(
        little_update,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=BINS,
        queries=partial(query_of_gap, gap=gap * accuracy),
    )

    rate = dynamics_of(mechanism)

    def cost(database: Database, output: Output) -> Array:
        updated, lowered = cost_of_updates(database, output, **rate)
        return per_nat(updated.sum(axis=-1), lowered.sum(axis=-1))

    return tail(mechanism, cost, 1 / (DROP * accuracy**2), beta, _databases(records, accuracy))


def _least_drop(length: int, accuracy: float, records: int, beta: float, gap: float) -> Subject:
    mechanism = shipped(
        little_update,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=BINS,
        queries=partial(query_of_gap, gap=gap * accuracy),
    )
    return tail(
        mechanism,
        partial(dearest_update, **dynamics_of(mechanism)),
        1 / (DROP * accuracy**2),
        beta,
        _databases(records, accuracy),
    )


def _large_error_or_halt(length: int, updates: int, distance: float) -> float:
    return large_error(length, updates, distance) + little_update(length, updates, distance)


def _errors(
    chance: Callable[[int, int, float], float],
    length: int,
    accuracy: float,
    records: int,
    beta: float,
    gap: float,
) -> Subject:
    """Half of many elements are undervalued, by so little each that every query errs by the gap."""
    mechanism = shipped(
        chance,
        beta=beta,
        length=length,
        accuracy=accuracy,
        records=records,
        bins=MANY,
        queries=partial(query_of_gap, gap=gap * accuracy),
        updates=updates_needed(bins=MANY, accuracy=accuracy),
    )
    rate = dynamics_of(mechanism)

    def worst(database: Database, output: Output) -> Array:
        errors = answer_errors(database, output, **rate)
        halted = np.asarray(output)[..., 0] == HALTED
        return np.where(halted, np.inf, errors).max(axis=-1)

    half = [records // (MANY // 2)] * (MANY // 2)
    half[0] += records - sum(half)
    return tail(mechanism, worst, 3 * accuracy / 4, beta, ([*half, *[0] * (MANY // 2)],))


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-RUN-UPD",
        slow=True,
        statement="for each nat of KL that a run has lost it made 512 / (15 alpha^2) updates at "
        "most, but for chance (k (2 + x) + 2 c) exp(-x) / 4, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_cost,
        constant=1 / DROP,
        parameters=_parameters(0.5),
    ),
    Theorem(
        identifier="PMW-RUN-KL",
        slow=True,
        statement="every update of a run lowers KL by 15 alpha^2 / 512, but for chance "
        "(k (2 + x) + 2 c) exp(-x) / 4, x = alpha / (4 b)",
        reference=f"{SOURCE}, with constants",
        subject=_least_drop,
        constant=1 / DROP,
        parameters=_parameters(0.5),
    ),
    Theorem(
        identifier="PMW-RUN-ERR",
        slow=True,
        costly=4,
        statement="an answer of a run errs by more than 3 alpha / 4 with chance "
        "c' ((2 + x) exp(-x) / 4 + exp(-3 x)) at most, x = alpha / (4 b), c' = min(c, k)",
        reference=f"{SOURCE}, with constants",
        subject=partial(_errors, large_error),
        constant=3 / 4,
        parameters={**_parameters(0.77), "length": whole(8, 1, 1000, "queries, k")},
    ),
    Theorem(
        identifier="PMW-RUN-ACC",
        slow=True,
        costly=4,
        statement="a run with 64 ln(bins) / alpha^2 + 1 updates errs by 3 alpha / 4 at most and "
        "does not halt, but for the chances of a large error and of a little update",
        reference=f"{SOURCE}, with constants",
        subject=partial(_errors, _large_error_or_halt),
        constant=3 / 4,
        parameters={**_parameters(0.77), "length": whole(16, 1, 1000, "queries, k")},
    ),
)
