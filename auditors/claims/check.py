"""One way in for a claim of any kind, and for a theorem at chosen parameters."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from time import monotonic
from typing import assert_never

from ...mechanisms.model import (
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
    PrivacyClaim,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
)
from ..arguments import checked
from ..errors import HarnessError, InvalidArgument
from ..privacy.budget import Budget
from ..results.results import Verdict
from ..sampling.parts import called, nan_told, place_of, told, with_parts
from .claim_results import ClaimResult, Finding
from .equality import audit_equality
from .expectation import audit_expectation
from .growth import audit_growth
from .identity import audit_identity
from .invariant import audit_invariant
from .privacy_claim import audit_privacy_claim
from .sample_size import audit_threshold
from .utility import audit_utility


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
