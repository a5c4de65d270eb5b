"""Sample-size claims: with n = `needed` records P[loss > level] <= beta, a tail claim."""

from dataclasses import replace

import numpy as np

from ...mechanisms.model import ThresholdClaim
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws
from .claim_results import Finding
from .edge import records_edge
from .utility import TailBound, audit_rows


def audit_threshold(claim: ThresholdClaim, budget: Budget) -> Finding:
    """Test the claim on its own instance at the smallest n it is made for.

    A true claim is refuted with probability at most the budget's alpha.
    """
    run, database = claim.instance(claim.needed)
    row = TailBound(
        database=database,
        beta=claim.beta,
        bound=claim.level,
        bad=lambda losses: ~(losses <= claim.level),  # a loss that is no number is bad
    )
    source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
    found = audit_rows([row], [source], claim.loss, budget)

    def fails(records: int, step: int, draws: int) -> float:
        run, database = claim.instance(records)
        outputs = Draws(run=run, seed=budget.seed).array(database, "pilot", step, draws)
        return float(np.mean(row.bad(np.asarray(claim.loss(database, outputs), dtype=float))))

    # What is stated is the number of records; the level is a second thing that could be smaller.
    edge = found.edge
    if found.verdict is not Verdict.REFUTED:
        edge = records_edge(claim.needed, fails, claim.beta, budget.trials, claim.counted)
    return replace(
        found,
        edge=edge,
        details={**found.details, "needed": claim.needed, "counted": claim.counted},
    )
