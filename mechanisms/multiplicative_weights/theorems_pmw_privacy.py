"""Private multiplicative weights: what it loses, step by step and in all."""

from dataclasses import replace
from functools import partial
from math import log
from typing import Any

import numpy as np

from ..accounting.spending import Spending, bound, spends
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
    Size,
    Subject,
    Theorem,
    number,
    whole,
)
from ..sparse_vector.above_threshold import above_threshold_mechanism, take
from ..sparse_vector.sparse_vector_law import ABOVE
from ..sparse_vector.sparse_vector_law import BELOW as BELOW_THRESHOLD
from .pmw import SOURCE, private_multiplicative_weights_mechanism
from .pmw_adversaries import asked_in_turn

RECORDS = 40
EPSILON = Interval(low=0.1, high=4)
BELOW = whole(5, 0, 12, "queries before the last")
NOISE_EPSILON = number(1.0, 0.2, 2, "1 / (n times the scale of the noises)")


def _claiming(mechanism: Mechanism, epsilon: float, **hard: Any) -> Subject:
    """The mechanism with this claim of pure privacy beside its others."""
    first = mechanism.claims[0]
    assert isinstance(first, PrivacyClaim)
    claim = replace(first, epsilon=epsilon, **hard)
    return Subject(claim=claim, mechanism=mechanism)


def _iteration(multiple: float, noise_epsilon: float, below: int) -> Subject:
    mechanism = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1,) * below + (0,)),
        length=below + 1,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=1,
        epsilon=4 * noise_epsilon,
        name="pmw-iteration",
    )
    # Only where queries stay below although the public distribution errs much on them is a
    # threshold high enough that it and the comparison cost all that they may; draws never get
    # there, and the density needs no draws. An answer far off costs its share at all sizes.
    below_first = [[BELOW_THRESHOLD, 1 / 4]] * below
    outputs = tuple(np.array([*below_first, [ABOVE, far]]) for far in (-5.0, 5.0))
    return _claiming(
        mechanism,
        multiple * noise_epsilon,
        examples=(([12, 28, 0, 0], [11, 29, 0, 0]),),
        outputs=outputs,
    )


def _comparisons(
    threshold_epsilon: float, query_epsilon: float, below: int, epsilon: float
) -> Subject:
    mechanism = above_threshold_mechanism(
        queries=partial(take, bins=(1,) * below + (0,)),
        length=below + 1,
        threshold=10.0,
        sensitivity=1.0,
        threshold_epsilon=threshold_epsilon,
        query_epsilon=query_epsilon,
        relation=Relation.REPLACE_ONE,
        databases=Histogram(bins=2, total=20),
    )
    return _claiming(mechanism, epsilon)


def _comparisons_hold(threshold_epsilon: float, query_epsilon: float, below: int) -> Subject:
    epsilon = threshold_epsilon + query_epsilon
    return _comparisons(threshold_epsilon, query_epsilon, below, epsilon)


def _comparisons_printed(noise_epsilon: float, below: int) -> Subject:
    # The same scale 1 / noise_epsilon twice: that of the queries stands for 2 noise_epsilon.
    return _comparisons(noise_epsilon, 2 * noise_epsilon, below, noise_epsilon)


def _whole_run(epsilon: float, delta: float, updates: int) -> Mechanism:
    # The noise is wider than the gaps, so that a run spends all of its updates.
    made = private_multiplicative_weights_mechanism(
        queries=partial(asked_in_turn, elements=(1, 0) * updates),
        length=2 * updates,
        bins=4,
        records=RECORDS,
        accuracy=0.4,
        updates=updates,
        epsilon=epsilon,
        delta=delta,
    )
    first = made.claims[0]
    assert isinstance(first, PrivacyClaim)
    # Both elements that are asked for change, in opposite ways.
    hard = replace(first, examples=(([20, 20, 0, 0], [21, 19, 0, 0]),))
    return replace(made, claims=(hard, *made.claims[1:]))


def _updates_spend(epsilon: float, delta: float, updates: int) -> IdentityClaim:
    def iterations(slack: float) -> Spending:
        made = _whole_run(epsilon, slack, updates)
        return Spending(pure=[4 * bound(made)["noise_epsilon"]] * updates, delta=slack)

    return spends(lambda: [iterations(0.0), iterations(delta)], epsilon=epsilon)


def _changing_scale(distance: float, records: int, epsilon: float) -> IdentityClaim:

    def compute() -> float:
        logs = [log(epsilon * m / 2) - epsilon * m * distance for m in (records - 1, records)]
        return logs[0] - logs[1]

    return IdentityClaim(compute=compute, stated=epsilon * distance - log(records / (records - 1)))


