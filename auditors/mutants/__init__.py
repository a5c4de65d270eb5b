"""Small faults planted in a mechanism, to see which of them its claims notice.

Read `sources` (the functions a run reaches), `faults` (what can be wrong with them), `planting`
(how a fault is put in and taken out again), `trial` (one mutant before its claims) and `score`
(the smallest fault of each kind that is seen). `apart` keeps a mutant that hangs from the rest.
"""

from .faults import Fault
from .score import LADDER, Mutant, Score, mutants_of

__all__ = ["LADDER", "Fault", "Mutant", "Score", "mutants_of"]
