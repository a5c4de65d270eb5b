"""Re-weighting of queries, the heart of boosting for queries.

A query on which the synopses so far agree with the data loses weight, one on which they do not
gains weight. Attenuation lets the agreement fall slowly from +1 to -1, so that one record moves
it little. With agreements a_1, ..., a_t of a query its weight is exp(-rate (a_1 + ... + a_t)).
"""

from collections.abc import Callable, Sequence
from math import atanh, floor, log, sqrt
from numbers import Real

import numpy as np

from ..accounting.composition import zcdp_root
from ..model import Array, Database
from ..multiplicative_weights.pmw_updates import shares_of
from ..selection.categorical import normalised

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
