"""Audits differential-privacy mechanisms and hands back a witness when a claim is false.

    import dpwitness
    result = dpwitness.audit(f, epsilon=1.0, relation="add-remove", databases=strategy)

Six names do most of the work:

    claims     states a claim beside a function
    audit      tests it, and returns a verdict, a bound and a witness
    estimate   bounds the privacy loss from below, without a claim
    check      sets one theorem beside its measurement
    reproduce  does so for many theorems
    replay     makes the recorded runs again

`print` of what they return is the report, and a notebook shows it. `__all__` is the public
surface: what stands there may be relied on, everything else may change. Nothing is loaded before it
is asked for.
"""

from pathlib import Path
from typing import TYPE_CHECKING

# Installed, the other floors lie in this folder; in a clone they stand beside it.
if not Path(__path__[0], "auditors").is_dir():
    __path__.append(str(Path(__path__[0]).parent))

__all__ = [  # noqa: RUF022 - the six that most people need come first
    "audit",
    "claims",
    "estimate",
    "check",
    "reproduce",
    "replay",
    "Analyst",
    "AuditReport",
    "AuditResult",
    "BrokenStatement",
    "BudgetPlan",
    "Choices",
    "Claim",
    "ClaimReport",
    "ClaimResult",
    "ConcentratedCurve",
    "ContractError",
    "Count",
    "Domain",
    "DpWitnessError",
    "Engine",
    "EngineError",
    "EpsilonEstimate",
    "EqualityClaim",
    "Estimate",
    "Evidence",
    "EvidenceFormatError",
    "ExactResult",
    "ExpectationClaim",
    "FiniteLaw",
    "GaussianCurve",
    "GrowthClaim",
    "Guesses",
    "HarnessError",
    "Histogram",
    "IdentityClaim",
    "Interaction",
    "Interval",
    "InvalidArgument",
    "InvariantClaim",
    "GaussianLaw",
    "LaplaceLaw",
    "Law",
    "Learning",
    "Look",
    "LossLaw",
    "Mechanism",
    "MechanismHangs",
    "NegativeControl",
    "OneRun",
    "Pair",
    "Parameter",
    "PointsCurve",
    "PrivacyClaim",
    "Product",
    "ProductLaw",
    "Record",
    "Relation",
    "RenyiCurve",
    "Replay",
    "Reproductions",
    "Rows",
    "Scores",
    "Session",
    "SessionOver",
    "Sketch",
    "Subject",
    "Table",
    "Theorem",
    "Threshold",
    "ThresholdClaim",
    "UnknownArgument",
    "UnsupportedClaim",
    "UtilityClaim",
    "Value",
    "Verdict",
    "Witness",
    "__version__",
    "add_remove",
    "audit_claims",
    "check_purity",
    "guesses_of_one_run",
    "judge",
    "mutants",
    "plan",
    "replace_one",
    "scores",
    "scores_of_one_run",
    "session_mechanism",
]

if TYPE_CHECKING:
    from .auditors.claims.check import check_purity
    from .auditors.claims.claim_results import ClaimResult, Estimate, Table
    from .auditors.databases.neighbours import add_remove, replace_one
    from .auditors.engines.engine import Engine
    from .auditors.errors import (
        ContractError,
        DpWitnessError,
        EngineError,
        EvidenceFormatError,
        HarnessError,
        InvalidArgument,
        MechanismHangs,
        UnknownArgument,
        UnsupportedClaim,
    )
    from .auditors.privacy.estimate import EpsilonEstimate
    from .auditors.privacy.planning import BudgetPlan
    from .auditors.privacy.replay import Replay
    from .auditors.recorded import (
        Guesses,
        OneRun,
        Scores,
        Threshold,
    )
    from .auditors.results.results import (
        AuditResult,
        Count,
        Evidence,
        ExactResult,
        Learning,
        Look,
        Sketch,
        Verdict,
        Witness,
    )
    from .auditors.sessions import session_mechanism
    from .measuring import (
        estimate,
        guesses_of_one_run,
        judge,
        mutants,
        plan,
        scores,
        scores_of_one_run,
    )
    from .mechanisms.marks import claims
    from .mechanisms.model import (
        Analyst,
        BrokenStatement,
        Choices,
        Claim,
        ConcentratedCurve,
        Domain,
        EqualityClaim,
        ExpectationClaim,
        FiniteLaw,
        GaussianCurve,
        GaussianLaw,
        GrowthClaim,
        Histogram,
        IdentityClaim,
        Interaction,
        Interval,
        InvariantClaim,
        LaplaceLaw,
        Law,
        LossLaw,
        Mechanism,
        NegativeControl,
        Pair,
        Parameter,
        PointsCurve,
        PrivacyClaim,
        Product,
        ProductLaw,
        Record,
        Relation,
        RenyiCurve,
        Rows,
        Session,
        SessionOver,
        Subject,
        Theorem,
        ThresholdClaim,
        UtilityClaim,
        Value,
    )
    from .notebook import (
        AuditReport,
        ClaimReport,
        Reproductions,
        audit,
        audit_claims,
        check,
        reproduce,
    )
    from .reports.auditing.replaying import replay

    __version__: str

_HOMES = {
    "auditors.claims.check": ("check_purity",),
    "auditors.claims.claim_results": ("ClaimResult", "Estimate", "Table"),
    "auditors.databases.neighbours": ("add_remove", "replace_one"),
    "auditors.engines.engine": ("Engine",),
    "auditors.errors": (
        "ContractError", "DpWitnessError", "EngineError", "EvidenceFormatError", "HarnessError",
        "InvalidArgument", "MechanismHangs", "UnknownArgument", "UnsupportedClaim",
    ),
    "auditors.privacy.estimate": ("EpsilonEstimate",),
    "auditors.privacy.planning": ("BudgetPlan",),
    "auditors.privacy.replay": ("Replay",),
    "auditors.recorded": ("Guesses", "OneRun", "Scores", "Threshold"),
    "auditors.results.results": (
        "AuditResult", "Count", "Evidence", "ExactResult", "Learning", "Look", "Sketch",
        "Verdict", "Witness",
    ),
    "auditors.sessions": ("session_mechanism",),
    "measuring": (
        "estimate", "guesses_of_one_run", "judge", "mutants", "plan", "scores",
        "scores_of_one_run",
    ),
    "mechanisms.marks": ("claims",),
    "notebook": (
        "AuditReport", "ClaimReport", "Reproductions", "audit", "audit_claims", "check",
        "reproduce",
    ),
    "reports.auditing.replaying": ("replay",),
}  # fmt: skip
"""Where a name is made; what is not listed is made in mechanisms.model."""


def __getattr__(name: str) -> object:
    """Load what was asked for, and nothing else."""
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        return version("dpwitness")
    if name not in __all__:
        raise AttributeError(_sentence(name), name=name)
    home = next((home for home, names in _HOMES.items() if name in names), "mechanisms.model")
    found = getattr(import_module(f"{__name__}.{home}"), name)
    if isinstance(found, type):
        from .answering import answering

        found = answering(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, for completion."""
    return sorted({*__all__, *globals()})


def _sentence(name: str) -> str:
    from difflib import get_close_matches

    folded = {known.casefold(): known for known in __all__}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(folded[word] for word in close)}?" if close else ""
    return f"dpwitness has no public name {name!r}{hint}"
