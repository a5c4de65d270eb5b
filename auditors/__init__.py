"""The instruments: neighbours, sampling, event choice, bounds, search, shrinking and verdicts."""

if __name__ != "dpwitness.auditors":
    raise ImportError(f"import dpwitness.auditors, not {__name__}; install dpwitness first")

from .claim_results import ClaimResult, Estimate, Table
from .errors import (
    ContractError,
    DpWitnessError,
    EvidenceFormatError,
    HarnessError,
    InvalidArgument,
    MechanismHangs,
    UnsupportedClaim,
)
from .neighbours import add_remove, replace_one
from .purity import check_purity
from .results import AuditResult, Evidence, Pair, Verdict, Witness
from .run import audit, audit_claims
from .theorems import check

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
