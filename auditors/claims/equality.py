"""Equality in distribution: a test on cells fixed beforehand, an equivalence bound, exact laws.

What both samplers draw is put in finitely many cells, fixed on pilot draws. Outputs with few
different values have a cell for each value and one for the rest. Others are split by a tree: at
every node the coordinate and the threshold on which the two pilot samples differ most, so that a
difference in any direction the pilot shows gets cells of its own.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array, Database, EqualityClaim, FiniteLaw, Mechanism
from ..asked import Budget
from ..evidence.record import CellsRecord, ComparisonsRecord
from ..outputs.encoding import Codes, as_points, codes, show
from ..sampling.draws import Draws
from .claim_results import Finding
from .derive import derive, p_of_cells
from .follows_law import require_law

PILOT = 0.1
"""Part of the draws that choose the cells and are not counted."""
MOST_PILOT = 20_000
"""Draws that choose the cells, at most: more make no better cells of so few."""
MOST_ATOMS = 64
"""Values that have a cell of their own, the most frequent ones first."""
LEAVES = 32
"""Cells that a tree of continuous outputs is grown to, at most about twice as many."""
FEWEST = 30
"""Draws of both sides in a leaf: fewer say nothing of its ratio."""


def audit_equality(
    claim: EqualityClaim,
    mechanism: Mechanism | None,
    budget: Budget,
) -> Finding:
    """Compare the two samplers on each of the claim's databases, the budget's trials a side in all.

    Equal laws are refuted with probability at most its alpha. `measured` is the total variation of
    the laws on the cells, with its upper bound.
    """
    alpha = budget.alpha
    share, each = alpha / len(claim.databases), max(20, budget.trials // len(claim.databases))
    found = [
        _compare(claim, mechanism, database, share, each, budget.seed)
        for database in claim.databases
    ]
    told: ComparisonsRecord = {"databases": found, "draws": each}
    concluded = derive({"comparisons": told}, budget)
    if not concluded.shown:
        return concluded
    places = {one["database"]: place for place, one in reversed([*enumerate(found)])}
    return replace(concluded, witness=claim.databases[places[concluded.shown]])


def _compare(
    claim: EqualityClaim,
    mechanism: Mechanism | None,
    database: Database,
    alpha: float,
    draws: int,
    seed: int,
) -> CellsRecord:
    own_draws = Draws.of(mechanism, seed)
    other_draws = Draws(run=claim.other, seed=seed, side=1, trust_rows=own_draws.trust_rows)
    sides = (own_draws, other_draws)
    pilot = max(10, min(MOST_PILOT, round(PILOT * draws)))
    cells = learn_cells(*(side.array(database, "pilot", 0, pilot) for side in sides))
    first, second = (side.array(database, "claim", 0, draws - pilot) for side in sides)
    names = cells.names
    counts = [np.bincount(cells.place(part), minlength=len(names)) for part in (first, second)]
    for side in sides:
        side.gate(refuted=p_of_cells(np.array(counts), alpha, seed) <= alpha)
    own = mechanism.law(database) if mechanism is not None and mechanism.law is not None else None
    own = own if isinstance(own, FiniteLaw) else None
    other = claim.law(database) if claim.law is not None else None
    for law, part, what in ((own, first, "the mechanism"), (other, second, "the other sampler")):
        if law is not None:
            require_law(law, part, what)
    chances = [_on_cells(law, cells, len(names)) for law in (own, other)]
    return {
        "database": show(database),
        "cells": [
            {
                "cell": name,
                "hits": [int(side[k]) for side in counts],
                "exact": [None if law is None else law[k] for law in chances],
            }
            for k, name in enumerate(names)
        ],
        "distance": None if own is None or other is None else _distance(own, other),
    }


def _on_cells(law: FiniteLaw | None, cells: "Cells", number: int) -> list[float] | None:
    if law is None:
        return None
    chances = np.exp(np.asarray(law.log_probabilities, dtype=float))
    places = cells.place(np.asarray(law.outcomes))
    return np.bincount(places, weights=chances, minlength=number).tolist()


def _distance(own: FiniteLaw, other: FiniteLaw) -> float:
    """Total variation of two finite laws, whose outcomes need not be in the same order."""
    one, two = codes(np.asarray(own.outcomes), np.asarray(other.outcomes))
    chances = np.zeros((2, 1 + max(int(one.max()), int(two.max()))))
    for row, law, places in zip(chances, (own, other), (one, two), strict=True):
        np.add.at(row, places, np.exp(np.asarray(law.log_probabilities, dtype=float)))
    return float(np.abs(chances[0] - chances[1]).sum()) / 2


@dataclass(frozen=True, slots=True)
class Atoms:
    """One cell for each of these outputs, and the last for all others."""

    outputs: Array

    @property
    def names(self) -> list[str]:
        """What each cell is, for people."""
        return [str(value) for value in self.outputs.tolist()] + ["any other"]

    def place(self, outputs: Array) -> Codes:
        """The cell of each output."""
        atoms, drawn = codes(self.outputs, outputs)
        last = len(self.outputs)
        table = np.full(max(int(atoms.max()), int(drawn.max(initial=0))) + 1, last)
        table[atoms] = np.arange(last)
        return table[drawn]


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes (coordinate, threshold, left, right); a leaf has coordinate -1 and its cell left."""

    nodes: tuple[tuple[int, float, int, int], ...]
    cells: int

    @property
    def names(self) -> list[str]:
        """What each cell is, for people."""
        found = [""] * self.cells
        stack = [(0, "")]
        while stack:
            node, text = stack.pop()
            coordinate, cut, left, right = self.nodes[node]
            if coordinate < 0:
                found[left] = text or "everything"
                continue
            joint = f"{text}, " if text else ""
            stack.append((left, f"{joint}y{coordinate} <= {cut:.4g}"))
            stack.append((right, f"{joint}y{coordinate} > {cut:.4g}"))
        return found

    def place(self, outputs: Array) -> Codes:
        """The cell of each output."""
        points = as_points(outputs)
        answer = np.zeros(len(points), dtype=np.int64)
        stack = [(0, np.arange(len(points)))]
        while stack:
            node, inside = stack.pop()
            coordinate, cut, left, right = self.nodes[node]
            if coordinate < 0:
                answer[inside] = left
                continue
            low = points[inside, coordinate] <= cut
            stack += [(left, inside[low]), (right, inside[~low])]
        return answer


