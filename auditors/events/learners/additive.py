"""Additive scores: one smoothed table of log-ratios for each coordinate, summed.

Three variants compete: tables of their own for the coordinates, one table shared by all of them
(coordinates that carry the same small shift), and tables for the first coordinate and the
differences of neighbours (cumulative releases).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...outputs.features import Feature
from ..cuts import Family, smooth
from ..pilot import Binned, Pilot, tidy
from ..scores import AdditiveScore, Table

__all__ = ["additive"]

CELLS = 128
FEWEST = 200
THRESHOLDS = 90


def additive(pilot: Pilot) -> Iterator[Family]:
    """Families of score thresholds, for outputs with two coordinates or more."""
    values = [c for c in pilot.columns if c.feature.kind == "value" and c.feature.path]
    if len(values) < 2 or len(pilot.fit[0]) < FEWEST:
        return
    own = tuple(_table(column, column) for column in values)
    variants = [own]
    if all(not c.labels and not c.discrete for c in values):
        shared = _pooled(values)
        variants.append(tuple(_table(shared, column) for column in values))
        steps = _steps(pilot, values)
        if len(steps) == len(values):
            variants.append(tuple(_table(column, column) for column in steps))
    for tables in variants:
        yield from _families(pilot, tables)


def _steps(pilot: Pilot, values: list[Binned]) -> list[Binned]:
    known = {column.feature: column for column in pilot.columns}
    wanted = [Feature("difference", b.feature.path, a.feature.path) for a, b in pairwise(values)]
    return values[:1] + [known[feature] for feature in wanted if feature in known]


def _pooled(values: list[Binned]) -> Binned:
    """A column with the draws of all coordinates, on the bins of the first."""
    edges = values[0].edges
    total = np.zeros((2, len(edges) + 1))
    for column in values:
        middles = _middles(column)
        place = np.searchsorted(edges, middles, side="right")
        for side in (0, 1):
            np.add.at(total[side], place, column.counts[0, side, : column.numeric])
    counts = np.zeros((3, 2, len(edges) + 3), dtype=np.int64)
    counts[0, :, : len(edges) + 1] = total
    return replace(values[0], counts=counts, labels=())


def _middles(column: Binned) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if column.discrete:
        return np.array(column.atoms, dtype=float)
    edges = column.edges
    if not len(edges):  # too few numbers among NaN and labels to be cut
        return np.zeros(1)
    inner = (edges[1:] + edges[:-1]) / 2
    width = edges[-1] - edges[0]
    return np.concatenate([[edges[0] - 0.02 * width], inner, [edges[-1] + 0.02 * width]])


def _table(source: Binned, target: Binned) -> Table:
    """Smoothed log-ratios of the source's bins, laid on equal cells for the target's feature."""
    numeric = source.numeric
    first, second = source.counts[0].astype(float)
    ratio = np.log((first + 0.5) / (second + 0.5))
    noise = 1 / (first + 0.5) + 1 / (second + 0.5)
    low, high, values = 0.0, 0.0, (0.0,)
    if numeric:
        middles = _middles(source)
        curve = smooth(ratio[:numeric], noise[:numeric], np.zeros(numeric), np.zeros(1))
        low, high = float(middles[0]), float(middles[-1])
        if high > low:
            grid = low + (np.arange(CELLS) + 0.5) * (high - low) / CELLS
            bins = np.searchsorted(source.edges, grid, side="right")
            values = tuple(np.round(curve[bins], 6).tolist())
        else:
            values = (float(curve[0]),)
    shrunk = ratio / (1 + noise)
    labels = tuple(
        (text, round(float(shrunk[numeric + 1 + i]), 6)) for i, text in enumerate(source.labels)
    )
    return Table(target.feature, low, high, values, labels, round(float(shrunk[numeric]), 6))


def _families(pilot: Pilot, tables: tuple[Table, ...]) -> Iterator[Family]:
    plain = AdditiveScore(tables, 0.0)
    scores = [[plain.score(side) for side in fold] for fold in pilot.folds]
    pooled = np.sort(np.concatenate([s for fold in scores for s in fold]))
    size = len(pooled)
    ranks = np.unique(np.round(np.geomspace(16, size - 1, THRESHOLDS)).astype(int))
    for reverse in (False, True):
        sign = -1.0 if reverse else 1.0
        ordered = np.sort(sign * pooled)
        cuts = [tidy(ordered[size - r - 1], ordered[size - r]) for r in ranks]
        cuts = sorted(set(cuts), reverse=True)
        hits = np.array(
            [[[np.count_nonzero(sign * s >= c) for c in cuts] for s in fold] for fold in scores]
        )
        sides = hits[:, ::-1] if reverse else hits
        sizes = np.array([[len(s) for s in fold] for fold in scores])
        mean = _slice_means(ordered, np.array(cuts))
        final = tables if not reverse else tuple(_negated(table) for table in tables)
        yield Family(
            reversed=reverse,
            hits=sides,
            sizes=sizes[:, ::-1] if reverse else sizes,
            event=lambda cut, final=final, cuts=cuts: AdditiveScore(final, cuts[cut]),  # type: ignore[misc]
            scores=mean,
            simplicity=5,
        )


def _negated(table: Table) -> Table:
    return replace(
        table,
        values=tuple(-value for value in table.values),
        labels=tuple((text, -value) for text, value in table.labels),
        other=-table.other,
    )


def _slice_means(
    ordered: np.ndarray[tuple[int], np.dtype[np.float64]],
    cuts: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Mean score between one threshold and the one above it."""
    places = np.append(np.searchsorted(ordered, cuts), len(ordered))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    ends = np.concatenate([[len(ordered)], places[:-2]])
    return (sums[ends] - sums[places[:-1]]) / np.maximum(ends - places[:-1], 1)
