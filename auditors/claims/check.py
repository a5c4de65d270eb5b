"""One way in for a claim of any kind, and for a theorem at chosen parameters.

**A privacy claim** is checked by every method there is for it, side by side. Where the exact law is
known, it is checked on every pair of a universe, draws are compared with it, and sampling judges
the pair of which it says that draws tell most: a search could only guess. Without a law sampling
searches for a pair, and a density, where one is known, is checked at drawn outputs. A pair on which
sampling refutes what the exact law proves means that one of the two is wrong.

**Drawn losses** are those of a mechanism of which only a density is known. For an output y drawn
from M(D), l(y) = ln p(y) - ln p'(y) is known exactly. A loss above epsilon at one drawn output
refutes pure privacy, since densities near it (or the atom itself) exceed the bound on a set of
positive probability; no error probability is spent, but the law is trusted. So does one at an
output that the claim names and that never comes in so few draws. For delta > 0 the values max(0, 1
- exp(epsilon - l)) lie in [0, 1] and have mean delta(epsilon): a betting lower bound of that mean
above delta refutes the claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from time import monotonic
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import (
    Array,
    BrokenStatement,
    Claim,
    EqualityClaim,
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    InvariantClaim,
    Mechanism,
    NegativeControl,
    NotListable,
    Pair,
    PrivacyClaim,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
)
from ..arguments import checked
from ..asked import Budget
from ..bounds.tails_and_means import betting_lower
from ..bounds.two_sample import at_distance
from ..databases.neighbours import pair_source
from ..errors import ContractError, HarnessError, InvalidArgument
from ..outputs.encoding import show
from ..privacy.curves import privacy_curve
from ..privacy.run import audit
from ..results.results import AuditResult, Verdict
from ..sampling.draws import Draws, some_databases
from ..sampling.gate import pass_gate
from ..sampling.parts import ClaimPart, called, nan_told, place_of, told, with_parts
from ..sampling.sampling import Sampler
from .claim_results import ClaimResult, Edge, Estimate, Finding, Table, edge_of, hardest
from .derive import WEAK
from .equality import audit_equality
from .exact import TOLERANCE, ExactPrivacy, exact_privacy
from .follows_law import contradicted
from .invariant import audit_identity, audit_invariant
from .means import audit_expectation, audit_growth
from .tails import audit_threshold, audit_utility

STATEMENT = (
    "returns for every database, leaves it alone, and draws all its randomness from the rng it is "
    "given"
)
CALLS = 64
"""Calls on each database that are made again."""
CURVE_DRAWS = 100_000
"""Draws a side for the picture of a curve, at most."""
DENSITY_DRAWS = 50_000
"""Draws for the losses of a density, at most."""
SHARE = 0.1
"""Part of alpha for the losses of a density."""
BETWEEN = 0.01
"""Part of itself by which a drawn bound on a curve may pass the exact one: curves are judged at
points."""
MOST_PAIRS = 20
"""Hand-made pairs of a domain, at most, beside those of the claim and of the audit."""
LOSS_TOLERANCE = 1e-7
"""Nats by which a computed loss may pass the claim by rounding."""


@checked
def check(
    statement: Theorem | Subject | NegativeControl | BrokenStatement,
    *,
    parameters: Mapping[str, float] | None = None,
    alpha: float = 1e-3,
    trials: int = 200_000,
    seed: int = 0,
) -> ClaimResult:
    """Check one statement by every method there is for its kind of claim.

    `statement` is a theorem, a mechanism with the claim to check, a negative control, or a name of
    the catalogue such as "EM-3.12". A theorem is taken at `parameters`, its defaults where they say
    nothing. `trials` draws are for all of the claim's databases together (a side, where two are
    compared; an invariant looks at a case for every 200), and `alpha` bounds the probability that
    sampling refutes a true claim. The same `seed` gives the same numbers.

    Raises InvalidArgument for parameters the theorem does not have or is not stated for, and
    HarnessError where an exact and a sampled method contradict each other.
    """
    return check_within(Budget(alpha=alpha, trials=trials, seed=seed), statement, parameters)


def check_within(
    budget: Budget,
    statement: Theorem | Subject | NegativeControl | BrokenStatement,
    parameters: Mapping[str, float] | None = None,
) -> ClaimResult:
    """What `check` does with this budget."""
    started = monotonic()
    subject = subject_of(statement, parameters)
    identifier = getattr(statement, "identifier", "") or subject.claim.identifier
    claim = with_parts(subject.claim, identifier or f"the {subject.claim.kind} claim")
    found = _found(claim, subject.mechanism, budget)
    if found.sampled is Verdict.REFUTED and found.proved is Verdict.PROVED:
        raise HarnessError(
            f"{identifier}: draws refute at error {found.error:g} what the "
            f"exact method proves on {found.scope}; one of the two is wrong"
        )
    return ClaimResult(
        identifier=identifier,
        statement=claim.statement,
        reference=claim.reference,
        kind=claim.kind,
        finding=found,
        seconds=monotonic() - started,
        seed=budget.seed,
    )


def claims_beside(mechanism: Mechanism) -> tuple[Subject, ...]:
    """What a mechanism claims beside its privacy, each claim with the mechanism."""
    others = (claim for claim in mechanism.claims if not isinstance(claim, PrivacyClaim))
    return tuple(Subject(claim=claim, mechanism=mechanism) for claim in others)


def _found(claim: Claim, mechanism: Mechanism | None, budget: Budget) -> Finding:
    """What is found of the claim; without the exact law, and with a remark, if it is too long.

    Another remark says at how many outputs a loss or a quantity was no number.
    """
    remarks = []
    try:
        found = _find(claim, mechanism, budget)
    except NotListable as error:
        if mechanism is None or mechanism.law is None:
            raise
        found = _find(claim, replace(mechanism, law=None), budget)
        remarks.append(f"the exact law was left out: {error}")
    remark = "; ".join(filter(None, (*remarks, nan_told(claim))))
    if not remark:
        return found
    counts = found.counts and {**found.counts, "remark": remark}
    return replace(found, note="; ".join(filter(None, (found.note, remark))), counts=counts)


def _find(claim: Claim, mechanism: Mechanism | None, budget: Budget) -> Finding:
    match claim:
        case PrivacyClaim():
            return audit_privacy_claim(claim, mechanism, budget)
        case UtilityClaim():
            return audit_utility(claim, mechanism, budget)
        case ExpectationClaim():
            return audit_expectation(claim, mechanism, budget)
        case InvariantClaim():
            return audit_invariant(claim, budget)
        case EqualityClaim():
            return audit_equality(claim, mechanism, budget)
        case ThresholdClaim():
            return audit_threshold(claim, budget)
        case GrowthClaim():
            return audit_growth(claim, budget)
        case IdentityClaim():
            return audit_identity(claim, budget)
    assert_never(claim)


def subject_of(
    statement: Theorem | Subject | NegativeControl | BrokenStatement,
    parameters: Mapping[str, float] | None = None,
) -> Subject:
    """The claim and the mechanism a statement is about, at these parameters."""
    if isinstance(statement, Theorem):
        require_parameters(statement, parameters or {})
        return _labelled(statement, parameters or {})
    if parameters:
        raise InvalidArgument(
            f"only a theorem has parameters; {type(statement).__name__} has none to set"
        )
    match statement:
        case Subject():
            return statement
        case NegativeControl():
            return Subject(claim=statement.breaks, mechanism=statement.mechanism)
        case BrokenStatement():
            return Subject(claim=statement.claim)
    assert_never(statement)


def _labelled(theorem: Theorem, parameters: Mapping[str, float]) -> Subject:
    made = called(theorem.identifier, "subject", theorem.made, parameters, by=theorem.subject)
    try:
        return theorem.labelled(made)
    except ValueError as error:
        place = place_of(theorem.subject)
        raise InvalidArgument(f"{told(theorem.identifier, 'subject', place)} {error}") from None


def require_parameters(theorem: Theorem, given: Mapping[str, float]) -> None:
    """Raise InvalidArgument for a parameter the theorem does not have or is not stated for."""
    for name, value in given.items():
        known = theorem.parameters.get(name)
        if known is None:
            names = ", ".join(sorted(theorem.parameters)) or "none"
            raise InvalidArgument(
                f"{theorem.identifier} has no parameter {name!r}; it has: {names}"
            )
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InvalidArgument(
                f"{theorem.identifier}: the parameter {name} must be one number, got {value!r}; "
                "reproduce sweeps several values"
            )
        within = known.within
        whole = not within.integer or float(value).is_integer()
        if not (within.low <= value <= within.high and whole):
            kind = "a whole number" if within.integer else "a number"
            raise InvalidArgument(
                f"{theorem.identifier} is stated for {name} ({known.meaning}) {kind} from "
                f"{within.low:g} to {within.high:g}, got {value:g}"
            )


# Purity: the mechanism is a function of (database, rng) and of nothing else. ---------------------


def _require_function(sampler: Sampler, pair: Pair) -> None:
    """Call the mechanism on both databases, and make the draws again; ContractError."""
    sampler.check_call(pair)
    sampler.draw(pair, "claim", 0, CALLS)
    pass_gate(sampler, refuted=False)


@checked
def check_purity(mechanism: Mechanism, *, seed: int = 0, timeout: float = 10.0) -> ClaimResult:
    """Run the mechanism on a few databases and look whether it keeps its contract.

    A breach of the `mechanism` refutes with certainty; that none was met proves nothing. `seed`
    decides all randomness, and one call may take `timeout` seconds.
    """
    started = monotonic()
    sampler = Sampler(run=mechanism.run, seed=seed, seeded=mechanism.seeded, limit=timeout)
    databases = some_databases(mechanism)
    verdict, note, witness, rows = Verdict.NOT_REFUTED, "", None, []
    for one, two in zip(databases, [*databases[1:], databases[0]], strict=True):
        try:
            _require_function(sampler, Pair(one, two))
        except ContractError as error:
            verdict, note, witness = Verdict.REFUTED, str(error), one
            rows.append((show(one), show(two), note))
            break
        rows.append((show(one), show(two), "kept"))
    return ClaimResult(
        identifier=f"{mechanism.identifier or mechanism.name}:purity",
        statement=f"{mechanism.name} {STATEMENT}",
        reference="",
        kind="purity",
        finding=Finding(
            claimed=0.0,
            sampled=verdict,
            draws=sampler.tally.draws,
            method="repeated runs with equal generators",
            note=note,
            table=Table(columns=("database", "other database", "contract"), rows=tuple(rows)),
            witness=witness,
        ),
        seconds=monotonic() - started,
        seed=seed,
    )


# The exact loss at drawn outputs. ----------------------------------------------------------------


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
        refuted = lower > delta if delta > 0 else largest > epsilon + LOSS_TOLERANCE
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


def _named(density: ClaimPart, pair: Pair, claim: PrivacyClaim) -> float:
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


# A privacy claim by every method. ----------------------------------------------------------------


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
    details: dict[str, object] = {"audit": result, "exact": exact, "density": density}
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
    details: dict[str, object],
) -> Finding:
    low = max(0.0, result.size_lower)
    sampled = result.verdict
    proved: Verdict | None = None
    witness: object = result.witness
    rows: tuple[tuple[str, str, float], ...] = ()
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
