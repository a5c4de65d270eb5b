"""The theorems, one file for each system: every statement with its parameters and its subject.

Literal forms that are printed wrongly stand beside the forms that hold.
"""

from ..model import Theorem
from . import pmw_accuracy, pmw_records, private_multiplicative_weights

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    *private_multiplicative_weights.THEOREMS,
    *pmw_accuracy.THEOREMS,
    *pmw_records.THEOREMS,
)
