"""Identities: arithmetic that comes out as stated, or does not."""

from math import isnan

from ...mechanisms.model import IdentityClaim
from ..results.results import Verdict
from .claim_results import Estimate, Finding, Table


def audit_identity(claim: IdentityClaim) -> Finding:
    """Compute and compare."""
    found = float(claim.compute())
    gap = abs(found - claim.stated) if found != claim.stated else 0.0
    holds = not isnan(gap) and gap <= claim.tolerance
    return Finding(
        claimed=claim.stated,
        measured=Estimate(value=found, low=found, high=found, error=0.0),
        exact=found,
        proved=Verdict.PROVED if holds else Verdict.REFUTED,
        method="arithmetic in double precision",
        scope=f"equal up to {claim.tolerance:g}",
        table=Table(
            columns=("stated", "computed", "difference", "tolerance"),
            rows=((claim.stated, found, found - claim.stated, claim.tolerance),),
        ),
        witness=None if holds else found,
    )
