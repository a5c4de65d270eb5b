"""Sample-size claims: with n = `needed` records P[loss > level] <= beta, a tail claim."""

from dataclasses import replace

from ...mechanisms.model import ThresholdClaim
from ..privacy.budget import Budget
from ..sampling.draws import Draws
from .claim_results import Finding
from .utility import Row, audit_rows


def audit_threshold(claim: ThresholdClaim, budget: Budget) -> Finding:
    """Test the claim on its own instance at the smallest n it is made for.

    A true claim is refuted with probability at most the budget's alpha.
    """
    run, database = claim.instance(claim.needed)
    row = Row(
        database=database,
        beta=claim.beta,
        bound=claim.level,
        bad=lambda losses: ~(losses <= claim.level),  # a loss that is no number is bad
    )
    source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
    found = audit_rows([row], [source], claim.loss, budget)
    return replace(found, details={**found.details, "records": claim.needed})
