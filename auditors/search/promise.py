"""The bound on epsilon that a pair promises, and the neighbours that promise most.

If a pair loses a little on each of many coordinates, no single coordinate shows it, and a few
thousand independent draws cannot tell a loss of 0.05 from one of 0.1. Draws of both sides from the
same generator states can, because the noise they share cancels. A linear score over the bins of
all coordinates is fitted on one half of the draws and measured on the other, beside each coordinate
alone and the output as a whole.

The slope of ln P(y) proposes neighbours, so that a database at random does what corners do. A
neighbour that is made by several choices (a step in each of ten coordinates) need not be looked for
among thousands: the same draws of a database, held on the neighbours that differ in one choice, say
of every output y by how much each choice changes ln P'(y). These changes add up as long as they are
small, so that choice by choice the better end makes the neighbour under which y is least, or most,
likely. Of an output that is not rare the slope is learnt by regression on its cells, and the
neighbours that promise most by it are looked at like all others. Nothing here decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from math import isfinite
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.model import Database, Pair
from ..events.estimates import regressed
from ..outputs.encoding import canonical
from ..outputs.features import Feature
from ..outputs.outputs import Outputs
from .choices import ChoiceSpace, Example, ExampleChoice, Value

FEWEST = 24
"""Draws a side below which nothing is promised."""
BINS = 32
"""Bins of a column that is alone; less where there are many."""
MOST_CELLS = 96
"""Bins and labels of all columns together."""
MOST_SHAPES = 64
"""Different outputs up to which each is a category of its own."""
RIDGE = 0.02
"""The ridge of the fit, as a part of the mean variance of a cell."""
TAILS = (0.005, 0.01, 0.02, 0.04, 0.07)
"""Parts of the draws beyond the outermost cuts, at both ends."""
CUTS = np.array([*TAILS, *np.arange(0.1, 0.95, 0.05), *(1 - np.array(TAILS[::-1]))])
"""Where scores are cut: parts of the draws that lie below."""
LEVEL = 1.645
"""Standard deviations that a count to come stays below what it estimates."""
SURELY = 2.0
"""Standard errors by which the promise stays below what these draws say."""

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Number = TypeVar("Number", bound=np.generic)
MOST_MOVES = 64
"""Moves of single choices whose slopes are asked for."""
FEWEST_CHOICES = 2
"""Choices of a neighbour below which every end of them is a pair that other stages make."""
PARTS = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5])
"""The events that a proposal is rated by: so many of the draws, those with the largest scores."""
PROPOSED = 3
"""Proposals of one database."""


def promise(first: Outputs, second: Outputs, *, delta: float, trials: int) -> float:
    """The lower bound on epsilon (nats) that a count of `trials` draws a side is foreseen to give.

    It stays two standard errors below the foreseen one, as the best of many scores and cuts; -inf
    where too few draws say nothing. The standard error is measured from the differences of the i-th
    outputs of both sides, so it is small where they share their noise and right where they do not.
    """
    size = min(len(first), len(second))
    if size < FEWEST:
        return -np.inf
    columns = columns_of(first[:size], second[:size])
    if not columns:
        return 0.0
    scores = []
    for fitted, measured in ((slice(0, size, 2), slice(1, size, 2)),
                             (slice(1, size, 2), slice(0, size, 2))):  # fmt: skip
        scores.append((measured, _scores(columns, fitted)))
    best = 0.0
    for kind in range(len(scores[0][1])):
        both = np.empty((2, size))
        for measured, found in scores:
            both[:, measured] = found[kind][:, measured]
        best = max(best, _best_cut(both, delta, trials))
    return best


def weighed_promise(outputs: Outputs, counts: Floats, *, delta: float, trials: int) -> float:
    """The same from draws that each count for both sides: see `tape.weighing`.

    The first half of the outputs are of the first side; `counts` has shape (2 sides, draws).
    """
    size, half = len(outputs), len(outputs) // 2
    if half < FEWEST:
        return -np.inf
    columns = [codes.reshape(-1) for codes in columns_of(outputs[:half], outputs[half:])]
    if not columns:
        return 0.0
    a, b = counts
    # What each draw says, with the variance of a label that tells the sides apart as the unit.
    labels, noise = (a - b) / (a + b), float(np.average(((a - b) / (a + b)) ** 2, weights=a + b))
    groups = [[codes] for codes in columns] + ([columns] if len(columns) > 1 else [])
    best = 0.0
    for group in groups:
        scores = np.empty(size)
        for fold in (0, 1):
            taught, held = slice(fold, None, 2), slice(1 - fold, None, 2)
            sizes = [int(codes.max()) + 1 for codes in group]
            some = [codes[taught] for codes in group]
            tables = regressed(some, sizes, labels[taught], (a + b)[taught], noise)
            scores[held] = sum(
                table[codes[held]] for table, codes in zip(tables, group, strict=True)
            )
        best = max(best, _best_weighed_cut(scores, a, b, delta, trials))
    return best


def _best_weighed_cut(scores: Floats, a: Floats, b: Floats, delta: float, trials: int) -> float:
    order = np.argsort(scores, kind="stable")
    ordered, size = scores[order], len(scores)
    places = _distinct(np.searchsorted(ordered, ordered[(CUTS * size).astype(int)]))
    places = places[(places >= FEWEST // 4) & (places <= size - FEWEST // 4)] - 1
    one, two = a[order], b[order]
    below = np.array([np.cumsum(side)[places] for side in (one, two, (one - two) ** 2)])
    every = np.array([side.sum() for side in (one, two, (one - two) ** 2)])
    best = 0.0
    for p, q, v in (below[[1, 0, 2]], (every[:, None] - below)):
        x, y = p / size, q / size
        excess = np.maximum(x - delta, 1e-12)
        future = np.maximum(x * (1 - x), 0) / excess**2 + np.maximum(1 - y, 0) / np.maximum(
            y, 1e-12
        )
        now = (
            np.maximum(v - (p - q) ** 2 / size, 0)
            / (size * np.maximum(np.minimum(excess, y), 1e-12)) ** 2
        )
        with np.errstate(all="ignore"):
            found = np.log(excess / y) - LEVEL * np.sqrt(future / trials) - SURELY * np.sqrt(now)
        best = max(best, float(np.max(np.where((x > delta) & (y > 0), found, 0.0), initial=0.0)))
    return best


def columns_of(first: Outputs, second: Outputs) -> list[Codes]:
    """The bin or label of each output in each column, shape (2, draws); the whole output last."""
    paths = list(dict.fromkeys((*first[:100].paths(), *second[:100].paths())))
    bins = int(np.clip(MOST_CELLS // max(1, len(paths)), 2, BINS))
    found: list[Codes] = []
    for path in paths[: MOST_CELLS // 3]:
        sides = [side.column(Feature("value", path)) for side in (first, second)]
        values = np.array([np.asarray(side.values, dtype=np.float64) for side in sides])
        numbers = np.sort(values[~np.isnan(values)])
        cuts = np.arange(1, bins) * len(numbers) // bins
        edges = _distinct(numbers[cuts]) if len(numbers) else numbers
        codes = np.searchsorted(edges, values, side="left")
        codes[np.isnan(values)] = len(edges) + 1
        names = dict.fromkeys((*sides[0].names, *sides[1].names))
        places = {name: len(edges) + 2 + min(i, bins) for i, name in enumerate(names)}
        codes = np.array(
            [side.replaced(codes[i], places, len(edges) + 1) for i, side in enumerate(sides)]
        )
        used = np.bincount(codes.reshape(-1)) > 0
        if used.sum() > 1:
            found.append((np.cumsum(used) - 1)[codes])
    if len(found) > 1:
        rows = np.stack(found, axis=-1).reshape(-1, len(found)).astype(np.uint8)
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
        shapes, flat = np.unique(whole, return_inverse=True)
        if len(shapes) <= MOST_SHAPES:
            found.append(flat.reshape(2, -1))
    return found


def _distinct(ordered: NDArray[Number]) -> NDArray[Number]:
    """Each of some numbers in order, once; `np.unique` would sort them again."""
    return ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]


def _scores(columns: list[Codes], fitted: slice) -> list[Floats]:
    """Scores of every output, shape (2, draws): all columns together, each alone, its order."""
    tables = [_table(codes, fitted) for codes in columns]
    alone = [table[codes] for table, codes in zip(tables, columns, strict=True)]
    alone += [codes.astype(np.float64) for codes in columns]
    return [_joint(columns, fitted), *alone] if len(columns) > 1 else alone


def _table(codes: Codes, fitted: slice) -> Floats:
    """Smoothed log-ratios of the cells of one column."""
    cells = int(codes.max()) + 1
    a, b = (np.bincount(side[fitted], minlength=cells) + 0.0 for side in codes)
    # Half a draw in each cell, and less weight for the rare ones, that luck does not lead.
    ratio = np.log((a + 0.5) / (b + 0.5))
    found: Floats = ratio * (a + b) / (a + b + 4.0)
    return found


def _joint(columns: list[Codes], fitted: slice) -> Floats:
    """The linear score over the cells of all columns that tells the two sides apart best."""
    sizes = [int(codes.max()) + 1 for codes in columns]
    starts = np.cumsum([0, *sizes])
    cells, half = int(starts[-1]), columns[0][:, fitted].shape[1]
    taught = [codes[:, fitted] for codes in columns]
    means = np.concatenate(
        [
            [np.bincount(side, minlength=size) for side in codes]
            for codes, size in zip(taught, sizes, strict=True)
        ],
        axis=1,
    )
    means = means / half
    spread = np.zeros((cells, cells))
    # Counted pair by pair: a product of matrices would start threads that cost more than it.
    for i, one in enumerate(taught):
        for j in range(i + 1):
            both = one * sizes[j] + taught[j]
            table = np.bincount(both.reshape(-1), minlength=sizes[i] * sizes[j])
            part = table.reshape(sizes[i], sizes[j]) / (2 * half)
            rows, places = slice(*starts[i : i + 2]), slice(*starts[j : j + 2])
            spread[rows, places], spread[places, rows] = part, part.T
    centre = means.mean(axis=0)
    spread -= np.outer(centre, centre)
    ridge = RIDGE * float(np.trace(spread)) / cells + cells / (4 * half)
    weights = np.linalg.solve(spread + ridge * np.eye(cells), means[0] - means[1])
    found: Floats = np.sum(
        [weights[start + codes] for start, codes in zip(starts, columns, strict=False)],
        axis=0,
    )
    return found


def _best_cut(both: Floats, delta: float, trials: int) -> float:
    """The promise of the best event "the score is above a cut" or "below", of both directions."""
    size = both.shape[1]
    pooled = np.sort(both.reshape(-1))
    cuts = _distinct(pooled[(CUTS * (len(pooled) - 1)).astype(int)])
    above = both[:, :, None] > cuts
    hits = above.sum(axis=1)
    moved = (above[0] != above[1]).sum(axis=0)
    best = 0.0
    for p, q in ((hits[0], hits[1]), (size - hits[1], size - hits[0])):
        best = max(best, float(np.max(_foreseen(p, q, moved, size, delta, trials), initial=0.0)))
    return best


def _foreseen(p: Codes, q: Codes, moved: Codes, size: int, delta: float, trials: int) -> Floats:
    """Log-ratios less what the count to come and these draws leave open."""
    x, y = (p + 0.5) / (size + 1), (q + 0.5) / (size + 1)
    excess = np.maximum(x - delta, 1e-12)
    future = x * (1 - x) / excess**2 + (1 - y) / y
    net = np.maximum(moved - (p - q) ** 2 / size, 0) + 1.0
    now = np.minimum(net / (size * np.minimum(excess, y)) ** 2, future / size)
    found = np.log(excess / y) - LEVEL * np.sqrt(future / trials) - SURELY * np.sqrt(now)
    return np.asarray(np.where(x > delta, found, 0.0))


@dataclass(frozen=True, slots=True)
class Move:
    """One choice of a pair changed so that its second database alone is another."""

    place: int
    value: Value
    neighbour: Database


def moves_of(space: ChoiceSpace, example: Example) -> list[Move]:
    """The moves to the ends of single choices; none where fewer than two choices can be moved."""
    pair = example.value
    assert isinstance(pair, Pair)
    found: list[Move] = []
    database, neighbour = canonical(pair.database), canonical(pair.neighbour)
    for place, choice in enumerate(example.choices):
        for end in _other_ends(choice):
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


def _other_ends(choice: ExampleChoice) -> list[Value]:
    """The least and the largest value of a bounded choice, without the one that was made."""
    low, high = choice.constraints.get("min_value"), choice.constraints.get("max_value")
    ends: list[Value] = []
    if choice.kind == "boolean":
        ends = [False, True]
    elif choice.kind == "integer" and low is not None and high is not None:
        ends = [low, high]
    elif choice.kind == "float" and low is not None and high is not None:
        ends = [low, high] if isfinite(low) and isfinite(high) else []
    return [end for end in dict.fromkeys(ends) if end != choice.value and choice.permits(end)]


def proposed(
    example: Example, moves: Sequence[Move], outputs: Outputs, log_weights: Floats, trials: int
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
    rated = np.maximum(_best_part(scores, trials), _best_part(-scores[:, ::-1], trials))
    order = np.argsort(-rated, kind="stable")[:PROPOSED]
    found = []
    for step in steps[order]:
        values: list[object] = list(example.values)
        for move in compress(moves, step):
            values[move.place] = move.value
        found.append(values)
    return found


def _learnt(columns: Sequence[Codes], labels: Floats) -> Floats:
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


def _best_part(scores: Floats, trials: int) -> Floats:
    """The bound that the draws of largest score promise, for each row of ascending scores."""
    size = scores.shape[1]
    sums = np.cumsum(scores[:, ::-1], axis=1)
    counts = np.maximum(1, (PARTS * size).astype(int))
    means = sums[:, counts - 1] / counts
    found: Floats = (means - LEVEL * np.sqrt(2 * (1 - PARTS) / (PARTS * trials))).max(axis=1)
    return found
