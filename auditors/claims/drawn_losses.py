"""Privacy claims where only a density is known: the exact loss at drawn outputs.

For an output y drawn from M(D), l(y) = ln p(y) - ln p'(y) is known exactly. A loss above epsilon
at one drawn output refutes pure privacy, since densities near it (or the atom itself) exceed the
bound on a set of positive probability; no error probability is spent, but the law is trusted. For
delta > 0 the values max(0, 1 - exp(epsilon - l)) lie in [0, 1] and have mean delta(epsilon): a
betting lower bound of that mean above delta refutes the claim.
"""

from dataclasses import dataclass

import numpy as np

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..bounds.means import betting_lower
from ..bounds.two_sample import at_distance
from ..databases.neighbours import pair_source
from ..results import Pair
from ..sampling.draws import Draws

MOST_PAIRS = 20
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLoss:
    """The worst of the pairs looked at: largest loss met, lower bound of delta at the claim."""

    pair: Pair
    epsilon: float
    delta_lower: float
    refuted: bool
    draws: int


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
    density = mechanism.log_probability
    if density is None or mechanism.databases is None:
        return None
    found = pair_source(mechanism.databases, claim.relation, claim.distance, seed).templates
    judged = [*pairs, *found[:MOST_PAIRS]]
    turned = [way for pair in judged for way in (pair, pair.reversed())]
    if not turned:
        return None
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    source, each = Draws.of(mechanism, seed), max(1, draws // len(turned))
    worst = None
    for pair in turned:
        outputs = source.array(pair.database, "claim", 0, each)
        own = np.asarray(density(pair.database, outputs), dtype=float)
        other = np.asarray(density(pair.neighbour, outputs), dtype=float)
        losses = own - other
        lower = 0.0
        if delta > 0:
            excess = np.where(losses > epsilon, -np.expm1(epsilon - losses), 0.0)
            lower = betting_lower(excess, 0.0, alpha / len(turned))
        largest = float(losses.max())
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
    return worst


def _order(one: DrawnLoss) -> tuple[bool, float, float]:
    return one.refuted, one.delta_lower, one.epsilon
