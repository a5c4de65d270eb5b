"""Re-weighting of queries, the heart of boosting for queries, and what sampled queries reveal.

A query on which the synopses so far agree with the data loses weight, one on which they do not
gains weight. Attenuation lets the agreement fall slowly from +1 to -1, so that one record moves
it little. With agreements a_1, ..., a_t of a query its weight is exp(-rate (a_1 + ... + a_t)).

The mechanisms release queries sampled by such weights. The synopses of earlier rounds are fixed and
public there. The weights of the queries still depend on the data, through the errors of those
synopses, and so does every query sampled by them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import atanh, floor, log, sqrt
from numbers import Real
from typing import TypedDict

import numpy as np

from .._checks import require_number, require_positive, require_whole, sample_shape
from ..accounting.composition import zcdp_root
from ..model import (
    Array,
    Database,
    FiniteLaw,
    Histogram,
    Mechanism,
    PrivacyClaim,
    ProductLaw,
    Relation,
    Size,
)
from ..queries import shares_of
from ..selection.exponential import normalised


class AgreementLevels(TypedDict):
    """Up to which error a synopsis agrees with the data, and how slowly that ends."""

    accuracy: float
    attenuation: float


Agreement = Callable[..., Array]
"""(errors, *, accuracy, attenuation) -> agreements of the same shape."""
Reweighting = Callable[[Array, float], Array]
"""(agreed, rate) -> the distribution over queries, along the last axis."""


def indicator_queries(bins: int) -> tuple[tuple[int, ...], ...]:
    """All 2^bins queries that ask for the share of a set of elements, as 0/1 weights."""
    return tuple(tuple((mask >> place) & 1 for place in range(bins)) for mask in range(2**bins))


def linear_answers(database: Database, *, weights: Sequence[Sequence[float]]) -> Array:
    """Mean weight of a record, for every query; `database` holds counts, shape (bins,).

    `weights` has shape (queries, bins). With weights in [0, 1] and n records, a replaced record
    moves an answer by at most 1 / n. Raises ValueError without records.
    """
    return np.asarray(weights, dtype=float) @ shares_of(database)[0]


def weight_rate(advantage: float) -> float:
    """The rate alpha = ln((1 + 2 eta) / (1 - 2 eta)) / 2 for the advantage eta in (0, 1/2)."""
    if not (isinstance(advantage, Real) and 0 < advantage < 0.5):
        raise ValueError(f"advantage must be in (0, 1/2), got {advantage}")
    return atanh(2 * advantage)


def attenuated_agreement(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """+1 up to `accuracy`, -1 from `accuracy` + `attenuation` on, and a straight line between."""
    return np.clip(1 - 2 * (errors - accuracy) / attenuation, -1, 1)


def lower_agreement(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """+1 up to `accuracy`, else -1: never above the attenuated agreement."""
    return np.where(errors <= accuracy, 1.0, -1.0)


def upper_agreement(errors: Array, *, accuracy: float, attenuation: float) -> Array:
    """-1 from `accuracy` + `attenuation` on, else +1: never below the attenuated agreement."""
    return np.where(errors >= accuracy + attenuation, -1.0, 1.0)


def total_agreement(
    synopses: Array,
    truth: Array,
    *,
    accuracy: float,
    attenuation: float,
    agreement: Agreement = attenuated_agreement,
) -> Array:
    """Sum over the rounds, the first axis of `synopses` (t, ..., queries), of the agreements."""
    errors = np.abs(synopses - truth)
    return agreement(errors, accuracy=accuracy, attenuation=attenuation).sum(axis=0)


def log_weights(agreed: Array, rate: float) -> Array:
    """Log-probabilities of the queries, along the last axis."""
    return normalised(-rate * agreed)


def exponential_weights(agreed: Array, rate: float) -> Array:
    """Probabilities of the queries, proportional to exp(-rate agreed)."""
    # The least agreed has weight 1: nothing overflows, and the sum is never 0.
    weights = np.exp(-rate * (agreed - agreed.min(axis=-1, keepdims=True)))
    return weights / weights.sum(axis=-1, keepdims=True)


def log_ratios(
    truth: Array, neighbour: Array, synopses: Array, *, advantage: float, attenuated: bool = True
) -> Array:
    """Ln D_t[q] - ln D'_t[q] of the query weights under two databases, round by round.

    `truth` and `neighbour` are the answers of all queries, shape (m,), `synopses`, shape (t, m),
    the published answers of t rounds. Errors up to 0 agree fully and from 1 on not at all;
    without attenuation everything above 0 disagrees. Returns nats, shape (t + 1, m), the first
    row before any round.
    """
    agreement = attenuated_agreement if attenuated else lower_agreement
    public, rate = np.asarray(synopses, dtype=float), weight_rate(advantage)

    def after_each_round(answers: Array) -> Array:
        agreed = agreement(np.abs(public - answers), accuracy=0.0, attenuation=1.0)
        return log_weights(np.pad(agreed.cumsum(axis=0), ((1, 0), (0, 0))), rate)

    return after_each_round(np.asarray(truth)) - after_each_round(np.asarray(neighbour))


def sampling_loss(
    *, advantage: float, sensitivity: float, attenuation: float, earlier: int
) -> float:
    """What one query sampled after `earlier` rounds loses at most, in nats, given their synopses.

    The log-ratios of all queries lie in one interval of this length.
    """
    return 4 * weight_rate(advantage) * earlier * sensitivity / attenuation


def attenuation_for(
    *,
    advantage: float,
    sensitivity: float,
    samples: int,
    rounds: int,
    epsilon: float,
    delta: float,
) -> float:
    """The attenuation mu that makes the samples of all rounds (epsilon, delta)-private together.

    Log-ratios in an interval of length r give (r^2 / 8)-zCDP, Cesar and Rogers (2021); each of
    `rounds` rounds draws `samples` queries. 0 for a single round, which needs no attenuation.
    """
    total = samples * (rounds - 1) * rounds * (2 * rounds - 1) / 3
    return weight_rate(advantage) * sensitivity * sqrt(total) / zcdp_root(epsilon, delta)


def rounds_needed(*, queries: int, advantage: float) -> int:
    """The least number of rounds T with (1 - 4 eta^2)^(T / 2) < 1 / queries."""
    return floor(2 * log(queries) / -log(1 - 4 * advantage**2)) + 1


SOURCE = "Dwork and Roth (2014), section 6.1"


def sampled_query(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    synopses: Array,
    accuracy: float,
    attenuation: float,
    advantage: float,
    agreement: Agreement = attenuated_agreement,
    reweight: Reweighting = exponential_weights,
    size: Size = None,
) -> Array:
    """Sample one query by the weights that follow after the rounds of `synopses`.

    `queries` maps a database to the answers of all queries, shape (m,); `synopses`, shape
    (t, m), are the answers of the earlier synopses. The other parameters are those of
    `boosting`. Returns numbers of queries in [0, m), whole numbers of shape `size`. Raises
    ValueError on a parameter out of range.
    """
    require_positive(attenuation=attenuation)
    law = reweight(
        total_agreement(
            np.asarray(synopses, dtype=float),
            queries(database),
            accuracy=accuracy,
            attenuation=attenuation,
            agreement=agreement,
        ),
        weight_rate(advantage),
    )
    return np.asarray(rng.choice(len(law), size=sample_shape(size), p=law))[()]


def sampled_query_counts(
    database: Database,
    rng: np.random.Generator,
    *,
    queries: Callable[[Database], Array],
    synopses: Array,
    samples: int,
    accuracy: float,
    attenuation: float,
    advantage: float,
    size: Size = None,
) -> Array:
    """Count how often each query is among the samples of each round but the first.

    Parameters as in `sampled_query`. Round j + 2 draws `samples` queries by the weights after
    `synopses[: j + 1]`. The first round draws from the uniform law whatever the data; in the
    others the order of independent draws tells nothing that the counts do not.
    Returns whole numbers of shape `size` + (t, m). Raises ValueError on a parameter out of range.
    """
    require_positive(attenuation=attenuation, samples=samples)
    laws = _laws(queries(database), synopses, accuracy, attenuation, advantage)
    shape = sample_shape(size)
    # Each round has a law of its own: numpy broadcasts over the leading axes of the laws.
    return rng.multinomial(samples, laws, size=(*shape, len(laws)))


def multinomial_law(probabilities: Array, samples: int) -> FiniteLaw:
    """Counts of `samples` independent draws: outcomes (ways, m), all ways to fill m cells."""
    cells = len(probabilities)
    bars = np.array(list(combinations(range(samples + cells - 1), cells - 1)), dtype=np.int64)
    bars = bars.reshape(-1, cells - 1)
    ends = np.pad(bars, ((0, 0), (0, 1)), constant_values=samples + cells - 1)
    counts = np.diff(ends, prepend=-1, axis=1) - 1
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, samples + 1)))])
    logs = factorials[samples] - factorials[counts].sum(axis=1) + counts @ np.log(probabilities)
    return FiniteLaw(outcomes=counts, log_probabilities=logs)


def sampled_query_mechanism(
    *,
    weights: Sequence[Sequence[float]],
    synopses: Sequence[Sequence[float]],
    records: int,
    accuracy: float,
    attenuation: float,
    advantage: float = 0.25,
    agreement: Agreement = attenuated_agreement,
    reweight: Reweighting = exponential_weights,
    name: str = "sampled-query",
    identifier: str = "",
) -> Mechanism:
    """`sampled_query` on linear queries with weights in [0, 1], shape (queries, bins)."""
    require_positive(attenuation=attenuation)
    require_whole(records=records)
    require_number(accuracy=accuracy)
    answers = partial(linear_answers, weights=weights)
    public = np.asarray(synopses, dtype=float)
    reweighting: AgreementLevels = {"accuracy": accuracy, "attenuation": attenuation}

    def law(database: Database) -> FiniteLaw:
        agreed = total_agreement(public, answers(database), agreement=agreement, **reweighting)
        chances = reweight(agreed, weight_rate(advantage))
        return FiniteLaw(outcomes=np.arange(len(chances)), log_probabilities=np.log(chances))

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(
            sampled_query,
            queries=answers,
            synopses=public,
            advantage=advantage,
            agreement=agreement,
            reweight=reweight,
            **reweighting,
        ),
        databases=Histogram(bins=len(weights[0]), total=records),
        claims=(
            PrivacyClaim(
                epsilon=sampling_loss(
                    advantage=advantage,
                    sensitivity=1 / records,
                    attenuation=attenuation,
                    earlier=len(public),
                ),
                relation=Relation.REPLACE_ONE,
                identifier="BQ-6.4",
                statement="a query sampled after t rounds loses at most 4 alpha t rho / mu",
                reference=f"{SOURCE}, Claim 6.4 with its constant",
            ),
        ),
        reference=SOURCE,
        law=law,
    )


def sampled_query_counts_mechanism(
    *,
    weights: Sequence[Sequence[float]],
    synopses: Sequence[Sequence[float]],
    records: int,
    samples: int,
    epsilon: float,
    delta: float,
    accuracy: float,
    advantage: float = 0.25,
    calibration_delta: float | None = None,
    name: str = "sampled-query-counts",
    identifier: str = "",
) -> Mechanism:
    """`sampled_query_counts` on linear queries, attenuated enough to be (epsilon, delta)-private.

    `calibration_delta` is what the attenuation is calculated from, `delta` unless given.
    """
    require_positive(epsilon=epsilon)
    require_whole(records=records, samples=samples)
    require_number(accuracy=accuracy)
    answers = partial(linear_answers, weights=weights)
    public = np.asarray(synopses, dtype=float)
    attenuation = attenuation_for(
        advantage=advantage,
        sensitivity=1 / records,
        samples=samples,
        rounds=len(public) + 1,
        epsilon=epsilon,
        delta=calibration_delta or delta,
    )

    def law(database: Database) -> ProductLaw:
        laws = _laws(answers(database), public, accuracy, attenuation, advantage)
        return ProductLaw(parts=tuple(multinomial_law(one, samples) for one in laws))

    return Mechanism(
        trust_rows=True,
        name=name,
        identifier=identifier,
        run=partial(
            sampled_query_counts,
            queries=answers,
            synopses=public,
            samples=samples,
            accuracy=accuracy,
            attenuation=attenuation,
            advantage=advantage,
        ),
        databases=Histogram(bins=len(weights[0]), total=records),
        claims=(
            PrivacyClaim(
                epsilon=epsilon,
                delta=delta,
                relation=Relation.REPLACE_ONE,
                identifier="BQ-MU",
                statement="with mu from zCDP the samples of all rounds are private together",
                reference=f"{SOURCE}, with constants",
            ),
        ),
        reference=SOURCE,
        law=law,
    )


def _laws(
    truth: Array, synopses: Array, accuracy: float, attenuation: float, advantage: float
) -> Array:
    """The law of a sample in every round but the first, shape (t, queries)."""
    errors = np.abs(np.asarray(synopses, dtype=float) - truth)
    agreed = attenuated_agreement(errors, accuracy=accuracy, attenuation=attenuation)
    return exponential_weights(agreed.cumsum(axis=0), weight_rate(advantage))


# Replacing a record of element 0 by one of element 1 moves the first query down, all others up.
SAMPLED_QUERY = sampled_query_mechanism(
    weights=((1, 0, 0, 0), (0, 1, 0, 0), (0, 1, 1, 0), (0, 1, 0, 1), (0, 1, 1, 1)),
    synopses=((0.0,) * 5,) * 4,
    records=20,
    accuracy=0.08,
    attenuation=0.5,
    identifier="BQ-6.4",
)
SAMPLED_QUERY_COUNTS = sampled_query_counts_mechanism(
    weights=((1, 0, 0, 0), (0, 1, 0, 0), (0, 1, 1, 0)),
    synopses=((0.0,) * 3,) * 2,
    records=20,
    samples=6,
    epsilon=1.0,
    delta=1e-3,
    accuracy=0.08,
    identifier="BQ-MU",
)
