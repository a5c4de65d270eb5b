"""Private multiplicative weights: from how many records on it is accurate."""

from functools import partial
from math import ceil, inf, log, sqrt
from typing import Any

import numpy as np

from ..model import (
    Array,
    Database,
    Theorem,
    ThresholdClaim,
    number,
    whole,
)
from ..sparse_vector.sparse_vector_law import HALTED
from .pmw import (
    SOURCE,
    noise_epsilon_for,
    private_multiplicative_weights,
)
from .pmw_adversaries import query_of_gap
from .pmw_bounds import largest_noise, records_needed, updates_needed
from .pmw_updates import answer_errors


def _spread(records: int, bins: int) -> list[int]:
    """Counts far from uniform, halving from bin to bin."""
    counts = [records >> (place + 1) for place in range(bins)]
    counts[0] += records - sum(counts)
    return counts


def _concentrated(records: int, bins: int, accuracy: float) -> list[int]:
    """All records on two elements, if either of them errs by too much at first, else on one."""
    two = 1 / 2 - 1 / bins > 3 * accuracy / 4
    rest = records // 2 if two else 0
    return [records - rest, rest, *[0] * (bins - 2)]


def _accurate(
    bins: int,
    accuracy: float,
    epsilon: float,
    delta: float,
    length: int,
    beta: float,
) -> ThresholdClaim:
    updates = updates_needed(bins=bins, accuracy=accuracy)
    dynamics: dict[str, Any] = {
        # An error just above the one that is allowed is the likeliest to be overlooked.
        "queries": partial(query_of_gap, gap=0.76 * accuracy),
        "learning_rate": accuracy / 8,
    }

    def instance(records: int) -> tuple[Any, Database]:
        run = partial(
            private_multiplicative_weights,
            length=length,
            threshold=accuracy / 2,
            noise_epsilon=noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates),
            updates=updates,
            **dynamics,
        )
        return run, _concentrated(records, bins, accuracy)

    def loss(database: Database, output: Any) -> Array:
        errors = answer_errors(database, output, **dynamics)
        halted = np.asarray(output)[..., 0] == HALTED
        return np.where(halted, inf, errors).max(axis=-1)

    return ThresholdClaim(
        trust_rows=True,
        needed=records_needed(
            bins=bins,
            accuracy=accuracy,
            epsilon=epsilon,
            delta=delta,
            length=length,
            beta=beta,
        ),
        instance=instance,
        loss=loss,
        level=3 * accuracy / 4,
        beta=beta,
    )


def _root_of_log(length: int) -> ThresholdClaim:
    """The printed number of records, exact for 100 length, for many more."""
    accuracy, beta = 0.25, 0.05
    noise_epsilon = noise_epsilon_for(epsilon=1.0, delta=1e-6, updates=2130)
    at_100 = 8 * log(100 / beta) / (accuracy * noise_epsilon)

    def instance(records: int) -> tuple[Any, Database]:
        run = partial(largest_noise, noises=length, noise_epsilon=noise_epsilon)
        return run, _spread(records, 8)

    return ThresholdClaim(
        trust_rows=True,
        needed=ceil(at_100 * sqrt(log(length) / log(100))),
        instance=instance,
        loss=lambda database, output: np.asarray(output),
        level=accuracy / 8,
        beta=beta,
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-MAIN",
        costly=4,
        slow=True,
        statement="with n >= 8 ln(N / beta) / (alpha noise_epsilon) all answers err by 3 "
        "alpha / 4 at most",
        reference=SOURCE,
        subject=_accurate,
        constant=8,
        parameters={
            "bins": whole(16, 2, 16, "of the domain"),
            "accuracy": number(0.5, 0.25, 0.9, "alpha"),
            "epsilon": number(1.0, 0.1, 4, "nats"),
            "delta": number(1e-6, 1e-9, 0.1, "of the whole run"),
            "length": whole(100, 1, 5000, "queries"),
            "beta": number(0.05, 0.001, 0.5, "chance of failure"),
        },
        weak="no single noise above alpha / 8 spoils an answer: it takes two at once on a query as "
        "near the threshold; PMW-NOISE reaches the bound on the noise, PMW-ACC-TAIL that on errors",
    ),
    Theorem(
        identifier="ERR-PMW-3",
        statement="records that grow as the root of ln(queries) keep the noises small",
        reference=SOURCE,
        subject=_root_of_log,
        parameters={"length": whole(1_000_000, 1e4, 1e8, "queries")},
        corrected="PMW-MAIN",
        remark="ln(queries) belongs outside the root",
    ),
)
