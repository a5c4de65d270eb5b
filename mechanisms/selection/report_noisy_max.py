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
from ..accounting.tails import laplace_difference_tail, log_laplace_cdf
from ..model import Array, Database, Mechanism, Size
from ..sparse_vector.sparse_vector_law import log_bits
from .selection import Selection, by_occurrences, by_votes, noise_scale, scaled_scores

BOOK = "Dwork and Roth (2014)"
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
PIECE = 2.0
MOST_ONE_BY_ONE = 20


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

    One candidate after another for a few, all in one integral for more.
    """
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    if scaled.size > MOST_ONE_BY_ONE:
        return laplace_max_by_quadrature(scaled)
    return laplace_max_one_by_one(scaled)


def laplace_max_one_by_one(scaled: Array) -> Array:
    """Log-probability that each score plus standard Laplace noise is the greatest; shape (m,).

    The others stay below the noisy score of the winner, as queries below a noisy threshold: an
    integral for each candidate.
    """

    def selected(index: int) -> float:
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
    problem: Selection, *, epsilon: float, name: str = "report-noisy-max", identifier: str = ""
) -> Mechanism:
    """`report_noisy_max` on one selection problem, with its privacy and its regret.

    `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    # The noise of the selected candidate exceeds that of the best one by the regret.
    union = problem.regret_claim(
        epsilon,
        tail=partial(laplace_difference_tail, scale=1.0),
        reference="Kotz, Kozubowski and Podgorski (2001), chapter 2, and a union bound",
    )
    return problem.mechanism(
        report_noisy_max,
        noisy_max_log_probabilities,
        union,
        epsilon=epsilon,
        proof=f"{BOOK}, Claim 3.9",
        name=name,
        identifier=identifier,
        reference=f"{BOOK}, Section 3.3",
    )


def report_gumbel_max_mechanism(
    problem: Selection, *, epsilon: float, name: str = "report-gumbel-max", identifier: str = ""
) -> Mechanism:
    """`report_gumbel_max` on one selection problem, with the theorems of the exponential mechanism.

    `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    return problem.mechanism(
        report_gumbel_max,
        gumbel_max_log_probabilities,
        problem.regret_claim(epsilon, reference=f"{BOOK}, Theorem 3.11", ties=True),
        problem.regret_claim(epsilon, reference=f"{BOOK}, Corollary 3.12"),
        epsilon=epsilon,
        proof=f"{BOOK}, Theorem 3.10",
        name=name,
        identifier=identifier,
        reference="Durfee and Rogers (2019)",
    )


REPORT_NOISY_MAX = report_noisy_max_mechanism(
    by_occurrences(3, monotone=True), epsilon=1.0, identifier="EM-RNM"
)

REPORT_GUMBEL_MAX = report_gumbel_max_mechanism(by_votes(3), epsilon=1.0, identifier="EM-3.13a")
