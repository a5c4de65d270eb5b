"""Private multiplicative weights: from how many records on it is accurate."""

from functools import partial
from math import ceil, inf, log, sqrt
from typing import Any

import numpy as np

from ..model import (
    Array,
    Database,
    Histogram,
    Interval,
    Mechanism,
    Parameter,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
)
from ..sparse_vector.sparse_vector_law import HALTED
from .pmw import (
    SOURCE,
    noise_epsilon_for,
    noises_drawn,
    private_multiplicative_weights,
)
from .pmw_adversaries import worst_query
from .pmw_bounds import largest_noise, records_needed, updates_needed
from .pmw_updates import answer_errors


def _noises(
    length: float = 1000, updates: float = 355, records: float = 1000, noise_epsilon: float = 0.1
) -> Subject:
    noises = noises_drawn(length=round(length), updates=round(updates))
    total = round(records)
    return Subject(
        claim=(
            claim := UtilityClaim(
                identifier="PMW-NOISE",
                statement=NOISES,
                reference=SOURCE,
                loss=lambda database, output: np.asarray(output),
                bound=lambda beta: log(noises / beta) / (noise_epsilon * total),
                databases=([total, 0, 0, 0],),
            )
        ),
        mechanism=Mechanism(
            name="pmw-largest-noise",
            run=partial(largest_noise, noises=noises, noise_epsilon=noise_epsilon),
            databases=Histogram(bins=4, total=total),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


def _spread(records: int, bins: int) -> list[int]:
    """Counts far from uniform, halving from bin to bin."""
    counts = [records >> (place + 1) for place in range(bins)]
    counts[0] += records - sum(counts)
    return counts


def _accurate(
    bins: float = 4,
    accuracy: float = 0.5,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    length: float = 1000,
    beta: float = 0.05,
) -> Subject:
    elements, queries = round(bins), round(length)
    updates = updates_needed(bins=elements, accuracy=accuracy)
    dynamics: dict[str, Any] = {"queries": worst_query, "learning_rate": accuracy / 8}

    def instance(records: int) -> tuple[Any, Database]:
        run = partial(
            private_multiplicative_weights,
            length=queries,
            threshold=accuracy / 2,
            noise_epsilon=noise_epsilon_for(epsilon=epsilon, delta=delta, updates=updates),
            updates=updates,
            **dynamics,
        )
        return run, _spread(records, elements)

    def loss(database: Database, output: Any) -> Array:
        errors = answer_errors(database, output, **dynamics)
        halted = np.asarray(output)[..., 0] == HALTED
        return np.where(halted, inf, errors).max(axis=-1)

    return Subject(
        claim=ThresholdClaim(
            identifier="PMW-MAIN",
            statement=ACCURATE,
            reference=f"{SOURCE}, with constants",
            needed=records_needed(
                bins=elements,
                accuracy=accuracy,
                epsilon=epsilon,
                delta=delta,
                length=queries,
                beta=beta,
            ),
            instance=instance,
            loss=loss,
            level=3 * accuracy / 4,
            beta=beta,
        )
    )


def _root_of_log(length: float = 1e6) -> Subject:
    """The printed number of records, exact for 100 queries, for many more."""
    queries, accuracy, beta = round(length), 0.25, 0.05
    noise_epsilon = noise_epsilon_for(epsilon=1.0, delta=1e-6, updates=2130)
    at_100 = 8 * log(100 / beta) / (accuracy * noise_epsilon)

    def instance(records: int) -> tuple[Any, Database]:
        run = partial(largest_noise, noises=queries, noise_epsilon=noise_epsilon)
        return run, _spread(records, 8)

    return Subject(
        claim=ThresholdClaim(
            identifier="ERR-PMW-3",
            statement=ROOT_OF_LOG,
            reference=SOURCE,
            needed=ceil(at_100 * sqrt(log(queries) / log(100))),
            instance=instance,
            loss=lambda database, output: np.asarray(output),
            level=accuracy / 8,
            beta=beta,
        )
    )


NOISES = "of k + 2 min(c, k) noises none exceeds t but for chance (k + 2 min(c, k)) exp(-t / b)"
ACCURATE = "with n >= 8 ln(N / beta) / (alpha noise_epsilon) all answers err by 3 alpha / 4 at most"
ROOT_OF_LOG = "records that grow as the root of ln(queries) keep the noises small"
NOISE_EPSILON = Interval(low=0.01, high=2)

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-NOISE",
        statement=NOISES,
        reference=SOURCE,
        subject=_noises,
        parameters={
            "length": Parameter(
                default=1000, within=Interval(low=1, high=1e6, integer=True), meaning="queries"
            ),
            "updates": Parameter(
                default=355, within=Interval(low=1, high=1e4, integer=True), meaning="iterations"
            ),
            "records": Parameter(
                default=1000, within=Interval(low=1, high=1e6, integer=True), meaning="n"
            ),
            "noise_epsilon": Parameter(
                default=0.1, within=NOISE_EPSILON, meaning="1 / (n times the scale of the noises)"
            ),
        },
    ),
    Theorem(
        identifier="PMW-MAIN",
        statement=ACCURATE,
        reference=SOURCE,
        subject=_accurate,
        parameters={
            "bins": Parameter(
                default=4, within=Interval(low=2, high=16, integer=True), meaning="of the domain"
            ),
            "accuracy": Parameter(
                default=0.5, within=Interval(low=0.25, high=0.9), meaning="alpha"
            ),
            "epsilon": Parameter(default=1.0, within=Interval(low=0.1, high=4), meaning="nats"),
            "delta": Parameter(
                default=1e-6, within=Interval(low=1e-9, high=0.1), meaning="of the whole run"
            ),
            "length": Parameter(
                default=1000, within=Interval(low=1, high=5000, integer=True), meaning="queries"
            ),
            "beta": Parameter(
                default=0.05, within=Interval(low=0.001, high=0.5), meaning="chance of failure"
            ),
        },
    ),
    Theorem(
        identifier="ERR-PMW-3",
        statement=ROOT_OF_LOG,
        reference=SOURCE,
        subject=_root_of_log,
        parameters={
            "length": Parameter(
                default=1e6, within=Interval(low=1e4, high=1e8, integer=True), meaning="queries"
            )
        },
        holds=False,
        corrected="PMW-MAIN",
        remark="ln(queries) belongs outside the root",
    ),
)
