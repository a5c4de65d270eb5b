"""The instruments: neighbours, sampling, event choice, bounds, search, shrinking and verdicts."""

if __name__ != "dpwitness.auditors":
    raise ImportError(f"import dpwitness.auditors, not {__name__}; install dpwitness first")

from .errors import (
    ContractError,
    DpWitnessError,
    EvidenceFormatError,
    InvalidArgument,
    MechanismHangs,
    UnsupportedClaim,
)
from .neighbours import add_remove, replace_one
from .results import AuditResult, Evidence, Pair, Verdict, Witness
from .run import audit, audit_claims

__all__ = [
    "AuditResult",
    "ContractError",
    "DpWitnessError",
    "Evidence",
    "EvidenceFormatError",
    "InvalidArgument",
    "MechanismHangs",
    "Pair",
    "UnsupportedClaim",
    "Verdict",
    "Witness",
    "add_remove",
    "audit",
    "audit_claims",
    "replace_one",
]
