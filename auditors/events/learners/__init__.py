"""Ways to propose events. A learner turns counts of draws into families of nested events."""

from collections.abc import Callable, Iterator

from ...additions import LEARNERS as GROUP
from ...additions import added
from ..cuts import Family
from ..ledger import Ledger
from .half_lines import half_lines
from .impossible import impossible
from .ordered_bins import ordered_bins

__all__ = ["LEARNERS", "Learner", "proposed"]

Learner = Callable[[Ledger], Iterator[Family]]

LEARNERS: tuple[Learner, ...] = (half_lines, ordered_bins, impossible)
"""To add one, of one column or of several, write its file and name it here. Scores fitted on all
columns, which are compared with all that these propose, are in `additive`."""


def proposed(ledger: Ledger) -> list[Family]:
    """The families of all learners, those of other packages last."""
    every = (*LEARNERS, *added(GROUP))
    return [family for learner in every for family in learner(ledger) if family.hits.shape[-1]]
