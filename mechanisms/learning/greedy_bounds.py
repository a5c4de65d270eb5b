"""How many rounds and rows the greedy learner of conjunctions needs, as arithmetic in nats.

Stemmer, lecture notes on differential privacy, lecture 12, conjunctions, take 2, with the
constants written out: k is the most literals of a conjunction, J the number of rounds.
"""

from math import ceil, log, sqrt

from .._checks import require_positive
from ..accounting.composition import zcdp_root


def greedy_rounds(most_literals: int, rows: int) -> int:
    """Rounds that leave few negatives: ceil(2 k ln n), at least 1. n is public."""
    return max(1, ceil(2 * most_literals * log(rows)))


def round_privacy(epsilon: float, rounds: int, delta: float = 0.0) -> float:
    """The epsilon of each round that makes all of them together (epsilon, delta)-private.

    With delta it uses that the exponential mechanism's loss has a range of epsilon only, Cesar
    and Rogers (2021), and zero-concentrated differential privacy.
    """
    require_positive(epsilon=epsilon, rounds=rounds)
    return sqrt(8 / rounds) * zcdp_root(epsilon, delta) if delta else epsilon / rounds


def score_shortfall(dimension: int, rounds: int, round_epsilon: float, beta: float) -> float:
    """With probability 1 - beta no chosen score is this far below the best one of its round."""
    return 2 / round_epsilon * log((2 * dimension + 1) * rounds / beta)


def greedy_sample_size(
    *,
    dimension: int,
    most_literals: int,
    epsilon: float,
    alpha: float,
    beta: float,
    delta: float = 0.0,
) -> int:
    """The least n with n >= (J + 2 k) shortfall / alpha, where the J rounds depend on n."""
    rows, needed = 1, 2
    while rows < needed:
        # The right side grows with n, so going up from below ends at the least solution.
        rows = needed
        rounds = greedy_rounds(most_literals, rows)
        each = round_privacy(epsilon, rounds, delta)
        shortfall = score_shortfall(dimension, rounds, each, beta)
        needed = ceil((rounds + 2 * most_literals) * shortfall / alpha)
    return rows
