"""Selection by noisy scores: Laplace, Gumbel or exponential noise, and permute-and-flip.

Report noisy max is that of Dwork and Roth (2014), Section 3.3. With Gumbel noise it is the
exponential mechanism. Only the index may be released: the noisy maximum itself is not covered by
the privacy claimed here. With one-sided noise (Section 3.4) its law is that of permute-and-flip,
Ding et al. (2021), and not, as printed there, that of the exponential mechanism; permute-and-flip,
McKenna and Sheldon (2020), never selects worse than the exponential mechanism.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import ceil, inf, log

import numpy as np

from .._checks import require_listable, sample_shape
from ..accounting.privacy_loss import laplace_difference_tail, log_laplace_cdf
from ..model import Array, Database, Mechanism, Size
from ..sparse_vector.above_threshold import log_bits
from .exponential import Selection, by_occurrences, by_votes, noise_scale, scaled_scores

BOOK = "Dwork and Roth (2014)"
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
"""Gauss-Legendre quadrature on [-1, 1]."""
PIECE = 2.0
"""Length of the pieces that an integral is cut into, in scales of the noise."""
MOST_ONE_BY_ONE = 20
"""Candidates up to which each has an integral of its own; of more, one gives all."""


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
SECTION = "Dwork and Roth (2014), Section 3.4"


def one_sided_noisy_arg_max(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Draw the candidate with the greatest score after Exponential noise, never negative.

    The noise has mean 2 sensitivity / epsilon. `score` maps a database to one number per
    candidate, shape (m,); no entry moves by more than `sensitivity` between neighbours. With
    `monotone` scores, which adding a record never lowers, the factor 2 is left out; add-remove
    only. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    scale = noise_scale(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    scores = np.asarray(score(database), dtype=float)
    noise = rng.exponential(scale=scale, size=sample_shape(size) + scores.shape)
    return np.argmax(scores + noise, axis=-1)


def one_sided_log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `one_sided_noisy_arg_max`.

    Shape (m,), nats. With q_s = exp(-(gap of s) / scale), candidate r wins with probability q_r
    times the integral over t from 0 to 1 of the product of 1 - t q_s over the others.
    """
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    behind = scaled - scaled.max()
    # The integrand is a polynomial of degree m - 1, which m / 2 nodes integrate exactly, and
    # without the cancellation of inclusion-exclusion, its expansion.
    nodes, weights = np.polynomial.legendre.leggauss((scaled.size + 1) // 2)
    factors = 1 - (nodes[:, None] + 1) / 2 * np.exp(behind)
    others = np.array(
        [np.delete(factors, index, axis=1).prod(axis=1) for index in range(scaled.size)]
    )
    return behind + np.log(others @ (weights / 2))


def one_sided_noisy_arg_max_mechanism(
    problem: Selection,
    *,
    epsilon: float,
    name: str = "one-sided-noisy-arg-max",
    identifier: str = "",
) -> Mechanism:
    """`one_sided_noisy_arg_max` on one selection problem, with its privacy and its regret.

    `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    # Noise is never negative: the regret is at most the noise of the selected one.
    union = problem.regret_claim(epsilon, reference=f"{SECTION}, and a union bound")
    return problem.mechanism(
        one_sided_noisy_arg_max,
        one_sided_log_probabilities,
        union,
        epsilon=epsilon,
        proof=SECTION,
        name=name,
        identifier=identifier,
        reference=SECTION,
    )


ONE_SIDED_NOISY_ARG_MAX = one_sided_noisy_arg_max_mechanism(
    by_occurrences(3, monotone=True), epsilon=1.0, identifier="EM-OSNM"
)
SOURCE = "McKenna and Sheldon (2020)"


def permute_and_flip(
    database: Database,
    rng: np.random.Generator,
    *,
    score: Callable[[Database], Array],
    sensitivity: float,
    epsilon: float,
    monotone: bool = False,
    size: Size = None,
) -> Array:
    """Visit candidates in random order, flip a coin for each and stop at the first head.

    Heads come up for r with probability exp(-epsilon (best score - score_r) / (2 sensitivity)).
    `score` maps a database to one number per candidate, shape (m,); no entry moves by more
    than `sensitivity` between neighbours. With `monotone` scores, which adding a record never
    lowers, the factor 2 is left out; add-remove only. `epsilon` is in nats.
    Returns candidate indices in [0, m), whole numbers of shape `size`. Raises ValueError on a
    parameter that is not positive.
    """
    scaled = scaled_scores(
        score(database), sensitivity=sensitivity, epsilon=epsilon, monotone=monotone
    )
    shape = sample_shape(size) + scaled.shape
    heads = rng.random(shape) < np.exp(scaled - scaled.max())
    # The candidates are visited by rising `visit`. The best one always gets a head.
    visit = rng.random(shape)
    return np.argmin(np.where(heads, visit, 2.0), axis=-1)


def permute_and_flip_log_probabilities(
    scores: Array, *, sensitivity: float, epsilon: float, monotone: bool = False
) -> Array:
    """Log-probability of each candidate under the law of `permute_and_flip`; shape (m,), nats.

    Exact over all orders. A random order is that of independent uniform times, and by the time u of
    r another candidate with heads probability q was visited and got a head with probability u q.
    So r is reached with probability the integral over u of the product of 1 - u q, a polynomial of
    degree m - 1 that Gauss's rule with m / 2 nodes integrates exactly.
    """
    scaled = scaled_scores(scores, sensitivity=sensitivity, epsilon=epsilon, monotone=monotone)
    behind = scaled - scaled.max()
    require_listable(scaled.size**2, "pairs of candidates")
    nodes, weights = np.polynomial.legendre.leggauss(scaled.size // 2 + 1)
    missed = np.log1p(-np.outer((nodes + 1) / 2, np.exp(behind)))
    others = missed.sum(axis=1, keepdims=True) - missed
    return behind + np.log((weights / 2) @ np.exp(others))


def permute_and_flip_mechanism(
    problem: Selection, *, epsilon: float, name: str = "permute-and-flip", identifier: str = ""
) -> Mechanism:
    """`permute_and_flip` on one selection problem, with its privacy and its regret.

    `epsilon` is in nats. Raises ValueError where it is not positive.
    """
    no_worse = problem.regret_claim(
        epsilon, reference=f"{SOURCE}, with Dwork and Roth (2014), Corollary 3.12"
    )
    return problem.mechanism(
        permute_and_flip,
        permute_and_flip_log_probabilities,
        no_worse,
        epsilon=epsilon,
        proof=SOURCE,
        name=name,
        identifier=identifier,
        reference=SOURCE,
    )


PERMUTE_AND_FLIP = permute_and_flip_mechanism(by_votes(3), epsilon=1.0, identifier="EM-3.13b")
