"""The instruments: neighbours, sampling, event choice, bounds, search, shrinking and verdicts."""

if __name__ != "dpwitness.auditors":
    raise ImportError(f"import dpwitness.auditors, not {__name__}; install dpwitness first")

from .claims.check import check
from .claims.claim_results import ClaimResult, Estimate, Table
from .claims.purity import check_purity
from .databases.neighbours import add_remove, replace_one
from .errors import (
    ContractError,
    DpWitnessError,
    EvidenceFormatError,
    HarnessError,
    InvalidArgument,
    MechanismHangs,
    UnsupportedClaim,
)
from .privacy.run import audit, audit_claims
from .results import AuditResult, Evidence, Pair, Verdict, Witness

__all__ = [
    "AuditResult",
    "ClaimResult",
    "ContractError",
    "DpWitnessError",
    "Estimate",
    "Evidence",
    "EvidenceFormatError",
    "HarnessError",
    "InvalidArgument",
    "MechanismHangs",
    "Pair",
    "Table",
    "UnsupportedClaim",
    "Verdict",
    "Witness",
    "add_remove",
    "audit",
    "audit_claims",
    "check",
    "check_purity",
    "replace_one",
]
