"""The plainest way to say an event, among those that are the same set of the outputs seen.

"output has the key 'F'" and "length of output is 2" may hold for the same outputs; people read the
first. The choice is made on draws that teach, before any that judge, and what is then judged is the
event that is said.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column
from ..outputs.outputs import Outputs
from ..outputs.questions import questions
from .events import Among, AnyOf, Atom, Event, HalfLine, Intervals, NoneOf

LOOKED_AT = 500
KEPT = 2000
FEWEST = 8
"""Outputs that must lie in the event, and outside, for two events to be called the same."""
MOST_ATOMS = 12
RANK = {
    "has": 0, "value": 1, "equal": 2, "exact": 2, "type": 3, "residue": 3, "missing": 4,
    "length": 5, "keys": 6, "shape": 6, "first": 6,
}  # fmt: skip
"""Which feature people read first; those not named come last."""
LAST = 7


Sides = tuple[Outputs, Outputs]


def kept(seen: Sides, first: Outputs, second: Outputs) -> Sides:
    """The first draws of both sides, with these added while more are wanted."""
    if len(seen[0]) >= KEPT:
        return seen
    one, two = (
        Outputs.concatenate([old, new[: KEPT - len(old)]]) if len(old) else new[:KEPT]
        for old, new in zip(seen, (first, second), strict=True)
    )
    return one, two


def plainest(event: Event, first: Outputs, second: Outputs) -> Event:
    """The event, or a plainer one that holds for exactly the same of these outputs.

    Only an event that holds for some of the outputs and not for others is exchanged. Deterministic
    in the draws.
    """
    if min(len(first), len(second)) < FEWEST:
        return event
    some = [first[:LOOKED_AT], second[:LOOKED_AT]]
    inside = [event.contains(side) for side in some]
    whole = np.concatenate(inside)
    if min(int(whole.sum()), int((~whole).sum())) < FEWEST:
        return event
    best = event
    for candidate in _candidates(some, inside):
        if _plainness(candidate) < _plainness(best) and all(
            np.array_equal(candidate.contains(side), event.contains(side))
            for side in (first, second)
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


def _candidates(some: list[Outputs], inside: list[NDArray[np.bool_]]) -> Iterator[Event]:
    """Events that one value, or all but one value, of a feature make."""
    for feature in questions(some[0], some[1]):
        columns = [side.column(feature) for side in some]
        held, missed = set[Atom](), set[Atom]()
        for column, mask in zip(columns, inside, strict=True):
            held |= _atoms(column, mask)
            missed |= _atoms(column, ~mask)
            if len(held) > MOST_ATOMS and len(missed) > MOST_ATOMS:
                break
        else:
            if held & missed:
                continue
            if len(held) == 1:
                yield Among(feature, tuple(held))
            if len(missed) == 1:
                yield NoneOf(feature, tuple(missed))


def _atoms(column: Column, mask: NDArray[np.bool_]) -> set[Atom]:
    """Different entries inside the mask, a few more than are wanted at most."""
    numbers = mask & ~column.labelled()
    values = np.asarray(column.values, dtype=np.float64)[numbers]
    # One text for each, so that NaN is one value and -0.0 another than 0.0.
    found: dict[str, Atom] = {}
    for value in values[: 4 * MOST_ATOMS].tolist():
        found.setdefault(repr(value), value)
    if len(found) <= MOST_ATOMS:
        found = {repr(value): value for value in values.tolist()}
    atoms: set[Atom] = set(found.values())
    if column.codes is not None:
        here = np.unique(column.codes[mask & (column.codes >= 0)]).tolist()
        atoms |= {column.names[code] for code in here}
    return atoms
