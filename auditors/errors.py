"""The ways an audit can end without a verdict.

    DpWitnessError
     +-- InvalidArgument       a request that makes no sense; nothing was run
     |    +-- UnsupportedClaim   a claim this auditor cannot judge
     +-- EvidenceFormatError   an evidence file that is not what it says
     +-- ContractError         the mechanism broke the contract or failed
     |    +-- MechanismHangs     a call did not come back in time
     +-- HarnessError          two methods that must agree do not; the tool or a claim is wrong

Every message is one sentence that says what was expected, what came and what to do.
"""

__all__ = [
    "ContractError",
    "DpWitnessError",
    "EvidenceFormatError",
    "HarnessError",
    "InvalidArgument",
    "MechanismHangs",
    "UnsupportedClaim",
]


class DpWitnessError(Exception):
    """Base of every error dpwitness raises on purpose."""


class InvalidArgument(DpWitnessError, ValueError):
    """An argument outside what the documentation allows; correct it and call again."""


class UnsupportedClaim(InvalidArgument):
    """A kind of claim the auditor has no method for."""


class EvidenceFormatError(DpWitnessError, ValueError):
    """An evidence file that cannot be read as one; it may be damaged or from elsewhere."""


class ContractError(DpWitnessError):
    """The mechanism raised, changed its input, or was not a function of (database, rng)."""


class MechanismHangs(ContractError):
    """One call of the mechanism took longer than the time limit."""


class HarnessError(DpWitnessError):
    """An exact and a sampled method contradict each other, or a claim contradicts itself."""
