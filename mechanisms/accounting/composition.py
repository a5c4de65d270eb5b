"""What compositions of differentially private mechanisms promise, as arithmetic in nats.

All bounds hold for adaptive composition, where each mechanism may depend on the earlier outputs.
There are three of them: epsilons and deltas add up (`basic_composition`), the advanced composition
theorem (`advanced_composition`, `heterogeneous_composition`), and the way through zero-concentrated
differential privacy (`zcdp_composition`), whose constants are smaller and which has no side
condition. The rho of a composition is the sum of the rhos of its parts.

`optimal_delta` and `response_delta` are exact: no theorem about all mechanisms with the given
parameters can promise less, because randomized response attains them.

Whether the steps of a mechanism spend its budget, no more and no less, is asked by `Spending`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import exp, expm1, inf, lgamma, log, log1p, prod, sqrt
from numbers import Real
from typing import Any

import numpy as np

from .._checks import require_positive
from ..model import Array, IdentityClaim, LossLaw, Mechanism
from .privacy_loss import hockey_stick

MOST_OUTCOMES = 2**22
"""Outcomes of several responses that are listed: some 100 MB of numbers."""


def zcdp_root(epsilon: float, delta: float) -> float:
    """Square root of the largest rho that `zcdp_to_epsilon` turns into (epsilon, delta).

    It is s = sqrt(L + epsilon) - sqrt(L) with L = ln(1 / delta), the positive root of
    s**2 + 2 s sqrt(L) = epsilon, so that s**2-zCDP implies (epsilon, delta)-differential
    privacy. Raises ValueError unless epsilon is positive and 0 < delta < 1.
    Source: Bun and Steinke (2016), Proposition 1.3.
    """
    require_positive(epsilon=epsilon)
    logarithm = _logarithm(delta)
    # The difference of the two roots, without its cancellation.
    return epsilon / (sqrt(logarithm + epsilon) + sqrt(logarithm))


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """The epsilon for which rho-zCDP implies (epsilon, delta): rho + 2 sqrt(rho ln(1 / delta)).

    Source: Bun and Steinke (2016), Proposition 1.3.
    """
    require_positive(rho=rho)
    return rho + 2 * sqrt(rho * _logarithm(delta))


def pure_to_zcdp(epsilon: float) -> float:
    """The rho that epsilon-differential privacy implies: epsilon**2 / 2.

    Source: Bun and Steinke (2016), Proposition 1.4.
    """
    require_positive(epsilon=epsilon)
    return epsilon**2 / 2


def bounded_range_to_zcdp(width: float) -> float:
    """The rho of a mechanism whose privacy loss stays in an interval of `width`: width**2 / 8.

    The exponential mechanism with parameter epsilon has width epsilon.
    Source: Cesar and Rogers (2021), Lemma 3.4.
    """
    require_positive(width=width)
    return width**2 / 8


def basic_composition(
    epsilons: Sequence[float], deltas: Sequence[float] = ()
) -> tuple[float, float]:
    """(sum of epsilons, sum of deltas), the privacy of any composition; no deltas means pure.

    Source: Dwork and Roth (2014), Theorem 3.16 and Corollary B.2.
    """
    if not all(0 <= epsilon < inf for epsilon in epsilons):
        raise ValueError(f"epsilons must be finite and at least 0, got {epsilons}")
    if not all(0 <= delta < 1 for delta in deltas) or len(deltas) not in (0, len(epsilons)):
        raise ValueError(f"deltas must be in [0, 1), one for each epsilon or none, got {deltas}")
    return float(sum(epsilons)), float(sum(deltas))


def advanced_composition(
    *, epsilon: float, delta: float, rounds: int, root: float = 2.0, linear: float = 2.0
) -> tuple[float, float]:
    """Privacy of `rounds` mechanisms, each (epsilon, delta)-differentially private.

    It is (sqrt(2 k ln(1 / (k delta))) epsilon + 2 k epsilon**2, 2 k delta) with k = rounds.
    `root` and `linear` are the two constants 2 of the first number; smaller ones are false.
    Raises ValueError unless 0 < epsilon <= 1, delta > 0 and k delta < 1: beyond that the root is
    of a negative number.
    Source: Dwork, Rothblum and Vadhan (2010), Theorem III.3, at slack k delta.
    """
    require_positive(epsilon=epsilon, delta=delta, rounds=rounds)
    if epsilon > 1:
        raise ValueError(f"epsilon must be at most 1, got {epsilon}")
    if rounds * delta >= 1:
        raise ValueError(f"rounds * delta must be below 1, got {rounds * delta}")
    spread = sqrt(root * rounds * log(1 / (rounds * delta))) * epsilon
    return spread + linear * rounds * epsilon**2, 2 * rounds * delta


def advanced_calibration(*, epsilon: float, delta: float, rounds: int) -> tuple[float, float]:
    """The (epsilon, delta) of each of `rounds` mechanisms that makes the whole (epsilon, delta).

    It is epsilon / (2 sqrt(2 k ln(2 / delta))) and delta / (2 k), by `advanced_composition`.
    Raises ValueError unless 0 < epsilon <= 2 ln(2 / delta) and the parts' epsilon is at most 1.
    """
    require_positive(epsilon=epsilon, rounds=rounds)
    ceiling = 2 * (log(2) + _logarithm(delta))
    if epsilon > ceiling:
        raise ValueError(f"epsilon must be at most 2 ln(2 / delta) = {ceiling}, got {epsilon}")
    each = epsilon / (2 * sqrt(rounds * ceiling))
    if each > 1:
        raise ValueError(f"epsilon of each round must be at most 1, got {each}")
    return each, delta / (2 * rounds)


def heterogeneous_composition(epsilons: Sequence[float], delta: float) -> float:
    """The epsilon of a composition of pure mechanisms at `delta`, as it is taught.

    It is sum of 2 epsilon_i**2 + sqrt(2 ln(1 / delta) sum of epsilon_i**2).
    Source: Stemmer, lecture notes on differential privacy, lecture 10; it follows from
    `zcdp_composition`, which asks for a quarter of the first term.
    """
    _require_all_positive(epsilons)
    squares = sum(epsilon**2 for epsilon in epsilons)
    return 2 * squares + sqrt(2 * squares * _logarithm(delta))


def zcdp_composition(epsilons: Sequence[float], delta: float) -> float:
    """The epsilon of a composition of pure mechanisms at `delta`, through zCDP.

    It is sum of epsilon_i**2 / 2 + sqrt(2 ln(1 / delta) sum of epsilon_i**2).
    Source: Bun and Steinke (2016), Propositions 1.3, 1.4 and Lemma 1.7.
    """
    _require_all_positive(epsilons)
    return zcdp_to_epsilon(sum(pure_to_zcdp(epsilon) for epsilon in epsilons), delta)


def zcdp_calibration(*, epsilon: float, delta: float, rounds: int) -> float:
    """The epsilon of each of `rounds` pure mechanisms that makes the whole (epsilon, delta).

    It is sqrt(2 / rounds) zcdp_root(epsilon, delta), at least
    epsilon / sqrt(2 rounds (ln(1 / delta) + epsilon)), and `zcdp_composition` turned round.
    """
    require_positive(rounds=rounds)
    return sqrt(2 / rounds) * zcdp_root(epsilon, delta)


def optimal_delta(*, epsilon: float, delta: float, rounds: int, level: float) -> float:
    """Smallest delta at which `rounds` (epsilon, delta) mechanisms are always (level, delta).

    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.
    """
    require_positive(epsilon=epsilon, rounds=rounds)
    kept = rounds * log1p(-delta)
    pure = response_delta([epsilon] * rounds, level)
    return -expm1(kept) + exp(kept) * pure


def response_delta(epsilons: Sequence[float], level: float) -> float:
    """Hockey-stick divergence at `level` of randomized responses with the given epsilons.

    A response is right with probability e**epsilon / (1 + e**epsilon), and the divergence that of
    the answers to all zeros from the answers to all ones. It is exact, by enumeration over how
    many of the responses of each epsilon are right. Raises ValueError where that is more than
    2**22 cases, such as 23 epsilons that all differ.
    """
    _require_all_positive(epsilons)
    groups = Counter(epsilons)
    outcomes = prod(many + 1 for many in groups.values())
    if outcomes > MOST_OUTCOMES:
        raise ValueError(f"the responses have {outcomes} outcomes, more than {MOST_OUTCOMES}")
    laws = [_response_losses(epsilon, many) for epsilon, many in groups.items()]
    losses = reduce(lambda a, b: np.add.outer(a, b).ravel(), [loss for loss, _ in laws])
    logs = reduce(lambda a, b: np.add.outer(a, b).ravel(), [mass for _, mass in laws])
    return hockey_stick(LossLaw(losses=losses, probabilities=np.exp(logs)), level)


def _response_losses(epsilon: float, many: int) -> tuple[Array, Array]:
    """Privacy losses of `many` responses and their log-probabilities, by how many are right."""
    return (2 * np.arange(many + 1) - many) * epsilon, log_responses(epsilon, many)


def log_responses(epsilon: float, many: int) -> Array:
    """Log-probability that 0, 1, ..., `many` of as many responses are right; shape (many + 1,).

    Each is, independently, with probability e**epsilon / (1 + e**epsilon).
    """
    right = np.arange(many + 1)
    choices = [lgamma(many + 1) - lgamma(i + 1) - lgamma(many - i + 1) for i in right]
    return np.array(choices) + right * epsilon - many * np.logaddexp(0, epsilon)


def _require_all_positive(epsilons: Sequence[float]) -> None:
    if not epsilons:
        raise ValueError("epsilons must be at least one number, got none")
    for i, epsilon in enumerate(epsilons):
        require_positive(**{f"epsilons[{i}]": epsilon})


def _logarithm(delta: float) -> float:
    if not (isinstance(delta, Real) and 0 < delta < 1):
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    return -log(delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The epsilons, in nats, of pure steps and of steps whose loss has a range of epsilon."""

    pure: Sequence[float] = ()
    ranged: Sequence[float] = ()
    delta: float = 0.0

    @property
    def epsilon(self) -> float:
        """What all steps lose together: their sum without delta, else by zero concentration."""
        if self.delta == 0:
            return sum(self.pure) + sum(self.ranged)
        rho = sum(map(pure_to_zcdp, self.pure)) + sum(map(bounded_range_to_zcdp, self.ranged))
        return zcdp_to_epsilon(rho, self.delta)


def bound(mechanism: Mechanism) -> Mapping[str, Any]:
    """The parameters that the mechanism's function is bound to, as it ships."""
    assert isinstance(mechanism.run, partial)
    return mechanism.run.keywords


def spends(spendings: Callable[[], Sequence[Spending]], *, epsilon: float) -> IdentityClaim:
    """That each of these, made when the claim is checked, loses just `epsilon`."""
    return IdentityClaim(
        compute=lambda: max(
            (one.epsilon for one in spendings()), key=lambda found: abs(found - epsilon)
        ),
        stated=epsilon,
        tolerance=1e-9,
    )
