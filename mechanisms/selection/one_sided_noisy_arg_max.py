"""Report one-sided noisy arg-max: the greatest score after exponential noise.

Dwork and Roth (2014), Section 3.4. Its law is that of permute-and-flip, Ding et al. (2021), and
not, as printed there, that of the exponential mechanism.
"""

from collections.abc import Callable

import numpy as np

from .._checks import sample_shape
from ..model import Array, Database, Mechanism, Size
from .selection import Selection, by_occurrences, noise_scale, scaled_scores

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
