"""Ways to propose events. A learner turns a pilot into families of nested events."""

from collections.abc import Callable, Iterator

from ..cuts import Family
from ..pilot import Pilot
from .additive import additive
from .half_lines import half_lines
from .impossible import impossible
from .ordered_bins import ordered_bins

__all__ = ["LEARNERS", "Learner"]

Learner = Callable[[Pilot], Iterator[Family]]

LEARNERS: tuple[Learner, ...] = (half_lines, ordered_bins, impossible, additive)
"""The portfolio. To add a learner, write its file and name it here."""
