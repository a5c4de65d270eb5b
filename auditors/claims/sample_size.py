"""Sample-size claims: with n = `needed` records P[loss > level] <= beta, a tail claim."""

import numpy as np

from ...mechanisms.model import ThresholdClaim
from ..evidence.record import TailsRecord
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.draws import Draws
from .claim_results import Finding
from .edge import edge_to_json, records_edge
from .utility import TailBound, count_rows, found_of


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
    tails: TailsRecord = {
        **count_rows([row], [source], claim.loss, budget),
        "needed": int(claim.needed),
        "counted": claim.counted,
    }

    def fails(records: int, step: int, draws: int) -> float:
        run, database = claim.instance(records)
        source = Draws(run=run, seed=budget.seed, trust_rows=claim.trust_rows)
        outputs = source.array(database, "pilot", step, draws)
        return float(np.mean(row.bad(claim.loss(database, outputs))))

    found = found_of([row], tails, budget)
    if found.verdict is Verdict.REFUTED:
        return found
    # What is stated is the number of records; the level is a second thing that could be smaller.
    edge = records_edge(claim.needed, fails, claim.beta, budget.trials, claim.counted)
    tails["edge"] = edge_to_json(edge)
    return found_of([row], tails, budget)
