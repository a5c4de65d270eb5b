"""Report noisy max, with Laplace noise and with Gumbel noise.

Dwork and Roth (2014), Section 3.3. With Gumbel noise it is the exponential mechanism. Only the
index may be released: the noisy maximum itself is not covered by the privacy claimed here.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import ceil, inf, log

import numpy as np

from .._checks import require_listable, sample_shape
from ..accounting.tails import log_laplace_cdf
from ..model import Array, Choices, Database, Domain, Mechanism, Relation, Rows, Size
from ..queries import column_totals, histogram
from ..sparse_vector.sparse_vector_law import log_bits
from .selection import noise_scale, regret_claim, scaled_scores, selection_mechanism, voters

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
PIECE = 2.0
MOST_IN_CLOSED_FORM = 20


def report_noisy_max(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Draw the candidate whose score with Laplace(2 sensitivity / epsilon) noise is greatest.

    `score` maps a database to one number per candidate, shape (m,); no entry moves by more
    than `sensitivity` between neighbours. With `monotone` scores, which adding a record never
    lowers, the factor 2 is left out; add-remove only. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    scores = np.asarray(score(database), dtype=float)
    noise = rng.laplace(scale=scale, size=sample_shape(size) + scores.shape)
    return np.argmax(scores + noise, axis=-1)


def report_gumbel_max(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Draw the candidate whose score with Gumbel(2 sensitivity / epsilon) noise is greatest.

    Parameters, the indices of shape `size` and errors are those of `report_noisy_max`.
    """
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    scores = np.asarray(score(database), dtype=float)
    noise = rng.gumbel(scale=scale, size=sample_shape(size) + scores.shape)
    return np.argmax(scores + noise, axis=-1)


def noisy_max_log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `report_noisy_max`; shape (m,), nats.

    In closed form for a few candidates and by quadrature for more.
    """
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    if scaled.size > MOST_IN_CLOSED_FORM:
        return laplace_max_by_quadrature(scaled)

    def selected(index: int) -> float:
        # The others stay below the noisy score of this one, as queries below a noisy threshold.
        margins = np.delete(scaled, index) - scaled[index]
        return log_bits(margins.tolist(), (), threshold_scale=1.0, query_scale=1.0)

    return np.array([selected(index) for index in range(scaled.size)])


def laplace_max_by_quadrature(scaled: Array) -> Array:
    """Log-probability that each score plus standard Laplace noise is the greatest; shape (m,).

    The integral over the noisy score x of the winner: its density times the chance that every
    other one lies below. Between two scores the integrand is a polynomial in exp(x) and exp(-x),
    so that Gauss's rule on pieces that end at the scores is as exact as floating point.
    """
    # Below the lowest score the integrand falls off like exp(x) at least, above the highest like
    # exp(-x): nothing is lost by ending where it is below e^-45 of what it was.
    ends = np.array([scaled.min() - 45.0, scaled.max() + 45.0 + log(scaled.size)])
    require_listable(int(np.ptp(ends) / PIECE + scaled.size) * scaled.size, "pieces of an integral")
    edges = np.unique(np.concatenate([np.arange(ends[0], ends[1], PIECE), scaled, ends]))
    total = np.full(scaled.size, -inf)
    for low, high in pairwise(edges):
        half = (high - low) / 2
        x = (low + half + half * NODES)[:, None]
        below = log_laplace_cdf(x - scaled)
        others = below.sum(axis=1, keepdims=True) - below
        terms = np.log(half * WEIGHTS / 2)[:, None] + others - np.abs(x - scaled)
        top = terms.max(axis=0)
        total = np.logaddexp(total, top + np.log(np.exp(terms - top).sum(axis=0)))
    return total


def gumbel_max_log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `report_gumbel_max`; shape (m,), nats.

    By quadrature over the noise of the candidate, which makes it independent of the closed form
    that the exponential mechanism has.
    """
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    # Noisy scores, from where none of the others is likely to be lower to a tail of e^-45.
    width = 50 + log(scaled.size)
    edges = np.linspace(-5, width - 5, ceil(width)) + scaled.max()
    half = np.diff(edges)[:, None] / 2
    values = (edges[:-1, None] + half + half * NODES)[..., None] - scaled
    lower = -np.exp(-values)
    inside = np.log(half * WEIGHTS)[..., None] - values + lower.sum(axis=-1, keepdims=True)
    top = inside.max(axis=(0, 1))
    return top + np.log(np.exp(inside - top).sum(axis=(0, 1)))


def report_noisy_max_mechanism(
    *,
    score: Callable[[Database], Array],
    candidates: int,
    sensitivity: float,
    epsilon: float,
    relation: Relation,
    databases: Domain,
    monotone: bool = False,
    name: str = "report-noisy-max",
    identifier: str = "",
) -> Mechanism:
    """`report_noisy_max` at fixed parameters, with its privacy and its regret.

    `candidates` is the number of scores, `sensitivity` holds under `relation`.
    """
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    book = "Dwork and Roth (2014)"
    return selection_mechanism(
        select=report_noisy_max,
        log_probabilities=noisy_max_log_probabilities,
        utility=(
            # Two noises, of the selected candidate and of the best one, can both be large.
            regret_claim(
                score=score,
                scale=2 * scale,
                candidates=candidates,
                reference=f"{book}, Fact 3.7 and a union bound",
            ),
        ),
        score=score,
        sensitivity=sensitivity,
        epsilon=epsilon,
        monotone=monotone,
        relation=relation,
        databases=databases,
        privacy_reference=f"{book}, Claim 3.9",
        name=name,
        identifier=identifier,
        reference=f"{book}, Section 3.3",
    )


def report_gumbel_max_mechanism(
    *,
    score: Callable[[Database], Array],
    candidates: int,
    sensitivity: float,
    epsilon: float,
    relation: Relation,
    databases: Domain,
    monotone: bool = False,
    name: str = "report-gumbel-max",
    identifier: str = "",
) -> Mechanism:
    """`report_gumbel_max` at fixed parameters, with the theorems of the exponential mechanism.

    `candidates` is the number of scores, `sensitivity` holds under `relation`.
    """
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    regrets = partial(regret_claim, score=score, scale=scale, candidates=candidates)
    book = "Dwork and Roth (2014)"
    return selection_mechanism(
        select=report_gumbel_max,
        log_probabilities=gumbel_max_log_probabilities,
        utility=(
            regrets(reference=f"{book}, Theorem 3.11", ties=True),
            regrets(reference=f"{book}, Corollary 3.12"),
        ),
        score=score,
        sensitivity=sensitivity,
        epsilon=epsilon,
        monotone=monotone,
        relation=relation,
        databases=databases,
        privacy_reference=f"{book}, Theorem 3.10",
        name=name,
        identifier=identifier,
        reference="Durfee and Rogers (2019)",
    )


REPORT_NOISY_MAX = report_noisy_max_mechanism(
    score=partial(histogram, categories=3),
    candidates=3,
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=Rows(row=Choices(values=(0, 1, 2))),
    monotone=True,
    identifier="EM-RNM",
)

REPORT_GUMBEL_MAX = report_gumbel_max_mechanism(
    score=partial(column_totals, columns=3),
    candidates=3,
    sensitivity=1.0,
    epsilon=1.0,
    relation=Relation.ADD_REMOVE,
    databases=voters(candidates=3, least_vote=-1),
    identifier="EM-3.13a",
)