Cells = Atoms | Tree


def learn_cells(first: Array, second: Array) -> Cells:
    """Cells to compare two samplers on, from pilot draws of both."""
    one, two = codes(first, second)
    both = np.concatenate([one, two])
    counts = np.bincount(both)
    numeric = first.dtype.kind in "biuf" and second.dtype.kind in "biuf"
    if len(counts) <= MOST_ATOMS or not numeric:
        kept = np.argsort(-counts, kind="stable")[:MOST_ATOMS]
        places = np.sort([int(np.argmax(both == code)) for code in kept])
        return Atoms(np.concatenate([first, second])[places])
    return _grow(as_points(first), as_points(second))


def _grow(first: NDArray[np.float64], second: NDArray[np.float64]) -> Tree:
    least = max(FEWEST, (len(first) + len(second)) // (2 * LEAVES))
    nodes: list[tuple[int, float, int, int]] = [(-1, 0.0, 0, 0)]
    waiting, cells = [(0, first, second)], 0
    while waiting:
        node, one, two = waiting.pop(0)
        split = _split(one, two, least)
        if split is None:
            nodes[node] = (-1, 0.0, cells, 0)
            cells += 1
            continue
        coordinate, cut = split
        nodes[node] = (coordinate, cut, len(nodes), len(nodes) + 1)
        for below in (True, False):
            sides = [part[(part[:, coordinate] <= cut) == below] for part in (one, two)]
            waiting.append((len(nodes), sides[0], sides[1]))
            nodes.append((-1, 0.0, 0, 0))
    return Tree(tuple(nodes), cells)


def _split(
    one: NDArray[np.float64], two: NDArray[np.float64], least: int
) -> tuple[int, float] | None:
    """The (coordinate, threshold) that tells the samples apart best, leaving `least` each side."""
    both = np.concatenate([one, two])
    # A stretch that one sampler never enters tells as much whole as cut.
    if len(both) < 2 * least or not (len(one) and len(two)):
        return None
    best: tuple[float, int, float] | None = None
    for coordinate in range(both.shape[1]):
        column = both[:, coordinate]
        for cut in np.unique(np.quantile(column, np.linspace(0.05, 0.95, 19), method="lower")):
            inside = int(np.count_nonzero(column <= cut))
            if min(inside, len(both) - inside) < least:
                continue
            share, rest = inside / len(both), 1 - inside / len(both)
            gap = np.mean(one[:, coordinate] <= cut) - np.mean(two[:, coordinate] <= cut)
            # Cuts near the middle win where the samples do not differ.
            score = abs(float(gap)) / np.sqrt(share * rest) + 0.01 * share * rest
            if best is None or score > best[0]:
                best = (float(score), coordinate, float(cut))
    return best[1:] if best else None
