"""Numbers, NaN and labels that come back amid others that do not, and speak for one side.

Rounding, clamping and default values put atoms into continuous noise. The bins that are fixed on
the first draws hold such a number apart only if it has a share of them; here a number counts that
came back so many times among the latest draws, whatever its share. What one fold shows, the other
counts.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...outputs.features import ABSENT, Feature
from ...outputs.outputs import Outputs
from ..bins import MINUS_ZERO, MOST_DISTINCT
from ..cuts import Family
from ..events import Among
from .impossible import FEW_NAMED, MOST_NAMED, Values, alone

BACK = 8
"""Times that a number has to come back."""
MOST = 4096
"""Numbers and labels that come back, beyond which a column is passed over."""
LEVELS = (0.0, 0.4, 0.8, 1.2, 1.8, 2.5)
"""Log-ratios that the numbers of a set are sure to exceed, by as many errors as caution asks."""
CAUTION = (1.0, 2.0)
"""Standard errors taken off a log-ratio, at least and at most; between them as many as the luckiest
of so many values is above 0. Of one atom of .001 against .0001, 16,384 draws a side show some 16
against 2, half of them in a fold: two errors took these for luck in 2 audits of 10, and what the
other fold had seen of it was lost."""

Counts = NDArray[np.int64]


def recurring_values(features: list[Feature], first: Outputs, second: Outputs) -> Iterator[Family]:
    """Families of a single event: the feature is one of the numbers that speak for one side."""
    for feature in features:
        columns = [Values(side.column(feature)) for side in (first, second)]
        folds = [fold for column in columns for fold in column.known]
        labels = tuple(sorted({name for one in columns for name in one.column.names} - {ABSENT}))
        gaps = any(len(one) < size for column in columns
                   for one, size in zip(column.known, column.sizes, strict=True))  # fmt: skip
        if not gaps and not any((fold[1:] == fold[:-1]).any() for fold in folds):
            continue  # What comes back BACK times in all comes back in one of four folds.
        known = np.concatenate(folds)
        values, times = np.unique(known, return_counts=True)
        if len(values) <= MOST_DISTINCT:
            continue  # A few numbers and nothing else have bins of their own.
        values = values[times >= BACK]
        if len(values) + len(labels) > MOST:
            continue
        counts = np.stack([column.counts(values, labels) for column in columns], axis=1)
        names: list[float | str] = [-0.0 if v == MINUS_ZERO else v for v in values.tolist()]
        names += [float("nan"), *labels]
        for reverse in (False, True):
            ours = counts[:, ::-1] if reverse else counts
            sides = (columns[1], columns[0]) if reverse else (columns[0], columns[1])
            yield from _sets(feature, names, ours, sides, reverse)


def _sets(
    feature: Feature,
    names: list[float | str],
    counts: Counts,
    sides: tuple[Values, Values],
    reverse: bool,
) -> Iterator[Family]:
    luck = float(np.sqrt(2 * np.log(max(counts.shape[-1], 1))))
    caution = min(max(luck, CAUTION[0]), CAUTION[1])
    sure = [_surely(part, caution) for part in (*counts, counts.sum(axis=0))]
    seen: list[int] = []
    for level in LEVELS:
        sets = [np.flatnonzero(part > level) for part in sure]
        named = sets[2].tolist()
        if not 0 < len(named) <= MOST_NAMED or named == seen:
            continue
        seen = named
        hits = np.array([counts[fold][:, sets[1 - fold]].sum(axis=-1) for fold in (0, 1)])
        values = tuple(names[place] for place in named)
        simplicity = (0 if len(named) <= FEW_NAMED else 2) + (feature.kind != "value")
        yield alone(feature, hits, sides, reverse, Among(feature, values), simplicity)


def _surely(counts: Counts, caution: float) -> NDArray[np.float64]:
    """Log-ratios less so many standard errors."""
    a, b = counts + 0.5
    found: NDArray[np.float64] = np.log(a / b) - caution * np.sqrt(1 / a + 1 / b)
    return found
