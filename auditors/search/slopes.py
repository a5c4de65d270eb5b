"""Neighbours proposed by the slope of ln P(y), so that a database at random does what corners do.

A neighbour that is made by several choices (a step in each of ten coordinates) need not be looked
for among thousands: the same draws of a database, held on the neighbours that differ in one choice,
say of every output y by how much each choice changes ln P'(y). These changes add up as long as they
are small, so that choice by choice the better end makes the neighbour under which y is least, or
most, likely. Of an output that is not rare the slope is learnt by regression on its cells, and the
neighbours that promise most by it are looked at like all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, Pair
from ..events.regression import regressed
from ..outputs.encoding import canonical
from .choices import ChoiceSpace, Example, ExampleChoice
from .promise import LEVEL, columns_of

Floats = NDArray[np.float64]
MOST_MOVES = 64
"""Moves of single choices whose slopes are asked for."""
FEWEST_CHOICES = 2
"""Choices of a neighbour below which every end of them is a pair that other stages make."""
PARTS = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5])
"""The events that a proposal is rated by: so many of the draws, those with the largest scores."""
PROPOSED = 3
"""Proposals of one database."""


@dataclass(frozen=True, slots=True)
class Move:
    """One choice of a pair changed so that its second database alone is another."""

    place: int
    value: Any
    neighbour: Database


def moves_of(space: ChoiceSpace, example: Example) -> list[Move]:
    """The moves to the ends of single choices; none where fewer than two choices can be moved."""
    pair = example.value
    found: list[Move] = []
    database, neighbour = canonical(pair.database), canonical(pair.neighbour)
    for place, choice in enumerate(example.choices):
        for end in _ends(choice):
            if len(found) == MOST_MOVES:
                break
            values = list(example.values)
            values[place] = end
            made = space.made(values)
            other = None if made is None else made.value
            if not isinstance(other, Pair):
                continue
            if canonical(other.database) == database and canonical(other.neighbour) != neighbour:
                found.append(Move(place, end, other.neighbour))
    return found if len({move.place for move in found}) >= FEWEST_CHOICES else []


def _ends(choice: ExampleChoice) -> list[Any]:
    """The least and the largest value of a bounded choice, without the one that was made."""
    low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
    ends: list[Any] = []
    if choice.kind == "boolean":
        ends = [False, True]
    elif choice.kind == "integer" and None not in (low, high):
        ends = [low, high]
    elif choice.kind == "float" and low is not None and high is not None:
        ends = [low, high] if isfinite(low) and isfinite(high) else []
    return [end for end in dict.fromkeys(ends) if end != choice.value and choice.permits(end)]


def proposed(
    example: Example, moves: Sequence[Move], outputs: Any, log_weights: Floats, trials: int
) -> list[list[object]]:
    """The choices of the neighbours that promise most, the best first.

    `log_weights` has shape (1 + moves, draws): for the neighbour as it is, and after each move;
    NaN where a draw is not held. `trials` are draws a side that will count.
    """
    half = len(outputs) // 2
    columns = [codes.reshape(-1) for codes in columns_of(outputs[:half], outputs[half : 2 * half])]
    if not columns:
        return []
    given = np.nan_to_num(log_weights[:, : 2 * half])
    base, slopes = given[0], given[1:] - given[0]
    learnt = np.array([_learnt(columns, labels) for labels in (base, *slopes)])
    places = np.array([move.place for move in moves])
    chosen: dict[bytes, NDArray[np.bool_]] = {}
    for sign in (1, -1):
        # Of each draw and place the move that gains most, none where all lose.
        taken = np.zeros((len(moves), 2 * half), dtype=bool)
        for place in np.unique(places):
            some = np.flatnonzero(places == place)
            gains = sign * learnt[1:][some]
            best = gains.argmax(axis=0)
            taken[some[best], np.arange(2 * half)] = gains.max(axis=0) > 0
        for draw in taken.T:
            chosen.setdefault(draw.tobytes(), draw)
    steps = np.array(list(chosen.values()))
    # Summed without a product of matrices, whose bits depend on the machine.
    scores = np.sort(learnt[0] + np.einsum("ij,jk->ik", steps, learnt[1:]), axis=1)
    rated = np.maximum(_foreseen(scores, trials), _foreseen(-scores[:, ::-1], trials))
    order = np.argsort(-rated, kind="stable")[:PROPOSED]
    found = []
    for step in steps[order]:
        values = list(example.values)
        for move in compress(moves, step):
            values[move.place] = move.value
        found.append(values)
    return found


def _learnt(columns: Sequence[NDArray[np.integer[Any]]], labels: Floats) -> Floats:
    """The mean of labels given the output, each draw by what the other half teaches."""
    sizes, scores = [int(codes.max()) + 1 for codes in columns], np.empty(len(labels))
    ones, noise = np.ones(len(labels)), float(labels.var())
    for fold in (0, 1):
        taught, rest = slice(fold, None, 2), slice(1 - fold, None, 2)
        some = [codes[taught] for codes in columns]
        tables = regressed(some, sizes, labels[taught], ones[taught], noise)
        scores[rest] = labels[taught].mean() + sum(
            table[codes[rest]] for table, codes in zip(tables, columns, strict=True)
        )
    return scores


def _foreseen(scores: Floats, trials: int) -> Floats:
    """The bound that the draws of largest score promise, for each row of ascending scores."""
    size = scores.shape[1]
    sums = np.cumsum(scores[:, ::-1], axis=1)
    counts = np.maximum(1, (PARTS * size).astype(int))
    means = sums[:, counts - 1] / counts
    found: Floats = (means - LEVEL * np.sqrt(2 * (1 - PARTS) / (PARTS * trials))).max(axis=1)
    return found
