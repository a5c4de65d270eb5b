"""The theorems, one file for each system: every statement with its parameters and its subject.

Literal forms that are printed wrongly stand beside the forms that hold.
"""

from ..model import Theorem
from . import (
    accounting,
    base_synopsis,
    boosting,
    boosting_privacy,
    boxes,
    composition,
    conjunctions,
    exponential,
    exponential_utility,
    finite_class,
    gradient_descent,
    gradient_lemmas,
    greedy_conjunctions,
    interior_point,
    laplace,
    noisy_arg_max,
    noisy_gradient_descent,
    pmw_accuracy,
    pmw_records,
    private_multiplicative_weights,
    query_weights,
    tails,
    vector_sum,
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
    *base_synopsis.THEOREMS,
    *boosting.THEOREMS,
    *boosting_privacy.THEOREMS,
    *boxes.THEOREMS,
    *conjunctions.THEOREMS,
    *exponential_utility.THEOREMS,
    *finite_class.THEOREMS,
    *gradient_descent.THEOREMS,
    *gradient_lemmas.THEOREMS,
    *greedy_conjunctions.THEOREMS,
    *interior_point.THEOREMS,
    *noisy_gradient_descent.THEOREMS,
    *pmw_accuracy.THEOREMS,
    *pmw_records.THEOREMS,
    *private_multiplicative_weights.THEOREMS,
    *query_weights.THEOREMS,
    *vector_sum.THEOREMS,
)