def _released_count(
    database: Database,
    rng: np.random.Generator,
    *,
    noise_epsilon: float,
    size: Size = None,
) -> Array:
    """The share of element 0 with the noise of an answer, scaled by the records there are.

    Without records there is nothing to divide by: one is taken. Floats of shape `size`.
    """
    counts = np.asarray(database, dtype=float)
    records = max(counts.sum(), 1.0)
    return counts[0] / records + rng.laplace(scale=1 / (noise_epsilon * records), size=size)


def _size_not_public(noise_epsilon: float) -> Subject:
    claim = PrivacyClaim(epsilon=noise_epsilon, relation=Relation.ADD_REMOVE)
    return Subject(
        claim=claim,
        mechanism=Mechanism(
            trust_rows=True,
            name="pmw-answer-size-not-public",
            run=partial(_released_count, noise_epsilon=noise_epsilon),
            databases=Histogram(bins=2, max_count=4),
            claims=(claim,),
            reference=SOURCE,
        ),
    )


THEOREMS: tuple[Theorem, ...] = (
    Theorem(
        identifier="PMW-AR",
        statement="laws of n and n - 1 records, noise 1 / n: the loss grows without bound",
        reference=SOURCE,
        subject=_changing_scale,
        parameters={
            "distance": number(5.0, 1, 20, "from the common centre"),
            "records": whole(10, 2, 1000, "n"),
            "epsilon": NOISE_EPSILON,
        },
    ),
    Theorem(
        identifier="PMW-AT",
        statement="with Lap(D / e1) on the threshold, Lap(2 D / e2) on queries, the bits "
        "lose e1 + e2",
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
        slow=True,
        statement="an outer iteration, its bits and its answer, loses at most 4 noise_epsilon",
        reference=SOURCE,
        subject=partial(_iteration, 4),
        constant=4,
        parameters={"noise_epsilon": NOISE_EPSILON, "below": BELOW},
    ),
    Theorem(
        identifier="PMW-PRIV",
        slow=True,
        statement="noise_epsilon = sqrt(2 / updates) s(epsilon, delta) / 4 makes the run private",
        reference=SOURCE,
        subject=_whole_run,
        parameters={
            "epsilon": Parameter(default=4.0, within=EPSILON, meaning="nats, of the whole run"),
            "delta": number(0.05, 1e-9, 0.1, "of the whole run"),
            "updates": whole(10, 1, 24, "iterations"),
        },
        weak="an iteration loses 4 noise_epsilon, the bound that PMW-ITER comes near, only where "
        "many comparisons stay below first; such losses are too rare to add up over ten iterations",
    ),
    Theorem(
        identifier="PMW-SPENT",
        statement="iterations of 4 noise_epsilon each lose just epsilon, with delta and without",
        reference=SOURCE,
        subject=_updates_spend,
        parameters={
            "epsilon": Parameter(default=4.0, within=EPSILON, meaning="nats, of the whole run"),
            "delta": number(0.05, 1e-9, 0.1, "of the whole run"),
            "updates": whole(10, 1, 24, "iterations"),
        },
    ),
    Theorem(
        identifier="ERR-PMW-1",
        slow=True,
        statement="an outer iteration loses at most noise_epsilon",
        reference=SOURCE,
        subject=_iteration,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": whole(5, 5, 10, BELOW.meaning),
            "multiple": number(1, 1, 2, "noise_epsilons charged for it"),
        },
        corrected="PMW-ITER",
        remark="the threshold costs 1, the comparison that reaches it 2 and the answer 1",
    ),
    Theorem(
        identifier="ERR-PMW-2",
        statement="with Lap(D / e) on the threshold and on queries, the bits lose e",
        reference=SOURCE,
        subject=_comparisons_printed,
        parameters={
            "noise_epsilon": NOISE_EPSILON,
            "below": whole(5, 3, 10, BELOW.meaning),
        },
        corrected="PMW-AT",
        remark="it is not AboveThreshold at noise_epsilon: the cost is 3 noise_epsilon",
    ),
    Theorem(
        identifier="ERR-PMW-7",
        statement="noise of scale 1 / (noise_epsilon |X|) is enough when records come and go",
        reference=SOURCE,
        subject=_size_not_public,
        parameters={"noise_epsilon": NOISE_EPSILON},
        corrected="PMW-ITER",
        remark="the relation is not stated; it must be replace-one, with the size public",
    ),
)
