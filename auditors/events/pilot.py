"""Earlier draws, cut into a part that learns scores and two folds that choose cuts, and binned.

Every learner works on counts per bin of one column, so that thousands of candidate events cost
no more than a few cumulative sums.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..outputs.questions import questions

__all__ = [
    "MINUS_ZERO",
    "MOST_FIT",
    "Binned",
    "Pilot",
    "bin_column",
    "features_of",
    "make_pilot",
    "tidy",
    "usable",
]

MOST_DISTINCT = 64
MOST_FIT = 25_000
MOST_CUT = 60_000
MOST_CELLS = 400_000
QUANTILES = 40
MINUS_ZERO = -5e-324
"""Stands for -0.0 among the edges and atoms of a column."""


@dataclass(frozen=True, slots=True)
class Binned:
    """One column cut into bins, with counts of shape (3, 2, bins): (fit, fold, fold) x side.

    The first `len(edges) + 1` bins are numbers between `edges`, in order; for a `discrete`
    column bin i holds exactly `atoms[i]`. Then comes one bin for NaN and one for each label, and
    one for everything else.
    """

    feature: Feature
    edges: NDArray[np.float64]
    atoms: tuple[float | None, ...]
    labels: tuple[str, ...]
    discrete: bool
    counts: NDArray[np.int64]

    @property
    def numeric(self) -> int:
        """How many bins hold numbers."""
        return len(self.atoms)


@dataclass(frozen=True, slots=True)
class Pilot:
    """Draws of both sides: `fit` to learn scores on, two `folds` to choose cuts on."""

    fit: tuple[Outputs, Outputs]
    folds: tuple[tuple[Outputs, Outputs], tuple[Outputs, Outputs]]
    columns: tuple[Binned, ...]

    @property
    def parts(self) -> tuple[tuple[Outputs, Outputs], ...]:
        """Fit sample and folds."""
        return (self.fit, *self.folds)


def make_pilot(first: Outputs, second: Outputs) -> Pilot:
    """Split by position: at most a third to the fit sample, the rest to the folds by parity.

    Wide outputs are learnt from fewer draws, so that the cost stays the same.
    """
    size = min(len(first), len(second))
    to_fit, to_cut = _most((first, second))
    most = max(1, min(size // 3, to_fit))
    end = min(size, most + to_cut)
    fit = (first[:most], second[:most])
    even = (first[most:end:2], second[most:end:2])
    odd = (first[most + 1 : end : 2], second[most + 1 : end : 2])
    columns = [bin_column(feature, (fit, even, odd)) for feature in features_of(fit)]
    return Pilot(fit, (even, odd), tuple(c for c in columns if c is not None))


def usable(sides: tuple[Outputs, Outputs]) -> int:
    """How many draws a side of outputs like these a pilot has a use for."""
    return sum(_most(sides))


def _most(sides: tuple[Outputs, Outputs]) -> tuple[int, int]:
    first, second = sides
    width = max(1, len(features_of((first[:64], second[:64]))))
    return min(MOST_FIT, MOST_CELLS // 3 // width), min(2 * MOST_CUT, MOST_CELLS // width)


def features_of(sides: tuple[Outputs, Outputs]) -> list[Feature]:
    """What to ask of the outputs: their values, their form, and numbers derived from both."""
    return questions(*sides)


def bin_column(feature: Feature, parts: tuple[tuple[Outputs, Outputs], ...]) -> Binned | None:
    """Bins for one column, chosen on the fit sample; None when it is always the same."""
    columns = [[side.column(feature) for side in part] for part in parts]
    pooled = np.concatenate([_numbers(column) for column in columns[0]])
    finite = np.sort(pooled[~np.isnan(pooled)])
    labels = tuple(sorted({name for c in columns[0] for name in c.names})[:MOST_DISTINCT])
    distinct, repeats = np.unique(finite, return_counts=True)
    # A handful of draws of a continuous output are few different values too.
    discrete = len(distinct) <= min(MOST_DISTINCT, len(finite) // 2)
    if discrete:
        edges, atoms = (distinct[1:] + distinct[:-1]) / 2, tuple(distinct.tolist())
    else:
        edges, atoms = _continuous(finite, distinct, repeats)
    bins = len(atoms) + 1 + len(labels) + 1
    counts = np.array(
        [
            [np.bincount(_codes(c, edges, distinct if discrete else None, len(atoms), labels),
                         minlength=bins) for c in part]
            for part in columns
        ]
    )  # fmt: skip
    if (counts.sum(axis=(0, 1)) > 0).sum() < 2:
        return None
    return Binned(feature, edges, atoms, labels, discrete, counts)


def _numbers(column: Column) -> NDArray[np.float64]:
    values = _separated(column)
    return values if column.codes is None else values[~column.labelled()]


def _separated(column: Column) -> NDArray[np.float64]:
    """The numbers as doubles, with -0.0 moved to the next number so that bins tell it from 0.0."""
    values = np.asarray(column.values, dtype=np.float64)
    if column.values.dtype.kind == "f":
        minus = (values == 0) & np.signbit(values)
        if minus.any():
            values = np.where(minus, MINUS_ZERO, values)
    return values


def _continuous(
    ordered: NDArray[np.float64], distinct: NDArray[np.float64], repeats: NDArray[np.int64]
) -> tuple[NDArray[np.float64], tuple[float | None, ...]]:
    """Edges at even and at geometric tail quantiles, and around values that repeat."""
    size = len(ordered)
    tails = [8 * 2**k for k in range(20) if 8 * 2**k < size // QUANTILES]
    places = sorted({*tails, *(size - t for t in tails),
                     *(size * k // QUANTILES for k in range(1, QUANTILES))})  # fmt: skip
    edges = {tidy(ordered[i - 1], ordered[i]) for i in places if ordered[i - 1] < ordered[i]}
    common = distinct[repeats >= max(8, size // 10_000)]
    common = common[np.isfinite(common)][:MOST_DISTINCT]
    for value in common:
        edges |= {float(value), float(np.nextafter(value, np.inf))}
    found = np.array(sorted(edges))
    starts = set(common.tolist())
    atoms = [None, *(float(e) if e in starts else None for e in found)]
    return found, tuple(atoms)


def tidy(low: float, high: float) -> float:
    """The number with fewest digits in (low, high]; any number between them cuts the same."""
    middle = low + (high - low) / 2
    if not np.isfinite(middle) or middle <= low:
        return float(high)
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded <= high:
            return rounded
    return float(high)


def _codes(
    column: Column,
    edges: NDArray[np.float64],
    exact: NDArray[np.float64] | None,
    numeric: int,
    labels: tuple[str, ...],
) -> NDArray[Any]:
    values = _separated(column)
    codes = np.searchsorted(edges, values, side="right")
    nan = np.isnan(values)
    if numeric == 0:
        codes[:] = 1 + len(labels)
    elif exact is not None:
        codes[exact[np.minimum(codes, numeric - 1)] != values] = numeric + 1 + len(labels)
    codes[nan] = numeric
    places = {text: numeric + 1 + i for i, text in enumerate(labels)}
    return column.replaced(codes, places, numeric + 1 + len(labels))
