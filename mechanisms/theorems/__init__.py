"""The theorems, one file for each system: every statement with its parameters and its subject.

Literal forms that are printed wrongly stand beside the forms that hold.
"""

from ..model import Theorem
from . import (
    accounting,
    boxes,
    composition,
    conjunctions,
    exponential,
    exponential_utility,
    finite_class,
    greedy_conjunctions,
    interior_point,
    laplace,
    noisy_arg_max,
    pmw_accuracy,
    pmw_records,
    private_multiplicative_weights,
    tails,
    zcdp,
)

__all__ = ["THEOREMS"]

THEOREMS: tuple[Theorem, ...] = (
    *tails.THEOREMS,
    *laplace.THEOREMS,
    *composition.THEOREMS,
    *accounting.THEOREMS,
    *zcdp.THEOREMS,
    *exponential.THEOREMS,
    *noisy_arg_max.THEOREMS,
    *boxes.THEOREMS,
    *conjunctions.THEOREMS,
    *exponential_utility.THEOREMS,
    *finite_class.THEOREMS,
    *greedy_conjunctions.THEOREMS,
    *interior_point.THEOREMS,
    *pmw_accuracy.THEOREMS,
    *pmw_records.THEOREMS,
    *private_multiplicative_weights.THEOREMS,
)
