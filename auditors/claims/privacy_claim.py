"""A privacy claim by every method there is for it, side by side.

Where the exact law is known, it is checked on every pair of a universe, draws are compared with
it, and sampling judges the pair of which it says that draws tell most: a search could only guess.
Without a law sampling searches for a pair, and a density, where one is known, is checked at drawn
outputs. A pair on which sampling refutes what the exact law proves means that one of the two is
wrong.
"""

from dataclasses import replace
from math import inf
from typing import Any

from ...mechanisms.model import Mechanism, PrivacyClaim
from ..bounds.two_sample import at_distance
from ..errors import HarnessError, InvalidArgument
from ..privacy.budget import Budget
from ..privacy.curve_bounds import privacy_curve
from ..privacy.run import audit
from ..results.results import AuditResult, Verdict
from ..sampling.sampling import Sampler
from .claim_results import Edge, Estimate, Finding, Table
from .derive import WEAK
from .drawn_losses import DrawnLoss, drawn_losses
from .edge import edge_of, hardest
from .exact import TOLERANCE, ExactPrivacy, exact_privacy
from .follows_law import contradicted

CURVE_DRAWS = 100_000
"""Draws a side for the picture of a curve, at most."""
DENSITY_DRAWS = 50_000
"""Draws for the losses of a density, at most."""
SHARE = 0.1
"""Part of alpha for the losses of a density."""
BETWEEN = 0.01
"""Part of itself by which a drawn bound on a curve may pass the exact one: curves are judged at
points."""


def audit_privacy_claim(
    claim: PrivacyClaim,
    mechanism: Mechanism | None,
    budget: Budget,
) -> Finding:
    """Audit the claim with the budget's trials a side, and exactly where a law is known.

    A true claim is refuted by sampling with probability at most its alpha.
    """
    if mechanism is None:
        raise InvalidArgument("a privacy claim needs the mechanism it is about")
    subject = replace(mechanism, claims=(claim,))
    alpha, seed = budget.alpha, budget.seed
    exact = exact_privacy(subject, claim)
    dense = exact is None and mechanism.log_probability is not None and claim.delta > 0
    share = SHARE * alpha if dense else 0.0
    telling = exact.telling if exact is not None else None
    result = audit(
        subject, pair=telling, trials=budget.trials, alpha=alpha - share, seed=seed, exact=False
    )
    if exact is not None:
        _require_agreement(result, exact, claim)
    wrong = contradicted(mechanism, trials=budget.trials, seed=seed)
    if wrong:
        raise HarnessError(wrong)
    density = None
    if exact is None:
        density = drawn_losses(
            subject,
            claim,
            alpha=share or alpha,
            draws=min(budget.trials, DENSITY_DRAWS),
            seed=seed,
            pairs=(result.pair,),
        )
    details: dict[str, Any] = {"audit": result, "exact": exact, "density": density}
    if claim.delta > 0:
        sampler = Sampler(
            run=subject.run, seed=seed, seeded=subject.seeded, trust_rows=subject.trust_rows
        )
        details["curve"] = privacy_curve(
            sampler, result.pair, alpha=alpha, draws=min(budget.trials, CURVE_DRAWS)
        )
    return _finding(claim, result, exact, density, alpha, details)


def _require_agreement(result: AuditResult, exact: ExactPrivacy, claim: PrivacyClaim) -> None:
    # The pair that sampling judged is among those checked exactly.
    name, drawn, most = "epsilon", result.epsilon_lower, exact.epsilon / claim.steps
    if claim.curve is not None and exact.size is not None:
        # Between the orders or points that the exact law was asked at a little more may be lost.
        name, drawn = claim.curve.parameter, result.size_lower
        most = (1 + BETWEEN) * exact.size[1]
    shown = result.refuted and exact.verdict is Verdict.PROVED
    if shown or drawn > most + TOLERANCE * max(1.0, most):
        raise HarnessError(
            f"{'sampling refutes the claim of' if shown else 'draws show of'} {result.mechanism} "
            f"({name} >= {drawn:.4g}) on a pair where its exact law gives at most "
            f"{most:.4g}; the sampler or the law is wrong"
        )


def _finding(
    claim: PrivacyClaim,
    result: AuditResult,
    exact: ExactPrivacy | None,
    density: DrawnLoss | None,
    alpha: float,
    details: dict[str, Any],
) -> Finding:
    low = max(0.0, result.size_lower)
    sampled = result.verdict
    proved: Verdict | None = None
    witness: Any = result.witness
    rows: tuple[tuple[Any, ...], ...] = ()
    scope, note, true_epsilon = "", result.note, None
    if exact is not None:
        proved, scope, rows = exact.verdict, exact.scope, exact.rows
        true_epsilon = exact.size[0] if exact.size is not None else exact.epsilon / claim.steps
        if proved is Verdict.REFUTED and witness is None:
            witness = exact.pair
    elif density is not None:
        note = note or f"the largest loss at a drawn output is {density.epsilon:.4g}"
        if density.refuted:
            proved, witness = Verdict.REFUTED, witness or density.pair
            scope = "by the density at drawn outputs"
    edge = _edge(claim, low, exact, density)
    worst = "epsilon" if claim.delta == 0 else "delta at the claimed epsilon"
    if claim.curve is not None:
        worst = claim.curve.parameter
    return Finding(
        claimed=claim.epsilon if claim.curve is None else claim.curve.size,
        measured=Estimate(value=low, low=low, high=inf, error=alpha),
        exact=true_epsilon,
        sampled=sampled,
        proved=proved,
        weak=edge is not None and edge.share < WEAK,
        edge=edge,
        draws=result.draws,
        error=alpha,
        method=(
            "exact law, two-sample test on the pair it says most of and a learnt event"
            if exact is not None
            else "two-sample test on a searched pair and a learnt event"
        ),
        scope=scope,
        note=note,
        table=Table(columns=("database", "neighbour", worst), rows=rows) if rows else None,
        witness=witness,
        details=details,
    )


def _edge(
    claim: PrivacyClaim, low: float, exact: ExactPrivacy | None, density: DrawnLoss | None
) -> Edge | None:
    """The smallest epsilon or delta that still holds, by the method that shows most."""
    if claim.curve is not None:
        name, size = claim.curve.parameter, claim.curve.size
        found = [edge_of(low, size, name, "a lower bound from draws")]
        if exact is not None and exact.size is not None:
            found.append(edge_of(exact.size[0], size, name, "exact law"))
        return hardest(*found)
    epsilon = claim.epsilon
    edges = [edge_of(low, epsilon, "epsilon", "a lower bound from draws")]
    if density is not None:
        needed = density.needed / claim.steps
        edges.append(edge_of(needed, epsilon, "epsilon", "density at outputs"))
    if exact is not None:
        edges.append(edge_of(exact.epsilon / claim.steps, epsilon, "epsilon", "exact law"))
        if claim.delta > 0:
            allowed = at_distance(epsilon, claim.delta, claim.steps)[1]
            edges.append(edge_of(exact.delta[0], allowed, "delta", "exact law"))
    return hardest(*edges)
