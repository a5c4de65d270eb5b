"""Permute-and-flip, McKenna and Sheldon (2020): selection never worse than exponential."""

from collections.abc import Callable

import numpy as np

from .._checks import require_listable, sample_shape
from ..model import Array, Database, Mechanism, Size
from .selection import Selection, by_votes, scaled_scores

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
