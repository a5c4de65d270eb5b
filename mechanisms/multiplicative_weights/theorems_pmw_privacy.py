"""Private multiplicative weights: what it loses, step by step and in all."""

from dataclasses import replace
from functools import partial
from math import log
from typing import Any

import numpy as np

from ..model import (
    Array,
    Database,
    Histogram,
    IdentityClaim,
    Interval,
    Mechanism,
    Parameter,
    PrivacyClaim,
    Relation,
    Subject,
    Theorem,
)
from ..sparse_vector.above_threshold import above_threshold_mechanism, take
from .pmw import SOURCE, private_multiplicative_weights_mechanism
from .pmw_adversaries import asked_in_turn, lightest_element

RECORDS = 40
EPSILON = Interval(low=0.1, high=4)
BELOW = Parameter(
    default=5, within=Interval(low=0, high=12, integer=True), meaning="queries before the last"
)
NOISE_EPSILON = Parameter(
    default=1.0, within=Interval(low=0.2, high=2), meaning="1 / (n times the scale of the noises)"
)


def _claiming(mechanism: Mechanism, identifier: str, epsilon: float) -> Subject:
    """The mechanism with this claim of pure privacy beside its others."""
    first = mechanism.claims[0]
    assert isinstance(first, PrivacyClaim)
    claim = replace(first, identifier=identifier, epsilon=epsilon, reference=SOURCE)
    return Subject(claim=claim, mechanism=replace(mechanism, claims=(claim,)))


def _iteration(identifier: str, multiple: float, noise_epsilon: float, below: float) -> Subject:
    queries = round(below)
    mechanism = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1,) * queries + (0,)),
        length=queries + 1,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=1,
        epsilon=4 * noise_epsilon,
        name="pmw-iteration",
    )
    return _claiming(mechanism, identifier, multiple * noise_epsilon)


def _iteration_holds(noise_epsilon: float = 1.0, below: float = 5) -> Subject:
    return _iteration("PMW-ITER", 4, noise_epsilon, below)


def _iteration_printed(
    noise_epsilon: float = 1.0, below: float = 5, multiple: float = 1
) -> Subject:
    return _iteration("ERR-PMW-1", multiple, noise_epsilon, below)


def _comparisons(
    identifier: str, threshold_epsilon: float, query_epsilon: float, below: float, epsilon: float
) -> Subject:
    queries = round(below)
    mechanism = above_threshold_mechanism(
        queries=partial(take, bins=(1,) * queries + (0,)),
        length=queries + 1,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
    )
    return _claiming(mechanism, identifier, epsilon)


def _comparisons_hold(
    threshold_epsilon: float = 1.0, query_epsilon: float = 2.0, below: float = 5
) -> Subject:
    epsilon = threshold_epsilon + query_epsilon
    return _comparisons("PMW-AT", threshold_epsilon, query_epsilon, below, epsilon)


def _comparisons_printed(noise_epsilon: float = 1.0, below: float = 5) -> Subject:
    # The same scale 1 / noise_epsilon twice: that of the queries stands for 2 noise_epsilon.
    return _comparisons("ERR-PMW-2", noise_epsilon, 2 * noise_epsilon, below, noise_epsilon)


def _whole_run(epsilon: float = 2.0, delta: float = 1e-3, updates: float = 2) -> Subject:
    mechanism = private_multiplicative_weights_mechanism(
        queries=lightest_element,
        length=6,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=round(updates),
        epsilon=epsilon,
        delta=delta,
    )
    return Subject(claim=mechanism.claims[0], mechanism=mechanism)


def _changing_scale(distance: float = 5.0, records: float = 10, epsilon: float = 1.0) -> Subject:
    n = round(records)

    def compute() -> float:
        logs = [log(epsilon * m / 2) - epsilon * m * distance for m in (n - 1, n)]
        return logs[0] - logs[1]

    return Subject(
        claim=IdentityClaim(
            identifier="PMW-AR",
            statement=CHANGING_SCALE,
            reference=f"{SOURCE}, with the relation made explicit",
            compute=compute,
            stated=epsilon * distance - log(n / (n - 1)),
        )
    )


def _released_count(
    database: Database,
    rng: np.random.Generator,
    *,
    noise_epsilon: float,
    size: Any = None,
) -> Array:
    """The share of element 0 with the noise of an answer, scaled by the records there are.

    Without records there is nothing to divide by: one is taken. Floats of shape `size`.
    """
    counts = np.asarray(database, dtype=float)
    records = max(counts.sum(), 1.0)
    return counts[0] / records + rng.laplace(scale=1 / (noise_epsilon * records), size=size)


