"""Identities: arithmetic that comes out as stated, or does not."""

from dataclasses import replace

from ...mechanisms.model import IdentityClaim
from ..evidence.record import IdentityRecord
from ..evidence.write import number
from ..privacy.budget import Budget
from .claim_results import Finding
from .derive import derive


def audit_identity(claim: IdentityClaim, budget: Budget) -> Finding:
    """Compute and compare."""
    computed = claim.compute()
    told: IdentityRecord = {
        "stated": number(claim.stated),
        "computed": number(computed),
        "tolerance": float(claim.tolerance),
    }
    found = derive({"identity": told}, budget)
    return replace(found, witness=computed if found.shown else None)
