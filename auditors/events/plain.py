"""The plainest way to say an event, among those that are the same set of the outputs seen.

"output has the key 'F'" and "length of output is 2" may hold for the same outputs; people read the
first. The choice is made on draws that teach, before any that judge, and what is then judged is the
event that is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..outputs.questions import questions
from .events import Among, AnyOf, Atom, Event, HalfLine, Intervals, NoneOf

LOOKED_AT = 500
"""Draws of a side on which two events must agree to be the same set."""
KEPT = 2000
"""Draws of a side that are kept to compare events on."""
FEWEST = 8
"""Outputs that must lie in the event, and outside, for two events to be called the same."""
RANK = {
    "has": 0, "value": 1, "equal": 2, "exact": 2, "type": 3, "residue": 3, "missing": 4,
    "length": 5, "keys": 6, "first": 6,
}  # fmt: skip
"""Which feature people read first; those not named come last."""
LAST = 7


@dataclass(frozen=True)
class FirstDraws:
    """The first draws of both sides, and what is worth asking of them."""

    sides: tuple[Outputs, Outputs]

    def joined(self, first: Outputs, second: Outputs) -> "FirstDraws":
        """With these draws added while more are wanted."""
        kept = first.room(KEPT)
        if len(self.sides[0]) >= kept:
            return self
        one, two = (
            Outputs.concatenate([old, new[: kept - len(old)]]) if len(old) else new[:kept]
            for old, new in zip(self.sides, (first, second), strict=True)
        )
        return FirstDraws((one, two))

    @cached_property
    def some(self) -> tuple[Outputs, Outputs]:
        """Those that are looked at for candidates."""
        first, second = self.sides
        return first[:LOOKED_AT], second[:LOOKED_AT]

    @cached_property
    def asked(self) -> list[Feature]:
        """Features by which an event may be said: the same for every event."""
        return questions(*self.some)


def plainest(event: Event, seen: FirstDraws) -> Event:
    """The event, or a plainer one that holds for exactly the same of the outputs seen.

    Only an event that holds for some of the outputs and not for others is exchanged. Deterministic
    in the draws.
    """
    if min(map(len, seen.sides)) < FEWEST:
        return event
    held = [event.contains(side) for side in seen.sides]
    inside = [mask[:LOOKED_AT] for mask in held]
    whole = np.concatenate(inside)
    if min(int(whole.sum()), int((~whole).sum())) < FEWEST:
        return event
    best = event
    for candidate in _candidates(seen, inside):
        if _plainness(candidate) < _plainness(best) and all(
            np.array_equal(candidate.contains(side), mask)
            for side, mask in zip(seen.sides, held, strict=True)
        ):
            best = candidate
    return best


def _plainness(event: Event) -> tuple[int, int, int]:
    """Smaller is plainer: what it asks, how many values it names, how long it is."""
    match event:
        case Among() | NoneOf():
            rank = RANK.get(event.feature.kind, LAST)
            negative = int(isinstance(event, NoneOf)) + 2 * (len(event.values) > 1)
            depth = len(event.feature.path)
            return 2 * rank + 3 * negative + depth, len(event.values), len(event.describe())
        case HalfLine():
            rank = RANK.get(event.feature.kind, LAST)
            return 2 * rank + 2 + len(event.feature.path), 1, len(event.describe())
        case Intervals():
            return 20, len(event.intervals), len(event.describe())
        case AnyOf():
            return 25, len(event.events), len(event.describe())
    return 40, 0, 0


def _candidates(seen: FirstDraws, inside: list[NDArray[np.bool_]]) -> Iterator[Event]:
    """Events that one value, or all but one value, of a feature make."""
    for feature in seen.asked:
        columns = [side.column(feature) for side in seen.some]
        held, missed = set[Atom](), set[Atom]()
        for column, mask in zip(columns, inside, strict=True):
            held |= _atoms(column, mask)
            missed |= _atoms(column, ~mask)
            if (len(held) > 1 and len(missed) > 1) or not held.isdisjoint(missed):
                break
        else:
            if len(held) == 1:
                yield Among(feature, tuple(held))
            if len(missed) == 1:
                yield NoneOf(feature, tuple(missed))


def _atoms(column: Column, mask: NDArray[np.bool_]) -> set[Atom]:
    """Different entries inside the mask."""
    values = np.asarray(column.values, dtype=np.float64)[mask & ~column.labelled()]
    # NaN is one value however often it comes, and equals none.
    lost = np.isnan(values)
    atoms: set[Atom] = {*values[~lost].tolist(), *values[lost][:1].tolist()}
    if column.codes is not None:
        here = np.unique(column.codes[mask & (column.codes >= 0)]).tolist()
        atoms |= {column.names[code] for code in here}
    return atoms
