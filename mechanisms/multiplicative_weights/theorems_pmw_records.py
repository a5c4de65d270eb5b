"""Private multiplicative weights: from how many records on it is accurate."""

from functools import partial
from math import ceil, inf, log, sqrt
from typing import Any

import numpy as np

from ..model import (
    Array,
    Database,
    Interval,
    InvariantCase,
    InvariantClaim,
    Output,
    Record,
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
    private_multiplicative_weights_mechanism,
)
from .pmw_adversaries import query_of_gap, worst_query
from .pmw_bounds import largest_noise, records_needed, updates_needed
from .pmw_chances import DROP
from .pmw_updates import answer_errors
from .theorems_pmw_tails import runs_with_noises


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

    def loss(database: Database, output: Output) -> Array:
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


def _noises(
    bins: int, accuracy: float, epsilon: float, delta: float, length: int, beta: float
) -> ThresholdClaim:
    """So small an accuracy that nearly every query is answered by the data, with all its noises."""
    updates = updates_needed(bins=bins, accuracy=accuracy)

    def instance(records: int) -> tuple[Any, Database]:
        made = private_multiplicative_weights_mechanism(
            queries=worst_query,
            length=length,
            bins=bins,
            records=records,
            accuracy=accuracy,
            updates=updates,
            epsilon=epsilon,
            delta=delta,
        )
        return partial(runs_with_noises, run=made.run), [records, *[0] * (bins - 1)]

    return ThresholdClaim(
        trust_rows=True,
        needed=records_needed(
            bins=bins, accuracy=accuracy, epsilon=epsilon, delta=delta, length=length, beta=beta
        ),
        instance=instance,
        loss=lambda database, output: np.asarray(output),
        level=accuracy / 8,
        beta=beta,
    )


def _enough_updates() -> InvariantClaim:
    """What so many updates lower the potential by, at least, over the most it can be at first."""

    def margin(case: InvariantCase) -> float:
        bins, accuracy = int(case["bins"]), float(case["accuracy"])
        lowered = updates_needed(bins=bins, accuracy=accuracy) * DROP * accuracy**2
        return lowered - log(bins)

    return InvariantClaim(
        cases=Record(
            fields={
                "bins": Interval(low=2, high=10**6, integer=True),
                "accuracy": Interval(low=0.01, high=1),
            }
        ),
        margin=margin,
        examples=({"bins": 2, "accuracy": 1.0}, {"bins": 10**6, "accuracy": 0.01}),
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
        weak="no instance can: at so many records x is 2 ln(N / beta) in PMW-RUN-ERR and "
        "PMW-RUN-UPD, whose chances are (1 + ln(N / beta)) beta^2 / N together at most; "
        "PMW-MAIN-EVENT reaches the bound on the noise",
    ),
    Theorem(
        identifier="PMW-MAIN-EVENT",
        statement="with n >= 8 ln(N / beta) / (alpha noise_epsilon) no noise of a run exceeds "
        "alpha / 8, but for chance beta",
        reference=SOURCE,
        subject=_noises,
        constant=8,
        parameters={
            "bins": whole(4, 2, 16, "of the domain"),
            "accuracy": number(0.02, 0.01, 0.05, "alpha"),
            "epsilon": number(1.0, 0.1, 4, "nats"),
            "delta": number(1e-6, 1e-9, 0.1, "of the whole run"),
            "length": whole(20, 1, 200, "queries"),
            "beta": number(0.05, 0.001, 0.5, "chance of failure"),
        },
    ),
    Theorem(
        identifier="PMW-BUDGET",
        statement="64 ln(bins) / alpha^2 + 1 updates that lower KL by 15 alpha^2 / 512 each are "
        "more than there can be",
        reference=SOURCE,
        subject=_enough_updates,
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
