"""The theorems, one file for each system: every statement with its parameters and its subject.

Literal forms that are printed wrongly stand beside the forms that hold.
"""

from ..model import Theorem

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = ()
