"""Ways to propose events. A learner turns counts of draws into families of nested events."""

from collections.abc import Callable, Iterator

from ..cuts import Family
from ..ledger import Ledger
from .half_lines import half_lines
from .impossible import impossible
from .ordered_bins import ordered_bins

Learner = Callable[[Ledger], Iterator[Family]]

LEARNERS: tuple[Learner, ...] = (half_lines, ordered_bins, impossible)
"""The learners of one column. To add one, write its file and name it here. Scores over many
columns are in `additive`."""
