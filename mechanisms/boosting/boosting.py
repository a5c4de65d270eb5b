"""Boosting for queries, Dwork, Rothblum and Vadhan (2010).

As in Dwork and Roth (2014), section 6.1, with the constants made explicit. Every round samples
queries, asks a base generator for a synopsis that is accurate on most of them, and re-weights
the queries; the median of the synopses is then accurate on all.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, inf, prod
from typing import Any

import numpy as np

from .._checks import require_delta, require_number, require_positive, require_whole, sample_shape
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Histogram,
    Mechanism,
    Output,
    PrivacyClaim,
    Relation,
    Size,
    UtilityClaim,
)
from .base_synopsis import answer_table, base_scale, coverage, nearest_synopsis
from .boosting_law import one_sample_boosting_law
from .query_weights import (
    Agreement,
    Reweighting,
    attenuated_agreement,
    attenuation_for,
    exponential_weights,
    linear_answers,
    rounds_needed,
    weight_rate,
)

SOURCE = "Dwork and Roth (2014), Theorem 6.1"
BOOK = "Dwork and Roth (2014), section 6.1"

Base = Callable[..., Array]
"""(rng, truth, sampled, distribution, earlier) -> answers of the synopses, (runs, queries).

`sampled` has shape (runs, k), `distribution` (runs, queries) and `earlier` (t, runs, queries).
A generator promises privacy if it looks at `truth` through noise, on the sampled queries only.
"""
Combination = Callable[[Array], Array]
"""Synopses (rounds, runs, queries) -> what is released, (runs, ...)."""


def boosting(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    base: Base,
    samples: int,
    accuracy: float,
    attenuation: float,
    advantage: float,
    rounds: int,
    agreement: Agreement = attenuated_agreement,
    reweight: Reweighting = exponential_weights,
    combine: Combination | None = None,
    size: Size = None,
) -> Array:
    """Boost synopses that answer most queries to within `accuracy` into one that answers all.

    `queries` maps a database to the answers of all queries, shape (m,). An error between
    `accuracy` and `accuracy` + `attenuation` counts as partly wrong. `advantage`, in (0, 1/2),
    is by how much more than half of any distribution the base generator serves. `agreement`,
    `reweight` and `combine`, the median if None, are the parts of the algorithm, to be replaced
    in experiments.
    Returns floats of shape `size` + (m,), the answers to all queries, or what `combine` makes
    of each run. Raises ValueError on a parameter out of range.
    """
    require_positive(samples=samples, attenuation=attenuation, rounds=rounds)
    rate = weight_rate(advantage)
    truth = np.asarray(queries(database), dtype=float)
    shape = sample_shape(size)
    agreed = np.zeros((prod(shape), len(truth)))
    synopses = np.empty((rounds, *agreed.shape))
    for step in range(rounds):
        distribution = reweight(agreed, rate)
        sampled = draw_queries(rng, distribution, samples)
        synopses[step] = base(rng, truth, sampled, distribution, synopses[:step])
        errors = np.abs(synopses[step] - truth)
        agreed += agreement(errors, accuracy=accuracy, attenuation=attenuation)
    released = (combine or median_answers)(synopses)
    return released.reshape(*shape, *released.shape[1:])


def draw_queries(rng: np.random.Generator, distribution: Array, samples: int) -> Array:
    """Independent queries from each distribution, (runs, queries); shape (runs, samples)."""
    # The last step of the distribution function is left out: no rounding can pass it.
    steps = np.cumsum(distribution, axis=-1)[:, :-1]
    uniform = rng.random((len(distribution), samples))
    if 0 < len(steps) < steps.shape[1]:
        rows = zip(steps, uniform, strict=True)
        return np.stack([own.searchsorted(drawn, side="right") for own, drawn in rows])
    sampled = np.zeros(uniform.shape, dtype=np.int64)
    for step in steps.T:
        sampled += uniform >= step[:, None]
    return sampled


def synopsis_base(
    rng: np.random.Generator,
    truth: Array,
    sampled: Array,
    distribution: Array,
    earlier: Array,
    *,
    table: Array,
    scale: float,
) -> Array:
    """The generator of `base_synopsis`, each run with its own sampled queries."""
    noisy = truth[sampled] + rng.laplace(scale=scale, size=sampled.shape)
    return table[nearest_synopsis(noisy, sampled, table)]


def median_answers(synopses: Array) -> Array:
    """Median answer to each query, half-way between the middle two of an even number."""
    return np.median(synopses, axis=0)


def mean_answers(synopses: Array) -> Array:
    """Mean answer to each query, which one wild synopsis can spoil."""
    return synopses.mean(axis=0)


def every_synopsis(synopses: Array) -> Array:
    """The synopses of all rounds, (runs, rounds, queries): more than the median reveals."""
    return np.moveaxis(synopses, 0, 1)


def boosting_mechanism(
    *,
    weights: Sequence[Sequence[float]],
    small: int,
    records: int,
    samples: int,
    rounds: int,
    accuracy: float,
    sample_epsilon: float,
    sample_delta: float,
    base_epsilon: float,
    base_delta: float = 0.0,
    advantage: float = 0.25,
    combine: Combination = median_answers,
    attenuation: float | None = None,
    name: str = "boosting",
    identifier: str = "",
) -> Mechanism:
    """`boosting` of the base generator over all databases of `small` records.

    `weights`, in [0, 1] and of shape (queries, bins), are the queries. The samples of all rounds
    lose (sample_epsilon, sample_delta) and each synopsis (base_epsilon, base_delta), whether all
    synopses are released or what `combine` makes of them. The attenuation follows unless it is
    given. The promised accuracy is vacuous if the samples or the rounds are too few for it.
    """
    require_positive(base_epsilon=base_epsilon, sample_epsilon=sample_epsilon)
    require_whole(records=records, small=small, samples=samples, rounds=rounds)
    require_number(accuracy=accuracy)
    require_delta(sample_delta=sample_delta, base_delta=base_delta)
    if attenuation is None:
        attenuation = attenuation_for(
            advantage=advantage,
            sensitivity=1 / records,
            samples=samples,
            rounds=rounds,
            epsilon=sample_epsilon,
            delta=sample_delta,
        )
    answers = partial(linear_answers, weights=weights)
    table = answer_table(weights, records=small)
    scale = base_scale(
        samples=samples, sensitivity=1 / records, epsilon=base_epsilon, delta=base_delta
    )
    reweighting: dict[str, Any] = {
        "accuracy": accuracy,
        "attenuation": attenuation,
        "advantage": advantage,
    }
    privacy = PrivacyClaim(
        epsilon=sample_epsilon + rounds * base_epsilon,
        delta=sample_delta + rounds * base_delta,
        relation=Relation.REPLACE_ONE,
        identifier="BQ-6.1-PRIV",
        statement="the losses of all samples and of all synopses add up",
        reference=f"{SOURCE}(2), with constants",
    )
    # Noise above this, or samples that do not speak for the rest, spoil a round.
    slack = (accuracy - coverage(bins=len(weights[0]), records=small)) / 2
    unlucky = len(table) * (0.5 + advantage) ** samples
    failure = rounds * (samples * exp(-max(slack, 0) / scale) + unlucky)
    if rounds < rounds_needed(queries=len(weights), advantage=advantage):
        failure = 1.0
    accurate = _accuracy(answers, combine, failure, accuracy + attenuation)

    def law(database: Database) -> FiniteLaw:
        return one_sample_boosting_law(
            answers(database),
            table=table,
            scale=scale,
            rounds=rounds,
            combine=combine,
            **reweighting,
        )

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(
            boosting,
            queries=answers,
            base=partial(synopsis_base, table=table, scale=scale),
            samples=samples,
            rounds=rounds,
            combine=combine,
            **reweighting,
        ),
        databases=Histogram(bins=len(weights[0]), total=records),
        claims=(privacy, accurate),
        reference="Dwork, Rothblum and Vadhan (2010)",
        law=law if samples == 1 else None,
    )


def _accuracy(
    answers: Callable[[Database], Array], combine: Combination, failure: float, level: float
) -> UtilityClaim:
    def worst_error(database: Database, output: Output) -> Array:
        released = np.asarray(output)
        if combine is every_synopsis:
            released = np.median(released, axis=-2)
        return np.abs(released - answers(database)).max(axis=-1)

    return UtilityClaim(
        loss=worst_error,
        bound=lambda beta: level if beta >= failure else inf,
        levels=(failure,),
        identifier="BQ-6.1-ACC",
        statement="but for chance T beta no answer errs by more than accuracy + attenuation",
        reference=f"{SOURCE}(1)",
    )


BOOSTING = boosting_mechanism(
    weights=((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0)),
    small=2,
    records=10,
    samples=1,
    rounds=3,
    accuracy=0.25,
    sample_epsilon=1.0,
    sample_delta=0.1,
    base_epsilon=0.5,
    identifier="BQ-6.1-PRIV",
)
"""With a smaller delta three samples lose less than sample_epsilon by plain addition."""