def _size_not_public(noise_epsilon: float = 1.0) -> Subject:
    claim = PrivacyClaim(
        identifier="ERR-PMW-7",
        statement=SIZE_NOT_PUBLIC,
        reference=SOURCE,
        epsilon=noise_epsilon,
        relation=Relation.ADD_REMOVE,
    )
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            name="pmw-answer-size-not-public",
            run=partial(_released_count, noise_epsilon=noise_epsilon),
            databases=Histogram(bins=2, most=4),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


ITERATION = "an outer iteration, its bits and its answer, loses at most 4 noise_epsilon"
ITERATION_PRINTED = "an outer iteration loses at most noise_epsilon"
COMPARISONS = "with Lap(D / e1) on the threshold, Lap(2 D / e2) on queries, the bits lose e1 + e2"
COMPARISONS_PRINTED = "with Lap(D / e) on the threshold and on queries, the bits lose e"
WHOLE_RUN = "noise_epsilon = sqrt(2 / updates) s(epsilon, delta) / 4 makes the run private"
CHANGING_SCALE = "laws of n and n - 1 records, noise 1 / n: the loss grows without bound"
SIZE_NOT_PUBLIC = "noise of scale 1 / (noise_epsilon |X|) is enough when records come and go"

THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-AR",
        statement=CHANGING_SCALE,
        reference=SOURCE,
        subject=_changing_scale,
        parameters={
            "distance": Parameter(
                default=5.0, within=Interval(low=1, high=20), meaning="from the common centre"
            ),
            "records": Parameter(
                default=10, within=Interval(low=2, high=1000, integer=True), meaning="n"
            ),
            "epsilon": NOISE_EPSILON,
        },
    ),
    Theorem(
        identifier="PMW-AT",
        statement=COMPARISONS,
        reference="Dwork and Roth (2014), Theorem 3.23, for any division of the loss",
        subject=_comparisons_hold,
        parameters={
            "threshold_epsilon": Parameter(default=1.0, within=EPSILON, meaning="e1, nats"),
            "query_epsilon": Parameter(default=2.0, within=EPSILON, meaning="e2, nats"),
            "below": BELOW,
        },
    ),
    Theorem(
        identifier="PMW-ITER",
        statement=ITERATION,
        reference=SOURCE,
        subject=_iteration_holds,
        parameters={"noise_epsilon": NOISE_EPSILON, "below": BELOW},
    ),
    Theorem(
        identifier="PMW-PRIV",
        statement=WHOLE_RUN,
        reference=SOURCE,
        subject=_whole_run,
        parameters={
            "epsilon": Parameter(default=2.0, within=EPSILON, meaning="nats, of the whole run"),
            "delta": Parameter(
                default=1e-3, within=Interval(low=1e-9, high=0.1), meaning="of the whole run"
            ),
            "updates": Parameter(
                default=2, within=Interval(low=1, high=6, integer=True), meaning="iterations"
            ),
        },
    ),
    Theorem(
        identifier="ERR-PMW-1",
        statement=ITERATION_PRINTED,
        reference=SOURCE,
        subject=_iteration_printed,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": Parameter(
                default=5, within=Interval(low=5, high=10, integer=True), meaning=BELOW.meaning
            ),
            "multiple": Parameter(
                default=1, within=Interval(low=1, high=2), meaning="noise_epsilons charged for it"
            ),
        },
        holds=False,
        corrected="PMW-ITER",
        remark="the threshold costs 1, the comparison that reaches it 2 and the answer 1",
    ),
    Theorem(
        identifier="ERR-PMW-2",
        statement=COMPARISONS_PRINTED,
        reference=SOURCE,
        subject=_comparisons_printed,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": Parameter(
                default=5, within=Interval(low=3, high=10, integer=True), meaning=BELOW.meaning
            ),
        },
        holds=False,
        corrected="PMW-AT",
        remark="it is not AboveThreshold at noise_epsilon: the cost is 3 noise_epsilon",
    ),
    Theorem(
        identifier="ERR-PMW-7",
        statement=SIZE_NOT_PUBLIC,
        reference=SOURCE,
        subject=_size_not_public,
        parameters={"noise_epsilon": NOISE_EPSILON},
        holds=False,
        corrected="PMW-ITER",
        remark="the relation is not stated; it must be replace-one, with the size public",
    ),
)
