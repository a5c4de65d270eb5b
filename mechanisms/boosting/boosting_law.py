"""Exact law of boosting for queries with one sample a round: all sequences of synopses."""

from collections.abc import Callable
from itertools import product

import numpy as np

from ..model import Array, FiniteLaw
from .base_synopsis import one_sample_law
from .query_weights import attenuated_agreement, log_weights, weight_rate


def one_sample_boosting_law(
    truth: Array,
    *,
    table: Array,
    scale: float,
    rounds: int,
    accuracy: float,
    attenuation: float,
    advantage: float,
    combine: Callable[[Array], Array],
) -> FiniteLaw:
    """Law of what `combine` makes of the synopses when a round samples one query.

    Parameters as in `boosting`. A synopsis depends on the past through the weights alone, and
    the weights on the earlier synopses alone, so the law is a product along each sequence.
    """
    logs = one_sample_law(truth, table=table, scale=scale)
    # Which synopses can occur depends on the table alone, hence not on the data.
    possible = np.flatnonzero((logs > -np.inf).any(axis=0))
    sequences = possible[np.array(list(product(range(len(possible)), repeat=rounds)))].T
    agreed = np.zeros((sequences.shape[1], len(truth)))
    total = np.zeros(len(agreed))
    for chosen in sequences:
        weights = log_weights(agreed, weight_rate(advantage))
        total += np.logaddexp.reduce(weights + logs[:, chosen].T, axis=-1)
        errors = np.abs(table[chosen] - truth)
        agreed += attenuated_agreement(errors, accuracy=accuracy, attenuation=attenuation)
    return _merged(combine(table[sequences]), total)


def _merged(outcomes: Array, logs: Array) -> FiniteLaw:
    """The same law with every outcome once."""
    flat = outcomes.reshape(len(outcomes), -1)
    _, first, place = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    merged = np.full(len(first), -np.inf)
    np.logaddexp.at(merged, np.ravel(place), logs)
    return FiniteLaw(outcomes=outcomes[first], log_probabilities=merged)
