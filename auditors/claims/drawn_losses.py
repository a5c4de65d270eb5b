"""Privacy claims where only a density is known: the exact loss at drawn outputs.

For an output y drawn from M(D), l(y) = ln p(y) - ln p'(y) is known exactly. A loss above epsilon
at one drawn output refutes pure privacy, since densities near it (or the atom itself) exceed the
bound on a set of positive probability; no error probability is spent, but the law is trusted. So
does one at an output that the claim names and that never comes in so few draws. For
delta > 0 the values max(0, 1 - exp(epsilon - l)) lie in [0, 1] and have mean delta(epsilon): a
betting lower bound of that mean above delta refutes the claim.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Mechanism, Pair, PrivacyClaim
from ..bounds.tails_and_means import betting_lower
from ..bounds.two_sample import at_distance
from ..databases.neighbours import pair_source
from ..sampling.draws import Draws
from ..sampling.parts import ClaimPart

MOST_PAIRS = 20
"""Hand-made pairs of a domain, at most, beside those of the claim and of the audit."""
TOLERANCE = 1e-7
"""Nats by which a computed loss may pass the claim by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLoss:
    """The worst of the pairs looked at: largest loss met, lower bound of delta at the claim.

    `needed` is the smallest epsilon that holds on all of them at the claim's delta: the largest
    loss met for pure privacy, else where the mean excess of the drawn losses is delta.
    """

    pair: Pair
    epsilon: float
    delta_lower: float
    refuted: bool
    draws: int
    needed: float = 0.0


def drawn_losses(
    mechanism: Mechanism,
    claim: PrivacyClaim,
    *,
    alpha: float,
    draws: int,
    seed: int,
    pairs: tuple[Pair, ...] = (),
) -> DrawnLoss | None:
    """Look at the loss of drawn outputs on `pairs` and hand-made ones; None without a density."""
    if mechanism.log_probability is None or mechanism.databases is None:
        return None
    density = ClaimPart(mechanism.log_probability, mechanism.name, "log_probability", Array)
    found = pair_source(mechanism.databases, claim.relation, claim.distance, seed).templates
    examples = [Pair(*example) for example in claim.examples]
    judged = [*pairs, *examples, *found[:MOST_PAIRS]]
    turned = [way for pair in judged for way in (pair, pair.reversed())]
    if not turned:
        return None
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    source, each = Draws.of(mechanism, seed), max(1, draws // len(turned))
    worst, needed = None, 0.0
    for pair in turned:
        outputs = source.array(pair.database, "claim", 0, each)
        own = density(pair.database, outputs)
        other = density(pair.neighbour, outputs)
        losses = own - other
        lower = 0.0
        if delta > 0:
            excess = np.where(losses > epsilon, -np.expm1(epsilon - losses), 0.0)
            lower = betting_lower(excess, 0.0, alpha / len(turned))
        largest = float(losses.max())
        if delta > 0:
            needed = max(needed, _smallest_epsilon(losses, delta))
        else:
            largest = max(largest, _named(density, pair, claim))
            needed = max(needed, largest)
        refuted = lower > delta if delta > 0 else largest > epsilon + TOLERANCE
        one = DrawnLoss(
            pair=pair,
            epsilon=largest,
            delta_lower=lower,
            refuted=refuted,
            draws=each * len(turned),
        )
        if worst is None or _order(one) > _order(worst):
            worst = one
    source.gate(refuted=worst is not None and worst.refuted)
    return None if worst is None else replace(worst, needed=needed)


def _named(density: Callable[..., Any], pair: Pair, claim: PrivacyClaim) -> float:
    """The largest loss at an output that the claim names; -inf for none that can come."""
    if not claim.outputs:
        return -np.inf
    outputs = np.asarray(claim.outputs)
    own = density(pair.database, outputs)
    other = density(pair.neighbour, outputs)
    known = np.isfinite(own)
    return float(np.max(own[known] - other[known], initial=-np.inf))


def _smallest_epsilon(losses: NDArray[np.float64], delta: float) -> float:
    """The epsilon >= 0 at which the mean of max(0, 1 - exp(epsilon - loss)) is delta."""

    def excess(epsilon: float) -> float:
        above = losses[losses > epsilon]
        return float(-np.expm1(epsilon - above).sum()) / len(losses) - delta

    if excess(0.0) <= 0:
        return 0.0
    top = float(losses.max())
    from scipy.optimize import brentq  # half a second of imports, for exact deltas alone

    return np.inf if np.isinf(top) and excess(1e4) > 0 else brentq(excess, 0.0, min(top, 1e4))


def _order(one: DrawnLoss) -> tuple[bool, float, float]:
    return one.refuted, one.delta_lower, one.epsilon
