"""A partition of outputs into finitely many cells, fixed on pilot draws.

Outputs with few different values have a cell for each value and one for the rest. Others are
split by a tree: at every node the coordinate and the threshold on which the two pilot samples
differ most, so that a difference in any direction the pilot shows gets cells of its own.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Array
from .encoding import canonical

MOST_ATOMS = 64
"""Values that have a cell of their own, the most frequent ones first."""
LEAVES = 32
"""Cells that a tree of continuous outputs is grown to, at most about twice as many."""
FEWEST = 30
"""Draws of both sides in a leaf: fewer say nothing of its ratio."""
NOT_A_NUMBER = -np.finfo(float).max

Codes = NDArray[np.int64]


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
        points = _points(outputs)
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


def _points(outputs: Array) -> NDArray[np.float64]:
    """Outputs as rows of numbers, also of no outputs at all."""
    flat = np.asarray(outputs, dtype=float).reshape(len(outputs), prod(outputs.shape[1:]))
    return np.nan_to_num(flat, nan=NOT_A_NUMBER, posinf=np.inf, neginf=-np.inf)


def codes(first: Array, second: Array) -> tuple[Codes, Codes]:
    """Whole numbers from 0, equal exactly for equal outputs, over both arrays."""
    both: Array
    if first.dtype.kind in "biuf" and second.dtype.kind in "biuf":
        both = np.concatenate([_points(first), _points(second)])
        # One column sorts much faster than rows.
        both = both[:, 0] if both.shape[1] == 1 else both
    else:
        rows = [*first.tolist(), *second.tolist()]
        both = np.array([canonical(row) for row in rows])
    axis = 0 if both.ndim > 1 else None
    found = np.unique(both, axis=axis, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found[: len(first)], found[len(first) :]


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
    return _grow(_points(first), _points(second))


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
