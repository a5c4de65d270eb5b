"""The theorems, one file for each system: every statement with its parameters and its subject.

Literal forms that are printed wrongly stand beside the forms that hold.
"""

from ..model import Theorem
from . import accounting, composition, laplace, tails, zcdp

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    tails.THEOREMS + laplace.THEOREMS + zcdp.THEOREMS + composition.THEOREMS + accounting.THEOREMS
)
