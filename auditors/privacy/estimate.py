"""The largest lower bounds that a budget proves, without any claim: epsilon, and a curve."""

from dataclasses import dataclass, replace

from ...mechanisms.model import PrivacyClaim
from ..arguments import asking
from ..asked import KEYWORDS
from ..errors import InvalidArgument
from ..results.results import AuditResult, Witness
from .curves import PrivacyCurve, privacy_curve
from .preparing import prepared
from .request import Request
from .run import run_audit

CURVE = 0.5
"""Part of alpha, and of the trials, that pays for the curve where one is asked for."""
BESIDE = 0.1
"""The same where only a delta is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonEstimate:
    """What a mechanism is proved to lose, at least.

    `epsilon_lower` (nats, of a single step) is at most the mechanism's smallest epsilon at `delta`,
    except with probability `alpha`; the `curve`, where one was asked for, holds together with it.
    `result` is the audit of the claim "loses nothing" that proves it: its evidence replays.
    `claims` are what the mechanism states of such pairs, which nothing here rests on.
    """

    delta: float
    alpha: float
    result: AuditResult
    curve: PrivacyCurve | None = None
    claims: tuple[PrivacyClaim, ...] = ()

    @property
    def epsilon_lower(self) -> float:
        """The bound, 0 where the draws show no loss."""
        return max(0.0, self.result.epsilon_lower)

    @property
    def witness(self) -> Witness | None:
        """The pair, the event and the counts that prove the bound; None where nothing is shown."""
        return self.result.worst if self.epsilon_lower > 0 else None


BOUNDS = {
    "delta": "Bound epsilon at this delta, and delta at all epsilon.",
    "mu": "Bound mu of Gaussian differential privacy too.",
    "rho": "Bound rho of zero-concentrated differential privacy too.",
    "curve": "Bound delta at all epsilon too.",
    "precision": "0 uses all trials, 0.05 stops when the bound is known to 5 %.",
}
"""What the arguments of an audit mean where a bound is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRequest(Request):
    """A request for a bound: all trials are used unless a `precision` says when to stop.

    `mu`, `rho` and `curve` ask for bounds on these besides.
    """

    precision: float | None = 0.0
    mu: bool = False
    rho: bool = False
    curve: bool = False


@asking(EstimateRequest, told={**KEYWORDS, **BOUNDS})
def estimate(request: EstimateRequest) -> EpsilonEstimate:
    """Bound from below what the mechanism loses; its own claims, if any, are not looked at.

    With `delta` the bound is on epsilon
    at this delta. With it, or with any of `mu`, `rho` and `curve`, come lower bounds of delta at
    all epsilon at once, of mu of Gaussian and of rho of zero-concentrated differential privacy, on
    the same pair: half of alpha and half of the trials pay for them, and all hold together.

    Raises InvalidArgument for a request that makes no sense and ContractError when the mechanism
    fails or is not a function of (database, rng).
    """
    if request.precision is None:
        raise InvalidArgument(
            "precision must be 0 or a share from 1e-6 to below 1, got None: without a claim there "
            "is nothing to stop at; 0 uses all trials, 0.05 stops when the bound is known to 5 %",
            keywords=("precision",),
        )
    part = BESIDE if request.delta is not None else 0.0
    if request.mu or request.rho or request.curve:
        part = CURVE
    whole = request.budget
    trials = max(2, round(whole.trials * (1 - part)))
    budget = replace(whole, alpha=whole.alpha * (1 - part), trials=trials)
    audits = prepared(replace(request, delta=request.delta or 0.0), budget, 0.0)
    if len({(one.claim.relation, one.claim.distance) for one in audits}) > 1:
        raise InvalidArgument(
            f"{audits[0].subject.name} makes promises about several neighbouring relations or "
            "distances; say which with relation= and distance=",
            keywords=("relation", "distance"),
        )
    audit = replace(audits[0], budget=budget, bounding=True)
    with audit.sampler.engine.connected(request.workers):
        result = run_audit(audit, request.progress)
        curve = None
        if part:
            curve = privacy_curve(
                audit.sampler,
                result.pair,
                alpha=whole.alpha * part,
                draws=max(48, whole.trials - trials),
                moment=request.rho,
            )
            result = replace(result, draws=audit.sampler.tally.draws)
    stated = (one for one in audit.subject.claims if isinstance(one, PrivacyClaim))
    of_such = (audit.claim.relation, audit.claim.distance)
    return EpsilonEstimate(
        delta=audit.claim.delta,
        alpha=whole.alpha,
        result=result,
        curve=curve,
        claims=tuple(one for one in stated if (one.relation, one.distance) == of_such),
    )
